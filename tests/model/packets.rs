//! Packets and writes on a small fabric, every interleaving of them.
//!
//! A lane of a channel into a switch holds one packet. A packet that has come chooses its output and lane by the tables
//! of that moment, at once or later, and keeps its choice: whatever the moment at which switches latch, it is among
//! these. It moves when the lane that it chose is free. Sources inject whenever the lane is free, without end;
//! `in_flight` packets at most are under way at once, and `per_flow` of one flow. Writes of a wave land one by one in
//! any order. A wave ends when its barriers hold: by what is true of the state, not by who can see it.
//!
//! Steps that no other step can notice are taken at once: the choice of a packet that no write to come can change,
//! delivery (an end port takes what comes, so nobody waits for it for ever), and writes that no packet of the wave
//! meets. An end port queues without bound; where no write to come changes the lane, the queue is left out, since a
//! packet in it is a packet not yet injected. More is allowed than happens: sources send on the new half from the
//! beginning of the swap, told or not, and on the old half (replies included) until the drain's barrier.

use super::network::{Exit, Network, vl};
use super::search::Model;
use reconfig::ids::{Half, VlSet};
use reconfig::plan::{Barrier, Phase};
use reconfig::verify::Wait;

/// Packets under way at most, whatever the case asks for.
const MOST: usize = 6;
const UNLATCHED: u8 = u8::MAX;
/// In the place of a packet that waits in the send queue of its source; the lane is behind it.
const QUEUE: u16 = 0x8000;

/// One packet: where it stands, what it is of, what it chose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Packet {
    place: u16,
    flow: u8,
    latch: u8,
}

/// Nobody; last in order.
const NOBODY: Packet = Packet { place: u16::MAX, flow: u8::MAX, latch: UNLATCHED };

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    landed: u64,
    /// In order, free places last.
    packets: [Packet; MOST],
    /// 0 before the failure, 1 in the first wave, and so on.
    stage: u8,
    lost: Option<Loss>,
}

/// What befell a packet in the last step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loss {
    /// Discarded by a switch.
    Dropped,
    /// Delivered to a port that does not own its DLID.
    Astray,
}

/// What must never be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Packets each of which has chosen the lane in which the next one stands.
    Deadlock(Vec<Wait>),
    /// The tables of this moment lead a packet round for ever.
    Loop,
    Lost(Loss),
    /// A packet between end ports that stay is in what is taken away, or latched for it, when the plan has ended.
    LeftBehind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// What is lost before the first wave is lost.
    Fail,
    Inject {
        flow: usize,
    },
    /// From the send queue to the first lane.
    Enter {
        flow: u8,
        vl: u8,
    },
    Latch {
        lane: u16,
    },
    Move {
        lane: u16,
    },
    Land {
        telling: usize,
    },
    /// The barriers of the wave hold; the next begins.
    Advance,
}

/// A network and how many packets may be under way.
pub struct Traffic {
    pub network: Network,
    pub in_flight: usize,
    pub per_flow: usize,
    vls: u8,
    /// By stage, then half: whether packets of it may be injected.
    injected: Vec<[bool; 2]>,
    /// By stage, then flow: whether its source may inject.
    sources: Vec<Vec<bool>>,
    /// By flow, before and after the failure: whether losing its packets for want of a route is the failure's doing.
    excused: Vec<[bool; 2]>,
}

/// What becomes of a packet that chooses now.
enum Choice {
    Takes(u8),
    Leaves,
    Lost(Loss),
}

impl Traffic {
    pub fn new(network: Network, in_flight: usize, per_flow: usize) -> Traffic {
        assert!(in_flight <= MOST, "{in_flight} packets, and {MOST} fit a state");
        let vls = network.plan.lanes().all.len() as u8;
        assert!(network.channels.len() * usize::from(vls) < usize::from(UNLATCHED), "lanes are told apart by one byte");
        let stages = 0..=network.plan.waves().len() + 1;
        let injected: Vec<[bool; 2]> = stages
            .clone()
            .map(|stage| [Half::Lower, Half::Upper].map(|half| is_injected(&network, half, stage)))
            .collect();
        let flows = 0..network.flows.len();
        let may = |stage: usize, flow: usize| {
            injected[stage][network.flows[flow].half.index()] && is_there(&network, flow, stage)
        };
        let sources = stages.map(|stage| flows.clone().map(|flow| may(stage, flow)).collect()).collect();
        let excused = flows.map(|flow| [0, 1].map(|stage| is_excused(&network, flow, stage))).collect();
        Traffic { network, in_flight, per_flow, vls, injected, sources, excused }
    }

    fn waves(&self) -> usize {
        self.network.plan.waves().len()
    }

    /// The wave under way; none before the failure and after the last.
    fn wave(&self, state: &State) -> Option<usize> {
        usize::from(state.stage).checked_sub(1).filter(|&wave| wave < self.waves())
    }

    fn under_way(state: &State) -> impl Iterator<Item = Packet> + '_ {
        state.packets.iter().copied().take_while(|packet| *packet != NOBODY)
    }

    fn occupant(state: &State, lane: u16) -> Option<Packet> {
        Self::under_way(state).find(|packet| packet.place == lane)
    }

    fn half(&self, packet: Packet) -> Half {
        self.network.flows[usize::from(packet.flow)].half
    }

    fn may_inject(&self, flow: usize, state: &State) -> bool {
        let own = Self::under_way(state).filter(|packet| usize::from(packet.flow) == flow).count();
        self.sources[usize::from(state.stage)][flow]
            && own < self.per_flow
            && Self::under_way(state).count() < self.in_flight
    }

    fn lane(&self, channel: usize, vl: u8) -> u8 {
        (channel * usize::from(self.vls)) as u8 + vl
    }

    fn channel(&self, lane: u16) -> usize {
        usize::from(lane) / usize::from(self.vls)
    }

    fn vl(&self, lane: u16) -> u8 {
        (lane % u16::from(self.vls)) as u8
    }

    /// Whether the cable of a channel is there and both its ports are ACTIVE.
    fn is_open(&self, channel: usize, flow: u8, state: &State) -> bool {
        let active = &self.network.crossing(channel, usize::from(flow)).active;
        (state.stage == 0 || !self.network.channels[channel].dies) && active.iter().all(|end| end.at(state.landed) == 1)
    }

    fn is_excused(&self, flow: u8, stage: u8) -> bool {
        self.excused[usize::from(flow)][usize::from(stage.min(1))]
    }

    /// What a packet chooses by the tables of this moment.
    fn choice(&self, state: &State, packet: Packet) -> Choice {
        let crossing = self.network.crossing(self.channel(packet.place), usize::from(packet.flow));
        let excused = self.is_excused(packet.flow, state.stage);
        let dropped = |excused: bool| if excused { Choice::Leaves } else { Choice::Lost(Loss::Dropped) };
        match crossing.exit(crossing.route.at(state.landed)) {
            Exit::Home => Choice::Leaves,
            Exit::Astray => Choice::Lost(Loss::Astray),
            Exit::Hole => dropped(excused),
            // Towards a cable that died the old entry loses packets to the failure, a new one to the change.
            Exit::Onward { channel, .. } if state.stage > 0 && self.network.channels[*channel].dies => {
                dropped(excused || crossing.route.is_first(state.landed))
            }
            Exit::Onward { channel, vl } => match vl.at(state.landed) {
                vl if vl < self.vls => Choice::Takes(self.lane(*channel, vl)),
                _ => dropped(excused),
            },
        }
    }

    /// Whether no write to come can change what a packet chooses.
    fn is_settled(&self, state: &State, packet: Packet) -> bool {
        let crossing = self.network.crossing(self.channel(packet.place), usize::from(packet.flow));
        let lane = match crossing.exit(crossing.route.at(state.landed)) {
            Exit::Onward { vl, .. } => vl.is_settled(state.landed),
            Exit::Home | Exit::Astray | Exit::Hole => true,
        };
        crossing.route.is_settled(state.landed) && lane
    }

    /// Takes the steps that no other step can notice, and puts the packets in order.
    fn settled(&self, mut state: State) -> State {
        for at in 0..MOST {
            let packet = state.packets[at];
            let chooses = packet.place < QUEUE && packet.latch == UNLATCHED;
            if chooses && self.is_settled(&state, packet) {
                self.choose(&mut state, at);
            }
        }
        state.packets.sort_unstable();
        state
    }

    fn choose(&self, state: &mut State, at: usize) {
        let packet = state.packets[at];
        match self.choice(state, packet) {
            Choice::Takes(lane) => state.packets[at].latch = lane,
            Choice::Leaves => state.packets[at] = NOBODY,
            Choice::Lost(loss) => (state.packets[at], state.lost) = (NOBODY, Some(loss)),
        }
    }

    /// The state with one packet of the list replaced.
    fn with(&self, state: &State, at: usize, packet: Packet) -> State {
        let mut next = *state;
        next.packets[at] = packet;
        self.settled(next)
    }

    fn inject(&self, state: &State, flow: usize) -> Option<State> {
        let (channel, entry) = &self.network.entries[flow];
        let vl = entry.at(state.landed);
        if vl >= self.vls || !self.is_open(*channel, flow as u8, state) {
            return None;
        }
        let lane = u16::from(self.lane(*channel, vl));
        let place = match entry.is_settled(state.landed) {
            true if Self::occupant(state, lane).is_some() => return None,
            true => lane,
            false => QUEUE | u16::from(vl),
        };
        let packet = Packet { place, flow: flow as u8, latch: UNLATCHED };
        Some(self.with(state, MOST - 1, packet))
    }

    /// The steps of the packet at one place in the list.
    fn packet_steps(&self, state: &State, at: usize, found: &mut Vec<(Step, State)>) {
        let packet = state.packets[at];
        let arrives = |lane: u8| self.with(state, at, Packet { place: u16::from(lane), latch: UNLATCHED, ..packet });
        let is_free = |lane: u8| Self::occupant(state, u16::from(lane)).is_none();
        let is_open = |lane: u8| self.is_open(self.channel(u16::from(lane)), packet.flow, state);
        let step = if packet.place & QUEUE != 0 {
            let vl = (packet.place & !QUEUE) as u8;
            let lane = self.lane(self.network.entries[usize::from(packet.flow)].0, vl);
            (is_open(lane) && is_free(lane)).then(|| (Step::Enter { flow: packet.flow, vl }, arrives(lane)))
        } else if packet.latch == UNLATCHED {
            let mut latched = *state;
            self.choose(&mut latched, at);
            Some((Step::Latch { lane: packet.place }, self.settled(latched)))
        } else if !is_open(packet.latch) {
            Some((Step::Move { lane: packet.place }, self.discarded(state, at)))
        } else {
            is_free(packet.latch).then(|| (Step::Move { lane: packet.place }, arrives(packet.latch)))
        };
        found.extend(step);
    }

    /// A port that is not ACTIVE discards what it is to send (IBA 7.2).
    fn discarded(&self, state: &State, at: usize) -> State {
        let excused = self.is_excused(state.packets[at].flow, state.stage);
        let lost = if excused { state.lost } else { Some(Loss::Dropped) };
        self.with(&State { lost, ..*state }, at, NOBODY)
    }

    /// The writes that may land: of the waves begun, and not landed yet.
    fn landings<'a>(&'a self, state: &'a State) -> impl Iterator<Item = usize> + 'a {
        let tellings = self.network.tellings.iter().enumerate();
        let begun = tellings.filter(|(_, telling)| telling.wave < usize::from(state.stage));
        begun.map(|(at, _)| at).filter(|at| state.landed >> at & 1 == 0)
    }

    /// Whether nothing stands in these lanes, nothing waits to be sent on them, and nothing is latched for them.
    fn is_empty(&self, state: &State, lanes: VlSet) -> bool {
        Self::under_way(state).all(|packet| {
            let stands = if packet.place & QUEUE != 0 { packet.place as u8 } else { self.vl(packet.place) };
            let waits = (packet.latch != UNLATCHED).then(|| self.vl(u16::from(packet.latch)));
            !lanes.contains(vl(stands)) && !waits.is_some_and(|waits| lanes.contains(vl(waits)))
        })
    }

    /// Whether a packet between end ports that stay stands in what leaves, or is latched for it.
    fn leaves_some_behind(&self, state: &State) -> bool {
        let leaves = |lane: u16| self.network.channels[self.channel(lane)].leaves;
        Self::under_way(state).filter(|packet| !self.is_excused(packet.flow, state.stage)).any(|packet| {
            let stands = packet.place < QUEUE && leaves(packet.place);
            stands || packet.latch != UNLATCHED && leaves(u16::from(packet.latch))
        })
    }

    fn holds(&self, state: &State, wave: usize, barrier: Barrier) -> bool {
        match barrier {
            Barrier::Acknowledged => self.landings(state).all(|at| self.network.tellings[at].wave != wave),
            Barrier::Flushed(lanes) | Barrier::Drained(lanes) => self.is_empty(state, lanes),
            Barrier::Vacated(_) => !self.leaves_some_behind(state),
            // Sources may send on the old half until the drain, so that this one is never missed.
            Barrier::SourcesMoved => true,
        }
    }

    fn advanced(&self, state: &State) -> Option<State> {
        let wave = self.wave(state)?;
        let passed = self.network.plan.waves()[wave].barriers.iter().all(|&barrier| self.holds(state, wave, barrier));
        passed.then(|| self.entered(state, state.stage + 1))
    }

    /// The state at the beginning of a stage.
    fn entered(&self, state: &State, stage: u8) -> State {
        let mut next = State { stage, ..*state };
        let wave = usize::from(stage).checked_sub(1).filter(|&wave| wave < self.waves());
        let waits = |wave: &usize| self.network.plan.waves()[*wave].barriers.contains(&Barrier::Acknowledged);
        let present = |half: Half| {
            self.injected[usize::from(stage)][half.index()]
                || Self::under_way(state).any(|packet| self.half(packet) == half)
        };
        let met = [Half::Lower, Half::Upper].map(present);
        if let Some(wave) = wave.filter(waits) {
            for (at, telling) in self.network.tellings.iter().enumerate().filter(|(_, told)| told.wave == wave) {
                let noticed = met.iter().zip(telling.seen).any(|(met, seen)| *met && seen);
                next.landed |= u64::from(!noticed) << at;
            }
        }
        self.settled(next)
    }

    /// What died takes its packets along, and those latched for it.
    fn failed(&self, state: &State) -> State {
        let mut next = *state;
        let dies = |lane: u16| self.network.channels[self.channel(lane)].dies;
        for packet in &mut next.packets {
            let queued = packet.place & QUEUE != 0;
            let source = self.network.entries.get(usize::from(packet.flow)).map(|entry| entry.0);
            let dead = match (queued, packet.latch) {
                _ if *packet == NOBODY => false,
                (true, _) => source.is_some_and(|source| self.network.channels[source].dies),
                (false, UNLATCHED) => dies(packet.place),
                (false, latch) => dies(packet.place) || dies(u16::from(latch)),
            };
            if dead {
                *packet = NOBODY;
            }
        }
        self.entered(&next, 1)
    }

    /// Packets each of which has chosen the lane in which the next one stands, from one of them round to itself.
    fn cycle(&self, state: &State) -> Option<Vec<Packet>> {
        let next = |packet: Packet| match packet.latch {
            UNLATCHED => None,
            latch => Self::occupant(state, u16::from(latch)),
        };
        Self::under_way(state).filter(|packet| packet.place & QUEUE == 0).find_map(|start| {
            let mut round = vec![start];
            while let Some(packet) = next(round[round.len() - 1]) {
                if packet == start {
                    return Some(round);
                }
                if round.contains(&packet) {
                    return None;
                }
                round.push(packet);
            }
            None
        })
    }

    fn wait(&self, packet: Packet) -> Wait {
        let (here, there) = (packet.place, u16::from(packet.latch));
        Wait {
            input: self.network.channels[self.channel(here)].receiver,
            input_vl: vl(self.vl(here)),
            output: self.network.channels[self.channel(there)].sender,
            output_vl: vl(self.vl(there)),
        }
    }

    /// Whether the tables of this moment never bring a packet to an end.
    fn goes_round(&self, state: &State, packet: Packet) -> bool {
        let flow = usize::from(packet.flow);
        let mut channel = match (packet.place & QUEUE != 0, packet.latch) {
            (true, _) => self.network.entries[flow].0,
            (false, UNLATCHED) => self.channel(packet.place),
            (false, latch) => self.channel(u16::from(latch)),
        };
        for _ in 0..=self.network.channels.len() {
            let crossing = self.network.crossing(channel, flow);
            match crossing.exit(crossing.route.at(state.landed)) {
                Exit::Onward { channel: next, .. } if state.stage > 0 && self.network.channels[*next].dies => {
                    return false;
                }
                Exit::Onward { channel: next, .. } => channel = *next,
                Exit::Home | Exit::Astray | Exit::Hole => return false,
            }
        }
        true
    }

    /// Whether packets of both halves are under way: what the change is about.
    pub fn is_mixed(&self, state: &State) -> bool {
        let has = |half| Self::under_way(state).any(|packet| self.half(packet) == half);
        has(Half::Lower) && has(Half::Upper)
    }

    /// A step in words.
    pub fn describe(&self, step: &Step) -> String {
        let fabric = &self.network.plan.draft().before;
        let port = |channel: usize| fabric.describe_port(self.network.channels[channel].receiver);
        let place = |lane: u16| format!("{} VL {}", port(self.channel(lane)), self.vl(lane));
        let class = |flow: usize| {
            let flow = &self.network.flows[flow];
            format!("lid {} SL {} from {}", flow.lid, flow.sl, fabric.describe_port(flow.source))
        };
        match *step {
            Step::Fail => "what dies is lost".to_string(),
            Step::Inject { flow } => format!("injected: {}", class(flow)),
            Step::Enter { flow, vl } => format!("leaves its send queue on VL {vl}: {}", class(usize::from(flow))),
            Step::Latch { lane } => format!("chooses: the packet in {}", place(lane)),
            Step::Move { lane } => format!("moves on: the packet in {}", place(lane)),
            Step::Land { telling } => {
                let telling = &self.network.tellings[telling];
                let wave = &self.network.plan.waves()[telling.wave];
                let node = wave.writes[telling.index].node(fabric).map(|node| fabric.describe_node(node));
                format!("lands: write {} of {} at {}", telling.index, wave.name, node.unwrap_or_default())
            }
            Step::Advance => "the wave ends".to_string(),
        }
    }
}

/// Whether packets of a half may be injected: of the new one from the swap on, of the old one until it was drained.
fn is_injected(network: &Network, half: Half, stage: usize) -> bool {
    let plan = &network.plan;
    let swapped = plan.waves().iter().take(stage).any(|wave| wave.phase == Phase::Swap);
    let ended = plan.waves().iter().take(stage.saturating_sub(1));
    let drained = ended.flat_map(|wave| &wave.barriers).any(|barrier| matches!(barrier, Barrier::Drained(_)));
    plan.old() == plan.new_half() || if half == plan.new_half() { swapped } else { !drained }
}

/// Whether a flow's source has a cable, and neither it nor the destination is yet to come.
fn is_there(network: &Network, flow: usize, stage: usize) -> bool {
    let plan = &network.plan;
    let owner = plan.draft().before.lid_owner(network.flows[flow].lid);
    let comes = |port| plan.has_come(port);
    let known = !comes(network.flows[flow].source) && !owner.is_some_and(comes);
    let joined = plan.waves().iter().take(stage).any(|wave| joins(wave.phase));
    (known || joined) && (stage == 0 || !network.channels[network.entries[flow].0].dies)
}

fn is_excused(network: &Network, flow: usize, stage: usize) -> bool {
    let draft = network.plan.draft();
    let flow = &network.flows[flow];
    let owner = draft.before.lid_owner(flow.lid);
    let dead = stage > 0 && owner.is_some_and(|owner| draft.surviving.peer(owner).is_none());
    dead || draft.stranded.contains(&flow.source) || owner.is_some_and(|owner| draft.stranded.contains(&owner))
}

/// Whether newcomers take part from a wave of this phase on.
fn joins(phase: Phase) -> bool {
    matches!(phase, Phase::Swap | Phase::Start)
}

impl Model for Traffic {
    type State = State;
    type Step = Step;
    type Fault = Fault;

    fn initial(&self) -> State {
        let sudden = self.network.channels.iter().any(|channel| channel.dies);
        let empty = State { landed: 0, packets: [NOBODY; MOST], stage: 0, lost: None };
        if sudden { empty } else { self.entered(&empty, 1) }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        for flow in (0..self.network.flows.len()).filter(|&flow| self.may_inject(flow, state)) {
            found.extend(self.inject(state, flow).map(|next| (Step::Inject { flow }, next)));
        }
        (0..Self::under_way(state).count()).for_each(|at| self.packet_steps(state, at, found));
        for telling in self.landings(state) {
            let landed = State { landed: state.landed | 1 << telling, ..*state };
            found.push((Step::Land { telling }, self.settled(landed)));
        }
        found.extend(self.advanced(state).map(|next| (Step::Advance, next)));
        if state.stage == 0 {
            found.push((Step::Fail, self.failed(state)));
        }
    }

    fn fault(&self, state: &State) -> Option<Fault> {
        if let Some(loss) = state.lost {
            return Some(Fault::Lost(loss));
        }
        if self.is_end(state) && self.leaves_some_behind(state) {
            return Some(Fault::LeftBehind);
        }
        if let Some(cycle) = self.cycle(state) {
            return Some(Fault::Deadlock(cycle.into_iter().map(|packet| self.wait(packet)).collect()));
        }
        Self::under_way(state).any(|packet| self.goes_round(state, packet)).then_some(Fault::Loop)
    }

    fn is_end(&self, state: &State) -> bool {
        usize::from(state.stage) == self.waves() + 1
    }
}
