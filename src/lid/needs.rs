//! The number of LIDs that each port needs, and an assignment that gives each port no more than its own LMC requires.
//!
//! A port that needs k LIDs in a half gets LMC 1 + ⌈lg k⌉, so that each half realises a whole routing function
//! (docs/GLOSSARY.md, *half*); a switch has one LID. Ranges are aligned and assigned from the largest to the smallest,
//! each the lowest free one. This leaves no gaps except those below the first range and those caused by ports that keep
//! their LIDs.

use super::by_path::{MOST_LIDS, PathLids};
use super::guid2lid::{Guid2Lid, LidRange, guid_of};
use super::stable::{Assignment, absentees};
use super::{LidError, check_capacity};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, Lmc};
use crate::tables::{PathSet, RoutingFunction};

/// By port: how many LIDs it needs in each half, from 1 to 64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needs {
    in_half: Vec<u8>,
}

impl Needs {
    /// One LID in each half for every port.
    pub fn one(fabric: &Fabric) -> Needs {
        Needs { in_half: vec![1; fabric.port_count()] }
    }

    /// The needs of a routing function.
    ///
    /// # Errors
    /// A port needs more than 64.
    pub fn of(fabric: &Fabric, function: &RoutingFunction) -> Result<Needs, LidError> {
        let mut needs = Needs::one(fabric);
        for (rank, &port) in function.destinations().iter().enumerate() {
            needs.raise(fabric, port, function.needed(rank))?;
        }
        Ok(needs)
    }

    /// The needs of paths with their LIDs.
    ///
    /// # Errors
    /// A port needs more than 64.
    pub fn of_paths(fabric: &Fabric, paths: &PathSet, lids: &PathLids) -> Result<Needs, LidError> {
        let mut needs = Needs::one(fabric);
        for (&port, &needed) in paths.destinations().iter().zip(lids.needed()) {
            needs.raise(fabric, port, needed as usize)?;
        }
        Ok(needs)
    }

    /// Raises the need of a port to at least `needed`.
    ///
    /// # Errors
    /// More than 64.
    pub fn raise(&mut self, fabric: &Fabric, port: PortId, needed: usize) -> Result<(), LidError> {
        if needed > MOST_LIDS {
            return Err(LidError::HalfTooSmall { port: fabric.describe_port(port), needed });
        }
        let own = &mut self.in_half[port.index()];
        *own = (*own).max(needed as u8);
        Ok(())
    }

    /// The larger of each port's needs.
    #[must_use]
    pub fn join(&self, other: &Needs) -> Needs {
        assert_eq!(self.in_half.len(), other.in_half.len(), "needs of one fabric");
        Needs { in_half: self.in_half.iter().zip(&other.in_half).map(|(&a, &b)| a.max(b)).collect() }
    }

    /// The number of LIDs that a port needs in each half.
    pub fn in_half(&self, port: PortId) -> usize {
        usize::from(self.in_half[port.index()])
    }

    /// The LMC of a port: 0 for a switch, 1 + ⌈lg k⌉ for an end port that needs k.
    pub fn lmc(&self, fabric: &Fabric, port: PortId) -> Lmc {
        if fabric.node(fabric.port(port).node).is_switch() {
            return Lmc::default();
        }
        Lmc::masked(1 + self.in_half[port.index()].next_power_of_two().ilog2() as u8)
    }

    /// Returns whether every port that may own LIDs has enough of them, aligned.
    pub fn are_met(&self, fabric: &Fabric) -> bool {
        fabric.lid_ports().all(|id| {
            let port = fabric.port(id);
            port.lmc >= self.lmc(fabric, id) && port.lid.is_some_and(|lid| lid.0 % port.lmc.lids() == 0)
        })
    }

    fn wanted(&self, fabric: &Fabric) -> Vec<(PortId, Lmc)> {
        fabric.lid_ports().map(|port| (port, self.lmc(fabric, port))).collect()
    }

    /// The LMC of the end port with the largest need.
    pub fn largest(&self, fabric: &Fabric) -> Lmc {
        fabric.lid_ports().map(|port| self.lmc(fabric, port)).max().unwrap_or_default()
    }
}

/// The fabric with LIDs that meet `needs`. Ports whose captured LIDs suffice keep them; the others get free ones, each
/// with its smallest sufficient LMC. If there is no room for them, all are numbered anew.
///
/// # Errors
/// Too few unicast LIDs, or a switch whose table is too short.
pub fn assign_each(fabric: &Fabric, needs: &Needs) -> Result<Fabric, LidError> {
    let assigned = if needs.are_met(fabric) {
        fabric.clone()
    } else {
        let beside = assign_beside(fabric, needs, &Guid2Lid::new(), &[]);
        // Free gaps between kept LIDs may be too small; numbered anew, from large to small, blocks leave none.
        beside.or_else(|_| Assignment::new(fabric, needs.wanted(fabric), &[]).filled())?
    };
    check_capacity(&assigned, needs.largest(fabric))?;
    Ok(assigned)
}

/// The fabric with LIDs that meet `needs`, where ports with enough LIDs keep them. A port keeps all its LIDs of the
/// file, else all that it holds, if they are an aligned block, sufficient, and not another port's in the file. It thus
/// keeps its halves even if it comes to need fewer. All others get the lowest free blocks, the largest first. LIDs that
/// the file has for absent ports stay reserved as long as the others find room.
///
/// # Errors
/// Too few unicast LIDs, or a switch whose table is too short.
pub fn assign_each_stable(fabric: &Fabric, needs: &Needs, kept: &Guid2Lid) -> Result<Fabric, LidError> {
    let reserved = absentees(fabric, kept);
    match assign_beside(fabric, needs, kept, &reserved) {
        Err(_) if !reserved.is_empty() => assign_beside(fabric, needs, kept, &[]),
        assigned => assigned,
    }
}

fn assign_beside(fabric: &Fabric, needs: &Needs, kept: &Guid2Lid, reserved: &[LidRange]) -> Result<Fabric, LidError> {
    let mut assignment = Assignment::new(fabric, needs.wanted(fabric), reserved);
    assignment.keep(|port, lids| block(fabric, port, kept.get(guid_of(fabric, port)?)?, lids));
    assignment.keep(|port, lids| block(fabric, port, held(fabric, port)?, lids));
    let assigned = assignment.filled()?;
    check_capacity(&assigned, needs.largest(fabric))?;
    Ok(assigned)
}

/// The range, if it is a block of some LMC with at least this many LIDs. A switch takes one LID of it.
fn block(fabric: &Fabric, port: PortId, range: LidRange, lids: u16) -> Option<LidRange> {
    if fabric.node(fabric.port(port).node).is_switch() {
        return range.narrowed(1);
    }
    Some(range).filter(|range| range.lmc().is_some_and(|lmc| lmc.lids() >= lids))
}

fn held(fabric: &Fabric, port: PortId) -> Option<LidRange> {
    let own = fabric.port(port);
    let base = own.lid?;
    LidRange::new(base, Lid(base.0.checked_add(own.lmc.lids() - 1)?))
}
