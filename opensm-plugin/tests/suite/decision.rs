//! What the engine decides, run after run, without OpenSM: the update from what is in force to what it says is judged
//! by `audit`, which knows no plan, over every mixture of old and new entries.

use reconfig::audit::{AuditRules, AuditVerdict, RoutingSnapshot, audit, audit_update};
use reconfig::change::KnownBase;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;
use reconfig::plan::Plan;
use reconfig::tables::dump::PathSls;
use reconfig::tables::{LFT_BLOCK, Lft};
use reconfig_opensm::answer::{Again, RunAnswer, RunOutcome};
use reconfig_opensm::config::{EvidenceConfig, PluginConfig};
use reconfig_opensm::decision::{EngineState, REST, TOO_SOON};
use reconfig_opensm::evidence::keep;
use reconfig_opensm::memory::{Memory, Recollection};
use reconfig_opensm::plans::in_force;
use reconfig_opensm::sight::{SeenNode, SeenPort, SeenSubnet, SeenTable};
use std::sync::Arc;
use std::time::Duration;

use crate::harness::bundled;
use crate::layers::path_sls;
use crate::moments::{cables, random};
use crate::times::generated;
use crate::ways::assert_no_way_is_taken;

/// What a switch's table holds when nobody has set it up.
const VOID: u8 = 255;

/// Switches and OpenSM, as far as the engine sees them.
pub struct World {
    pub whole: Fabric,
    pub dead: Vec<PortId>,
    pub lfts: Vec<Arc<Lft>>,
    pub router: EngineState,
    /// PortInfo:OperationalVLs of each link.
    pub op_vls: u8,
    /// Runs that wrote tables.
    pub runs: u64,
    /// The most parts that a wave was written in.
    pub parts: u64,
    part: u64,
    now: Duration,
}

impl World {
    pub fn new(fabric: &Fabric, lmc: u8, settings: &str) -> World {
        let whole = lid::assign(&fabric.with_data_vls(1), Lmc::masked(lmc)).expect("LIDs suffice");
        let config = PluginConfig::parse(settings, "settings").expect("settings of a test");
        let lfts = vec![Arc::default(); whole.node_count()];
        let router = EngineState::new(config).expect("engines");
        World { lfts, whole, dead: Vec::new(), router, op_vls: 1, runs: 0, parts: 1, part: 1, now: Duration::ZERO }
    }

    fn fabric(&self) -> Fabric {
        self.whole.without_links(&self.dead)
    }

    pub fn seen(&self) -> SeenSubnet {
        let fabric = self.fabric();
        let port = |(id, port): (PortId, &reconfig::fabric::Port)| SeenPort {
            guid: if port.num == PortNum::ZERO || port.lid.is_some() { fabric.port_guid(id).0 } else { 0 },
            peer: port.peer.map(PortId::index),
            lid: port.lid.map_or(0, |lid| lid.0),
            lmc: port.lmc.get(),
            state: if port.peer.is_some() { 4 } else { 1 },
            width: 2,
            speed: 1 << 6,
            op_vls: self.op_vls,
        };
        let top = fabric.max_lid().expect("LIDs").0;
        let node = |(id, node): (reconfig::fabric::NodeId, &reconfig::fabric::Node)| {
            let lft = &self.lfts[id.index()];
            let blocks = top / LFT_BLOCK as u16 + 1;
            let entries = (0..blocks).flat_map(|block| lft.block(block)).collect::<Vec<u8>>();
            let is_void = entries.iter().all(|&port| port == VOID);
            SeenNode {
                guid: node.guid.0,
                name: node.description.clone(),
                kind: if node.is_switch() { 2 } else { 1 },
                num_ports: node.num_ports,
                first_port: node.first_port.index(),
                enhanced: false,
                table: node.is_switch().then_some(SeenTable {
                    entries,
                    top: if is_void { 0 } else { top },
                    capacity: node.lft_capacity,
                    reset: false,
                    silent: Vec::new(),
                }),
            }
        };
        let sm = fabric.end_ports().next().expect("a host");
        SeenSubnet {
            nodes: fabric.nodes().map(node).collect(),
            ports: fabric.ports().map(port).collect(),
            sm_port_guid: fabric.port_guid(sm).0,
            max_lid: top,
            life_time: 18,
            plain_levels: 15,
        }
    }

    /// One run; what it says is judged against what was in force, and written but for blocks that `fails` names.
    fn run(&mut self, before: &Fabric, fails: impl Fn(usize, u16) -> bool) -> RunAnswer {
        let seen = self.seen();
        let sight = seen.sight().expect("what the world shows fits together");
        self.router.sweeps();
        let answer = self.router.route(&sight, self.now).expect("it can be routed");
        let now = self.fabric();
        let levels = self.router.levels().cloned();
        let sls = levels.as_ref().map(|levels| (path_sls(levels, &self.whole), levels.lanes()));
        assert_every_mixture((before, &self.lfts), (&now, &answer.lfts), &answer, sls.as_ref());
        (0..3).for_each(|order| assert_no_way_is_taken(&now, &self.lfts, &answer.lfts, self.runs * 3 + order));
        self.runs += u64::from(answer.writes);
        let is_part = answer.notes.iter().any(|note| note.text.starts_with("part of the wave"));
        self.part = if is_part { self.part + 1 } else { 1 };
        self.parts = self.parts.max(self.part);
        for switch in now.switches() {
            let wanted = answer.lfts[switch.index()].clone();
            let own = Arc::make_mut(&mut self.lfts[switch.index()]);
            for block in (0..wanted.blocks()).filter(|&block| !fails(switch.index(), block)) {
                own.set_block(block, &wanted.block(block));
            }
        }
        self.now += Duration::from_millis(10);
        self.router.written(self.now);
        answer
    }

    /// How long the next run is to wait.
    fn waiting(answer: &RunAnswer) -> Option<Duration> {
        if let Some(Again::Later(wait)) = answer.again { Some(wait) } else { None }
    }

    /// Runs until nothing more is wanted.
    pub fn settle(&mut self) {
        for _ in 0..40 {
            let now = self.fabric();
            match self.run(&now, |_, _| false).again {
                None => return,
                Some(Again::Later(wait)) => self.now += wait,
                Some(Again::Written | Again::Up) => {}
            }
        }
        panic!("it never comes to an end");
    }

    /// Has these cables dead, and no others, and runs until nothing more is wanted.
    pub fn lose(&mut self, cables: &[PortId]) {
        let before = self.fabric();
        self.dead = cables.to_vec();
        self.run(&before, |_, _| false);
        self.settle();
    }

    fn assert_all_is_served(&self) {
        let fabric = self.fabric();
        let snapshot =
            RoutingSnapshot { fabric: &fabric, lfts: &self.lfts, sl_to_vl: None, path_sls: None, unknown: &[] };
        let found = audit(&snapshot, AuditRules { switches: true, data_vls: Some(1) }).expect("LIDs");
        assert_eq!(found.verdict(), AuditVerdict::Safe, "{:?}", found.faults);
    }
}

/// On one lane, or on as many as there are levels for.
fn assert_every_mixture(
    before: (&Fabric, &[Arc<Lft>]),
    after: (&Fabric, &[Arc<Lft>]),
    answer: &RunAnswer,
    sls: Option<&(PathSls, u8)>,
) {
    let snapshot =
        |(fabric, lfts): (&'_ Fabric, &'_ [Arc<Lft>])| -> (Fabric, Vec<Arc<Lft>>) { (fabric.clone(), lfts.to_vec()) };
    let (old, new) = (snapshot(before), snapshot(after));
    let [old, new] = [&old, &new].map(|(fabric, lfts)| RoutingSnapshot {
        fabric,
        lfts,
        sl_to_vl: None,
        path_sls: sls.map(|(sls, _)| sls),
        unknown: &[],
    });
    let rules = AuditRules { switches: sls.is_none(), data_vls: Some(sls.map_or(1, |&(_, lanes)| lanes)) };
    let found = audit_update(&old, &new, rules).expect("one index space");
    let during = &found.during;
    let ring = during.credit_loops.components.len() + during.loops.count;
    assert_eq!(ring, 0, "{:?}: {:?}", answer.notes, during.faults);
}

/// Cables die and come back, one or several at a time.
fn losses(mut world: World, number: usize) {
    world.settle();
    world.assert_all_is_served();
    let cables = cables(&world.whole);
    for loss in 0..number {
        let before = world.fabric();
        let many = 1 + loss % 3;
        world.dead = (0..many).map(|at| cables[(loss * 7 + at * 11) % cables.len()]).collect();
        world.run(&before, |_, _| false);
        world.settle();
        let is_joined = reconfig::routing::Connectivity::of(&world.fabric());
        let sm = world.fabric().end_ports().next().expect("a host");
        if world.fabric().end_ports().all(|port| is_joined.joins(port, sm)) {
            world.assert_all_is_served();
        }
        let before = world.fabric();
        world.dead.clear();
        world.run(&before, |_, _| false);
        world.settle();
        world.assert_all_is_served();
    }
}

#[test]
fn every_mixture_after_losses_and_returns() {
    losses(World::new(&random(16, 4, 2), 0, ""), 30);
    losses(World::new(&bundled("torus-4x4"), 0, "engine: nue"), 20);
    losses(World::new(&bundled("fat-tree-4-2"), 0, ""), 30);
    losses(World::new(&bundled("dragonfly-2-4-2"), 1, ""), 10);
}

/// OpenSM runs the routing alone: the console's `reroute`, since nobody else asked. Ways are shortened, once.
#[test]
fn reroute_on_the_console_renews() {
    let mut world = World::new(&bundled("fat-tree-4-2"), 0, "renew: false");
    world.settle();
    let cables = cables(&world.whole);
    world.lose(&cables[..1]);
    world.lose(&[]);
    let now = world.fabric();
    let run = |world: &mut World| {
        world.now += Duration::from_secs(60);
        let sight = world.seen().sight().expect("what the world shows fits together");
        let answer = world.router.route(&sight, world.now).expect("it can be routed");
        assert_every_mixture((&now, &world.lfts), (&now, &answer.lfts), &answer, None);
        world.lfts = answer.lfts.clone();
        world.router.written(world.now);
        answer.outcome
    };
    assert_eq!(run(&mut world), RunOutcome::Renewed, "the cable that came back carries nothing before");
    world.settle();
    world.assert_all_is_served();
}

/// A cable dies while another comes back: the loss first, then what has come.
#[test]
fn lost_and_gained_at_once() {
    let mut world = World::new(&random(16, 4, 2), 0, "");
    let cables = cables(&world.whole);
    world.dead = vec![cables[3]];
    world.settle();
    for turn in 0..6 {
        let before = world.fabric();
        world.dead = vec![cables[(turn * 5 + 9) % cables.len()]];
        let answer = world.run(&before, |_, _| false);
        // What has come is served when nothing of the loss is left.
        let next = if world.router.waves_left() > 0 { Again::Written } else { Again::Up };
        assert_eq!(answer.again, Some(next), "{:?}", answer.notes);
        world.settle();
        world.assert_all_is_served();
    }
}

/// Writes that were lost are made again, and the mixture that stood meanwhile was one of the proved ones.
#[test]
fn blocks_that_never_landed_are_written_again() {
    let mut world = World::new(&random(16, 4, 6), 0, "");
    world.settle();
    let cables = cables(&world.whole);
    for turn in 0..8 {
        let before = world.fabric();
        world.dead = vec![cables[turn * 3]];
        world.run(&before, |switch, block| (switch + usize::from(block)) % 3 == turn % 3);
        world.settle();
        world.assert_all_is_served();
        let before = world.fabric();
        world.dead.clear();
        world.run(&before, |switch, _| switch % 2 == 0);
        world.settle();
        world.assert_all_is_served();
    }
}

/// What accepted changes leave is bounded: the oldest goes first.
#[test]
fn evidence_is_bounded() {
    let mut world = World::new(&random(16, 4, 6), 0, "");
    let now = world.fabric();
    let plan = world.run(&now, |_, _| false).accepted.expect("a first plan").plan().expect("all judges accept it");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = EvidenceConfig { folder: folder.path().join("evidence"), mib: 1 };
    let mut last = None;
    for _ in 0..40 {
        last = Some(keep(&config, &plan).expect("it can be written"));
    }
    let files: Vec<_> = std::fs::read_dir(&config.folder).expect("it was made").flatten().collect();
    let size: u64 = files.iter().map(|file| file.metadata().expect("it is there").len()).sum();
    assert!(size <= 1 << 20 && files.len() >= 4, "{} files of {size} bytes", files.len());
    let alone = files.iter().filter(|file| {
        let other = if file.path().extension().is_some_and(|kind| kind == "plan") { "certificate" } else { "plan" };
        !file.path().with_extension(other).exists()
    });
    assert_eq!(alone.count(), 0, "half of a pair is of no use");
    let last = last.expect("several were kept");
    assert_eq!(last.file_name().and_then(|name| name.to_str()), Some("000040.plan"));
    let text = std::fs::read(&last).expect("the last one is there");
    let read = Plan::read(&String::from_utf8_lossy(&text), "plan").expect("a plan");
    let certificate = std::fs::read(last.with_extension("certificate")).expect("with its certificate");
    assert!(reconfig::check::certificate::check(&read, &text, &certificate).is_ok());
}

/// A table is only read where nobody knows what the switch holds.
#[test]
fn nothing_is_read_of_switches_that_hold_what_they_were_given() {
    let mut world = World::new(&bundled("fat-tree-4-2"), 0, "");
    assert_eq!(world.router.unsure(&world.seen()), Vec::new(), "nobody has set these switches up");
    world.settle();
    assert_eq!(world.router.unsure(&world.seen()), Vec::new());
    let mut seen = world.seen();
    let mut tables = seen.nodes.iter_mut().enumerate().filter_map(|(at, node)| Some((at, node.table.as_mut()?)));
    let (at, table) = tables.nth(2).expect("a third switch");
    table.entries[9] = 0;
    assert_eq!(world.router.unsure(&seen), [(at, 0)]);
    let mut anew = EngineState::new(PluginConfig::default()).expect("engines");
    assert_eq!(anew.unsure(&seen).len(), 8, "one block of each switch");
}

/// What was found out before a loss is of the very routing that the loss begins with, and changes nothing of what is
/// written, whatever is lost.
#[test]
fn what_is_known_before_a_loss_changes_nothing() {
    for fabric in [random(16, 4, 2), bundled("fat-tree-4-2"), bundled("dragonfly-2-4-2")] {
        let cables = cables(&fabric);
        for at in [0, cables.len() / 2, cables.len() - 1] {
            let answers = [false, true].map(|ahead| {
                let mut world = World::new(&fabric, 0, "");
                world.settle();
                let sm = Guid(world.seen().sm_port_guid);
                let routing = world.router.in_force(sm).expect("no change is under way");
                if ahead {
                    let known = KnownBase::of(&routing);
                    assert!(known.get().is_some(), "what is in force is proved");
                    world.router.know(known);
                }
                let before = world.fabric();
                world.dead = vec![cables[at]];
                let sight = world.seen().sight().expect("what the world shows fits together");
                let held = Memory {
                    fabric: routing.before.clone(),
                    seen: routing.before.clone(),
                    lfts: routing.tables.lfts.clone(),
                    earlier: Vec::new(),
                    has_rest: false,
                };
                let Recollection::Held(found) = held.compare(&sight) else { panic!("nothing but a cable was lost") };
                assert!(
                    in_force(found.before, found.lfts, found.sm, None) == routing,
                    "the loss begins with another routing"
                );
                world.run(&before, |_, _| false)
            });
            let [alone, ahead] = &answers;
            let texts = |answer: &RunAnswer| answer.notes.iter().map(|note| note.text.clone()).collect::<Vec<_>>();
            assert!(texts(alone)[0].contains(TOO_SOON), "{:?}", alone.notes);
            assert_eq!(texts(alone).concat().replace(TOO_SOON, ""), texts(ahead).concat());
            assert_eq!((&alone.lfts, alone.again), (&ahead.lfts, ahead.again));
        }
    }
}

/// On a large fabric the run after a loss gives ways to all hosts and asks for another, which serves switches too. What
/// was not written in between is written again first.
#[test]
fn on_a_large_fabric_hosts_come_first() {
    let fabric = generated("leaf-spine:40,16,44,1");
    let cables = cables(&fabric);
    for (dead, is_lost) in
        [(vec![cables[0]], false), (vec![cables[0], cables[cables.len() / 2]], false), (vec![cables[0]], true)]
    {
        let mut world = World::new(&fabric, 0, "renew: false");
        world.settle();
        let sm = Guid(world.seen().sm_port_guid);
        let routing = world.router.in_force(sm).expect("no change is under way");
        world.router.know(KnownBase::of(&routing));
        let before = world.fabric();
        world.dead.clone_from(&dead);
        let first = world.run(&before, |switch, _| is_lost && switch % 2 == 0);
        let text = |answer: &RunAnswer| answer.notes.last().map(|note| note.text.clone()).unwrap_or_default();
        assert!(text(&first).ends_with(REST), "{:?}", first.notes);
        assert_eq!((first.outcome, first.again), (RunOutcome::Changed, Some(Again::Written)));
        let now = world.fabric();
        if is_lost {
            let again = world.run(&now, |_, _| false);
            assert_eq!((again.outcome, again.again), (RunOutcome::Repeated, Some(Again::Written)), "{:?}", again.notes);
        }
        let sees = |switches| {
            let snapshot =
                RoutingSnapshot { fabric: &now, lfts: &world.lfts, sl_to_vl: None, path_sls: None, unknown: &[] };
            audit(&snapshot, AuditRules { switches, data_vls: Some(1) }).expect("LIDs").verdict()
        };
        assert_eq!(sees(false), AuditVerdict::Safe, "all hosts that are there have ways");
        assert_ne!(sees(true), AuditVerdict::Safe, "not all switches have");
        let held = world.run(&now, |_, _| false);
        let Some(Again::Later(wait)) = held.again else { panic!("packets of two changes ago: {:?}", held.notes) };
        assert!(!held.writes && wait > Duration::from_secs(4), "{:?}", held.notes);
        world.now += wait;
        let second = world.run(&now, |_, _| false);
        assert_eq!(second.outcome, RunOutcome::Changed, "{:?}", second.notes);
        assert!(text(&second).starts_with("the rest: "), "{:?}", second.notes);
        world.settle();
        world.assert_all_is_served();
        // What was lost comes back.
        world.dead.clear();
        world.run(&now, |_, _| false);
        world.settle();
        world.assert_all_is_served();
    }
}

/// Renewal waits until all has left that was sent before the tables in force were; the first wave after a loss never
/// does.
#[test]
fn renewal_waits_for_packets_of_two_changes_ago() {
    let mut world = World::new(&random(16, 4, 2), 0, "");
    world.settle();
    let cables = cables(&world.whole);
    let (mut waited, mut renewed) = (0, 0);
    for turn in 0..6 {
        for dead in [vec![cables[turn * 5]], Vec::new()] {
            let before = world.fabric();
            let is_loss = !dead.is_empty();
            world.dead = dead;
            let mut answer = world.run(&before, |_, _| false);
            assert!(answer.writes || !is_loss, "the first wave after a loss waits: {:?}", answer.notes);
            assert_eq!(World::waiting(&answer), None, "{:?}", answer.notes);
            let now = world.fabric();
            while let Some(again) = answer.again {
                // OpenSM may run before it is asked to.
                let text = answer.notes.last().map(|note| note.text.clone()).unwrap_or_default();
                if let (Again::Later(wait), true) = (again, text.starts_with("renewal waits")) {
                    assert!(!answer.writes, "{text}");
                    world.now += wait / 2;
                    answer = world.run(&now, |_, _| false);
                    let left = World::waiting(&answer).expect("half of it is left");
                    assert!(left <= wait / 2 && !answer.writes, "{:?}", answer.notes);
                    waited += 1;
                }
                world.now += World::waiting(&answer).unwrap_or_default();
                answer = world.run(&now, |_, _| false);
                assert!(answer.outcome != RunOutcome::Renewed || waited > renewed, "{:?}", answer.notes);
                renewed += usize::from(answer.outcome == RunOutcome::Renewed);
            }
        }
    }
    assert!(renewed > 3, "{renewed} renewals, {waited} waits");
}

/// Blocks that land late: until then switches send by entries of before, so what waits counts from then on.
#[test]
fn waits_begin_when_the_last_block_has_landed() {
    let mut world = World::new(&bundled("fat-tree-4-2"), 0, "");
    world.settle();
    let cables = cables(&world.whole);
    for turn in 0..4 {
        let before = world.fabric();
        world.dead = vec![cables[turn * 3]];
        let now = world.fabric();
        let mut answer = world.run(&before, |_, _| false);
        while world.router.waves_left() > 1 {
            world.now += World::waiting(&answer).unwrap_or_default();
            answer = world.run(&now, |_, _| false);
        }
        world.now += World::waiting(&answer).unwrap_or_default();
        let answer = world.run(&now, |_, _| true);
        assert!(answer.writes && world.router.waves_left() == 0, "the last wave: {:?}", answer.notes);
        // OpenSM says that all is written, and sweeps again much later.
        world.now += Duration::from_secs(3600);
        let answer = world.run(&now, |_, _| false);
        assert_eq!((answer.outcome, answer.writes), (RunOutcome::Repeated, true), "{:?}", answer.notes);
        let answer = world.run(&now, |_, _| false);
        assert!(World::waiting(&answer).is_some(), "{:?}", answer.notes);
        world.settle();
        world.assert_all_is_served();
        world.lose(&[]);
    }
}

/// A cable that comes back changes no table before it carries data, so nothing is planned for it; then ways lead over
/// it.
#[test]
fn a_cable_that_comes_needs_no_plan() {
    let mut world = World::new(&bundled("fat-tree-4-2"), 0, "");
    world.settle();
    let cables = cables(&world.whole);
    let before = world.fabric();
    world.lose(&cables[..1]);
    world.dead.clear();
    let answer = world.run(&before, |_, _| false);
    assert_eq!((answer.outcome, answer.writes, answer.again), (RunOutcome::Changed, false, Some(Again::Up)));
    assert!(answer.accepted.is_none(), "{:?}", answer.notes);
    world.settle();
    world.assert_all_is_served();
    let end = world.whole.port(cables[0]);
    let leads = |lft: &Lft| lft.routes().any(|(_, port)| port == end.num);
    assert!(leads(&world.lfts[end.node.index()]), "nothing leads over the cable that came back");
}

/// A base engine that needs several lanes on the fabric at hand is refused, and the next of a list is tried.
#[test]
fn base_engines_of_several_layers_are_refused() {
    for engine in ["dfsssp", "lash"] {
        let first = |settings: &str| {
            let mut world = World::new(&bundled("torus-4x4"), 0, settings);
            let sight = world.seen().sight().expect("what the world shows fits together");
            world.router.sweeps();
            world.router.route(&sight, Duration::ZERO).map(|answer| answer.notes[0].text.clone())
        };
        let refused = first(&format!("engine: {engine}")).expect_err("one lane does not suffice").to_string();
        assert!(refused.contains(&format!("engine {engine} separates paths by")), "{refused}");
        let routed = first(&format!("engine: [{engine}, up-down]")).expect("the next one routes");
        assert!(routed.starts_with("nothing is in force; 1 wave"), "{routed}");
    }
}
