//! Changes to test with: a switch of a subnet goes, the root unless told otherwise.

use super::brought_up::{ENGINE, Subnet};
use reconfig::change::ChangeInput;
use reconfig::fabric::NodeId;
use reconfig::ids::Half;
use reconfig::plan::{Arming, Policy, Scheme};
use reconfig::routing::choose_root;
use std::sync::Arc;

/// When it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// After the change.
    Planned,
    /// Before it.
    Sudden,
}

/// The root, by which up*/down* routes the subnet.
pub fn root_of(subnet: &Subnet) -> NodeId {
    choose_root(&subnet.fabric).expect("a fabric has switches")
}

/// The removal of the root.
pub fn removal(subnet: &Subnet, scheme: Scheme, removal: Removal) -> ChangeInput<'static> {
    removal_of(subnet, root_of(subnet), scheme, removal)
}

/// The removal of a node.
pub fn removal_of(subnet: &Subnet, node: NodeId, scheme: Scheme, removal: Removal) -> ChangeInput<'static> {
    let before = Arc::new(subnet.fabric.clone());
    let after = Arc::new(before.without_nodes(&[node]));
    ChangeInput {
        surviving: if removal == Removal::Sudden { after.clone() } else { before.clone() },
        before,
        after,
        tables: subnet.tables.clone(),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &ENGINE,
        scheme,
        policy: Policy { arming: Arming::Hold, ..Policy::default() },
        sm: subnet.sm,
        base: None,
    }
}
