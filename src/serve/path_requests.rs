//! End ports ask the subnet administration for their paths, as hosts do.
//!
//! A port that must register again (PortInfo:ClientReregister) asks for the path to every other end port that has a
//! LID, by `Get(PathRecord)` from its own port to the manager that PortInfo names. From then on it sends with the DLID
//! and SL of the answer. It asks once management has been quiet for a while: before that no SA would answer. What is
//! refused or not answered is asked again, a few times. Nothing here reads a clock or touches the subnet: requests out,
//! answers in.

use crate::fabric::PortId;
use crate::ids::{Lid, Sl};
use crate::wire::sa::{ComponentMask, PathRecord, Record, SaAttributeId, SaMad};
use crate::wire::{MAD_SIZE, Method, status};
use std::collections::{BTreeMap, VecDeque};

/// What stands in the highest 16 bits of these transactions, where others have a client's ID.
pub const OWN_ID: u64 = 0xFFFF;

/// Requests under way at a time.
const WINDOW: usize = 16;

/// How often a path is asked for.
const TRIES: u8 = 5;

/// Real time without any SMP after which management counts as quiet, in nanoseconds.
const QUIET_NS: u64 = 50_000_000;

/// A path that a port wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedPath {
    /// Who will send.
    pub source: PortId,
    /// To whom.
    pub destination: PortId,
    tries: u8,
}

/// Paths wanted and asked for.
#[derive(Default)]
pub struct PathRequests {
    wanted: VecDeque<WantedPath>,
    /// By transaction: what was asked, and until when, in real time, an answer is waited for.
    asked: BTreeMap<u64, (WantedPath, u64)>,
    next: u64,
    quiet_since_ns: u64,
    counts: PathCounts,
}

/// How many paths were asked for and with what success.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct PathCounts {
    /// Wanted or asked for, and not yet known.
    pub open: usize,
    /// Answered.
    pub known: u64,
    /// Given up: refused or not answered each time.
    pub given_up: u64,
}

impl PathRequests {
    /// A port wants a path to each of these, and no others any more.
    pub fn want(&mut self, source: PortId, destinations: impl Iterator<Item = PortId>) {
        self.wanted.retain(|wanted| wanted.source != source);
        self.asked.retain(|_, (wanted, _)| wanted.source != source);
        self.wanted.extend(destinations.map(|destination| WantedPath { source, destination, tries: 0 }));
    }

    /// The manager has sent an SMP.
    pub fn disturbed(&mut self, real_ns: u64) {
        self.quiet_since_ns = real_ns;
    }

    /// The next to ask for, if its turn has come.
    pub fn next(&mut self, real_ns: u64) -> Option<WantedPath> {
        let quiet = real_ns.saturating_sub(self.quiet_since_ns) >= QUIET_NS;
        if !quiet || self.asked.len() >= WINDOW { None } else { self.wanted.pop_front() }
    }

    /// Asks: the request from one LID to another, answered by `until_ns` of real time or asked again.
    pub fn ask(&mut self, wanted: WantedPath, slid: Lid, dlid: Lid, until_ns: u64) -> [u8; MAD_SIZE] {
        self.next += 1;
        let tid = OWN_ID << 48 | self.next;
        self.asked.insert(tid, (wanted, until_ns));
        // Not of a reversible one alone: data goes one way, and where an engine separates paths by service levels, many
        // answers would not come back on the same level.
        let record = PathRecord { slid, dlid, numb_path: 1, ..PathRecord::default() };
        let bits = [PathRecord::SLID, PathRecord::DLID, PathRecord::NUMB_PATH];
        SaMad::request(Method::Get, ComponentMask::of(&bits), &record).with_tid(tid).encode()
    }

    /// An answer has come; the path in it, if there is one.
    pub fn answered(&mut self, mad: &[u8; MAD_SIZE]) -> Option<(WantedPath, Lid, Sl)> {
        let answer = SaMad::decode(mad).ok()?;
        let (wanted, _) = self.asked.remove(&answer.tid)?;
        if answer.status != status::SUCCESS || answer.attribute != SaAttributeId::PathRecord {
            self.again(wanted);
            return None;
        }
        self.counts.known += 1;
        let record = PathRecord::from_data(&answer.data);
        Some((wanted, record.dlid, record.sl))
    }

    /// What was not answered in time is asked again.
    pub fn expire(&mut self, real_ns: u64) {
        let late: Vec<u64> =
            self.asked.iter().filter(|(_, (_, until))| *until <= real_ns).map(|(&tid, _)| tid).collect();
        for tid in late {
            if let Some((wanted, _)) = self.asked.remove(&tid) {
                self.again(wanted);
            }
        }
    }

    /// It could not be asked for, or not with success.
    pub fn again(&mut self, wanted: WantedPath) {
        let tries = wanted.tries + 1;
        if tries < TRIES { self.wanted.push_back(WantedPath { tries, ..wanted }) } else { self.counts.given_up += 1 }
    }

    /// The counts.
    pub fn counts(&self) -> PathCounts {
        PathCounts { open: self.wanted.len() + self.asked.len(), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: PortId = PortId(1);
    const THERE: PortId = PortId(2);

    #[test]
    fn a_path_is_asked_for_when_management_is_quiet_and_known_when_answered() {
        let mut paths = PathRequests::default();
        paths.want(HERE, [THERE].into_iter());
        paths.disturbed(1_000);
        assert_eq!(paths.next(QUIET_NS), None);
        let wanted = paths.next(QUIET_NS + 1_000).unwrap();
        let mad = paths.ask(wanted, Lid(5), Lid(9), u64::MAX);
        let request = SaMad::decode(&mad).unwrap();
        let record = PathRecord::from_data(&request.data);
        assert_eq!((record.slid, record.dlid, request.tid >> 48), (Lid(5), Lid(9), OWN_ID));
        let changed = PathRecord { sl: Sl::masked(3), ..record };
        let answer = request.response(changed.to_data()).encode();
        assert_eq!(paths.answered(&answer), Some((wanted, Lid(9), Sl::masked(3))));
        assert_eq!(paths.answered(&answer), None, "it was answered before");
        assert_eq!(paths.counts(), PathCounts { open: 0, known: 1, given_up: 0 });
    }

    #[test]
    fn what_is_refused_or_late_is_asked_again_and_given_up_in_the_end() {
        let mut paths = PathRequests::default();
        paths.want(HERE, [THERE].into_iter());
        for time in 1..=u64::from(TRIES) {
            let wanted = paths.next(QUIET_NS).unwrap();
            let mad = paths.ask(wanted, Lid(5), Lid(9), time);
            if time % 2 == 0 {
                let refusal = SaMad::decode(&mad).unwrap().refusal(0x0300).encode();
                assert_eq!(paths.answered(&refusal), None);
            }
            paths.expire(time);
        }
        assert_eq!(paths.next(QUIET_NS), None);
        assert_eq!(paths.counts(), PathCounts { open: 0, known: 0, given_up: 1 });
    }
}
