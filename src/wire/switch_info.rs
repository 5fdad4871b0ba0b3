//! SwitchInfo (section 14.2.5.4): the capabilities of a switch and the sizes of its tables. Reserved: bits 5–7 of byte
//! 16, byte 17 and bytes 20–63.

use super::format::attribute;
use crate::ids::{Lid, PortNum};

attribute! {
    /// SwitchInfo.
    SwitchInfo {
        /// Entries of the linear forwarding table.
        linear_fdb_cap: u16 = 0, 16;
        /// Entries of the random forwarding table.
        random_fdb_cap: u16 = 16, 16;
        /// Entries of the multicast forwarding table.
        multicast_fdb_cap: u16 = 32, 16;
        /// The last LID that the linear table routes; beyond it packets are discarded.
        linear_fdb_top: Lid = 48, 16;
        /// The output for unknown destinations, with random tables only.
        default_port: PortNum = 64, 8;
        /// The output for multicast without a group.
        default_multicast_primary_port: PortNum = 72, 8;
        /// The output for multicast without a group that arrived by the primary port.
        default_multicast_not_primary_port: PortNum = 80, 8;
        /// A packet may stay in the switch for 4.096 µs × 2^n; no limit from 20 on. 5 bits.
        life_time_value: u8 = 88, 5;
        /// A port changed its state since the SM last wrote a one here.
        port_state_change: bool = 93, 1;
        /// Bit 0: the switch takes the optimised form of [`SlToVlMappingTable`](super::SlToVlMappingTable). 2 bits.
        optimised_sl_to_vl_programming: u8 = 94, 2;
        /// LIDs per port, with random tables only.
        lids_per_port: u16 = 96, 16;
        /// Entries of the partition tables that it enforces.
        partition_enforcement_cap: u16 = 112, 16;
        /// Can enforce partitions on packets that enter.
        inbound_enforcement_cap: bool = 128, 1;
        /// Can enforce partitions on packets that leave.
        outbound_enforcement_cap: bool = 129, 1;
        /// Can discard raw packets that come in.
        filter_raw_inbound_cap: bool = 130, 1;
        /// Can discard raw packets that go out.
        filter_raw_outbound_cap: bool = 131, 1;
        /// Port 0 is an end port like a CA's, with LMC and lanes of its own.
        enhanced_port0: bool = 132, 1;
        /// The last multicast LID that the table routes; zero where the switch does not report it.
        multicast_fdb_top: Lid = 144, 16;
    }
}

impl SwitchInfo {
    /// Returns whether one SMP can set the SL-to-VL tables of all ports.
    pub fn takes_optimised_sl_to_vl(&self) -> bool {
        self.optimised_sl_to_vl_programming & 1 == 1
    }
}
