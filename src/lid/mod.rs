//! LID assignment: the paths that share an LID, the LIDs of each port, and their use to realise a routing function on a
//! half.
//!
//! On entry: a fabric with LIDs as captured. On return of [`assign`] (one LMC for all) and [`assign_each`] (an LMC for
//! each port): every end port owns 2^LMC LIDs from an aligned base, every switch one, no two ranges overlap, and the
//! highest LID fits every forwarding table. [`realise_paths`] turns paths into a routing function by DLID, with as few
//! LIDs as a [`Heuristic`] finds; [`rename`] is the renaming of seed 000 with its tables. [`realise`] puts path k of a
//! routing function on the k-th LID of a half (docs/GLOSSARY.md, *half*). [`Fabric::half_lids`] alone defines which
//! LIDs belong to a half. docs/LIDS.md describes it at length.

mod by_path;
pub mod configure;
mod guid2lid;
mod moved;
mod needs;
mod random_table;
mod realise;
mod renaming;
mod splits;
mod stable;

pub use by_path::{MOST_LIDS, PathLidError, PathLids, number_paths, realise_numbered, realise_paths};
pub use configure::Heuristic;
pub use guid2lid::{Guid2Lid, LidRange};
pub use moved::{MovedLids, describe_moved, moved};
pub use needs::{Needs, assign_each, assign_each_stable};
pub use random_table::{RandomTable, RandomTableFull};
pub use realise::{
    TooFewLids, bring_up, bring_up_undivided, check_fits, merge, mirrored, mirrored_from, realise, steady_sl_to_vl,
};
pub use renaming::{IdsExhausted, MOST_IDS, Name, Renaming, rename};
pub use splits::Splits;
pub use stable::{assign_beside_data, assign_stable};

use crate::fabric::{Fabric, NodeId, Port, PortId};
use crate::ids::{Lid, Lmc};

/// Why LIDs cannot be assigned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LidError {
    /// More LIDs are needed than there are unicast addresses.
    #[error(
        "LMC {lmc} needs {needed} LIDs up to LID {top} for {end_ports} end ports and {switches} switches; unicast LIDs \
         end at 49151: choose a smaller LMC"
    )]
    Exhausted {
        /// The requested LMC.
        lmc: Lmc,
        /// LIDs needed.
        needed: usize,
        /// The highest of them.
        top: usize,
        /// End ports.
        end_ports: usize,
        /// Switches.
        switches: usize,
    },
    /// A switch's forwarding table is too short.
    #[error(
        "switch {switch} holds {capacity} forwarding entries, LID 0 to {}; LMC {lmc} needs an entry for LID {top}: \
         choose a smaller LMC, or take the switch out", capacity.saturating_sub(1)
    )]
    LftCapacity {
        /// The switch.
        switch: String,
        /// Its index in the fabric that was to get LIDs.
        at: NodeId,
        /// Ports of that fabric that would have LIDs beyond the table.
        beyond: Vec<PortId>,
        /// SwitchInfo:LinearFDBCap.
        capacity: u16,
        /// The highest LID in use.
        top: Lid,
        /// The requested LMC.
        lmc: Lmc,
    },
    /// A port needs more LIDs than a half can have.
    #[error(
        "{port} needs {needed} LIDs in each half, and LMC 7 gives {MOST_LIDS}: choose an engine with fewer paths to it, or \
         an LID heuristic that shares LIDs better"
    )]
    HalfTooSmall {
        /// The port.
        port: String,
        /// LIDs needed in each half.
        needed: usize,
    },
    /// Too few LIDs are left for a port, besides those that others keep.
    #[error(
        "no {lids} consecutive free LIDs are left for {port}: {taken} of 49151 are taken; choose a smaller LMC, or remove \
         scattered ranges from the guid2lid file"
    )]
    NoRoom {
        /// The port.
        port: String,
        /// Its index in the fabric that was to get LIDs.
        at: PortId,
        /// LIDs needed.
        lids: u16,
        /// LIDs taken.
        taken: usize,
    },
}

/// The fabric with at least 2^`lmc` LIDs at every end port. Ports whose captured LIDs suffice keep them, and the others
/// get free ones. If no end port's suffice, or the others find no room, all are numbered anew: end ports in index order
/// from the first aligned base, switches in the gap before it and after the last.
///
/// # Errors
/// Too few unicast LIDs, or a switch whose table is too short.
pub fn assign(fabric: &Fabric, lmc: Lmc) -> Result<Fabric, LidError> {
    let assigned = if suffices(fabric, lmc) {
        fabric.clone()
    } else if fabric.end_ports().any(|port| is_enough(fabric, port, lmc)) {
        assign_stable(fabric, lmc, &Guid2Lid::new()).or_else(|_| number_anew(fabric, lmc))?
    } else {
        number_anew(fabric, lmc)?
    };
    check_capacity(&assigned, lmc)?;
    Ok(assigned)
}

/// Returns whether every port that needs a LID has one, and every end port has enough of them, aligned.
pub fn suffices(fabric: &Fabric, lmc: Lmc) -> bool {
    fabric.lid_ports().all(|port| is_enough(fabric, port, lmc))
}

fn is_enough(fabric: &Fabric, id: PortId, lmc: Lmc) -> bool {
    let port = fabric.port(id);
    let aligned = port.lid.is_some_and(|lid| lid.0 % port.lmc.lids() == 0);
    aligned && (port.lmc >= lmc || fabric.node(port.node).is_switch())
}

fn number_anew(fabric: &Fabric, lmc: Lmc) -> Result<Fabric, LidError> {
    let (switches, ends): (Vec<PortId>, Vec<PortId>) =
        fabric.lid_ports().partition(|&port| fabric.node(fabric.port(port).node).is_switch());
    let step = usize::from(lmc.lids());
    let behind = step * (ends.len() + 1);
    let gap = 1..step;
    let singles = gap.clone().chain(behind..);
    let top = if switches.len() > gap.len() { behind + switches.len() - gap.len() - 1 } else { behind - 1 };
    if top > Lid::MAX_UNICAST.index() {
        let needed = step * ends.len() + switches.len();
        return Err(LidError::Exhausted { lmc, needed, top, end_ports: ends.len(), switches: switches.len() });
    }
    let ranges = ends.iter().zip((step..).step_by(step)).map(|(&port, lid)| (port, Lid(lid as u16), lmc));
    let ones = switches.iter().zip(singles).map(|(&port, lid)| (port, Lid(lid as u16), Lmc::default()));
    Ok(fabric.with_lids(ranges.chain(ones)).expect("ranges numbered one after the other never meet"))
}

fn check_capacity(fabric: &Fabric, lmc: Lmc) -> Result<(), LidError> {
    let Some(top) = fabric.max_lid() else { return Ok(()) };
    match fabric.switches().find(|&switch| fabric.node(switch).lft_capacity <= top.0) {
        None => Ok(()),
        Some(at) => {
            let capacity = fabric.node(at).lft_capacity;
            let last = |port: &Port| port.lid.map_or(0, |lid| lid.0 + (port.lmc.lids() - 1));
            let beyond = fabric.lid_ports().filter(|&port| last(fabric.port(port)) >= capacity).collect();
            Err(LidError::LftCapacity { switch: fabric.describe_node(at), at, beyond, capacity, top, lmc })
        }
    }
}
