//! What is known of destinations, what is asked, and what makes it void.
//!
//! A destination is of one of three states: asked for, found, missing; what is not listed, or has expired, is none of
//! them. Paths count for as long as their time lasts and no event makes them void. An event gives up every query under way and puts
//! it anew under another number: an answer to the old one may have been given before the event, and is not learnt.

use super::{Address, Hosts};
use crate::ids::Half;
use crate::wire::sa::{ComponentMask, PathRecord, SaMad};
use crate::wire::{Gid, Method};
use std::collections::BTreeMap;

const MINUTE_NS: u64 = 60_000_000_000;

/// For how long things hold, and how long is waited. Names in parentheses are ibacm's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Nanoseconds that an address holds that was learnt (`addr_timeout`); none: for good. Those of a file always do.
    pub address_ns: Option<u64>,
    /// Nanoseconds that paths hold (`route_timeout`); none: until an event.
    pub route_ns: Option<u64>,
    /// Nanoseconds until it is asked again for what was missing.
    pub missing_ns: u64,
    /// Nanoseconds until a query is sent again (`timeout`).
    pub answer_ns: u64,
    /// How often it is sent in all, at least once (`retries`, and one).
    pub tries: u32,
    /// Destinations that are kept at most.
    pub destinations: usize,
}

impl Default for Timing {
    /// ibacm's, where it has them: addresses for a day, paths for good, two seconds and two repetitions.
    fn default() -> Timing {
        Timing {
            address_ns: Some(1440 * MINUTE_NS),
            route_ns: None,
            missing_ns: 1_000_000_000,
            answer_ns: 2_000_000_000,
            tries: 3,
            destinations: 65_536,
        }
    }
}

/// What is to be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// By an address.
    Address(Address),
    /// By its GID.
    Gid(Gid),
}

/// What is known of a destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer<'a> {
    /// These paths lead there, the best first; never none.
    Paths(&'a [PathRecord]),
    /// Send this, and hand in the answer ([`Resolver::learn`]).
    Ask(Query),
    /// It was asked for under this number.
    Wait(u64),
    /// There is none.
    Unknown(Unknown),
}

/// Why a destination is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unknown {
    /// Nobody knows the GID of the address.
    Address,
    /// Subnet administration refused with this status, or has no path (0).
    Refused(u16),
    /// Subnet administration did not answer.
    NoAnswer,
    /// What it answered is of the half that is not in use any more, or for others than who asked.
    Unusable,
    /// As many destinations are kept as may be.
    Full,
}

/// A question to subnet administration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Names it; no other query of this resolver ever has the same.
    pub number: u64,
    /// Who asks.
    pub sgid: Gid,
    /// Where to.
    pub dgid: Gid,
    /// Paths that are wanted at most.
    pub paths: u8,
}

impl Query {
    /// As it goes to subnet administration: a GetTable, with the number as its transaction.
    pub fn mad(&self) -> SaMad {
        let mask = ComponentMask::of(&[PathRecord::SGID, PathRecord::DGID, PathRecord::NUMB_PATH]);
        let record = PathRecord { sgid: self.sgid, dgid: self.dgid, numb_path: self.paths, ..PathRecord::default() };
        SaMad::request(Method::GetTable, mask, &record).with_tid(self.number)
    }
}

/// What happens to the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The subnet manager told it to ask anew for whatever it had (PortInfo:ClientReregister); where sources are fenced,
    /// that is how they hear of the swap.
    ClientReregister,
    /// Sources send on this half from now on (the vendor attribute ActiveHalf).
    PathsMoved(Half),
    /// Its LID changed.
    LidChanged,
    /// It has another subnet manager.
    SmChanged,
    /// Its partitions changed.
    PKeysChanged,
    /// Its GID is this one now.
    GidChanged(Gid),
    /// It has no link. Nothing is asked again by itself.
    PortDown,
}

/// What follows from an event, or from the time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    /// Queries to send, or to send again.
    pub ask: Vec<Query>,
    /// Numbers of queries whose answers are not waited for any more.
    pub given_up: Vec<u64>,
    /// Destinations whose paths were forgotten.
    pub flushed: usize,
}

/// What an answer was good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learnt {
    /// So many paths.
    Paths(usize),
    /// There is no way, or none that may be used.
    Missing(Unknown),
    /// It answers no query under way.
    NotAsked,
}

#[derive(Clone, Debug)]
enum Entry {
    Asked { query: Query, due_ns: u64, sent: u32 },
    Found { paths: Vec<PathRecord>, until_ns: u64 },
    Missing { why: Unknown, until_ns: u64 },
}

impl Entry {
    fn holds(&self, now_ns: u64) -> bool {
        match self {
            Entry::Asked { .. } => true,
            Entry::Found { until_ns, .. } | Entry::Missing { until_ns, .. } => now_ns < *until_ns,
        }
    }
}

/// The cache of one port. See the head of this file.
#[derive(Clone, Debug)]
pub struct Resolver {
    own: Gid,
    paths: u8,
    timing: Timing,
    /// With the time up to which each holds.
    addresses: BTreeMap<Address, (Gid, u64)>,
    entries: BTreeMap<Gid, Entry>,
    /// Where queries under way lead, by number.
    under_way: BTreeMap<u64, Gid>,
    /// Number of the last query.
    asked: u64,
    /// The half that sources send on, where someone said so.
    half: Option<Half>,
}

impl Resolver {
    /// A resolver for the port with this GID that wants up to so many paths of each destination, and knows nothing.
    pub fn new(own: Gid, paths: u8, timing: Timing) -> Resolver {
        Resolver {
            own,
            paths: paths.clamp(1, 127),
            timing,
            addresses: BTreeMap::new(),
            entries: BTreeMap::new(),
            under_way: BTreeMap::new(),
            asked: 0,
            half: None,
        }
    }

    /// Takes the addresses of a file; they hold for good (`addr_preload acm_hosts`).
    pub fn preload(&mut self, hosts: &Hosts) {
        self.addresses.extend(hosts.iter().map(|(address, gid)| (address.clone(), (gid, u64::MAX))));
    }

    /// Someone knows the GID of an address: from the hardware address of a neighbour, for instance.
    pub fn learn_address(&mut self, now_ns: u64, address: Address, gid: Gid) {
        self.addresses.insert(address, (gid, after(now_ns, self.timing.address_ns)));
    }

    /// What is known of a destination at this time.
    pub fn resolve(&mut self, now_ns: u64, destination: &Destination) -> Answer<'_> {
        let Some(gid) = self.gid(now_ns, destination) else { return Answer::Unknown(Unknown::Address) };
        if !self.entries.get(&gid).is_some_and(|entry| entry.holds(now_ns)) {
            return self.ask(now_ns, gid).map_or(Answer::Unknown(Unknown::Full), Answer::Ask);
        }
        match &self.entries[&gid] {
            Entry::Asked { query, .. } => Answer::Wait(query.number),
            Entry::Found { paths, .. } => Answer::Paths(paths),
            Entry::Missing { why, .. } => Answer::Unknown(*why),
        }
    }

    fn gid(&self, now_ns: u64, destination: &Destination) -> Option<Gid> {
        match destination {
            Destination::Gid(gid) => Some(*gid),
            Destination::Address(address) => {
                self.addresses.get(address).filter(|&&(_, until_ns)| now_ns < until_ns).map(|&(gid, _)| gid)
            }
        }
    }

    /// A new query for a destination that has none under way; none where no more may be kept.
    fn ask(&mut self, now_ns: u64, dgid: Gid) -> Option<Query> {
        if self.entries.len() >= self.timing.destinations {
            self.entries.retain(|_, entry| entry.holds(now_ns));
        }
        if self.entries.len() >= self.timing.destinations && !self.entries.contains_key(&dgid) {
            return None;
        }
        self.asked += 1;
        let query = Query { number: self.asked, sgid: self.own, dgid, paths: self.paths };
        let due_ns = now_ns.saturating_add(self.timing.answer_ns);
        self.entries.insert(dgid, Entry::Asked { query: query.clone(), due_ns, sent: 1 });
        self.under_way.insert(query.number, dgid);
        Some(query)
    }

    /// Takes the answer to the query of this number: its records, or the status that it was refused with.
    pub fn learn(&mut self, now_ns: u64, number: u64, answered: Result<Vec<PathRecord>, u16>) -> Learnt {
        let Some(dgid) = self.under_way.remove(&number) else { return Learnt::NotAsked };
        let found = answered.map_err(Unknown::Refused).and_then(|records| self.usable(dgid, records));
        let (entry, learnt) = match found {
            Ok(paths) => {
                let learnt = Learnt::Paths(paths.len());
                (Entry::Found { paths, until_ns: after(now_ns, self.timing.route_ns) }, learnt)
            }
            Err(why) => {
                (Entry::Missing { why, until_ns: now_ns.saturating_add(self.timing.missing_ns) }, Learnt::Missing(why))
            }
        };
        self.entries.insert(dgid, entry);
        learnt
    }

    /// Those records that lead from here to there on the half in use.
    fn usable(&self, dgid: Gid, mut records: Vec<PathRecord>) -> Result<Vec<PathRecord>, Unknown> {
        let any = !records.is_empty();
        // A GID of the own subnet comes back with another prefix where it was asked for by the link-local one.
        records.retain(|path| {
            let ends = path.sgid.guid == self.own.guid && path.dgid.guid == dgid.guid;
            ends && self.half.is_none_or(|half| Half::of_sl(path.sl) == half)
        });
        match (records.is_empty(), any) {
            (false, _) => Ok(records),
            (true, true) => Err(Unknown::Unusable),
            (true, false) => Err(Unknown::Refused(0)),
        }
    }

    /// Something happened to the port.
    pub fn event(&mut self, now_ns: u64, event: Event) -> Turn {
        match event {
            // Nobody says which half it is now.
            Event::ClientReregister | Event::SmChanged => self.half = None,
            Event::PathsMoved(half) => self.half = Some(half),
            Event::GidChanged(gid) => self.own = gid,
            Event::LidChanged | Event::PKeysChanged | Event::PortDown => {}
        }
        let flushed = self.flush();
        let given_up: Vec<(u64, Gid)> = std::mem::take(&mut self.under_way).into_iter().collect();
        given_up.iter().for_each(|(_, dgid)| drop(self.entries.remove(dgid)));
        let again = given_up.iter().filter(|_| event != Event::PortDown);
        let ask = again.filter_map(|&(_, dgid)| self.ask(now_ns, dgid)).collect();
        Turn { ask, given_up: given_up.into_iter().map(|(number, _)| number).collect(), flushed }
    }

    /// Forgets all paths, and what was missing. Returned is how many destinations lost their paths.
    fn flush(&mut self) -> usize {
        let found = self.entries.values().filter(|entry| matches!(entry, Entry::Found { .. })).count();
        self.entries.retain(|_, entry| matches!(entry, Entry::Asked { .. }));
        found
    }

    /// When [`Resolver::wake`] wants to be called next; `u64::MAX` where nothing is asked.
    pub fn due_ns(&self) -> u64 {
        let due = self.under_way.values().filter_map(|dgid| match self.entries.get(dgid) {
            Some(Entry::Asked { due_ns, .. }) => Some(*due_ns),
            _ => None,
        });
        due.min().unwrap_or(u64::MAX)
    }

    /// The time has come: sends again what has no answer, gives up what was sent often enough, forgets what has expired.
    pub fn wake(&mut self, now_ns: u64) -> Turn {
        self.entries.retain(|_, entry| entry.holds(now_ns));
        self.addresses.retain(|_, &mut (_, until_ns)| now_ns < until_ns);
        let (again_ns, missing_ns) = (now_ns.saturating_add(self.timing.answer_ns), self.timing.missing_ns);
        let mut turn = Turn::default();
        for entry in self.entries.values_mut() {
            let Entry::Asked { query, due_ns, sent } = entry else { continue };
            if *due_ns > now_ns {
                continue;
            }
            if *sent < self.timing.tries {
                (*due_ns, *sent) = (again_ns, *sent + 1);
                turn.ask.push(query.clone());
                continue;
            }
            turn.given_up.push(query.number);
            self.under_way.remove(&query.number);
            *entry = Entry::Missing { why: Unknown::NoAnswer, until_ns: now_ns.saturating_add(missing_ns) };
        }
        turn
    }
}

/// The end of a time that begins now.
fn after(now_ns: u64, lasts_ns: Option<u64>) -> u64 {
    lasts_ns.map_or(u64::MAX, |lasts_ns| now_ns.saturating_add(lasts_ns))
}
