//! MCMemberRecord (section 15.2.5.17): a multicast group, and a port's membership in it. Reserved: bits 1–7 of byte 49
//! and all bytes after it.

use super::Selector;
use super::component::{components, record};
use crate::ids::{Lid, Sl};
use crate::wire::Gid;

record! {
    /// MCMemberRecord.
    McMemberRecord: 56; {
        /// The group.
        mgid: Gid = 0, 128;
        /// The member.
        port_gid: Gid = 128, 128;
        /// The key of its packets.
        q_key: u32 = 256, 32;
        /// The LID that its packets have as destination.
        mlid: Lid = 288, 16;
        /// The meaning of `mtu`.
        mtu_selector: Selector = 304, 2;
        /// The [`Mtu`](crate::wire::Mtu) of the group; 6 bits.
        mtu: u8 = 306, 6;
        /// Traffic class of the global header.
        traffic_class: u8 = 312, 8;
        /// The partition.
        p_key: u16 = 320, 16;
        /// The meaning of `rate`.
        rate_selector: Selector = 336, 2;
        /// The rate of the group, as section 15.2.5.16 numbers it; 6 bits.
        rate: u8 = 338, 6;
        /// The meaning of `packet_life_time`.
        packet_life_time_selector: Selector = 344, 2;
        /// A packet is there or gone within 4.096 µs × 2^n; 6 bits.
        packet_life_time: u8 = 346, 6;
        /// The service level.
        sl: Sl = 352, 4;
        /// Flow label of the global header, 20 bits.
        flow_label: u32 = 356, 20;
        /// Subnets that may be crossed.
        hop_limit: u8 = 376, 8;
        /// How far the group reaches; 2 for the subnet. 4 bits.
        scope: u8 = 384, 4;
        /// How the port takes part: the bits [`McMemberRecord::FULL`] and so on.
        join_state: u8 = 388, 4;
        /// Another port joined for it.
        proxy_join: bool = 392, 1;
    }
    components components![
        (0, 128), (128, 128), (256, 32), (288, 16), (304, 2), (306, 6), (312, 8), (320, 16), (336, 2), (338, 6),
        (344, 2), (346, 6), (352, 4), (356, 20), (376, 8), (384, 4), (388, 4), (392, 1),
    ]
}

impl McMemberRecord {
    /// `mgid`.
    pub const MGID: u32 = 0;
    /// `port_gid`.
    pub const PORT_GID: u32 = 1;
    /// `q_key`.
    pub const Q_KEY: u32 = 2;
    /// `mlid`.
    pub const MLID: u32 = 3;
    /// `mtu_selector`.
    pub const MTU_SELECTOR: u32 = 4;
    /// `mtu`.
    pub const MTU: u32 = 5;
    /// `traffic_class`.
    pub const TRAFFIC_CLASS: u32 = 6;
    /// `p_key`.
    pub const P_KEY: u32 = 7;
    /// `rate_selector`.
    pub const RATE_SELECTOR: u32 = 8;
    /// `rate`.
    pub const RATE: u32 = 9;
    /// `sl`.
    pub const SL: u32 = 12;
    /// `flow_label`.
    pub const FLOW_LABEL: u32 = 13;
    /// `hop_limit`.
    pub const HOP_LIMIT: u32 = 14;
    /// `scope`.
    pub const SCOPE: u32 = 15;
    /// `join_state`.
    pub const JOIN_STATE: u32 = 16;
    /// `proxy_join`.
    pub const PROXY_JOIN: u32 = 17;

    /// JoinState: sends and receives.
    pub const FULL: u8 = 1;
    /// JoinState: sends and receives, and does not keep the group.
    pub const NON: u8 = 2;
    /// JoinState: only sends, and does not keep the group.
    pub const SEND_ONLY_NON: u8 = 4;
    /// JoinState: only sends.
    pub const SEND_ONLY_FULL: u8 = 8;
    /// JoinState: the bits that keep a group in being.
    pub const KEEPS: u8 = McMemberRecord::FULL | McMemberRecord::SEND_ONLY_FULL;
    /// JoinState: the bits of which each has packets sent to the port.
    pub const RECEIVES: u8 = McMemberRecord::FULL | McMemberRecord::NON;
}
