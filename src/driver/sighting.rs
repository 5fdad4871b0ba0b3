//! The results of sweeps and glances, compared with the fabric that the driver knows.

use super::shortfall::{self, Shortfall};
use super::{Driver, DriverError, PhaseRecord, Running};
use crate::change;
use crate::fabric::difference::{self, AlignError, Recognised, common, lacks, restricted};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::machine::{Event, State};
use crate::plan::{Lanes, Observer, Policy};
use crate::subnet::{Discovered, Glance, SubnetManager, WriteOrder};
use crate::tables::{NodeSlToVl, PortState, Write};
use std::borrow::Cow;
use std::sync::Arc;

/// Limit on consecutive sweeps if events occur during each.
const SWEEPS: usize = 4;

/// The result of a sweep. Its known part is in [`Running::alive`].
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The sweeps that it took.
    pub record: PhaseRecord,
    /// The subnet as found, in indices of its own.
    pub discovered: Discovered,
    /// What known devices came back without: these count as not found.
    pub shortfalls: Vec<Shortfall>,
    /// The first unknown element found that is not behind such a device. It can be served once the driver knows it
    /// ([`Driver::widen`]).
    pub stranger: Option<AlignError>,
}

impl Sighting {
    /// The subnet as found, without known devices that fall short, and without what nothing else leads to.
    pub fn usable(&self) -> Cow<'_, Fabric> {
        shortfall::without(&self.discovered, &self.shortfalls)
    }
}

impl<S: SubnetManager> Driver<S> {
    /// Sweeps until a sweep passes without events, and records its result as the present subnet.
    ///
    /// # Errors
    /// The sweep failed, or a neighbour of a silent device kept its link up; `running` is then unchanged.
    pub async fn look(&mut self) -> Result<Sighting, DriverError> {
        let sighting = self.look_or_restore(false).await?;
        Ok(sighting.expect("only a look that an event may end ends before its time"))
    }

    /// Sweeps like [`Driver::look`], but an event during a sweep is followed by a glance at once. Returns `None` if the
    /// glance finds a loss of something that the routing in force uses. Only that loss is recorded then, and a sweep
    /// must follow the change.
    ///
    /// # Errors
    /// Those of [`Driver::look`].
    pub async fn look_until_event(&mut self) -> Result<Option<Sighting>, DriverError> {
        self.look_or_restore(true).await
    }

    async fn look_or_restore(&mut self, until_event: bool) -> Result<Option<Sighting>, DriverError> {
        let before = self.running.alive.clone();
        let sighting = self.sweep(until_event).await;
        if sighting.is_err() {
            self.subnet.set_topology(&before, self.running.sm);
            self.running.alive = before;
        }
        sighting
    }

    async fn sweep(&mut self, until_event: bool) -> Result<Option<Sighting>, DriverError> {
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        let mut sweeps = 0;
        loop {
            // Events from before the sweep: the sweep itself shows what they report.
            while self.subnet.pending_event().is_some() {}
            let discovered = match until_event && sweeps + 1 < SWEEPS {
                true => self.subnet.discover_until_event().await?,
                false => Some(self.subnet.discover().await?),
            };
            let Some(discovered) = discovered else {
                sweeps += 1;
                if self.glance().await?.is_some() {
                    return Ok(None);
                }
                continue;
            };
            discovered.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
            let shortfalls = shortfall::shortfalls(&self.running, &discovered);
            let usable = shortfall::without(&discovered, &shortfalls);
            let Recognised { mut alive, stranger } = difference::recognise(&self.running.known, &usable);
            drop(usable);
            if stranger.is_some() {
                // What only a stranger leads to comes with it: until then no path leads there.
                alive = change::within_reach(&alive, self.running.sm);
            }
            self.subnet.set_topology(&alive, self.running.sm);
            self.running.alive = Arc::new(alive);
            sweeps += 1;
            let event = self.subnet.pending_event();
            // A lost SMP looks like a lost switch. Mistaking a switch for dead costs a change; another sweep costs
            // less.
            let silent = !discovered.notices.is_empty() && self.running.has_lost_something();
            match (sweeps < SWEEPS, event) {
                (true, Some(event)) => tracing::debug!(?event, "the subnet changed during the sweep"),
                // Silence is no proof of a loss: sweep again.
                (true, None) if silent => {}
                (_, event) => {
                    self.take_down(&discovered).await?;
                    self.noticed |= event.is_some();
                    let (end_ns, smps) = (self.subnet.now_ns(), self.subnet.smps().since(&before));
                    let record = PhaseRecord { name: "sweep", start_ns, end_ns, smps };
                    return Ok(Some(Sighting { record, discovered, shortfalls, stranger }));
                }
            }
        }
    }

    /// Takes down the links of the routing in force behind which no device answers, and all to devices that are left
    /// out, at the ends that answer. A device with a silent agent may forward and send as before; only now nothing
    /// passes between it and the rest, and it counts as gone (C.5). So it is with a device that never answered, where
    /// barriers wait for tokens: it would send none.
    async fn take_down(&mut self, discovered: &Discovered) -> Result<(), DriverError> {
        let Running { routed, alive, .. } = &self.running;
        let (alive, found) = (alive.clone(), &discovered.fabric);
        // Behind a stranger no port can be asked yet, and none is in use.
        let in_reach = |port: &PortId| alive.node(alive.port(*port).node).present;
        let known = |port: &PortId| alive.port_named(found.port_name(*port)).filter(in_reach);
        let by_tokens = self.intent.policy.observer != Observer::Lifetime;
        let is_lost = |port: &PortId| alive.peer(*port).is_none() && (by_tokens || routed.peer(*port).is_some());
        let mut ports: Vec<PortId> = discovered.silent.iter().filter_map(known).filter(is_lost).collect();
        for &port in &ports {
            tracing::warn!(
                port = alive.describe_port(port),
                "the far end of this link does not answer, and the link is up: taken down"
            );
        }
        // A newcomer that failed at something has an ARMED link: packets that it sends would stand there.
        ports.extend(discovered.to_left_out.iter().filter_map(known));
        if ports.is_empty() {
            return Ok(());
        }
        self.subnet.apply(&alive, &Write::links_down(&ports), WriteOrder::Any).await?;
        Ok(())
    }

    /// Looks whether something of the known subnet is gone, at the cost of a few SMPs. If it is, that alone is
    /// recorded: a sweep must follow the change, for whatever else there is to find. None where nothing that the
    /// routing in force uses is gone, or only a sweep can tell.
    ///
    /// # Errors
    /// The SM's own port failed.
    pub async fn glance(&mut self) -> Result<Option<PhaseRecord>, DriverError> {
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        // Traps from before: what they report is looked at now.
        while self.subnet.pending_event().is_some() {}
        let Glance::Less(alive) = self.subnet.glance().await? else { return Ok(None) };
        self.set_alive(alive);
        // For the sweep after the change.
        self.noticed = true;
        let (end_ns, smps) = (self.subnet.now_ns(), self.subnet.smps().since(&before));
        let record = PhaseRecord { name: "glance", start_ns, end_ns, smps };
        Ok(self.running.has_lost_something().then_some(record))
    }

    /// Looks for losses by a glance, or by a sweep where a glance does not suffice, and records what is left. Returns
    /// whether something that the routing in force uses is gone.
    ///
    /// # Errors
    /// Those of [`Driver::look`].
    pub async fn finds_a_loss(&mut self) -> Result<bool, DriverError> {
        while self.subnet.pending_event().is_some() {}
        match self.subnet.glance().await? {
            Glance::Same => return Ok(false),
            Glance::Less(alive) => self.set_alive(alive),
            Glance::Unsure => drop(self.look().await?),
        }
        // For the sweep after the change.
        self.noticed = true;
        Ok(self.running.has_lost_something())
    }

    /// Records what a glance has found to be left.
    fn set_alive(&mut self, alive: Fabric) {
        self.subnet.set_topology(&alive, self.running.sm);
        self.running.alive = Arc::new(alive);
    }

    /// Sweeps during a change, and returns what the machine is to know of what it finds, if anything. Neither a failed
    /// sweep nor an arrival stops the change; an arrival is remembered. After a command that `failed` nothing less than
    /// a sweep will do: a device that is silent behind a link that is up shows in nothing else.
    pub(super) async fn look_during_change(&mut self, failed: bool) -> Result<Option<Event>, DriverError> {
        match if failed { Glance::Unsure } else { self.subnet.glance().await? } {
            Glance::Unsure => {}
            // For the sweep after the change: something may have come.
            Glance::Same => {
                self.noticed = true;
                return Ok(None);
            }
            Glance::Less(alive) => {
                self.set_alive(alive);
                self.noticed = true;
                return Ok(Some(Event::TopologyChanged));
            }
        }
        let before = self.running.alive.clone();
        match self.look().await {
            // Losses during the change excuse writes, and may call the change off. Newcomers wait for the next change.
            Ok(sighting) => {
                match self.take_on_bounced(&sighting.discovered, failed).await {
                    Err(DriverError::Subnet(error)) if error.is_fatal() => return Err(error.into()),
                    Err(error) => tracing::warn!(%error, "taking links into use again that bounced"),
                    Ok(false) => return Ok(Some(Event::Unfinishable)),
                    Ok(true) => {}
                }
                let comes = sighting.stranger.is_some() || !sighting.shortfalls.is_empty();
                self.noticed |= comes || lacks(&before, &self.running.alive);
                Ok(lacks(&self.running.alive, &before).then_some(Event::TopologyChanged))
            }
            Err(DriverError::Subnet(error)) if error.is_fatal() => Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "looking at the subnet during a change");
                Ok(None)
            }
        }
    }

    /// During a change, takes cables whose ports went down and returned into use again, where their devices have lost
    /// nothing; the others count as gone. The same holds for those that the wave in hand makes ACTIVE, where a write of
    /// it has `failed`: they were ARMED before the change was planned. Returns whether that can be.
    async fn take_on_bounced(&mut self, discovered: &Discovered, failed: bool) -> Result<bool, DriverError> {
        let starts = failed && !matches!(self.state, State::CallingOff(..));
        let [held, wanted] = match self.state.progress() {
            Some(progress) => {
                let (plan, wave) = (progress.plan(), progress.wave());
                [wave, wave + 1].map(|wave| &plan.tables_at(wave).port_states)
            }
            // After the last wave.
            None => [&self.running.tables.port_states; 2],
        };
        let carries = |port: PortId| {
            let is_active = |states: &[PortState]| states[port.index()] == PortState::Active;
            is_active(held) || starts && is_active(wanted)
        };
        let bounced = bounced(&self.running.alive, self.running.sm, discovered, carries);
        let Some(BouncedCables { again, rest }) = bounced else { return Ok(false) };
        // What is not right with them yet, or comes back, the sweep after the change sees to.
        self.noticed |= !again.is_empty() || rest.is_some();
        if let Some(rest) = rest {
            self.subnet.set_topology(&rest, self.running.sm);
            self.running.alive = Arc::new(rest);
        }
        let alive = self.running.alive.clone();
        for state in [PortState::Armed, PortState::Active] {
            let writes: Vec<Write> = again.iter().map(|&port| Write::PortState { port, state }).collect();
            if !writes.is_empty() {
                self.subnet.apply(&alive, &writes, WriteOrder::Any).await?;
            }
        }
        Ok(true)
    }
}

/// Cables that are to carry data, and whose ports went down and returned: these are in INITIALIZE, and until a manager
/// takes them on from there, no packet and no token passes.
pub(super) struct BouncedCables {
    /// Both ends of those whose devices carry data elsewhere, or are the manager's own: these have lost nothing.
    pub again: Vec<PortId>,
    /// The known subnet without the others, whose devices may have been switched off and on, and have lost every table;
    /// none if there are none.
    pub rest: Option<Fabric>,
}

/// The cables that bounced though their ports are to `carry` data; none if the manager's own is among those that cannot
/// be taken into use again. It cannot count as gone: without it there would be no subnet.
pub(super) fn bounced(
    alive: &Fabric,
    sm: PortId,
    discovered: &Discovered,
    carry: impl Fn(PortId) -> bool,
) -> Option<BouncedCables> {
    let found = &discovered.fabric;
    let state = |port: PortId| {
        let port = found.port_named(alive.port_name(port))?;
        Some(discovered.port_states[port.index()])
    };
    let is_fresh = |port: PortId| state(port) == Some(PortState::Initialize);
    let has_bounced = |&(a, b): &(PortId, PortId)| carry(a) && carry(b) && (is_fresh(a) || is_fresh(b));
    let has_lost_nothing = |end: PortId| {
        let node = alive.port(end).node;
        // Through other ports: a far end that still reads ACTIVE says nothing of its device.
        let carries =
            |port: PortId| port != end && alive.peer(port).is_some() && state(port) == Some(PortState::Active);
        node == alive.port(sm).node || alive.ports_of(node).any(carries)
    };
    let (again, gone): (Vec<_>, Vec<_>) =
        alive.links().filter(has_bounced).partition(|&(a, b)| has_lost_nothing(a) && has_lost_nothing(b));
    let has_own = |cables: &[(PortId, PortId)]| cables.iter().any(|&(a, b)| a == sm || b == sm);
    let is_down = is_fresh(sm) && carry(sm);
    if has_own(&gone) || is_down && !has_own(&again) {
        return None;
    }
    for (cables, what) in [(&again, "they are taken into use again"), (&gone, "it goes on without them")] {
        if let Some(&(first, _)) = cables.first() {
            let port = alive.describe_port(first);
            tracing::warn!(cables = cables.len(), port, "links bounced during a change: {what}");
        }
    }
    let gone: Vec<PortId> = gone.into_iter().flat_map(|(a, b)| [a, b]).collect();
    let rest = (!gone.is_empty()).then(|| change::within_reach(&alive.without_links(&gone), sm));
    // Beyond what is gone nothing can be written.
    let reached = rest.as_ref().unwrap_or(alive);
    let again = again.into_iter().flat_map(|(a, b)| [a, b]).filter(|&port| reached.peer(port).is_some()).collect();
    Some(BouncedCables { again, rest })
}

impl Running {
    /// Whether a node or cable that the routing in force uses is gone.
    pub fn has_lost_something(&self) -> bool {
        lacks(&self.alive, &self.routed)
    }

    /// This state with a larger known fabric: `whole` begins with the known nodes and ports, and may lack cables that
    /// the routing in force does not use.
    pub(super) fn widened(&self, whole: Arc<Fabric>, policy: &Policy) -> Running {
        let of = |part: &Fabric| {
            let node = |id: NodeId| id.index() < part.node_count() && part.node(id).present;
            let link = |id: PortId| id.index() < part.port_count() && part.peer(id) == whole.peer(id);
            Arc::new(restricted(&whole, node, link))
        };
        let mut tables = self.tables.clone();
        let (nodes, ports) = (whole.node_count(), whole.port_count());
        // The tables of newcomers are unknown (G.2). Their lanes are recorded as bring-up will leave them, their ports
        // as not yet up.
        let steady = Arc::new(NodeSlToVl::Uniform(Lanes::steady_table(&self.routed, policy)));
        tables.lfts.resize_with(nodes, Arc::default);
        tables.sl_to_vl.resize(nodes, steady);
        tables.sending.resize(ports, self.half);
        tables.port_states.resize(ports, PortState::Initialize);
        Running { routed: of(&self.routed), alive: of(&self.alive), known: whole, tables, ..self.clone() }
    }

    /// The next target of the routing: after a loss, the rest of what is routed; otherwise all that is present, without
    /// what `aside` removes. None if the routing in force already serves exactly that.
    pub fn wanted(&self, aside: impl Fn(&Fabric) -> Fabric) -> Option<Fabric> {
        if self.has_lost_something() {
            return Some(common(&self.alive, &self.routed));
        }
        // A device that only what is set aside joins is present, and no change can bring it back.
        let wanted = change::within_reach(&aside(&self.alive), self.sm);
        lacks(&self.routed, &wanted).then_some(wanted)
    }

    /// The fabric of the routing in force without lost elements and those that `aside` removes; `None` if the routing
    /// uses none of them.
    pub fn less(&self, aside: impl Fn(&Fabric) -> Fabric) -> Option<Fabric> {
        let usable = change::within_reach(&aside(&self.alive), self.sm);
        lacks(&usable, &self.routed).then(|| common(&usable, &self.routed))
    }

    /// Whether a fabric has a node or cable that the routing in force does not serve.
    pub fn grows_to(&self, fabric: &Fabric) -> bool {
        lacks(&self.routed, fabric)
    }

    /// Whether a node or cable is present that the routing in force does not serve.
    pub fn has_grown(&self) -> bool {
        self.grows_to(&self.alive)
    }
}
