//! SwitchInfo (section 14.2.5.4): what a switch can do and how far its tables go. Reserved: bits 5–7 of byte 16, byte 17 and
//! bytes 20–63.

use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::{Lid, PortNum};

mod field {
    use crate::wire::bits::{Bits, bits};

    pub const LINEAR_FDB_CAP: Bits = bits(0, 16);
    pub const RANDOM_FDB_CAP: Bits = bits(16, 16);
    pub const MULTICAST_FDB_CAP: Bits = bits(32, 16);
    pub const LINEAR_FDB_TOP: Bits = bits(48, 16);
    pub const DEFAULT_PORT: Bits = bits(64, 8);
    pub const DEFAULT_MULTICAST_PRIMARY_PORT: Bits = bits(72, 8);
    pub const DEFAULT_MULTICAST_NOT_PRIMARY_PORT: Bits = bits(80, 8);
    pub const LIFE_TIME_VALUE: Bits = bits(88, 5);
    pub const PORT_STATE_CHANGE: Bits = bits(93, 1);
    pub const OPTIMISED_SL_TO_VL_PROGRAMMING: Bits = bits(94, 2);
    pub const LIDS_PER_PORT: Bits = bits(96, 16);
    pub const PARTITION_ENFORCEMENT_CAP: Bits = bits(112, 16);
    pub const INBOUND_ENFORCEMENT_CAP: Bits = bits(128, 1);
    pub const OUTBOUND_ENFORCEMENT_CAP: Bits = bits(129, 1);
    pub const FILTER_RAW_INBOUND_CAP: Bits = bits(130, 1);
    pub const FILTER_RAW_OUTBOUND_CAP: Bits = bits(131, 1);
    pub const ENHANCED_PORT0: Bits = bits(132, 1);
    pub const MULTICAST_FDB_TOP: Bits = bits(144, 16);
}

/// SwitchInfo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchInfo {
    /// Entries of the linear forwarding table.
    pub linear_fdb_cap: u16,
    /// Entries of the random forwarding table.
    pub random_fdb_cap: u16,
    /// Entries of the multicast forwarding table.
    pub multicast_fdb_cap: u16,
    /// The last LID that the linear table routes; beyond it packets are discarded.
    pub linear_fdb_top: Lid,
    /// Where unknown destinations go, with random tables only.
    pub default_port: PortNum,
    /// Where multicast without a group goes.
    pub default_multicast_primary_port: PortNum,
    /// The same, for packets that came in by the former.
    pub default_multicast_not_primary_port: PortNum,
    /// A packet may stay in the switch for 4.096 µs × 2^n; no limit from 20 on. 5 bits.
    pub life_time_value: u8,
    /// A port changed its state since the SM last wrote a one here.
    pub port_state_change: bool,
    /// Bit 0: the switch takes the optimised form of [`SlToVlMappingTable`](super::SlToVlMappingTable). 2 bits.
    pub optimised_sl_to_vl_programming: u8,
    /// LIDs per port, with random tables only.
    pub lids_per_port: u16,
    /// Entries of the partition tables that it enforces.
    pub partition_enforcement_cap: u16,
    /// Can enforce partitions on what comes in.
    pub inbound_enforcement_cap: bool,
    /// Can enforce partitions on what goes out.
    pub outbound_enforcement_cap: bool,
    /// Can discard raw packets that come in.
    pub filter_raw_inbound_cap: bool,
    /// Can discard raw packets that go out.
    pub filter_raw_outbound_cap: bool,
    /// Port 0 is an end port like a CA's, with LMC and lanes of its own.
    pub enhanced_port0: bool,
    /// The last multicast LID that the table routes; zero where not told.
    pub multicast_fdb_top: Lid,
}

/// All zeroes.
impl Default for SwitchInfo {
    fn default() -> SwitchInfo {
        SwitchInfo::decode(&[0; SMP_DATA_SIZE])
    }
}

impl SwitchInfo {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::SwitchInfo;

    /// Whether one SMP can set the SL-to-VL tables of all ports.
    pub fn takes_optimised_sl_to_vl(&self) -> bool {
        self.optimised_sl_to_vl_programming & 1 == 1
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> SwitchInfo {
        SwitchInfo {
            linear_fdb_cap: field::LINEAR_FDB_CAP.get_u16(data),
            random_fdb_cap: field::RANDOM_FDB_CAP.get_u16(data),
            multicast_fdb_cap: field::MULTICAST_FDB_CAP.get_u16(data),
            linear_fdb_top: Lid(field::LINEAR_FDB_TOP.get_u16(data)),
            default_port: PortNum(field::DEFAULT_PORT.get_u8(data)),
            default_multicast_primary_port: PortNum(field::DEFAULT_MULTICAST_PRIMARY_PORT.get_u8(data)),
            default_multicast_not_primary_port: PortNum(field::DEFAULT_MULTICAST_NOT_PRIMARY_PORT.get_u8(data)),
            life_time_value: field::LIFE_TIME_VALUE.get_u8(data),
            port_state_change: field::PORT_STATE_CHANGE.get_flag(data),
            optimised_sl_to_vl_programming: field::OPTIMISED_SL_TO_VL_PROGRAMMING.get_u8(data),
            lids_per_port: field::LIDS_PER_PORT.get_u16(data),
            partition_enforcement_cap: field::PARTITION_ENFORCEMENT_CAP.get_u16(data),
            inbound_enforcement_cap: field::INBOUND_ENFORCEMENT_CAP.get_flag(data),
            outbound_enforcement_cap: field::OUTBOUND_ENFORCEMENT_CAP.get_flag(data),
            filter_raw_inbound_cap: field::FILTER_RAW_INBOUND_CAP.get_flag(data),
            filter_raw_outbound_cap: field::FILTER_RAW_OUTBOUND_CAP.get_flag(data),
            enhanced_port0: field::ENHANCED_PORT0.get_flag(data),
            multicast_fdb_top: Lid(field::MULTICAST_FDB_TOP.get_u16(data)),
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::LINEAR_FDB_CAP.put(&mut data, self.linear_fdb_cap);
        field::RANDOM_FDB_CAP.put(&mut data, self.random_fdb_cap);
        field::MULTICAST_FDB_CAP.put(&mut data, self.multicast_fdb_cap);
        field::LINEAR_FDB_TOP.put(&mut data, self.linear_fdb_top.0);
        field::DEFAULT_PORT.put(&mut data, self.default_port.0);
        field::DEFAULT_MULTICAST_PRIMARY_PORT.put(&mut data, self.default_multicast_primary_port.0);
        field::DEFAULT_MULTICAST_NOT_PRIMARY_PORT.put(&mut data, self.default_multicast_not_primary_port.0);
        field::LIFE_TIME_VALUE.put(&mut data, self.life_time_value);
        field::PORT_STATE_CHANGE.put(&mut data, self.port_state_change);
        field::OPTIMISED_SL_TO_VL_PROGRAMMING.put(&mut data, self.optimised_sl_to_vl_programming);
        field::LIDS_PER_PORT.put(&mut data, self.lids_per_port);
        field::PARTITION_ENFORCEMENT_CAP.put(&mut data, self.partition_enforcement_cap);
        field::INBOUND_ENFORCEMENT_CAP.put(&mut data, self.inbound_enforcement_cap);
        field::OUTBOUND_ENFORCEMENT_CAP.put(&mut data, self.outbound_enforcement_cap);
        field::FILTER_RAW_INBOUND_CAP.put(&mut data, self.filter_raw_inbound_cap);
        field::FILTER_RAW_OUTBOUND_CAP.put(&mut data, self.filter_raw_outbound_cap);
        field::ENHANCED_PORT0.put(&mut data, self.enhanced_port0);
        field::MULTICAST_FDB_TOP.put(&mut data, self.multicast_fdb_top.0);
        data
    }
}
