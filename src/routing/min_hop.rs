//! Min-hop: fewest hops, evenly spread, with no protection against deadlock. For comparison only.
//!
//! Source: OpenSM's engine of that name, its default (`man opensm`, ROUTING): of the ports on a shortest path to a
//! destination, the one with the fewest destinations so far. If the links of a fabric close rings, its routes may
//! depend on each other in a cycle and deadlock; `verify` shows where. Several paths to a destination diverge if they
//! can.

use super::downhill::{CostModel, Downhill};
use super::earlier::Earlier;
use super::flat_graph::{FlatGraph, NONE};
use super::forest::TreeProblem;
use super::load::Load;
use super::switch_graph::Target;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::ids::PortNum;
use crate::tables::RoutingFunction;

pub(super) const NAME: &str = "min-hop";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let problem = TreeProblem::new(NAME, fabric, demand)?;
        let mut function = RoutingFunction::new(fabric, NAME, demand.destinations.clone(), demand.paths);
        let mut targets: Vec<Target> = problem.ends.iter().chain(&problem.switches).copied().collect();
        targets.sort_by_key(|target| target.row);
        let mut load = Load::new(&problem.net, 0, demand.paths);
        let mut downhill = Downhill::new(&problem.net);
        for group in targets.chunk_by(|a, b| a.row == b.row) {
            downhill.aim(&problem.net, group[0].row);
            group.iter().for_each(|target| route_one(&problem.net, target, &mut downhill, &mut load, &mut function));
        }
        Ok(function)
    }
}

fn route_one(
    net: &FlatGraph,
    target: &Target,
    downhill: &mut Downhill,
    load: &mut Load,
    function: &mut RoutingFunction,
) {
    let mut next = vec![NONE; net.rows()];
    let mut earlier = Earlier::new(net.rows(), function.paths());
    for path in 0..function.paths() {
        downhill.lightest(net, load.weigh(path), CostModel::FirstChannel, &mut earlier, &mut next);
        function.set_output(net.node(target.row), target.destination, path, target.last);
        for (row, &channel) in next.iter().enumerate().filter(|(_, channel)| **channel != NONE) {
            function.set_output(net.node(row), target.destination, path, net.channel(channel).port);
            load.add(path, channel, u64::from(target.last != PortNum::ZERO));
        }
        load.shun(&next);
    }
    load.release();
}
