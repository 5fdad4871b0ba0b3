//! The ways that earlier paths to the destination in hand took, told apart, so that a later one may differ where it can.
//!
//! A way is known by its first channel and the way that follows. Rows are settled from the target outwards, so what follows
//! is known when a row is settled. Of ways that are the same, the first path's number stands for all.

/// Ways by path and row.
pub(super) struct Earlier {
    rows: usize,
    /// Paths to each destination; with one there is nothing to tell apart, and nothing is kept.
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

    /// Whether an earlier path leads from `row` as this one would by `channel` to `beyond`, which is settled.
    pub fn has(&self, row: usize, channel: u32, beyond: usize) -> bool {
        self.first(row, channel, beyond).is_some()
    }

    /// Settles a row of the path in hand.
    pub fn settle(&mut self, row: usize, channel: u32, beyond: usize) {
        if let Some(start) = self.start() {
            let way = self.first(row, channel, beyond).unwrap_or((start / self.rows) as u32);
            self.ways[start + row] = (channel, way);
        }
    }

    /// Where the path in hand begins.
    fn start(&self) -> Option<usize> {
        self.ways.len().checked_sub(self.rows)
    }

    /// The number of the first path that leads so.
    fn first(&self, row: usize, channel: u32, beyond: usize) -> Option<u32> {
        let start = self.start()?;
        let (before, now) = self.ways.split_at(start);
        let follows = now[beyond].1;
        let same = |path: &&[(u32, u32)]| path[row].0 == channel && path[beyond].1 == follows;
        before.chunks_exact(self.rows).find(same).map(|path| path[row].1)
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
            let known = (earlier.has(1, one, 0), {
                earlier.settle(1, one, 0);
                earlier.has(2, two, 1)
            });
            earlier.settle(2, two, 1);
            known
        };
        assert_eq!(route(6, 4), (false, false));
        assert_eq!(route(7, 4), (false, false), "the same channel, and another way beyond");
        assert_eq!(route(6, 5), (true, false));
        assert_eq!(route(7, 4), (true, true));
        let mut alone = Earlier::new(3, 1);
        alone.begin();
        alone.next_path();
        alone.settle(1, 6, 0);
        assert!(!alone.has(1, 6, 0), "a single path keeps nothing");
    }
}
