//! Sources that spread what they send over the paths of their half, from outside: which links carry it, what comes back
//! where, what arrives out of order, and that a change under all of them loses nothing.

use crate::support::is_thorough;
use crate::support::with_tables::with_tables;
use reconfig::change::engine_named;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Lmc;
use reconfig::lid;
use reconfig::reproduce::{Study, StudyRequest, csv, reproduce};
use reconfig::routing::{Demand, Engine, FatTree, Parameters};
use reconfig::scenario::Unwatched;
use reconfig::scenario::{self, Departure, Ending, Scenario, SimulationReport};
use reconfig::sim::{Dispersal, PACKET_BYTES, PathChoice, Sim, SimConfig, SimError, Spray, Traffic};
use reconfig::tables::RoutingFunction;
use std::collections::BTreeSet;
use std::sync::Arc;

const FAT_TREE: &str = "fat-tree:4,2";

/// A fabric with 2^`lmc` LIDs at each end port, and its routing: as many paths as a half has LIDs.
fn routed(text: &str, lmc: u8) -> (Fabric, RoutingFunction) {
    let fabric = generate(&text.parse::<Topology>().unwrap(), &Options::default()).unwrap();
    let fabric = lid::assign(&fabric, Lmc::masked(lmc)).unwrap();
    let function = FatTree.route(&fabric, &Demand::all(&fabric, 1 << (lmc - 1))).unwrap();
    (fabric, function)
}

fn running((fabric, function): &(Fabric, RoutingFunction), config: SimConfig) -> Sim {
    let tables = lid::bring_up(fabric, function, config.data_vls);
    with_tables(fabric, &tables, config, fabric.end_ports().next().unwrap())
}

fn dispersed(choice: PathChoice, spray: Spray) -> SimConfig {
    SimConfig { dispersal: Dispersal { choice, spray, paths: None }, count_order: true, ..SimConfig::default() }
}

/// The ports that sent data in a period.
fn senders(sim: &Sim, period: usize) -> BTreeSet<PortId> {
    let sent = sim.bytes_sent(period);
    (0..sent.len()).filter(|&port| sent[port] > 0).map(|port| PortId(port as u32)).collect()
}

/// The ports on the way from one end port to another by a path of the routing.
fn way((fabric, function): &(Fabric, RoutingFunction), from: PortId, to: PortId, path: usize) -> BTreeSet<PortId> {
    let destination = function.destinations().iter().position(|&port| port == to).unwrap();
    let home = fabric.neighbour(from).unwrap();
    function.way(fabric, home, destination, path).chain([from]).collect()
}

/// For each packet of a trace from rank 0 to rank 7, one every 100 µs, the ports that sent it and its reply.
fn traced(net: &(Fabric, RoutingFunction), choice: PathChoice, packets: u64) -> Vec<BTreeSet<PortId>> {
    let traffic = Traffic::Trace((0..packets).map(|at| (100_000 * at, 0, 7, 256)).collect());
    let mut sim = running(net, SimConfig { traffic, replies: 1.0, ..dispersed(choice, Spray::Message) });
    (0..packets)
        .map(|at| {
            sim.run(100_000 * at + 90_000, false);
            sim.begin_period();
            senders(&sim, at as usize)
        })
        .collect()
}

#[test]
fn a_packet_is_still_forty_bytes() {
    assert_eq!(PACKET_BYTES, 40);
}

/// InfiniBand forwards by the DLID: of 16 pairs of LIDs there are four ways there, and the SLID decides on the way
/// back.
#[test]
fn every_pair_of_lids_takes_the_way_of_its_dlid_and_its_reply_that_of_its_slid() {
    let net = routed(FAT_TREE, 3);
    let ends: Vec<PortId> = net.0.end_ports().collect();
    let there: Vec<_> = (0..4).map(|path| way(&net, ends[0], ends[7], path)).collect();
    let back: Vec<_> = (0..4).map(|path| way(&net, ends[7], ends[0], path)).collect();
    let seen = traced(&net, PathChoice::All, 16);
    // The turns of rank 0 towards rank 7 begin with 7: SLID 1, DLID 3.
    let expected = (7..23).map(|turn: usize| &there[turn % 4] | &back[turn / 4 % 4]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
    let forward: BTreeSet<&BTreeSet<PortId>> = there.iter().collect();
    assert!(forward.len() > 1, "a fat tree has several ways");
    let paired = (7..11).map(|turn: usize| &there[turn % 4] | &back[turn % 4]);
    assert_eq!(traced(&net, PathChoice::Paired, 4), paired.collect::<Vec<_>>());
    let base = traced(&net, PathChoice::Base, 3);
    assert!(base.iter().all(|seen| *seen == &there[0] | &back[0]));
    let single = traced(&net, PathChoice::Single, 3);
    assert!(single.iter().all(|seen| *seen == single[0]), "one path, for good");
}

#[test]
fn no_more_paths_are_used_than_allowed() {
    let net = routed("fat-tree:8,2", 4);
    let used = |choice, paths| {
        let traffic = Traffic::Pairs((0..31).map(|rank| if rank == 0 { 30 } else { rank }).collect());
        let dispersal = Dispersal { choice, paths, spray: Spray::Message };
        let mut sim = running(&net, SimConfig { traffic, dispersal, load: 0.2, ..SimConfig::default() });
        sim.run(300_000, false);
        let first = net.0.end_ports().next().unwrap();
        let home = net.0.neighbour(first).unwrap();
        let up = |&port: &PortId| net.0.port(port).node == home;
        senders(&sim, 0).iter().filter(|port| up(port)).count()
    };
    let counts = |choice| [Some(1), Some(2), Some(3), Some(8), None].map(|paths| used(choice, paths));
    assert_eq!(counts(PathChoice::Paired), [1, 2, 3, 8, 8], "a leaf has eight links up");
    assert_eq!(counts(PathChoice::All), [1, 2, 3, 8, 8]);
    assert_eq!(counts(PathChoice::Single), [1; 5]);
    assert_eq!(counts(PathChoice::Base), [1; 5]);
}

#[test]
fn messages_bring_no_more_load_than_asked_for() {
    let net = routed(FAT_TREE, 3);
    for message_packets in [1, 4, 40] {
        for spray in [Spray::Message, Spray::Packet] {
            let config = SimConfig { load: 0.2, message_packets, ..dispersed(PathChoice::Paired, spray) };
            let mut sim = running(&net, config);
            sim.run(100_000, false);
            sim.begin_period();
            sim.run(4_100_000, false);
            let period = &sim.periods()[1];
            let delivered = period.bytes as f64 / 4e6 / sim.delivery_capacity();
            assert!((0.19..0.21).contains(&delivered), "{message_packets} packets, {spray:?}: {delivered}");
            let of_one = period.order.packets as f64 / period.order.messages as f64;
            assert!((of_one / f64::from(message_packets) - 1.0).abs() < 0.05, "{of_one} packets a message");
        }
    }
}

#[test]
fn one_path_keeps_its_order_and_several_lose_it() {
    let net = routed("fat-tree:8,2", 3);
    let late = |choice, spray, message_packets| {
        let traffic = Traffic::Permutation;
        let mut sim = running(&net, SimConfig { load: 0.9, message_packets, traffic, ..dispersed(choice, spray) });
        sim.run(100_000, false);
        let order = sim.periods()[0].order;
        assert!(order.packets > 10_000 && order.messages > 1_000, "{order:?}");
        order
    };
    for choice in [PathChoice::Single, PathChoice::Base] {
        for spray in [Spray::Message, Spray::Packet] {
            let order = late(choice, spray, 4);
            assert_eq!((order.late_packets, order.late_in_message, order.late_messages), (0, 0, 0), "{choice:?}");
        }
    }
    for choice in [PathChoice::Paired, PathChoice::All] {
        let (whole, split) = (late(choice, Spray::Message, 4), late(choice, Spray::Packet, 4));
        assert!(whole.late_packets > 0 && whole.late_messages > 0, "{whole:?}");
        assert_eq!(whole.late_in_message, 0, "a message by itself stays in order: {whole:?}");
        assert!(split.late_packets > split.late_in_message && split.late_in_message > 0, "{split:?}");
    }
}

/// Counting changes nothing but the counts, and every run can be had again.
#[test]
fn runs_are_repeated_to_the_bit_and_counting_leaves_no_trace() {
    let net = routed(FAT_TREE, 3);
    for choice in [PathChoice::Single, PathChoice::Base, PathChoice::Paired, PathChoice::All] {
        for (spray, message_packets) in [(Spray::Message, 1), (Spray::Message, 24), (Spray::Packet, 24)] {
            let run = |count_order| {
                let config = SimConfig { count_order, message_packets, replies: 0.5, ..dispersed(choice, spray) };
                let mut sim = running(&net, SimConfig { load: 0.7, ..config });
                sim.run(150_000, false);
                (sim.trace_hash(), sim.packets())
            };
            assert_eq!(run(true), run(true));
            assert_eq!(run(true), run(false));
        }
    }
}

#[test]
fn pairs_name_end_ports_that_are_there() {
    let net = routed(FAT_TREE, 1);
    let ranks = net.0.end_ports().count() as u32;
    let refused = |pairs: Vec<u32>| {
        let config = SimConfig { traffic: Traffic::Pairs(pairs), ..SimConfig::default() };
        Sim::new(&net.0, config, net.0.end_ports().next().unwrap()).err()
    };
    let last = ranks as usize - 1;
    assert_eq!(refused(vec![1, ranks]), Some(SimError::NoSuchRank { rank: ranks, last }));
    assert_eq!(
        refused((0..=ranks).map(|rank| rank % ranks).collect()),
        Some(SimError::NoSuchRank { rank: ranks, last })
    );
    assert_eq!(refused(vec![1, 0]), None);
    for refused in [
        SimConfig { message_packets: 0, ..SimConfig::default() },
        SimConfig { dispersal: Dispersal { paths: Some(0), ..Dispersal::default() }, ..SimConfig::default() },
    ] {
        assert!(matches!(refused.check(), Err(SimError::Setting { .. })));
    }
}

/// Sources beyond the list, and those that name themselves, are silent, whatever the load is set to later.
#[test]
fn who_has_no_partner_sends_nothing() {
    let net = routed(FAT_TREE, 1);
    let ends: Vec<PortId> = net.0.end_ports().collect();
    let mut sim = running(&net, SimConfig { traffic: Traffic::Pairs(vec![0, 5, 1]), ..SimConfig::default() });
    sim.run(100_000, false);
    sim.set_load(0.9).unwrap();
    sim.run(200_000, false);
    let sent = senders(&sim, 0);
    let sources: Vec<usize> = (0..ends.len()).filter(|&rank| sent.contains(&ends[rank])).collect();
    assert_eq!(sources, [1, 2]);
}

/// What a source has of its message when its send queue is full waits with the application, and goes on in order.
#[test]
fn a_message_longer_than_the_send_queue_is_sent_whole() {
    let net = routed(FAT_TREE, 3);
    let traffic = Traffic::Pairs(vec![7, 1, 2, 3, 4, 5, 6, 7]);
    let config = SimConfig {
        load: 0.5,
        message_packets: 100,
        send_queue: 4,
        traffic,
        ..dispersed(PathChoice::Base, Spray::Message)
    };
    let mut sim = running(&net, config);
    sim.run(3_000_000, false);
    let order = sim.periods()[0].order;
    assert!(order.messages > 10 && sim.throttled() > 90 * order.messages, "{order:?}");
    assert_eq!((order.late_packets, order.late_messages), (0, 0));
}

fn changed(case: &Case, departure: Departure, choice: PathChoice, spray: Spray) -> SimulationReport {
    let options = Options { seed: case.seed, ..Options::default() };
    let fabric = generate(&case.topology.parse::<Topology>().unwrap(), &options).unwrap();
    let sim = SimConfig { seed: case.seed, replies: 0.3, message_packets: 6, ..dispersed(choice, spray) };
    let (lmc, load) = (Lmc::masked(3), Some(case.load));
    let (before_ns, after_ns) = (150_000, 150_000);
    let scenario = Scenario { departure, lmc, load, sim, before_ns, after_ns, ..Scenario::remove_root(fabric) };
    let engine: Arc<dyn Engine> = Arc::from(engine_named(case.engine, &Parameters::default()).unwrap());
    scenario::run(&scenario, engine, &mut Unwatched).unwrap()
}

struct Case {
    topology: &'static str,
    seed: u64,
    engine: &'static str,
    load: f64,
}

/// Issue 6: a reconfiguration in the middle, with all paths in use, loses nothing to the change.
#[test]
fn a_change_under_all_paths_loses_nothing() {
    let case = |topology, seed, engine, load| Case { topology, seed, engine, load };
    let cases = [
        case(FAT_TREE, 1, "fat-tree", 0.4),
        case(FAT_TREE, 2, "up-down", 0.2),
        case("random-regular:8,3,2", 3, "up-down-balanced", 0.2),
        case("random-regular:8,3,2", 4, "dfsssp", 0.2),
    ];
    for (which, case) in cases.into_iter().enumerate() {
        for departure in [Departure::Sudden, Departure::Planned] {
            for choice in [PathChoice::Paired, PathChoice::All] {
                for spray in [Spray::Message, Spray::Packet] {
                    // In the brief form every two of these meet on either fabric: one engine has the losses, the other
                    // the planned departures.
                    let odd = [departure == Departure::Planned, choice == PathChoice::All, spray == Spray::Packet];
                    let is_met = odd[0] == (which % 2 == 1) && odd[0] == (odd[1] != odd[2]);
                    if !is_met && !is_thorough() {
                        continue;
                    }
                    let report = changed(&case, departure, choice, spray);
                    let Case { topology, seed, engine, .. } = case;
                    let case = format!("{topology}, seed {seed}, {engine}, {departure:?}, {choice:?}, {spray:?}");
                    assert_eq!(report.outcome, Ending::Completed, "{case}: {:?}", report.reason);
                    assert_eq!(report.proof.status, "proved", "{case}");
                    assert_eq!(report.packets.lost_to_change, 0, "{case}: {:?}", report.packets);
                    assert!(report.packets.delivered > 3_000, "{case}: {:?}", report.packets);
                    assert_eq!(report.packets.in_flight, 0, "{case}");
                }
            }
        }
    }
}

/// The study of seed 003 in a reduced run: one fabric, few rows.
#[test]
fn several_paths_carry_what_is_worst_for_one() {
    let request = |table: &str, rows: &[&str], threads| StudyRequest {
        table: Some(table.to_string()),
        rows: rows.iter().map(ToString::to_string).collect(),
        fabrics: 1,
        ..StudyRequest::of(Study::Seed003, threads)
    };
    let rows = ["fat-tree LMC 4 single", "fat-tree LMC 4 paired", "fat-tree LMC 4 all"];
    let measured = |threads| reproduce(&request("fat-tree-single-worst", &rows, threads), &mut |_| {}).unwrap();
    let tables = measured(2);
    assert_eq!(csv(&tables), csv(&measured(1)), "threads change nothing");
    let cell = |row: &str, column: &str| {
        let mut cells = tables[0].cells();
        cells.find(|&(name, under, _)| name == row && under == column).unwrap().2.ours
    };
    let [single, paired, all] = rows.map(|row| cell(row, "slowest %"));
    assert!(paired > 1.5 * single && all > 1.5 * single, "{single} {paired} {all}");
    for row in rows {
        assert!(cell(row, "slowest %") < cell(row, "bound %") + 3.0, "{row}: no more than the tables let through");
    }
    assert_eq!(cell(rows[0], "late %"), 0.0);
    assert!(cell(rows[1], "late %") > 0.0);
}

fn reconfig(arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

const BUNDLED: &str = "fixtures/topologies/fat-tree-4-2.ibnetdiscover";

#[test]
fn the_command_line_tells_sources_order_and_busiest_links() {
    let asked = ["simulate", "--remove-root", "--planned", "--engine", "fat-tree", "--lmc", "3", "--path-selection"];
    let more = ["paired", "--spray", "packet", "--message", "4", "--hot-links", "3", "--traffic", "worst", BUNDLED];
    let arguments: Vec<&str> = asked.into_iter().chain(more).collect();
    let run = reconfig(&arguments);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{text}");
    for expected in [
        "sources  pairs of LIDs in turn, 4 of 4 LIDs of a half, a turn for each packet; 4 packets a message",
        "late packets",
        "links between switches, before:",
        "nothing lost to the change",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let arguments: Vec<&str> = ["--json"].into_iter().chain(arguments).collect();
    let json: serde_json::Value = serde_json::from_slice(&reconfig(&arguments).stdout).unwrap();
    assert_eq!(json["settings"]["sources"]["choice"], "paired");
    assert_eq!(json["links"]["before"]["busiest"].as_array().unwrap().len(), 3);
    let order = &json["order"]["before"];
    assert!(order["packets"].as_u64() > Some(0) && order["late_packets"].as_u64() <= order["packets"].as_u64());
    let plain = reconfig(&["--json", "simulate", "--remove-root", BUNDLED]);
    let json: serde_json::Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(json.get("order").is_none() && json.get("links").is_none() && json["settings"].get("sources").is_none());
}

#[test]
fn permutations_are_read_from_files_and_refused_where_they_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let simulate = |text: &str| {
        let file = folder.path().join("pairs");
        std::fs::write(&file, text).unwrap();
        let traffic = format!("permutation:{}", file.display());
        let run = reconfig(&["simulate", "--remove-root", "--traffic", &traffic, "--before", "100", BUNDLED]);
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    assert_eq!(simulate("# the next one\n1\n2\n3\n0\n").0, Some(0));
    for (text, expected) in [
        ("0 1\n1 1\n", "pairs:2:3: 0 sends to 1 already"),
        ("0 x\n", "pairs:1:3: `x` is not a rank"),
        ("", "holds no ranks"),
        ("0 4000\n", "ranks 0 to"),
    ] {
        let (code, error) = simulate(text);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
