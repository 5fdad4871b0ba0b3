//! Seed 000, section 4: forwarding tables, renamings and conflicts on random regular fabrics.
//!
//! Every figure of the paper is a mean or an extreme of ten fabrics that were not kept. Ours is the mean over all
//! fabrics, or over groups of ten the mean of their extremes. How far the paper's may lie from it follows from how ours
//! scatter ([`Sample`]): one rule for all figures. Only with too few fabrics to know the scatter, bands that were set
//! before anything was measured take its place.

use super::conflicts::conflicts;
use super::fabrics::{hosts_of, regular};
use super::parallel::in_order;
use super::table::{Cell, ResultTable, mean};
use super::{ReproduceError, StudyRequest};
use crate::fabric::Fabric;
use crate::fabric::summary::counted;
use crate::lid::{MOST_IDS, rename};
use crate::routing::{PathEngine, Smart, SmartOptimum, SmartTurns, UpDownRandom};
use crate::tables::PathSet;
use statrs::distribution::{ContinuousCDF, StudentsT};

pub(super) const TABLES: [&str; 6] = ["4a", "5a", "4b", "5b", "6", "smart-conflicts"];

/// Fabrics of a row of the paper.
const TEN: usize = 10;

/// A row of table 4: switches; total, original and new entries; least, greatest and mean percentage of new ones.
const ENTRIES_UP_DOWN: [(u32, [f64; 6]); 4] = [
    (8, [402.0, 256.0, 145.0, 37.0, 70.0, 57.0]),
    (16, [1648.0, 1022.0, 616.0, 39.0, 82.0, 60.0]),
    (32, [6733.0, 4078.0, 2637.0, 49.0, 85.0, 65.0]),
    (64, [26512.0, 16310.0, 10188.0, 57.0, 71.0, 62.0]),
];
/// Table 4b: the same with smart routing.
const ENTRIES_SMART: [(u32, [f64; 6]); 1] = [(32, [5191.0, 3896.0, 1294.0, 32.0, 45.0, 39.0])];
/// A row of table 5: switches; mean and greatest number of renamings of a destination.
const RENAMINGS_UP_DOWN: [(u32, [f64; 2]); 4] = [(8, [1.1, 3.0]), (16, [1.5, 4.0]), (32, [1.8, 6.0]), (64, [2.1, 7.0])];
/// Table 5b: the same with smart routing.
const RENAMINGS_SMART: [(u32, [f64; 2]); 1] = [(32, [1.2, 3.0])];
/// A row of table 6: links of a switch; least, greatest and mean percentage of entries in conflict.
const CONFLICTS: [(u32, [f64; 3]); 4] =
    [(3, [0.91, 1.44, 1.26]), (4, [2.40, 3.07, 2.71]), (5, [3.90, 4.87, 4.23]), (8, [7.33, 8.71, 8.08])];
/// Section 4.3, in the text: the mean percentage with smart routing, 32 switches of 4 links.
const CONFLICTS_SMART: f64 = 1.86;
/// The greatest random cost of a path in hops: of 0, 1, 2, 3, 4 and no preference for short paths, the one whose
/// entries fit table 4b (docs/REPRODUCE.md).
const SPREAD: u8 = 2;

/// Of smart routing: total, original and new entries, mean percentage of new ones, mean renamings, conflicts.
pub(super) fn smart_figures() -> [f64; 6] {
    let ([total, original, new, _, _, percentage], [renamings, _]) = (ENTRIES_SMART[0].1, RENAMINGS_SMART[0].1);
    [total, original, new, percentage, renamings, CONFLICTS_SMART]
}

/// The names of a table's rows.
pub(super) fn rows(table: &str) -> Vec<String> {
    let names: Vec<u32> = match table {
        "4a" | "5a" => ENTRIES_UP_DOWN.map(|row| row.0).to_vec(),
        "4b" | "5b" | "smart-conflicts" => ENTRIES_SMART.map(|row| row.0).to_vec(),
        _ => CONFLICTS.map(|row| row.0).to_vec(),
    };
    names.iter().map(u32::to_string).collect()
}

pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let (mut tables, mut smart_conflicts) = (Vec::new(), None);
    if request.wants("4a") || request.wants("5a") {
        let measured = measure(request, progress, &ENTRIES_UP_DOWN.map(|row| row.0), up_down)?;
        tables.push(entries("4a", "up*/down*", &ENTRIES_UP_DOWN, &measured));
        tables.push(renamings("5a", "up*/down*", &RENAMINGS_UP_DOWN, &measured));
    }
    if ["4b", "5b", "smart-conflicts"].iter().any(|table| request.wants(table)) {
        let measured = measure(request, progress, &ENTRIES_SMART.map(|row| row.0), smart)?;
        smart_conflicts = Some(conflicts_of_smart(&measured[0]));
        tables.push(entries("4b", "smart routing", &ENTRIES_SMART, &measured));
        tables.push(renamings("5b", "smart routing", &RENAMINGS_SMART, &measured));
    }
    if request.wants("6") {
        tables.push(conflict_table(request, progress)?);
    }
    tables.extend(smart_conflicts);
    tables.retain(|table| request.wants(table.name.trim_start_matches("seed-000 ")));
    Ok(tables)
}

/// The paths of an engine on one fabric.
type Route = fn(&Fabric, u64) -> Result<PathSet, ReproduceError>;

/// By row of a table: the renaming of each of its fabrics; empty if the row is not requested.
fn measure(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
    rows: &[u32],
    route: Route,
) -> Result<Vec<Vec<Measured>>, ReproduceError> {
    let row = |&switches: &u32| {
        if !request.wants_row(&switches.to_string()) {
            return Ok(Vec::new());
        }
        progress(&format!("tables 4 and 5: {switches} switches, {}", counted(request.fabrics, "fabric")));
        in_order(request.fabrics, request.threads, |at| {
            let seed = request.seed + at as u64;
            let fabric = regular(switches, 4, seed)?;
            Measured::of(&fabric, &route(&fabric, seed)?)
        })
    };
    rows.iter().map(row).collect()
}

/// The renaming of one fabric.
pub(super) struct Measured {
    /// Entries for id 0, which everybody would use, and for others.
    pub original: f64,
    pub new: f64,
    /// Over destinations: renamings, mean and greatest.
    pub renamings: f64,
    pub most: f64,
    /// The percentage of entries in conflict without renaming.
    pub conflicts: f64,
}

impl Measured {
    pub(super) fn of(fabric: &Fabric, paths: &PathSet) -> Result<Measured, ReproduceError> {
        let renaming = rename(fabric, paths, |_| MOST_IDS)?;
        let (original, new) = renaming.entries();
        let renamings = || renaming.needed().iter().map(|&needed| f64::from(needed.saturating_sub(1)));
        Ok(Measured {
            original: original as f64,
            new: new as f64,
            renamings: mean(renamings()),
            most: renamings().fold(0.0, f64::max),
            conflicts: conflicts(fabric, paths),
        })
    }

    pub(super) fn increase(&self) -> f64 {
        100.0 * self.new / self.original
    }
}

/// Up*/down* from the switch of lowest number, as Autonet elects it; one random shortest legal path for each pair.
fn up_down(fabric: &Fabric, seed: u64) -> Result<PathSet, ReproduceError> {
    let root = fabric.switches().next();
    Ok(UpDownRandom { root, seed }.paths(fabric, &hosts_of(fabric))?)
}

/// Smart routing on turns that are searched, without a root.
fn smart(fabric: &Fabric, seed: u64) -> Result<PathSet, ReproduceError> {
    let optimum = SmartOptimum::Random { seed, spread: SPREAD };
    let engine = Smart { optimum, turns: SmartTurns::Searched { seed }, ..Smart::default() };
    Ok(engine.paths(fabric, &hosts_of(fabric))?)
}

fn entries(name: &str, engine: &str, paper: &[(u32, [f64; 6])], measured: &[Vec<Measured>]) -> ResultTable {
    let title = format!("Forwarding table overhead of destination renaming, {engine}");
    let columns = ["total", "original", "new", "min %", "max %", "avg %"];
    let mut table = ResultTable::new(format!("seed-000 {name}"), title, "switches", &columns);
    for (&(switches, paper), fabrics) in paper.iter().zip(measured).filter(|(_, fabrics)| !fabrics.is_empty()) {
        let points = if switches < 64 { 7.0 } else { 5.0 };
        let figures: [(Sample, f64); 6] = [
            (Sample::mean(fabrics, |one| one.original + one.new), 0.04 * paper[0]),
            (Sample::mean(fabrics, |one| one.original), 0.003 * paper[1]),
            (Sample::mean(fabrics, |one| one.new), paper[1] * points / 100.0),
            (Sample::extreme(fabrics, Measured::increase, f64::min), points),
            (Sample::extreme(fabrics, Measured::increase, f64::max), points),
            (Sample::mean(fabrics, Measured::increase), points),
        ];
        let cells = figures.into_iter().zip(paper).map(|((ours, set), paper)| ours.beside(paper, set, 0));
        table.push(switches.to_string(), cells.collect());
    }
    table
}

fn renamings(name: &str, engine: &str, paper: &[(u32, [f64; 2])], measured: &[Vec<Measured>]) -> ResultTable {
    let title = format!("Renamings of a destination, {engine}");
    let mut table = ResultTable::new(format!("seed-000 {name}"), title, "switches", &["avg", "max"]);
    for (&(switches, paper), fabrics) in paper.iter().zip(measured).filter(|(_, fabrics)| !fabrics.is_empty()) {
        let average = Sample::mean(fabrics, |one| one.renamings).beside(paper[0], 0.15, 1);
        let most = Sample::extreme(fabrics, |one| one.most, f64::max).beside(paper[1], 2.0, 0);
        table.push(switches.to_string(), vec![Cell { decimals: 2, ..average }, Cell { decimals: 1, ..most }]);
    }
    table
}

fn conflict_table(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let title = "Percentage of forwarding table entries with conflicts, 64 switches, up*/down*";
    let mut table = ResultTable::new("seed-000 6", title, "links", &["min", "max", "avg"]);
    for (links, paper) in CONFLICTS.into_iter().filter(|row| request.wants_row(&row.0.to_string())) {
        progress(&format!("table 6: {links} links a switch, {}", counted(request.fabrics, "fabric")));
        let measured = in_order(request.fabrics, request.threads, |at| {
            let seed = request.seed + at as u64;
            let fabric = regular(64, links, seed)?;
            Ok::<f64, ReproduceError>(conflicts(&fabric, &up_down(&fabric, seed)?))
        })?;
        let figures = [
            Sample::extreme(&measured, |&one| one, f64::min),
            Sample::extreme(&measured, |&one| one, f64::max),
            Sample::mean(&measured, |&one| one),
        ];
        let cells = figures.into_iter().zip(paper).map(|(ours, paper)| ours.beside(paper, 0.12 * paper, 2));
        table.push(links.to_string(), cells.collect());
    }
    Ok(table)
}

fn conflicts_of_smart(fabrics: &[Measured]) -> ResultTable {
    let title = "Percentage of forwarding table entries with conflicts, 32 switches of 4 links, smart routing";
    let mut table = ResultTable::new("seed-000 smart-conflicts", title, "switches", &["avg"]);
    if !fabrics.is_empty() {
        let ours = Sample::mean(fabrics, |one| one.conflicts);
        table.push(ENTRIES_SMART[0].0.to_string(), vec![ours.beside(CONFLICTS_SMART, 0.12 * CONFLICTS_SMART, 2)]);
    }
    table
}

/// One figure, measured many times: a value for each fabric, or for each group of ten.
struct Sample {
    values: Vec<f64>,
    /// Of so many such values the paper's figure is the mean.
    of_paper: usize,
}

/// The fewest values whose scatter is known.
const SCATTERED: usize = 10;

impl Sample {
    /// A figure of which the paper has the mean over its ten fabrics.
    fn mean<T>(fabrics: &[T], figure: impl Fn(&T) -> f64) -> Sample {
        Sample { values: fabrics.iter().map(figure).collect(), of_paper: TEN }
    }

    /// A figure of which the paper has the extreme of its ten fabrics: ours of each ten. A last group of fewer counts
    /// only if it is the only one.
    fn extreme<T>(fabrics: &[T], figure: impl Fn(&T) -> f64, extreme: fn(f64, f64) -> f64) -> Sample {
        let whole = fabrics.chunks_exact(TEN);
        let groups: Vec<&[T]> = if whole.len() == 0 { vec![fabrics] } else { whole.collect() };
        let of = |group: &[T]| group.iter().map(&figure).reduce(extreme).unwrap_or(0.0);
        Sample { values: groups.into_iter().map(of).collect(), of_paper: 1 }
    }

    /// Its mean beside the paper's figure, which is rounded to so many decimals.
    ///
    /// If the paper's fabrics were drawn like ours, its figure lies within this distance of our mean with a confidence
    /// of 99 %: the prediction interval for the mean of `of_paper` further values (Student's t), and what rounding
    /// adds. With too few values to know how they scatter, the distance is `set`.
    fn beside(&self, paper: f64, set: f64, decimals: usize) -> Cell {
        let (count, ours) = (self.values.len() as f64, mean(self.values.iter().copied()));
        if self.values.len() < SCATTERED {
            return Cell::near(paper, ours, set, decimals);
        }
        let variance = self.values.iter().map(|one| (one - ours).powi(2)).sum::<f64>() / (count - 1.0);
        let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("nine degrees of freedom at least");
        let scatter = (variance * (1.0 / self.of_paper as f64 + 1.0 / count)).sqrt();
        let rounding = 0.5 * 0.1f64.powi(decimals as i32);
        Cell::near(paper, ours, student.inverse_cdf(0.995) * scatter + rounding, decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Band;

    fn half_width(cell: Cell) -> f64 {
        let Band::Between(least, most) = cell.band else { panic!("{cell:?}") };
        (most - least) / 2.0
    }

    #[test]
    fn an_extreme_is_judged_by_the_scatter_of_its_like_where_that_is_known() {
        let fabrics: Vec<f64> = (0..100).map(|at| f64::from(at / 10)).collect();
        let few = Sample::extreme(&fabrics[..90], |&one| one, f64::max).beside(4.0, 1.0, 0);
        assert_eq!((few.ours, few.band), (4.0, Band::Between(3.0, 5.0)));
        // Greatest figures 0 to 9: mean 4.5, standard deviation 3.03; t is 3.25 with nine degrees of freedom.
        let many = |paper| Sample::extreme(&fabrics, |&one| one, f64::max).beside(paper, 1.0, 0);
        assert!((half_width(many(0.0)) - (3.25 * 3.0277 * 1.1f64.sqrt() + 0.5)).abs() < 0.01, "{:?}", many(0.0));
        assert_eq!((many(-6.0).inside, many(-7.0).inside), (Some(true), Some(false)));
    }

    #[test]
    fn a_mean_of_ten_is_judged_by_the_scatter_of_single_fabrics() {
        let fabrics: Vec<f64> = (0..10).map(f64::from).collect();
        let few = Sample::mean(&fabrics[..9], |&one| one).beside(4.0, 0.25, 1);
        assert_eq!((few.ours, few.band), (4.0, Band::Between(3.75, 4.25)));
        let all = Sample::mean(&fabrics, |&one| one).beside(4.0, 0.25, 1);
        assert!((half_width(all) - (3.25 * 3.0277 * 0.2f64.sqrt() + 0.05)).abs() < 0.01, "{all:?}");
        // The same in every fabric: only rounding is left.
        let flat = Sample::mean(&[256.0; 100], |&one| one);
        assert_eq!((flat.beside(256.4, 9.0, 0).inside, flat.beside(257.0, 9.0, 0).inside), (Some(true), Some(false)));
    }
}
