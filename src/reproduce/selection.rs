//! What the open points of two papers change: the rule by which path selection removes paths, its ties and the model of
//! the graph (seed 002, tables 2 and 3), the graph in which color/L counts degrees (table 2), and the optimum that
//! smart routing stops at (seed 000, tables 4b and 5b).
//!
//! No figure has a band here: each row is another reading, beside the paper's figures.

use super::fabrics::{GraphModel, hosts_of, regular};
use super::parallel::in_order;
use super::seed_000::{self, Measured};
use super::seed_002::{self, CONFIGURATIONS, Configuration};
use super::table::{Cell, ResultTable, mean};
use super::{ReproduceError, StudyRequest};
use crate::fabric::Fabric;
use crate::fabric::summary::counted;
use crate::lid::configure::{Colour, ColourReduced, Configure, HeuristicOrder, block_of};
use crate::lid::{Heuristic, Splits, number_paths};
use crate::routing::{
    PathEngine, PathSelection, Removed, SelectedPairs, SelectionRule, Smart, SmartOptimum, SmartTurns, Ties,
    UpDownRandom, random_root,
};
use crate::tables::{LinkLoad, PathSet};

pub(super) const TABLES: [&str; 3] = ["lids", "color", "smart"];

/// The columns behind one for each configuration.
const COUNTED: [&str; 2] = ["within 20 %", "loads in order"];
/// Why no figure is judged.
const COMPARED: &str = "readings are compared, of which the paper had at most one";
const SMART_COLUMNS: [&str; 6] = ["total", "original", "new", "avg %", "renamings", "conflicts %"];

/// Every rule, with the ties at random last.
fn rules() -> impl Iterator<Item = SelectionRule> {
    let betweens = [SelectedPairs::EndPorts, SelectedPairs::Switches].into_iter();
    betweens.flat_map(|between| {
        [Removed::Longest, Removed::AnyLength].into_iter().flat_map(move |removed| {
            let ties = [Ties::Last, Ties::First, Ties::Random { seed: 0 }].into_iter();
            ties.map(move |ties| SelectionRule { between, removed, ties })
        })
    })
}

/// `end ports, longest, last`.
fn name_of(rule: SelectionRule) -> String {
    let between = match rule.between {
        SelectedPairs::EndPorts => "end ports",
        SelectedPairs::Switches => "switches",
    };
    let removed = match rule.removed {
        Removed::Longest => "longest",
        Removed::AnyLength => "any length",
    };
    let ties = match rule.ties {
        Ties::Last => "last",
        Ties::First => "first",
        Ties::Random { .. } => "random",
    };
    format!("{between}, {removed}, {ties}")
}

/// The rule with the ties of one fabric.
fn seeded(rule: SelectionRule, seed: u64) -> SelectionRule {
    let ties = if matches!(rule.ties, Ties::Random { .. }) { Ties::Random { seed } } else { rule.ties };
    SelectionRule { ties, ..rule }
}

/// The names of a table's rows.
pub(super) fn rows(table: &str) -> Vec<String> {
    match table {
        "smart" => return Reading::all().into_iter().map(Reading::name).collect(),
        "color" => return colour_rows().into_iter().map(|(name, ..)| name).collect(),
        _ => {}
    }
    let row = |graph: GraphModel| rules().map(move |rule| row_name(rule, graph));
    GraphModel::ALL.into_iter().flat_map(row).collect()
}

fn row_name(rule: SelectionRule, graph: GraphModel) -> String {
    format!("{}, {}", name_of(rule), graph.name())
}

pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let mut tables = Vec::new();
    if request.wants("lids") {
        tables.push(lids(request, progress)?);
    }
    if request.wants("color") {
        tables.push(colours(request, progress)?);
    }
    if request.wants("smart") {
        tables.push(smart(request, progress)?);
    }
    Ok(tables)
}

/// LIDs by color/L and the greatest load of a link of each rule, and that load on shortest-widest paths.
struct Selected {
    lids: Vec<f64>,
    load: Vec<f64>,
    renaming: f64,
}

impl Selected {
    fn of(
        graph: GraphModel,
        configuration: Configuration,
        rules: &[SelectionRule],
        seed: u64,
    ) -> Result<Selected, ReproduceError> {
        let fabric = graph.draw(configuration.machines, configuration.switches, seed)?;
        let (demand, root) = (hosts_of(&fabric), random_root(&fabric, seed));
        let renaming = LinkLoad::of_paths(&fabric, &seed_002::shortest_widest(&fabric, seed)?).max();
        let mut selected = Selected { lids: Vec::new(), load: Vec::new(), renaming };
        for &rule in rules {
            let engine = PathSelection { root, rule: seeded(rule, seed), ..PathSelection::default() };
            let paths = engine.paths(&fabric, &demand)?;
            let lids = number_paths(&fabric, &paths, &*Heuristic::ColourLargest.solver()).lids();
            selected.lids.push(lids as f64);
            selected.load.push(LinkLoad::of_paths(&fabric, &paths).max());
        }
        Ok(selected)
    }
}

fn lids(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let names: Vec<String> = CONFIGURATIONS.into_iter().map(Configuration::name).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).chain(COUNTED).collect();
    let title = "LIDs with color/L on paths of path selection, by rule, ties and graph";
    let mut table = ResultTable::new("selection lids", title, "between, removed, ties, graph", &columns);
    for graph in GraphModel::ALL {
        let mut wanted: Vec<SelectionRule> = rules().collect();
        wanted.retain(|&rule| request.wants_row(&row_name(rule, graph)));
        if wanted.is_empty() {
            continue;
        }
        progress(&format!(
            "path selection, {} rules, {}, {}",
            wanted.len(),
            graph.name(),
            counted(request.fabrics, "fabric")
        ));
        let measured = in_order(CONFIGURATIONS.len() * request.fabrics, request.threads, |at| {
            let configuration = CONFIGURATIONS[at / request.fabrics];
            Selected::of(graph, configuration, &wanted, request.seed + (at % request.fabrics) as u64)
        })?;
        for (at, &rule) in wanted.iter().enumerate() {
            table.push(row_name(rule, graph), row(&measured, request.fabrics, at));
        }
    }
    Ok(table)
}

/// The cells of the rule with number `at`.
fn row(measured: &[Selected], fabrics: usize, at: usize) -> Vec<Cell> {
    let (mut cells, mut near, mut in_order) = (Vec::new(), 0, 0);
    for (fabrics, paper) in measured.chunks(fabrics).zip(seed_002::PATH_SELECTION) {
        let paper = paper[4];
        let lids = mean(fabrics.iter().map(|one| one.lids[at]));
        near += usize::from((lids / paper - 1.0).abs() <= 0.2);
        let load = mean(fabrics.iter().map(|one| one.load[at]));
        in_order += usize::from(load <= mean(fabrics.iter().map(|one| one.renaming)));
        cells.push(Cell::unjudged(paper, lids, 0, COMPARED));
    }
    let of_paper = CONFIGURATIONS.len() as f64;
    cells.extend([near, in_order].map(|count| Cell::unjudged(of_paper, count as f64, 0, COMPARED)));
    cells
}

/// Where color/L and color/S count the degree of a path, by name: in the whole split graph; without paths that have a
/// colour; and without those that cannot have the colour in hand.
const DEGREES: [(&str, Option<bool>); 3] =
    [("whole graph", None), ("anew for each color", Some(false)), ("anew for each path", Some(true))];

fn coloured(order: HeuristicOrder, each_path: Option<bool>) -> Box<dyn Configure> {
    match each_path {
        None => Box::new(Colour(order)),
        Some(each_path) => Box::new(ColourReduced { order, each_path }),
    }
}

/// The rows of table *color*: the name, the heuristic over color/L as a column of the paper's table 2, and the reading.
fn colour_rows() -> Vec<(String, usize, usize)> {
    let ratios = [("greedy", 0), ("color/S", 3)].into_iter();
    let row = |(over, column)| {
        let named = DEGREES.iter().enumerate();
        named.map(move |(reading, (name, _))| (format!("{over} ÷ color/L, {name}"), column, reading))
    };
    ratios.flat_map(row).collect()
}

/// LIDs of one fabric by greedy, and by color/S and color/L of each reading.
struct Coloured {
    greedy: f64,
    by: [[f64; 2]; DEGREES.len()],
}

impl Coloured {
    fn of(configuration: Configuration, seed: u64) -> Result<Coloured, ReproduceError> {
        let fabric = GraphModel::Waxman.draw(configuration.machines, configuration.switches, seed)?;
        let paths = seed_002::path_selection(&fabric, seed)?;
        let solvers =
            DEGREES.map(|(_, at)| [HeuristicOrder::Smallest, HeuristicOrder::Largest].map(|order| coloured(order, at)));
        let greedy = Heuristic::Greedy.solver();
        let mut lids = Coloured { greedy: 0.0, by: [[0.0; 2]; DEGREES.len()] };
        for ranks in paths.by_destination(&fabric) {
            let splits = Splits::of(&paths, &ranks);
            let needed = |solver: &dyn Configure| block_of(solver.configure(&splits).count()) as f64;
            lids.greedy += needed(&*greedy);
            let all = lids.by.iter_mut().flatten().zip(solvers.iter().flatten());
            all.for_each(|(lids, solver)| *lids += needed(&**solver));
        }
        Ok(lids)
    }
}

fn colours(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let names: Vec<String> = CONFIGURATIONS.into_iter().map(Configuration::name).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let title = "Table 2: greedy and color/S over color/L, by the graph in which colors count degrees";
    let mut table = ResultTable::new("selection color", title, "ratio, degrees", &columns);
    let rows: Vec<_> = colour_rows().into_iter().filter(|(name, ..)| request.wants_row(name)).collect();
    if rows.is_empty() {
        return Ok(table);
    }
    progress(&format!("degrees of color/L, {}", counted(request.fabrics, "fabric")));
    let measured = in_order(CONFIGURATIONS.len() * request.fabrics, request.threads, |at| {
        Coloured::of(CONFIGURATIONS[at / request.fabrics], request.seed + (at % request.fabrics) as u64)
    })?;
    for (name, column, reading) in rows {
        let ratio = |fabrics: &[Coloured], paper: [f64; 5]| {
            let over = |one: &Coloured| if column == 0 { one.greedy } else { one.by[reading][0] };
            let ours = mean(fabrics.iter().map(over)) / mean(fabrics.iter().map(|one| one.by[reading][1]));
            Cell::unjudged(paper[column] / paper[4], ours, 3, COMPARED)
        };
        let fabrics = measured.chunks(request.fabrics).zip(seed_002::PATH_SELECTION);
        table.push(name, fabrics.map(|(fabrics, paper)| ratio(fabrics, paper)).collect());
    }
    Ok(table)
}

/// A reading of smart routing.
#[derive(Clone, Copy)]
enum Reading {
    Smart(SmartOptimum),
    /// On turns that are searched, without a root.
    Searched(SmartOptimum),
    Selection(SelectionRule),
    /// No balance at all: tables 4a and 5a.
    Random,
}

impl Reading {
    fn all() -> Vec<Reading> {
        let spread = |spread| SmartOptimum::Random { seed: 0, spread };
        let optima = [SmartOptimum::FewestHops].into_iter().chain([1, 2, 3, 4, 255].map(spread));
        let optima: Vec<SmartOptimum> = optima.collect();
        let smart = optima.iter().copied().map(Reading::Smart);
        smart
            .chain(optima.iter().copied().map(Reading::Searched))
            .chain(rules().map(Reading::Selection))
            .chain([Reading::Random])
            .collect()
    }

    fn name(self) -> String {
        match self {
            Reading::Smart(SmartOptimum::FewestHops) => "smart, fewest hops".to_string(),
            Reading::Smart(SmartOptimum::Random { spread, .. }) => format!("smart, random, spread {spread}"),
            Reading::Searched(SmartOptimum::FewestHops) => "smart, turns searched, fewest hops".to_string(),
            Reading::Searched(SmartOptimum::Random { spread, .. }) => {
                format!("smart, turns searched, random, spread {spread}")
            }
            Reading::Selection(rule) => format!("path selection: {}", name_of(rule)),
            Reading::Random => "random shortest path".to_string(),
        }
    }

    fn paths(self, fabric: &Fabric, seed: u64) -> Result<PathSet, ReproduceError> {
        let (demand, root) = (hosts_of(fabric), fabric.switches().next());
        let drawn = |optimum| match optimum {
            SmartOptimum::Random { spread, .. } => SmartOptimum::Random { seed, spread },
            other => other,
        };
        let paths = match self {
            Reading::Smart(optimum) => {
                Smart { root, optimum: drawn(optimum), ..Smart::default() }.paths(fabric, &demand)
            }
            Reading::Searched(optimum) => {
                let turns = SmartTurns::Searched { seed };
                Smart { optimum: drawn(optimum), turns, ..Smart::default() }.paths(fabric, &demand)
            }
            Reading::Selection(rule) => {
                PathSelection { root, rule: seeded(rule, seed), ..PathSelection::default() }.paths(fabric, &demand)
            }
            Reading::Random => UpDownRandom { root, seed }.paths(fabric, &demand),
        };
        Ok(paths?)
    }
}

fn smart(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let title = "Tables 4b and 5b and conflicts with smart routing, 32 switches, by reading";
    let mut table = ResultTable::new("selection smart", title, "reading", &SMART_COLUMNS);
    for reading in Reading::all().into_iter().filter(|reading| request.wants_row(&reading.name())) {
        progress(&format!("{}, {}", reading.name(), counted(request.fabrics, "fabric")));
        let measured = in_order(request.fabrics, request.threads, |at| {
            let seed = request.seed + at as u64;
            let fabric = regular(32, 4, seed)?;
            Measured::of(&fabric, &reading.paths(&fabric, seed)?)
        })?;
        let of = |figure: fn(&Measured) -> f64| mean(measured.iter().map(figure));
        let ours = [
            of(|one| one.original + one.new),
            of(|one| one.original),
            of(|one| one.new),
            of(Measured::increase),
            of(|one| one.renamings),
            of(|one| one.conflicts),
        ];
        let cells = seed_000::smart_figures().into_iter().zip(ours).zip([0, 0, 0, 1, 2, 2]);
        table.push(
            reading.name(),
            cells.map(|((paper, ours), decimals)| Cell::unjudged(paper, ours, decimals, COMPARED)).collect(),
        );
    }
    Ok(table)
}
