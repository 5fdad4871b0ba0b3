//! Restricted up*/down* whose order of switches outlives its root: each switch but the first few has several neighbours
//! further up, so no loss of one leaves another without a way up.
//!
//! The order is that of a maximum cardinality search (Tarjan, Yannakakis, SIAM J. Comput. 13, 1984): from the root on,
//! next comes a switch with most neighbours placed; on ties the one nearest the root, then of lowest GUID. Routes are
//! as in `up-down`. With the root lost, the second switch of the order is the root of the remaining ones, if most
//! others were placed beside two or more.

use super::switch_graph::SwitchGraph;
use super::up_down::{Ranking, order_by, route_by};
use super::{Demand, Engine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::RoutingFunction;
use std::cmp::Reverse;

pub(super) const NAME: &str = "up-down-robust";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpDownRobust {
    /// The root; if none is given, [`super::choose_root`] among the switches of the demanded ports.
    pub root: Option<NodeId>,
}

impl Engine for UpDownRobust {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        route_by(NAME, self.root, fabric, demand, robust)
    }

    fn switch_order(&self, fabric: &Fabric, root: NodeId) -> Option<Vec<NodeId>> {
        order_by(fabric, root, robust)
    }
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
