//! Maximum-weight matchings between the rows and columns of a table.
//!
//! The Hungarian method with shortest augmenting paths (Jonker and Volgenant, Computing 38, 1987), row by row:
//! potentials of rows and columns bound every weight from above, and are tight on matched pairs. Time: at most the
//! square of the shorter side times the longer one.

/// A table of non-negative weights.
pub(super) struct Weights {
    rows: usize,
    columns: usize,
    /// Row major.
    weights: Vec<f64>,
}

impl Weights {
    /// A table of zeroes.
    pub fn none(rows: usize, columns: usize) -> Weights {
        Weights { rows, columns, weights: vec![0.0; rows * columns] }
    }

    /// Adds to one weight.
    pub fn add(&mut self, row: usize, column: usize, weight: f64) {
        self.weights[row * self.columns + column] += weight;
    }

    /// One weight.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.weights[row * self.columns + column]
    }

    /// An upper bound of any matching's weight: the sum of the row maxima, or of the column maxima if that is less.
    pub fn bound(&self) -> f64 {
        let (mut rows, mut columns) = (vec![0.0f64; self.rows], vec![0.0f64; self.columns]);
        for (row, weights) in self.weights.chunks_exact(self.columns.max(1)).enumerate() {
            for (column, &weight) in weights.iter().enumerate() {
                rows[row] = rows[row].max(weight);
                columns[column] = columns[column].max(weight);
            }
        }
        rows.iter().sum::<f64>().min(columns.iter().sum())
    }

    fn transposed(&self) -> Weights {
        let mut other = Weights::none(self.columns, self.rows);
        (0..self.rows)
            .for_each(|row| (0..self.columns).for_each(|column| other.add(column, row, self.at(row, column))));
        other
    }
}

/// The pairs (row, column) of a maximum-weight matching, by ascending row; pairs of weight 0 are omitted.
pub(super) fn heaviest(weights: &Weights) -> Vec<(usize, usize)> {
    let mut pairs = if weights.rows <= weights.columns {
        Search::over(weights)
    } else {
        Search::over(&weights.transposed()).into_iter().map(|(column, row)| (row, column)).collect()
    };
    pairs.retain(|&(row, column)| weights.at(row, column) > 0.0);
    pairs.sort_unstable();
    pairs
}

/// No row.
const FREE: usize = usize::MAX;

/// A search over a table with no more rows than columns.
struct Search<'a> {
    weights: &'a Weights,
    /// Potentials: those of a row and a column sum to at least the weight where they meet.
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// By column: the row matched with it.
    matched: Vec<usize>,
}

impl<'a> Search<'a> {
    fn over(weights: &'a Weights) -> Vec<(usize, usize)> {
        // Row maxima and zeroes are potentials that bound every weight, so the search starts feasible.
        let most = |row: usize| (0..weights.columns).map(|column| weights.at(row, column)).fold(0.0, f64::max);
        let rows: Vec<f64> = (0..weights.rows).map(most).collect();
        let (columns, matched) = (vec![0.0; weights.columns], vec![FREE; weights.columns]);
        let mut search = Search { weights, rows, columns, matched };
        // Every row finds a free column, since rows are the shorter side; weights of 0 stand for pairs that do not
        // exist.
        (0..weights.rows).for_each(|row| search.place(row));
        let columns = search.matched.into_iter().enumerate();
        columns.filter(|&(_, row)| row != FREE).map(|(column, row)| (row, column)).collect()
    }

    /// Matches one more row, by the path of least slack to a free column.
    fn place(&mut self, first: usize) {
        let columns = self.matched.len();
        let (mut slack, mut before) = (vec![f64::INFINITY; columns], vec![FREE; columns]);
        let mut settled: Vec<usize> = Vec::new();
        let mut open = vec![true; columns];
        let (mut row, mut last) = (first, FREE);
        loop {
            let mut nearest: Option<(f64, usize)> = None;
            for column in (0..columns).filter(|&column| open[column]) {
                // Slack: how far this pair is from tight. An augmenting path uses tight pairs only.
                let gap = self.rows[row] + self.columns[column] - self.weights.at(row, column);
                if gap < slack[column] {
                    (slack[column], before[column]) = (gap, last);
                }
                if nearest.is_none_or(|(least, _)| slack[column] < least) {
                    nearest = Some((slack[column], column));
                }
            }
            let Some((least, column)) = nearest else { return };
            // Dijkstra, with potentials moved at each step: reached rows fall by `least` and settled columns rise by
            // it. Settled pairs stay tight, the nearest becomes tight, and no weight exceeds its bound.
            self.shift(first, &settled, least);
            (0..columns).filter(|&column| open[column]).for_each(|column| slack[column] -= least);
            (open[column], last) = (false, column);
            settled.push(column);
            if self.matched[column] == FREE {
                return self.augment(first, column, &before);
            }
            // The column is taken: its row must find another one.
            row = self.matched[column];
        }
    }

    /// Lowers the potentials of the reached rows, and raises those of the settled columns.
    fn shift(&mut self, first: usize, settled: &[usize], by: f64) {
        self.rows[first] -= by;
        for &column in settled {
            self.rows[self.matched[column]] -= by;
            self.columns[column] += by;
        }
    }

    /// Matches each row on the path with the column through which the path leaves it.
    fn augment(&mut self, first: usize, end: usize, before: &[usize]) {
        let mut column = end;
        // `FREE` marks columns that were reached from the first row itself.
        while before[column] != FREE {
            self.matched[column] = self.matched[before[column]];
            column = before[column];
        }
        self.matched[column] = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    fn table(rows: usize, columns: usize, weight: impl FnMut() -> f64) -> Weights {
        let mut weights = Weights::none(rows, columns);
        weights.weights.fill_with(weight);
        weights
    }

    /// By exhaustion: each row takes a free column, or none.
    fn exhausted(weights: &Weights, row: usize, taken: &mut Vec<usize>) -> f64 {
        if row == weights.rows {
            return 0.0;
        }
        let mut best = exhausted(weights, row + 1, taken);
        for column in 0..weights.columns {
            if !taken.contains(&column) {
                taken.push(column);
                best = best.max(weights.at(row, column) + exhausted(weights, row + 1, taken));
                taken.pop();
            }
        }
        best
    }

    #[test]
    fn nothing_weighs_more_than_the_heaviest() {
        let mut random = Pcg64::seed_from_u64(1);
        for case in 0..600 {
            let [rows, columns] = [(); 2].map(|()| random.random_range(1..6));
            let fine = case % 2 == 0;
            let weights = table(rows, columns, || match fine {
                true => random.random_range(0.0..1.0),
                false => f64::from(random.random_range(0..3u8)),
            });
            let found = heaviest(&weights);
            let weight: f64 = found.iter().map(|&(row, column)| weights.at(row, column)).sum();
            let wanted = exhausted(&weights, 0, &mut Vec::new());
            assert!((weight - wanted).abs() < 1e-9 && wanted <= weights.bound() + 1e-9, "{case}: {weight}, {wanted}");
            let mut columns: Vec<usize> = found.iter().map(|&(_, column)| column).collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), found.len(), "{case}: a column twice");
        }
    }
}
