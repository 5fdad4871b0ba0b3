//! Worst-case permutations, against all permutations of tiny fabrics and against cases worked out by hand.

use crate::support::fabrics::{fabric_with, random_fabric};
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::change::Realised;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, LinkSpeed, LinkWidth, PortId};
use reconfig::ids::PortNum;
use reconfig::lid::Heuristic;
use reconfig::routing::{Demand, Engine, EngineKind, FatTree, MinHop, Parameters, UpDown, engine_named};
use reconfig::tables::{Crossings, RoutingFunction, Selection};

fn made(topology: &str) -> Fabric {
    generate(&topology.parse().expect("a topology"), &Options::default()).expect("a fabric")
}

/// The paths by which a pair sends, by the words of [`Selection`].
fn used(function: &RoutingFunction, selection: Selection, ranks: [u32; 2], ends: [PortId; 2]) -> Vec<usize> {
    let mut open: Vec<usize> = match function.path_layers() {
        None => (0..function.paths()).collect(),
        Some(layers) => layers.ways(ends[0], ends[1]).map(|(path, _)| path).collect(),
    };
    match selection {
        Selection::Base => open.truncate(1),
        Selection::Single => open = vec![open[(ranks[0] * 7 + ranks[1]) as usize % open.len()]],
        Selection::Spread(most) => open.truncate(most),
    }
    open
}

/// The load of every channel between switches under a permutation, every packet followed.
fn followed(fabric: &Fabric, function: &RoutingFunction, selection: Selection, permutation: &[u32]) -> Vec<f64> {
    let ends: Vec<PortId> = fabric.end_ports().collect();
    let rate = |port: PortId| fabric.port(port).width.data_rate_kbps(fabric.port(port).speed) as f64;
    let mut load = vec![0.0; fabric.port_count()];
    for (from, &to) in permutation.iter().enumerate().filter(|&(from, &to)| from as u32 != to) {
        let pair = [ends[from], ends[to as usize]];
        let destination = function.destinations().iter().position(|&port| port == pair[1]).expect("it is led to");
        let paths = used(function, selection, [from as u32, to], pair);
        for &path in &paths {
            let mut at = fabric.neighbour(pair[0]).expect("a cabled port");
            while fabric.node(at).is_switch() {
                let output = function.output(at, destination, path).expect("a route");
                let port = fabric.port_at(at, output).expect("a port");
                at = fabric.neighbour(port).expect("a cable");
                if fabric.node(at).is_switch() {
                    load[port.index()] += rate(pair[0]) / paths.len() as f64 / rate(port);
                }
            }
        }
    }
    load
}

fn most(loads: &[f64]) -> f64 {
    loads.iter().copied().fold(0.0, f64::max)
}

/// Calls for every order of what is left of `order` from `at` on.
fn permutations(order: &mut Vec<u32>, at: usize, each: &mut impl FnMut(&[u32])) {
    if at == order.len() {
        return each(order);
    }
    for next in at..order.len() {
        order.swap(at, next);
        permutations(order, at + 1, each);
        order.swap(at, next);
    }
}

/// Compares with all permutations of the end ports; returns the load.
fn is_worst_of_all(fabric: &Fabric, function: &RoutingFunction, selection: Selection) -> f64 {
    let crossings = Crossings::of(fabric, function, selection);
    let mut order: Vec<u32> = (0..crossings.ends().len() as u32).collect();
    let mut wanted = 0.0f64;
    permutations(&mut order, 0, &mut |permutation| {
        let load = most(&followed(fabric, function, selection, permutation));
        let told = crossings.busiest_under(permutation).map_or(0.0, |(_, load)| load);
        assert!((told - load).abs() < 1e-9, "{permutation:?}: {told}, {load}");
        wanted = wanted.max(load);
    });
    let worst = crossings.worst();
    let (load, own) = worst.as_ref().map_or((0.0, Vec::new()), |worst| {
        let loads = followed(fabric, function, selection, &worst.permutation);
        assert!((loads[worst.channel.index()] - worst.load).abs() < 1e-9, "the channel told carries the load told");
        assert!((worst.bound() - 1.0 / worst.load.max(1.0)).abs() < 1e-12);
        (worst.load, worst.permutation.clone())
    });
    assert!((load - wanted).abs() < 1e-9, "{selection:?}: {load} of {own:?}, and {wanted} is the worst");
    is_a_permutation(&own, own.len());
    load
}

/// Nobody is left out or met twice; at most one sends to itself.
fn is_a_permutation(permutation: &[u32], ends: usize) {
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..ends as u32), "{permutation:?}");
    let silent = permutation.iter().zip(0..).filter(|&(&to, from)| to == from).count();
    assert!(silent <= 1, "{permutation:?}");
}

const SELECTIONS: [Selection; 5] =
    [Selection::Base, Selection::Single, Selection::Spread(2), Selection::Spread(3), Selection::Spread(8)];

/// An engine's function, engines by path realised.
fn routed(name: &str, fabric: &Fabric, paths: usize) -> RoutingFunction {
    let engine: Box<dyn Engine> = match engine_named(name, &Parameters::default()).expect("an engine") {
        EngineKind::ByDestination(engine) => engine,
        EngineKind::ByPath(paths) => Box::new(Realised { paths, heuristic: Heuristic::default() }),
    };
    engine.route(fabric, &Demand::all(fabric, paths)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_permutation_is_worse(seed in any::<u64>(), switches in 2usize..6, extra in 0usize..6, paths in 1usize..5) {
        let fabric = random_fabric(seed, switches, extra, 1);
        for name in ["up-down", "min-hop", "dfsssp", "nue", "shortest-widest"] {
            let function = routed(name, &fabric, paths);
            for selection in SELECTIONS {
                is_worst_of_all(&fabric, &function, selection);
            }
        }
    }

    #[test]
    fn no_permutation_is_worse_where_switches_bear_several(seed in any::<u64>(), extra in 0usize..4) {
        let fabric = random_fabric(seed, 3, extra, 2);
        for name in ["up-down", "lash", "fully-explicit", "up-down-balanced"] {
            let function = routed(name, &fabric, 2);
            for selection in SELECTIONS {
                is_worst_of_all(&fabric, &function, selection);
            }
        }
    }
}

#[test]
fn a_shift_meets_on_one_way_up() {
    // d-mod-k: four hosts of a leaf, four spines; a host's number mod 4 says its spine. Sent to hosts whose numbers are
    // equal mod 4, all four of a leaf's meet on one way up, if only three leaves and so three destinations are left
    // elsewhere for each spine: with five leaves, four.
    for (leaves, load) in [(3, 2.0), (4, 3.0), (5, 4.0), (8, 4.0)] {
        let fabric = made(&format!("leaf-spine:{leaves},4,4"));
        let function = FatTree.route(&fabric, &Demand::all(&fabric, 1)).expect("a fat tree");
        let crossings = Crossings::of(&fabric, &function, Selection::Base);
        let worst = crossings.worst().expect("channels");
        assert!((worst.load - load).abs() < 1e-9, "{leaves} leaves: {}", worst.load);
        // A shift by one leaf is what d-mod-k is made for: nobody meets.
        let hosts = 4 * leaves;
        let shifted: Vec<u32> = (0..hosts).map(|host| (host + 4) % hosts).collect();
        let (_, load) = crossings.busiest_under(&shifted).expect("all cross");
        assert!((load - 1.0).abs() < 1e-9, "{load}");
        // Every way up of a leaf, used by everybody: no worse than a leaf's hosts over its ways up.
        let function = FatTree.route(&fabric, &Demand::all(&fabric, 4)).expect("a fat tree");
        let worst = Crossings::of(&fabric, &function, Selection::Spread(4)).worst().expect("channels");
        assert!((worst.load - 1.0).abs() < 1e-9, "spread over all spines: {}", worst.load);
    }
}

#[test]
fn one_cable_between_two_switches_carries_all() {
    let fabric = fabric_with(2, &[(0, 1)], &[0, 0, 0, 1, 1]);
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
    let worst = Crossings::of(&fabric, &function, Selection::Base).worst().expect("a channel");
    assert!((worst.load - 2.0).abs() < 1e-12, "two destinations on the smaller side, and two sources: {}", worst.load);
    assert!((worst.bound() - 0.5).abs() < 1e-12);
    is_a_permutation(&worst.permutation, 5);
    let silent = worst.permutation.iter().zip(0..).filter(|&(&to, from)| to == from).count();
    assert_eq!(silent, 0, "{:?}", worst.permutation);
}

#[test]
fn a_load_is_a_part_of_what_a_channel_carries() {
    let plain = fabric_with(2, &[(0, 1)], &[0, 0, 1, 1]);
    let mut builder = reconfig::fabric::FabricBuilder::new();
    let nodes: Vec<_> =
        plain.nodes().map(|(_, node)| builder.node(node.kind, node.guid, node.num_ports, "a node")).collect();
    for (a, b) in plain.links() {
        let place = |port: PortId| (nodes[plain.port(port).node.index()], plain.port(port).num);
        let trunk = [a, b].iter().all(|&port| plain.node(plain.port(port).node).is_switch());
        let width = if trunk { LinkWidth::X12 } else { LinkWidth::X4 };
        builder.link(place(a), place(b), width, LinkSpeed::Edr).expect("free ports");
    }
    let fabric = reconfig::lid::assign(&builder.build().expect("a fabric"), Default::default()).expect("LIDs");
    let function = MinHop.route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
    let worst = Crossings::of(&fabric, &function, Selection::Base).worst().expect("a channel");
    assert!((worst.load - 2.0 / 3.0).abs() < 1e-12, "two at 4X over 12X: {}", worst.load);
    assert!((worst.bound() - 1.0).abs() < 1e-12);
    assert_eq!(fabric.port(worst.channel).num, PortNum(1));
}

#[test]
fn a_lone_switch_has_no_worst() {
    let fabric = fabric_with(1, &[], &[0, 0, 0]);
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
    let crossings = Crossings::of(&fabric, &function, Selection::Single);
    assert_eq!(crossings.worst(), None);
    assert_eq!(crossings.busiest_under(&[1, 2, 0]), None);
}

/// Runs `reconfig`; its exit code and what it printed.
fn reconfig(arguments: &[&str]) -> (Option<i32>, String) {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig")).args(arguments).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (run.status.code(), if run.status.success() { text(&run.stdout) } else { text(&run.stderr) })
}

#[test]
fn the_command_tells_and_writes_the_worst() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (fabric, pairs) = (at("fabric.ibnetdiscover"), at("worst.pairs"));
    assert_eq!(reconfig(&["fabric", "generate", "leaf-spine:5,4,4", "-o", &fabric]).0, Some(0));
    let route = |more: &[&str]| {
        reconfig(&[&["route", &fabric, "--engine", "fat-tree", "--lmc", "3", "--worst-permutation"], more].concat())
    };
    let (_, json) = route(&[&pairs, "--worst-for", "base", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let json = &json["subnets"][0];
    let uses: Vec<(&str, f64)> = json["worst"]["uses"]
        .as_array()
        .expect("uses")
        .iter()
        .map(|row| (row["selection"].as_str().expect("a name"), row["load"].as_f64().expect("a load")))
        .collect();
    assert_eq!(uses[0], ("base", 4.0));
    assert_eq!(uses[2..], [("spread over 2", 2.0), ("spread over 4", 1.0)]);
    assert_eq!(
        (json["worst"]["uses"][0]["load_of_chosen"].as_f64(), json["dispersal"]["distinct_least"].as_u64()),
        (Some(4.0), Some(4))
    );
    // The file says the same, a pair a line.
    let written = std::fs::read_to_string(&pairs).expect("it was written");
    let (notes, rows): (Vec<&str>, Vec<&str>) = written.lines().partition(|line| line.starts_with('#'));
    assert!(notes[0].starts_with("# worst-case permutation of fat-tree, paths base of 4: load 4.000 on "), "{notes:?}");
    let told = json["worst"]["permutation"].as_array().expect("ranks");
    let told: Vec<String> = told.iter().enumerate().map(|(from, to)| format!("{from} {to}")).collect();
    assert_eq!(rows, told);
    let (_, screen) = route(&[]);
    assert!(screen.contains(" spread over 4  1.00  100.0 %  "), "{screen}");
    // More paths than there are cannot be meant.
    let (code, said) = route(&[&pairs, "--worst-for", "5"]);
    assert!(code == Some(2) && said.contains("this routing offers 4 paths to a pair; name 4 at most"), "{said}");
    // A file on standard output has it to itself.
    let (code, said) = route(&["-", "--worst-for", "base"]);
    assert_eq!((code, &said), (Some(0), &written));
    // Without the option nothing of it is told.
    let (_, plain) = reconfig(&["route", &fabric, "--engine", "fat-tree"]);
    assert!(!plain.contains("several") && !plain.contains("worst"), "{plain}");
}

#[test]
fn what_cannot_be_written_or_read_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (fabric, pairs) = (at("fabric.ibnetdiscover"), at("worst.pairs"));
    assert_eq!(reconfig(&["fabric", "generate", "leaf-spine:1,1,2", "-o", &fabric]).0, Some(0));
    let (code, said) = reconfig(&["route", &fabric, "--worst-permutation", &pairs]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("no pair of end ports sends over a channel between switches"), "{said}");
    assert!(!std::path::Path::new(&pairs).exists());
    let (code, said) = reconfig(&["route", &fabric, "--worst-permutation", "--worst-for", "all"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("expected base, single, or a number of paths from 1 to 128"), "{said}");
}
