//! PortInfo (section 14.2.5.6): everything about one port. The modifier is the port; 0 at a CA or router means the port
//! that the request came in by. Reserved: bits 2–4 of byte 34, 0–2 of byte 52, bit 0 of byte 56 and bits 0–2 of byte 63.

use super::bits::wire_enum;
use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::{Lid, Lmc, PortNum, Sl};

mod field {
    use crate::wire::bits::{Bits, bits};

    pub const M_KEY: Bits = bits(0, 64);
    pub const GID_PREFIX: Bits = bits(64, 64);
    pub const LID: Bits = bits(128, 16);
    pub const MASTER_SM_LID: Bits = bits(144, 16);
    pub const CAPABILITY_MASK: Bits = bits(160, 32);
    pub const DIAG_CODE: Bits = bits(192, 16);
    pub const M_KEY_LEASE_PERIOD: Bits = bits(208, 16);
    pub const LOCAL_PORT_NUM: Bits = bits(224, 8);
    pub const LINK_WIDTH_ENABLED: Bits = bits(232, 8);
    pub const LINK_WIDTH_SUPPORTED: Bits = bits(240, 8);
    pub const LINK_WIDTH_ACTIVE: Bits = bits(248, 8);
    pub const LINK_SPEED_SUPPORTED: Bits = bits(256, 4);
    pub const PORT_STATE: Bits = bits(260, 4);
    pub const PORT_PHYS_STATE: Bits = bits(264, 4);
    pub const LINK_DOWN_DEFAULT_STATE: Bits = bits(268, 4);
    pub const M_KEY_PROTECT_BITS: Bits = bits(272, 2);
    pub const LMC: Bits = bits(277, 3);
    pub const LINK_SPEED_ACTIVE: Bits = bits(280, 4);
    pub const LINK_SPEED_ENABLED: Bits = bits(284, 4);
    pub const NEIGHBOUR_MTU: Bits = bits(288, 4);
    pub const MASTER_SM_SL: Bits = bits(292, 4);
    pub const VL_CAP: Bits = bits(296, 4);
    pub const INIT_TYPE: Bits = bits(300, 4);
    pub const VL_HIGH_LIMIT: Bits = bits(304, 8);
    pub const VL_ARBITRATION_HIGH_CAP: Bits = bits(312, 8);
    pub const VL_ARBITRATION_LOW_CAP: Bits = bits(320, 8);
    pub const INIT_TYPE_REPLY: Bits = bits(328, 4);
    pub const MTU_CAP: Bits = bits(332, 4);
    pub const VL_STALL_COUNT: Bits = bits(336, 3);
    pub const HOQ_LIFE: Bits = bits(339, 5);
    pub const OPERATIONAL_VLS: Bits = bits(344, 4);
    pub const PARTITION_ENFORCEMENT_INBOUND: Bits = bits(348, 1);
    pub const PARTITION_ENFORCEMENT_OUTBOUND: Bits = bits(349, 1);
    pub const FILTER_RAW_INBOUND: Bits = bits(350, 1);
    pub const FILTER_RAW_OUTBOUND: Bits = bits(351, 1);
    pub const M_KEY_VIOLATIONS: Bits = bits(352, 16);
    pub const P_KEY_VIOLATIONS: Bits = bits(368, 16);
    pub const Q_KEY_VIOLATIONS: Bits = bits(384, 16);
    pub const GUID_CAP: Bits = bits(400, 8);
    pub const CLIENT_REREGISTER: Bits = bits(408, 1);
    pub const MULTICAST_P_KEY_TRAP_SUPPRESSION: Bits = bits(409, 2);
    pub const SUBNET_TIMEOUT: Bits = bits(411, 5);
    pub const RESP_TIME_VALUE: Bits = bits(419, 5);
    pub const LOCAL_PHY_ERRORS: Bits = bits(424, 4);
    pub const OVERRUN_ERRORS: Bits = bits(428, 4);
    pub const MAX_CREDIT_HINT: Bits = bits(432, 16);
    pub const LINK_SPEED_EXT2_ACTIVE: Bits = bits(449, 2);
    pub const LINK_SPEED_EXT2_SUPPORTED: Bits = bits(451, 2);
    pub const LINK_SPEED_EXT2_ENABLED: Bits = bits(453, 3);
    pub const LINK_ROUND_TRIP_LATENCY: Bits = bits(456, 24);
    pub const CAPABILITY_MASK2: Bits = bits(480, 16);
    pub const LINK_SPEED_EXT_ACTIVE: Bits = bits(496, 4);
    pub const LINK_SPEED_EXT_SUPPORTED: Bits = bits(500, 4);
    pub const LINK_SPEED_EXT_ENABLED: Bits = bits(507, 5);
}

/// Bits of PortInfo:CapabilityMask (table 146 of the specification).
pub mod capability {
    /// A subnet manager runs behind the port.
    pub const IS_SM: u32 = 1 << 1;
    /// Notices can be read.
    pub const NOTICE: u32 = 1 << 2;
    /// Traps are sent.
    pub const TRAP: u32 = 1 << 3;
    /// Automatic path migration.
    pub const AUTOMATIC_MIGRATION: u32 = 1 << 5;
    /// There is an SL-to-VL table.
    pub const SL_TO_VL: u32 = 1 << 6;
    /// The M_Key survives a power cycle.
    pub const M_KEY_KEPT: u32 = 1 << 7;
    /// The subnet manager behind the port is not to become master.
    pub const SM_DISABLED: u32 = 1 << 10;
    /// Speeds from FDR on are told.
    pub const EXTENDED_SPEEDS: u32 = 1 << 14;
    /// PortInfo:CapabilityMask2 means something.
    pub const CAPABILITY_MASK2: u32 = 1 << 15;
    /// Trap 144 is sent when the mask changes.
    pub const CAPABILITY_NOTICE: u32 = 1 << 22;
    /// PortInfo:ClientReregister is obeyed.
    pub const CLIENT_REREGISTER: u32 = 1 << 25;
    /// Trap 144 is sent when a link's width, its speed or the description changes.
    pub const OTHER_LOCAL_CHANGES_NOTICE: u32 = 1 << 26;
    /// SwitchInfo:MulticastFDBTop means something.
    pub const MULTICAST_FDB_TOP: u32 = 1 << 30;
}

wire_enum! {
    /// PortInfo:LinkWidthActive. The numbers are single bits, so that sets of widths are their sums.
    Width: u8 {
        /// One lane.
        X1 = 1,
        /// Four lanes.
        X4 = 2,
        /// Eight lanes.
        X8 = 4,
        /// Twelve lanes.
        X12 = 8,
        /// Two lanes.
        X2 = 16,
    }
}

wire_enum! {
    /// PortInfo:PortState, 4 bits.
    PortState: u8 {
        /// In a Set: leave it.
        NoChange = 0,
        /// No link.
        Down = 1,
        /// Linked; management only.
        Initialize = 2,
        /// Receives data, sends none.
        Armed = 3,
        /// Carries data.
        Active = 4,
    }
}

wire_enum! {
    /// PortInfo:PortPhysicalState, 4 bits.
    PortPhysState: u8 {
        /// In a Set: leave it.
        NoChange = 0,
        /// Drives nothing.
        Sleep = 1,
        /// Looks for a partner.
        Polling = 2,
        /// Switched off.
        Disabled = 3,
        /// Agrees on width and speed.
        Training = 4,
        /// Up.
        LinkUp = 5,
        /// Recovers from errors.
        LinkErrorRecovery = 6,
        /// Under test.
        PhyTest = 7,
    }
}

wire_enum! {
    /// PortInfo:NeighborMTU and MTUCap, 4 bits.
    Mtu: u8 {
        /// 256 bytes.
        B256 = 1,
        /// 512 bytes.
        B512 = 2,
        /// 1024 bytes.
        B1024 = 3,
        /// 2048 bytes.
        B2048 = 4,
        /// 4096 bytes.
        B4096 = 5,
    }
}

impl Mtu {
    /// The MTU in bytes; none where the number means nothing.
    pub fn bytes(self) -> Option<u16> {
        match self {
            Mtu::Unknown(_) => None,
            known => Some(128 << u8::from(known)),
        }
    }
}

wire_enum! {
    /// PortInfo:VLCap and OperationalVLs, 4 bits.
    VlCount: u8 {
        /// VL 0.
        One = 1,
        /// VL 0–1.
        Two = 2,
        /// VL 0–3.
        Four = 3,
        /// VL 0–7.
        Eight = 4,
        /// VL 0–14.
        Fifteen = 5,
    }
}

impl VlCount {
    /// How many data lanes; none where the number means nothing.
    pub fn lanes(self) -> Option<u8> {
        match self {
            VlCount::One => Some(1),
            VlCount::Two => Some(2),
            VlCount::Four => Some(4),
            VlCount::Eight => Some(8),
            VlCount::Fifteen => Some(15),
            VlCount::Unknown(_) => None,
        }
    }

    /// The most lanes that can be expressed and are no more than `lanes`; none for 0.
    pub fn at_most(lanes: u8) -> Option<VlCount> {
        match lanes {
            0 => None,
            1 => Some(VlCount::One),
            2..4 => Some(VlCount::Two),
            4..8 => Some(VlCount::Four),
            8..15 => Some(VlCount::Eight),
            15.. => Some(VlCount::Fifteen),
        }
    }
}

/// Signalling rate of a lane of a link, as the three speed fields of PortInfo tell it. FDR10 is a maker's own and shows
/// as QDR.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Speed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

/// LinkSpeedActive, LinkSpeedExtActive and LinkSpeedExtActive2 of each speed. Beyond QDR the first field stays at QDR.
const SPEEDS: [(Speed, [u8; 3]); 8] = [
    (Speed::Sdr, [1, 0, 0]),
    (Speed::Ddr, [2, 0, 0]),
    (Speed::Qdr, [4, 0, 0]),
    (Speed::Fdr, [4, 1, 0]),
    (Speed::Edr, [4, 2, 0]),
    (Speed::Hdr, [4, 4, 0]),
    (Speed::Ndr, [4, 8, 0]),
    (Speed::Xdr, [4, 0, 1]),
];

/// PortInfo. Fields of odd widths say how many bits they have in the table of offsets; `encode` refuses wider values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortInfo {
    /// The key that protects the port's management.
    pub m_key: u64,
    /// Upper half of the port's GIDs.
    pub gid_prefix: u64,
    /// The base LID.
    pub lid: Lid,
    /// The LID of the SM that manages the port.
    pub master_sm_lid: Lid,
    /// What the port can do (table 146 of the specification).
    pub capability_mask: u32,
    /// Result of its self-test.
    pub diag_code: u16,
    /// Seconds until a violated M_Key is given up; 0 is never.
    pub m_key_lease_period: u16,
    /// The port that received the request; at a switch any port may answer for any other.
    pub local_port_num: PortNum,
    /// Widths allowed: a set of [`Width`] numbers; 255 in a Set allows all that are supported.
    pub link_width_enabled: u8,
    /// Widths possible: a set of [`Width`] numbers.
    pub link_width_supported: u8,
    /// The width in use.
    pub link_width_active: Width,
    /// Speeds possible up to QDR, a set: 1 SDR, 2 DDR, 4 QDR.
    pub link_speed_supported: u8,
    /// The state of the link; `NoChange` in a Set.
    pub port_state: PortState,
    /// The state below it; `NoChange` in a Set.
    pub port_phys_state: PortPhysState,
    /// Where the link goes when it fails: 1 sleep, 2 polling.
    pub link_down_default_state: u8,
    /// What the M_Key protects.
    pub m_key_protect_bits: u8,
    /// The port answers to 2^LMC LIDs.
    pub lmc: Lmc,
    /// The speed in use up to QDR; read it through [`PortInfo::speed`].
    pub link_speed_active: u8,
    /// Speeds allowed up to QDR, a set; 15 in a Set allows all that are supported.
    pub link_speed_enabled: u8,
    /// The largest packet that may be sent on the link.
    pub neighbour_mtu: Mtu,
    /// The service level towards the SM.
    pub master_sm_sl: Sl,
    /// Data lanes that the port has.
    pub vl_cap: VlCount,
    /// What the SM is asked to keep at initialisation.
    pub init_type: u8,
    /// How much high-priority lanes may send before low ones: 4096 bytes × n.
    pub vl_high_limit: u8,
    /// Entries of the high-priority arbitration table.
    pub vl_arbitration_high_cap: u8,
    /// Entries of the low-priority arbitration table.
    pub vl_arbitration_low_cap: u8,
    /// What the SM kept.
    pub init_type_reply: u8,
    /// The largest packet that the port can take.
    pub mtu_cap: Mtu,
    /// After this many head-of-queue discards in a row the lane stalls.
    pub vl_stall_count: u8,
    /// A packet may head its queue for 4.096 µs × 2^n; no limit from 20 on.
    pub hoq_life: u8,
    /// Data lanes in use; 0 (`Unknown`) in a Set leaves them.
    pub operational_vls: VlCount,
    /// Partitions are enforced on what comes in.
    pub partition_enforcement_inbound: bool,
    /// Partitions are enforced on what goes out.
    pub partition_enforcement_outbound: bool,
    /// Raw packets that come in are discarded.
    pub filter_raw_inbound: bool,
    /// Raw packets that go out are discarded.
    pub filter_raw_outbound: bool,
    /// MADs with a wrong M_Key.
    pub m_key_violations: u16,
    /// Packets with a wrong P_Key.
    pub p_key_violations: u16,
    /// Packets with a wrong Q_Key.
    pub q_key_violations: u16,
    /// Entries of the port's GUID table.
    pub guid_cap: u8,
    /// Asks the node to subscribe anew to everything it had from the SA.
    pub client_reregister: bool,
    /// Traps on multicast P_Key violations: enabled, and kept silent.
    pub multicast_p_key_trap_suppression: u8,
    /// A packet may stay in the subnet for 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// The port answers within 4.096 µs × 2^n.
    pub resp_time_value: u8,
    /// Threshold of local physical errors.
    pub local_phy_errors: u8,
    /// Threshold of buffer overruns.
    pub overrun_errors: u8,
    /// Largest credit that the far end needs to grant, in 64 bytes.
    pub max_credit_hint: u16,
    /// The speed in use beyond NDR; read it through [`PortInfo::speed`].
    pub link_speed_ext2_active: u8,
    /// Speeds possible beyond NDR, a set: 1 XDR.
    pub link_speed_ext2_supported: u8,
    /// Speeds allowed beyond NDR, a set.
    pub link_speed_ext2_enabled: u8,
    /// Round trip of the link in 4 ns; all ones where not measured.
    pub link_round_trip_latency: u32,
    /// What more the port can do.
    pub capability_mask2: u16,
    /// The speed in use from FDR to NDR; read it through [`PortInfo::speed`].
    pub link_speed_ext_active: u8,
    /// Speeds possible from FDR on, a set: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
    pub link_speed_ext_supported: u8,
    /// Speeds allowed from FDR on, a set; 31 in a Set allows all that are supported.
    pub link_speed_ext_enabled: u8,
}

/// All zeroes.
impl Default for PortInfo {
    fn default() -> PortInfo {
        PortInfo::decode(&[0; SMP_DATA_SIZE])
    }
}

impl PortInfo {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::PortInfo;

    /// The speed in use: the newest of the three fields that says one. None while the link is down or of a kind not known.
    pub fn speed(&self) -> Option<Speed> {
        let told = match (self.link_speed_ext2_active, self.link_speed_ext_active) {
            (0, 0) => [self.link_speed_active, 0, 0],
            (0, ext) => [4, ext, 0],
            (ext2, _) => [4, 0, ext2],
        };
        SPEEDS.iter().find(|(_, codes)| *codes == told).map(|&(speed, _)| speed)
    }

    /// Makes `speed` the one in use, and it and all slower ones supported and enabled.
    pub fn set_speed(&mut self, speed: Speed) {
        let upto = SPEEDS.iter().filter(|(s, _)| *s <= speed);
        let set = |field: usize| upto.clone().fold(0, |set, (_, codes)| set | codes[field]);
        [self.link_speed_active, self.link_speed_ext_active, self.link_speed_ext2_active] = SPEEDS[speed as usize].1;
        [self.link_speed_supported, self.link_speed_ext_supported, self.link_speed_ext2_supported] =
            [set(0), set(1), set(2)];
        [self.link_speed_enabled, self.link_speed_ext_enabled, self.link_speed_ext2_enabled] = [set(0), set(1), set(2)];
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> PortInfo {
        PortInfo {
            m_key: field::M_KEY.get(data),
            gid_prefix: field::GID_PREFIX.get(data),
            lid: Lid(field::LID.get_u16(data)),
            master_sm_lid: Lid(field::MASTER_SM_LID.get_u16(data)),
            capability_mask: field::CAPABILITY_MASK.get_u32(data),
            diag_code: field::DIAG_CODE.get_u16(data),
            m_key_lease_period: field::M_KEY_LEASE_PERIOD.get_u16(data),
            local_port_num: PortNum(field::LOCAL_PORT_NUM.get_u8(data)),
            link_width_enabled: field::LINK_WIDTH_ENABLED.get_u8(data),
            link_width_supported: field::LINK_WIDTH_SUPPORTED.get_u8(data),
            link_width_active: field::LINK_WIDTH_ACTIVE.get_u8(data).into(),
            link_speed_supported: field::LINK_SPEED_SUPPORTED.get_u8(data),
            port_state: field::PORT_STATE.get_u8(data).into(),
            port_phys_state: field::PORT_PHYS_STATE.get_u8(data).into(),
            link_down_default_state: field::LINK_DOWN_DEFAULT_STATE.get_u8(data),
            m_key_protect_bits: field::M_KEY_PROTECT_BITS.get_u8(data),
            lmc: Lmc::masked(field::LMC.get_u8(data)),
            link_speed_active: field::LINK_SPEED_ACTIVE.get_u8(data),
            link_speed_enabled: field::LINK_SPEED_ENABLED.get_u8(data),
            neighbour_mtu: field::NEIGHBOUR_MTU.get_u8(data).into(),
            master_sm_sl: Sl::masked(field::MASTER_SM_SL.get_u8(data)),
            vl_cap: field::VL_CAP.get_u8(data).into(),
            init_type: field::INIT_TYPE.get_u8(data),
            vl_high_limit: field::VL_HIGH_LIMIT.get_u8(data),
            vl_arbitration_high_cap: field::VL_ARBITRATION_HIGH_CAP.get_u8(data),
            vl_arbitration_low_cap: field::VL_ARBITRATION_LOW_CAP.get_u8(data),
            init_type_reply: field::INIT_TYPE_REPLY.get_u8(data),
            mtu_cap: field::MTU_CAP.get_u8(data).into(),
            vl_stall_count: field::VL_STALL_COUNT.get_u8(data),
            hoq_life: field::HOQ_LIFE.get_u8(data),
            operational_vls: field::OPERATIONAL_VLS.get_u8(data).into(),
            partition_enforcement_inbound: field::PARTITION_ENFORCEMENT_INBOUND.get_flag(data),
            partition_enforcement_outbound: field::PARTITION_ENFORCEMENT_OUTBOUND.get_flag(data),
            filter_raw_inbound: field::FILTER_RAW_INBOUND.get_flag(data),
            filter_raw_outbound: field::FILTER_RAW_OUTBOUND.get_flag(data),
            m_key_violations: field::M_KEY_VIOLATIONS.get_u16(data),
            p_key_violations: field::P_KEY_VIOLATIONS.get_u16(data),
            q_key_violations: field::Q_KEY_VIOLATIONS.get_u16(data),
            guid_cap: field::GUID_CAP.get_u8(data),
            client_reregister: field::CLIENT_REREGISTER.get_flag(data),
            multicast_p_key_trap_suppression: field::MULTICAST_P_KEY_TRAP_SUPPRESSION.get_u8(data),
            subnet_timeout: field::SUBNET_TIMEOUT.get_u8(data),
            resp_time_value: field::RESP_TIME_VALUE.get_u8(data),
            local_phy_errors: field::LOCAL_PHY_ERRORS.get_u8(data),
            overrun_errors: field::OVERRUN_ERRORS.get_u8(data),
            max_credit_hint: field::MAX_CREDIT_HINT.get_u16(data),
            link_speed_ext2_active: field::LINK_SPEED_EXT2_ACTIVE.get_u8(data),
            link_speed_ext2_supported: field::LINK_SPEED_EXT2_SUPPORTED.get_u8(data),
            link_speed_ext2_enabled: field::LINK_SPEED_EXT2_ENABLED.get_u8(data),
            link_round_trip_latency: field::LINK_ROUND_TRIP_LATENCY.get_u32(data),
            capability_mask2: field::CAPABILITY_MASK2.get_u16(data),
            link_speed_ext_active: field::LINK_SPEED_EXT_ACTIVE.get_u8(data),
            link_speed_ext_supported: field::LINK_SPEED_EXT_SUPPORTED.get_u8(data),
            link_speed_ext_enabled: field::LINK_SPEED_EXT_ENABLED.get_u8(data),
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::M_KEY.put(&mut data, self.m_key);
        field::GID_PREFIX.put(&mut data, self.gid_prefix);
        field::LID.put(&mut data, self.lid.0);
        field::MASTER_SM_LID.put(&mut data, self.master_sm_lid.0);
        field::CAPABILITY_MASK.put(&mut data, self.capability_mask);
        field::DIAG_CODE.put(&mut data, self.diag_code);
        field::M_KEY_LEASE_PERIOD.put(&mut data, self.m_key_lease_period);
        field::LOCAL_PORT_NUM.put(&mut data, self.local_port_num.0);
        field::LINK_WIDTH_ENABLED.put(&mut data, self.link_width_enabled);
        field::LINK_WIDTH_SUPPORTED.put(&mut data, self.link_width_supported);
        field::LINK_WIDTH_ACTIVE.put(&mut data, self.link_width_active);
        field::LINK_SPEED_SUPPORTED.put(&mut data, self.link_speed_supported);
        field::PORT_STATE.put(&mut data, self.port_state);
        field::PORT_PHYS_STATE.put(&mut data, self.port_phys_state);
        field::LINK_DOWN_DEFAULT_STATE.put(&mut data, self.link_down_default_state);
        field::M_KEY_PROTECT_BITS.put(&mut data, self.m_key_protect_bits);
        field::LMC.put(&mut data, self.lmc.get());
        field::LINK_SPEED_ACTIVE.put(&mut data, self.link_speed_active);
        field::LINK_SPEED_ENABLED.put(&mut data, self.link_speed_enabled);
        field::NEIGHBOUR_MTU.put(&mut data, self.neighbour_mtu);
        field::MASTER_SM_SL.put(&mut data, self.master_sm_sl.get());
        field::VL_CAP.put(&mut data, self.vl_cap);
        field::INIT_TYPE.put(&mut data, self.init_type);
        field::VL_HIGH_LIMIT.put(&mut data, self.vl_high_limit);
        field::VL_ARBITRATION_HIGH_CAP.put(&mut data, self.vl_arbitration_high_cap);
        field::VL_ARBITRATION_LOW_CAP.put(&mut data, self.vl_arbitration_low_cap);
        field::INIT_TYPE_REPLY.put(&mut data, self.init_type_reply);
        field::MTU_CAP.put(&mut data, self.mtu_cap);
        field::VL_STALL_COUNT.put(&mut data, self.vl_stall_count);
        field::HOQ_LIFE.put(&mut data, self.hoq_life);
        field::OPERATIONAL_VLS.put(&mut data, self.operational_vls);
        field::PARTITION_ENFORCEMENT_INBOUND.put(&mut data, self.partition_enforcement_inbound);
        field::PARTITION_ENFORCEMENT_OUTBOUND.put(&mut data, self.partition_enforcement_outbound);
        field::FILTER_RAW_INBOUND.put(&mut data, self.filter_raw_inbound);
        field::FILTER_RAW_OUTBOUND.put(&mut data, self.filter_raw_outbound);
        field::M_KEY_VIOLATIONS.put(&mut data, self.m_key_violations);
        field::P_KEY_VIOLATIONS.put(&mut data, self.p_key_violations);
        field::Q_KEY_VIOLATIONS.put(&mut data, self.q_key_violations);
        field::GUID_CAP.put(&mut data, self.guid_cap);
        field::CLIENT_REREGISTER.put(&mut data, self.client_reregister);
        field::MULTICAST_P_KEY_TRAP_SUPPRESSION.put(&mut data, self.multicast_p_key_trap_suppression);
        field::SUBNET_TIMEOUT.put(&mut data, self.subnet_timeout);
        field::RESP_TIME_VALUE.put(&mut data, self.resp_time_value);
        field::LOCAL_PHY_ERRORS.put(&mut data, self.local_phy_errors);
        field::OVERRUN_ERRORS.put(&mut data, self.overrun_errors);
        field::MAX_CREDIT_HINT.put(&mut data, self.max_credit_hint);
        field::LINK_SPEED_EXT2_ACTIVE.put(&mut data, self.link_speed_ext2_active);
        field::LINK_SPEED_EXT2_SUPPORTED.put(&mut data, self.link_speed_ext2_supported);
        field::LINK_SPEED_EXT2_ENABLED.put(&mut data, self.link_speed_ext2_enabled);
        field::LINK_ROUND_TRIP_LATENCY.put(&mut data, self.link_round_trip_latency);
        field::CAPABILITY_MASK2.put(&mut data, self.capability_mask2);
        field::LINK_SPEED_EXT_ACTIVE.put(&mut data, self.link_speed_ext_active);
        field::LINK_SPEED_EXT_SUPPORTED.put(&mut data, self.link_speed_ext_supported);
        field::LINK_SPEED_EXT_ENABLED.put(&mut data, self.link_speed_ext_enabled);
        data
    }
}
