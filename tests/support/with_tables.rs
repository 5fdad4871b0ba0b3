//! Simulated fabrics with tables loaded.

use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Half;
use reconfig::sim::{Sim, SimConfig};
use reconfig::tables::SubnetTables;

/// A simulation with the forwarding tables given, its sources sending on the lower half.
pub fn with_tables(fabric: &Fabric, tables: &SubnetTables, config: SimConfig, sm: PortId) -> Sim {
    let mut sim = Sim::new(fabric, config, sm).unwrap();
    for switch in fabric.switches() {
        let lft = &tables.lfts[switch.index()];
        (0..lft.blocks()).for_each(|block| sim.load_lft_block(switch, block, &lft.block(block)));
    }
    sim.load_half(Half::Lower);
    sim.start();
    sim
}
