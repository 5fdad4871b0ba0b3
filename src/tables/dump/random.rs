//! Random forwarding tables, for switches that look DLIDs up by content (RandomForwardingTable, InfiniBand Architecture
//! 14.2.5; seed 000, section 3, whose switches have few entries).
//!
//! ```text
//! Random table of switch Lid 1 guid 0x0200000a00000000 ('switch-1'): 2 entries
//! 0x0004 lmc 2 port 003 # Channel Adapter portguid 0x0200000a01000001: 'host-1 HCA-1'
//! 0x0001 lmc 0 port 000 # Switch portguid 0x0200000a00000000: 'switch-1'
//! ```
//! One entry serves 2^lmc LIDs from an aligned base. The format is our own: OpenSM supports only linear tables.

use super::{owner, plain};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lid, Lmc, PortNum};
use crate::tables::Lft;
use std::fmt::Write;
use std::sync::Arc;

/// Forwarding tables, by node, as random tables: a block for each switch, in index order, with the fewest entries that
/// serve each port's LIDs. LIDs without an owner have none.
pub fn write_random<'a>(fabric: &'a Fabric, tables: &'a [Arc<Lft>]) -> impl Iterator<Item = String> + 'a {
    let owners: Vec<(Lid, Lmc, String)> = fabric
        .lid_ports()
        .filter_map(|port| Some((fabric.port(port).lid?, fabric.port(port).lmc, owner(fabric, port))))
        .collect();
    fabric.switches().map(move |switch| block(fabric, switch, &tables[switch.index()], &owners))
}

fn block(fabric: &Fabric, switch: NodeId, table: &Lft, owners: &[(Lid, Lmc, String)]) -> String {
    let mut lines = String::new();
    let mut entries = 0;
    for (base, lmc, name) in owners {
        for (lid, lmc, port) in merged(table, *base, *lmc) {
            entries += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{:#06x} lmc {lmc} port {:03} # {name}", lid.0, port.0);
        }
    }
    let node = fabric.node(switch);
    let (lid, name) = (fabric.port(node.first_port).lid.map_or(0, |lid| lid.0), plain(&node.description));
    format!("Random table of switch Lid {lid} guid {} ('{name}'): {entries} entries\n{lines}", node.guid)
}

/// The fewest entries that serve an aligned range: one if the whole range leads to one port, else those of its halves.
fn merged(table: &Lft, base: Lid, lmc: Lmc) -> Vec<(Lid, Lmc, PortNum)> {
    let mut lids = (base.0..base.0 + lmc.lids()).map(|lid| table.get(Lid(lid)));
    let first = lids.next().flatten();
    if lids.all(|port| port == first) {
        return first.map(|port| (base, lmc, port)).into_iter().collect();
    }
    let half = Lmc::masked(lmc.get() - 1);
    let mut entries = merged(table, base, half);
    entries.extend(merged(table, Lid(base.0 + half.lids()), half));
    entries
}
