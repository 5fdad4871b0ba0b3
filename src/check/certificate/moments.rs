//! The meaning of a plan, moment by moment, derived from its writes and barriers: which ports may send on which half,
//! and which lanes are empty.

use super::{CertificateFault, believable};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::plan::{Assumption, Barrier, Plan, Wave};
use crate::tables::{PathLayers, PortState, SubnetTables, Write};

/// The moment before the first wave, then the waves.
pub(super) struct PlanMoments<'a> {
    pub all: Vec<PlanMoment<'a>>,
    /// By port and half: for an end port that has come, the moment from which it takes part.
    joined: Vec<[Option<usize>; 2]>,
    /// By port: whether the routing in force does not know it.
    come: Vec<bool>,
    /// Whether sources may send on either half throughout.
    both: bool,
}

pub(super) struct PlanMoment<'a> {
    pub name: String,
    /// Tables at its beginning and at its end; in between, any mixture.
    pub tables: [&'a SubnetTables; 2],
    /// By half: whether some source may send its packets.
    pub injected: [bool; 2],
    /// By half: the paths and layers that each source may use at this moment, as a choice of any of these. If the list
    /// is empty, every source may use every path.
    pub ways: [Vec<&'a PathLayers>; 2],
    /// Lanes that are empty everywhere when it begins, nothing latched for them.
    pub empty: VlSet,
    /// By half: whether all of its packets sent earlier have left the subnet when the moment begins.
    pub gone: [bool; 2],
    /// The number of consecutive rounds in which every device sent off its packets before the moment begins, if these
    /// rounds are why nothing is left.
    pub aged: Option<usize>,
    /// The half, and the lanes, that its barriers report empty at its end.
    pub drains: Option<(Half, VlSet)>,
}

impl<'a> PlanMoments<'a> {
    /// The moments of a plan.
    ///
    /// # Errors
    /// A wave whose writes are not acknowledged, or a drain while some source still sends.
    pub fn of(plan: &'a Plan) -> Result<PlanMoments<'a>, CertificateFault> {
        let fabric = &*plan.draft().before;
        let come = fabric.ports().map(|(id, _)| plan.has_come(id)).collect();
        let both = plan.draft().both_halves;
        let mut moments = PlanMoments { all: Vec::new(), joined: vec![[None; 2]; fabric.port_count()], come, both };
        believable::check(plan)?;
        let mut state = State::new(plan, &moments);
        believable::check_spare_half(plan, state.sent)?;
        moments.all.push(PlanMoment {
            name: "steady".to_string(),
            tables: [plan.tables_at(0); 2],
            injected: state.sent,
            ways: state.ways(false),
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
            drains: None,
        });
        for (index, wave) in plan.waves().iter().enumerate() {
            let moment = state.wave(&mut moments, index, wave)?;
            moments.all.push(moment);
        }
        Ok(moments)
    }

    /// Returns whether packets of a half may be sent by an end port, or to it, at a moment.
    pub fn admits(&self, port: PortId, moment: usize, half: Half) -> bool {
        !self.come[port.index()] || self.joined[port.index()][half.index()].is_some_and(|from| moment >= from)
    }

    fn join(&mut self, port: PortId, moment: usize, half: Half) {
        if self.come[port.index()] {
            for joined in [half, half.other()].into_iter().take(1 + usize::from(self.both)) {
                self.joined[port.index()][joined.index()].get_or_insert(moment);
            }
        }
    }
}

/// The facts that hold between two waves.
struct State<'a> {
    plan: &'a Plan,
    fabric: &'a Fabric,
    /// By half: whether its packets may be sent, by a source or as replies to a source's packets.
    sent: [bool; 2],
    /// Whether sources confirmed the half that they were last notified of.
    moved: bool,
    /// Whether, at some earlier time, no port let data pass.
    stopped: bool,
    empty: VlSet,
    gone: [bool; 2],
    aged: Option<usize>,
}

impl<'a> State<'a> {
    fn new(plan: &'a Plan, moments: &PlanMoments<'_>) -> State<'a> {
        let before = &*plan.draft().before;
        let mut sent = [moments.both; 2];
        for port in before.end_ports().filter(|port| !moments.come[port.index()]) {
            sent[plan.tables_at(0).sending[port.index()].index()] = true;
        }
        State {
            plan,
            fabric: &plan.draft().surviving,
            sent,
            moved: true,
            stopped: false,
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
        }
    }

    /// Derives the moment of a wave, and updates the state to what holds after it.
    fn wave(
        &mut self,
        moments: &mut PlanMoments<'_>,
        index: usize,
        wave: &Wave,
    ) -> Result<PlanMoment<'a>, CertificateFault> {
        let tables = [self.plan.tables_at(index), self.plan.tables_at(index + 1)];
        self.check_acknowledged(wave)?;
        believable::check_once(self.fabric, wave)?;
        for write in &wave.writes {
            if let Write::ActiveHalf { port, half } = *write {
                moments.join(port, index + 1, half);
                self.moved = false;
            }
        }
        // Both ends of the wave: a port that lets data pass in either may do so at any time in between.
        let idle = tables.iter().all(|tables| self.is_stopped(tables));
        let begins = self.begins(moments, index + 1, tables);
        let injected = [0, 1].map(|half| !idle && (moments.both || self.sent[half] || begins[half]));
        let (empty, aged) = (self.empty, self.aged);
        let gone = self.gone.map(|gone| gone || aged.is_some());
        // A half counts as sent until a barrier shows that it is gone: replies copy the half of their request.
        self.sent = [0, 1].map(|half| self.sent[half] || injected[half]);
        let stops = self.is_stopped(tables[1]);
        let ways = self.ways(!stops || self.stopped);
        self.stopped |= stops;
        let drains = self.pass(moments, index, wave)?;
        Ok(PlanMoment { name: wave.name.clone(), tables, injected, ways, empty, gone, aged, drains })
    }

    /// The paths that each source may use. With both halves in use, each half keeps its own. With one, sources follow
    /// the old routing at first, and either routing once something was written, since nothing notifies them.
    fn ways(&self, new_too: bool) -> [Vec<&'a PathLayers>; 2] {
        let draft = self.plan.draft();
        let (old, new) = (draft.old_ways.as_deref(), draft.new_ways.as_deref());
        let mut ways: [Vec<&PathLayers>; 2] = Default::default();
        if draft.old != draft.new {
            ways[draft.old.index()].extend(old);
            ways[draft.new.index()].extend(new);
        } else {
            let followed = [Some(old), new_too.then_some(new)];
            // A routing without layers allows every path, so the layers of the other restrict nothing.
            ways[draft.new.index()] = followed.into_iter().flatten().collect::<Option<Vec<_>>>().unwrap_or_default();
        }
        ways
    }

    /// Writes that are not acknowledged could land in any later wave.
    fn check_acknowledged(&self, wave: &Wave) -> Result<(), CertificateFault> {
        let first = wave.barriers.first() == Some(&Barrier::Acknowledged);
        if wave.writes.is_empty() || first {
            return Ok(());
        }
        let what = "its writes are not acknowledged before anything else, and could land in a later wave".to_string();
        Err(CertificateFault::Plan { wave: wave.name.clone(), what })
    }

    /// By half: whether some end port sends on it when the wave begins or has ended.
    fn begins(&self, moments: &PlanMoments<'_>, moment: usize, tables: [&SubnetTables; 2]) -> [bool; 2] {
        let mut begins = [false; 2];
        for port in self.fabric.end_ports() {
            for half in tables.map(|tables| tables.sending[port.index()]) {
                begins[half.index()] |= moments.admits(port, moment, half);
            }
        }
        begins
    }

    /// Returns whether no port lets data pass.
    fn is_stopped(&self, tables: &SubnetTables) -> bool {
        let mut cabled = self.fabric.ports().filter(|(_, port)| port.peer.is_some());
        cabled.all(|(id, _)| matches!(tables.port_states[id.index()], PortState::Initialize | PortState::Down))
    }

    /// Applies the barriers at the end of a wave to the state.
    fn pass(
        &mut self,
        moments: &PlanMoments<'_>,
        index: usize,
        wave: &Wave,
    ) -> Result<Option<(Half, VlSet)>, CertificateFault> {
        (self.empty, self.gone, self.aged) = (VlSet::EMPTY, [false; 2], None);
        let mut drains = None;
        // Every dependency that the certificate numbers follows the tables.
        believable::need(self.plan, wave, Assumption::EntriesDecide)?;
        for barrier in &wave.barriers {
            believable::need_of_observer(self.plan, wave, *barrier)?;
            match *barrier {
                Barrier::Acknowledged => {}
                Barrier::Vacated(rounds) => self.aged = Some(self.aged.unwrap_or(0) + usize::from(rounds)),
                Barrier::SourcesMoved => self.moved = true,
                Barrier::Flushed(lanes) => self.empty = VlSet(self.empty.0 | lanes.0),
                Barrier::Drained(lanes) => {
                    believable::need(self.plan, wave, Assumption::SpareHalfUnused)?;
                    let half = self.retired(moments, index, wave)?;
                    drains = Some((half, lanes));
                    self.empty = VlSet(self.empty.0 | lanes.0);
                    self.gone[half.index()] = true;
                    self.sent[half.index()] = false;
                }
            }
        }
        let after = self.plan.tables_at(index + 1);
        // Lanes that are observed empty stay so only while no source may send there.
        if let Some(what) = believable::occupied_again(self.fabric, after, self.empty, self.sent) {
            return Err(CertificateFault::Plan { wave: wave.name.clone(), what });
        }
        if self.is_stopped(after) {
            believable::need(self.plan, wave, Assumption::InitializeDiscards)?;
            (self.empty, self.gone, self.sent) = (VlSet(u16::MAX), [true; 2], [false; 2]);
        }
        Ok(drains)
    }

    /// The half on which no source sends any more.
    fn retired(&self, moments: &PlanMoments<'_>, index: usize, wave: &Wave) -> Result<Half, CertificateFault> {
        let fault = |what: &str| CertificateFault::Plan { wave: wave.name.clone(), what: what.to_string() };
        if moments.both {
            return Err(fault("lanes are said to run empty, and sources may send on either half throughout"));
        }
        if !self.moved {
            return Err(fault("lanes are said to run empty, and it was not waited until every source has moved"));
        }
        let tables = self.plan.tables_at(index + 1);
        let begins = self.begins(moments, index + 1, [tables; 2]);
        match begins {
            [true, false] => Ok(Half::Upper),
            [false, true] => Ok(Half::Lower),
            [true, true] => Err(fault("lanes are said to run empty, and sources still send on both halves")),
            [false, false] => Err(fault("lanes are said to run empty, and no source sends on either half")),
        }
    }
}
