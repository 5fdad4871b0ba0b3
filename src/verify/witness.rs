//! Ways of packets: the hops by which a packet gets from its source to the lane where it stands, and the mixture of
//! entries that leads it.
//!
//! A [`Tracer`] holds a transition as the prover sees it. [`Tracer::trace`] gives the shortest way to one dependency
//! of a cycle, over as many waves as that takes; [`Tracer::ways`] all ways that one moment allows to take a turn at a
//! switch, for callers that want to bring packets there. Every hop is read from the tables by the functions that the
//! walk uses, but backwards and from one turn; none of the walk's bookkeeping is repeated. Deliberately omitted: times.

use super::Transition;
use super::evidence::mapping_entry;
use super::input::case_of;
use super::lanes::{LaneMask, lanes_of};
use super::net::Head;
use super::permissions::{OwnedLid, may_answer, may_send};
use super::proof_walk::ProofWalk;
use super::refusal::{Cycle, Dependency, EntryAge, NamedDevice, PortLane, Refusal};
use super::walk::{Class, Columns};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl, Vl};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// The way of a packet from its source to the switch at which it waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Witness {
    /// The name of the end port that sends it.
    pub source: String,
    /// The end port that sends it, by index.
    #[serde(skip)]
    pub port: PortId,
    /// Its DLID.
    pub lid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// The lane that its source chooses.
    pub vl: Vl,
    /// The source's SL-to-VL table.
    pub mapping: EntryAge,
    /// The wave in which it is sent; `steady` before the first.
    pub wave: String,
    /// The number of that wave: 0 before the first one.
    #[serde(skip)]
    pub stage: usize,
    /// The switches; at the last one it waits for the output lane.
    pub hops: Vec<WitnessHop>,
}

/// One switch on a way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WitnessHop {
    /// The switch.
    pub switch: NamedDevice,
    /// The switch, by index.
    #[serde(skip)]
    pub node: NodeId,
    /// The lane by which the packet comes in.
    pub input: PortLane,
    /// The lane by which it is to leave.
    pub output: PortLane,
    /// The forwarding table entry.
    pub entry: EntryAge,
    /// The SL-to-VL table.
    pub mapping: EntryAge,
    /// The wave in which it is latched.
    pub wave: String,
    /// The number of that wave.
    #[serde(skip)]
    pub stage: usize,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Witness { source, lid, sl, vl, wave, .. } = self;
        write!(f, "{source} sends lid {lid} SL {sl} on VL {vl}, {wave}{}", said(self.mapping, "SL-to-VL"))?;
        self.hops.iter().try_for_each(|hop| write!(f, "\n  {hop}"))
    }
}

impl fmt::Display for WitnessHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WitnessHop { switch, input, output, entry, wave, .. } = self;
        let (from, to) = (format!("{} VL {}", input.port, input.vl), format!("{} VL {}", output.port, output.vl));
        write!(f, "{}: {from} → {to}, {entry}{}, {wave}", switch.name, said(self.mapping, "SL-to-VL"))
    }
}

/// The age of a table in words; nothing where the wave does not change it.
fn said(entry: EntryAge, table: &str) -> String {
    match entry {
        EntryAge::Unchanged => String::new(),
        EntryAge::Old => format!(", old {table}"),
        EntryAge::New => format!(", new {table}"),
    }
}

/// For each dependency of a cycle, a shortest way of the packet that causes it.
///
/// # Errors
/// [`Refusal::Precondition`]: the transition contradicts itself, or the cycle is not one of its cycles.
pub fn witness(transition: &impl Transition, cycle: &Cycle) -> Result<Vec<Witness>, Refusal> {
    let foreign = |what: String| Refusal::Precondition { wave: cycle.wave.clone(), what };
    let Some(tracer) = Tracer::new(transition)? else {
        return Err(foreign("a transition without waves has no cycle".to_string()));
    };
    let trace = |dependency: &Dependency| {
        let found = tracer.trace(dependency, &cycle.wave);
        found.ok_or_else(|| foreign(format!("no packet of this transition waits so: {dependency}")))
    };
    cycle.dependencies.iter().map(trace).collect()
}

/// A turn at a switch, lanes included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneTurn {
    /// The switch.
    pub switch: NodeId,
    /// The lane by which packets come in.
    pub input: PortLane,
    /// The lane by which they leave.
    pub output: PortLane,
}

/// Finds ways through a transition.
pub struct Tracer<'a> {
    proof_walk: ProofWalk<'a>,
}

/// A lane on the way, and the stage at which the packet is latched for what follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    stage: usize,
    channel: usize,
    lane: usize,
}

#[derive(Clone, Copy)]
struct Followed<'a> {
    class: &'a Class,
    columns: &'a Columns,
}

impl<'a> Tracer<'a> {
    /// A tracer; none where the transition has no waves.
    ///
    /// # Errors
    /// [`Refusal::Precondition`]: the transition contradicts itself.
    pub fn new(transition: &'a impl Transition) -> Result<Option<Tracer<'a>>, Refusal> {
        let Some(case) = case_of(transition)? else { return Ok(None) };
        Ok(Some(Tracer { proof_walk: ProofWalk::new(case, transition.surviving())? }))
    }

    /// A shortest way of the class that a dependency of a cycle names, latched in the wave that it names.
    fn trace(&self, dependency: &Dependency, wave: &str) -> Option<Witness> {
        let stage = self.stage(dependency.latched.as_deref().unwrap_or(wave))?;
        let switch = self.proof_walk.case.fabric.by_guid(dependency.switch.guid)?;
        let turn = LaneTurn { switch, input: dependency.input, output: dependency.output };
        let class = self.classes(dependency.lid).into_iter().find(|class| self.sls(class).contains(&dependency.sl))?;
        let columns = self.columns(dependency.lid);
        let followed = Followed { class: &class, columns: &columns };
        // The packet is latched at this stage, and may wait until the wave of the cycle (rule 4): only the way before
        // the latch is traced.
        let end = self.end(followed, turn, stage)?;
        let places = self.shortest(followed, end)?;
        Some(self.describe(followed, dependency.sl, &places, turn))
    }

    /// All ways by which packets sent at a stage (0 before the first wave, then the waves) take a turn at that stage:
    /// every class and every source, the fewest hops first, at most `most` for each class.
    pub fn ways(&self, turn: LaneTurn, stage: usize, most: usize) -> Vec<Witness> {
        let mut ways = Vec::new();
        let owners = self
            .proof_walk
            .case
            .fabric
            .end_ports()
            .filter_map(|port| self.proof_walk.case.fabric.port(port).lid.map(|_| port));
        let lids: Vec<Lid> = owners.flat_map(|port| self.lids(port)).collect();
        for lid in lids {
            let columns = self.columns(lid);
            for class in self.classes(lid) {
                let followed = Followed { class: &class, columns: &columns };
                let Some(end) = self.end(followed, turn, stage) else { continue };
                let mut found = Vec::new();
                self.spread(followed, &mut vec![end], most, &mut found);
                let sl = self.sls(&class)[0];
                ways.extend(found.iter().map(|places| self.describe(followed, sl, places, turn)));
            }
        }
        // A stable sort: ways of equal length keep the order of ports and LIDs.
        ways.sort_by_key(|way| way.hops.len());
        ways
    }

    /// The stage of a wave, by its name.
    pub fn stage(&self, wave: &str) -> Option<usize> {
        self.proof_walk.case.stages.iter().rposition(|facts| facts.name == wave)
    }

    fn lids(&self, port: PortId) -> Vec<Lid> {
        let half = |half| self.proof_walk.case.fabric.half_lids(port, half);
        let halves = [crate::ids::Half::Lower, crate::ids::Half::Upper];
        halves.into_iter().flat_map(half).collect()
    }

    fn columns(&self, lid: Lid) -> Columns {
        let mut columns = Columns::new(self.proof_walk.net.rows.len(), self.proof_walk.case.stages.len());
        self.proof_walk.read(&mut columns, lid);
        columns
    }

    fn classes(&self, lid: Lid) -> Vec<Class> {
        let Some(owner) = self.proof_walk.case.fabric.lid_owner(lid) else { return Vec::new() };
        self.proof_walk.classes_of(owner).into_iter().filter(|class| class.lid == lid).collect()
    }

    fn sls(&self, class: &Class) -> &[Sl] {
        &self.proof_walk.lanes.groups[class.group].sls
    }

    /// The lane in which packets of a class stand that can take a turn at a stage.
    fn end(&self, followed: Followed<'_>, turn: LaneTurn, stage: usize) -> Option<Place> {
        let row = self.proof_walk.net.row(turn.switch)?;
        let own = self.proof_walk.case.fabric.port_at(turn.switch, turn.input.port)?;
        let channel = self.proof_walk.case.fabric.peer(own)?.index();
        let PortLane { port, vl } = turn.output;
        let taken = self.takes(followed, stage, row, turn.input.port, port)? >> vl.get() & 1 == 1;
        let exists = self.proof_walk.net.exists(stage, channel)
            && self.proof_walk.net.exists(stage, self.proof_walk.net.channel(row, port));
        (taken && exists).then_some(Place { stage, channel, lane: turn.input.vl.index() })
    }

    /// The lanes that packets from an input can take into an output; none where no entry names it.
    fn takes(
        &self,
        followed: Followed<'_>,
        stage: usize,
        row: usize,
        input: PortNum,
        output: PortNum,
    ) -> Option<LaneMask> {
        let named = followed.columns.choices(stage, row).any(|choice| choice == output);
        named.then(|| self.proof_walk.lanes.at_switch(stage, row, followed.class.group, input, output))
    }

    /// Rule 3 backwards: where a packet can have stood before it came to a place, at the same stage.
    fn hops_to(&self, followed: Followed<'_>, place: Place) -> Vec<Place> {
        let Place { stage, channel, lane } = place;
        let sender = self.proof_walk.case.fabric.port(PortId(channel as u32));
        let Some(row) = self.proof_walk.net.row(sender.node) else { return Vec::new() };
        let mut places = Vec::new();
        for input in self.proof_walk.case.fabric.ports_of(sender.node) {
            let Some(inward) = self.proof_walk.case.fabric.peer(input).map(PortId::index) else { continue };
            let input = self.proof_walk.case.fabric.port(input).num;
            let to = self.takes(followed, stage, row, input, sender.num).unwrap_or(0);
            if to >> lane & 1 == 1 && self.proof_walk.net.exists(stage, inward) {
                // The output lane depends on input, output and level, not on the lane by which the packet came in. So
                // each lane of the input is a candidate, and the search decides further back whether packets can stand
                // there.
                places.extend((0..self.proof_walk.lanes.vls).map(|lane| Place { stage, channel: inward, lane }));
            }
        }
        places
    }

    /// Rule 2 backwards: whether a source can send a packet of the class into a place.
    fn sends(&self, followed: Followed<'_>, place: Place) -> bool {
        let (class, facts) = (followed.class, &self.proof_walk.case.stages[place.stage]);
        let port = PortId(place.channel as u32);
        let half = self.proof_walk.half(class);
        let case = &self.proof_walk.case;
        let admitted = |port| case.admits(port, place.stage, half);
        let (ways, group) = (&facts.ways[half.index()], &self.proof_walk.lanes.groups[class.group]);
        let target = OwnedLid { owner: class.owner, lid: class.lid };
        let answers = case.answerer == Some(port) && may_answer(case.fabric, ways, port, target, group);
        self.proof_walk.net.senders(place.stage).iter().any(|source| source.port == port)
            && facts.injects(half)
            && admitted(port)
            && admitted(class.owner)
            && port != class.owner
            && (answers || may_send(case.fabric, ways, port, target, group))
            && self.proof_walk.net.exists(place.stage, place.channel)
            && lanes_of(self.proof_walk.lanes.at_source(place.stage, port, class.group)).any(|lane| lane == place.lane)
    }

    /// Rule 1 backwards: the same lane at the stage before, unless the barrier between them reports the lane
    /// empty or the half gone.
    fn earlier(&self, followed: Followed<'_>, place: Place) -> Option<Place> {
        let facts = &self.proof_walk.case.stages[place.stage];
        let stays = place.stage > 0
            && !facts.begins_without(self.proof_walk.half(followed.class))
            && facts.empty.0 >> place.lane & 1 == 0;
        stays.then(|| Place { stage: place.stage - 1, ..place })
    }

    /// A shortest way from any source to a place, in order.
    fn shortest(&self, followed: Followed<'_>, end: Place) -> Option<Vec<Place>> {
        // Breadth-first and backwards from the end, so the first source found is a nearest one, and `next` leads
        // forward again. A stage of waiting costs as much as a hop. Ordered maps make the choice among equals
        // repeatable.
        let mut next: BTreeMap<Place, Option<Place>> = BTreeMap::from([(end, None)]);
        let mut queue = VecDeque::from([end]);
        while let Some(place) = queue.pop_front() {
            if self.sends(followed, place) {
                let way = std::iter::successors(Some(place), |place| next[place]);
                return Some(way.collect());
            }
            let before = self.hops_to(followed, place).into_iter().chain(self.earlier(followed, place));
            for other in before.collect::<Vec<_>>() {
                next.entry(other).or_insert_with(|| {
                    queue.push_back(other);
                    Some(place)
                });
            }
        }
        None
    }

    /// All ways to the first place of `way`, which lies before the others, at one stage; `way` comes back as it was.
    fn spread(&self, followed: Followed<'_>, way: &mut Vec<Place>, most: usize, found: &mut Vec<Vec<Place>>) {
        let first = way[way.len() - 1];
        if self.sends(followed, first) {
            found.push(way.iter().rev().copied().collect());
        }
        for before in self.hops_to(followed, first) {
            if found.len() >= most {
                return;
            }
            // Only ways that pass no channel twice; their number is exponential, hence `most`.
            if way.iter().all(|place| place.channel != before.channel) {
                way.push(before);
                self.spread(followed, way, most, found);
                way.pop();
            }
        }
    }

    /// A way in words: places in order, and the turn at its end.
    fn describe(&self, followed: Followed<'_>, sl: Sl, places: &[Place], turn: LaneTurn) -> Witness {
        let fabric = self.proof_walk.case.fabric;
        let start = places[0];
        let port = PortId(start.channel as u32);
        let (source, vl) = (fabric.port(port), Vl::masked(start.lane as u8));
        let last = PortLane { port: turn.output.port, vl: turn.output.vl };
        // Two places in one channel are one lane at two stages: the packet waited, and made no hop.
        let outputs = places.windows(2).filter(|pair| pair[0].channel != pair[1].channel).map(|pair| {
            let next = fabric.port(PortId(pair[1].channel as u32)).num;
            (pair[0], PortLane { port: next, vl: Vl::masked(pair[1].lane as u8) })
        });
        let turns = outputs.chain([(places[places.len() - 1], last)]);
        Witness {
            source: fabric.describe_port(port),
            port,
            lid: followed.class.lid,
            sl,
            vl,
            mapping: mapping_entry(
                &self.proof_walk.case.stages[start.stage],
                source.node,
                PortNum::ZERO,
                source.num,
                sl,
                vl,
            ),
            wave: self.proof_walk.case.stages[start.stage].name.clone(),
            stage: start.stage,
            hops: turns.map(|(place, output)| self.describe_hop(followed, sl, place, output)).collect(),
        }
    }

    fn describe_hop(&self, followed: Followed<'_>, sl: Sl, place: Place, output: PortLane) -> WitnessHop {
        let Head::Switch { row, input } = self.proof_walk.net.head(place.stage, place.channel) else {
            unreachable!("a packet hops on from a switch")
        };
        let (row, facts) = (row as usize, &self.proof_walk.case.stages[place.stage]);
        let node = self.proof_walk.net.rows[row];
        WitnessHop {
            switch: NamedDevice::of(self.proof_walk.case.fabric, node),
            node,
            input: PortLane { port: input, vl: Vl::masked(place.lane as u8) },
            output,
            entry: followed.columns.entry(place.stage, row, output.port),
            mapping: mapping_entry(facts, node, input, output.port, sl, output.vl),
            wave: facts.name.clone(),
            stage: place.stage,
        }
    }
}
