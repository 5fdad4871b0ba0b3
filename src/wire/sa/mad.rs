//! The MAD of subnet administration (section 15.2.1): 200 bytes of data after three headers, to queue pair 1 on data
//! lanes. Reserved, and written as zero: bytes 6–7, 18–19 and 46–47.

use super::{ComponentMask, Record, Rmpp, RmppType, SA_DATA_SIZE};
use crate::wire::format::{BitLayout, Field, check_spans, layout, wire_enum};
use crate::wire::header::{WireError, decode_mad, encode_mad};
use crate::wire::{MAD_SIZE, Method, class, class_of};

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
        /// [`McMemberRecord`](super::McMemberRecord).
        McMemberRecord = 0x0038,
        /// [`InformInfoRecord`](super::InformInfoRecord).
        InformInfoRecord = 0x00F3,
    }
}

/// The multi-packet protocol's header in a MAD: first bit and width.
const RMPP: (usize, usize) = (192, 96);

layout! {
    /// A MAD of subnet administration.
    SaMad {
        /// The method.
        method: Method = 24, 8;
        /// See [`status`](crate::wire::status).
        status: u16 = 32, 16;
        /// Names the request; the answer repeats it.
        tid: u64 = 64, 64;
        /// The attribute carried in `data`.
        attribute: SaAttributeId = 128, 16;
        /// Unused by most attributes.
        modifier: u32 = 160, 32;
        /// The packet's place in a longer message.
        rmpp: Rmpp = RMPP.0, RMPP.1;
        /// Shows that the asker is trusted; 0 in answers.
        sm_key: u64 = 288, 64;
        /// Bytes from one record of a table to the next, in units of eight.
        attribute_offset: u16 = 352, 16;
        /// The fields of a request that are selected.
        component_mask: ComponentMask = 384, 64;
        /// Records, or a part of a table of them.
        data: [u8; SA_DATA_SIZE] = 448, 1600;
    }
}

const _: () = check_spans(SaMad::SPANS, MAD_SIZE);

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

    /// This MAD with another transaction ID.
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
        match class_of(bytes) {
            class::SUBNET_ADMINISTRATION => decode_mad(bytes),
            found => Err(WireError::Class { expected: "0x03", found }),
        }
    }

    /// Writes the MAD.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        encode_mad(class::SUBNET_ADMINISTRATION, self)
    }
}

/// The significant bytes of a MAD: fewer than 256 for the last segment of a message. Clients of ibsim see single MADs
/// instead of segments, and count the records of an answer by the length that is sent with it.
pub fn length_of(bytes: &[u8; MAD_SIZE]) -> usize {
    let rmpp = Rmpp::read(bytes, RMPP.0, RMPP.1);
    let whole = class_of(bytes) != class::SUBNET_ADMINISTRATION || rmpp.kind != RmppType::Data || !rmpp.last;
    if whole { MAD_SIZE } else { (MAD_SIZE - Rmpp::SEGMENT_SIZE as usize + rmpp.length as usize).min(MAD_SIZE) }
}
