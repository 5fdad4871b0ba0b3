//! What is repaired: the net, the classes, the LIDs; and the dependencies that tables cause by themselves.

use super::base::RepairBase;
use super::classes::{Classes, SourceClasses};
use super::columns::{LidColumns, WantedLid, Ways};
use super::net::{NONE, Net};
use super::occupancy::{Entries, Occupancy, Passage};
use super::order::{LaneBits, LaneOrder};
use super::{RepairInput, balance::PairLoad};
use crate::fabric::Fabric;
use crate::ids::PortNum;
use std::cell::{Cell, OnceCell};

/// Whose packets are under way when a wave begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// Those that the tables in force led before anything died.
    Loss,
    /// Those that the tables before the wave lead over what has survived: what was sent earlier has left.
    Aged,
}

/// The case in hand.
pub(super) struct RepairSubject<'a> {
    pub input: RepairInput<'a>,
    pub net: Net,
    pub classes: Classes<'a>,
    pub targets: Vec<WantedLid>,
    /// By channel: true. What existed before anything died.
    existed: Vec<bool>,
    /// Rows and lanes visited so far by trials: the measure of work done.
    pub work: Cell<u64>,
    /// Whether packets have turned back somewhere where entries that do not change were followed.
    turned_back: Cell<bool>,
}

impl<'a> RepairSubject<'a> {
    pub fn of(input: RepairInput<'a>) -> RepairSubject<'a> {
        let net = Net::of(&input);
        let classes = Classes::of(&input, &net);
        let targets = targets(&input, &net, &classes);
        let existed = vec![true; net.channels.len()];
        RepairSubject { input, net, classes, targets, existed, work: Cell::new(0), turned_back: Cell::new(false) }
    }

    /// Finds who sends to a target.
    pub fn feed(&self, target: usize, feed: &mut SourceClasses) {
        let WantedLid { owner, lid, .. } = self.targets[target];
        self.classes.feed(&self.net, self.input.before, owner, lid, feed);
    }

    /// What a walk reads.
    pub fn passage<'s>(&'s self, feed: &'s SourceClasses, moment: Moment, fair: &'s [bool]) -> Passage<'s> {
        let flags = match moment {
            Moment::Loss => &self.existed,
            Moment::Aged => &self.net.alive,
        };
        let discards_turned_back = self.input.discards_turned_back;
        Passage { net: &self.net, classes: &self.classes, feed, flags, discards_turned_back, fair }
    }

    /// Where packets of a target stand by entries that do not change; `emit` gets the dependencies between lanes that
    /// have survived.
    pub fn settle(
        &self,
        column: &[u32],
        feed: &SourceClasses,
        moment: Moment,
        occupancy: &mut Occupancy,
        emit: &mut impl FnMut(u32, u32),
    ) {
        occupancy.clear();
        let (way, entries) = (self.passage(feed, moment, &[]), Entries::steady(column));
        let sent = if moment == Moment::Loss { &feed.before } else { &feed.now };
        occupancy.inject(&way, entries, sent);
        let (alive, planes) = (&self.net.alive, self.classes.planes as u32);
        let survives = |lane: u32| alive[(lane / planes) as usize];
        occupancy.spread(&way, entries, &mut |before, after| {
            if self.net.channel(before / planes).back == after / planes {
                self.turned_back.set(true);
            }
            if survives(before) && survives(after) {
                emit(before, after);
            }
            true
        });
        if moment == Moment::Loss {
            occupancy.bury(alive);
        }
    }
}

/// The LIDs of the fabric before that somebody may send to, and those of switches, in rising order.
fn targets(input: &RepairInput<'_>, net: &Net, classes: &Classes<'_>) -> Vec<WantedLid> {
    let fabric = input.before;
    let mut targets = Vec::new();
    for owner in fabric.lid_ports() {
        let port = fabric.port(owner);
        let host = !fabric.node(port.node).is_switch();
        let Some(base) = port.lid else { continue };
        let Some((row, last)) = delivery(fabric, net, owner) else { continue };
        let reached = |fabric: &Fabric| match host {
            true => fabric.peer(owner).is_some(),
            false => fabric.node(port.node).present,
        };
        let wanted = reached(input.remaining);
        for lid in (base.0..base.0 + port.lmc.lids()).map(crate::ids::Lid) {
            if !host || classes.is_sent_to(fabric, owner, lid) {
                targets.push(WantedLid { lid, owner, row, last, host, wanted });
            }
        }
    }
    targets.sort_unstable_by_key(|target| target.lid);
    targets
}

/// The row that delivers to a port, and by which output.
fn delivery(fabric: &Fabric, net: &Net, owner: crate::fabric::PortId) -> Option<(u32, PortNum)> {
    let node = fabric.port(owner).node;
    if fabric.node(node).is_switch() {
        return Some((net.row_of(node), PortNum::ZERO)).filter(|&(row, _)| row != NONE);
    }
    let far = fabric.port(fabric.peer(owner)?);
    Some((net.row_of(far.node), far.num)).filter(|&(row, _)| row != NONE)
}

/// The dependencies of LIDs that no wave changes, so that each wave begins with them.
#[derive(Clone)]
pub(super) struct Ground {
    /// The tables in force.
    columns: LidColumns,
    /// What all of them cause, as far as it survives; none where that was not known before the loss.
    in_force: Option<Settled>,
    /// What is not loud causes. Found when it is asked for: the first wave begins with what is in force.
    quiet: OnceCell<Settled>,
    /// By target: whether a wave may change it, or the loss did.
    is_loud: Vec<bool>,
    /// What is loud, in rising order.
    pub loud: Vec<u32>,
}

/// What tables cause by themselves.
#[derive(Clone)]
pub(super) struct Settled {
    /// The dependencies.
    pub lanes: LaneBits,
    /// Whether some packets turn back.
    pub turns_back: bool,
}

impl Settled {
    /// At the moment of the loss, of some of the targets.
    pub fn of(subject: &RepairSubject<'_>, columns: &LidColumns, targets: impl Iterator<Item = usize>) -> Settled {
        let mut lanes = LaneBits::none(&subject.net, subject.classes.planes);
        subject.turned_back.set(false);
        add_settled(subject, columns, targets, Moment::Loss, &mut lanes);
        Settled { lanes, turns_back: subject.turned_back.get() }
    }
}

impl Ground {
    /// The ground of the tables in force, with the load on them; loud is what has rows that do not arrive. `load`
    /// begins empty.
    pub fn survey(subject: &RepairSubject<'_>, columns: &LidColumns, load: &mut PairLoad) -> Ground {
        let net = &subject.net;
        let (mut ways, mut is_loud) = (Ways::new(net), vec![false; subject.targets.len()]);
        for (at, target) in subject.targets.iter().enumerate() {
            let column = columns.column(at);
            ways.follow(net, column, &net.kept);
            is_loud[at] = is_broken(net, &ways);
            if target.host && target.wanted {
                load.add(net, column, &ways);
            }
        }
        Ground::with(columns.clone(), None, is_loud)
    }

    /// The same from what was known before the loss: only what that concerns is followed again.
    pub fn of_base(subject: &RepairSubject<'_>, base: &RepairBase, load: &mut PairLoad) -> Ground {
        let net = &subject.net;
        let (mut ways, mut is_loud) = (Ways::new(net), vec![false; subject.targets.len()]);
        let leaves = |channel: &u32| !net.kept[*channel as usize] && net.stays[net.channel(*channel).from as usize];
        let broken: Vec<(usize, u32)> = (0..net.channels.len() as u32)
            .filter(leaves)
            .map(|channel| (net.channel(channel).from as usize, channel))
            .collect();
        // As long as every end port sends that did, only ways that break carry other pairs than before.
        let sends_alike = base.ends == net.ends && (0..net.rows.len()).all(|row| net.stays[row] || net.ends[row] == 0);
        if sends_alike {
            load.clone_from(&base.load);
        }
        for (at, (target, was)) in subject.targets.iter().zip(&base.targets).enumerate() {
            let column = base.columns.column(at);
            let breaks = broken.iter().any(|&(row, channel)| column[row] == channel);
            if sends_alike && !breaks && !base.is_broken[at] && target.wanted == was.wanted {
                continue;
            }
            if sends_alike && was.host && was.wanted {
                ways.follow(net, column, &subject.existed);
                load.subtract(net, column, &ways);
            }
            ways.follow(net, column, &net.kept);
            is_loud[at] = is_broken(net, &ways);
            if target.host && target.wanted {
                load.add(net, column, &ways);
            }
        }
        let Settled { lanes, turns_back } = &base.settled;
        let in_force = Settled { lanes: lanes.surviving(net), turns_back: *turns_back };
        Ground::with(base.columns.clone(), Some(in_force), is_loud)
    }

    fn with(columns: LidColumns, in_force: Option<Settled>, is_loud: Vec<bool>) -> Ground {
        let loud = (0..is_loud.len() as u32).filter(|&at| is_loud[at as usize]).collect();
        Ground { columns, in_force, quiet: OnceCell::new(), is_loud, loud }
    }

    /// The same with more that is loud.
    pub fn louder(&self, more: impl Iterator<Item = usize>) -> Ground {
        let mut is_loud = self.is_loud.clone();
        more.for_each(|target| is_loud[target] = true);
        Ground::with(self.columns.clone(), self.in_force.clone(), is_loud)
    }

    /// The ground of the same tables for a subject that differs in what becomes of packets that turn back.
    pub fn anew(&self) -> Ground {
        // Where none does it makes no difference.
        let alike = |settled: &&Settled| !settled.turns_back;
        let in_force = self.in_force.as_ref().filter(alike).cloned();
        let quiet = self.quiet.get().filter(|quiet| in_force.is_some() || alike(quiet)).cloned();
        Ground {
            columns: self.columns.clone(),
            in_force,
            quiet: quiet.map(OnceCell::from).unwrap_or_default(),
            is_loud: self.is_loud.clone(),
            loud: self.loud.clone(),
        }
    }

    /// The dependencies of what is quiet.
    pub fn quiet(&self, subject: &RepairSubject<'_>) -> LaneBits {
        let quiet = || (0..self.is_loud.len()).filter(|&at| !self.is_loud[at]);
        self.quiet.get_or_init(|| Settled::of(subject, &self.columns, quiet())).lanes.clone()
    }

    /// The dependencies of tables; at the moment of the loss, of those in force.
    pub fn dependencies(&self, subject: &RepairSubject<'_>, columns: &LidColumns, moment: Moment) -> LaneBits {
        if let (Some(in_force), Moment::Loss) = (&self.in_force, moment) {
            return in_force.lanes.clone();
        }
        let mut all = self.quiet(subject);
        add_settled(subject, columns, self.loud.iter().map(|&at| at as usize), moment, &mut all);
        all
    }

    /// The same in an order; none where they have a cycle.
    pub fn order(&self, subject: &RepairSubject<'_>, columns: &LidColumns, moment: Moment) -> Option<LaneOrder> {
        LaneOrder::of(&subject.net, self.dependencies(subject, columns, moment))
    }
}

/// Whether some row that stays does not arrive.
pub(super) fn is_broken(net: &Net, ways: &Ways) -> bool {
    (0..net.rows.len()).any(|row| net.stays[row] && !ways.arrives(row))
}

fn add_settled(
    subject: &RepairSubject<'_>,
    columns: &LidColumns,
    targets: impl Iterator<Item = usize>,
    moment: Moment,
    all: &mut LaneBits,
) {
    let mut feed = SourceClasses::of(&subject.net, &subject.classes);
    let mut occupancy = Occupancy::new(&subject.net, &subject.classes);
    for target in targets {
        subject.feed(target, &mut feed);
        let mut add = |before, after| all.add(&subject.net, before, after);
        subject.settle(columns.column(target), &feed, moment, &mut occupancy, &mut add);
    }
}
