//! The MAD of subnet administration (section 15.2.1): 200 bytes of data behind three headers, to queue pair 1 on data lanes.
//! Reserved, and written as zero: bytes 6–7, 18–19 and 46–47.

use super::{ComponentMask, Record, Rmpp, RmppType, SA_DATA_SIZE};
use crate::wire::bits::wire_enum;
use crate::wire::header::{WireError, check_versions, field as common, put_versions};
use crate::wire::{MAD_SIZE, Method, class, class_of};

mod field {
    use crate::wire::bits::{Bits, bits};
    use std::ops::Range;

    pub const SM_KEY: Bits = bits(288, 64);
    pub const ATTRIBUTE_OFFSET: Bits = bits(352, 16);
    pub const COMPONENT_MASK: Bits = bits(384, 64);
    pub const DATA: Range<usize> = 56..256;
}

wire_enum! {
    /// Attributes of subnet administration (section 15.2.5).
    SaAttributeId: u16 {
        /// [`ClassPortInfo`](crate::wire::ClassPortInfo), the first 72 bytes.
        ClassPortInfo = 0x0001,
        /// [`Report`](super::Report).
        Notice = 0x0002,
        /// [`InformInfo`](super::InformInfo).
        InformInfo = 0x0003,
        /// [`NodeRecord`](super::NodeRecord).
        NodeRecord = 0x0011,
        /// [`PortInfoRecord`](super::PortInfoRecord).
        PortInfoRecord = 0x0012,
        /// [`SlToVlRecord`](super::SlToVlRecord).
        SlToVlRecord = 0x0013,
        /// [`SwitchInfoRecord`](super::SwitchInfoRecord).
        SwitchInfoRecord = 0x0014,
        /// [`LftRecord`](super::LftRecord).
        LftRecord = 0x0015,
        /// [`SmInfoRecord`](super::SmInfoRecord).
        SmInfoRecord = 0x0018,
        /// [`LinkRecord`](super::LinkRecord).
        LinkRecord = 0x0020,
        /// [`GuidInfoRecord`](super::GuidInfoRecord).
        GuidInfoRecord = 0x0030,
        /// [`ServiceRecord`](super::ServiceRecord).
        ServiceRecord = 0x0031,
        /// [`PKeyTableRecord`](super::PKeyTableRecord).
        PKeyTableRecord = 0x0033,
        /// [`PathRecord`](super::PathRecord).
        PathRecord = 0x0035,
        /// [`VlArbitrationRecord`](super::VlArbitrationRecord).
        VlArbitrationRecord = 0x0036,
        /// [`InformInfoRecord`](super::InformInfoRecord).
        InformInfoRecord = 0x00F3,
    }
}

/// A MAD of subnet administration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaMad {
    /// What it asks for.
    pub method: Method,
    /// See [`status`](crate::wire::status).
    pub status: u16,
    /// Names the request; the answer repeats it.
    pub tid: u64,
    /// The attribute carried in `data`.
    pub attribute: SaAttributeId,
    /// Unused by most attributes.
    pub modifier: u32,
    /// The packet's place in a longer message.
    pub rmpp: Rmpp,
    /// Shows that the asker is trusted; 0 in answers.
    pub sm_key: u64,
    /// Bytes from one record of a table to the next, in units of eight.
    pub attribute_offset: u16,
    /// Which fields of a request count.
    pub component_mask: ComponentMask,
    /// Records, or a part of a table of them.
    pub data: [u8; SA_DATA_SIZE],
}

impl SaMad {
    /// A request for the records that agree with `record` in the components of `mask`, with no transaction number yet.
    pub fn request<R: Record>(method: Method, mask: ComponentMask, record: &R) -> SaMad {
        SaMad::new(method, R::ID, mask, record.to_data())
    }

    /// A request with no transaction number yet.
    pub fn new(
        method: Method,
        attribute: SaAttributeId,
        component_mask: ComponentMask,
        data: [u8; SA_DATA_SIZE],
    ) -> SaMad {
        SaMad {
            method,
            status: 0,
            tid: 0,
            attribute,
            modifier: 0,
            rmpp: Rmpp::UNUSED,
            sm_key: 0,
            attribute_offset: 0,
            component_mask,
            data,
        }
    }

    /// The same MAD under another transaction number.
    pub fn with_tid(self, tid: u64) -> SaMad {
        SaMad { tid, ..self }
    }

    /// The answer that carries `data`, alone: the request's component mask stays, its key does not.
    pub fn response(&self, data: [u8; SA_DATA_SIZE]) -> SaMad {
        SaMad { method: self.method.answer(), status: 0, rmpp: Rmpp::UNUSED, sm_key: 0, data, ..self.clone() }
    }

    /// The answer that refuses: the request's own data under a status other than zero.
    pub fn refusal(&self, status: u16) -> SaMad {
        SaMad { status, attribute_offset: 0, ..self.response(self.data) }
    }

    /// Reads a MAD of class 0x03. Fails on another class or version.
    pub fn decode(bytes: &[u8; MAD_SIZE]) -> Result<SaMad, WireError> {
        let found = class_of(bytes);
        if found != class::SUBNET_ADMINISTRATION {
            return Err(WireError::Class { expected: "0x03", found });
        }
        check_versions(bytes)?;
        let mut data = [0; SA_DATA_SIZE];
        data.copy_from_slice(&bytes[field::DATA]);
        Ok(SaMad {
            method: common::METHOD.get_u8(bytes).into(),
            status: common::STATUS.get_u16(bytes),
            tid: common::TID.get(bytes),
            attribute: common::ATTRIBUTE.get_u16(bytes).into(),
            modifier: common::MODIFIER.get_u32(bytes),
            rmpp: Rmpp::read(bytes),
            sm_key: field::SM_KEY.get(bytes),
            attribute_offset: field::ATTRIBUTE_OFFSET.get_u16(bytes),
            component_mask: ComponentMask(field::COMPONENT_MASK.get(bytes)),
            data,
        })
    }

    /// Writes the MAD.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        let mut bytes = [0; MAD_SIZE];
        put_versions(&mut bytes, class::SUBNET_ADMINISTRATION);
        common::METHOD.put(&mut bytes, self.method);
        common::STATUS.put(&mut bytes, self.status);
        common::TID.put(&mut bytes, self.tid);
        common::ATTRIBUTE.put(&mut bytes, self.attribute);
        common::MODIFIER.put(&mut bytes, self.modifier);
        self.rmpp.write(&mut bytes);
        field::SM_KEY.put(&mut bytes, self.sm_key);
        field::ATTRIBUTE_OFFSET.put(&mut bytes, self.attribute_offset);
        field::COMPONENT_MASK.put(&mut bytes, self.component_mask.0);
        bytes[field::DATA].copy_from_slice(&self.data);
        bytes
    }
}

/// Bytes of a MAD that mean anything: fewer than 256 for the last segment of a message. Clients of ibsim, who see no
/// segments but single MADs, count the records of an answer by the length that is sent with it.
pub fn length_of(bytes: &[u8; MAD_SIZE]) -> usize {
    let rmpp = Rmpp::read(bytes);
    let whole = class_of(bytes) != class::SUBNET_ADMINISTRATION || rmpp.kind != RmppType::Data || !rmpp.last;
    if whole { MAD_SIZE } else { (MAD_SIZE - Rmpp::SEGMENT_SIZE as usize + rmpp.length as usize).min(MAD_SIZE) }
}
