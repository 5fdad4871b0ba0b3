//! Performance management: the header of its MADs and the data counters by service level (sections 16.1.1 and
//! 16.1.4.11). Reserved, and written as zero: bytes 6–7, 18–19 and 24–63.

use super::MAD_SIZE;
use super::format::{BitLayout, check_spans, layout, wire_enum, wire_format};
use super::header::{Method, WireError, class, class_of, decode_mad, encode_mad};
use crate::ids::{PortNum, Sl};

/// Bytes of an attribute of performance management.
pub const PERF_DATA_SIZE: usize = 192;

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

layout! {
    /// A MAD of performance management (class 0x04), which travels on data lanes to QP 1.
    PerfMad {
        /// The method.
        method: Method = 24, 8;
        /// See [`status`](super::status).
        status: u16 = 32, 16;
        /// Names the request; the answer repeats it.
        tid: u64 = 64, 64;
        /// The attribute carried in `data`.
        attribute: PerfAttributeId = 128, 16;
        /// Unused by the attributes known here.
        modifier: u32 = 160, 32;
        /// The attribute, for its own type to decode.
        data: [u8; PERF_DATA_SIZE] = 512, 1536;
    }
}

const _: () = check_spans(PerfMad::SPANS, MAD_SIZE);

impl PerfMad {
    /// A request with no transaction number yet.
    pub fn new(method: Method, attribute: PerfAttributeId, data: [u8; PERF_DATA_SIZE]) -> PerfMad {
        PerfMad { method, status: 0, tid: 0, attribute, modifier: 0, data }
    }

    /// This MAD with another transaction ID.
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
        match class_of(bytes) {
            class::PERFORMANCE => decode_mad(bytes),
            found => Err(WireError::Class { expected: "0x04", found }),
        }
    }

    /// Writes the MAD.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        encode_mad(class::PERFORMANCE, self)
    }
}

wire_format! {
    /// PortXmitDataSL or PortRcvDataSL: data that a port sent or received, by service level. Reserved: byte 0, bytes
    /// 68–191.
    PortDataSl: PERF_DATA_SIZE; {
        /// The port asked about.
        port: PortNum = 8, 8;
        /// In a Set: bit s says to write the counter of SL s.
        counter_select: u16 = 16, 16;
        /// Counters in units of 4 bytes; they stop at `u32::MAX`.
        counters: [u32; 16] = 32, 512;
    }
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
}
