//! What a run of the routing takes: within OpenSM beside its own engines, and without OpenSM step by step. The long form of
//! docs/OPENSM.md's table; nothing here is run unless asked for by name.

use crate::decision::World;
use crate::harness::{OpenSm, installed};
use crate::moments::{cables, name};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::Guid;
use reconfig_measuring::served::Served;
use reconfig_opensm::ahead::KnownBase;
use reconfig_opensm::decision::Again;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn generated(topology: &str) -> Fabric {
    generate(&topology.parse().expect("a topology"), &Options::default()).expect("a fabric")
}

/// The fabrics of the table.
const FABRICS: [&str; 2] = ["three-level:16,8,8,8,8", "fat-tree:18,3"];

/// The time of day that a line of OpenSM's log begins with, in seconds.
fn second(line: &str) -> f64 {
    let clock = line.split_whitespace().nth(2).unwrap_or_else(|| panic!("a line without a time: {line}"));
    let part = |text: &str| text.parse::<f64>().unwrap_or_else(|error| panic!("{line}: {error}"));
    clock.split(':').fold(0.0, |sum, text| sum * 60.0 + part(text))
}

/// By run of the routing: seconds from its begin to tables configured, and what the engine said meanwhile.
fn spans(log: &str) -> Vec<(f64, String)> {
    let mut found = Vec::new();
    let mut begun: Option<(f64, String)> = None;
    for line in log.lines() {
        if line.contains("building routing with") {
            begun = Some((second(line), String::new()));
        } else if let Some((_, said)) = line.split_once("-> reconfig: ") {
            begun.iter_mut().for_each(|(_, own)| *own = said.to_string());
        } else if line.contains("tables configured on all switches") {
            found.extend(begun.take().map(|(start, said)| (second(line) - start, said)));
        }
    }
    found
}

/// One line for ibsim's console.
fn console(served: &mut Served, line: &str) {
    let stdin = served.server.as_mut().and_then(|server| server.stdin.as_mut()).expect("ibsim's console is open");
    writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("ibsim reads its console");
}

#[test]
#[ignore = "minutes on a quiet machine: the table of docs/OPENSM.md"]
fn beside_opensms_own_engines() {
    if !installed(&["opensm", "ibsim", "ibsim-run"]) {
        return;
    }
    println!("| fabric | engine | run | seconds | what the engine said |");
    for topology in FABRICS {
        let fabric = generated(topology);
        let net = write(&fabric, Format::IbsimNet).expect("ibsim can have it");
        let cable = name(&fabric, cables(&fabric)[0]);
        for engine in ["reconfig no_fallback", "minhop", "updn"] {
            let mut served = Served::serve(&net);
            let (socket, folder) = (served.socket().to_string(), served.folder().to_path_buf());
            let options = format!("sweep_interval 1\nlog_flags 0x47\nrouting_engine {engine}");
            let opensm = OpenSm::start(&socket, &folder, "", &options);
            opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
            opensm.settle();
            for command in ["Unlink", "ReLink"] {
                let ups = opensm.ups();
                console(&mut served, &format!("{command} {cable}"));
                opensm.until(command, |opensm| opensm.ups() > ups);
                opensm.settle();
            }
            let found = spans(&opensm.log());
            assert!(found.len() >= 3, "bring-up, loss and return: {found:?}");
            for (number, (took, said)) in found.iter().enumerate() {
                println!("| {topology} | {engine} | {number} | {took:.3} | {said} |");
            }
        }
    }
}

#[test]
#[ignore = "a minute on a quiet machine: the steps of docs/OPENSM.md's table"]
fn without_opensm() {
    for topology in FABRICS {
        let mut world = World::new(&generated(topology), 0, "renew: false");
        let cables = cables(&world.whole);
        let run = |world: &mut World, what: &str| {
            loop {
                let seen = world.seen();
                let start = Instant::now();
                let asked = world.router.unsure(&seen).len();
                let sight = seen.sight().expect("what the world shows fits together");
                let sighted = start.elapsed();
                world.router.sweeps();
                let answer = world.router.route(&sight, Duration::from_secs(60)).expect("it can be routed");
                let took = start.elapsed();
                let said = answer.notes.last().map_or("", |note| &note.text);
                println!("{topology}: {what}: {took:?}, of which reading {asked} blocks {sighted:?}; {said}");
                for switch in sight.fabric.switches() {
                    world.lfts[switch.index()] = Arc::clone(&answer.lfts[switch.index()]);
                }
                world.router.written(Duration::from_secs(60));
                match answer.again {
                    None => break,
                    again => assert_eq!(again, Some(Again::Written), "no wait, and no renewal"),
                }
            }
            let sm = Guid(world.seen().sm_port_guid);
            let in_force = world.router.in_force(sm).expect("no change is under way");
            let start = Instant::now();
            world.router.know(KnownBase::of(&in_force));
            println!("{topology}: {what}: known for the next change after {:?}", start.elapsed());
        };
        run(&mut world, "bring-up");
        run(&mut world, "nothing new");
        for at in [0, cables.len() / 2] {
            world.dead = vec![cables[at]];
            run(&mut world, "a cable lost");
            world.dead.clear();
            run(&mut world, "a cable back");
        }
    }
}
