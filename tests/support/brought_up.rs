//! Fabrics brought up: LIDs, tables, a subnet manager.

use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Lmc;
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown, choose_root};
use reconfig::tables::SubnetTables;

pub const ENGINE: UpDown = UpDown { root: None };
pub const VLS: u8 = 4;

/// A fabric brought up: LIDs, tables, an SM that is not at the root.
pub struct Subnet {
    pub fabric: Fabric,
    pub tables: SubnetTables,
    pub sm: PortId,
}

/// Brings a fabric up with `lmc`.
pub fn bring_up(fabric: &Fabric, lmc: u8, optimised: bool) -> Subnet {
    let capable = fabric.with_capabilities(VLS, optimised);
    let fabric = lid::assign(&capable, Lmc::masked(lmc)).expect("LIDs suffice");
    let paths = usize::from(Lmc::masked(lmc).lids() / 2).max(1);
    let function = ENGINE.route(&fabric, &Demand::all(&fabric, paths)).expect("the fabric is connected");
    let tables = lid::bring_up(&fabric, &function, VLS);
    let root = choose_root(&fabric).expect("a fabric has switches");
    let at_root = |port: PortId| fabric.neighbour(port) == Some(root);
    let sm = fabric.end_ports().find(|&port| !at_root(port)).expect("a host away from the root");
    Subnet { fabric, tables, sm }
}
