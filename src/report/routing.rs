//! What `reconfig route` did: JSON for programs, one screen for people.

use super::quantity::{count, counted, duration, size_of};
use super::screen::{line, table};
use super::worst::{self, WorstFacts};
use reconfig::change::Routed;
use reconfig::fabric::Fabric;
use reconfig::routing::EngineEntry;
use reconfig::scenario::FabricSize;
use reconfig::tables::{Diversity, LinkLoad, Selection, Usage};
use reconfig::verify::{ProofStatistics, Refusal, TableProof};
use serde::Serialize;

/// What `reconfig route` did to subnets, of which there may be one.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct RouteReport {
    pub schema: &'static str,
    /// Whether each routing was proved by itself.
    pub safe: bool,
    pub subnets: Vec<SubnetRoute>,
}

/// One subnet.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SubnetRoute {
    pub name: String,
    /// Whether its routing was proved by itself.
    pub safe: bool,
    #[serde(flatten)]
    pub facts: RouteFacts,
}

/// The routing of a subnet.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct RouteFacts {
    pub engine: &'static str,
    /// The root of its spanning tree, where it has one.
    pub root: Option<String>,
    pub fabric: FabricSize,
    pub data_vls: u8,
    /// Virtual layers, each of which needs one; a change needs twice as many.
    pub layers: u8,
    pub lids: LidFacts,
    /// Paths between end ports.
    pub paths: PathFacts,
    /// Paths that one switch sends to another by one port.
    pub load: LoadFacts,
    /// What several paths are worth; none where every source has one.
    pub dispersal: Option<DispersalFacts>,
    /// Worst-case permutations, where they were requested.
    pub worst: Option<WorstFacts>,
    pub proof: Option<ProofStatistics>,
    pub refusal: Option<Refusal>,
    /// Time that the engine took, LIDs and tables included.
    pub routing_ns: u64,
    pub proof_ns: u64,
    pub files: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LidFacts {
    /// LMC of end ports: the least and the greatest.
    pub lmc: [u8; 2],
    /// LIDs that a destination needs in each half: on average in thousandths, and most.
    pub needed_mean_permille: u64,
    /// Most LIDs that a destination needs in each half.
    pub needed_most: usize,
    /// Halves: two, or one where an end port has LMC 0.
    pub halves: usize,
    pub total: usize,
    pub highest: u16,
}

/// Paths between end ports, one for each LID that a destination needs and the source may send to.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct PathFacts {
    pub count: u64,
    /// Fewest switches on one.
    pub least: u64,
    /// Switches on the average one.
    pub mean: f64,
    /// Most switches on one.
    pub most: u64,
}

/// Paths over cables between switches, each direction by itself.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct LoadFacts {
    /// Directions of cables.
    pub channels: usize,
    /// Paths over the average one.
    pub mean: f64,
    /// Paths over the busiest one.
    pub most: u32,
    /// The port that sends into it.
    pub busiest: Option<String>,
}

/// Several paths of a pair of end ports.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct DispersalFacts {
    /// Paths that a source may choose from, at most: LIDs of a half.
    pub paths: usize,
    /// Different ones, of pairs on different switches: the fewest.
    pub distinct_least: u64,
    /// Mean number of different paths of these pairs.
    pub distinct_mean: f64,
    /// Under uniform traffic over all of them, channels between switches: load in units of what an end port sends.
    pub uniform: UniformFacts,
    /// The load if all send by the first path alone, by the second alone, and so on.
    pub uniform_by_path: Vec<UniformFacts>,
}

/// Load of channels between switches under uniform traffic, in units of what an end port sends to all others together.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct UniformFacts {
    /// Of the average channel.
    pub mean: f64,
    /// Of the busiest one.
    pub most: f64,
}

impl RouteReport {
    pub fn of(subnets: Vec<SubnetRoute>) -> RouteReport {
        RouteReport { schema: "reconfig.route/1", safe: subnets.iter().all(|own| own.safe), subnets }
    }
}

impl RouteFacts {
    /// Of a routing, with the verdict of the prover.
    pub fn of(routed: &Routed, judged: Result<&TableProof, &Refusal>) -> RouteFacts {
        let (fabric, function) = (&routed.fabric, &routed.function);
        let usage = Usage::of(fabric, function);
        let [least, _, most] = usage.switches;
        RouteFacts {
            engine: function.engine(),
            root: function.root().map(|root| fabric.describe_node(root)),
            fabric: FabricSize::of(fabric),
            data_vls: routed.data_vls,
            layers: function.layers(),
            lids: LidFacts::of(routed),
            paths: PathFacts { count: usage.paths, least, mean: usage.mean_switches(), most },
            load: LoadFacts::of(routed, &usage),
            dispersal: DispersalFacts::of(routed),
            worst: None,
            proof: judged.ok().map(|proof| proof.statistics().clone()),
            refusal: judged.err().cloned(),
            routing_ns: 0,
            proof_ns: 0,
            files: Vec::new(),
        }
    }

    /// These facts with worst-case permutations, including that of `chosen`.
    #[must_use]
    pub fn with_worst(self, routed: &Routed, chosen: Selection) -> RouteFacts {
        let offered = self.dispersal.as_ref().map_or(1, |facts| facts.paths);
        RouteFacts { worst: Some(WorstFacts::of(routed, offered, chosen)), ..self }
    }
}

impl DispersalFacts {
    /// None where every source has one path.
    fn of(routed: &Routed) -> Option<DispersalFacts> {
        let (fabric, function) = (&routed.fabric, &routed.function);
        if function.paths() == 1 {
            return None;
        }
        let diversity = Diversity::of(fabric, function);
        let uniform = |classes| UniformFacts::of(fabric, &LinkLoad::of_classes(fabric, function, classes));
        (diversity.offered > 1).then(|| DispersalFacts {
            paths: diversity.offered,
            distinct_least: diversity.distinct[0],
            distinct_mean: diversity.mean(),
            uniform: uniform(0..function.paths()),
            uniform_by_path: (0..diversity.offered).map(|path| uniform(path..path + 1)).collect(),
        })
    }
}

impl UniformFacts {
    fn of(fabric: &Fabric, load: &LinkLoad) -> UniformFacts {
        let loads: Vec<f64> = load.between_switches(fabric).map(|(_, load)| load).collect();
        let mean = loads.iter().sum::<f64>() / loads.len().max(1) as f64;
        UniformFacts { mean, most: loads.into_iter().fold(0.0, f64::max) }
    }
}

impl LidFacts {
    fn of(routed: &Routed) -> LidFacts {
        let (fabric, function) = (&routed.fabric, &routed.function);
        let lmcs = || fabric.end_ports().map(|port| fabric.port(port).lmc.get());
        let ranks = (0..function.destinations().len()).filter(|&rank| {
            let owner = fabric.port(function.destinations()[rank]).node;
            !fabric.node(owner).is_switch()
        });
        let needed: Vec<usize> = ranks.map(|rank| function.needed(rank)).collect();
        LidFacts {
            lmc: [lmcs().min().unwrap_or(0), lmcs().max().unwrap_or(0)],
            needed_mean_permille: (1000 * needed.iter().sum::<usize>()).div_ceil(needed.len().max(1)) as u64,
            needed_most: needed.iter().copied().max().unwrap_or(0),
            halves: routed.halves().len(),
            total: fabric.lid_ports().map(|port| usize::from(fabric.port(port).lmc.lids())).sum(),
            highest: fabric.max_lid().map_or(0, |lid| lid.0),
        }
    }
}

impl LoadFacts {
    fn of(routed: &Routed, usage: &Usage) -> LoadFacts {
        let loads: Vec<_> = usage.between_switches(&routed.fabric).collect();
        let sum: u64 = loads.iter().map(|&(_, load)| u64::from(load)).sum();
        let busiest = loads.iter().max_by_key(|&&(port, load)| (load, std::cmp::Reverse(port)));
        LoadFacts {
            channels: loads.len(),
            mean: sum as f64 / loads.len().max(1) as f64,
            most: busiest.map_or(0, |&(_, load)| load),
            busiest: busiest.map(|&(port, _)| routed.fabric.describe_port(port)),
        }
    }
}

/// The engines, a line each.
pub fn engines(engines: &[EngineEntry]) -> String {
    let mut rows = table();
    for entry in engines {
        let safe = if entry.safe { "" } else { "; NOT free of deadlock, for comparison" };
        rows.add_row([entry.name.to_string(), format!("{}{safe}", entry.about)]);
    }
    let mut text = String::new();
    rows.to_string().lines().for_each(|row| line(&mut text, format_args!("{}", row.trim())));
    text
}

/// The report as text.
pub fn route(report: &RouteReport) -> String {
    if let [only] = &report.subnets[..] {
        return subnet_route(only);
    }
    let section = |own: &SubnetRoute| format!("subnet {}\n\n{}\n", own.name, subnet_route(own));
    let mut text: String = report.subnets.iter().map(section).collect();
    line(&mut text, format_args!("each subnet was judged by itself: `reconfig audit` judges them with their routers"));
    text
}

fn subnet_route(own: &SubnetRoute) -> String {
    let report = &own.facts;
    let mut text = String::new();
    let FabricSize { switches, cas, links } = report.fabric;
    let size = size_of(switches, (cas, "CA"), links);
    line(&mut text, format_args!("fabric   {size}; {}", counted(report.data_vls.into(), "data VL")));
    let root = report.root.as_ref().map_or_else(String::new, |root| format!(", root {root}"));
    let layers = counted(report.layers as u64, "layer");
    line(&mut text, format_args!("routing  {}{root}; {layers}", report.engine));
    lids(&mut text, &report.lids);
    let PathFacts { count: paths, least, mean, most } = report.paths;
    line(&mut text, format_args!("paths    {}, over {least} to {most} switches, {mean:.2} on average", count(paths)));
    if let Some(busiest) = &report.load.busiest {
        let LoadFacts { mean, most, .. } = report.load;
        let (most, mean) = (count(most.into()), format!("{mean:.1}"));
        line(
            &mut text,
            format_args!("load     {most} paths on the busiest cable between switches ({busiest}), {mean} on average"),
        );
    }
    if let Some(facts) = &report.dispersal {
        dispersal(&mut text, facts);
    }
    let times = [report.routing_ns, report.proof_ns].map(duration);
    line(&mut text, format_args!("time     {} to route, {} to prove", times[0], times[1]));
    if let Some(proof) = &report.proof {
        let numbers = [(proof.channels, "channel"), (proof.lanes, "lane"), (proof.dependencies, "dependency")];
        let numbers = numbers.map(|(number, name)| counted(number as u64, name)).join(", ");
        line(&mut text, format_args!("proof    {numbers}, no cycle"));
    }
    if let Some(refusal) = &report.refusal {
        line(&mut text, format_args!("proof    refused: {refusal}"));
    }
    text.push('\n');
    if let Some(facts) = &report.worst {
        worst::screen(&mut text, facts);
        text.push('\n');
    }
    line(
        &mut text,
        format_args!("{}: {}", if own.safe { "yes, proved" } else { "NO, refused" }, written(&report.files)),
    );
    text
}

fn dispersal(text: &mut String, facts: &DispersalFacts) {
    let DispersalFacts { paths, distinct_least: least, distinct_mean: mean, uniform, uniform_by_path: classes } = facts;
    line(
        text,
        format_args!("several  up to {paths} paths for a pair, {least} different ones at least, {mean:.2} on average"),
    );
    let UniformFacts { most, mean } = uniform;
    let busiest = classes.iter().map(|class| class.most).fold(0.0, f64::max);
    line(
        text,
        format_args!(
            "uniform  load {most:.2} on the busiest channel, {mean:.2} on average; {busiest:.2} by one path alone"
        ),
    );
}

fn lids(text: &mut String, lids: &LidFacts) {
    let lmc = match lids.lmc {
        [least, most] if least == most => format!("LMC {most}"),
        [least, most] => format!("LMC {least} to {most}"),
    };
    let halves = if lids.halves == 2 { "two halves" } else { "one half only" };
    let needed = match lids.needed_most {
        0 | 1 => "one LID for each destination".to_string(),
        most => {
            let mean = lids.needed_mean_permille as f64 / 1000.0;
            format!("up to {most} LIDs for a destination, {mean:.2} on average")
        }
    };
    let (total, highest) = (count(lids.total as u64), count(lids.highest.into()));
    line(text, format_args!("LIDs     {lmc}, {halves}; each half needs {needed}; {total} in all, up to {highest}"));
}

fn written(files: &[String]) -> String {
    match files {
        [] => "nothing was written".to_string(),
        files => format!("written to {}", files.join(", ")),
    }
}
