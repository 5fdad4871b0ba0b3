//! Base engines of several virtual layers: hosts are told service levels by source and destination, which no change
//! touches; every moment is judged with them, on the lanes that OpenSM's SL-to-VL tables put them on.

use crate::decision::World;
use crate::harness::{OpenSm, bundled, installed};
use crate::moments::{QUIET, cables, name, random};
use crate::subnet::{Moments, Subnet};
use reconfig::audit::{Audit, AuditRules, AuditVerdict, RoutingSnapshot, audit};
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Sl;
use reconfig::tables::Lft;
use reconfig::tables::dump::{PathSls, SlToVlDump, read_path_sls, read_sl_to_vl};
use reconfig_measuring::process::run::run;
use reconfig_measuring::process::under_ibsim::under_ibsim;
use reconfig_measuring::served::Served;
use reconfig_opensm::answer::RunOutcome;
use reconfig_opensm::levels::GivenLevels;
use reconfig_opensm::multicast::Unicast;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// OpenSM programs SL-to-VL tables with QoS alone. Packets live 67 ms in a switch, so that waits are short.
const QOS: &str = "qos TRUE\nsweep_interval 1\npacket_life_time 0x0e";

fn settings(folder: &Path) -> String {
    format!("engine: lash\nlayers: {{file: {}}}", folder.join("levels").display())
}

fn held(folder: &Path) -> GivenLevels {
    GivenLevels::read(&folder.join("levels")).expect("they can be read").expect("they were kept")
}

/// Levels as a file of theirs tells them to `audit`.
pub fn path_sls(levels: &GivenLevels, fabric: &Fabric) -> PathSls {
    let ends: Vec<PortId> = fabric.end_ports().collect();
    let mut text = String::new();
    for &source in &ends {
        for &destination in &ends {
            let lid = fabric.port(destination).lid.expect("each host has a LID");
            if let Some(level) = levels.level(fabric.port_guid(source), fabric.port_guid(destination)) {
                text += &format!("{} {} {level}\n", fabric.node(fabric.port(source).node).guid, lid.0);
            }
        }
    }
    read_path_sls(text.as_bytes(), "levels", fabric).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn judged(fabric: &Fabric, lfts: &[Arc<Lft>], path_sls: Option<&PathSls>, sl_to_vl: Option<&SlToVlDump>) -> Audit {
    let snapshot = RoutingSnapshot { fabric, lfts, sl_to_vl, path_sls, unknown: &[] };
    audit(&snapshot, AuditRules { switches: false, data_vls: Some(8) }).expect("the fabric has LIDs")
}

fn one_lane_of(unicast: &Unicast) -> Arc<Fabric> {
    Arc::new(unicast.fabric.with_lanes(1))
}

fn has_ring(found: &Audit) -> bool {
    !found.credit_loops.components.is_empty() || found.loops.count > 0
}

/// Every pair's level, in both directions.
fn all(levels: &GivenLevels, fabric: &Fabric) -> Vec<Option<Sl>> {
    let ends: Vec<PortId> = fabric.end_ports().collect();
    let level = |one: PortId, other: PortId| levels.level(fabric.port_guid(one), fabric.port_guid(other));
    ends.iter()
        .flat_map(|&one| ends.iter().map(move |&other| (one, other)))
        .map(|(one, other)| level(one, other))
        .collect()
}

#[test]
fn a_file_of_levels_comes_back_and_faults_are_named() {
    let fabric = bundled("torus-4x4");
    let mut world = World::new(&fabric, 0, "engine: dfsssp\nlayers: {file: /nowhere}");
    world.op_vls = 4;
    world.settle();
    let levels = world.router.levels().expect("a torus needs several layers").clone();
    assert!(levels.layers() > 1 && levels.lanes() == 8, "{levels:?}");
    let text = levels.text();
    assert_eq!(GivenLevels::parse(&text, "levels").as_ref(), Ok(&*levels));
    let ends: Vec<PortId> = world.whole.end_ports().collect();
    for (&one, &other) in ends.iter().zip(ends.iter().rev()) {
        let [one, other] = [one, other].map(|port| world.whole.port_guid(port));
        assert_eq!(levels.level(one, other), levels.level(other, one), "an answer goes on the level of its request");
    }
    for (fault, expected) in [
        (text.replace("lanes 8", "lanes many"), "line 3"),
        (text[..text.len() / 2].to_string(), "levels: "),
        ("LID 3".to_string(), "line 1: expected"),
        (text.replace("lanes 8", "lanes 1"), "cut short"),
    ] {
        let error = GivenLevels::parse(&fault, "levels").expect_err("it must be refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Cables die and come back: every mixture is free of rings on the levels that hosts have had from the beginning.
#[test]
fn levels_outlast_losses() {
    for fabric in [bundled("torus-4x4"), random(16, 4, 2)] {
        let mut world = World::new(&fabric, 0, "engine: dfsssp\non_refusal: keep\nlayers: {file: /nowhere}");
        world.op_vls = 4;
        world.settle();
        let first = world.router.levels().expect("one lane does not suffice").clone();
        let one_lane = judged(&world.whole, &world.lfts, None, None);
        assert!(has_ring(&one_lane), "these tables rest on levels");
        // Trees are judged beside each lane by itself: on one lane unicast alone would close a ring.
        let unicast = world.router.unicast().expect("something is in force");
        let alone = |unicast: &Unicast| unicast.waits().expect("sound tables").go_with(&unicast.fabric, &[]);
        assert_eq!(
            [alone(&unicast), alone(&Unicast { ways: None, fabric: one_lane_of(&unicast), ..unicast.clone() })],
            [true, false]
        );
        let sls = path_sls(&first, &world.whole);
        assert_eq!(judged(&world.whole, &world.lfts, Some(&sls), None).verdict(), AuditVerdict::Safe);
        let cables = cables(&world.whole);
        let (mut served, brought_up) = (0, world.lfts.clone());
        for loss in 0..12 {
            let cable = cables[loss * 7 % cables.len()];
            world.lose(&[cable]);
            let left = world.whole.without_links(&[cable]);
            served += usize::from(judged(&left, &world.lfts, Some(&sls), None).verdict() == AuditVerdict::Safe);
            world.lose(&[]);
            let now = world.router.levels().expect("they stay").clone();
            assert_eq!(all(&now, &world.whole), all(&first, &world.whole));
        }
        assert_eq!(judged(&world.whole, &world.lfts, Some(&sls), None).verdict(), AuditVerdict::Safe);
        let differing = |(now, first): (&Arc<Lft>, &Arc<Lft>)| now.differing(first).count();
        let away: usize = world.lfts.iter().zip(&brought_up).map(differing).sum();
        assert_eq!(away, 0, "renewal leads back to the ways of the bring-up");
        println!("{} levels; {served} of 12 losses repaired on them", first.layers());
        assert!(served > 9, "{served} of 12 losses were repaired");
    }
}

/// Without lanes for it an engine of several layers is refused as ever.
#[test]
fn lanes_must_be_there() {
    for (op_vls, plain) in [(1, 15), (4, 1)] {
        let mut world = World::new(&bundled("torus-4x4"), 0, "engine: dfsssp\nlayers: {file: /nowhere}");
        world.op_vls = op_vls;
        let sight =
            reconfig_opensm::sight::SeenSubnet { plain_levels: plain, ..world.seen() }.sight().expect("it fits");
        world.router.sweeps();
        let failure = world.router.route(&sight, Duration::ZERO).expect_err("one lane does not suffice").to_string();
        assert!(failure.contains("virtual layers"), "{failure}");
        assert!(world.router.levels().is_none());
    }
}

/// Levels that hosts have stay where links, or OpenSM's tables, no longer carry them: nothing is written, and the log
/// says why.
#[test]
fn levels_stay_where_lanes_are_gone() {
    let mut world = World::new(&bundled("torus-4x4"), 0, "engine: lash\nlayers: {file: /nowhere}");
    world.op_vls = 4;
    world.settle();
    let first = world.router.levels().expect("one lane does not suffice").clone();
    world.op_vls = 1;
    world.dead = vec![cables(&world.whole)[0]];
    world.router.sweeps();
    let sight = world.seen().sight().expect("it fits");
    let answer = world.router.route(&sight, Duration::ZERO).expect("tables stay");
    assert_eq!((answer.outcome, answer.writes), (RunOutcome::Kept, false));
    assert!(
        answer.notes[0].text.contains("were given out for 8 data lanes, and OpenSM offers 1"),
        "{:?}",
        answer.notes
    );
    assert_eq!(world.router.levels(), Some(&first));
    world.op_vls = 4;
    world.settle();
    let left = world.whole.without_links(&world.dead);
    let sls = path_sls(&first, &world.whole);
    assert_eq!(judged(&left, &world.lfts, Some(&sls), None).verdict(), AuditVerdict::Safe);
}

/// A host that was not there before: it gets the levels of its switch.
#[test]
fn a_host_that_comes_has_the_levels_of_its_switch() {
    let mut world = World::new(&bundled("torus-4x4"), 0, "engine: lash\nlayers: {file: /nowhere}");
    world.op_vls = 4;
    let ends: Vec<PortId> = world.whole.end_ports().collect();
    let (late, other) = (ends[ends.len() - 1], ends[1]);
    world.dead = vec![late];
    world.settle();
    let guid = |port: PortId| world.whole.port_guid(port);
    let [late, other] = [late, other].map(guid);
    let switch = world.whole.neighbour(ends[ends.len() - 1]).expect("it is cabled");
    let switch = world.whole.node(switch).guid;
    let before = world.router.levels().expect("one lane does not suffice").clone();
    assert_eq!(before.level(late, other), None);
    world.lose(&[]);
    let now = world.router.levels().expect("they stay").clone();
    assert!(now.level(late, other).is_some() && now.level(late, other) == before.level(switch, other));
    let sls = path_sls(&now, &world.whole);
    assert_eq!(judged(&world.whole, &world.lfts, Some(&sls), None).verdict(), AuditVerdict::Safe);
}

/// Where the tables of an engine need more levels than there are lanes, the next one is taken.
#[test]
fn the_next_engine_is_taken_where_lanes_do_not_suffice() {
    for (engines, expected) in [("[dfsssp, lash]", 3), ("[dfsssp, up-down]", 1)] {
        let settings = format!("engine: {engines}\nlayers: {{file: /nowhere, most: 4}}");
        let mut world = World::new(&bundled("torus-4x4"), 0, &settings);
        world.op_vls = 4;
        world.settle();
        assert_eq!(world.router.levels().map_or(1, |levels| levels.layers()), expected, "{engines}");
    }
}

/// OpenSM gives the levels out, and every moment is safe with them, a death of OpenSM during a change included.
#[test]
fn opensm_gives_levels_out() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let subnet = Subnet::serve(&fabric, 0.0);
    let settings = settings(subnet.folder());
    let mut opensm = OpenSm::start(&subnet.socket, subnet.folder(), &settings, QOS);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    let whole = opensm.seen(&fabric);
    let first = held(subnet.folder());
    assert!(first.layers() > 1, "{}", opensm.said().join("\n"));
    let cables = cables(&fabric);
    for at in [0, 5, 11] {
        let cable = name(&fabric, cables[at]);
        for command in ["Unlink", "Relink"] {
            let ups = opensm.ups();
            subnet.command(&format!("{command} {cable}"));
            opensm.until(command, |opensm| opensm.ups() > ups && opensm.has_ended());
            opensm.quiet(QUIET, || subnet.written());
        }
    }
    let before = subnet.written();
    subnet.command(&format!("Unlink {}", name(&fabric, cables[3])));
    opensm.until("a write", |_| subnet.written() > before);
    opensm.kill();
    let said = opensm.said().join("\n");
    let _ = std::fs::remove_file(subnet.folder().join("osm.log"));
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), &settings, QOS);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.until("the change to end", OpenSm::has_ended);
    opensm.quiet(Duration::from_millis(2500), || subnet.written());
    let said = format!("{said}\nkilled\n{}", opensm.said().join("\n"));
    assert_eq!(all(&held(subnet.folder()), &whole), all(&first, &whole), "{said}");
    let sls = path_sls(&first, &whole);
    let mut moments = Moments::new(&whole);
    let (mut count, mut on_one_lane) = (0, 0);
    for event in subnet.events() {
        if moments.step(&event) {
            count += 1;
            assert!(!has_ring(&judged(&moments.fabric, &moments.lfts, Some(&sls), None)), "{said}");
            on_one_lane += usize::from(has_ring(&judged(&moments.fabric, &moments.lfts, None, None)));
        }
    }
    println!(
        "{count} moments on {} levels, none with a ring; on one level {on_one_lane} had one\n{said}",
        first.layers()
    );
    assert_eq!(judged(&moments.fabric, &moments.lfts, Some(&sls), None).verdict(), AuditVerdict::Safe, "{said}");
    assert!(count > 20 && on_one_lane > 0, "{count} {on_one_lane}");
}

/// On ibsim: what subnet administration answers, and the SL-to-VL tables that OpenSM programmed.
#[test]
fn path_queries_are_answered_with_levels() {
    if !installed(&["opensm", "ibsim", "ibsim-run", "saquery"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let served = Served::serve(&write(&fabric, Format::IbsimNet).expect("ibsim can have it"));
    let (socket, folder) = (served.socket().to_string(), served.folder().to_path_buf());
    let opensm = OpenSm::start(&socket, &folder, &settings(&folder), QOS);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.settle();
    let plan = opensm.last_plan();
    let whole = &plan.draft().after;
    let levels = held(&folder);
    let own = whole.end_ports().next().expect("a host");
    let lid = |port: PortId| whole.port(port).lid.expect("a LID").0;
    let mut told = Vec::new();
    for other in whole.end_ports().skip(1) {
        let pair = format!("{}:{}", lid(own), lid(other));
        let mut command = under_ibsim(&socket, "saquery", &folder);
        command.args(["--src-to-dst", &pair]);
        let said = run(&mut command, &folder, "saquery", Duration::from_secs(30)).expect("it is installed").output;
        let line = said.lines().find_map(|line| line.trim().strip_prefix("sl."));
        let digits = line.and_then(|rest| rest.trim_start_matches('.').strip_prefix("0x"));
        let level: u8 =
            digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or_else(|| panic!("{said}"));
        assert_eq!(
            Some(level),
            levels.level(whole.port_guid(own), whole.port_guid(other)).map(|sl| sl.get()),
            "{said}"
        );
        told.push(level);
    }
    assert!(told.iter().any(|&level| level > 0), "{told:?}");
    let dumped = std::fs::read(folder.join("opensm-sl2vl.dump")).expect("OpenSM dumps them with QoS");
    let sl_to_vl =
        read_sl_to_vl(&dumped, "opensm-sl2vl.dump", whole).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let lfts = &plan.tables_at(plan.waves().len()).lfts;
    let found = judged(whole, lfts, Some(&path_sls(&levels, whole)), Some(&sl_to_vl));
    assert_eq!(found.verdict(), AuditVerdict::Safe, "{:?}", found.faults);
}
