//! PortInfo (section 14.2.5.6): everything about one port. The modifier is the port; 0 at a CA or router means the port
//! that the request came in by. Reserved: bits 2–4 of byte 34, 0–2 of byte 52, bit 0 of byte 56 and bits 0–2 of byte
//! 63.

use super::format::{attribute, wire_enum};
use crate::ids::{Lid, Lmc, PortNum, Sl};
use crate::link::{LinkSpeed, LinkWidth};
use std::str::FromStr;

/// Bits of PortInfo:CapabilityMask (table 146 of the specification).
pub mod capability {
    /// A subnet manager runs at the port.
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
    /// The subnet manager at the port is not to become master.
    pub const SM_DISABLED: u32 = 1 << 10;
    /// The port reports speeds from FDR on.
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

impl Width {
    /// The width of the link; none where the number means nothing.
    pub fn of_link(self) -> Option<LinkWidth> {
        Some(match self {
            Width::X1 => LinkWidth::X1,
            Width::X2 => LinkWidth::X2,
            Width::X4 => LinkWidth::X4,
            Width::X8 => LinkWidth::X8,
            Width::X12 => LinkWidth::X12,
            Width::Unknown(_) => return None,
        })
    }
}

impl From<LinkWidth> for Width {
    fn from(width: LinkWidth) -> Width {
        match width {
            LinkWidth::X1 => Width::X1,
            LinkWidth::X2 => Width::X2,
            LinkWidth::X4 => Width::X4,
            LinkWidth::X8 => Width::X8,
            LinkWidth::X12 => Width::X12,
        }
    }
}

wire_enum! {
    /// PortInfo:PortState, 4 bits.
    PortState: u8 {
        /// In a Set: no change.
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
        /// In a Set: no change.
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

/// From bytes.
impl FromStr for Mtu {
    type Err = String;

    fn from_str(text: &str) -> Result<Mtu, String> {
        let of_bytes = |bytes| (1..=5).map(Mtu::from).find(|mtu| mtu.bytes() == Some(bytes));
        let found = text.parse().ok().and_then(of_bytes);
        found.ok_or_else(|| "expected 256, 512, 1024, 2048 or 4096 bytes".to_string())
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
    /// The number of data lanes; none if the value is undefined.
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

/// LinkSpeedActive, LinkSpeedExtActive and LinkSpeedExtActive2 of each speed. Beyond QDR the first field stays at QDR.
/// FDR10 is a maker's own and shows as QDR.
const SPEEDS: [(LinkSpeed, [u8; 3]); 9] = [
    (LinkSpeed::Sdr, [1, 0, 0]),
    (LinkSpeed::Ddr, [2, 0, 0]),
    (LinkSpeed::Qdr, [4, 0, 0]),
    (LinkSpeed::Fdr10, [4, 0, 0]),
    (LinkSpeed::Fdr, [4, 1, 0]),
    (LinkSpeed::Edr, [4, 2, 0]),
    (LinkSpeed::Hdr, [4, 4, 0]),
    (LinkSpeed::Ndr, [4, 8, 0]),
    (LinkSpeed::Xdr, [4, 0, 1]),
];

attribute! {
    /// PortInfo. Fields of odd widths say how many bits they have where they are declared; `encode` panics on wider
    /// values.
    PortInfo {
        /// The key that protects the port's management.
        m_key: u64 = 0, 64;
        /// Upper half of the port's GIDs.
        gid_prefix: u64 = 64, 64;
        /// The base LID.
        lid: Lid = 128, 16;
        /// The LID of the SM that manages the port.
        master_sm_lid: Lid = 144, 16;
        /// Capabilities of the port (table 146 of the specification).
        capability_mask: u32 = 160, 32;
        /// Result of its self-test.
        diag_code: u16 = 192, 16;
        /// Seconds until a violated M_Key is given up; 0 is never.
        m_key_lease_period: u16 = 208, 16;
        /// The port that received the request; at a switch any port may answer for any other.
        local_port_num: PortNum = 224, 8;
        /// Widths allowed: a set of [`Width`] numbers; 255 in a Set allows all that are supported.
        link_width_enabled: u8 = 232, 8;
        /// Widths possible: a set of [`Width`] numbers.
        link_width_supported: u8 = 240, 8;
        /// The width in use.
        link_width_active: Width = 248, 8;
        /// Speeds possible up to QDR, a set: 1 SDR, 2 DDR, 4 QDR.
        link_speed_supported: u8 = 256, 4;
        /// The state of the link; `NoChange` in a Set.
        port_state: PortState = 260, 4;
        /// The state below it; `NoChange` in a Set.
        port_phys_state: PortPhysState = 264, 4;
        /// The state of the link after it fails: 1 sleep, 2 polling.
        link_down_default_state: u8 = 268, 4;
        /// The protection by the M_Key.
        m_key_protect_bits: u8 = 272, 2;
        /// The port answers to 2^LMC LIDs.
        lmc: Lmc = 277, 3;
        /// The speed in use up to QDR; read it through [`PortInfo::speed`].
        link_speed_active: u8 = 280, 4;
        /// Speeds allowed up to QDR, a set; 15 in a Set allows all that are supported.
        link_speed_enabled: u8 = 284, 4;
        /// The largest packet that may be sent on the link.
        neighbour_mtu: Mtu = 288, 4;
        /// The service level towards the SM.
        master_sm_sl: Sl = 292, 4;
        /// Data lanes that the port has.
        vl_cap: VlCount = 296, 4;
        /// The state that the SM is asked to keep at initialisation.
        init_type: u8 = 300, 4;
        /// The amount that high-priority lanes may send before low ones: 4096 bytes × n.
        vl_high_limit: u8 = 304, 8;
        /// Entries of the high-priority arbitration table.
        vl_arbitration_high_cap: u8 = 312, 8;
        /// Entries of the low-priority arbitration table.
        vl_arbitration_low_cap: u8 = 320, 8;
        /// The state that the SM kept.
        init_type_reply: u8 = 328, 4;
        /// The largest packet that the port can take.
        mtu_cap: Mtu = 332, 4;
        /// After this many head-of-queue discards in a row the lane stalls.
        vl_stall_count: u8 = 336, 3;
        /// A packet may head its queue for 4.096 µs × 2^n; no limit from 20 on.
        hoq_life: u8 = 339, 5;
        /// Data lanes in use; 0 (`Unknown`) in a Set leaves them.
        operational_vls: VlCount = 344, 4;
        /// Partitions are enforced on packets that enter.
        partition_enforcement_inbound: bool = 348, 1;
        /// Partitions are enforced on packets that leave.
        partition_enforcement_outbound: bool = 349, 1;
        /// Raw packets that come in are discarded.
        filter_raw_inbound: bool = 350, 1;
        /// Raw packets that go out are discarded.
        filter_raw_outbound: bool = 351, 1;
        /// MADs with a wrong M_Key.
        m_key_violations: u16 = 352, 16;
        /// Packets with a wrong P_Key.
        p_key_violations: u16 = 368, 16;
        /// Packets with a wrong Q_Key.
        q_key_violations: u16 = 384, 16;
        /// Entries of the port's GUID table.
        guid_cap: u8 = 400, 8;
        /// Asks the node to subscribe anew to everything it had from the SA.
        client_reregister: bool = 408, 1;
        /// Traps on multicast P_Key violations: enabled, and kept silent.
        multicast_p_key_trap_suppression: u8 = 409, 2;
        /// A packet may stay in the subnet for 4.096 µs × 2^n.
        subnet_timeout: u8 = 411, 5;
        /// The port answers within 4.096 µs × 2^n.
        resp_time_value: u8 = 419, 5;
        /// Threshold of local physical errors.
        local_phy_errors: u8 = 424, 4;
        /// Threshold of buffer overruns.
        overrun_errors: u8 = 428, 4;
        /// Largest credit that the far end needs to grant, in 64 bytes.
        max_credit_hint: u16 = 432, 16;
        /// The speed in use beyond NDR; read it through [`PortInfo::speed`].
        link_speed_ext2_active: u8 = 449, 2;
        /// Speeds possible beyond NDR, a set: 1 XDR.
        link_speed_ext2_supported: u8 = 451, 2;
        /// Speeds allowed beyond NDR, a set.
        link_speed_ext2_enabled: u8 = 453, 3;
        /// Round trip of the link in 4 ns; all ones where not measured.
        link_round_trip_latency: u32 = 456, 24;
        /// Further capabilities of the port.
        capability_mask2: u16 = 480, 16;
        /// The speed in use from FDR to NDR; read it through [`PortInfo::speed`].
        link_speed_ext_active: u8 = 496, 4;
        /// Speeds possible from FDR on, a set: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
        link_speed_ext_supported: u8 = 500, 4;
        /// Speeds allowed from FDR on, a set; 31 in a Set allows all that are supported.
        link_speed_ext_enabled: u8 = 507, 5;
    }
}

impl PortInfo {
    /// What changes nothing at a port that holds this: *no change* in every field that can express it.
    #[must_use]
    pub fn unchanged(&self) -> PortInfo {
        PortInfo {
            port_state: PortState::NoChange,
            port_phys_state: PortPhysState::NoChange,
            link_down_default_state: 0,
            link_width_enabled: 0,
            link_speed_enabled: 0,
            link_speed_ext_enabled: 0,
            link_speed_ext2_enabled: 0,
            operational_vls: VlCount::from(0),
            client_reregister: false,
            ..self.clone()
        }
    }

    /// The speed in use: the newest of the three fields that says one. None while the link is down or of a kind not
    /// known.
    pub fn speed(&self) -> Option<LinkSpeed> {
        let active = match (self.link_speed_ext2_active, self.link_speed_ext_active) {
            (0, 0) => [self.link_speed_active, 0, 0],
            (0, ext) => [4, ext, 0],
            (ext2, _) => [4, 0, ext2],
        };
        SPEEDS.iter().find(|(_, codes)| *codes == active).map(|&(speed, _)| speed)
    }

    /// Makes `speed` the one in use, and it and all slower ones supported and enabled.
    pub fn set_speed(&mut self, speed: LinkSpeed) {
        let upto = SPEEDS.iter().filter(|(s, _)| *s <= speed);
        let set = |field: usize| upto.clone().fold(0, |set, (_, codes)| set | codes[field]);
        [self.link_speed_active, self.link_speed_ext_active, self.link_speed_ext2_active] = SPEEDS[speed as usize].1;
        [self.link_speed_supported, self.link_speed_ext_supported, self.link_speed_ext2_supported] =
            [set(0), set(1), set(2)];
        [self.link_speed_enabled, self.link_speed_ext_enabled, self.link_speed_ext2_enabled] = [set(0), set(1), set(2)];
    }
}
