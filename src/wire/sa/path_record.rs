//! PathRecord (section 15.2.5.16): how to reach one port from another. Reserved: bits 1–3 of byte 44 and bytes 58–63.

use super::component::{components, record};
use crate::ids::{Lid, Sl};
use crate::wire::Gid;
use crate::wire::format::wire_enum;

wire_enum! {
    /// The meaning of a limit in a request.
    Selector: u8 {
        /// More than it.
        Above = 0,
        /// Less than it.
        Below = 1,
        /// Exactly it.
        Exactly = 2,
        /// The most there is; the limit itself does not count.
        Most = 3,
    }
}

record! {
    /// PathRecord.
    PathRecord: 64; {
        /// For which service; 0 where it does not matter.
        service_id: u64 = 0, 64;
        /// The destination.
        dgid: Gid = 64, 128;
        /// The source.
        sgid: Gid = 192, 128;
        /// LID of the destination.
        dlid: Lid = 320, 16;
        /// LID of the source.
        slid: Lid = 336, 16;
        /// The packets are raw.
        raw_traffic: bool = 352, 1;
        /// Flow label of the global header, 20 bits.
        flow_label: u32 = 356, 20;
        /// Subnets that may be crossed; up to 1 for none.
        hop_limit: u8 = 376, 8;
        /// Traffic class of the global header.
        traffic_class: u8 = 384, 8;
        /// Packets back may take the same LIDs and service level.
        reversible: bool = 392, 1;
        /// In a request: how many paths at most; 7 bits.
        numb_path: u8 = 393, 7;
        /// The partition.
        p_key: u16 = 400, 16;
        /// The quality of service, 12 bits.
        qos_class: u16 = 416, 12;
        /// The service level.
        sl: Sl = 428, 4;
        /// The meaning of `mtu`.
        mtu_selector: Selector = 432, 2;
        /// The [`Mtu`](crate::wire::Mtu) of every link; 6 bits.
        mtu: u8 = 434, 6;
        /// The meaning of `rate`.
        rate_selector: Selector = 440, 2;
        /// The rate of every link, as section 15.2.5.16 numbers them; 6 bits.
        rate: u8 = 442, 6;
        /// The meaning of `packet_life_time`.
        packet_life_time_selector: Selector = 448, 2;
        /// A packet is there or gone within 4.096 µs × 2^n; 6 bits.
        packet_life_time: u8 = 450, 6;
        /// Of several paths the lowest is best.
        preference: u8 = 456, 8;
    }
    components components![
        (0, 32), (32, 32), (64, 128), (192, 128), (320, 16), (336, 16), (352, 1), (353, 3), (356, 20), (376, 8), (384, 8),
        (392, 1), (393, 7), (400, 16), (416, 12), (428, 4), (432, 2), (434, 6), (440, 2), (442, 6), (448, 2), (450, 6),
        (456, 8), (464, 48),
    ]
}

impl PathRecord {
    /// `dgid`.
    pub const DGID: u32 = 2;
    /// `sgid`.
    pub const SGID: u32 = 3;
    /// `dlid`.
    pub const DLID: u32 = 4;
    /// `slid`.
    pub const SLID: u32 = 5;
    /// `raw_traffic`.
    pub const RAW_TRAFFIC: u32 = 6;
    /// `flow_label`.
    pub const FLOW_LABEL: u32 = 8;
    /// `hop_limit`.
    pub const HOP_LIMIT: u32 = 9;
    /// `traffic_class`.
    pub const TRAFFIC_CLASS: u32 = 10;
    /// `reversible`.
    pub const REVERSIBLE: u32 = 11;
    /// `numb_path`.
    pub const NUMB_PATH: u32 = 12;
    /// `p_key`.
    pub const P_KEY: u32 = 13;
    /// `qos_class`.
    pub const QOS_CLASS: u32 = 14;
    /// `sl`.
    pub const SL: u32 = 15;
    /// `mtu_selector`.
    pub const MTU_SELECTOR: u32 = 16;
    /// `mtu`.
    pub const MTU: u32 = 17;
    /// `rate_selector`.
    pub const RATE_SELECTOR: u32 = 18;
    /// `rate`.
    pub const RATE: u32 = 19;
    /// `packet_life_time_selector`.
    pub const PACKET_LIFE_TIME_SELECTOR: u32 = 20;
    /// `packet_life_time`.
    pub const PACKET_LIFE_TIME: u32 = 21;
}
