//! Changes to test with: the removal of the root of a bundled fabric.
#![allow(dead_code)] // Each test takes what it needs of it.

use reconfig::change::ChangeInput;
use reconfig::fabric::generate::BUNDLED;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, UpDown, choose_root};
use reconfig::tables::SubnetTables;
use std::sync::Arc;

/// When the root goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// After the change.
    Planned,
    /// Before it.
    Sudden,
}

pub const ENGINE: UpDown = UpDown { root: None };
pub const VLS: u8 = 4;

/// A fabric brought up: LIDs, tables, an SM that is not at the root.
pub struct Subnet {
    pub fabric: Fabric,
    pub tables: SubnetTables,
    pub root: NodeId,
    pub sm: PortId,
}

/// The bundled fabric of this name.
pub fn bundled(name: &str) -> Fabric {
    let fabric = BUNDLED.iter().find(|bundled| bundled.name == name);
    fabric.unwrap_or_else(|| panic!("no bundled fabric {name}")).generate().expect("bundled fabrics can be generated")
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
    Subnet { fabric, tables, root, sm }
}

/// The removal of the root.
pub fn removal(subnet: &Subnet, scheme: Scheme, removal: Removal) -> ChangeInput<'static> {
    let before = Arc::new(subnet.fabric.clone());
    let after = Arc::new(before.without_nodes(&[subnet.root]));
    ChangeInput {
        surviving: if removal == Removal::Sudden { after.clone() } else { before.clone() },
        before,
        after,
        tables: subnet.tables.clone(),
        layers: 1,
        ways: None,
        old: Half::Lower,
        engine: &ENGINE,
        scheme,
        policy: Policy { arming: reconfig::plan::Arming::Hold, ..Policy::default() },
        sm: subnet.sm,
    }
}
