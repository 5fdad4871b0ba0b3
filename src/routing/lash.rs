//! LASH: layered shortest paths, each pair of switches on one layer.
//!
//! Source: Skeie, Lysne, Theiss, *Layered Shortest Path (LASH) Routing in Irregular System Area Networks*, IPDPS 2002.
//! Every pair of switches has one way of fewest hops for all their hosts. It is placed on the first layer whose
//! dependencies stay acyclic, or on a new one if there is none; then ways move to emptier layers that admit them. The
//! paper takes any shortest path; here the less loaded ones are taken. Switches themselves are reached along one tree,
//! on layer 0.

use super::downhill::{CostModel, Downhill};
use super::earlier::Earlier;
use super::flat_graph::NONE;
use super::forest::{Forest, TreeProblem};
use super::layers::{Layers, TreeGroup};
use super::load::Load;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;

pub(super) const NAME: &str = "lash";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lash;

impl Engine for Lash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let problem = TreeProblem::new(NAME, fabric, demand)?;
        let Some(switch_tree) = problem.switch_tree() else { return Ok(problem.without_routes()) };
        let (mut forest, groups) = shortest_ways(&problem);
        let mut layers = Layers::new(&problem.net, &switch_tree);
        layers.place_all(&mut forest, &groups);
        problem.offers(layers.count())?;
        if layers.count() > 1 {
            layers.balance(&mut forest, &groups);
        }
        let sizes = problem.borne().into_iter().enumerate();
        let rank: Vec<usize> = sizes.flat_map(|(rank, ends)| std::iter::repeat_n(rank, ends.len())).collect();
        Ok(problem.function(&forest, &switch_tree, |end, path| rank[end] * demand.paths + path))
    }
}

/// The trees, by rank of the switch that delivers and path.
fn shortest_ways(problem: &TreeProblem<'_>) -> (Forest, Vec<TreeGroup>) {
    let (net, hosts, borne, paths) = (&problem.net, problem.hosts(), problem.borne(), problem.paths());
    let mut forest = Forest::new(net.rows(), borne.len() * paths);
    let (mut load, mut downhill) = (Load::new(net, 0, paths), Downhill::new(net));
    let mut next = vec![NONE; net.rows()];
    let mut earlier = Earlier::new(net.rows(), paths);
    let mut groups = Vec::new();
    for (rank, ends) in borne.into_iter().enumerate() {
        downhill.aim(net, problem.ends[ends.start].row);
        // One way serves all end ports of a switch, so it carries what all of them receive.
        let carried: Vec<u64> = hosts.iter().map(|hosts| hosts * ends.len() as u64).collect();
        let trees = rank * paths..(rank + 1) * paths;
        for tree in trees.clone() {
            downhill.lightest(net, load.weigh(tree % paths), CostModel::WholeWay, &mut earlier, &mut next);
            load.add_tree(tree % paths, net, downhill.order(), &next, &carried);
            load.shun(&next);
            forest.plant(net, tree, &next);
        }
        load.release();
        earlier.begin();
        groups.push(TreeGroup::new(&downhill, trees, carried));
    }
    (forest, groups)
}
