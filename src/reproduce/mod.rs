//! The published figures of five papers, measured again with this crate's engines and LID assignment.
//!
//! On entry: a study, its tables, the number of fabrics, and a seed. On return: tables of cells, each with the paper's
//! figure, ours, and the band in which ours must lie for the table to count as reproduced (docs/REPRODUCE.md explains
//! where bands and readings come from). The same request gives the same tables, whatever the number of threads.
//! Studies: *seed 000* is López, Flich, Duato, "Deadlock-free Routing in InfiniBand through Destination Renaming", ICPP
//! 2001; *seed 001* is Pinkston, Zafar, Duato, "A Method for Applying Double Scheme Dynamic Reconfiguration over
//! InfiniBand", slides; *seed 002* is Nienaber, Yuan, Duan, "On LID Assignment in InfiniBand Networks", ANCS 2007;
//! *seed 003* tests a manual's claim about several paths in the simulator; *seed 004* is Bloch, Liss, "InfiniBand
//! Router Premier", 12th OpenFabrics Workshop 2016, slides; *optimum* compares the heuristics of the second paper with
//! an exact solver; *selection* compares readings of both papers where they leave points open; *skyline* is Lysne,
//! Duato, "Fast Dynamic Reconfiguration in Irregular Networks", ICPP 2000, on these papers' fabrics. Deliberately
//! omitted: screens (`report`).

mod confined;
mod conflicts;
mod csv;
mod fabrics;
mod optimum;
mod parallel;
mod plot;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;
mod selection;
mod skyline;
mod table;

pub use conflicts::conflicts;
pub use csv::csv;
pub use plot::plot;
pub use table::{Band, Cell, ResultRow, ResultTable};

use crate::fabric::generate::GenerateError;
use crate::lid::IdsExhausted;
use crate::routing::RouteError;
use std::fmt;
use std::str::FromStr;

/// The studies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Study {
    /// Destination renaming.
    Seed000,
    /// The Double Scheme over InfiniBand.
    Seed001,
    /// LID assignment.
    Seed002,
    /// Dispersive routing: a claim without published figures.
    Seed003,
    /// Routers between subnets.
    Seed004,
    /// The gaps of the heuristics to the optimum, which no paper reports.
    Optimum,
    /// What the papers' open points change: rules of path selection, graphs, optima of smart routing.
    Selection,
    /// The part of a fabric in which a loss reverses links of up*/down*.
    Skyline,
}

impl Study {
    /// All of them.
    pub const ALL: [Study; 8] = [
        Study::Seed000,
        Study::Seed001,
        Study::Seed002,
        Study::Seed003,
        Study::Seed004,
        Study::Optimum,
        Study::Selection,
        Study::Skyline,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Study::Seed000 => "seed-000",
            Study::Seed001 => "seed-001",
            Study::Seed002 => "seed-002",
            Study::Seed003 => "seed-003",
            Study::Seed004 => "seed-004",
            Study::Optimum => "optimum",
            Study::Selection => "selection",
            Study::Skyline => "skyline",
        }
    }

    /// The names of its tables.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Study::Seed000 => &seed_000::TABLES,
            Study::Seed001 => &seed_001::TABLES,
            Study::Seed002 => &seed_002::TABLES,
            Study::Seed003 => &seed_003::TABLES,
            Study::Seed004 => &seed_004::TABLES,
            Study::Optimum => &optimum::TABLES,
            Study::Selection => &selection::TABLES,
            Study::Skyline => &skyline::TABLES,
        }
    }

    /// The names of the rows of one of its tables.
    pub fn rows(self, table: &str) -> Vec<String> {
        match self {
            Study::Seed000 => seed_000::rows(table),
            Study::Seed001 => seed_001::rows(table),
            Study::Seed002 | Study::Optimum => seed_002::rows(),
            Study::Seed003 => seed_003::rows(table),
            Study::Seed004 => seed_004::rows(table),
            Study::Selection => selection::rows(table),
            Study::Skyline => skyline::rows(table),
        }
    }

    /// The source of its tables.
    pub fn paper(self) -> &'static str {
        match self {
            Study::Seed000 => {
                "López, Flich, Duato: Deadlock-free Routing in InfiniBand through Destination Renaming, ICPP 2001"
            }
            Study::Seed001 => {
                "Pinkston, Zafar, Duato: A Method for Applying Double Scheme Dynamic Reconfiguration over InfiniBand, slides"
            }
            Study::Seed002 => "Nienaber, Yuan, Duan: On LID Assignment in InfiniBand Networks, ANCS 2007",
            Study::Seed003 => "user guide IB0054606-02 A, chapter 8: Dispersive Routing",
            Study::Seed004 => "Bloch, Liss: InfiniBand Router Premier, 12th OpenFabrics Workshop 2016, slides",
            Study::Optimum => "each heuristic of Nienaber, Yuan, Duan (ANCS 2007) beside the optimum",
            Study::Skyline => "Lysne, Duato: Fast Dynamic Reconfiguration in Irregular Networks, ICPP 2000",
            Study::Selection => "readings of Nienaber, Yuan, Duan (ANCS 2007) and of López, Flich, Duato (ICPP 2001)",
        }
    }

    /// Fabrics for each row, by default: the paper's number where the study is of one that has rows of several; for
    /// seed-000 ten times that, so that the scatter is known.
    pub fn fabrics(self) -> usize {
        match self {
            Study::Seed000 => 100,
            Study::Skyline => 10,
            Study::Seed001 | Study::Seed004 => 1,
            Study::Seed002 => 32,
            Study::Seed003 | Study::Selection => 2,
            Study::Optimum => 8,
        }
    }
}

impl fmt::Display for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Study {
    type Err = ReproduceError;

    fn from_str(name: &str) -> Result<Study, ReproduceError> {
        let known = Study::ALL.into_iter().find(|study| study.name() == name);
        known.ok_or_else(|| ReproduceError::NoSuchStudy { name: name.to_string() })
    }
}

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StudyRequest {
    /// The study.
    pub study: Study,
    /// One of its tables; none: all.
    pub table: Option<String>,
    /// Only rows of these names; empty: all.
    pub rows: Vec<String>,
    /// Fabrics for each row, 1 at least.
    pub fabrics: usize,
    /// The seed of the first fabric of each row; the others follow consecutively.
    pub seed: u64,
    /// How many fabrics are measured at a time.
    pub threads: usize,
    /// The most steps that the exact solver takes for one destination.
    pub steps: u64,
}

impl StudyRequest {
    /// All tables of a study, with as many fabrics as the paper has.
    pub fn of(study: Study, threads: usize) -> StudyRequest {
        StudyRequest {
            study,
            table: None,
            rows: Vec::new(),
            fabrics: study.fabrics(),
            seed: 0,
            threads,
            steps: 200_000,
        }
    }

    fn wants(&self, table: &str) -> bool {
        self.table.as_deref().is_none_or(|wanted| wanted == table)
    }

    fn wants_row(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}

/// Why tables cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// No study of that name.
    #[error("there is no study `{name}` to reproduce; choose one of: {}", Study::ALL.map(Study::name).join(", "))]
    NoSuchStudy {
        /// The name given.
        name: String,
    },
    /// No table of that name.
    #[error("{study} has no table `{name}`; choose one of: {}", study.tables().join(", "))]
    NoSuchTable {
        /// The study.
        study: Study,
        /// The name given.
        name: String,
    },
    /// No requested table has a row of that name.
    #[error("no requested table of {study} has a row `{name}`; choose one of: {}", some(known))]
    NoSuchRow {
        /// The study.
        study: Study,
        /// The name given.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The number of fabrics is zero.
    #[error("{study}: no fabrics were requested; a mean needs at least one")]
    NoFabrics {
        /// The study.
        study: Study,
    },
    /// A fabric cannot be drawn.
    #[error("generating a fabric: {0}")]
    Generate(#[from] GenerateError),
    /// A run of the simulator yields no figures.
    #[error("measuring {what}: {why}")]
    Run {
        /// The fabric, the engine and the sources.
        what: String,
        /// Why not.
        why: String,
    },
    /// A fabric cannot be routed.
    #[error("routing a fabric: {0}")]
    Route(#[from] RouteError),
    /// A destination has too few ids.
    #[error("renaming: {0}")]
    Ids(#[from] IdsExhausted),
}

/// A few names of many.
fn some(names: &[String]) -> String {
    let more = if names.len() > 12 { ", …" } else { "" };
    names.iter().take(12).cloned().collect::<Vec<_>>().join(", ") + more
}

/// Checks that every requested row exists in a requested table.
fn check_rows(request: &StudyRequest) -> Result<(), ReproduceError> {
    let study = request.study;
    let mut known: Vec<String> = Vec::new();
    for table in study.tables().iter().filter(|table| request.wants(table)) {
        let fresh: Vec<String> = study.rows(table).into_iter().filter(|row| !known.contains(row)).collect();
        known.extend(fresh);
    }
    match request.rows.iter().find(|row| !known.contains(row)) {
        None => Ok(()),
        Some(name) => Err(ReproduceError::NoSuchRow { study, name: name.clone(), known }),
    }
}

/// Measures the tables of a request; `progress` receives a line before each row.
///
/// # Errors
/// A table or a row that the study does not have, before anything is measured; a fabric that cannot be generated or
/// routed.
pub fn reproduce(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<Vec<ResultTable>, ReproduceError> {
    let study = request.study;
    if let Some(name) = request.table.as_ref().filter(|name| !study.tables().contains(&name.as_str())) {
        return Err(ReproduceError::NoSuchTable { study, name: name.clone() });
    }
    if request.fabrics == 0 {
        return Err(ReproduceError::NoFabrics { study });
    }
    check_rows(request)?;
    let mut tables = match study {
        Study::Seed000 => seed_000::tables(request, progress),
        Study::Seed001 => seed_001::tables(request, progress),
        Study::Seed002 => seed_002::tables(request, progress),
        Study::Seed003 => seed_003::tables(request, progress),
        Study::Seed004 => seed_004::tables(request, progress),
        Study::Optimum => optimum::tables(request, progress),
        Study::Selection => selection::tables(request, progress),
        Study::Skyline => skyline::tables(request, progress),
    }?;
    tables.retain(|table| !table.rows.is_empty());
    Ok(tables)
}
