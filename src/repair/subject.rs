//! What is repaired: the net, the classes, the LIDs; and the dependencies that tables cause by themselves.

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
    pub existed: Vec<bool>,
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

    /// Finds where packets of a target stand by entries that do not change; `emit` gets the dependencies between
    /// lanes that have survived.
    pub fn find_standing(
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

/// The dependencies of LIDs that no wave changes, so that each wave begins with them. *Changing*: LIDs that a wave
/// may change, or that the loss broke; *fixed*: all others.
#[derive(Clone)]
pub(super) struct Ground {
    /// The tables in force.
    columns: LidColumns,
    /// What all of them cause, as far as it survives; none where that was not known before the loss.
    in_force: Option<Caused>,
    /// What fixed LIDs cause. Found when it is asked for: the first wave begins with what is in force.
    fixed: OnceCell<Caused>,
    /// By target: whether it is changing.
    is_changing: Vec<bool>,
    /// The changing targets, in rising order.
    pub changing: Vec<u32>,
}

/// What tables cause by themselves.
#[derive(Clone)]
pub(super) struct Caused {
    /// The dependencies.
    pub lanes: LaneBits,
    /// Whether some packets turn back.
    pub turns_back: bool,
}

impl Caused {
    /// At the moment of the loss, of some of the targets.
    pub fn of(subject: &RepairSubject<'_>, columns: &LidColumns, targets: impl Iterator<Item = usize>) -> Caused {
        let mut lanes = LaneBits::none(&subject.net, subject.classes.planes);
        subject.turned_back.set(false);
        add_caused(subject, columns, targets, Moment::Loss, &mut lanes);
        Caused { lanes, turns_back: subject.turned_back.get() }
    }
}

impl Ground {
    /// The ground of the tables in force, with the load on them; what has rows that do not arrive is changing. `load`
    /// begins empty.
    pub fn survey(subject: &RepairSubject<'_>, columns: &LidColumns, load: &mut PairLoad) -> Ground {
        let net = &subject.net;
        let (mut ways, mut is_changing) = (Ways::new(net), vec![false; subject.targets.len()]);
        for (at, target) in subject.targets.iter().enumerate() {
            let column = columns.column(at);
            ways.follow(net, column, &net.kept);
            is_changing[at] = is_broken(net, &ways);
            if target.host && target.wanted {
                load.add(net, column, &ways);
            }
        }
        Ground::with(columns.clone(), None, is_changing)
    }

    /// The ground of the tables in force, with what is known of them.
    pub fn with(columns: LidColumns, in_force: Option<Caused>, is_changing: Vec<bool>) -> Ground {
        let changing = (0..is_changing.len() as u32).filter(|&at| is_changing[at as usize]).collect();
        Ground { columns, in_force, fixed: OnceCell::new(), is_changing, changing }
    }

    /// The same with more changing targets.
    pub fn with_changing(&self, more: impl Iterator<Item = usize>) -> Ground {
        let mut is_changing = self.is_changing.clone();
        more.for_each(|target| is_changing[target] = true);
        Ground::with(self.columns.clone(), self.in_force.clone(), is_changing)
    }

    /// The ground of the same tables for a subject that differs in what becomes of packets that turn back.
    pub fn anew(&self) -> Ground {
        // Where none does it makes no difference.
        let alike = |caused: &&Caused| !caused.turns_back;
        let in_force = self.in_force.as_ref().filter(alike).cloned();
        let fixed = self.fixed.get().filter(|fixed| in_force.is_some() || alike(fixed)).cloned();
        Ground {
            columns: self.columns.clone(),
            in_force,
            fixed: fixed.map(OnceCell::from).unwrap_or_default(),
            is_changing: self.is_changing.clone(),
            changing: self.changing.clone(),
        }
    }

    /// The dependencies of fixed LIDs.
    pub fn fixed(&self, subject: &RepairSubject<'_>) -> LaneBits {
        let fixed = || (0..self.is_changing.len()).filter(|&at| !self.is_changing[at]);
        self.fixed.get_or_init(|| Caused::of(subject, &self.columns, fixed())).lanes.clone()
    }

    /// The dependencies of tables; at the moment of the loss, of those in force.
    pub fn dependencies(&self, subject: &RepairSubject<'_>, columns: &LidColumns, moment: Moment) -> LaneBits {
        if let (Some(in_force), Moment::Loss) = (&self.in_force, moment) {
            return in_force.lanes.clone();
        }
        let mut all = self.fixed(subject);
        add_caused(subject, columns, self.changing.iter().map(|&at| at as usize), moment, &mut all);
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

fn add_caused(
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
        subject.find_standing(columns.column(target), &feed, moment, &mut occupancy, &mut add);
    }
}
