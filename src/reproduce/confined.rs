//! The Double Scheme confined to a skyline, beside the whole.
//!
//! On entry: a fabric, a loss whose skyline is not empty, and the directions of links before it. On return: what three
//! changes cost that follow it, each planned, proved, and run in the simulator: the whole fabric routed anew, the same
//! under a standing partition of lanes, and under that partition a routing that is confined to the skyline. Where the
//! halves' lanes are apart all the time, old and new dependencies meet nowhere, so no SL-to-VL table is written; and
//! both halves rest on the same routes (docs/PROTOCOL.md, P5.4), so only entries that differ are written for the spare
//! one.
//!
//! [`Confined`] reverses links within the skyline only, and keeps every entry that the directions permit. A switch
//! outside has nothing of the skyline below it, since the skyline holds with a switch all switches above it. So a way
//! down that it had is one still, unless it led over what is lost, and so is a way up: entries outside change only for
//! destinations that were reached downwards over the lost element. Source for the rule: restricted up*/down*
//! ([`UpDown`]). Deliberately omitted: sources. All of them move, though only packets through the skyline must.

use super::ReproduceError;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::plan::{LanePartition, Plan, Policy};
use crate::routing::{Demand, Engine, RouteError, UpDown, choose_root};
use crate::scenario::{self, Departure, Element, Ending, Engines, Scenario, SimulationReport, Unwatched};
use crate::tables::{RoutingFunction, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The load of the runs: what is measured is the change.
const LOAD: f64 = 0.02;

/// A loss, and what it leaves of the order of up*/down*.
#[derive(Clone)]
pub(super) struct Reversal {
    pub element: Element,
    /// The switches of the skyline.
    pub inside: BTreeSet<NodeId>,
    /// By switch that stays: its rank after the loss; links lead up to lower ranks.
    pub rank: BTreeMap<NodeId, usize>,
}

/// Entries in force, kept as far as the directions after a loss permit.
#[derive(Clone)]
struct Confined {
    in_force: Arc<RoutingFunction>,
    rank: BTreeMap<NodeId, usize>,
}

/// A link of a switch to another one.
#[derive(Clone, Copy)]
struct Onward {
    port: PortNum,
    to: NodeId,
    up: bool,
}

impl Confined {
    fn links(&self, fabric: &Fabric) -> BTreeMap<NodeId, Vec<Onward>> {
        let of = |switch: NodeId| {
            let onward = |port: PortId| {
                let to = fabric.neighbour(port)?;
                let up = self.rank.get(&to)? < self.rank.get(&switch)?;
                Some(Onward { port: fabric.port(port).num, to, up })
            };
            (switch, fabric.ports_of(switch).filter_map(onward).collect())
        };
        fabric.switches().map(of).collect()
    }
}

impl Engine for Confined {
    fn name(&self) -> &'static str {
        "up-down-confined"
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let mut function = RoutingFunction::new(fabric, self.name(), demand.destinations.clone(), demand.paths);
        let links = self.links(fabric);
        let mut order: Vec<NodeId> = links.keys().copied().filter(|switch| self.rank.contains_key(switch)).collect();
        order.sort_unstable_by_key(|switch| self.rank[switch]);
        let known: BTreeMap<PortId, usize> = self.in_force.destinations().iter().copied().zip(0..).collect();
        for (destination, &port) in demand.destinations.iter().enumerate() {
            let owner = fabric.port(port).node;
            let last = if fabric.node(owner).is_switch() {
                Some((owner, PortNum::ZERO))
            } else {
                fabric.peer(port).map(|peer| (fabric.port(peer).node, fabric.port(peer).num))
            };
            let Some((target, delivers)) = last else { continue };
            // From the lowest upwards: hops of the shortest way down; then from the top downwards, those of all others.
            let mut hops: BTreeMap<NodeId, usize> = [(target, 0)].into();
            let down: BTreeSet<NodeId> = {
                for &switch in order.iter().rev().filter(|&&switch| switch != target) {
                    let ways = links[&switch].iter().filter(|link| !link.up);
                    if let Some(least) = ways.filter_map(|link| hops.get(&link.to)).min().copied() {
                        hops.insert(switch, least + 1);
                    }
                }
                hops.keys().copied().collect()
            };
            for &switch in order.iter().filter(|switch| !down.contains(switch)) {
                let ways = links[&switch].iter().filter(|link| link.up);
                if let Some(least) = ways.filter_map(|link| hops.get(&link.to)).min().copied() {
                    hops.insert(switch, least + 1);
                }
            }
            for path in 0..demand.paths {
                function.set_output(target, destination, path, delivers);
                for &switch in order.iter().filter(|&&switch| switch != target && hops.contains_key(&switch)) {
                    let goes_down = down.contains(&switch);
                    let leads = |link: &&Onward| {
                        link.up != goes_down && hops.contains_key(&link.to) && (!goes_down || down.contains(&link.to))
                    };
                    let legal: Vec<&Onward> = links[&switch].iter().filter(leads).collect();
                    let kept = known.get(&port).and_then(|&rank| self.in_force.output(switch, rank, path));
                    let kept = kept.filter(|&kept| legal.iter().any(|link| link.port == kept));
                    let least = legal.iter().map(|link| hops[&link.to]).min().unwrap_or(0);
                    let shortest: Vec<&&Onward> = legal.iter().filter(|link| hops[&link.to] == least).collect();
                    let output = kept.unwrap_or_else(|| shortest[(destination + path) % shortest.len()].port);
                    function.set_output(switch, destination, path, output);
                }
            }
        }
        Ok(function)
    }
}

/// One change: SMPs and time in the simulator, switches whose entries are written, and of these those outside the
/// skyline.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub smps: f64,
    pub ms: f64,
    pub written: f64,
    pub outside: f64,
}

/// The three changes that follow a loss: the whole, the whole under a standing partition, and the confined one.
pub(super) fn beside_each_other(fabric: &Fabric, reversal: &Reversal) -> Result<[Spent; 3], ReproduceError> {
    let anew: Arc<dyn Engine> = Arc::new(UpDown::default());
    let failed = |why: String| ReproduceError::Run { what: format!("the loss {:?}", reversal.element), why };
    let base = Scenario::of_one(fabric.clone(), reversal.element);
    let with = |partition| Scenario {
        departure: Departure::Planned,
        cut_off_meant: true,
        policy: Policy { partition, ..base.policy },
        load: Some(LOAD),
        warm_up_ns: 20_000,
        before_ns: 20_000,
        after_ns: 20_000,
        ..base.clone()
    };
    // The order of the skyline is that of this root.
    let before: Arc<dyn Engine> = Arc::new(UpDown { root: choose_root(fabric) });
    let in_force = before.route(fabric, &Demand::all(fabric, 1)).map_err(ReproduceError::Route)?;
    let confined: Arc<dyn Engine> = Arc::new(Confined { in_force: Arc::new(in_force), rank: reversal.rank.clone() });
    let run = |partition, after: &Arc<dyn Engine>| {
        let (scenario, engines) = (with(partition), Engines { before: before.clone(), after: after.clone() });
        let plan = scenario::plan(&scenario, engines.clone()).map_err(|error| failed(error.to_string()))?;
        let report = scenario::run(&scenario, engines, &mut Unwatched).map_err(|error| failed(error.to_string()))?;
        if report.outcome != Ending::Completed || report.packets.lost_to_change > 0 {
            return Err(failed(format!("{:?}, {} lost", report.outcome, report.packets.lost_to_change)));
        }
        Ok(Spent::of(plan.plan(), &report, &reversal.inside))
    };
    Ok([
        run(LanePartition::Temporary, &anew)?,
        run(LanePartition::Standing, &anew)?,
        run(LanePartition::Standing, &confined)?,
    ])
}

impl Spent {
    fn of(plan: &Plan, report: &SimulationReport, inside: &BTreeSet<NodeId>) -> Spent {
        let written = written(plan);
        Spent {
            smps: report.smps().total as f64,
            ms: report.change_ns().unwrap_or(0) as f64 / 1e6,
            written: written.len() as f64,
            outside: written.difference(inside).count() as f64,
        }
    }
}

/// The switches whose entries a plan writes.
fn written(plan: &Plan) -> BTreeSet<NodeId> {
    let writes = plan.waves().iter().flat_map(|wave| &wave.writes);
    writes
        .filter_map(|write| match *write {
            Write::LftBlock { switch, .. } => Some(switch),
            _ => None,
        })
        .collect()
}
