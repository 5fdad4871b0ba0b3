//! Performance management: the header of its MADs and the data counters by service level (sections 16.1.1 and 16.1.4.11).
//! Reserved, and written as zero: bytes 6–7, 18–19 and 24–63.

use super::MAD_SIZE;
use super::bits::{Bits, bits, wire_enum};
use super::header::{Method, WireError, check_versions, class, class_of, field as common, put_versions};
use crate::ids::{PortNum, Sl};

/// Bytes of an attribute of performance management.
pub const PERF_DATA_SIZE: usize = 192;

/// Where the attribute lies in the MAD.
const DATA: std::ops::Range<usize> = 64..256;

wire_enum! {
    /// Attributes of performance management.
    PerfAttributeId: u16 {
        /// [`ClassPortInfo`](super::ClassPortInfo), the first 72 bytes.
        ClassPortInfo = 0x0001,
        /// [`PortCounters`](super::PortCounters).
        PortCounters = 0x0012,
        /// [`PortCountersExtended`](super::PortCountersExtended).
        PortCountersExtended = 0x001D,
        /// Data sent by service level, as [`PortDataSl`].
        PortXmitDataSl = 0x0036,
        /// Data received by service level, as [`PortDataSl`].
        PortRcvDataSl = 0x0037,
    }
}

/// A MAD of performance management (class 0x04), which travels on data lanes to QP 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PerfMad {
    /// What it asks for.
    pub method: Method,
    /// See [`status`](super::status).
    pub status: u16,
    /// Names the request; the answer repeats it.
    pub tid: u64,
    /// The attribute carried in `data`.
    pub attribute: PerfAttributeId,
    /// Unused by the attributes known here.
    pub modifier: u32,
    /// The attribute, for its own type to decode.
    pub data: [u8; PERF_DATA_SIZE],
}

impl PerfMad {
    /// A request with no transaction number yet.
    pub fn new(method: Method, attribute: PerfAttributeId, data: [u8; PERF_DATA_SIZE]) -> PerfMad {
        PerfMad { method, status: 0, tid: 0, attribute, modifier: 0, data }
    }

    /// The same MAD under another transaction number.
    pub fn with_tid(self, tid: u64) -> PerfMad {
        PerfMad { tid, ..self }
    }

    /// The answer that carries `data`.
    pub fn response(&self, data: [u8; PERF_DATA_SIZE]) -> PerfMad {
        PerfMad { method: self.method.answer(), status: 0, data, ..self.clone() }
    }

    /// The answer that refuses: the request's own data under a status other than zero.
    pub fn refusal(&self, status: u16) -> PerfMad {
        PerfMad { status, ..self.response(self.data) }
    }

    /// Reads a MAD of class 0x04. Fails on another class or version.
    pub fn decode(bytes: &[u8; MAD_SIZE]) -> Result<PerfMad, WireError> {
        let found = class_of(bytes);
        if found != class::PERFORMANCE {
            return Err(WireError::Class { expected: "0x04", found });
        }
        check_versions(bytes)?;
        let mut data = [0; PERF_DATA_SIZE];
        data.copy_from_slice(&bytes[DATA]);
        Ok(PerfMad {
            method: common::METHOD.get_u8(bytes).into(),
            status: common::STATUS.get_u16(bytes),
            tid: common::TID.get(bytes),
            attribute: common::ATTRIBUTE.get_u16(bytes).into(),
            modifier: common::MODIFIER.get_u32(bytes),
            data,
        })
    }

    /// Writes the MAD.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        let mut bytes = [0; MAD_SIZE];
        put_versions(&mut bytes, class::PERFORMANCE);
        common::METHOD.put(&mut bytes, self.method);
        common::STATUS.put(&mut bytes, self.status);
        common::TID.put(&mut bytes, self.tid);
        common::ATTRIBUTE.put(&mut bytes, self.attribute);
        common::MODIFIER.put(&mut bytes, self.modifier);
        bytes[DATA].copy_from_slice(&self.data);
        bytes
    }
}

/// Offsets of PortXmitDataSL and PortRcvDataSL.
mod field {
    use super::{Bits, bits};

    pub const PORT: Bits = bits(8, 8);
    pub const COUNTER_SELECT: Bits = bits(16, 16);

    pub fn counter(sl: usize) -> Bits {
        bits(32 + 32 * sl, 32)
    }
}

/// PortXmitDataSL or PortRcvDataSL: what a port sent or received of each service level. Reserved: byte 0, bytes 68–191.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortDataSl {
    /// The port asked about.
    pub port: PortNum,
    /// In a Set: bit s tells to write the counter of SL s.
    pub counter_select: u16,
    /// Counters in units of 4 bytes; they stop at `u32::MAX`.
    pub counters: [u32; 16],
}

impl PortDataSl {
    /// The request for all counters of a port; as a Set it zeroes them.
    pub fn all(port: PortNum) -> PortDataSl {
        PortDataSl { port, counter_select: 0xFFFF, counters: [0; 16] }
    }

    /// The counter of a service level, none once it has stopped counting.
    pub fn counted(&self, sl: Sl) -> Option<u32> {
        Some(self.counters[sl.index()]).filter(|&count| count != u32::MAX)
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; PERF_DATA_SIZE]) -> PortDataSl {
        PortDataSl {
            port: PortNum(field::PORT.get_u8(data)),
            counter_select: field::COUNTER_SELECT.get_u16(data),
            counters: std::array::from_fn(|sl| field::counter(sl).get_u32(data)),
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; PERF_DATA_SIZE] {
        let mut data = [0; PERF_DATA_SIZE];
        field::PORT.put(&mut data, self.port.0);
        field::COUNTER_SELECT.put(&mut data, self.counter_select);
        self.counters.iter().enumerate().for_each(|(sl, &count)| field::counter(sl).put(&mut data, count));
        data
    }
}
