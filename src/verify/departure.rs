//! Verifies that elements which leave as planned leave empty: when the plan has ended, no packet between end ports that
//! stay is in them, or latched for them (Theorem 5 of docs/PROOF.md).
//!
//! Two kinds of plan show that. Either the last barrier that found a half gone comes after the last wave in which its
//! packets could be led there; or the plan ends by having the leaving elements vacated, and its final tables lead
//! nothing there.

use super::Remainder;
use super::lanes::LaneMask;
use super::proof_walk::{ProofSink, ProofWalk};
use super::refusal::{NamedDevice, Refusal, precondition};
use super::walk::{Class, ClassHop, Columns, Entrance, Now, Sink};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum};

/// The number of rounds after the last write in which every device must send off its packets until the leaving elements
/// are empty; none if nothing leaves.
///
/// A packet passes at most n + 1 channels of n joined switches that leave, or one channel of a cable by itself. One
/// round is for packets latched before the last write, and one for each of these channels.
pub fn rounds_to_vacate(during: &Fabric, after: &Fabric) -> Option<usize> {
    let leaves = |port: PortId| during.peer(port).is_some() && after.peer(port).is_none();
    if !during.ports().any(|(port, _)| leaves(port)) {
        return None;
    }
    let goes = |node: NodeId| during.node(node).is_switch() && during.node(node).present && !after.node(node).present;
    let mut seen = vec![false; during.node_count()];
    let mut largest = 0;
    for start in during.switches().filter(|&node| goes(node)) {
        let mut size = 0;
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node.index()], true) {
                size += 1;
                let next = during.ports_of(node).filter_map(|port| during.neighbour(port));
                open.extend(next.filter(|&next| goes(next)));
            }
        }
        largest = largest.max(size);
    }
    Some(largest + 2)
}

/// A way into a leaving element.
#[derive(Clone, Copy)]
struct WayIn {
    lid: Lid,
    row: usize,
    output: PortNum,
}

/// Watches for classes that are led from remaining elements into leaving ones.
pub(super) struct DepartureWatch<'a> {
    proof_walk: &'a ProofWalk<'a>,
    during: &'a Fabric,
    remainder: Remainder<'a>,
    /// By channel.
    leaves: Vec<bool>,
    /// By row.
    stays: Vec<bool>,
    /// By port: whether packets to it are exempt, because it leaves too or the new routing omits it.
    exempt: Vec<bool>,
    /// The ways of the class in hand, by old and new entries, at the stage in hand.
    found: Vec<WayIn>,
    /// The ways of that class at the stage walked last.
    last: Vec<WayIn>,
    /// Whether the current stage repeats that one.
    repeated: bool,
    /// Of the class in hand: a way in that its packets may have taken since its half was last found gone.
    taken: Option<WayIn>,
    /// The first class that may have packets in a leaving element.
    lingering: Option<WayIn>,
    /// The first class that the final tables lead there.
    led_on: Option<WayIn>,
}

impl<'a> DepartureWatch<'a> {
    /// None if nothing leaves.
    pub fn new(
        proof_walk: &'a ProofWalk<'a>,
        during: &'a Fabric,
        remainder: Remainder<'a>,
    ) -> Option<DepartureWatch<'a>> {
        let after = remainder.fabric;
        rounds_to_vacate(during, after)?;
        let gone = |port: PortId| during.peer(port).is_some() && after.peer(port).is_none();
        let owners = during.ports().map(|(port, _)| proof_walk.case.stranded[port.index()] || gone(port));
        Some(DepartureWatch {
            proof_walk,
            during,
            remainder,
            leaves: during.ports().map(|(port, _)| gone(port)).collect(),
            stays: proof_walk.net.rows.iter().map(|&node| after.node(node).present).collect(),
            exempt: owners.collect(),
            found: Vec::new(),
            last: Vec::new(),
            repeated: false,
            taken: None,
            lingering: None,
            led_on: None,
        })
    }

    #[inline]
    fn pass(&mut self, class: &Class, row: usize, output: PortNum) {
        let leads_in = self.leaves[self.proof_walk.net.channel(row, output)] && self.stays[row];
        // Answers may be lost, since the client asks again.
        let leads_in = leads_in && !self.proof_walk.case.is_answer(class.lid, self.proof_walk.half(class));
        if leads_in && !self.exempt[class.owner.index()] {
            self.found.push(WayIn { lid: class.lid, row, output });
        }
    }

    /// The fault at the end of the plan, if there is one.
    pub fn verdict(&self) -> Option<Refusal> {
        let ProofWalk { case, net, .. } = self.proof_walk;
        let wave = &case.stages.last()?.name;
        let place = |way: WayIn| {
            let switch = NamedDevice::of(case.fabric, net.rows[way.row]);
            format!("LID {} at switch {:?}, by port {}", way.lid, switch.name, way.output)
        };
        let lingering = self.lingering?;
        let needed = rounds_to_vacate(self.during, self.remainder.fabric)?;
        let what = match (self.led_on, self.remainder.rounds) {
            (Some(way), _) => format!("the final tables still lead packets into what leaves: {}", place(way)),
            (None, None) => {
                format!(
                    "packets may stand in what leaves, and no barrier shows that they have gone: {}",
                    place(lingering)
                )
            }
            (None, Some(rounds)) if rounds < needed => {
                format!(
                    "what leaves is said to be vacated in {rounds} rounds, and takes {needed}: {}",
                    place(lingering)
                )
            }
            (None, Some(_)) => return None,
        };
        Some(precondition(wave, what))
    }
}

impl Sink for DepartureWatch<'_> {
    fn hears_repeats(&self) -> bool {
        false
    }

    #[inline]
    fn hop(&mut self, class: &Class, _columns: &Columns, hop: &ClassHop) {
        self.pass(class, hop.row, hop.output);
    }

    #[inline]
    fn enter(&mut self, class: &Class, Entrance { row, channel, .. }: Entrance) {
        self.pass(class, row, self.proof_walk.net.output(row, channel));
    }

    fn occupied(&mut self, now: Now<'_>, _channels: &[u32], _lanes: &[LaneMask]) {
        if !std::mem::take(&mut self.repeated) {
            self.last = std::mem::take(&mut self.found);
        }
        // Packets that the barrier before this stage found gone are no longer on the ways that they took.
        if self.proof_walk.case.stages[now.stage].gone[self.proof_walk.half(now.class).index()] {
            self.taken = None;
        }
        // Stage 0 is over before the first write; the packets that it leaves are followed again at stage 1.
        if now.stage > 0 {
            self.taken = self.taken.or(self.last.first().copied());
        }
    }

    fn repeat(&mut self, _stage: usize) {
        self.repeated = true;
    }
}

impl ProofSink for DepartureWatch<'_> {
    fn walked(&mut self, class: &Class, columns: &Columns) {
        if self.remainder.gone[self.proof_walk.half(class).index()] {
            self.taken = None;
            self.last.clear();
        }
        self.lingering = self.lingering.or(self.taken.take());
        // A packet that stays on a way in at the last stage, by the entries with which that stage ends, keeps the
        // element from being vacated.
        let end = self.proof_walk.case.stages.len() - 1;
        let stays = |way: &&WayIn| columns.at(end, way.row)[1] == way.output;
        self.led_on = self.led_on.or(self.last.iter().find(stays).copied());
        self.last.clear();
    }
}
