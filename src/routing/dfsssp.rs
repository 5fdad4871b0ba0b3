//! DFSSSP: fewest hops, evenly spread, free of deadlock by virtual layers.
//!
//! Source: Domke, Hoefler, Nagel, *Deadlock-Free Oblivious Routing for Arbitrary Topologies*, IPDPS 2011. Destination by
//! destination, every switch takes the way of fewest hops on which the least load lies so far (SSSP, section III). All ways
//! start on layer 0; while the dependencies of a layer close a cycle, the ways over its least used dependency move one
//! layer up (section IV, "offline", with the heuristic "weakest edge").
//! Ways between a switch and an end port are the unit, as in the paper those between end ports; which layer a way is on
//! thus depends on the sending switch. Switches are led to along one tree, which layer 0 gives way to.

use super::cycle_breaking::Layering;
use super::downhill::{Downhill, Reckoning};
use super::forest::{Forest, Task};
use super::load::Load;
use super::net::NONE;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;

pub(super) const NAME: &str = "dfsssp";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dfsssp;

impl Engine for Dfsssp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let task = Task::new(NAME, fabric, demand)?;
        let Some(switch_tree) = task.switch_tree() else { return Ok(task.without_routes()) };
        let mut forest = lightest_ways(&task);
        let needed = Layering::of(&task.net, &switch_tree, &mut forest).run();
        task.offers(needed)?;
        Ok(task.function(&forest, &switch_tree, |end, path| end * demand.paths + path))
    }
}

/// The trees, by rank of the end port and path, in which load is spread over all channels of a way.
fn lightest_ways(task: &Task<'_>) -> Forest {
    let (net, hosts) = (&task.net, task.hosts());
    let mut forest = Forest::new(net.rows(), task.ends.len() * task.paths());
    let mut load = Load::new(net, 0);
    let mut downhill = Downhill::new(net);
    let mut next = vec![NONE; net.rows()];
    for (row, first, count) in task.borne() {
        downhill.aim(net, row);
        for end in first..first + count {
            for path in 0..task.paths() {
                downhill.lightest(net, load.weights(), Reckoning::WholeWay, &mut next);
                load.add_tree(net, downhill.order(), &next, &hosts);
                load.shun(&next);
                forest.plant(net, end * task.paths() + path, &next);
            }
            load.release();
        }
    }
    forest
}
