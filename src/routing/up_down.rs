//! Restricted up*/down*: shortest routes that never turn up after going down, expressible by DLID alone.
//!
//! A link's up end is the one closer to the root in hops, then the one of lower GUID. If any way down leads to the
//! destination, only ways down are used (seed 001, step 2; seed 000, section 2.1, after Lopez, Flich and Duato, ICPP
//! 2001). A switch reached from above has such a way by construction, so no packet turns up again, whatever its input.

use super::spread::{Spread, weight_of};
use super::switch_graph::SwitchGraph;
use super::{Connectivity, Demand, Engine, RouteError};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::tables::RoutingFunction;
use std::cmp::Reverse;

pub(super) const NAME: &str = "up-down";
const FAR: u32 = u32::MAX;

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpDown {
    /// The root; if none is given, [`choose_root`] among the switches of the demanded ports.
    pub root: Option<NodeId>,
}

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        route_by(NAME, self.root, fabric, demand, Ranking::of)
    }

    fn given_root(&self) -> Option<NodeId> {
        self.root
    }

    fn switch_order(&self, fabric: &Fabric, root: NodeId) -> Option<Vec<NodeId>> {
        order_by(fabric, root, Ranking::of)
    }
}

/// The switches that are connected to a root, in the order that `rank` makes from it.
pub(super) fn order_by(
    fabric: &Fabric,
    root: NodeId,
    rank: impl Fn(&SwitchGraph, usize) -> Ranking,
) -> Option<Vec<NodeId>> {
    let graph = SwitchGraph::of(fabric);
    let ranking = rank(&graph, graph.row_of(root)?);
    Some(ranking.order.iter().map(|&row| graph.node(row)).collect())
}

/// Routes by the order that `rank` makes from the root.
pub(super) fn route_by(
    engine: &'static str,
    root: Option<NodeId>,
    fabric: &Fabric,
    demand: &Demand,
    rank: impl Fn(&SwitchGraph, usize) -> Ranking,
) -> Result<RoutingFunction, RouteError> {
    if !(1..=128).contains(&demand.paths) {
        return Err(RouteError::Paths { engine, paths: demand.paths });
    }
    Connectivity::of(fabric).check(engine, fabric, demand)?;
    let graph = SwitchGraph::of(fabric);
    let mut function = RoutingFunction::new(fabric, engine, demand.destinations.clone(), demand.paths);
    let Some(root) = first_root(engine, root, fabric, &graph, demand)? else { return Ok(function) };
    let rankings = [rank(&graph, root)];
    check_reach(engine, fabric, &graph, &rankings[0], demand)?;
    function.set_root(graph.node(root));
    fill(fabric, &graph, &rankings, &mut function);
    Ok(function)
}

/// The given root, or else the best one of all; none without switches.
pub(super) fn first_root(
    engine: &'static str,
    given: Option<NodeId>,
    fabric: &Fabric,
    graph: &SwitchGraph,
    demand: &Demand,
) -> Result<Option<usize>, RouteError> {
    let Some(given) = given else { return Ok(best_root(graph, &bearers(fabric, graph, &demand.destinations))) };
    let absent = || RouteError::RootAbsent { engine, root: fabric.describe_node(given) };
    graph.row_of(given).map(Some).ok_or_else(absent)
}

/// Fails if the root does not reach all that is demanded.
pub(super) fn check_reach(
    engine: &'static str,
    fabric: &Fabric,
    graph: &SwitchGraph,
    ranking: &Ranking,
    demand: &Demand,
) -> Result<(), RouteError> {
    let reached = |&&port: &&PortId| graph.delivery(fabric, port).is_some_and(|(row, _)| ranking.rank[row] != FAR);
    let Some(&apart) = demand.destinations.iter().find(|port| !reached(port)) else { return Ok(()) };
    let (root, port) = (fabric.describe_node(graph.node(ranking.order[0])), fabric.describe_port(apart));
    Err(RouteError::RootApart { engine, root, port })
}

/// The root that up*/down* chooses: of smallest eccentricity to the switches with end ports (those that reach fewer
/// come last), then with most links to switches, then of lowest GUID. None without switches.
pub fn choose_root(fabric: &Fabric) -> Option<NodeId> {
    let ends: Vec<PortId> = fabric.end_ports().collect();
    root_among(fabric, &ends)
}

/// The root by the rule of [`choose_root`], for the switches with `ports`.
pub(super) fn root_among(fabric: &Fabric, ports: &[PortId]) -> Option<NodeId> {
    let graph = SwitchGraph::of(fabric);
    best_root(&graph, &bearers(fabric, &graph, ports)).map(|row| graph.node(row))
}

fn best_root(graph: &SwitchGraph, bearers: &[usize]) -> Option<usize> {
    best_roots(graph, bearers).into_iter().next()
}

/// The best roots that differ in GUIDs alone, the lowest first.
pub(super) fn best_roots(graph: &SwitchGraph, bearers: &[usize]) -> Vec<usize> {
    let key = |row: usize| (eccentricity(&graph.distances(row), bearers), Reverse(graph.cables(row)));
    let keys: Vec<_> = (0..graph.len()).map(key).collect();
    let least = keys.iter().min();
    let mut best: Vec<usize> = (0..graph.len()).filter(|&row| Some(&keys[row]) == least).collect();
    best.sort_unstable_by_key(|&row| graph.guid(row));
    best
}

/// The number of switches with ports that are out of reach, and the distance to the farthest of the others.
fn eccentricity(hops: &[u32], bearers: &[usize]) -> (usize, Option<u32>) {
    let unreached = bearers.iter().filter(|&&bearer| hops[bearer] == FAR).count();
    (unreached, bearers.iter().map(|&bearer| hops[bearer]).filter(|&hops| hops != FAR).max())
}

/// `first` and further roots, `count` in all or as many as are suitable: each time the switch of smallest eccentricity,
/// on ties the one farthest from all roots so far, then as in [`choose_root`]. If `first` has no end ports, as in a fat
/// tree, switches with end ports are unsuitable: ways over them are longer.
pub(super) fn several_roots(
    fabric: &Fabric,
    graph: &SwitchGraph,
    demand: &Demand,
    first: usize,
    count: usize,
) -> Vec<usize> {
    let bearers = bearers(fabric, graph, &demand.destinations);
    let distances: Vec<Vec<u32>> = (0..graph.len()).map(|row| graph.distances(row)).collect();
    let serves = |row: usize| bearers.contains(&first) || !bearers.contains(&row);
    let others = (0..graph.len()).filter(|&row| row != first && distances[first][row] != FAR && serves(row));
    let mut others: Vec<(Option<u32>, usize)> =
        others.map(|row| (eccentricity(&distances[row], &bearers).1, row)).collect();
    let mut roots = vec![first];
    while roots.len() < count {
        let next = others.iter().enumerate().min_by_key(|&(_, &(eccentricity, row))| {
            let nearest = roots.iter().map(|&root| distances[root][row]).min();
            (eccentricity, Reverse(nearest), Reverse(graph.cables(row)), graph.guid(row))
        });
        let Some((at, _)) = next else { break };
        roots.push(others.remove(at).1);
    }
    roots
}

/// The switches that end ports among `ports` are cabled to; without such ports, the switches among `ports`.
pub(super) fn bearers(fabric: &Fabric, graph: &SwitchGraph, ports: &[PortId]) -> Vec<usize> {
    let delivered: Vec<_> = ports.iter().filter_map(|&port| graph.delivery(fabric, port)).collect();
    let external = delivered.iter().any(|&(_, port)| port != PortNum::ZERO);
    let mut rows: Vec<usize> =
        delivered.into_iter().filter(|&(_, port)| (port != PortNum::ZERO) == external).map(|(row, _)| row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The direction of every link: up leads to the switch of lower rank.
pub(super) struct Ranking {
    /// By row, [`FAR`] where the root does not reach.
    rank: Vec<u32>,
    /// Rows by ascending rank.
    order: Vec<usize>,
}

impl Ranking {
    pub fn of(graph: &SwitchGraph, root: usize) -> Ranking {
        let level = graph.distances(root);
        let mut order: Vec<usize> = (0..graph.len()).filter(|&row| level[row] != FAR).collect();
        order.sort_unstable_by_key(|&row| (level[row], graph.guid(row)));
        Ranking::in_order(graph, order)
    }

    /// The ranking of rows by their order.
    pub fn in_order(graph: &SwitchGraph, order: Vec<usize>) -> Ranking {
        let mut rank = vec![FAR; graph.len()];
        order.iter().zip(0..).for_each(|(&row, position)| rank[row] = position);
        Ranking { rank, order }
    }
}

/// Routes towards one switch: the ports that serve equally well at each other switch.
struct Towards<'a> {
    graph: &'a SwitchGraph,
    ranking: &'a Ranking,
    /// Hops by ways down alone, [`FAR`] if there is none.
    down: Vec<u32>,
    /// Hops of the way in use.
    total: Vec<u32>,
}

impl<'a> Towards<'a> {
    fn new(graph: &'a SwitchGraph, ranking: &'a Ranking) -> Towards<'a> {
        Towards { graph, ranking, down: vec![FAR; graph.len()], total: vec![FAR; graph.len()] }
    }

    fn aim(&mut self, target: usize) {
        self.measure_down(target);
        let rank = &self.ranking.rank;
        for &row in &self.ranking.order {
            // In order of rank, every switch further up is settled already.
            let above = self.graph.neighbours(row).iter().filter(|next| rank[next.row] < rank[row]);
            let over = above.map(|next| self.total[next.row]).min().map_or(FAR, |hops| hops.saturating_add(1));
            // The restriction: a way down is taken even where a way up is shorter. A packet may have come from above,
            // and an entry that knows only the DLID would then send it up again.
            self.total[row] = if self.down[row] == FAR { over } else { self.down[row] };
        }
    }

    fn measure_down(&mut self, target: usize) {
        let rank = &self.ranking.rank;
        self.down.fill(FAR);
        self.down[target] = 0;
        let mut queue = vec![target];
        let mut next = 0;
        while let Some(&row) = queue.get(next) {
            next += 1;
            for above in self.graph.neighbours(row).iter().filter(|above| rank[above.row] < rank[row]) {
                if self.down[above.row] == FAR {
                    self.down[above.row] = self.down[row] + 1;
                    queue.push(above.row);
                }
            }
        }
    }

    /// The ports that lead on from `row` by a shortest way, in ascending order of (neighbour, port).
    fn choices(&self, row: usize, ports: &mut Vec<PortNum>) {
        ports.clear();
        let rank = &self.ranking.rank;
        let goes_down = self.down[row] != FAR;
        let hops = if goes_down { &self.down } else { &self.total };
        for next in self.graph.neighbours(row) {
            let below = rank[next.row] > rank[row];
            // A switch with a way down sends only down, to a neighbour with a way down; any other sends only up. So
            // along a way the rank first falls and then rises, which no loop can do.
            if below == goes_down && hops[next.row] != FAR && hops[next.row] + 1 == hops[row] {
                ports.extend_from_slice(&next.ports);
            }
        }
    }
}

/// Routes towards one switch, with what every row chooses from.
struct Aimed<'a> {
    towards: Towards<'a>,
    /// By row: ports that serve equally well.
    choices: Vec<Vec<PortNum>>,
    /// Rows by ascending hops.
    outward: Vec<usize>,
}

impl<'a> Aimed<'a> {
    fn new(graph: &'a SwitchGraph, ranking: &'a Ranking) -> Aimed<'a> {
        let choices = vec![Vec::new(); graph.len()];
        Aimed { towards: Towards::new(graph, ranking), choices, outward: ranking.order.clone() }
    }

    fn aim(&mut self, target: usize) {
        let Aimed { towards, choices, outward } = self;
        towards.aim(target);
        outward.iter().for_each(|&row| towards.choices(row, &mut choices[row]));
        // `Spread` compares whole ways, so a row must choose after the rows that it can send to, which are nearer.
        outward.sort_by_key(|&row| (towards.total[row], towards.ranking.rank[row]));
    }
}

/// A destination of one switch.
#[derive(Clone, Copy)]
struct Wanted {
    destination: usize,
    /// The port that delivers.
    last: PortNum,
    /// See [`weight_of`].
    weight: u32,
    /// The number of end ports that precede it among the destinations.
    number: usize,
}

/// The ranking, out of `rankings`, of a path to the n-th end port: it changes with the path and with the end port, so
/// that sources which all use paths of one number are spread too.
pub(super) fn turn(number: usize, path: usize, rankings: usize) -> usize {
    (number + path) % rankings
}

/// Path k to the n-th end port among the destinations follows the ranking of [`turn`]; every path to a switch follows
/// the first.
pub(super) fn fill(fabric: &Fabric, graph: &SwitchGraph, rankings: &[Ranking], function: &mut RoutingFunction) {
    let mut borne: Vec<Vec<Wanted>> = vec![Vec::new(); graph.len()];
    let mut ends = 0;
    for (destination, &port) in function.destinations().iter().enumerate() {
        let weight = weight_of(fabric, port);
        if let Some((row, last)) = graph.delivery(fabric, port) {
            borne[row].push(Wanted { destination, last, weight, number: ends });
        }
        ends += weight as usize;
    }
    let mut aimed: Vec<Aimed<'_>> = rankings.iter().map(|ranking| Aimed::new(graph, ranking)).collect();
    let mut spread = Spread::new(graph, function.paths());
    for (target, borne) in borne.iter().enumerate() {
        if borne.is_empty() || rankings[0].rank[target] == FAR {
            continue;
        }
        aimed.iter_mut().for_each(|aimed| aimed.aim(target));
        for wanted in borne {
            aimed.iter_mut().for_each(|aimed| aimed.choices[target] = vec![wanted.last]);
            // Routes to a switch are on layer 0, which belongs to the first root: with routes of another root they
            // could close a cycle there.
            let by_root = if wanted.weight == 0 { &aimed[..1] } else { &aimed };
            route_one(graph, by_root, function, wanted, &mut spread);
        }
    }
}

fn route_one(
    graph: &SwitchGraph,
    aimed: &[Aimed<'_>],
    function: &mut RoutingFunction,
    &Wanted { destination, weight, number, .. }: &Wanted,
    spread: &mut Spread,
) {
    spread.begin();
    for path in 0..function.paths() {
        let Aimed { choices, outward, .. } = &aimed[turn(number, path, aimed.len())];
        spread.next_path();
        for &row in outward {
            if let Some(port) = spread.choose(row, path, &choices[row], weight) {
                function.set_output(graph.node(row), destination, path, port);
            }
        }
    }
}
