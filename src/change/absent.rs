//! Tables in force that give hosts every way, and some switches none to LIDs of other switches.
//!
//! OpenSM's `ftree` dumps such tables: spines do not lead to each other. Hosts do not use these LIDs, so a change may
//! begin with such tables: what is proved of them is that hosts reach each other, and that nothing waits in a cycle,
//! goes round or arrives elsewhere, whoever sends. A row (switch, LID) without an entry is *absent*. The routing after
//! the change has none.

use crate::fabric::Fabric;
use crate::tables::{Lft, SubnetTables};
use crate::verify::{self, Refusal, Scope};
use std::fmt;
use std::sync::Arc;

/// Rows that lead nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbsentRows {
    /// Rows (switch, LID of a switch).
    pub rows: usize,
    /// Switches that have some.
    pub switches: usize,
}

impl fmt::Display for AbsentRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AbsentRows { rows, switches } = self;
        let (entries, of) = (if *rows == 1 { "entry is" } else { "entries are" }, switches);
        write!(
            f,
            "{rows} {entries} absent from the tables in force ({of} switches to LIDs of other switches, as OpenSM's ftree leaves \
             them): hosts reach each other, and management by LID does not pass there until the change is made"
        )
    }
}

/// The absent rows of tables; none if there are none, or if a LID of an end port has some.
pub fn absent_rows(fabric: &Fabric, lfts: &[Arc<Lft>]) -> Option<AbsentRows> {
    let mut absent = AbsentRows { rows: 0, switches: 0 };
    let lids: Vec<_> = fabric
        .lid_ports()
        .flat_map(|port| {
            let to_switch = fabric.node(fabric.port(port).node).is_switch();
            let own = fabric.port(port);
            let lids = own.lid.map_or(0..0, |lid| lid.0..lid.0.saturating_add(own.lmc.lids()));
            lids.map(move |lid| (crate::ids::Lid(lid), to_switch))
        })
        .collect();
    for switch in fabric.switches() {
        let table = &lfts[switch.index()];
        let before = absent.rows;
        for &(lid, to_switch) in &lids {
            if table.get(lid).is_none() {
                if !to_switch {
                    return None;
                }
                absent.rows += 1;
            }
        }
        absent.switches += usize::from(absent.rows > before);
    }
    (absent.rows > 0).then_some(absent)
}

/// Proves the routing in force, but for absent rows.
///
/// # Errors
/// What is wrong with it.
pub(super) fn prove_in_force(fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<(), Refusal> {
    let Err(refusal) = verify::prove_tables(fabric, tables, scope) else { return Ok(()) };
    if absent_rows(fabric, &tables.lfts).is_none() {
        return Err(refusal);
    }
    let of_hosts = Scope { switches: false, ..scope.clone() };
    let of_all = Scope { losses: true, ..scope.clone() };
    verify::prove_tables(fabric, tables, &of_hosts)?;
    verify::prove_tables(fabric, tables, &of_all).map(drop)
}
