//! What OpenSM is told to write, run after run.
//!
//! On entry of [`EngineState::route`]: what OpenSM sees, and the time. On return: tables for every switch, such that
//! every mixture with what is in force is proved; or, where nothing is proved, what the settings want, never in
//! silence. The plan of a change is kept until its last wave is handed over; a subnet that is not as it was left is
//! taken as found. Pure: no I/O, no clock, no OpenSM. Deliberately omitted: multicast (`multicast`), and how service
//! levels are found (`levels`): those that were given out are kept.

use crate::answer::{Again, Level, Note, RunAnswer, RunFailure, RunOutcome};
use crate::config::{OnRefusal, PluginConfig};
use crate::evidence::Accepted;
use crate::handover::{Handover, life};
use crate::levels::GivenLevels;
use crate::memory::{Memory, Recollection, ThenAndNow, carried, common};
use crate::multicast::Unicast;
use crate::parts::part;
use crate::plans::{self, BaseEngines, FirstTables, LayeredWays, NoPlan};
use crate::sight::{SeenSubnet, Sight};
use reconfig::change::{ChangeError, InForce, KnownBase};
use reconfig::fabric::Fabric;
use reconfig::ids::{Guid, Lid, PortNum};
use reconfig::plan::Assumption;
use reconfig::routing::RouteError;
use reconfig::tables::{LFT_BLOCK, Lft};
use reconfig::verify::ProofStatistics;
use reconfig::vet::Vetted;
use std::sync::Arc;
use std::time::Duration;

/// What is added where a loss is planned from scratch.
pub const TOO_SOON: &str = ", sooner than what was in force was proved ahead";

/// What is added where a change gives ways to all hosts, and not yet to all switches.
pub const REST: &str = "; all hosts have ways, and the next run finds those of switches that are left";

/// The engine's state from run to run.
pub struct EngineState {
    config: PluginConfig,
    engines: BaseEngines,
    memory: Option<Memory>,
    /// Unicast as it was last handed over.
    unicast: Option<Unicast>,
    handover: Option<Handover>,
    /// Service levels that were given out: all packets count as on one lane without.
    levels: Option<Arc<GivenLevels>>,
    /// As they were when the run began: what hosts may know.
    known: Option<Arc<GivenLevels>>,
    /// What is known of the routing in force.
    base: KnownBase,
    /// Since when all that is sent is sent by the tables in force over what is there; none until they are written.
    since: Option<Duration>,
    /// Whether ways are to be shortened and loads spread.
    renewal: bool,
    /// Whether a heavy sweep began since the last run: else the console, or we, asked for the routing alone.
    swept: bool,
    /// Whether we did.
    asked: bool,
    /// Blocks, as (node, block), that are read although their switch has acknowledged what it was given: it may have
    /// started anew since.
    acknowledged: Vec<(usize, u16)>,
}

impl EngineState {
    /// Before the first run.
    ///
    /// # Errors
    /// There is no base engine of that name.
    pub fn new(config: PluginConfig) -> Result<EngineState, RouteError> {
        let engines = BaseEngines::named(&config.engines)?;
        let (memory, handover, since) = (None, None, None);
        Ok(EngineState {
            config,
            engines,
            memory,
            unicast: None,
            handover,
            levels: None,
            known: None,
            base: KnownBase::default(),
            since,
            renewal: false,
            swept: false,
            asked: false,
            acknowledged: Vec::new(),
        })
    }

    /// Service levels that hosts send on: those of before OpenSM started, or, where what was handed over last cannot be
    /// kept, those of before that run. The subnet is taken as found.
    pub fn take_up(&mut self, levels: Option<Arc<GivenLevels>>) {
        self.levels = levels;
        self.forget();
    }

    /// Another master may have written: the subnet is taken as found.
    pub fn forget(&mut self) {
        (self.memory, self.handover) = (None, None);
    }

    /// Service levels that were given out.
    pub fn levels(&self) -> Option<&Arc<GivenLevels>> {
        self.levels.as_ref()
    }

    fn ways(&self, fabric: &Fabric) -> LayeredWays {
        self.levels.as_ref().map(|levels| levels.ways(fabric))
    }

    /// The most lanes that may be used.
    fn most(&self) -> u8 {
        self.config.layers.as_ref().map_or(1, |layers| layers.most)
    }

    /// OpenSM begins a heavy sweep.
    pub fn sweeps(&mut self) {
        self.swept = true;
    }

    /// OpenSM has written all tables.
    pub fn written(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// The tables of the last run as OpenSM is to write them: without what leads to LIDs that nobody owns. Where a part
    /// of a loss is left to the next change, entries for what has died stay until then.
    fn written_as(&self, fabric: &Fabric, lfts: Vec<Arc<Lft>>) -> Vec<Arc<Lft>> {
        if self.has_rest() { lfts } else { owned(fabric, lfts) }
    }

    /// Whether a part of a loss is left to the next change.
    fn has_rest(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.has_rest)
    }

    /// The routing in force, with which the next change begins; none while a change is under way.
    pub fn in_force(&self, sm: Guid) -> Option<InForce> {
        let memory = self.memory.as_ref().filter(|_| self.handover.as_ref().is_none_or(Handover::is_over))?;
        let sm = memory.fabric.lid_ports().find(|&port| memory.fabric.recorded_port_guid(port) == Some(sm))?;
        let ways = self.ways(&memory.fabric);
        Some(plans::in_force(memory.fabric.clone(), memory.lfts.clone(), sm, ways))
    }

    /// Unicast as it was last handed over.
    pub fn unicast(&self) -> Option<Unicast> {
        self.memory.as_ref()?;
        self.unicast.clone()
    }

    /// Waves left of the plan under way.
    pub fn waves_left(&self) -> usize {
        self.handover.as_ref().map_or(0, Handover::left)
    }

    /// What is known of it, now or later.
    pub fn know(&mut self, base: KnownBase) {
        self.base = base;
    }

    /// We ask for another run.
    pub fn asks(&mut self) {
        self.asked = true;
    }

    /// Blocks, as (node, block), that must be read before [`EngineState::route`]: those of which nobody knows what the
    /// switch holds. Where a switch holds what it was given nothing is read.
    pub fn unsure(&mut self, seen: &SeenSubnet) -> Vec<(usize, u16)> {
        let mut unsure = Vec::new();
        self.acknowledged.clear();
        for (at, node) in seen.nodes.iter().enumerate() {
            let Some(table) = node.table.as_ref().filter(|table| table.top > 0) else { continue };
            let known = self.memory.as_ref().and_then(|memory| memory.table(node.guid));
            let holds = |block: u16| {
                let start = usize::from(block) * LFT_BLOCK;
                known.is_some_and(|lft| lft.block(block)[..] == table.entries[start..start + LFT_BLOCK])
            };
            for block in 0..table.blocks(seen.max_lid) {
                let holds = holds(block);
                unsure.extend((table.reset || !holds).then_some((at, block)));
                self.acknowledged.extend((table.reset && holds).then_some((at, block)));
            }
        }
        unsure
    }

    /// What is to be written.
    ///
    /// # Errors
    /// Nothing can be routed; OpenSM then does what it is configured to.
    pub fn route(&mut self, sight: &Sight, now: Duration) -> Result<RunAnswer, RunFailure> {
        let alone = !std::mem::take(&mut self.swept);
        if alone && !std::mem::take(&mut self.asked) {
            // `reroute` on the console.
            self.renewal = true;
        }
        let known = self.memory.as_ref().and_then(|memory| memory.told(sight, &self.acknowledged));
        let mut notes = match (&known, sight.silent.first()) {
            (_, None) => Vec::new(),
            (None, Some(&(silent, _))) => return self.without(&sight.fabric.describe_node(silent), sight),
            (Some(_), Some(&(silent, _))) => {
                let name = sight.fabric.describe_node(silent);
                let text = format!(
                    "{name} does not report its forwarding table: what it has acknowledged, or held before, counts"
                );
                vec![Note { level: Level::Error, text }]
            }
        };
        let sight = known.as_ref().unwrap_or(sight);
        if let Some(note) = self.unheard(sight) {
            notes.push(note);
            if self.memory.is_some() && self.config.on_refusal == OnRefusal::Keep {
                return Ok(RunAnswer {
                    notes,
                    ..self.answer(RunOutcome::Kept, sight.lfts.clone(), String::new(), None)
                });
            }
        }
        notes.extend(self.passed_over(sight));
        let sight = &match self.on_lanes(sight) {
            Ok(sight) => sight,
            Err(why) => return self.refused(sight, &why),
        };
        let mut answer = match self.memory.as_ref().map(|memory| memory.compare(sight)) {
            None => self.found(sight, None, None, now),
            Some(Recollection::Foreign(why)) => self.found(sight, Some(&why), None, now),
            Some(Recollection::Unfinished) => Ok(self.finished(sight)),
            Some(Recollection::Held(_)) if self.is_amid(sight) => {
                Ok(self.go_on(RunOutcome::WentOn, sight, now, Vec::new()))
            }
            Some(Recollection::Held(found)) if found.lost || found.gained => self.changed(sight, &found, now),
            Some(Recollection::Held(_)) => Ok(self.unchanged(sight, now)),
        }?;
        answer.notes.splice(0..0, notes);
        answer.writes = answer.lfts != sight.lfts;
        // A run of the routing alone does not bring ports up, and OpenSM reports no subnet up after it.
        answer.again = answer.again.map(|again| if alone && again == Again::Up { Again::Written } else { again });
        Ok(answer)
    }

    /// The sight on the lanes of the levels that were given out, with levels for what has come.
    fn on_lanes(&mut self, sight: &Sight) -> Result<Sight, NoPlan> {
        self.known = self.levels.clone();
        let Some(levels) = &self.levels else { return Ok(sight.clone()) };
        if sight.lanes < levels.lanes() {
            return Err(NoPlan::Lanes { needed: levels.lanes(), offered: sight.lanes });
        }
        let levels = levels.extended(&sight.fabric, 0);
        let sight = sight.with_lanes(levels.lanes(), |fabric| levels.ways(fabric));
        self.levels = Some(Arc::new(levels));
        Ok(sight)
    }

    /// What is said of a switch whose management does not answer while links to it are up: it forwards by the tables
    /// that it has, and is in no proof of a change that takes it for dead. Where nothing is remembered, what it is is
    /// not known.
    fn unheard(&self, sight: &Sight) -> Option<Note> {
        let text = match &self.memory {
            None => {
                let &(switch, port) = sight.open.first()?;
                let switch = sight.fabric.describe_node(switch);
                format!(
                    "port {port} of {switch} is up and leads to nothing that OpenSM knows: if that is a switch, nothing is \
                     proved beside what it sends"
                )
            }
            Some(memory) => {
                let found = memory.unheard(sight)?;
                match self.config.on_refusal {
                    OnRefusal::Keep => format!(
                        "{found}: it may go on forwarding, so the tables in force stay, lost ways included, until it \
                         answers, or OpenSM has taken its links down"
                    ),
                    OnRefusal::Rewrite => format!(
                        "WARNING: {found}: it counts as dead, as `on_refusal: rewrite` wants it, and what it still sends is \
                         in NO proof"
                    ),
                }
            }
        };
        Some(Note { level: Level::Error, text })
    }

    /// Why `layers` of the settings goes unused where nothing is remembered, if it does.
    fn passed_over(&self, sight: &Sight) -> Option<Note> {
        self.config.layers.as_ref().filter(|_| self.memory.is_none() && self.levels.is_none())?;
        let why = match (sight.fabric.has_both_halves(), sight.lanes) {
            (true, _) => "LMC is above 0, and levels are proved for one LID of each port only",
            (false, 0 | 1) => "OpenSM offers one data lane: see `qos`, `qos_sl2vl` and the VLs of all links",
            (false, _) => return None,
        };
        let text = format!("`layers` of the settings goes unused, and all is on one lane: {why}");
        Some(Note { level: Level::Error, text })
    }

    /// A switch does not report its table: what was handed over last is written to its end.
    fn without(&mut self, switch: &str, sight: &Sight) -> Result<RunAnswer, RunFailure> {
        let Some(memory) = &self.memory else { return Err(RunFailure::Silent { switch: switch.to_string() }) };
        let lfts = carried(&memory.fabric, &memory.lfts, &sight.fabric, &sight.lfts);
        let lfts = self.written_as(&sight.fabric, lfts);
        self.since = None;
        let text = format!("{switch} does not report its forwarding table: the last tables are written again");
        let notes = vec![Note { level: Level::Error, text }];
        Ok(RunAnswer { notes, ..self.answer(RunOutcome::Repeated, lfts, String::new(), None) })
    }

    /// The last wave was not written to its end: each mixture of before and after it is proved, so it is written again.
    fn finished(&mut self, sight: &Sight) -> RunAnswer {
        let memory = self.memory.as_ref().expect("what is unfinished was begun");
        let lfts = carried(&memory.fabric, &memory.lfts, &sight.fabric, &sight.lfts);
        let lfts = self.written_as(&sight.fabric, lfts);
        // Until now switches have sent by entries of before.
        self.since = None;
        let again = self.again(false);
        self.answer(
            RunOutcome::Repeated,
            lfts,
            "the last tables were not written everywhere: they are written again".to_string(),
            again,
        )
    }

    /// The subnet as it is found: after a start, a handover, or when somebody else wrote; or, where it is `known` what
    /// was in force, with tables that do not serve everything.
    fn found(
        &mut self,
        sight: &Sight,
        why: Option<&str>,
        known: Option<&ThenAndNow>,
        now: Duration,
    ) -> Result<RunAnswer, RunFailure> {
        self.handover = None;
        if known.is_none() {
            self.since = Some(now);
        }
        let cause = why.map(|why| format!(" ({why})")).unwrap_or_default();
        if sight.lfts.iter().all(|lft| lft.routes().next().is_none()) {
            match plans::brought_up(&self.engines, sight, self.most()) {
                Ok(found) => return Ok(self.bring_up(found, &cause)),
                // On one lane all can be planned, too.
                Err(why) if sight.lanes.min(self.most()) > 1 => return Err(RunFailure::Refused(why)),
                Err(_) => {}
            }
        }
        if is_empty(sight) && self.levels.is_none() {
            return match plans::from_nothing(&*self.engines.listed, sight) {
                Ok(plan) => Ok(self.begin(
                    RunOutcome::BroughtUp,
                    sight,
                    Handover::of(plan).at_once(),
                    now,
                    &format!("nothing is in force{cause}"),
                )),
                Err(why) => Err(RunFailure::Refused(why)),
            };
        }
        let refusal = match plans::prove_in_force(sight) {
            Ok(_) => {
                return Ok(self.hold(
                    RunOutcome::Adopted,
                    sight,
                    format!("the tables in force are adopted: they are proved{cause}"),
                ));
            }
            Err(refusal) => refusal.to_string(),
        };
        match plans::mended(&*self.engines.listed, sight) {
            Ok(plan) => {
                let first = refusal.lines().next().unwrap_or_default();
                let what = format!("the tables in force are mended{cause}: {first}");
                let mut handover = Handover::of(plan);
                if known.is_some_and(|known| {
                    Self::goes_with_what_is_under_way(known, self.ways(&known.whole), sight, &handover)
                }) {
                    handover = handover.at_once();
                }
                Ok(self.begin(RunOutcome::Mended, sight, handover, now, &what))
            }
            Err(why) => self.refused(sight, &why),
        }
    }

    /// Tables that are proved by themselves, where no switch has an entry.
    fn bring_up(&mut self, found: FirstTables, cause: &str) -> RunAnswer {
        let FirstTables { sight, lfts, levels, proof } = found;
        self.since = None;
        self.levels = levels.map(Arc::new);
        self.remember(&sight, &lfts, None);
        let on = match (&self.levels, &self.config.layers) {
            (Some(levels), _) => format!("; hosts send on {} service levels", levels.layers()),
            (None, Some(_)) => "; on one lane".to_string(),
            (None, None) => String::new(),
        };
        let text = format!("nothing is in force{cause}; 1 wave, every mixture proved{}{on}", counted(&proof));
        let accepted = Some(Accepted::BringUp { sight: Box::new(sight), lfts: lfts.clone() });
        RunAnswer { accepted, ..self.answer(RunOutcome::BroughtUp, lfts, text, self.again(true)) }
    }

    /// Whether the first wave is proved beside all that what was in force can have sent.
    fn goes_with_what_is_under_way(known: &ThenAndNow, ways: LayeredWays, sight: &Sight, handover: &Handover) -> bool {
        handover.next().is_some_and(|step| {
            let planned = &handover.plan.plan().draft().before;
            let wanted = carried(planned, &step.lfts, &sight.fabric, &sight.lfts);
            let wanted = carried(&sight.fabric, &wanted, &known.now, &known.lfts);
            plans::prove_beside(known, &wanted, ways).is_ok()
        })
    }

    /// Whether a wave is left of the change that was begun for what is there.
    fn is_amid(&self, sight: &Sight) -> bool {
        let seen = self.memory.as_ref().is_some_and(|memory| memory.sees_the_same(&sight.fabric));
        seen && self.handover.as_ref().is_some_and(|handover| !handover.is_over())
    }

    /// How long packets can still be on their way that were sent before the tables in force were: none of them is in
    /// the proof of the next change (PROTOCOL.md, W.3 and W.9).
    fn lingers(&self, sight: &Sight, now: Duration) -> Duration {
        let before = self.memory.as_ref().map_or(&sight.fabric, |memory| &memory.fabric);
        let rounds = plans::rounds_to_age(before, sight);
        wait(rounds, sight.life_time, now.saturating_sub(self.since.unwrap_or(now)))
    }

    /// Something was lost, or has come.
    fn changed(&mut self, sight: &Sight, found: &ThenAndNow, now: Duration) -> Result<RunAnswer, RunFailure> {
        let is_rest = self.memory.as_ref().is_some_and(|own| own.has_rest && own.sees_the_same(&sight.fabric));
        if is_rest {
            let lingers = self.lingers(sight, now);
            if lingers > Duration::ZERO {
                let text = format!("the rest waits {} ms, until what was sent before has left", lingers.as_millis());
                let again = Some(Again::Later(lingers));
                return Ok(self.answer(RunOutcome::WentOn, sight.lfts.clone(), text, again));
            }
        }
        self.handover = None;
        // A cable alone needs no new way, and nobody is led over it before it carries data.
        if !found.lost && !found.has_new_nodes() && plans::prove_in_force(sight).is_ok() {
            self.renewal = self.config.renew;
            let text = "something has come that nothing leads over yet; the tables in force stay, and are proved";
            let held = self.hold(RunOutcome::Changed, sight, text.to_string());
            return Ok(RunAnswer { again: self.again(true), ..held });
        }
        if found.lost && !is_rest {
            self.since = Some(now);
        }
        let both = found.lost && found.gained;
        let surviving = if both { Arc::new(common(&found.before, &found.now)) } else { found.now.clone() };
        let base = self.base.get();
        let plan_on = |ways: LayeredWays| {
            let from = plans::in_force(found.before.clone(), found.lfts.clone(), found.sm, ways);
            plans::changed(&*self.engines.listed, from, surviving.clone(), base, !found.gained)
        };
        let plan = plan_on(self.ways(&found.whole));
        let (plan, levels) = self.on_another_layer(found, plan, plan_on);
        let what = match (found.lost, found.gained) {
            (true, true) => "something was lost, and what has come is served in the next run",
            (true, false) => "something was lost",
            (false, _) => "something has come",
        };
        let what = &match (found.lost && base.is_none(), self.has_rest()) {
            (_, true) => format!("the rest: {what}"),
            (true, false) => format!("{what}{TOO_SOON}"),
            (false, false) => what.to_string(),
        };
        self.levels = levels;
        match plan {
            Ok(plan) => {
                let routed = both.then(|| found.before.clone());
                self.renewal = self.config.renew;
                let mut handover = Handover::of(plan);
                handover.routed = routed;
                Ok(self.begin(RunOutcome::Changed, sight, handover, now, what))
            }
            // The tables before did not serve everything, or are not safe by themselves.
            Err(NoPlan::Change(why)) if matches!(*why, ChangeError::Old(_)) => {
                self.found(sight, Some(what), Some(found), now)
            }
            Err(why) => self.refused(sight, &why),
        }
    }

    /// The first plan that is proved with all of a new switch on one layer after the other, and its levels: nobody has
    /// been told any yet. Without a new switch the plan as it is.
    fn on_another_layer(
        &self,
        found: &ThenAndNow,
        plan: Result<Arc<Vetted>, NoPlan>,
        plan_on: impl Fn(LayeredWays) -> Result<Arc<Vetted>, NoPlan>,
    ) -> (Result<Arc<Vetted>, NoPlan>, Option<Arc<GivenLevels>>) {
        let known = self.known.as_ref().filter(|known| plan.is_err() && known.lacks_switch_of(&found.now));
        let Some(known) = known else { return (plan, self.levels.clone()) };
        let others = (1..known.layers()).find_map(|layer| {
            let levels = known.extended(&found.whole, layer);
            plan_on(Some(levels.ways(&found.whole))).ok().map(|plan| (Ok(plan), Some(Arc::new(levels))))
        });
        others.unwrap_or_else(|| (plan, self.levels.clone()))
    }

    /// The subnet is as it was left.
    fn unchanged(&mut self, sight: &Sight, now: Duration) -> RunAnswer {
        if !self.renewal {
            return self.hold(RunOutcome::Stayed, sight, "the tables in force stay".to_string());
        }
        let lingers = self.lingers(sight, now);
        if lingers > Duration::ZERO {
            let text = format!("renewal waits {} ms, until what was sent before has left", lingers.as_millis());
            return RunAnswer { again: Some(Again::Later(lingers)), ..self.hold(RunOutcome::Stayed, sight, text) };
        }
        self.renewal = false;
        match plans::renewed(&self.engines, sight, self.levels.as_deref()) {
            Ok(Some(plan)) => {
                // Until nothing is gained by it any more.
                self.renewal = true;
                self.begin(RunOutcome::Renewed, sight, Handover::of(plan), now, "ways are shortened and loads spread")
            }
            Ok(None) => self.hold(
                RunOutcome::Stayed,
                sight,
                "the tables in force stay: nothing is gained by others".to_string(),
            ),
            Err(why) => self.hold(
                RunOutcome::Stayed,
                sight,
                format!("the tables in force stay: {}", first_line(&why.to_string())),
            ),
        }
    }

    fn begin(
        &mut self,
        outcome: RunOutcome,
        sight: &Sight,
        handover: Handover,
        now: Duration,
        what: &str,
    ) -> RunAnswer {
        let plan = handover.plan.clone();
        let waves = match handover.left() {
            0 => "no table changes".to_string(),
            1 => "1 wave, every mixture proved".to_string(),
            waves => format!("{waves} waves, every mixture proved"),
        };
        let proof = plan.proof().filter(|proof| proof.lanes > 0);
        let rest = if plan.plan().leads_into_loss() { REST } else { "" };
        let text = format!("{what}; {waves}{}{rest}", proof.map(counted).unwrap_or_default());
        self.handover = Some(handover);
        // A plan that writes nothing at all is no evidence of anything.
        let accepted = Some(plan).filter(|plan| !plan.plan().waves().is_empty()).map(Accepted::Plan);
        RunAnswer { accepted, ..self.go_on(outcome, sight, now, vec![Note { level: Level::Info, text }]) }
    }

    /// The next wave of the handover, or what is in force until it may be written.
    fn go_on(&mut self, outcome: RunOutcome, sight: &Sight, now: Duration, mut notes: Vec<Note>) -> RunAnswer {
        let handover = self.handover.as_mut().expect("a handover was begun");
        let plan = handover.plan.clone();
        let (lfts, more_follows) = match handover.next() {
            None => {
                let lfts = owned(&sight.fabric, sight.lfts.clone());
                self.remember(sight, &lfts, None);
                (lfts, false)
            }
            Some(step) => {
                let wait = wait(step.rounds, sight.life_time, now.saturating_sub(self.since.unwrap_or(now)));
                if wait > Duration::ZERO {
                    let text =
                        format!("the next tables wait {} ms, until what was sent before has left", wait.as_millis());
                    let held = self.hold(outcome, sight, text);
                    notes.extend(held.notes);
                    return RunAnswer { notes, again: Some(Again::Later(wait)), ..held };
                }
                let planned = &plan.plan().draft().before;
                let lfts = carried(planned, &step.lfts, &sight.fabric, &sight.lfts);
                // What leads into a loss stays, so that it is the routing of what there was before.
                let (lfts, before) = match plan.plan().leads_into_loss() {
                    true => (lfts, Some((planned.clone(), step.lfts.clone()))),
                    false => (owned(&sight.fabric, lfts), None),
                };
                let turns_back = plan.plan().draft().assumptions.contains(&Assumption::TurnedBackIsDiscarded);
                let first = part(&sight.fabric, [&sight.lfts, &lfts], turns_back);
                let is_part = first.is_some();
                let (lfts, text) = match first {
                    Some(first) => {
                        handover.has_waited();
                        let text = "part of the wave is handed over, so that no way that is given is taken back";
                        (first, format!("{text}; {} are left", handover.left()))
                    }
                    None => {
                        handover.advance();
                        (lfts, format!("the next wave of the plan is handed over; {} are left", handover.left()))
                    }
                };
                let more_follows = handover.next().is_some_and(|next| next.rounds == 0);
                self.since = None;
                if notes.is_empty() || is_part {
                    notes.push(Note { level: Level::Info, text });
                }
                self.remember(sight, &lfts, before);
                (lfts, more_follows)
            }
        };
        let again = self.again(true);
        RunAnswer { notes, more_follows, ..self.answer(outcome, lfts, String::new(), again) }
    }

    /// When the next run is wanted.
    fn again(&self, renews: bool) -> Option<Again> {
        match &self.handover {
            Some(handover) if !handover.is_over() => Some(Again::Written),
            // What is still lost is found by the next run.
            Some(_) if self.has_rest() => Some(Again::Written),
            // Ports of what has come and waits carry data then.
            Some(handover) if handover.routed.is_some() => Some(Again::Up),
            _ => (renews && self.renewal && self.config.renew).then_some(Again::Up),
        }
    }

    fn hold(&mut self, outcome: RunOutcome, sight: &Sight, text: String) -> RunAnswer {
        let lfts = owned(&sight.fabric, sight.lfts.clone());
        self.remember(sight, &lfts, None);
        self.answer(outcome, lfts, text, None)
    }

    fn answer(&self, outcome: RunOutcome, lfts: Vec<Arc<Lft>>, text: String, again: Option<Again>) -> RunAnswer {
        let notes = vec![Note { level: Level::Info, text }];
        RunAnswer { outcome, writes: false, lfts, notes, more_follows: false, again, accepted: None }
    }

    /// What is handed over. Where rows still lead into what has died it is the routing of what there was `before`, of
    /// which tables are given for the nodes that are gone.
    fn remember(&mut self, sight: &Sight, lfts: &[Arc<Lft>], before: Option<(Arc<Fabric>, Vec<Arc<Lft>>)>) {
        let (seen, earlier, lfts) = (sight.fabric.clone(), sight.lfts.clone(), lfts.to_vec());
        let routed = self.handover.as_ref().and_then(|handover| handover.routed.as_ref());
        let fabric = routed.map_or_else(|| seen.clone(), |routed| Arc::new(common(&seen, routed)));
        let ways = self.ways(&seen);
        self.unicast = Some(Unicast { fabric: fabric.clone(), earlier: earlier.clone(), lfts: lfts.clone(), ways });
        self.memory = Some(match before {
            None => Memory { fabric, seen, lfts, earlier, has_rest: false },
            Some((before, own)) => {
                let [lfts, earlier] = [lfts, earlier].map(|lfts| carried(&seen, &lfts, &before, &own));
                Memory { fabric: before, seen, lfts, earlier, has_rest: true }
            }
        });
    }

    /// Nothing in place is proved: what the settings want, with the reason in the log, run after run.
    fn refused(&mut self, sight: &Sight, why: &NoPlan) -> Result<RunAnswer, RunFailure> {
        (self.memory, self.handover) = (None, None);
        // What was thought of for what has come is not given out.
        self.levels = self.known.take().or(self.levels.take());
        let note = |text| vec![Note { level: Level::Error, text }];
        let kept = self.answer(RunOutcome::Kept, sight.lfts.clone(), String::new(), None);
        match self.config.on_refusal {
            OnRefusal::Keep => {
                let text =
                    format!("no change in place is proved, so the tables in force stay, lost ways included: {why}");
                Ok(RunAnswer { notes: note(text), ..kept })
            }
            OnRefusal::Rewrite => {
                let (lfts, levels) =
                    plans::rewritten(&self.engines, sight, self.most()).map_err(RunFailure::Refused)?;
                let asked = if levels.is_some() || self.levels.is_some() {
                    " (service levels too: hosts must ask for their paths again)"
                } else {
                    ""
                };
                self.levels = levels.map(Arc::new);
                let text = format!(
                    "WARNING: all tables are rewritten and NOT proved, as `on_refusal: rewrite` wants it{asked}: {why}"
                );
                Ok(RunAnswer { outcome: RunOutcome::Rewritten, lfts, notes: note(text), ..kept })
            }
        }
    }
}

/// Tables without entries for LIDs that nobody owns: those of what has died. Sources go on sending there, and no later
/// change is proved beside ways that lead to nobody. Without them packets are discarded sooner, and nothing else
/// changes.
fn owned(fabric: &Fabric, mut lfts: Vec<Arc<Lft>>) -> Vec<Arc<Lft>> {
    for lft in &mut lfts {
        let strays: Vec<Lid> =
            lft.routes().map(|(lid, _)| lid).filter(|&lid| fabric.lid_owner(lid).is_none()).collect();
        if !strays.is_empty() {
            let own = Arc::make_mut(lft);
            strays.into_iter().for_each(|lid| own.set(lid, PortNum::NO_ROUTE));
        }
    }
    lfts
}

/// How long a wave that must wait so many rounds still has to.
fn wait(rounds: u32, life_time: u8, waited: Duration) -> Duration {
    // Where nothing limits how long a packet stands in a switch, the longest limit there is.
    let longest = life(life_time).or(life(19)).unwrap_or_default();
    (longest * rounds).saturating_sub(waited)
}

/// What a proof covers.
fn counted(proof: &ProofStatistics) -> String {
    format!(" ({} dependencies of {} lanes)", proof.dependencies, proof.lanes)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Whether no switch leads a packet of a host anywhere.
fn is_empty(sight: &Sight) -> bool {
    let fabric = &sight.fabric;
    let is_host = |port| !fabric.node(fabric.port(port).node).is_switch();
    let mut routes = fabric.switches().flat_map(|switch| sight.lfts[switch.index()].routes());
    !routes.any(|(lid, _)| fabric.lid_owner(lid).is_some_and(is_host))
}
