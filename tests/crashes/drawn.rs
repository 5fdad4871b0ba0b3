//! Worlds that are drawn: a fabric, traffic, lost MADs, failures one after the other and during one another, orders,
//! managers that are killed, and whoever follows them. Whatever happens, the last manager comes to rest over a sound
//! subnet.
//!
//! A case that fails prints itself, shrunk. The same worlds are drawn each time: `RECONFIG_CRASHES=N` draws N of them,
//! `PROPTEST_RNG_SEED` others, and `RECONFIG_CRASHES=forever` draws others until somebody stops it or one fails.

use super::world::{Death, Life, Setting, World, WorldEvent};
use super::{loses, sound};
use crate::support::{is_thorough, seeded};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use reconfig::fabric::{NodeId, PortId};
use reconfig::plan::Arming;
use reconfig::sim::{SickAttribute, Sickness};
use reconfig::wire::AttributeId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

const TOPOLOGIES: [&str; 8] = [
    "ring:6,1",
    "mesh:3x3,1",
    "torus:3x3,1",
    "torus:4x4,1",
    "hypercube:3,1",
    "fat-tree:2,3",
    "leaf-spine:4,3,2",
    "random-regular:8,4,2",
];

/// An event; switches and cables by their number among those that may be chosen, modulo how many there are.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    SwitchDies(usize),
    HostDies(usize),
    /// Whatever died last.
    Revives,
    CableGoes(usize),
    CableComes,
    /// The link of any cable, those of hosts included.
    LinkBounces(usize),
    SwitchRemoved(usize),
    SwitchTakenBack,
    DeviceSickens(usize, SickAttribute),
    DeviceHeals,
}

/// What devices may fail at.
const ATTRIBUTES: [AttributeId; 4] = [
    AttributeId::SwitchInfo,
    AttributeId::PortInfo,
    AttributeId::LinearForwardingTable,
    AttributeId::SlToVlMappingTable,
];

/// The numbers that are drawn.
const NUMBERS: Range<usize> = 0..1_000;

/// Who follows a manager that was killed.
#[derive(Clone, Copy, Debug)]
enum Successor {
    Itself,
    ItselfWithoutJournal,
    Standby,
}

#[derive(Clone, Debug)]
struct Case {
    setting: Setting,
    events: Vec<(u64, Drawn)>,
    /// After each death in turn, until there are no more: the device that is switched off and on before anybody
    /// follows, by its number among those that may be.
    offs: Vec<usize>,
    /// Deaths of managers, each before so many MADs, and who follows.
    deaths: Vec<(usize, Successor)>,
}

/// A case that went wrong once: its setting, events, and deaths of managers.
type Past<'a> = (Setting, &'a [(u64, Drawn)], &'a [(usize, Successor)]);

fn sick() -> impl Strategy<Value = SickAttribute> {
    let sickness = select(&[Sickness::Silent, Sickness::Refuses, Sickness::Ignores][..]);
    let sick = (select(&ATTRIBUTES[..]), sickness, any::<bool>());
    sick.prop_map(|(attribute, sickness, writes_only)| SickAttribute { attribute, sickness, writes_only })
}

fn event() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        4 => NUMBERS.prop_map(Drawn::SwitchDies),
        2 => NUMBERS.prop_map(Drawn::HostDies),
        2 => Just(Drawn::Revives),
        4 => NUMBERS.prop_map(Drawn::CableGoes),
        2 => Just(Drawn::CableComes),
        2 => NUMBERS.prop_map(Drawn::LinkBounces),
        3 => NUMBERS.prop_map(Drawn::SwitchRemoved),
        1 => Just(Drawn::SwitchTakenBack),
    ]
}

/// The same, with devices that fail at an attribute, and others that get well.
fn sick_deed() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        4 => event(),
        2 => (NUMBERS, sick()).prop_map(|(which, sick)| Drawn::DeviceSickens(which, sick)),
        1 => Just(Drawn::DeviceHeals),
    ]
}

fn cases(event: impl Strategy<Value = Drawn>) -> impl Strategy<Value = Case> {
    // Within a phase, within a change, after it.
    let delay_ns = select(&[0u64, 20_000, 200_000, 1_000_000, 10_000_000][..]);
    let successor =
        select(&[Successor::Itself, Successor::Itself, Successor::ItselfWithoutJournal, Successor::Standby][..]);
    let setting =
        (select(&TOPOLOGIES[..]), any::<bool>(), any::<bool>(), 0u64..1_000, select(&[0.0, 0.0, 0.0, 0.02][..]));
    let setting = setting.prop_map(|(topology, auto, fenced, seed, loss)| Setting {
        topology,
        auto,
        fenced,
        // Packets are most of the work. A manager of standard devices takes seconds, which many would fill.
        load: if fenced { 0.0001 } else { 0.0005 },
        loss,
        seed,
        patient: true,
        arming: Arming::Off,
    });
    let events = prop::collection::vec((delay_ns, event), 1..4);
    let deaths = prop::collection::vec((prop_oneof![0usize..100, 0usize..1_500], successor), 0..4);
    // Two in three worlds have none.
    let offs = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(NUMBERS, 1..3)];
    (setting, events, offs, deaths).prop_map(|(setting, events, offs, deaths)| Case { setting, events, offs, deaths })
}

/// Switches but those of managers, and hosts but those of managers.
fn devices(world: &World) -> (Vec<NodeId>, Vec<NodeId>) {
    let fabric = &world.fabric;
    let kept = [world.sm, world.other_port()].map(|port| fabric.neighbour(port).expect("at a switch"));
    let own = [world.sm, world.other_port()].map(|port| fabric.port(port).node);
    let switches = fabric.switches().filter(|switch| !kept.contains(switch)).collect();
    let hosts = fabric.end_ports().map(|port| fabric.port(port).node).filter(|host| !own.contains(host));
    (switches, hosts.collect())
}

/// The events of a case: never at the switches of the two ports that managers are at.
fn events(world: &World, drawn: &[(u64, Drawn)]) -> Vec<(u64, WorldEvent)> {
    let fabric = &world.fabric;
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let cables: Vec<PortId> = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).map(|(a, _)| a).collect();
    let (switches, hosts) = devices(world);
    let devices: Vec<NodeId> = switches.iter().chain(&hosts).copied().collect();
    let links: Vec<PortId> = fabric.links().map(|(a, _)| a).collect();
    let (mut dead, mut unplugged, mut aside, mut sickened) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut event = |drawn: Drawn| match drawn {
        Drawn::SwitchDies(which) => {
            let node = switches[which % switches.len()];
            (!dead.contains(&node)).then(|| {
                dead.push(node);
                WorldEvent::Dies(node)
            })
        }
        Drawn::HostDies(which) => {
            let node = hosts[which % hosts.len()];
            (!dead.contains(&node)).then(|| {
                dead.push(node);
                WorldEvent::Dies(node)
            })
        }
        Drawn::Revives => dead.pop().map(WorldEvent::Revives),
        Drawn::CableGoes(which) => {
            let port = cables[which % cables.len()];
            (!unplugged.contains(&port)).then(|| {
                unplugged.push(port);
                WorldEvent::Unplugged(port)
            })
        }
        Drawn::LinkBounces(which) => Some(WorldEvent::Bounces(links[which % links.len()])),
        Drawn::CableComes => unplugged.pop().map(WorldEvent::Plugged),
        Drawn::SwitchRemoved(which) => {
            let node = switches[which % switches.len()];
            aside.push(node);
            Some(WorldEvent::Removed(node))
        }
        Drawn::SwitchTakenBack => aside.pop().map(WorldEvent::TakenBack),
        Drawn::DeviceSickens(which, sick) => {
            let node = devices[which % devices.len()];
            sickened.push(node);
            Some(WorldEvent::Sickens(node, sick))
        }
        Drawn::DeviceHeals => sickened.pop().map(WorldEvent::Heals),
    };
    drawn.iter().filter_map(|(delay_ns, drawn)| Some((*delay_ns, event(*drawn)?))).collect()
}

/// What happened in worlds, and how often.
#[derive(Default)]
struct Tally {
    faults: BTreeMap<String, usize>,
    /// How managers came to the subnet.
    arrivals: BTreeMap<String, usize>,
    /// What became of their changes.
    changes: BTreeMap<String, usize>,
    /// Worlds in which no packet could be lost to a change.
    lossless: usize,
}

impl Tally {
    fn count(of: &mut BTreeMap<String, usize>, what: impl Into<String>) {
        *of.entry(what.into()).or_default() += 1;
    }

    fn add(&mut self, case: &Case, lived: &Lived) {
        self.lossless += usize::from(!lived.may_lose);
        if case.setting.loss > 0.0 {
            Tally::count(&mut self.faults, "2 % of MADs lost");
        }
        lived.events.iter().for_each(|event| Tally::count(&mut self.faults, name(event)));
        lived.killed.iter().for_each(|next| Tally::count(&mut self.faults, format!("killed, then {next:?}")));
        (0..lived.offs).for_each(|_| Tally::count(&mut self.faults, "switched off and on, no manager there"));
        lived.arrivals.iter().for_each(|&arrival| Tally::count(&mut self.arrivals, arrival));
        // Of an outcome its name, without why.
        let outcome = |change: &String| change.split(|c: char| !c.is_alphanumeric()).next().map(str::to_string);
        lived.changes.iter().filter_map(outcome).for_each(|outcome| Tally::count(&mut self.changes, outcome));
    }
}

fn name(event: &WorldEvent) -> String {
    let name = match event {
        WorldEvent::Dies(_) => "device dies",
        WorldEvent::Revives(_) => "device comes back",
        WorldEvent::Unplugged(_) => "cable goes",
        WorldEvent::Plugged(_) => "cable comes back",
        WorldEvent::Bounces(_) => "link bounces",
        WorldEvent::Restarts(_) => "device switched off and on",
        WorldEvent::Removed(_) => "switch set aside",
        WorldEvent::TakenBack(_) => "switch taken back",
        WorldEvent::Sickens(_, SickAttribute { attribute, sickness, .. }) => {
            return format!("{sickness:?} at {attribute:?}");
        }
        WorldEvent::Heals(_) => "device gets well",
    };
    name.to_string()
}

/// What happened in one world.
#[derive(Default)]
struct Lived {
    arrivals: Vec<&'static str>,
    events: Vec<WorldEvent>,
    killed: Vec<Successor>,
    /// Devices that were switched off and on while no manager was there.
    offs: usize,
    changes: Vec<String>,
    /// Whether packets could be lost to a change.
    may_lose: bool,
}

/// Lives one case.
fn live(case: &Case) -> Lived {
    let world = World::new(case.setting);
    let mut rest = &events(&world, &case.events)[..];
    let (mut deaths, mut offs) = (case.deaths.iter(), case.offs.iter());
    let (mut port, mut journal) = (world.sm, Some(world.journal()));
    let mut lived = Lived::default();
    loop {
        let death = deaths.next();
        let life: Life =
            world.manage(port, journal.take(), rest, death.map_or(Death::Never, |&(count, _)| Death::Before(count)));
        lived.arrivals.extend(life.arrival);
        lived.changes.extend(life.changes.iter().cloned());
        // Behind a fence who has not asked by then discards what it sends on the half that is left.
        lived.may_lose |= loses(case.setting, &life) || case.setting.fenced && life.moved_hosts();
        let stands_still = life.changes.iter().find(|change| change.starts_with("Failed"));
        let may_stand_still = case.setting.loss > 0.0 || !world.was_healthy();
        assert!(may_stand_still || stands_still.is_none(), "{case:?}: a change stands still: {life:?}");
        let (done, later) = rest.split_at(life.events);
        lived.events.extend(done.iter().map(|&(_, event)| event));
        rest = later;
        let Some(&(_, successor)) = death.filter(|_| life.was_killed) else {
            let at = format!("{case:?}, {:?}", lived.arrivals);
            lived.may_lose |= !world.was_whole() || !world.was_healthy();
            sound(&world, port, &life, lived.may_lose, &at);
            return lived;
        };
        lived.killed.push(successor);
        if let Some(&which) = offs.next() {
            let (switches, hosts) = devices(&world);
            let all = [switches, hosts].concat();
            lived.offs += usize::from(world.switch_off_and_on(all[which % all.len()]));
        }
        world.pass(100_000);
        (port, journal) = match successor {
            Successor::Itself => (world.sm, Some(world.journal())),
            Successor::ItselfWithoutJournal => (world.sm, None),
            Successor::Standby => (world.other_port(), None),
        };
    }
}

/// Each was drawn, shrunk and mended: a trap waited until a light sweep had given up a switch that had died; a glance
/// asked a switch that died meanwhile for one port after the other; a switch that was silent because the cable to it
/// went stayed left out; so did one whose port went down because its neighbour died, before its ARMED port was to
/// become ACTIVE or during that, one that was asked for its arbitration list through a cable or a neighbour that went,
/// and one that refused to arm a port whose cable had gone; and after a repair during which a cable went, for which the
/// Double Scheme stepped in, the retired half did not follow. A device that kept its table whatever was written took
/// what undid the write, and so was never left out; one that was tried before its time was tried so each time; and a
/// recovery waited for what a switch that refuses SwitchInfo never passes on. A change that was resumed from its
/// journal left a half closed that another manager had closed since, to recover. Ports of a switch that came back
/// stayed ARMED towards one that was set aside, and what that one still sent stood there for ever. A row that was
/// blanked for one loss before the next came counted its packets as lost to the change. A host behind a fence that
/// then showed its lanes to nobody was taken for open, and would have stayed closed when it got well. A subnet was
/// adopted with a link that was up towards a host that did not answer, and no token came from there at any flush. A
/// recovery wanted to take down such a link of a switch that had come meanwhile, which nothing leads to yet. A host
/// behind a switch that was set aside was left out amid that change, and kept the table of the split afterwards. Links
/// to switches that had restarted were up at one end while those were left for later, and a flush waited for their
/// tokens without end. Packets stood for ever before a port that an earlier manager had ARMED, towards a host that was
/// left for later. Switches that only a newcomer led to counted as present, and each attempt to write there called the
/// change off. A host that did not take the table that closes a half before a recovery kept the subnet from coming up.
/// A flush waited for hosts that were back and not in use yet, whose send queues were full. A switch that ignored its
/// forwarding entries was left out, and tried again by the very sweep that was to show the subnet without it, which a
/// silent host made longer than the pause before a trial. A flush waited for a host that an earlier manager had ARMED
/// at the end of a link whose other end had stayed INIT.
#[test]
fn what_went_wrong_once_does_not_again() {
    use Drawn::{CableGoes, DeviceSickens, HostDies, LinkBounces, Revives, SwitchDies, SwitchRemoved};
    let agents = |topology| Setting {
        topology,
        auto: false,
        fenced: false,
        load: 0.002,
        loss: 0.0,
        seed: 0,
        patient: true,
        arming: Arming::Off,
    };
    let lanes = AttributeId::SlToVlMappingTable;
    let sick = |attribute, sickness, writes_only| SickAttribute { attribute, sickness, writes_only };
    let cases: &[Past<'_>] = &[
        (
            Setting { auto: true, seed: 966, ..agents("fat-tree:2,3") },
            &[
                (200_000, DeviceSickens(357, sick(AttributeId::LinearForwardingTable, Sickness::Ignores, true))),
                (1_000_000, CableGoes(438)),
                (10_000_000, SwitchDies(613)),
            ],
            &[(65, Successor::Itself), (30, Successor::Standby), (85, Successor::Itself)],
        ),
        (agents("hypercube:3,1"), &[(0, SwitchDies(1)), (1_000_000, CableGoes(0))], &[(75, Successor::Itself)]),
        (
            Setting { fenced: true, load: 0.0002, loss: 0.02, seed: 419, ..agents("fat-tree:2,3") },
            &[
                (1_000_000, DeviceSickens(323, sick(AttributeId::PortInfo, Sickness::Ignores, true))),
                (0, DeviceSickens(944, sick(AttributeId::SwitchInfo, Sickness::Silent, false))),
            ],
            &[],
        ),
        (
            Setting { fenced: true, load: 0.0, loss: 0.02, seed: 700, ..agents("torus:3x3,1") },
            &[(0, SwitchDies(1)), (200_000, SwitchDies(4))],
            &[(78, Successor::Itself)],
        ),
        (agents("ring:6,1"), &[(0, SwitchDies(3)), (0, Revives), (1_000_000, CableGoes(0))], &[]),
        (agents("leaf-spine:4,3,2"), &[(0, SwitchDies(3)), (0, Revives), (1_000_000, SwitchDies(75))], &[]),
        (
            Setting { loss: 0.02, seed: 564, ..agents("leaf-spine:4,3,2") },
            &[(0, SwitchDies(4)), (0, Revives), (10_000_000, SwitchDies(809))],
            &[],
        ),
        (agents("random-regular:8,4,2"), &[(0, SwitchDies(512)), (0, Revives), (1_000_000, CableGoes(370))], &[]),
        (Setting { auto: true, ..agents("hypercube:3,1") }, &[(0, SwitchDies(470)), (200_000, CableGoes(271))], &[]),
        (
            Setting { loss: 0.02, seed: 330, ..agents("torus:3x3,1") },
            &[(0, SwitchDies(413)), (0, Revives), (10_000_000, SwitchDies(7))],
            &[],
        ),
        (
            Setting { loss: 0.02, seed: 405, ..agents("torus:4x4,1") },
            &[(0, SwitchDies(826)), (0, Revives), (10_000_000, SwitchDies(28))],
            &[],
        ),
        (agents("fat-tree:2,3"), &[(0, CableGoes(406))], &[(105, Successor::Standby), (412, Successor::Itself)]),
        (
            Setting { seed: 844, ..agents("mesh:3x3,1") },
            &[(20_000, SwitchDies(509)), (20_000, DeviceSickens(492, sick(lanes, Sickness::Ignores, true)))],
            &[],
        ),
        (
            Setting { fenced: true, load: 0.0, seed: 7, ..agents("fat-tree:2,3") },
            &[
                (1_000_000, DeviceSickens(658, sick(AttributeId::LinearForwardingTable, Sickness::Silent, false))),
                (10_000_000, DeviceSickens(585, sick(lanes, Sickness::Ignores, false))),
                (200_000, SwitchDies(647)),
            ],
            &[],
        ),
        (
            Setting { seed: 774, ..agents("hypercube:3,1") },
            &[
                (200_000, DeviceSickens(122, sick(AttributeId::SwitchInfo, Sickness::Refuses, false))),
                (1_000_000, CableGoes(327)),
            ],
            &[(379, Successor::Itself), (67, Successor::Standby)],
        ),
        (
            Setting { fenced: true, load: 0.0, loss: 0.02, ..agents("mesh:3x3,1") },
            &[
                (0, DeviceSickens(0, sick(AttributeId::SwitchInfo, Sickness::Silent, false))),
                (0, DeviceSickens(1, sick(AttributeId::LinearForwardingTable, Sickness::Silent, false))),
            ],
            &[],
        ),
        (
            Setting { auto: true, ..agents("torus:4x4,1") },
            &[(0, SwitchDies(210)), (0, SwitchDies(85))],
            &[(52, Successor::ItselfWithoutJournal), (625, Successor::Itself), (0, Successor::Itself)],
        ),
        (
            Setting { auto: true, fenced: true, load: 0.0, ..agents("torus:4x4,1") },
            &[(0, SwitchDies(210)), (0, SwitchDies(85))],
            &[(52, Successor::ItselfWithoutJournal), (625, Successor::Itself), (0, Successor::Itself)],
        ),
        (
            Setting { fenced: true, load: 0.0, loss: 0.02, seed: 166, ..agents("torus:3x3,1") },
            &[(0, SwitchDies(390)), (0, Revives), (1_000_000, CableGoes(197))],
            &[],
        ),
        (
            Setting { auto: true, ..agents("ring:6,1") },
            &[(0, SwitchDies(260)), (200_000, SwitchRemoved(27)), (1_000_000, Revives)],
            &[],
        ),
        (Setting { auto: true, ..agents("hypercube:3,1") }, &[(0, CableGoes(259)), (200_000, CableGoes(8))], &[]),
        (
            agents("mesh:3x3,1"),
            &[
                (0, SwitchDies(0)),
                (0, DeviceSickens(365, sick(AttributeId::LinearForwardingTable, Sickness::Silent, true))),
            ],
            &[(394, Successor::Itself)],
        ),
        (
            Setting { fenced: true, load: 0.0, ..agents("mesh:3x3,1") },
            &[(0, SwitchDies(0)), (200_000, DeviceSickens(218, sick(lanes, Sickness::Silent, false)))],
            &[(37, Successor::Itself)],
        ),
    ];
    for &(setting, events, deaths) in cases {
        live(&Case { setting, events: events.to_vec(), offs: Vec::new(), deaths: deaths.to_vec() });
    }
    let refuses = sick(AttributeId::PortInfo, Sickness::Refuses, false);
    live(&Case {
        setting: Setting { seed: 709, ..agents("ring:6,1") },
        events: vec![(200_000, DeviceSickens(894, refuses)), (10_000_000, LinkBounces(242))],
        offs: vec![97, 258],
        deaths: vec![(28, Successor::Itself)],
    });
    let entries = sick(AttributeId::LinearForwardingTable, Sickness::Silent, false);
    let silent = sick(AttributeId::PortInfo, Sickness::Silent, false);
    live(&Case {
        setting: Setting { auto: true, fenced: true, load: 0.0002, seed: 880, ..agents("fat-tree:2,3") },
        events: vec![(200_000, DeviceSickens(399, entries)), (200_000, DeviceSickens(546, silent))],
        offs: vec![475, 709],
        deaths: vec![
            (11, Successor::Standby),
            (86, Successor::ItselfWithoutJournal),
            (1178, Successor::ItselfWithoutJournal),
        ],
    });
    let refuses = sick(AttributeId::PortInfo, Sickness::Refuses, true);
    live(&Case {
        setting: Setting { loss: 0.02, seed: 642, ..agents("torus:3x3,1") },
        events: vec![(10_000_000, DeviceSickens(679, refuses)), (1_000_000, SwitchRemoved(210))],
        offs: vec![312],
        deaths: vec![(45, Successor::Standby), (83, Successor::Itself)],
    });
    live(&Case {
        setting: Setting { seed: 709, ..agents("torus:3x3,1") },
        events: vec![(1_000_000, SwitchRemoved(908)), (1_000_000, DeviceSickens(667, refuses))],
        offs: vec![244, 415],
        deaths: vec![(483, Successor::Itself), (66, Successor::Itself), (988, Successor::Itself)],
    });
    live(&Case {
        setting: Setting { fenced: true, load: 0.0001, seed: 286, ..agents("ring:6,1") },
        events: vec![(200_000, DeviceSickens(506, sick(lanes, Sickness::Ignores, false)))],
        offs: vec![504],
        deaths: vec![(0, Successor::ItselfWithoutJournal)],
    });
    let silent = DeviceSickens(775, sick(lanes, Sickness::Silent, true));
    let refuses = DeviceSickens(907, sick(lanes, Sickness::Refuses, true));
    live(&Case {
        setting: Setting { load: 0.0005, seed: 676, ..agents("hypercube:3,1") },
        events: vec![(0, silent), (200_000, CableGoes(506)), (0, refuses)],
        offs: vec![],
        deaths: vec![(32, Successor::Standby), (1334, Successor::Itself), (436, Successor::Itself)],
    });
    let ignores = |which, attribute| DeviceSickens(which, sick(attribute, Sickness::Ignores, false));
    live(&Case {
        setting: Setting { load: 0.0005, seed: 130, ..agents("fat-tree:2,3") },
        events: vec![(1_000_000, ignores(406, lanes)), (0, ignores(683, AttributeId::PortInfo))],
        offs: vec![645, 596],
        deaths: vec![(35, Successor::Standby), (80, Successor::Itself)],
    });
    live(&Case {
        setting: Setting { load: 0.0005, ..agents("hypercube:3,1") },
        events: vec![(0, CableGoes(359)), (200_000, LinkBounces(832))],
        offs: vec![76],
        deaths: vec![(477, Successor::Itself)],
    });
    let silent = DeviceSickens(189, sick(AttributeId::PortInfo, Sickness::Silent, false));
    let ignores = DeviceSickens(277, sick(AttributeId::LinearForwardingTable, Sickness::Ignores, true));
    live(&Case {
        setting: Setting { fenced: true, load: 0.0001, loss: 0.02, seed: 431, ..agents("fat-tree:2,3") },
        events: vec![(1_000_000, silent), (1_000_000, ignores)],
        offs: vec![],
        deaths: vec![],
    });
    let refuses = DeviceSickens(756, sick(AttributeId::LinearForwardingTable, Sickness::Refuses, false));
    let ignores = DeviceSickens(20, sick(AttributeId::PortInfo, Sickness::Ignores, true));
    live(&Case {
        setting: Setting { load: 0.001, seed: 115, ..agents("torus:3x3,1") },
        events: vec![(10_000_000, HostDies(905)), (200_000, refuses), (10_000_000, ignores)],
        offs: vec![629, 634],
        deaths: vec![
            (60, Successor::ItselfWithoutJournal),
            (11, Successor::Standby),
            (47, Successor::ItselfWithoutJournal),
        ],
    });
}

#[test]
fn whatever_happens_the_last_manager_rests_over_a_sound_subnet() {
    draw(cases(event()));
}

#[test]
fn whoever_falls_sick_meanwhile_the_rest_is_sound() {
    draw(cases(sick_deed()));
}

/// Draws worlds and lives them.
fn draw(cases: impl Strategy<Value = Case>) {
    let wanted = std::env::var("RECONFIG_CRASHES").ok();
    let runner = Config { failure_persistence: None, ..Config::default() };
    if wanted.as_deref() == Some("forever") {
        loop {
            let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos();
            draw_some(&cases, Config { cases: ROUND, rng_seed: RngSeed::Fixed(now_ns as u64), ..runner.clone() });
        }
    }
    let count = wanted.map(|count| count.parse().expect("RECONFIG_CRASHES: a number of worlds, or `forever`"));
    draw_some(&cases, Config { cases: count.unwrap_or(if is_thorough() { 5_000 } else { 25 }), ..seeded(runner) });
}

/// Worlds between two lines of those that are drawn for ever.
const ROUND: u32 = 100;

fn draw_some(cases: &impl Strategy<Value = Case>, config: Config) {
    let tally = RefCell::new(Tally::default());
    let (count, seed) = (config.cases, config.rng_seed);
    let outcome = TestRunner::new(config).run(cases, |case| {
        tally.borrow_mut().add(&case, &live(&case));
        Ok(())
    });
    let Tally { faults, arrivals, changes, lossless } = tally.into_inner();
    println!("{count} worlds, {seed:?}; faults {faults:?}; managers came as {arrivals:?}; changes {changes:?}");
    println!("in {lossless} of them no packet may be lost to a change");
    outcome.unwrap_or_else(|failed| panic!("{seed:?}: {failed}"));
}
