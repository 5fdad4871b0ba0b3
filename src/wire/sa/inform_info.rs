//! InformInfo and InformInfoRecord (sections 13.4.8.3 and 15.2.5.8): subscriptions to notices. Reserved: bytes 20–21 of
//! InformInfo, bits 0–2 of its byte 31 and byte 32; bytes 18–23 of the record.

use super::SA_DATA_SIZE;
use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::Gid;
use crate::wire::format::wire_format;

wire_format! {
    /// InformInfo.
    InformInfo: SA_DATA_SIZE; {
        /// Only notices about this port; zero for those about `lid_range_begin` on.
        gid: Gid = 0, 128;
        /// The first LID of interest; all ones for any.
        lid_range_begin: Lid = 128, 16;
        /// The last LID of interest; 0 for only the first.
        lid_range_end: Lid = 144, 16;
        /// Notices of the specification (1), or of makers (0).
        is_generic: u8 = 176, 8;
        /// 1 to subscribe, 0 to end it.
        subscribe: u8 = 184, 8;
        /// The [`NoticeType`](crate::wire::NoticeType); all ones for any.
        notice_type: u16 = 192, 16;
        /// Generic: the trap's number; else the device. All ones for any.
        trap_number: u16 = 208, 16;
        /// The queue pair to notify, 24 bits.
        qpn: u32 = 224, 24;
        /// The subscriber answers within 4.096 µs × 2^n; 5 bits.
        resp_time_value: u8 = 251, 5;
        /// Generic: the [`NodeType`](crate::wire::NodeType) of the notice's maker; else the vendor. All ones for any.
        producer: u32 = 264, 24;
    }
}

impl InformInfo {
    /// `notice_type` and `trap_number` of a subscription to all.
    pub const ANY: u16 = u16::MAX;
    /// `producer` of a subscription to all.
    pub const ANY_PRODUCER: u32 = 0x00FF_FFFF;
    /// `lid_range_begin` of a subscription to all.
    pub const ANY_LID: Lid = Lid::PERMISSIVE;
}

record! {
    /// InformInfoRecord.
    InformInfoRecord: 64; {
        /// The subscriber.
        subscriber_gid: Gid = 0, 128;
        /// Tells its subscriptions apart.
        number: u16 = 128, 16;
        /// To what.
        info: InformInfo = 192, 288;
    }
    components components![
        (0, 128), (128, 16), (144, 48), (192, 128), (320, 16), (336, 16), (352, 16), (368, 8), (376, 8), (384, 16), (400, 16),
        (416, 24), (440, 3), (443, 5), (448, 8), (456, 24),
    ]
}

impl InformInfoRecord {
    /// `subscriber_gid`.
    pub const SUBSCRIBER_GID: u32 = 0;
}
