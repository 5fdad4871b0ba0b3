//! Conflicts in routing tables that also distinguish the input port (seed 000, section 4.3 and table 6).

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::tables::PathSet;
use std::collections::BTreeSet;

/// The percentage of conflicting entries: over all switches and destinations, the outputs beyond the first, divided by
/// the entries (switch, input, destination, output) that the paths need. The paper does not say how it counts; of the
/// methods tried, this one reproduces its figures.
pub fn conflicts(fabric: &Fabric, paths: &PathSet) -> f64 {
    let mut entries: BTreeSet<(NodeId, PortId, PortNum, PortNum)> = BTreeSet::new();
    for path in paths.iter() {
        let mut before = path.source;
        for hop in path.hops {
            let input = fabric.peer(before).map_or(PortNum::ZERO, |peer| fabric.port(peer).num);
            entries.insert((hop.switch, path.destination, hop.output, input));
            before = fabric.port_at(hop.switch, hop.output).unwrap_or(before);
        }
    }
    let outputs: BTreeSet<(NodeId, PortId, PortNum)> =
        entries.iter().map(|entry| (entry.0, entry.1, entry.2)).collect();
    let leading: BTreeSet<(NodeId, PortId)> = outputs.iter().map(|output| (output.0, output.1)).collect();
    100.0 * (outputs.len() - leading.len()) as f64 / entries.len().max(1) as f64
}
