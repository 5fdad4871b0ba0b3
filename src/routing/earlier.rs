//! The ways of earlier paths to the current destination, kept so that a later path can differ from them.
//!
//! A way is identified by its first channel and the rest of the way. Rows are settled from the target outwards, so the
//! rest is known when a row is settled. Equal ways share the number of the first path.

/// Ways by path and row.
pub(super) struct Earlier {
    rows: usize,
    /// Paths to each destination; with a single one nothing needs to be kept.
    paths: usize,
    /// By path, then row: the first channel and the way's number.
    ways: Vec<(u32, u32)>,
}

impl Earlier {
    pub fn new(rows: usize, paths: usize) -> Earlier {
        Earlier { rows, paths, ways: Vec::new() }
    }

    /// Begins a destination.
    pub fn begin(&mut self) {
        self.ways.clear();
    }

    /// Begins the next path to it, from the row that delivers.
    pub fn next_path(&mut self) {
        if self.paths > 1 {
            // The target's way is empty, and the same for all paths.
            self.ways.resize(self.ways.len() + self.rows, (u32::MAX, 0));
        }
    }

    /// The last earlier path that led from `row` as this one would, by `channel` to the settled row `beyond`: one more
    /// than its number, or 0 if none did. A path that always takes the least value uses every way before it repeats
    /// any, and repeats them in turn.
    #[inline]
    pub fn last(&self, row: usize, channel: u32, beyond: usize) -> u32 {
        self.like(row, channel, beyond).next_back().map_or(0, |path| path as u32 + 1)
    }

    /// Settles a row of the current path.
    pub fn settle(&mut self, row: usize, channel: u32, beyond: usize) {
        if let Some(start) = self.start() {
            let first = self.like(row, channel, beyond).next();
            self.ways[start + row] = (channel, first.unwrap_or(start / self.rows) as u32);
        }
    }

    /// The position at which the current path begins.
    #[inline]
    fn start(&self) -> Option<usize> {
        self.ways.len().checked_sub(self.rows)
    }

    /// The numbers of earlier paths that lead so.
    #[inline]
    fn like(&self, row: usize, channel: u32, beyond: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let (before, now) = self.ways.split_at(self.start().unwrap_or(0));
        let follows = now.get(beyond).map(|&(_, way)| way);
        let paths = before.chunks_exact(self.rows.max(1)).enumerate();
        let same = move |path: &[(u32, u32)]| path[row].0 == channel && Some(path[beyond].1) == follows;
        paths.filter(move |(_, path)| same(path)).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_the_same_where_all_their_channels_are() {
        // 2 sends by channel 4 or 5 to 1, which sends by 6 or 7 to 0.
        let mut earlier = Earlier::new(3, 4);
        earlier.begin();
        let mut route = |one, two| {
            earlier.next_path();
            let known = (earlier.last(1, one, 0), {
                earlier.settle(1, one, 0);
                earlier.last(2, two, 1)
            });
            earlier.settle(2, two, 1);
            known
        };
        assert_eq!(route(6, 4), (0, 0));
        assert_eq!(route(7, 4), (0, 0), "the same channel, and another way beyond");
        assert_eq!(route(6, 5), (1, 0));
        assert_eq!(route(7, 4), (2, 2));
        let mut alone = Earlier::new(3, 1);
        alone.begin();
        alone.next_path();
        alone.settle(1, 6, 0);
        assert_eq!(alone.last(1, 6, 0), 0, "a single path keeps nothing");
    }
}
