//! The global route header (section 8.3): 40 bytes after the local one, laid out as IPv6's. A packet that is to cross
//! routers has one, and its sender makes the header from the PathRecord ([`Grh::along`]).
//!
//! The version, 6, is kept as received; a port discards a packet with another one.

use super::format::wire_format;
use super::sa::PathRecord;
use super::{GRH_SIZE, Gid};

wire_format! {
    /// A global route header.
    Grh: GRH_SIZE; {
        /// IPVer: [`Grh::VERSION`].
        version: u8 = 0, 4;
        /// TClass: kept from end to end; routers map it to service levels.
        traffic_class: u8 = 4, 8;
        /// FlowLabel, 20 bits: packets with equal ones keep their order.
        flow_label: u32 = 12, 20;
        /// PayLen: bytes between this header and the variant CRC, padding and invariant CRC included.
        payload_length: u16 = 32, 16;
        /// NxtHdr: [`Grh::TRANSPORT`] where InfiniBand's transport headers follow.
        next_header: u8 = 48, 8;
        /// HopLmt: each router decrements it, and discards a packet that arrives with less than 2.
        hop_limit: u8 = 56, 8;
        /// SGID.
        sgid: Gid = 64, 128;
        /// DGID.
        dgid: Gid = 192, 128;
    }
}

impl Grh {
    /// The only version there is.
    pub const VERSION: u8 = 6;
    /// InfiniBand's own transport follows.
    pub const TRANSPORT: u8 = 0x1B;

    /// The header of a packet that takes a path, with a payload of `payload_length` bytes; none where the path stays
    /// within the subnet (HopLimit 0 or 1), which needs no such header.
    pub fn along(path: &PathRecord, payload_length: u16) -> Option<Grh> {
        (path.hop_limit > 1).then_some(Grh {
            version: Grh::VERSION,
            traffic_class: path.traffic_class,
            flow_label: path.flow_label,
            payload_length,
            next_header: Grh::TRANSPORT,
            hop_limit: path.hop_limit,
            sgid: path.sgid,
            dgid: path.dgid,
        })
    }
}
