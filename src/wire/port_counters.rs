//! PortCounters and PortCountersExtended of performance management (sections 16.1.3.5 and 16.1.4.11): data, packets and
//! errors of a port. The short form's counters stop at their highest value, the long form's are 64 bits wide.

use super::format::wire_format;
use super::perf::{PERF_DATA_SIZE, PerfAttributeId};
use crate::ids::PortNum;

wire_format! {
    /// PortCounters.
    PortCounters: PERF_DATA_SIZE; {
        /// The port asked about; 255 for all of them, where the agent can.
        port: PortNum = 8, 8;
        /// In a Set: which counters to write, in the order they stand here.
        counter_select: u16 = 16, 16;
        /// Symbol errors.
        symbol_errors: u16 = 32, 16;
        /// Recoveries of the link.
        link_error_recoveries: u8 = 48, 8;
        /// Times that the link went down.
        link_downed: u8 = 56, 8;
        /// Packets received with an error.
        rcv_errors: u16 = 64, 16;
        /// Packets received that were marked bad before.
        rcv_remote_physical_errors: u16 = 80, 16;
        /// Packets received that a switch could not pass on.
        rcv_switch_relay_errors: u16 = 96, 16;
        /// Packets discarded before they were sent.
        xmit_discards: u16 = 112, 16;
        /// Packets not sent for a partition or raw filter.
        xmit_constraint_errors: u8 = 128, 8;
        /// Packets not taken for a partition or raw filter.
        rcv_constraint_errors: u8 = 136, 8;
        /// In a Set: write PortXmitWait too (bit 0).
        counter_select2: u8 = 144, 8;
        /// Times that local errors passed their threshold, 4 bits.
        local_link_integrity_errors: u8 = 152, 4;
        /// Times that buffer overruns passed their threshold, 4 bits.
        excessive_buffer_overruns: u8 = 156, 4;
        /// Packets dropped at queue pair 1.
        qp1_dropped: u16 = 160, 16;
        /// Management packets dropped for want of room.
        vl15_dropped: u16 = 176, 16;
        /// Data sent, in units of 4 bytes.
        xmit_data: u32 = 192, 32;
        /// Data received, in units of 4 bytes.
        rcv_data: u32 = 224, 32;
        /// Packets sent.
        xmit_packets: u32 = 256, 32;
        /// Packets received.
        rcv_packets: u32 = 288, 32;
        /// Ticks in which something waited to be sent and could not.
        xmit_wait: u32 = 320, 32;
    }
}

impl PortCounters {
    /// The attribute that this type reads and writes.
    pub const ID: PerfAttributeId = PerfAttributeId::PortCounters;
}

wire_format! {
    /// PortCountersExtended.
    PortCountersExtended: PERF_DATA_SIZE; {
        /// The port asked about; 255 for all of them, where the agent can.
        port: PortNum = 8, 8;
        /// In a Set: which of the eight counters of traffic to write, in the order they stand here.
        counter_select: u16 = 16, 16;
        /// In a Set: which of the counters of errors to write, in the order they stand here.
        counter_select2: u32 = 32, 32;
        /// Data sent, in units of 4 bytes.
        xmit_data: u64 = 64, 64;
        /// Data received, in units of 4 bytes.
        rcv_data: u64 = 128, 64;
        /// Packets sent.
        xmit_packets: u64 = 192, 64;
        /// Packets received.
        rcv_packets: u64 = 256, 64;
        /// Unicast packets sent.
        unicast_xmit_packets: u64 = 320, 64;
        /// Unicast packets received.
        unicast_rcv_packets: u64 = 384, 64;
        /// Multicast packets sent.
        multicast_xmit_packets: u64 = 448, 64;
        /// Multicast packets received.
        multicast_rcv_packets: u64 = 512, 64;
        /// Symbol errors.
        symbol_errors: u64 = 576, 64;
        /// Recoveries of the link.
        link_error_recoveries: u64 = 640, 64;
        /// Times that the link went down.
        link_downed: u64 = 704, 64;
        /// Packets received with an error.
        rcv_errors: u64 = 768, 64;
        /// Packets received that were marked bad before.
        rcv_remote_physical_errors: u64 = 832, 64;
        /// Packets received that a switch could not pass on.
        rcv_switch_relay_errors: u64 = 896, 64;
        /// Packets discarded before they were sent.
        xmit_discards: u64 = 960, 64;
        /// Packets not sent for a partition or raw filter.
        xmit_constraint_errors: u64 = 1024, 64;
        /// Packets not taken for a partition or raw filter.
        rcv_constraint_errors: u64 = 1088, 64;
        /// Times that local errors passed their threshold.
        local_link_integrity_errors: u64 = 1152, 64;
        /// Times that buffer overruns passed their threshold.
        excessive_buffer_overruns: u64 = 1216, 64;
        /// Management packets dropped for want of room.
        vl15_dropped: u64 = 1280, 64;
        /// Ticks in which something waited to be sent and could not.
        xmit_wait: u64 = 1344, 64;
        /// Packets dropped at queue pair 1.
        qp1_dropped: u64 = 1408, 64;
    }
}

impl PortCountersExtended {
    /// The attribute that this type reads and writes.
    pub const ID: PerfAttributeId = PerfAttributeId::PortCountersExtended;
}
