//! The skyline of a loss: the part of a fabric in which links of up*/down* change their direction (Lysne, Duato: "Fast
//! Dynamic Reconfiguration in Irregular Networks", ICPP 2000, which seed 001 proposes to confine updates to).
//!
//! Their paper measured that the skyline is empty in 85 to 95 % of the most frequent changes, on fabrics of its own.
//! Here it is counted for the loss of each cable between switches and of each switch, on the fabrics of the seeds,
//! routed as [`UpDown`](crate::routing::UpDown) routes them. The construction is ours, after the paper's abstract. A
//! *peak* is a switch without a link upwards. While a connected part has one peak, all links can keep their directions,
//! every pair still has a legal path, and turns of old and new routes together close no cycle: the skyline is empty.
//! Otherwise it is a set of switches, minimal by inclusion, that holds all peaks of such a part, connects them, and
//! holds with a switch all switches above it. Reversing links within it leaves one peak. As nothing that goes down out
//! of it can come up again, a cycle of turns of old and new routes lies within it (tested below). What arrives never
//! has a skyline, unless it joins parts that were apart: a new switch goes below its neighbours, and a new cable points
//! as the order has it.
//!
//! SMPs are those of the slides' rules ([`PaperCounts`]): for the whole fabric, and for the skyline as if it were one,
//! with its switches' hosts and every port end that is connected there. Table *confined* has changes that were made so
//! ([`confined`](super::confined)).

use super::confined::{Reversal, Spent, beside_each_other};
use super::fabrics::{GraphModel, regular};
use super::parallel::in_order;
use super::table::{Cell, ResultTable, mean};
use super::{ReproduceError, StudyRequest};
use crate::fabric::generate::BUNDLED;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::routing::{choose_root, switch_order};
use crate::scenario::{Element, PAPER_SMP_NS, PaperCounts};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, VecDeque};

pub(super) const TABLES: [&str; 2] = ["losses", "confined"];

const COLUMNS: [&str; 8] =
    ["losses", "empty %", "switches %", "cables %", "SMPs, whole", "SMPs, skyline", "ms, whole", "ms, skyline"];

/// Of table *confined*: of three changes each.
const CONFINED_COLUMNS: [&str; 12] = [
    "losses",
    "skyline",
    "SMPs, whole",
    "SMPs, standing",
    "SMPs, confined",
    "ms, whole",
    "ms, standing",
    "ms, confined",
    "written, whole",
    "written, standing",
    "written, confined",
    "of them outside",
];

/// Where the fabrics of a row come from.
#[derive(Clone, Copy)]
enum Origin {
    /// Seed 001.
    Slides,
    /// Seed 000: switches, each with four links.
    Regular(u32),
    /// Seed 002, with 128 machines: switches.
    Waxman(u32),
}

const ORIGINS: [Origin; 8] = [
    Origin::Slides,
    Origin::Regular(8),
    Origin::Regular(16),
    Origin::Regular(32),
    Origin::Regular(64),
    Origin::Waxman(16),
    Origin::Waxman(32),
    Origin::Waxman(64),
];

impl Origin {
    fn name(self) -> String {
        match self {
            Origin::Slides => "seed-16".to_string(),
            Origin::Regular(switches) => format!("regular {switches}"),
            Origin::Waxman(switches) => format!("waxman {switches}"),
        }
    }

    fn draw(self, seed: u64) -> Result<Fabric, ReproduceError> {
        match self {
            Origin::Slides => {
                let bundled = BUNDLED.iter().find(|bundled| bundled.name == "seed-16").expect("it is bundled");
                Ok(bundled.generate()?)
            }
            Origin::Regular(switches) => regular(switches, 4, seed),
            Origin::Waxman(switches) => GraphModel::Waxman.draw(128, switches, seed),
        }
    }

    /// The number of different fabrics, where so many are requested.
    fn fabrics(self, requested: usize) -> usize {
        if matches!(self, Origin::Slides) { 1 } else { requested }
    }
}

/// What is lost: by number in [`Net`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    Cable(usize),
    Switch(usize),
}

const LOST: [&str; 2] = ["a cable", "a switch"];

/// Switches that a root reaches, numbered in the order of up*/down*, the root 0, and the cables between them.
#[derive(Default)]
struct Net {
    /// By number.
    switches: Vec<NodeId>,
    /// By cable of `cables`: a port at one of its ends.
    ports: Vec<PortId>,
    /// By switch: its hosts.
    hosts: Vec<usize>,
    /// The switch at the upper end of each, that of lower number, and the one at the lower end.
    cables: Vec<(usize, usize)>,
}

impl Net {
    fn of(fabric: &Fabric) -> Net {
        let order = choose_root(fabric).and_then(|root| switch_order("up-down", fabric, root)).unwrap_or_default();
        let number: BTreeMap<_, usize> = order.iter().zip(0..).map(|(&switch, at)| (switch, at)).collect();
        let mut net = Net { hosts: vec![0; order.len()], switches: order, ..Net::default() };
        for (one, other) in fabric.links() {
            let ends = [one, other].map(|port| number.get(&fabric.port(port).node).copied());
            match ends {
                [Some(upper), Some(lower)] if upper != lower => {
                    net.cables.push((upper.min(lower), upper.max(lower)));
                    net.ports.push(one);
                }
                [Some(switch), None] | [None, Some(switch)] => net.hosts[switch] += 1,
                // A cable from a switch to itself carries nothing.
                _ => {}
            }
        }
        net
    }

    fn losses(&self, kind: usize) -> Vec<Loss> {
        match kind {
            0 => (0..self.cables.len()).map(Loss::Cable).collect(),
            _ => (0..self.hosts.len()).map(Loss::Switch).collect(),
        }
    }

    /// The cables that a loss leaves.
    fn left_by(&self, loss: Loss) -> Vec<(usize, usize)> {
        let cables = self.cables.iter().enumerate();
        let stays = |&(at, &(up, down)): &(usize, &(usize, usize))| match loss {
            Loss::Cable(lost) => at != lost,
            Loss::Switch(lost) => up != lost && down != lost,
        };
        cables.filter(stays).map(|(_, &cable)| cable).collect()
    }

    /// Whether each switch is of the skyline of a loss.
    fn skyline(&self, loss: Loss) -> Vec<bool> {
        let (count, cables) = (self.hosts.len(), self.left_by(loss));
        let mut is_peak = vec![true; count];
        cables.iter().for_each(|&(_, down)| is_peak[down] = false);
        if let Loss::Switch(lost) = loss {
            is_peak[lost] = false;
        }
        let parts = joined(count, &cables);
        let peaks: Vec<usize> = (0..count).filter(|&switch| is_peak[switch]).collect();
        let mut peaks_of = vec![0usize; count];
        peaks.iter().for_each(|&peak| peaks_of[parts.find(peak)] += 1);
        let has_several = |switch: usize| peaks_of[parts.find(switch)] > 1;
        let mut inside: Vec<bool> = (0..count).map(has_several).collect();
        let rivals: Vec<usize> = peaks.into_iter().filter(|&peak| has_several(peak)).collect();
        // From below upwards, so that a node above others is visited after all of those.
        for switch in (0..count).rev().filter(|&switch| !is_peak[switch]) {
            let bears = cables.iter().any(|&(up, down)| up == switch && inside[down]);
            if !inside[switch] || bears {
                continue;
            }
            inside[switch] = false;
            let within: Vec<_> = cables.iter().copied().filter(|&(up, down)| inside[up] && inside[down]).collect();
            let now = joined(count, &within);
            let apart = |&(a, b): &(&usize, &usize)| parts.equiv(*a, *b) && !now.equiv(*a, *b);
            // Peaks of one part, each with the next of that part: those of all parts are few.
            let pairs = rivals.iter().flat_map(|a| rivals.iter().filter(move |b| *b > a).map(move |b| (a, b)));
            inside[switch] = pairs.into_iter().any(|pair| apart(&pair));
        }
        inside
    }
}

impl Net {
    /// The directions of links after a loss: within the skyline they lead up to its first peak, elsewhere as before.
    fn reversal(&self, loss: Loss) -> Reversal {
        let (inside, cables) = (self.skyline(loss), self.left_by(loss));
        let ranks = ranks(&inside, &cables);
        let stays = |switch: &usize| loss != Loss::Switch(*switch);
        // Above whoever is inside there are only others inside.
        let mut order: Vec<usize> = (0..inside.len()).filter(stays).collect();
        order.sort_by_key(|&switch| (!inside[switch], if inside[switch] { ranks[switch] } else { (0, switch) }));
        Reversal {
            element: match loss {
                Loss::Cable(cable) => Element::Link(self.ports[cable]),
                Loss::Switch(switch) => Element::Switch(self.switches[switch]),
            },
            inside: (0..inside.len()).filter(|&switch| inside[switch]).map(|at| self.switches[at]).collect(),
            rank: order.into_iter().zip(0..).map(|(switch, rank)| (self.switches[switch], rank)).collect(),
        }
    }
}

fn joined(count: usize, cables: &[(usize, usize)]) -> UnionFind<usize> {
    let mut sets = UnionFind::new(count);
    cables.iter().for_each(|&(up, down)| {
        sets.union(up, down);
    });
    sets
}

/// By switch: its distance from the first peak of its part of the skyline, over links within; then its number.
fn ranks(inside: &[bool], cables: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ranks: Vec<_> = (0..inside.len()).map(|switch| (usize::MAX, switch)).collect();
    for first in (0..inside.len()).filter(|&switch| inside[switch]) {
        if ranks[first].0 != usize::MAX {
            continue;
        }
        ranks[first].0 = 0;
        let mut queue = VecDeque::from([first]);
        while let Some(from) = queue.pop_front() {
            for &(up, down) in cables.iter().filter(|&&(up, down)| inside[up] && inside[down]) {
                let next = if up == from { down } else { up };
                if (up == from || down == from) && ranks[next].0 == usize::MAX {
                    ranks[next].0 = ranks[from].0 + 1;
                    queue.push_back(next);
                }
            }
        }
    }
    ranks
}

/// The losses of one kind in one fabric.
struct Counted {
    /// SMPs for the whole.
    whole: u64,
    losses: usize,
    /// Of each skyline that is not empty: the share of switches and of cables in it, and SMPs.
    skylines: Vec<(f64, f64, u64)>,
}

impl Counted {
    fn of(net: &Net, kind: usize) -> Counted {
        let all = vec![true; net.hosts.len()];
        let losses = net.losses(kind);
        let skylines = losses.iter().map(|&loss| net.skyline(loss)).filter(|inside| inside.contains(&true));
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
        let skylines = skylines.map(|inside| {
            let switches = inside.iter().filter(|&&inside| inside).count();
            let cables = net.cables.iter().filter(|&&(up, down)| inside[up] && inside[down]).count();
            (share(switches, inside.len()), share(cables, net.cables.len()), smps(net, &inside))
        });
        Counted { whole: smps(net, &all), losses: losses.len(), skylines: skylines.collect() }
    }
}

/// SMPs by the slides' rules for some of the switches, as if with their hosts they were the subnet.
fn smps(net: &Net, inside: &[bool]) -> u64 {
    let chosen = || inside.iter().enumerate().filter(|&(_, &inside)| inside);
    let hosts: usize = chosen().map(|(switch, _)| net.hosts[switch]).sum();
    let ends: usize =
        net.cables.iter().map(|&(up, down)| usize::from(inside[up]) + usize::from(inside[down])).sum::<usize>();
    let PaperCounts { mapping, distributing, drainage } =
        PaperCounts::of(chosen().count() as u64, hosts as u64, (ends + 2 * hosts) as u64);
    mapping + distributing + drainage
}

pub(super) fn rows(_table: &str) -> Vec<String> {
    ORIGINS.iter().flat_map(|origin| LOST.map(|lost| row(*origin, lost))).collect()
}

fn row(origin: Origin, lost: &str) -> String {
    format!("{}, {lost}", origin.name())
}

pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let mut tables = Vec::new();
    if request.wants(TABLES[0]) {
        tables.push(losses(request, progress)?);
    }
    if request.wants(TABLES[1]) {
        tables.push(confined(request, progress)?);
    }
    Ok(tables)
}

fn losses(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let title = "Losses of one element whose skyline is empty; means of those that are not, by the slides' rules";
    let mut table = ResultTable::new("skyline losses", title, "fabric, lost", &COLUMNS);
    table.mixed_units = true;
    for origin in ORIGINS {
        for (kind, lost) in LOST.iter().enumerate().filter(|(_, lost)| request.wants_row(&row(origin, lost))) {
            progress(&format!("the skylines of {} by the loss of {lost}", origin.name()));
            let fabrics = origin.fabrics(request.fabrics);
            let counted = in_order(fabrics, request.threads, |at| {
                Ok::<_, ReproduceError>(Counted::of(&Net::of(&origin.draw(request.seed + at as u64)?), kind))
            })?;
            table.push(row(origin, lost), cells(&counted));
        }
    }
    Ok(table)
}

/// The Double Scheme confined to skylines beside the whole: of each fabric the first loss whose skyline is not empty.
fn confined(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let title = "The Double Scheme beside itself confined to a skyline, in the simulator: means over losses";
    let mut table = ResultTable::new("skyline confined", title, "fabric, lost", &CONFINED_COLUMNS);
    table.mixed_units = true;
    for origin in ORIGINS {
        for (kind, lost) in LOST.iter().enumerate().filter(|(_, lost)| request.wants_row(&row(origin, lost))) {
            progress(&format!("the Double Scheme in {} by the loss of {lost}", origin.name()));
            let measured = in_order(origin.fabrics(request.fabrics), request.threads, |at| {
                let fabric = origin.draw(request.seed + at as u64)?;
                let net = Net::of(&fabric);
                let lost = net.losses(kind).into_iter().filter(|&loss| net.skyline(loss).contains(&true));
                let most = if matches!(origin, Origin::Slides) { usize::MAX } else { 1 };
                let measured = lost.take(most).map(|loss| {
                    let reversal = net.reversal(loss);
                    Ok((reversal.inside.len(), beside_each_other(&fabric, &reversal)?))
                });
                measured.collect::<Result<Vec<_>, ReproduceError>>()
            })?;
            let measured: Vec<_> = measured.into_iter().flatten().collect();
            let of = |figure: fn(&Spent) -> f64, at: usize, decimals| {
                Cell::open(None, mean(measured.iter().map(|(_, spent)| figure(&spent[at]))), decimals)
            };
            let mut cells = vec![
                Cell::open(None, measured.len() as f64, 0),
                Cell::open(None, mean(measured.iter().map(|(inside, _)| *inside as f64)), 1),
            ];
            cells.extend([0, 1, 2].map(|at| of(|one| one.smps, at, 0)));
            cells.extend([0, 1, 2].map(|at| of(|one| one.ms, at, 2)));
            cells.extend([0, 1, 2].map(|at| of(|one| one.written, at, 1)));
            cells.push(of(|one| one.outside, 2, 1));
            table.push(row(origin, lost), cells);
        }
    }
    Ok(table)
}

fn cells(counted: &[Counted]) -> Vec<Cell> {
    let losses: usize = counted.iter().map(|one| one.losses).sum();
    let skylines: Vec<_> = counted.iter().flat_map(|one| &one.skylines).collect();
    let empty = 100.0 * (losses - skylines.len()) as f64 / losses as f64;
    let (switches, cables) = (mean(skylines.iter().map(|one| one.0)), mean(skylines.iter().map(|one| one.1)));
    let (whole, part) =
        (mean(counted.iter().map(|one| one.whole as f64)), mean(skylines.iter().map(|one| one.2 as f64)));
    let open = |figure, decimals| Cell::open(None, figure, decimals);
    let ms = |smps: f64| open(smps * PAPER_SMP_NS as f64 / 1e6, 1);
    vec![
        open(losses as f64, 0),
        open(empty, 1),
        open(switches, 1),
        open(cables, 1),
        open(whole, 0),
        open(part, 0),
        ms(whole),
        ms(part),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::algo::tarjan_scc;
    use petgraph::graph::{DiGraph, NodeIndex};

    /// All legal turns of old and new directions together.
    fn check(net: &Net, loss: Loss) {
        let (inside, cables) = (net.skyline(loss), net.left_by(loss));
        assert!(cables.iter().all(|&(up, down)| inside[up] || !inside[down]), "{loss:?}: not closed upwards");
        let ranks = ranks(&inside, &cables);
        // Whether a cable keeps its direction.
        let keeps = |&(up, down): &(usize, usize)| !(inside[up] && inside[down]) || ranks[up] < ranks[down];
        let mut is_peak = vec![true; inside.len()];
        cables.iter().for_each(|cable| is_peak[if keeps(cable) { cable.1 } else { cable.0 }] = false);
        if let Loss::Switch(lost) = loss {
            is_peak[lost] = false;
        }
        let parts = joined(inside.len(), &cables);
        let peaks: Vec<usize> = (0..inside.len()).filter(|&switch| is_peak[switch]).collect();
        let share = |a: &usize| peaks.iter().any(|b| a != b && parts.equiv(*a, *b));
        assert!(!peaks.iter().any(share), "{loss:?}: a part has two peaks");

        // A channel in each direction: from, to, whether it goes down before and after.
        let mut channels = Vec::new();
        for cable in &cables {
            channels.push((cable.0, cable.1, [true, keeps(cable)]));
            channels.push((cable.1, cable.0, [false, !keeps(cable)]));
        }
        let mut graph = DiGraph::<(), ()>::new();
        channels.iter().for_each(|_| {
            graph.add_node(());
        });
        for (a, &(_, via, first)) in channels.iter().enumerate() {
            for (b, &(from, _, then)) in channels.iter().enumerate() {
                let legal = (0..2).any(|when| !first[when] || then[when]);
                if via == from && a / 2 != b / 2 && legal {
                    graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), ());
                }
            }
        }
        for cycle in tarjan_scc(&graph).into_iter().filter(|part| part.len() > 1) {
            let within = |at: NodeIndex| inside[channels[at.index()].0] && inside[channels[at.index()].1];
            assert!(cycle.into_iter().all(within), "{loss:?}: a cycle leaves the skyline");
        }
    }

    #[test]
    fn cycles_of_old_and_new_turns_lie_within_the_skyline() {
        let mut met = 0;
        for origin in [Origin::Slides, Origin::Regular(8), Origin::Regular(16), Origin::Waxman(16)] {
            for seed in 0..6 {
                let net = Net::of(&origin.draw(seed).unwrap());
                for loss in [net.losses(0), net.losses(1)].concat() {
                    check(&net, loss);
                    met += usize::from(net.skyline(loss).contains(&true));
                }
            }
        }
        assert!(met > 20, "{met} skylines");
    }

    /// A root above two switches, which share one below: without the root they meet there.
    #[test]
    fn a_lost_root_leaves_peaks_that_meet_below() {
        let cables = vec![(0, 1), (0, 2), (1, 3), (2, 3), (1, 4)];
        let net = Net { hosts: vec![0, 1, 1, 1, 1], cables, ..Net::default() };
        assert_eq!(net.skyline(Loss::Switch(0)), [false, true, true, true, false]);
        assert_eq!(net.skyline(Loss::Switch(3)), [false; 5]);
        assert_eq!(net.skyline(Loss::Cable(4)), [false; 5], "a part by itself");
        assert_eq!(net.skyline(Loss::Cable(1)), [true, true, true, true, false]);
    }
}
