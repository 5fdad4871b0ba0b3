//! Seed 002, section 5: LIDs by five heuristics on two routings, and three ways to compute paths, by links and LIDs.

use super::fabrics::{hosts_of, waxman};
use super::parallel::in_order;
use super::table::{Cell, Table, mean};
use super::{ReproduceError, Request};
use crate::fabric::Fabric;
use crate::lid::{Heuristic, number_paths};
use crate::routing::{PathEngine, ShortestWidest, TurnModel, random_root};
use crate::tables::PathSet;

pub(super) const TABLES: [&str; 1] = ["1"];

/// Machines and switches of the nine configurations.
pub(super) const CONFIGURATIONS: [(u32, u32); 9] =
    [(128, 16), (256, 16), (512, 16), (128, 32), (256, 32), (512, 32), (128, 64), (256, 64), (512, 64)];

/// A column for each of [`Heuristic::PUBLISHED`].
const COLUMNS: [&str; 5] = ["greedy", "s-m/S", "s-m/L", "color/S", "color/L"];

/// Table 1: LIDs with shortest-widest routing.
const SHORTEST_WIDEST: [[f64; 5]; 9] = [
    [478.7, 478.9, 477.3, 479.3, 476.4],
    [1044.3, 1045.4, 1041.5, 1047.7, 1039.2],
    [2218.3, 2220.1, 2211.8, 2220.4, 2208.5],
    [451.5, 453.9, 452.9, 461.3, 443.0],
    [1078.8, 1084.7, 1079.0, 1100.0, 1062.4],
    [2428.7, 2440.2, 2425.8, 2461.0, 2392.1],
    [422.8, 427.7, 427.0, 441.5, 407.4],
    [1015.5, 1022.2, 1019.3, 1044.6, 990.6],
    [2325.8, 2338.4, 2330.1, 2385.1, 2274.4],
];

pub(super) fn tables(request: &Request, tell: &mut dyn FnMut(&str)) -> Result<Vec<Table>, ReproduceError> {
    let mut tables = Vec::new();
    if request.wants("1") {
        tables.push(table_1(request, tell)?);
    }
    Ok(tables)
}

/// Shortest-widest paths of one fabric, from a random root.
pub(super) fn shortest_widest(fabric: &Fabric, seed: u64) -> Result<PathSet, ReproduceError> {
    let engine = ShortestWidest { model: TurnModel::UpDown, root: random_root(fabric, seed) };
    Ok(engine.paths(fabric, &hosts_of(fabric))?)
}

/// LIDs by each of the five heuristics.
fn lids(fabric: &Fabric, paths: &PathSet) -> [f64; 5] {
    Heuristic::PUBLISHED.map(|heuristic| number_paths(fabric, paths, &*heuristic.solver()).lids() as f64)
}

pub(super) fn name((machines, switches): (u32, u32)) -> String {
    format!("{machines}/{switches}")
}

fn table_1(request: &Request, tell: &mut dyn FnMut(&str)) -> Result<Table, ReproduceError> {
    let columns: Vec<&str> = COLUMNS.into_iter().chain(["in order"]).collect();
    let title = "LIDs allocated to all machines, shortest-widest routing";
    let mut table = Table::new("seed-002 1", title, "conf.", &columns);
    for (configuration, paper) in CONFIGURATIONS.into_iter().zip(SHORTEST_WIDEST) {
        tell(&format!("table 1: {}, {} fabrics", name(configuration), request.fabrics));
        let measured = in_order(request.fabrics, request.threads, |at| {
            let seed = request.seed + at as u64;
            let fabric = waxman(configuration.0, configuration.1, seed)?;
            Ok::<_, ReproduceError>(lids(&fabric, &shortest_widest(&fabric, seed)?))
        })?;
        let means: [f64; 5] = std::array::from_fn(|at| mean(measured.iter().map(|lids| lids[at])));
        let cells = paper.iter().zip(means).map(|(&paper, ours)| Cell::within(paper, ours, 0.08, 1));
        table.push(name(configuration), cells.chain([in_order_cell(&means)]).collect());
    }
    Ok(table)
}

/// 1 where color/L ≤ greedy ≤ color/S, as in every row of the paper.
fn in_order_cell(&[greedy, _, _, smallest, largest]: &[f64; 5]) -> Cell {
    let holds = largest <= greedy && greedy <= smallest;
    Cell::between(Some(1.0), f64::from(u8::from(holds)), 1.0, 1.0, 0)
}
