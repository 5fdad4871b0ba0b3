//! Tables as values: rows of cells, each with the paper's figure, the measured one, and the band for it.

use serde::Serialize;

/// The range in which our figure must lie.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// From the first to the second, both included.
    Between(f64, f64),
    /// Anywhere: the paper has no such figure, or does not say how it varies.
    Open,
}

/// One figure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Cell {
    /// The paper's figure; none if it has none.
    pub paper: Option<f64>,
    /// The measured figure; NaN where there was nothing to measure, as a latency while nothing arrives.
    #[schemars(with = "Option<f64>")]
    pub ours: f64,
    /// The band for the measured figure.
    pub band: Band,
    /// Whether it lies in the band; none if the band is open.
    pub inside: Option<bool>,
    /// Decimals worth showing.
    pub decimals: usize,
    /// Whether it is a property, which holds (1) or does not (0).
    #[serde(skip)]
    pub is_claim: bool,
    /// Why it has no band although the paper has such a figure, if that is known.
    #[serde(skip)]
    pub unjudged: Option<&'static str>,
}

impl Cell {
    fn new(paper: Option<f64>, ours: f64, band: Band, decimals: usize) -> Cell {
        let inside = match band {
            Band::Between(least, most) => Some((least..=most).contains(&ours)),
            Band::Open => None,
        };
        Cell { paper, ours, band, inside, decimals, is_claim: false, unjudged: None }
    }

    /// A figure that must be within a fraction of the paper's.
    pub(super) fn within(paper: f64, ours: f64, fraction: f64, decimals: usize) -> Cell {
        let band = Band::Between(paper * (1.0 - fraction), paper * (1.0 + fraction));
        Cell::new(Some(paper), ours, band, decimals)
    }

    /// A figure that must be within a distance of the paper's.
    pub(super) fn near(paper: f64, ours: f64, distance: f64, decimals: usize) -> Cell {
        Cell::new(Some(paper), ours, Band::Between(paper - distance, paper + distance), decimals)
    }

    /// A figure with a band of its own.
    pub(super) fn between(paper: Option<f64>, ours: f64, least: f64, most: f64, decimals: usize) -> Cell {
        Cell::new(paper, ours, Band::Between(least, most), decimals)
    }

    /// 1 if a property of the paper's figures holds for ours too.
    pub(super) fn holds(holds: bool) -> Cell {
        Cell { is_claim: true, ..Cell::between(Some(1.0), f64::from(u8::from(holds)), 1.0, 1.0, 0) }
    }

    /// A cell for a claim that the paper's figures both confirm and contradict.
    pub(super) fn may_hold(holds: bool) -> Cell {
        Cell { is_claim: true, ..Cell::open(None, f64::from(u8::from(holds)), 0) }
    }

    /// A figure without a band.
    pub(super) fn open(paper: Option<f64>, ours: f64, decimals: usize) -> Cell {
        Cell::new(paper, ours, Band::Open, decimals)
    }

    /// A figure of the paper that ours is shown beside, and not judged by.
    pub(super) fn unjudged(paper: f64, ours: f64, decimals: usize, why: &'static str) -> Cell {
        Cell { unjudged: Some(why), ..Cell::open(Some(paper), ours, decimals) }
    }
}

/// A row.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct ResultRow {
    /// The configuration that it describes.
    pub name: String,
    /// One for each column.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct ResultTable {
    /// Study and number: `seed-000 4a`.
    pub name: String,
    /// A one-line description.
    pub title: String,
    /// The heading of the row names.
    pub key: &'static str,
    /// The headings of the cells.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<ResultRow>,
    /// So many figures may be outside their bands for the table to count as reproduced.
    pub may_be_outside: usize,
    /// Whether rows are moments of a run, which are plotted as lines over time; their names are milliseconds.
    pub over_time: bool,
    /// Whether columns have units of their own, and no published figures to be scaled by: a plot leaves it out beside
    /// others.
    pub mixed_units: bool,
}

impl ResultTable {
    pub(super) fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        key: &'static str,
        columns: &[&str],
    ) -> ResultTable {
        let columns = columns.iter().map(ToString::to_string).collect();
        let (name, title) = (name.into(), title.into());
        let rows = Vec::new();
        ResultTable { name, title, key, columns, rows, may_be_outside: 0, over_time: false, mixed_units: false }
    }

    pub(super) fn push(&mut self, name: impl Into<String>, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(ResultRow { name: name.into(), cells });
    }

    /// Its cells, with the names of row and column.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &str, &Cell)> {
        self.rows.iter().flat_map(|row| {
            self.columns.iter().zip(&row.cells).map(|(column, cell)| (row.name.as_str(), column.as_str(), cell))
        })
    }

    /// Whether no more cells are outside their bands than may be.
    pub fn is_reproduced(&self) -> bool {
        let (inside, banded) = self.inside();
        banded - inside <= self.may_be_outside
    }

    /// The number of the paper's figures without a band, which are shown and not judged.
    pub fn unjudged(&self) -> usize {
        self.cells().filter(|(_, _, cell)| cell.paper.is_some() && cell.inside.is_none()).count()
    }

    /// The number of cells inside their bands, and of cells with a band.
    pub fn inside(&self) -> (usize, usize) {
        let banded = || self.cells().filter_map(|(_, _, cell)| cell.inside);
        (banded().filter(|&inside| inside).count(), banded().count())
    }
}

/// The mean of figures; 0 if there are none.
pub(super) fn mean(figures: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for figure in figures {
        sum += figure;
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_reproduced_while_no_more_is_outside_than_may_be() {
        let mut table = ResultTable::new("table", "", "row", &["figure"]);
        for ours in [1.0, 2.0, 3.0] {
            table.push("row", vec![Cell::near(1.0, ours, 0.5, 0)]);
        }
        table.push("row", vec![Cell::open(Some(1.0), 9.0, 0)]);
        let reproduced = [0, 1, 2].map(|may_be_outside| {
            table.may_be_outside = may_be_outside;
            table.is_reproduced()
        });
        assert_eq!((table.inside(), table.unjudged(), reproduced), ((1, 3), 1, [false, false, true]));
    }
}
