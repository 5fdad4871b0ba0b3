//! The entries of all rows for one LID after the other, as channels; and what becomes of packets that follow them.

use super::RepairInput;
use super::net::{HERE, NONE, Net};
use crate::fabric::PortId;
use crate::ids::{Lid, PortNum};
use crate::tables::Lft;
use std::sync::Arc;

/// A LID that is to be reached, and who delivers to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedLid {
    pub lid: Lid,
    pub owner: PortId,
    /// The row that delivers.
    pub row: u32,
    /// The output of that row; 0 for the switch itself.
    pub last: PortNum,
    /// Whether an end port owns it.
    pub host: bool,
    /// Whether it is to be reached: its owner has survived with its cable, and does not leave.
    pub wanted: bool,
}

/// Rows at which columns are read together: as many tables as a core's nearest cache holds the current lines of.
const TOGETHER: usize = 16;

/// The entries of every LID. Columns that are as in the tables in force are shared.
#[derive(Clone)]
pub(super) struct LidColumns {
    rows: usize,
    base: Arc<Vec<u32>>,
    /// By LID: the column where it differs.
    changed: Vec<Option<Arc<[u32]>>>,
}

impl LidColumns {
    /// Reads tables, by node.
    pub fn read(input: &RepairInput<'_>, net: &Net, targets: &[WantedLid], lfts: &[Arc<Lft>]) -> LidColumns {
        let rows = net.rows.len();
        let mut base = vec![NONE; rows * targets.len()];
        for start in (0..rows).step_by(TOGETHER) {
            let some = start..(start + TOGETHER).min(rows);
            for (at, target) in targets.iter().enumerate() {
                for row in some.clone() {
                    base[at * rows + row] = entry(input, net, target, row, &lfts[net.rows[row].index()]);
                }
            }
        }
        LidColumns { rows, base: Arc::new(base), changed: vec![None; targets.len()] }
    }

    /// Reads other tables: where they do not differ from those that these columns were read from, the columns are
    /// shared. `lfts` are the tables of these columns, and the others.
    pub fn reread(
        &self,
        input: &RepairInput<'_>,
        net: &Net,
        targets: &[WantedLid],
        lfts: [&[Arc<Lft>]; 2],
    ) -> LidColumns {
        let mut place = vec![None; targets.last().map_or(0, |last| last.lid.index() + 1)];
        targets.iter().enumerate().for_each(|(at, target)| place[target.lid.index()] = Some(at));
        let mut changed: Vec<Option<Vec<u32>>> = vec![None; targets.len()];
        for (row, node) in net.rows.iter().enumerate() {
            let [held, other] = lfts.map(|lfts| &lfts[node.index()]);
            if Arc::ptr_eq(held, other) {
                continue;
            }
            for lid in held.differing(other) {
                let Some(&Some(at)) = place.get(lid.index()) else { continue };
                let column = changed[at].get_or_insert_with(|| self.column(at).to_vec());
                column[row] = entry(input, net, &targets[at], row, other);
            }
        }
        LidColumns { changed: changed.into_iter().map(|column| column.map(Arc::from)).collect(), ..self.clone() }
    }

    #[inline]
    pub fn column(&self, target: usize) -> &[u32] {
        match &self.changed[target] {
            Some(column) => column,
            None => &self.base[target * self.rows..(target + 1) * self.rows],
        }
    }

    pub fn set(&mut self, target: usize, column: &[u32]) {
        if self.column(target) != column {
            self.changed[target] = Some(column.into());
        }
    }

    /// Whether two tables differ in a column.
    pub fn differs(&self, other: &LidColumns, target: usize) -> bool {
        match (&self.changed[target], &other.changed[target]) {
            (None, None) if Arc::ptr_eq(&self.base, &other.base) => false,
            (Some(own), Some(others)) if Arc::ptr_eq(own, others) => false,
            _ => self.column(target) != other.column(target),
        }
    }
}

/// What a table has for a LID: a channel, [`HERE`] or [`NONE`].
#[inline]
fn entry(input: &RepairInput<'_>, net: &Net, target: &WantedLid, row: usize, lft: &Lft) -> u32 {
    lft.get(target.lid).map_or(NONE, |port| {
        if row as u32 == target.row && port == target.last {
            return HERE;
        }
        input.before.port_at(net.rows[row], port).map_or(NONE, |port| net.channel_of(port))
    })
}

/// Hops from every row to a target by the entries given; [`NONE`] for rows whose way breaks off, or goes round.
pub(super) struct Ways {
    pub hops: Vec<u32>,
    path: Vec<u32>,
    /// By row: the walk that came by last.
    seen: Vec<u32>,
    walk: u32,
    far: usize,
}

impl Ways {
    pub fn new(net: &Net) -> Ways {
        let rows = net.rows.len();
        Ways { hops: vec![NONE; rows], path: Vec::new(), seen: vec![0; rows], walk: 0, far: 0 }
    }

    /// Follows a column over the channels that exist by `flags`.
    pub fn follow(&mut self, net: &Net, column: &[u32], flags: &[bool]) {
        // What has no hops yet and was seen by this walk breaks off.
        let Ways { hops, path, seen, walk, far } = self;
        hops.fill(NONE);
        *far = 0;
        *walk += 1;
        for start in 0..column.len() {
            let mut row = start;
            path.clear();
            while seen[row] != *walk {
                seen[row] = *walk;
                path.push(row as u32);
                match column[row] {
                    HERE => {
                        hops[row] = 0;
                        path.pop();
                        break;
                    }
                    entry if Net::leads(flags, entry) => row = net.to(entry),
                    _ => break,
                }
            }
            let mut count = hops[row];
            if count != NONE {
                for &row in path.iter().rev() {
                    count += 1;
                    hops[row as usize] = count;
                }
                *far = (*far).max(count as usize);
            }
        }
    }

    #[inline]
    pub fn arrives(&self, row: usize) -> bool {
        self.hops[row] != NONE
    }

    /// The rows that arrive, the farthest first.
    pub fn farthest_first(&self, order: &mut Vec<u32>) {
        let mut start = vec![0u32; self.far + 2];
        let counted = |hops: &&u32| **hops != NONE;
        self.hops.iter().filter(counted).for_each(|&hops| start[self.far - hops as usize + 1] += 1);
        (1..start.len()).for_each(|at| start[at] += start[at - 1]);
        order.clear();
        order.resize(start[self.far + 1] as usize, 0);
        for (row, &hops) in self.hops.iter().enumerate().filter(|(_, hops)| counted(hops)) {
            let slot = &mut start[self.far - hops as usize];
            order[*slot as usize] = row as u32;
            *slot += 1;
        }
    }
}
