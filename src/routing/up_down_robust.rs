//! Restricted up*/down* whose order of switches outlives its root: each switch but the first few has several neighbours
//! further up, so no loss of one leaves another without a way up.
//!
//! The order is that of a maximum cardinality search (Tarjan, Yannakakis, SIAM J. Comput. 13, 1984): from the root on,
//! next comes a switch with most neighbours placed; on ties the one nearest the root, then of lowest GUID. Routes are
//! as in `up-down`. With the root lost, the second switch of the order is the root of the remaining ones, if most
//! others were placed beside two or more. The load of the busiest channel depends much on the root. Where it is over a
//! tenth more than with `up-down`, other roots that differ in GUIDs alone are tried; the one with the least is taken.

use super::switch_graph::SwitchGraph;
use super::up_down::{Ranking, bearers, best_roots, fill, order_by, route_by};
use super::{Demand, Engine, RouteError};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::tables::{LinkLoad, RoutingFunction};
use std::cmp::Reverse;

pub(super) const NAME: &str = "up-down-robust";
/// Roots that are tried.
const ROOTS: usize = 8;
/// More forwarding entries to end ports than these, and only the first root is: each takes as long as all routing.
const MOST_ENTRIES: usize = 1 << 16;

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpDownRobust {
    /// The root; if none is given, [`super::choose_root`] among the switches of the demanded ports, or one as good.
    pub root: Option<NodeId>,
}

impl Engine for UpDownRobust {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let root = self.root.or_else(|| quiet_root(fabric, &demand.destinations));
        route_by(NAME, root, fabric, demand, robust)
    }

    fn given_root(&self) -> Option<NodeId> {
        self.root
    }

    fn chosen_root(&self, fabric: &Fabric) -> Option<NodeId> {
        quiet_root(fabric, &fabric.end_ports().collect::<Vec<_>>())
    }

    fn switch_order(&self, fabric: &Fabric, root: NodeId) -> Option<Vec<NodeId>> {
        order_by(fabric, root, robust)
    }
}

/// The root that the engine chooses for ways between `ports`.
fn quiet_root(fabric: &Fabric, ports: &[PortId]) -> Option<NodeId> {
    let graph = SwitchGraph::of(fabric);
    let roots = best_roots(&graph, &bearers(fabric, &graph, ports));
    let first = *roots.first()?;
    let is_end = |&port: &PortId| !fabric.node(fabric.port(port).node).is_switch();
    let ends: Vec<PortId> = ports.iter().copied().filter(is_end).collect();
    if roots.len() < 2 || graph.len() * ends.len() > MOST_ENTRIES {
        return Some(graph.node(first));
    }
    let busiest = |ranking: Ranking| {
        let mut function = RoutingFunction::new(fabric, NAME, ends.clone(), 1);
        fill(fabric, &graph, &[ranking], &mut function);
        let load = LinkLoad::of_function(fabric, &function);
        load.between_switches(fabric).map(|(_, load)| load).fold(0.0, f64::max)
    };
    let limit = 1.1 * busiest(Ranking::of(&graph, first));
    let by_root = |&root: &usize| (busiest(robust(&graph, root)), root);
    let (load, _) = by_root(&first);
    let tried: Vec<(f64, usize)> =
        if load > limit { roots.iter().take(ROOTS).map(by_root).collect() } else { vec![(load, first)] };
    tried.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, root)| graph.node(root))
}

/// The order of the switches that the root reaches.
fn robust(graph: &SwitchGraph, root: usize) -> Ranking {
    let level = graph.distances(root);
    let mut waiting: Vec<usize> = (0..graph.len()).filter(|&row| row != root && level[row] != u32::MAX).collect();
    let mut beside = vec![0u32; graph.len()];
    let mut order = vec![root];
    while let Some(&last) = order.last() {
        graph.neighbours(last).iter().for_each(|next| beside[next.row] += 1);
        let key = |row: usize| (Reverse(beside[row]), level[row], graph.guid(row));
        let Some((at, _)) = waiting.iter().enumerate().min_by_key(|&(_, &row)| key(row)) else { break };
        order.push(waiting.swap_remove(at));
    }
    Ranking::in_order(graph, order)
}
