//! One change from `Begin` to its end: carries out commands one by one, and feeds their answers to the machine as
//! events.

use super::run_state::{CutShort, HaltedChange, RunState};
use super::standing::moved_alike;
use super::{ChangeRecord, ChangeUnderWay, Driver, DriverError, Running, StandingChange};
use super::{TEND_JOURNAL_NS, UNRECORDED_NS};
use crate::change::Prepared;
use crate::fabric::difference::{common, lacks};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::journal::ChangeBegun;
use crate::machine::{self, CallOff, Command, Declined, Event, Outcome, State, Ticket};
use crate::plan::{Assumption, Barrier, Draft, Phase, Plan, Scheme, Sending};
use crate::subnet::{
    Applied, Fence, FenceStage, Leaving, Retiring, SmpCounts, SubnetError, SubnetManager, WriteOrder, long_work,
};
use crate::tables::Write;
use crate::vet::Vetted;
use std::collections::VecDeque;
use std::sync::Arc;
use tracing::Instrument;

impl<S: SubnetManager> Driver<S> {
    /// Runs a prepared change to its end, and then the change that a loss or arrival in the meantime requires.
    ///
    /// A follow-up that cannot be prepared or begun is an outcome: the change is called off for it, or cut short.
    ///
    /// # Errors
    /// The SM's own port failed, or the change cannot be begun.
    pub async fn run(&mut self, prepared: Prepared) -> Result<ChangeRecord, DriverError> {
        let begin = Event::Begin(prepared.plan.clone());
        self.run_from(prepared.into(), begin, None).await
    }

    /// Goes on with a change that an earlier driver left; this driver must have begun with
    /// [`StandingChange::running`], and must not have run a change yet.
    ///
    /// # Errors
    /// As for [`Driver::run`].
    pub async fn take_up(&mut self, standing: StandingChange) -> Result<ChangeRecord, DriverError> {
        let StandingChange { under_way, position, .. } = standing;
        let first = Event::Continue(under_way.plan.clone(), position);
        self.run_from(under_way, first, None).await
    }

    /// Continues a change that halted with [`Outcome::Failed`]; none if no change is halted.
    ///
    /// # Errors
    /// As for [`Driver::run`].
    pub async fn resume(&mut self) -> Result<Option<ChangeRecord>, DriverError> {
        let Some(HaltedChange { under_way, cut_short }) = self.halted.take() else { return Ok(None) };
        self.run_from(under_way, Event::Resume, cut_short).await.map(Some)
    }

    /// Runs a plan, then those that were prepared to follow it and those that changes of the subnet require, until none
    /// follows.
    async fn run_from(
        &mut self,
        mut own: ChangeUnderWay,
        mut first: Event,
        cut_short: Option<CutShort>,
    ) -> Result<ChangeRecord, DriverError> {
        let mut run = RunState::default();
        if let Some(cut) = cut_short {
            self.begin_emptying(&mut run, cut);
        }
        // All that was prepared was computed before the first write.
        let computing_ns = own.computing_ns(self.computing);
        self.begin(&own, &first, &mut run, computing_ns).await?;
        loop {
            run.plans.push(own.plan.clone());
            self.run_once(&mut run, &own.plan, first).await?;
            self.apply_outcome(&mut run, &own).await?;
            // Who dies before the next one begins has what leaves to empty first.
            if run.outcome != Some(Outcome::CutShort) {
                self.record_end(&run);
            }
            let goes_on = !run.replan && !run.declined && run.outcome == Some(Outcome::Completed);
            let then = own.then.take().filter(|_| goes_on);
            let next = match then {
                Some(then) => Ok((ChangeUnderWay::from(*then), 0)),
                None => {
                    let Some(after) = self.next_target(&mut run, &own).await? else { break };
                    let next = self.prepare_next(after).await;
                    run.restarts += usize::from(next.is_ok());
                    next
                }
            };
            let begun = match next {
                Ok((next, computing_ns)) => {
                    let begin = Event::Begin(next.plan.clone());
                    self.begin(&next, &begin, &mut run, computing_ns).await.map(|()| (next, begin))
                }
                Err(error) => Err(error),
            };
            // What ran is in the record, whatever becomes of the rest.
            own = match begun {
                Ok((next, begin)) => {
                    first = begin;
                    let is_made = matches!(run.outcome, Some(Outcome::Completed | Outcome::CutShort));
                    run.made.extend(is_made.then_some(own.plan));
                    next
                }
                Err(DriverError::Subnet(error)) if error.is_fatal() => return Err(error.into()),
                Err(error) => {
                    run.outcome = Some(self.not_followed(&mut run, error.to_string()));
                    break;
                }
            };
        }
        let outcome = run.outcome.unwrap_or_else(|| ended_without_report(&self.state));
        let ChangeUnderWay { plan, routed_by, .. } = own.clone();
        if matches!(outcome, Outcome::Failed { .. }) {
            self.halted = Some(HaltedChange { under_way: own, cut_short: run.cut_short.clone() });
        }
        let RunState { phases, not_held, plans, made, restarts, cut_short, .. } = run;
        let omitted = |plan: &Arc<Vetted>| plan.plan().draft().stranded.clone();
        // Those that a removal cuts off are none of the fabric for which a later loss is routed.
        let earlier = cut_short.map(|cut| cut.plan).filter(|cut| !Arc::ptr_eq(cut, &plan));
        let stranded = earlier.iter().chain([&plan]).flat_map(omitted).collect();
        Ok(ChangeRecord { outcome, sweep: None, phases, plans, made, restarts, plan, routed_by, stranded, not_held })
    }

    /// What is to follow within a change, and the nanoseconds that it took to compute.
    async fn prepare_next(&mut self, after: Fabric) -> Result<(ChangeUnderWay, u64), DriverError> {
        // Until it is known, nobody is to be sent over what has died since the last plan.
        self.subnet.set_outlook(self.running.outlook());
        let work = self.preparation(Arc::new(after));
        let work = if self.hurries { work.hurried() } else { work };
        let next = self.prepare_meanwhile(work).await.map(ChangeUnderWay::from);
        // Who asked for it has been told so, and meant what has ended.
        if self.abort.take() {
            tracing::warn!("{}", Declined::TooLate);
        }
        let next = next?;
        let computing_ns = next.computing_ns(self.computing);
        Ok((next, computing_ns))
    }

    /// Whether this driver moves sources as a plan has it.
    fn may_begin(&self, plan: &Vetted) -> Result<(), DriverError> {
        moved_alike(plan.plan(), self.subnet.settle_ns())
    }

    /// The steps before the first command of a plan.
    async fn begin(
        &mut self,
        own: &ChangeUnderWay,
        first: &Event,
        run: &mut RunState,
        computed_ns: u64,
    ) -> Result<(), DriverError> {
        let plan = own.plan.plan();
        self.may_begin(&own.plan)?;
        self.subnet.set_ways(plan.longest_way(), &switches_of(plan.draft()));
        if matches!(first, Event::Begin(_)) {
            plan.draft().notes.iter().for_each(|note| tracing::info!("{note}"));
            // There is no way back from a plan in place, so what its last barrier needs is asked for before it begins.
            let is_vacated = |barrier: &Barrier| matches!(barrier, Barrier::Vacated(_));
            if plan.waves().iter().flat_map(|wave| &wave.barriers).any(is_vacated) {
                self.subnet.can_vacate(plan.policy().observer).await?;
            }
            self.record_begun(own).await?;
            if plan.scheme() != Scheme::Static {
                self.compute(run, computed_ns).await?;
            }
        }
        match first {
            // What a halted change answers from stays as it is.
            Event::Resume => {}
            Event::Continue(_, position) => self.subnet.set_outlook(self.running.outlook_within(plan, position.wave)),
            _ => self.subnet.set_outlook(self.running.outlook_of(plan)),
        }
        Ok(())
    }

    /// Puts a change into the journal before its first command.
    async fn record_begun(&mut self, own: &ChangeUnderWay) -> Result<(), DriverError> {
        if self.journal.is_none() {
            return Ok(());
        }
        let (plan, layers, engine) = (own.plan.clone(), [self.running.layers, own.layers], own.routed_by.engine);
        let root = own.routed_by.root.map(|root| plan.plan().draft().before.node(root).guid);
        // Packing the plan of a thousand switches takes as long as a client waits for an answer.
        let (work, begun) = long_work(move || ChangeBegun::new(plan.plan(), layers, engine, root));
        self.subnet.compute(work).await?;
        let (now_ns, begun) = (self.subnet.now_ns(), begun.take());
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let recorded = journal.begun(now_ns, begun).map_err(|error| error.to_string());
        self.recorded(recorded, needs_no_record(own.plan.plan())).map_err(DriverError::Journal)
    }

    /// Follows an attempt to record something. Nothing is done that is not recorded, as long as the journal's disk may
    /// have room again; unless this `cannot_wait`. A disk that refuses for longer must not keep hosts behind a fence,
    /// nor traffic from its ways: then the journal is given up, and a manager that starts anew mends the subnet from
    /// what devices hold. It is taken up again between changes ([`Driver::tend_journal`]).
    ///
    /// # Errors
    /// What is to be recorded first cannot be.
    fn recorded(&mut self, attempt: Result<(), String>, cannot_wait: bool) -> Result<(), String> {
        let Err(why) = attempt else {
            self.unrecorded_since = None;
            return Ok(());
        };
        let now_ns = self.subnet.now_ns();
        let since_ns = *self.unrecorded_since.get_or_insert(now_ns);
        if !cannot_wait && now_ns - since_ns < UNRECORDED_NS {
            return Err(why);
        }
        tracing::error!("{why}: changes are made WITHOUT A JOURNAL until it can be written");
        self.unrecorded_since = None;
        if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.give_up(now_ns)) {
            tracing::error!("{error}; remove it before a manager starts again, which would believe what it says");
        }
        Ok(())
    }

    /// Records what is set aside.
    pub fn record_aside(&mut self, elements: Vec<String>) {
        let now_ns = self.subnet.now_ns();
        let Some(journal) = self.journal.as_mut().filter(|journal| !journal.has_aside(&elements)) else { return };
        let attempt = journal.record_aside(now_ns, elements).map_err(|error| error.to_string());
        if let Err(why) = self.recorded(attempt, false) {
            tracing::error!("{why}; a manager that starts anew goes by what was set aside before");
        }
    }

    /// Records what is set aside if that could not be done before, and takes up a journal again that was given up, if
    /// there is room. For use between changes, as often as wanted.
    pub fn tend_journal(&mut self, aside: impl FnOnce() -> Vec<String>) {
        let now_ns = self.subnet.now_ns();
        if self.journal.is_none() || now_ns < self.journal_due_ns {
            return;
        }
        self.journal_due_ns = now_ns.saturating_add(TEND_JOURNAL_NS);
        match self.journal.as_mut().map(|journal| journal.replace_removed(now_ns)) {
            Some(Ok(true)) => tracing::warn!("the journal was removed: another one is begun, with what is set aside"),
            Some(Err(error)) => tracing::error!(%error, "the journal was removed, and changes are not recorded"),
            Some(Ok(false)) | None => {}
        }
        self.record_aside(aside());
        if self.unrecorded_since.is_some() && self.journal.as_mut().is_some_and(|journal| journal.has_room()) {
            tracing::info!("the journal has room again");
            self.unrecorded_since = None;
        }
        let Some(journal) = self.journal.as_mut().filter(|journal| journal.given_up().is_some()) else { return };
        match journal.take_up_again(now_ns) {
            Ok(()) => tracing::warn!("the journal is taken up again: changes are recorded where there is room"),
            Err(error) => tracing::debug!(%error, "the journal is not taken up again"),
        }
    }

    /// Puts a command that is a question to the subnet into the journal, before it is carried out. Returns the failure
    /// that stands for its answer if the journal does not take it.
    fn record_asked(&mut self, plan: &Plan, command: &Command) -> Option<Event> {
        let journal = self.journal.as_mut()?;
        let position = self.state.position()?;
        let attempt = journal.asked(self.subnet.now_ns(), command, position, plan).map_err(|error| error.to_string());
        let reason = self.recorded(attempt, needs_no_record(plan)).err()?;
        match *command {
            Command::Apply { ticket, .. } | Command::Undo { ticket, .. } => Some(Event::WriteFailed { ticket, reason }),
            Command::Flush { ticket, .. }
            | Command::ConfirmSources { ticket, .. }
            | Command::Drain { ticket, .. }
            | Command::Vacate { ticket, .. } => Some(Event::TimedOut { ticket, reason }),
            Command::Report(_) | Command::Replan | Command::DeferChange | Command::Decline(_) => None,
        }
    }

    /// Puts the end of a change into the journal. A disk that refuses changes nothing about it: the next reader of the
    /// journal takes the change up in its last wave, and finds every write done.
    pub(super) fn record_end(&mut self, run: &RunState) {
        if let (Some(journal), Some(outcome)) = (&mut self.journal, &run.outcome)
            && let Err(error) = journal.record_end(self.subnet.now_ns(), outcome)
        {
            tracing::error!("{error}");
        }
    }

    /// The next target of the routing, if the machine asked for a new plan: the part of the plan's target that is
    /// alive. After a loss, newcomers wait for the change after that (G.6).
    pub(super) fn replan_target(&mut self, run: &mut RunState, plan: &Plan) -> Option<Fabric> {
        if !std::mem::take(&mut run.replan) {
            return None;
        }
        let running = &self.running;
        // Not all that is alive: the plan may have removed live elements from the routing, which must not return.
        let wanted = common(&running.alive, &plan.draft().after);
        if running.has_lost_something() {
            self.noticed |= lacks(&running.routed, &wanted);
            return Some(common(&wanted, &running.routed));
        }
        // A completed change already serves what is left. Only one that was called off must start again.
        let called_off = run.outcome == Some(Outcome::CalledOff(CallOff::TopologyChanged));
        let differs = lacks(&running.routed, &wanted) || lacks(&wanted, &running.routed);
        (called_off && differs).then_some(wanted)
    }

    async fn run_once(&mut self, run: &mut RunState, plan: &Arc<Vetted>, first: Event) -> Result<(), DriverError> {
        (run.outcome, run.declined) = (None, false);
        run.last_waits.clear();
        self.subnet.reserve(plan.plan().reserved());
        let mut commands: VecDeque<Command> = self.first_commands(first).into();
        while let Some(command) = commands.pop_front() {
            let span = tracing::info_span!("phase", name = self.phase_of(plan.plan(), &command));
            let answer = match self.record_asked(plan.plan(), &command) {
                None => self.carry_out(run, plan.plan(), command).instrument(span).await?,
                refused => refused,
            };
            // The machine ignores answers under old tickets: if an abort or a change of the subnet moves it on first,
            // the answer that follows has no effect.
            for event in self.changes(answer).await? {
                commands.extend(self.step(event));
            }
        }
        Ok(())
    }

    /// The commands after the first event of a run. If something was lost since a change was left, the reaction to that
    /// precedes the first of its questions.
    fn first_commands(&mut self, first: Event) -> Vec<Command> {
        let taken_up = match &first {
            Event::Continue(plan, _) => Some(plan.clone()),
            _ => None,
        };
        let mut commands = self.step(first);
        if taken_up.is_some_and(|plan| lacks(&self.running.alive, &plan.plan().draft().surviving)) {
            let others = self.step(Event::TopologyChanged);
            if others.iter().any(|command| matches!(command, Command::Undo { .. } | Command::Report(_))) {
                commands = others;
            }
        }
        commands
    }

    fn step(&mut self, event: Event) -> Vec<Command> {
        tracing::debug!(event = event.name(), state = self.state.name(), "step");
        let was = self.state.name();
        let (state, commands) = machine::step(std::mem::take(&mut self.state), event);
        self.trail.step(was, &state);
        self.state = state;
        commands
    }

    /// The events that follow a command: an abort requested meanwhile, a change of the subnet, then the command's
    /// answer. A failure may be the first sign of a change, so the driver sweeps.
    async fn changes(&mut self, answer: Option<Event>) -> Result<Vec<Event>, DriverError> {
        let Some(answer) = answer else { return Ok(Vec::new()) };
        let mut events = Vec::new();
        if self.abort.take() {
            events.push(Event::Abort);
        }
        // Nothing follows that a loss would have to precede: it is found after the end.
        if matches!(answer, Event::Vacated(_)) && self.state.may_be_cut_short() {
            events.push(answer);
            return Ok(events);
        }
        let failed = matches!(answer, Event::WriteFailed { .. } | Event::TimedOut { .. });
        let seen = self.noticed_during_change(failed).await?;
        // What has left already ends no wait.
        let kept = self.state.progress().filter(|_| self.state.may_be_cut_short()).map(|own| &own.plan().draft().after);
        let is_kept =
            !matches!(seen, Some(Event::TopologyChanged)) || kept.is_none_or(|kept| lacks(&self.running.alive, kept));
        events.extend(seen.filter(|_| is_kept));
        // Last: an abort or a loss must call the change off before this answer leads into the next wave.
        events.push(answer);
        Ok(events)
    }

    /// What the machine is to know of what the subnet has reported, or of why a command has `failed`, if anything.
    pub(super) async fn noticed_during_change(&mut self, failed: bool) -> Result<Option<Event>, DriverError> {
        let mut noticed = false;
        while let Some(event) = self.subnet.pending_event() {
            tracing::info!(?event, "the subnet reports a change");
            noticed = true;
        }
        if noticed || failed { self.look_during_change(failed).await } else { Ok(None) }
    }

    /// Carries out one command. Returns its answer, if it has one.
    async fn carry_out(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        command: Command,
    ) -> Result<Option<Event>, DriverError> {
        let phase = self.phase_of(plan, &command);
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        tracing::info!(command = command.name(), phase, now_ns = start_ns, "carry out");
        if let Some(fence) = self.fence(plan, &command) {
            self.subnet.set_fence(&fence);
        }
        let Some(answer) = self.execute(run, plan, command).await? else { return Ok(None) };
        if let Some(name) = phase {
            let smps = self.subnet.smps().since(&before);
            run.note(name, start_ns, self.subnet.now_ns(), smps);
        }
        if phase == Some(Phase::Stop.name()) && matches!(answer, Event::Acknowledged(_)) {
            self.compute(run, self.computing.of(&plan.draft().before, plan.scheme())).await?;
        }
        Ok(Some(answer))
    }

    /// Has the subnet do what a command asks. Returns its answer; none where nothing was asked of the subnet.
    async fn execute(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        command: Command,
    ) -> Result<Option<Event>, DriverError> {
        Ok(Some(match command {
            Command::Apply { ticket, wave } => {
                let wave = &plan.waves()[wave];
                let applied = self.apply(&wave.writes, write_order(wave.sending)).await;
                written(run, ticket, applied)?
            }
            Command::Undo { ticket, reached } => {
                run.reached = Some(reached);
                let applied = self.apply(&plan.undo_writes(reached), WriteOrder::Any).await;
                written(run, ticket, applied)?
            }
            Command::Flush { ticket, lanes } => {
                let observer = plan.policy().observer;
                awaited(ticket, self.subnet.flush(ticket, observer, lanes).await, Event::Flushed)?
            }
            Command::ConfirmSources { ticket, half } => {
                let ports = self.sources(plan);
                awaited(ticket, self.subnet.confirm_sources(ticket, &ports, half).await, Event::SourcesMoved)?
            }
            Command::Drain { ticket, observer, lanes } => {
                let sources = &plan.draft().surviving.end_ports().collect::<Vec<_>>();
                let in_use = plan.half_at_drain(&self.running.alive);
                let retiring = Retiring { lanes, layers: plan.drain(), in_use, sources };
                let drained = self.subnet.drain(ticket, observer, &retiring).await;
                awaited(ticket, drained, Event::Drained)?
            }
            Command::Vacate { ticket, observer, rounds } => {
                let draft = plan.draft();
                // Between waves nothing leaves yet: only what was sent before must have come to its end (W.3).
                let is_last = self.state.progress().is_none_or(|own| own.wave() + 1 == plan.waves().len());
                let after = if is_last { &draft.after } else { &draft.surviving };
                let fenced = draft.assumptions.contains(&Assumption::FencedLanesRunEmpty);
                let (omitted, until_event) = (&draft.stranded[..], self.state.may_be_cut_short());
                let now_ns = self.subnet.now_ns();
                // Who is interrupted waits no longer for that.
                let last = self.state.progress().filter(|_| until_event).map(|own| own.passed());
                let since_ns = last.map_or(now_ns, |passed| *run.last_waits.entry(passed).or_insert(now_ns));
                let leaving = Leaving { after, omitted, rounds, since_ns, ages: !is_last, fenced, until_event };
                match self.subnet.vacate(ticket, observer, &leaving).await {
                    Err(SubnetError::Changed) => Event::Interrupted(ticket),
                    vacated => awaited(ticket, vacated, Event::Vacated)?,
                }
            }
            Command::Report(outcome) => {
                tracing::info!(?outcome, "the change has ended");
                run.outcome = Some(outcome);
                return Ok(None);
            }
            Command::Replan => {
                run.replan = true;
                return Ok(None);
            }
            // `look` has excused what died, and the machine itself remembers the change.
            Command::DeferChange => return Ok(None),
            Command::Decline(reason) => {
                run.declined = true;
                tracing::warn!("{reason}");
                return Ok(None);
            }
        }))
    }

    /// Lets the time pass that computing takes.
    async fn compute(&mut self, run: &mut RunState, computing_ns: u64) -> Result<(), DriverError> {
        if computing_ns > 0 {
            let start_ns = self.subnet.now_ns();
            self.subnet.rest_until(start_ns.saturating_add(computing_ns)).await?;
            run.note("compute", start_ns, self.subnet.now_ns(), SmpCounts::default());
        }
        Ok(())
    }

    /// The fence that this command needs at end ports (P3.8); `None` if it leaves the fence as it is. Only scheme
    /// `double` moves sources.
    fn fence(&self, plan: &Plan, command: &Command) -> Option<Fence> {
        let wave = self.state.progress().filter(|_| plan.scheme() == Scheme::Double)?.wave();
        let stage = match (command, plan.waves()[wave].phase) {
            (Command::Undo { .. }, _) | (_, Phase::Split | Phase::Install) => FenceStage::Spare(plan.new_half()),
            (_, Phase::Swap) => FenceStage::Moving(plan.new_half()),
            (_, Phase::Drain | Phase::Restore) => FenceStage::Retired(plan.old()),
            (_, Phase::Stop | Phase::Start | Phase::Rewrite) => return None,
        };
        let draft = plan.draft();
        // The wave's own writes are among these, and a wave that is undone leaves what it began with. Tables of
        // newcomers are unknown until a wave has written them.
        let is_undone = matches!(command, Command::Undo { .. });
        let tables = plan.tables_at(if is_undone { 0 } else { wave + 1 });
        let ports = draft.surviving.end_ports().filter(|&port| !is_undone || !plan.has_come(port));
        let table = |id: PortId| {
            let port = draft.surviving.port(id);
            (id, *tables.sl_to_vl[port.node.index()].get(PortNum::ZERO, port.num))
        };
        let tables = ports.map(table).collect();
        let newcomers = if matches!(stage, FenceStage::Retired(_)) { Vec::new() } else { newcomers(plan) };
        Some(Fence { stage, tables, newcomers })
    }

    /// The end ports that the swap moves.
    fn sources(&self, plan: &Plan) -> Vec<PortId> {
        // A port that left the routing before this change is not written to, though it may still be present.
        let is_routed = |port: &PortId| plan.draft().surviving.peer(*port).is_some();
        self.running.alive.end_ports().filter(is_routed).collect()
    }

    fn phase_of(&self, plan: &Plan, command: &Command) -> Option<&'static str> {
        match command {
            Command::Undo { .. } => Some("call-off"),
            Command::Apply { .. }
            | Command::Flush { .. }
            | Command::ConfirmSources { .. }
            | Command::Drain { .. }
            | Command::Vacate { .. } => {
                self.state.progress().map(|progress| plan.waves()[progress.wave()].phase.name())
            }
            Command::Report(_) | Command::Replan | Command::DeferChange | Command::Decline(_) => None,
        }
    }

    /// Sends writes. Writes to dead devices and ports count as done: a dead element forwards nothing (C.3), and waiting
    /// for it would delay the change, and with it the packets that the change must free.
    async fn apply(&mut self, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        let alive = self.running.alive.clone();
        let lives = |write: &&Write| write.is_there(&alive);
        if writes.iter().all(|write| lives(&write)) {
            return self.subnet.apply(&alive, writes, order).await;
        }
        let rest: Vec<Write> = writes.iter().filter(lives).cloned().collect();
        self.subnet.apply(&alive, &rest, order).await
    }

    /// Updates `running` with the result of the change.
    async fn apply_outcome(&mut self, run: &mut RunState, own: &ChangeUnderWay) -> Result<(), DriverError> {
        let plan = own.plan.plan();
        match run.outcome {
            Some(Outcome::Completed | Outcome::CutShort) => {
                self.running.tables = plan.tables_at(plan.waves().len()).clone();
                // Where rows still lead into what died, the tables are proved for the fabric before it died, and the
                // next change finds the loss once more (`change::prepare_at_once`).
                if !plan.leads_into_loss() {
                    self.running.routed = plan.draft().after.clone();
                }
                self.running.half = plan.new_half();
                // A half that retired is closed, or left by everybody, and its entries are stale.
                self.running.both_halves &= plan.old() == plan.new_half();
                self.running.layers = own.layers;
                self.running.ways = plan.new_ways().cloned();
                // What is routed again is to leave no more.
                let Running { alive, routed, .. } = &self.running;
                self.unemptied.retain(|plan| lacks(routed, &common(&plan.plan().draft().surviving, alive)));
            }
            // The split was undone. Once the spare entries are rewritten too, all tables are as before.
            Some(Outcome::CalledOff(_)) => {
                // The machine leaves entries of the spare half as they are, because they are unused. But the next plan
                // writes only blocks that differ from the recorded ones, so devices must hold what is recorded.
                let spare = run.reached.take().map_or_else(Vec::new, |reached| initial_blocks(plan, reached));
                self.apply(&spare, WriteOrder::Any).await?;
                // Hosts that stayed on the spare half may send again, now that its entries lead where they did.
                if self.running.both_halves {
                    let newcomers = newcomers(plan);
                    self.subnet.set_fence(&Fence { stage: FenceStage::Open, newcomers, ..Fence::default() });
                    self.apply(&[], WriteOrder::Any).await?;
                }
            }
            // Still in the middle: `resume` continues from the same plan and the same tables.
            Some(Outcome::Failed { .. } | Outcome::Abandoned { .. }) | None => {}
        }
        Ok(())
    }
}

/// The end ports that a change brings up.
fn newcomers(plan: &Plan) -> Vec<PortId> {
    plan.draft().surviving.end_ports().filter(|&port| plan.has_come(port)).collect()
}

/// Whether a change follows a loss by forwarding entries alone. Hosts wait for it, and no later manager needs its
/// record: nothing is closed, no half is to follow, nothing was removed by order, and the entries that devices hold
/// show how far it got.
fn needs_no_record(plan: &Plan) -> bool {
    let Draft { scheme, routed, surviving, after, .. } = plan.draft();
    let nothing_comes = !lacks(routed, after);
    let nothing_is_ordered_away = !lacks(after, &common(routed, surviving));
    *scheme == Scheme::Ordered && lacks(surviving, routed) && nothing_comes && nothing_is_ordered_away
}

/// The original content of the blocks that waves 0 to `reached` may have changed.
fn initial_blocks(plan: &Plan, reached: usize) -> Vec<Write> {
    let written = plan.waves()[..=reached].iter().flat_map(|wave| &wave.writes);
    let restored = written.filter_map(|write| match write {
        Write::LftBlock { switch, block, .. } => {
            let entries = Box::new(plan.tables_at(0).lfts[switch.index()].block(*block));
            Some(Write::LftBlock { switch: *switch, block: *block, entries })
        }
        _ => None,
    });
    restored.collect()
}

/// The switches that packets may be in while a plan runs.
pub(super) fn switches_of(draft: &Draft) -> Vec<NodeId> {
    let mut switches: Vec<NodeId> = draft.before.switches().chain(draft.after.switches()).collect();
    switches.sort_unstable();
    switches.dedup();
    switches
}

/// The outcome of a change that ended without a report.
fn ended_without_report(state: &State) -> Outcome {
    Outcome::Failed { state: state.name(), reason: "no command is left and no end was reported".to_string() }
}

fn write_order(sending: Sending) -> WriteOrder {
    match sending {
        Sending::AnyOrder => WriteOrder::Any,
        Sending::Listed { window } => WriteOrder::Listed { window },
    }
}

fn written(run: &mut RunState, ticket: Ticket, applied: Result<Applied, SubnetError>) -> Result<Event, SubnetError> {
    match applied {
        Ok(applied) => {
            run.not_held.extend(applied.not_held);
            Ok(Event::Acknowledged(ticket))
        }
        Err(error) => Ok(Event::WriteFailed { ticket, reason: survivable(error)?.to_string() }),
    }
}

fn awaited<P>(
    ticket: Ticket,
    proof: Result<P, SubnetError>,
    event: impl FnOnce(P) -> Event,
) -> Result<Event, SubnetError> {
    match proof {
        Ok(proof) => Ok(event(proof)),
        Err(error) => Ok(Event::TimedOut { ticket, reason: survivable(error)?.to_string() }),
    }
}

/// Returns an error that the machine can handle, or fails: without the manager's own port it can handle none.
pub(super) fn survivable(error: SubnetError) -> Result<SubnetError, SubnetError> {
    if error.is_fatal() { Err(error) } else { Ok(error) }
}
