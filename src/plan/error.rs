//! Why a change cannot be planned: one variant for each precondition.

use super::CyclicDrain;
use crate::ids::{Half, Lid, Lmc, Sl, Vl};

/// A precondition that does not hold. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A link with too few lanes to separate old from new packets.
    #[error(
        "the link at {port} has {data_vls} data VL: the Double Scheme needs two on every link; raise OperationalVLs there. Forwarding entries alone (schemes `auto` and `ordered`) and scheme `static` need one"
    )]
    OneDataVl {
        /// One end of the link.
        port: String,
        /// Data VLs there.
        data_vls: u8,
    },
    /// An end port without a second half.
    #[error(
        "{port} has LMC 0, one LID: the Double Scheme needs two halves of LIDs; assign LIDs with LMC 1 or more. Forwarding entries alone (schemes `auto` and `ordered`) need one LID"
    )]
    LmcZero {
        /// The port.
        port: String,
    },
    /// A port without a LID.
    #[error("{port} has no LID: assign LIDs before planning a change")]
    NoLid {
        /// The port.
        port: String,
    },
    /// A base LID on which the halves cannot be distinguished.
    #[error("{port} has base LID {lid}, which is not a multiple of 2^{lmc}: assign LIDs anew")]
    Unaligned {
        /// The port.
        port: String,
        /// Its base LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// A routing function needs more virtual layers than its set of lanes has.
    #[error(
        "the {which} routing needs {layers} virtual layers for freedom from deadlock, but its set of lanes has {lanes} of the {all} data VLs: choose an engine that needs fewer, or more VLs"
    )]
    TooFewLanes {
        /// `old` or `new`.
        which: &'static str,
        /// Layers needed.
        layers: u8,
        /// Lanes in its set.
        lanes: usize,
        /// Data VLs on every link.
        all: usize,
    },
    /// A routing function needs more virtual layers than a half has service levels.
    #[error(
        "the {which} routing needs {layers} virtual layers, but a half has only 8 service levels to distinguish them"
    )]
    TooFewSls {
        /// `old` or `new`.
        which: &'static str,
        /// Layers needed.
        layers: u8,
    },
    /// The service level to be reserved is that of a virtual layer.
    #[error(
        "SL {sl} cannot be reserved: data takes the first {layers} service levels of a half, one for each virtual layer; reserve a \
         later one (--reserved-sl)"
    )]
    ReservedInUse {
        /// The service level.
        sl: Sl,
        /// Layers of the routing that needs more.
        layers: u8,
    },
    /// No lane is left for the reserved service level.
    #[error(
        "reserving SL {sl} takes a data VL of its own: this scheme needs {needed} on every link, and the least is {data_vls}; raise \
         OperationalVLs, choose another scheme, or leave --reserved-sl out"
    )]
    NoLaneToReserve {
        /// The service level.
        sl: Sl,
        /// Data VLs that every link has.
        data_vls: usize,
        /// Data VLs that the scheme needs, the reserved one included.
        needed: usize,
    },
    /// The tables in force do not keep the reserved level apart.
    #[error(
        "SL {sl} is to be alone on VL {vl}, and the tables in force of {device} put SL {stray} on VL {on}: a bring-up with that level \
         can change that, and no change of the routing"
    )]
    ReservedNotKept {
        /// The device.
        device: String,
        /// The reserved service level.
        sl: Sl,
        /// Its lane.
        vl: Vl,
        /// The service level that is on a lane where it should not be.
        stray: Sl,
        /// The lane.
        on: Vl,
    },
    /// A forwarding table exceeds the switch's capacity.
    #[error("{switch} forwards only LIDs below {capacity}, but the new tables route LID {lid}: assign lower LIDs")]
    LftCapacity {
        /// The switch.
        switch: String,
        /// SwitchInfo:LinearFDBCap.
        capacity: u16,
        /// The highest LID routed.
        lid: Lid,
    },
    /// New tables change LIDs in use.
    #[error(
        "the new tables of {switch} change the route of LID {lid}, which belongs to the half in use ({half}): realise the new routing on the spare half only"
    )]
    ActiveEntry {
        /// The switch.
        switch: String,
        /// The LID.
        lid: Lid,
        /// The half in use.
        half: Half,
    },
    /// The SM cannot reach a device, which must not be among the surviving ones.
    #[error("{device} cannot be reached from the SM at {sm}: omit what is cut off from the surviving fabric")]
    Unreachable {
        /// The device.
        device: String,
        /// The SM's port.
        sm: String,
    },
    /// A source uses a half other than the one in use.
    #[error(
        "{port} sends on the {found} half, but the change starts from the {said} half: finish the last change first"
    )]
    WrongHalf {
        /// The end port.
        port: String,
        /// The half on which it sends.
        found: Half,
        /// The half in use.
        said: Half,
    },
    /// A port's counters cannot be read during the drain.
    #[error(
        "the new routing omits {port}, so that its counters cannot be read while the old lanes drain: choose another drain observer than conservation"
    )]
    Uncounted {
        /// The end port.
        port: String,
    },
    /// The channels have no order in which to drain.
    #[error(transparent)]
    Drain(#[from] CyclicDrain),
}
