//! Hops from every switch to every other by legal paths, for packets that came down and for others.

use super::{Channels, OrientedChannel};

/// No legal path.
const FAR: u16 = u16::MAX;

/// Not a target.
const NONE: u32 = u32::MAX;

/// Shape: `hops[(rank of the target × rows + row) × 2 + came down]`, in channels between switches.
pub(in crate::routing) struct Ahead {
    rows: usize,
    /// By row: its rank among the targets.
    rank: Vec<u32>,
    hops: Vec<u16>,
}

impl Ahead {
    /// Hops to every row of `targets`; to others there is no path.
    pub fn of(channels: &Channels, targets: impl IntoIterator<Item = usize>) -> Ahead {
        let rows = channels.rows();
        let mut ahead = Ahead { rows, rank: vec![NONE; rows], hops: Vec::new() };
        let mut count = 0;
        for target in targets.into_iter().filter(|&row| channels.reaches(row)) {
            if ahead.rank[target] == NONE {
                ahead.rank[target] = count;
                count += 1;
                ahead.hops.resize(ahead.hops.len() + rows * 2, FAR);
                ahead.measure(channels, target);
            }
        }
        ahead
    }

    /// The rank of a row among the targets, in the order in which they were given first.
    #[inline]
    pub fn rank(&self, target: usize) -> Option<usize> {
        Some(self.rank[target]).filter(|&rank| rank != NONE).map(|rank| rank as usize)
    }

    /// Ways that only go down are found backwards from the target; then every row is settled by ascending number, since
    /// a way up leads to a row that is already settled.
    fn measure(&mut self, channels: &Channels, target: usize) {
        let start = self.hops.len() - self.rows * 2;
        let hops = &mut self.hops[start..];
        hops[target * 2 + 1] = 0;
        let (mut queue, mut next) = (vec![target], 0);
        while let Some(&row) = queue.get(next) {
            next += 1;
            // A link that leads up from here leads down from its other end.
            for (_, above) in channels.out_of(row).filter(|(_, channel)| channel.up) {
                if hops[above.to * 2 + 1] == FAR {
                    hops[above.to * 2 + 1] = hops[row * 2 + 1] + 1;
                    queue.push(above.to);
                }
            }
        }
        for &row in channels.order() {
            let above = channels.out_of(row).filter(|(_, channel)| channel.up);
            let over = above.map(|(_, channel)| hops[channel.to * 2].saturating_add(1)).min().unwrap_or(FAR);
            hops[row * 2] = over.min(hops[row * 2 + 1]);
        }
    }

    /// Hops from `row` to `target` for a packet that came down to `row`, or did not; none if no legal path continues.
    pub fn hops(&self, target: usize, row: usize, came_down: bool) -> Option<u16> {
        let hops = self.towards(target).from(row, came_down);
        (hops != FAR).then_some(hops)
    }

    #[inline]
    fn towards(&self, target: usize) -> HopsTowards<'_> {
        let states = self.rows * 2;
        HopsTowards(self.rank(target).map_or(&[], |rank| &self.hops[rank * states..][..states]))
    }

    /// The channels by which the shortest legal paths to `target` leave `row`.
    #[inline]
    pub fn onward<'a>(
        &'a self,
        channels: &'a Channels,
        target: usize,
        row: usize,
        came_down: bool,
    ) -> impl Iterator<Item = (u32, OrientedChannel)> + 'a {
        let towards = self.towards(target);
        let here = towards.from(row, came_down);
        let nearer = move |channel: &OrientedChannel| {
            let there = towards.from(channel.to, !channel.up);
            there != FAR && there + 1 == here
        };
        channels.onward(row, came_down).filter(move |(_, channel)| nearer(channel))
    }
}

/// Hops to one target, by row and whether packets came down; empty if it is none.
#[derive(Clone, Copy)]
struct HopsTowards<'a>(&'a [u16]);

impl HopsTowards<'_> {
    #[inline]
    fn from(self, row: usize, came_down: bool) -> u16 {
        self.0.get(row * 2 + usize::from(came_down)).copied().unwrap_or(FAR)
    }
}
