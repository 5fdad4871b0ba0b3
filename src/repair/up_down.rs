//! Restricted up*/down* on a given order of switches, as columns: guides for waves, not an engine.

use super::balance::PairLoad;
use super::columns::{LidColumns, Ways};
use super::net::{HERE, NONE, Net};
use super::subject::RepairSubject;
use crate::fabric::NodeId;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Switches in an order; up leads to its front.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SwitchOrder {
    /// By row, [`NONE`] for those that do not take part.
    rank: Vec<u32>,
    rows: Vec<u32>,
}

impl SwitchOrder {
    /// An order of rows.
    pub fn new(net: &Net, rows: Vec<u32>) -> SwitchOrder {
        let mut rank = vec![NONE; net.rows.len()];
        rows.iter().zip(0..).for_each(|(&row, at)| rank[row as usize] = at);
        SwitchOrder { rank, rows }
    }

    /// Breadth first from a row.
    pub fn from(net: &Net, row: u32) -> SwitchOrder {
        let (mut rows, mut placed, mut next) = (vec![row], vec![false; net.rows.len()], 0);
        placed[row as usize] = true;
        while let Some(&row) = rows.get(next) {
            next += 1;
            for channel in net.out(row as usize).filter(|&channel| net.kept[channel as usize]) {
                let to = net.channel(channel).to;
                if !std::mem::replace(&mut placed[to as usize], true) {
                    rows.push(to);
                }
            }
        }
        SwitchOrder::new(net, rows)
    }

    /// The old order as far as it serves: one sink (a switch without a neighbour further up) and all that has a
    /// way up to it keep their order; the rest follows, each next to something placed. Variants differ in the sink, and
    /// in whether two placed neighbours count before rank.
    pub fn repaired(net: &Net, order: &[NodeId], variant: usize) -> SwitchOrder {
        let known = order.iter().map(|&node| net.row_of(node)).filter(|&row| row != NONE && net.stays[row as usize]);
        let whole = SwitchOrder::new(net, known.collect());
        let sinks = whole.sinks(net);
        let Some(&main) = sinks.get(variant / 2 % sinks.len().max(1)) else { return whole };
        let mut placed = vec![false; net.rows.len()];
        let mut rows = Vec::new();
        for &row in &whole.rows {
            if row == main || whole.above(net, row).any(|next| placed[next as usize]) {
                placed[row as usize] = true;
                rows.push(row);
            }
        }
        let beside =
            |row: u32, placed: &[bool]| whole.neighbours(net, row).filter(|&next| placed[next as usize]).count();
        loop {
            let open = whole.rows.iter().copied().filter(|&row| !placed[row as usize]);
            let next = open.map(|row| (beside(row, &placed), row)).filter(|&(beside, _)| beside > 0);
            let count = |beside: usize| if variant.is_multiple_of(2) { 0 } else { beside.min(2) };
            let best = next.max_by_key(|&(beside, row)| (count(beside), Reverse(whole.rank[row as usize])));
            let Some((_, next)) = best else { break };
            placed[next as usize] = true;
            rows.push(next);
        }
        SwitchOrder::new(net, rows)
    }

    /// The old order with its extra sinks led into one. From each a chain leads down to a row from which another
    /// way leads up to the main sink, over rows that have no other neighbour further up than the last one; the chain is
    /// turned upside down. Its rows have one neighbour further up then too, so no turn that the old order allows
    /// becomes one from down to up: tables by either may be in force together. Variants differ in the main sink. None
    /// where some sink has no such chain.
    pub fn grafted(net: &Net, order: &[NodeId], variant: usize) -> Option<SwitchOrder> {
        let known = order.iter().map(|&node| net.row_of(node)).filter(|&row| row != NONE && net.stays[row as usize]);
        let mut whole = SwitchOrder::new(net, known.collect());
        let main = *whole.sinks(net).get(variant)?;
        loop {
            let led = whole.led_to(net, main);
            let rest: Vec<u32> = whole.sinks(net).into_iter().filter(|&row| row != main).collect();
            let next = rest.iter().find_map(|&sink| whole.turned_over(net, &whole.chain(net, sink, &led)?));
            match next {
                Some(next) => whole = next,
                None => return rest.is_empty().then_some(whole),
            }
        }
    }

    /// Rows without a neighbour further up.
    fn sinks(&self, net: &Net) -> Vec<u32> {
        self.rows.iter().copied().filter(|&row| self.above(net, row).next().is_none()).collect()
    }

    /// The shortest chain from a sink down to a row that is led elsewhere, see [`SwitchOrder::grafted`]; of equals the
    /// one that ends highest up.
    fn chain(&self, net: &Net, sink: u32, led: &[bool]) -> Option<Vec<u32>> {
        let (mut chains, mut seen) = (vec![vec![sink]], BTreeSet::new());
        while !chains.is_empty() {
            let mut longer: Vec<Vec<u32>> = Vec::new();
            for chain in &chains {
                let last = chain[chain.len() - 1];
                let fits = |next: u32| led[next as usize] || self.above(net, next).all(|above| above == last);
                for next in self.neighbours(net, last) {
                    // Several cables to one neighbour are one step.
                    if self.is_known(next) && self.before(last, next) && fits(next) && seen.insert(next) {
                        longer.push([&chain[..], &[next]].concat());
                    }
                }
            }
            let ends = longer.iter().filter(|chain| led[chain[chain.len() - 1] as usize]);
            if let Some(found) = ends.min_by_key(|chain| self.rank[chain[chain.len() - 1] as usize]) {
                return Some(found.clone());
            }
            chains = longer;
        }
        None
    }

    /// By row: whether a way up leads to a row.
    fn led_to(&self, net: &Net, main: u32) -> Vec<bool> {
        let mut led = vec![false; net.rows.len()];
        for &row in &self.rows {
            led[row as usize] = row == main || self.above(net, row).any(|next| led[next as usize]);
        }
        led
    }

    /// The order with a chain upside down, and all other cables as they are; none if that is no order.
    fn turned_over(&self, net: &Net, chain: &[u32]) -> Option<SwitchOrder> {
        let turned: BTreeSet<(u32, u32)> = chain.windows(2).map(|pair| (pair[1], pair[0])).collect();
        let above = |a: u32, b: u32| turned.contains(&(a, b)) || !turned.contains(&(b, a)) && self.before(a, b);
        // Kahn's algorithm over the cables, each from its upper end. Among rows that are ready the old rank decides, so
        // that only the chain moves. Rows that never become ready are on a ring of cables: no order has all of these.
        let mut missing: Vec<usize> = vec![0; net.rows.len()];
        for &row in &self.rows {
            missing[row as usize] = self.neighbours(net, row).filter(|&next| above(next, row)).count();
        }
        let ready = self.rows.iter().copied().filter(|&row| missing[row as usize] == 0);
        let mut ready: BTreeSet<(u32, u32)> = ready.map(|row| (self.rank[row as usize], row)).collect();
        let mut rows = Vec::with_capacity(self.rows.len());
        while let Some((_, row)) = ready.pop_first() {
            rows.push(row);
            for next in self.neighbours(net, row).filter(|&next| self.is_known(next) && above(row, next)) {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    ready.insert((self.rank[next as usize], next));
                }
            }
        }
        (rows.len() == self.rows.len()).then(|| SwitchOrder::new(net, rows))
    }

    /// Whether a row takes part.
    fn is_known(&self, row: u32) -> bool {
        self.rank[row as usize] != NONE
    }

    /// The neighbours of a row further up.
    fn above<'a>(&'a self, net: &'a Net, row: u32) -> impl Iterator<Item = u32> + use<'a> {
        self.neighbours(net, row).filter(move |&next| self.before(next, row))
    }

    fn before(&self, a: u32, b: u32) -> bool {
        self.rank[a as usize] < self.rank[b as usize]
    }

    fn neighbours<'a>(&self, net: &'a Net, row: u32) -> impl Iterator<Item = u32> + use<'a> {
        net.out(row as usize).filter(|&channel| net.kept[channel as usize]).map(|channel| net.channel(channel).to)
    }

    /// The tables of restricted up*/down* for some targets: a way down wherever there is one. Loads, on top of those
    /// given, decide between equals.
    pub fn route(
        &self,
        subject: &RepairSubject<'_>,
        columns: &LidColumns,
        targets: Vec<u32>,
        load: &PairLoad,
    ) -> LidColumns {
        let net = &subject.net;
        let (mut load, mut ways, mut routed) = (load.clone(), Ways::new(net), columns.clone());
        let mut towards = Towards { down: Vec::new(), total: Vec::new() };
        let mut targets: Vec<usize> = targets.into_iter().map(|at| at as usize).collect();
        targets.retain(|&at| subject.targets[at].wanted);
        targets.sort_by_key(|&at| subject.targets[at].row);
        let mut last = NONE;
        for at in targets {
            let target = subject.targets[at];
            // LIDs at one row share their distances; their ways differ by load.
            if self.rank[target.row as usize] == NONE {
                continue;
            }
            if last != target.row {
                towards = self.towards(net, target.row);
                last = target.row;
            }
            let mut column = vec![NONE; net.rows.len()];
            column[target.row as usize] = HERE;
            for &row in self.rows.iter().filter(|&&row| row != target.row) {
                let choices = net.out(row as usize).filter(|&channel| self.serves(net, &towards, channel));
                column[row as usize] = choices.min_by_key(|&at| (load.pairs[at as usize], at)).unwrap_or(NONE);
            }
            if target.host {
                ways.follow(net, &column, &net.kept);
                load.add(net, &column, &ways);
            }
            routed.set(at, &column);
        }
        routed
    }

    /// Whether a channel is on a shortest way that restricted up*/down* takes. An entry does not know where a packet
    /// came from, and a packet that came down must not go up again. So a row that has a way down takes it, even if one
    /// over a row further up were shorter.
    fn serves(&self, net: &Net, towards: &Towards, channel: u32) -> bool {
        let (from, to) = (net.channel(channel).from as usize, net.to(channel));
        let down = towards.down[from] != NONE;
        let hops = if down { &towards.down } else { &towards.total };
        net.kept[channel as usize]
            && self.rank[to] != NONE
            && (self.rank[to] > self.rank[from]) == down
            && hops[to] != NONE
            && hops[from] == hops[to] + 1
    }

    fn towards(&self, net: &Net, target: u32) -> Towards {
        let rows = net.rows.len();
        let (mut down, mut total) = (vec![NONE; rows], vec![NONE; rows]);
        down[target as usize] = 0;
        let (mut queue, mut next) = (vec![target], 0);
        while let Some(&row) = queue.get(next) {
            next += 1;
            for above in self.above(net, row) {
                if down[above as usize] == NONE {
                    down[above as usize] = down[row as usize] + 1;
                    queue.push(above);
                }
            }
        }
        // In the order, so that every row further up is done.
        for &row in &self.rows {
            let over = self.above(net, row).map(|next| total[next as usize]).filter(|&hops| hops != NONE).min();
            let own = down[row as usize];
            total[row as usize] = if own != NONE { own } else { over.map_or(NONE, |hops| hops + 1) };
        }
        Towards { down, total }
    }
}

/// Hops towards one row.
struct Towards {
    down: Vec<u32>,
    total: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::super::tests::quiet_input;
    use super::*;
    use crate::fabric::Fabric;
    use crate::fabric::generate::{Options, generate};
    use crate::repair::RepairInput;
    use crate::routing::switch_order;

    /// Whether an order allows a turn: not one that goes down and then up.
    fn allows(order: &SwitchOrder, [from, over, to]: [u32; 3]) -> bool {
        order.before(over, from) || order.before(over, to)
    }

    #[test]
    fn a_grafted_order_has_one_sink_and_allows_every_turn_that_the_old_one_did() {
        for topology in ["torus:4x4,1", "mesh:4x4,1", "ring:8,1", "hypercube:4,1", "dragonfly:2,4,2"] {
            let fabric: Fabric = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
            let root = fabric.switches().next().unwrap();
            let order = switch_order("up-down", &fabric, root).unwrap();
            let rest = fabric.without_nodes(&[root]);
            let owned = quiet_input(&fabric);
            let net = Net::of(&RepairInput { surviving: &rest, remaining: &rest, ..owned.input() });
            let known = order.iter().map(|&node| net.row_of(node)).filter(|&row| net.stays[row as usize]);
            let old = SwitchOrder::new(&net, known.collect());
            assert!(old.sinks(&net).len() > 1, "{topology}: the root was the only one");
            let grafted = (0..8).filter_map(|variant| SwitchOrder::grafted(&net, &order, variant));
            let mut found = 0;
            for new in grafted {
                found += 1;
                assert_eq!((new.sinks(&net).len(), new.rows.len()), (1, old.rows.len()), "{topology}");
                let turns = old.rows.iter().flat_map(|&over| {
                    let ends: Vec<u32> = old.neighbours(&net, over).collect();
                    let others = ends.clone();
                    ends.into_iter().flat_map(move |from| others.clone().into_iter().map(move |to| [from, over, to]))
                });
                // A turn back takes no lane that another waits for.
                let mut turns = turns.filter(|[from, _, to]| from != to);
                assert_eq!(turns.find(|&turn| allows(&old, turn) && !allows(&new, turn)), None, "{topology}");
            }
            assert!(found > 0, "{topology}");
        }
    }
}
