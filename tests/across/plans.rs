//! Plans of subnets that change, and what the whole is made of.

use reconfig::change::{ChangeInput, prepare};
use reconfig::fabric::subnets::Subnets;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Half;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::UpDown;
use reconfig::tables::SubnetTables;
use reconfig::verify::Scope;
use reconfig::verify::across::Part;
use reconfig::vet::Vetted;
use std::sync::Arc;

/// The lower half, and end ports alone.
pub fn scope() -> Scope {
    Scope { switches: false, ..Scope::of(&[Half::Lower]) }
}

/// A plan of scheme `double` from one fabric to another; what is not in the other leaves before the change where that
/// is `sudden`.
pub fn double(fabrics: (&Fabric, Fabric), sudden: bool, tables: &SubnetTables, sm: PortId) -> Arc<Vetted> {
    let (before, after) = (Arc::new(fabrics.0.clone()), Arc::new(fabrics.1));
    let input = ChangeInput {
        surviving: if sudden { after.clone() } else { before.clone() },
        before,
        after,
        tables: tables.clone(),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &UpDown::default(),
        scheme: Scheme::Double,
        policy: Policy::default(),
        sm,
        base: None,
    };
    prepare(input).expect("a change of scheme double is proved").plan
}

/// Every subnet as it is, or with its plan.
pub fn parts<'a>(
    subnets: &'a Subnets,
    tables: &'a [SubnetTables],
    plans: &'a [Option<Arc<Vetted>>],
    scope: &'a Scope,
) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for (((_, subnet), tables), plan) in subnets.subnets().zip(tables).zip(plans) {
        parts.push(match plan {
            Some(plan) => Part::Changing(plan.plan()),
            None => Part::Steady { fabric: &subnet.fabric, tables, scope },
        });
    }
    parts
}
