//! Simulated fabrics with tables loaded.

use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Half;
use reconfig::sim::{Sim, SimConfig};
use reconfig::tables::SubnetTables;

/// A simulation with the forwarding tables given, its sources sending on the lower half.
pub fn with_tables(fabric: &Fabric, tables: &SubnetTables, config: SimConfig, sm: PortId) -> Sim {
    let mut sim = Sim::new(fabric, config, sm).unwrap();
    for (switch, block, entries) in tables.lft_blocks(fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(Half::Lower);
    sim.start();
    sim
}
