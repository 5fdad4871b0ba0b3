//! The distance of each heuristic from the optimum, on the paths of seed 002's tables: figures that no paper reports.
//!
//! The exact solver proves the least number of configurations, destination by destination. If its steps run out it
//! leaves bounds; gaps then refer to the lower one, so that they are overstated rather than understated.

use super::fabrics::GraphModel;
use super::parallel::in_order;
use super::seed_002::{CONFIGURATIONS, path_selection, shortest_widest};
use super::table::{Cell, ResultTable, mean};
use super::{ReproduceError, StudyRequest};
use crate::fabric::Fabric;
use crate::fabric::summary::counted;
use crate::lid::configure::{Configure, block_of, optimum};
use crate::lid::{Heuristic, Splits};
use crate::tables::PathSet;

pub(super) const TABLES: [&str; 4] = ["1-lids", "1-configurations", "2-lids", "2-configurations"];

/// The heuristics measured.
const MEASURED: [Heuristic; 7] = [
    Heuristic::Greedy,
    Heuristic::SplitMergeSmallest,
    Heuristic::SplitMergeLargest,
    Heuristic::ColourSmallest,
    Heuristic::ColourLargest,
    Heuristic::Dsatur,
    Heuristic::Best,
];

const COLUMNS: [&str; 10] = [
    "least",
    "fewest",
    "proved %",
    "greedy +%",
    "s-m/S +%",
    "s-m/L +%",
    "color/S +%",
    "color/L +%",
    "dsatur +%",
    "best +%",
];

/// Sums over the destinations of one fabric, by what is counted.
#[derive(Clone, Copy, Default)]
struct Sums {
    least: f64,
    fewest: f64,
    by: [f64; 7],
    proved: f64,
}

impl Sums {
    fn add(&mut self, least: usize, fewest: usize, by: [usize; 7]) {
        self.least += least as f64;
        self.fewest += fewest as f64;
        self.proved += f64::from(u8::from(least == fewest));
        self.by.iter_mut().zip(by).for_each(|(sum, one)| *sum += one as f64);
    }
}

/// LIDs (blocks), configurations, and the number of destinations.
struct Gaps {
    lids: Sums,
    configurations: Sums,
    destinations: f64,
}

/// The paths of an engine on one fabric.
type Route = fn(&Fabric, u64) -> Result<PathSet, ReproduceError>;

pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let routings: [(&str, &str, Route); 2] =
        [("1", "shortest-widest routing", shortest_widest), ("2", "path selection", path_selection)];
    let mut tables = Vec::new();
    for (number, routing, route) in routings {
        let names = ["lids", "configurations"].map(|counted| format!("{number}-{counted}"));
        if names.iter().any(|name| request.wants(name)) {
            let both = pair_of_tables(request, progress, routing, &names, route)?;
            tables.extend(both.into_iter().zip(names).filter(|(_, name)| request.wants(name)).map(|(table, _)| table));
        }
    }
    Ok(tables)
}

/// LIDs and configurations of one routing.
fn pair_of_tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
    routing: &str,
    names: &[String; 2],
    route: Route,
) -> Result<[ResultTable; 2], ReproduceError> {
    let table = |at: usize, counted: &str| {
        let title = format!("{counted} beyond the optimum, {routing}");
        let table = ResultTable::new(format!("optimum {}", names[at]), title, "conf.", &COLUMNS);
        ResultTable { mixed_units: true, ..table }
    };
    let (mut lids, mut configurations) = (table(0, "LIDs"), table(1, "Configurations"));
    for configuration in CONFIGURATIONS.into_iter().filter(|one| request.wants_row(&one.name())) {
        progress(&format!("optimum, {routing}: {}, {}", configuration.name(), counted(request.fabrics, "fabric")));
        let gaps = in_order(request.fabrics, request.threads, |at| {
            let seed = request.seed + at as u64;
            let fabric = GraphModel::Waxman.draw(configuration.machines, configuration.switches, seed)?;
            Ok::<_, ReproduceError>(gaps(&fabric, &route(&fabric, seed)?, request.steps))
        })?;
        lids.push(configuration.name(), cells(&gaps, |one| &one.lids));
        configurations.push(configuration.name(), cells(&gaps, |one| &one.configurations));
    }
    Ok([lids, configurations])
}

fn gaps(fabric: &Fabric, paths: &PathSet, steps: u64) -> Gaps {
    let solvers: Vec<Box<dyn Configure>> = MEASURED.iter().map(|heuristic| heuristic.solver()).collect();
    let (mut lids, mut configurations) = (Sums::default(), Sums::default());
    let destinations = paths.by_destination(fabric);
    for ranks in &destinations {
        let splits = Splits::of(paths, ranks);
        let by: [usize; 7] = std::array::from_fn(|at| solvers[at].configure(&splits).count());
        let found = optimum(&splits, steps);
        let (least, fewest) = (found.least, found.configurations.count());
        lids.add(block_of(least), block_of(fewest), by.map(block_of));
        configurations.add(least, fewest, by);
    }
    Gaps { lids, configurations, destinations: destinations.len() as f64 }
}

fn cells(gaps: &[Gaps], of: fn(&Gaps) -> &Sums) -> Vec<Cell> {
    let average = |figure: &dyn Fn(&Gaps) -> f64| mean(gaps.iter().map(figure));
    let least = average(&|one| of(one).least);
    let fewest = average(&|one| of(one).fewest);
    let proved = 100.0 * average(&|one| of(one).proved / one.destinations);
    let beyond = (0..MEASURED.len()).map(|at| 100.0 * (average(&|one| of(one).by[at]) / least - 1.0));
    [(least, 1), (fewest, 1), (proved, 2)]
        .into_iter()
        .chain(beyond.map(|gap| (gap, 2)))
        .map(|(figure, decimals)| Cell::open(None, figure, decimals))
        .collect()
}
