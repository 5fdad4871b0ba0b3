//! Random fabrics with random tables, right and wrong: the audit and the oracle find the same, number by number; and
//! where the prover's model is the same, it says the same.

use super::oracle::{self, Numbers};
use super::{plain, shortest};
use crate::support::fabrics::random_fabric;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::audit::{Audit, AuditRules, AuditVerdict, RoutingSnapshot, audit, audit_update};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lid, PortNum};
use reconfig::lid::steady_sl_to_vl;
use reconfig::tables::dump::{PathSls, SlToVlDump, read_path_sls, read_sl_to_vl};
use reconfig::tables::{Lft, SubnetTables};
use reconfig::verify::{Refusal, Scope, prove_tables};
use std::fmt::Write;
use std::sync::Arc;

const SEEDS: u64 = 250;

/// Tables of one moment, as read.
struct Tables {
    lfts: Vec<Arc<Lft>>,
    sl_to_vl: Option<SlToVlDump>,
    path_sls: Option<PathSls>,
}

impl Tables {
    fn snapshot<'a>(&'a self, fabric: &'a Fabric) -> RoutingSnapshot<'a> {
        RoutingSnapshot {
            fabric,
            lfts: &self.lfts,
            unknown: &[],
            sl_to_vl: self.sl_to_vl.as_ref(),
            path_sls: self.path_sls.as_ref(),
        }
    }

    fn random(fabric: &Fabric, rng: &mut impl Rng) -> Tables {
        let levels = rng.random_bool(0.5);
        let dump = rng.random_bool(0.5);
        Tables {
            lfts: spoilt(fabric, shortest(fabric), rng),
            sl_to_vl: dump.then(|| random_sl_to_vl(fabric, rng)),
            path_sls: levels.then(|| random_path_sls(fabric, rng)),
        }
    }
}

/// Some entries led elsewhere or taken away, on some seeds.
fn spoilt(fabric: &Fabric, tables: Vec<Arc<Lft>>, rng: &mut impl Rng) -> Vec<Arc<Lft>> {
    let share = if rng.random_bool(0.3) { 0.0 } else { 0.06 };
    let last = fabric.max_lid().map_or(0, |lid| lid.0);
    let spoil = |(node, table): (u32, Arc<Lft>), rng: &mut _| {
        let mut table = (*table).clone();
        for lid in (1..=last).map(Lid) {
            if fabric.node(NodeId(node)).is_switch() && chance(rng, share) {
                table.set(lid, any_port(fabric, NodeId(node), rng));
            }
        }
        Arc::new(table)
    };
    (0..).zip(tables).map(|entry| spoil(entry, rng)).collect()
}

fn chance(rng: &mut impl Rng, share: f64) -> bool {
    rng.random_bool(share)
}

/// Mostly a port with a cable, or none, or one without a cable, or port 0.
fn any_port(fabric: &Fabric, node: NodeId, rng: &mut impl Rng) -> PortNum {
    let cabled: Vec<PortNum> =
        fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).map(|port| fabric.port(port).num).collect();
    match rng.random_range(0..8) {
        _ if cabled.is_empty() => PortNum::NO_ROUTE,
        0 => PortNum::NO_ROUTE,
        1 => PortNum(fabric.node(node).num_ports),
        2 => PortNum::ZERO,
        _ => cabled[rng.random_range(0..cabled.len())],
    }
}

/// Two or three lanes, told for each (input, output) or for each output alike; now and then VL 15, a pair or a device
/// that is not told of.
fn random_sl_to_vl(fabric: &Fabric, rng: &mut impl Rng) -> SlToVlDump {
    let vls = rng.random_range(2..4u8);
    let alike = rng.random_bool(0.4);
    let faults = rng.random_bool(0.4);
    let mut text = String::new();
    for (id, node) in fabric.nodes().filter(|(_, node)| node.present) {
        if chance(rng, 0.1) && !text.is_empty() {
            continue;
        }
        let cabled =
            || fabric.ports_of(id).filter(|&port| fabric.peer(port).is_some()).map(|port| fabric.port(port).num);
        let inputs: Vec<PortNum> =
            if node.is_switch() { cabled().chain([PortNum::ZERO]).collect() } else { vec![PortNum::ZERO] };
        let common = row(vls, faults, rng);
        for (input, output) in inputs.iter().flat_map(|&input| cabled().map(move |output| (input, output))) {
            if faults && chance(rng, 0.02) {
                continue;
            }
            let lanes = if alike { common.clone() } else { row(vls, faults, rng) };
            writeln!(text, "{} {input} {output} {lanes}", node.guid).unwrap();
        }
    }
    read_sl_to_vl(text.as_bytes(), "random", fabric).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn row(vls: u8, faults: bool, rng: &mut impl Rng) -> String {
    let mut lane = || if faults && chance(rng, 0.01) { 15 } else { rng.random_range(0..vls) };
    (0..8).map(|_| format!("0x{:x}{:x}", lane(), lane())).collect::<Vec<_>>().join(" ")
}

/// A few service levels; now and then a path or a source that is not told of.
fn random_path_sls(fabric: &Fabric, rng: &mut impl Rng) -> PathSls {
    let sls = rng.random_range(1..4u8);
    let faults = rng.random_bool(0.3);
    let last = fabric.max_lid().map_or(0, |lid| lid.0);
    let mut text = String::new();
    for (_, node) in fabric.nodes().filter(|(_, node)| node.present) {
        if chance(rng, 0.1) && !text.is_empty() {
            continue;
        }
        for lid in (1..=last).filter(|&lid| fabric.lid_owner(Lid(lid)).is_some()) {
            if !(faults && chance(rng, 0.02)) {
                writeln!(text, "{} {lid} {}", node.guid, rng.random_range(0..sls)).unwrap();
            }
        }
    }
    read_path_sls(text.as_bytes(), "random", fabric).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn random_rules(rng: &mut impl Rng) -> AuditRules {
    AuditRules { switches: rng.random_bool(0.4), data_vls: rng.random_bool(0.3).then(|| rng.random_range(1..4)) }
}

fn draw(seed: u64) -> (Fabric, Pcg64) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (switches, extra, hosts) = (rng.random_range(2..7), rng.random_range(0..6), rng.random_range(1..3));
    (random_fabric(seed, switches, extra, hosts), rng)
}

#[test]
fn what_is_found_is_what_pair_by_pair_is_found() {
    let mut seen = [0; 6];
    for seed in 0..SEEDS {
        let (fabric, mut rng) = draw(seed);
        let tables = Tables::random(&fabric, &mut rng);
        let rules = random_rules(&mut rng);
        let found = audit(&tables.snapshot(&fabric), rules).unwrap();
        let expected = oracle::audit(tables.snapshot(&fabric), rules);
        assert_eq!(Numbers::of(&found), expected, "seed {seed}, {rules:?}");
        check_witness(&found, seed);
        count(&mut seen, &found);
    }
    assert!(seen.iter().all(|&count| count >= 10), "every verdict comes up: {seen:?}");
}

#[test]
fn what_mixtures_can_do_is_what_pair_by_pair_they_can_do() {
    let mut seen = [0; 6];
    for seed in 0..SEEDS {
        let (fabric, mut rng) = draw(seed);
        let [old, new] = [Tables::random(&fabric, &mut rng), Tables::random(&fabric, &mut rng)];
        let rules = random_rules(&mut rng);
        let (before, after) = (old.snapshot(&fabric), new.snapshot(&fabric));
        let found = audit_update(&before, &after, rules).unwrap();
        assert_eq!(Numbers::of(&found.during), oracle::mixtures(before, after, rules), "seed {seed}, {rules:?}");
        assert_eq!(found.before, audit(&before, rules).unwrap());
        assert_eq!(found.after, audit(&after, rules).unwrap());
        check_witness(&found.during, seed);
        count(&mut seen, &found.during);
    }
    assert!(seen[1..].iter().all(|&count| count >= 10), "every fault comes up: {seen:?}");
}

#[test]
fn what_is_left_when_elements_leave_or_come_is_what_pair_by_pair_is_left() {
    let mut differs = 0;
    for seed in 0..SEEDS {
        let (whole, mut rng) = draw(seed);
        let left = reduced(&whole, &mut rng);
        let grows = rng.random_bool(0.3);
        let (was, is) = if grows { (&left, &whole) } else { (&whole, &left) };
        let [old, new] = [was, is].map(|fabric| Tables::random(fabric, &mut rng));
        let rules = random_rules(&mut rng);
        let (before, after) = (old.snapshot(was), new.snapshot(is));
        let Ok(found) = audit_update(&before, &after, rules) else { continue };
        assert_eq!(Numbers::of(&found.during), oracle::mixtures(before, after, rules), "seed {seed}, {rules:?}");
        check_witness(&found.during, seed);
        // What was sent before, over elements that died since, makes a difference.
        let alone = audit_update(&old.snapshot(is), &after, rules).unwrap();
        differs += usize::from(alone.during.dependencies != found.during.dependencies);
    }
    assert!(differs > 10, "packets sent before count: {differs}");
}

/// The fabric less a switch, or less a few cables.
fn reduced(fabric: &Fabric, rng: &mut impl Rng) -> Fabric {
    if rng.random_bool(0.5) {
        let switches: Vec<NodeId> = fabric.switches().collect();
        return fabric.without_nodes(&[switches[rng.random_range(0..switches.len())]]);
    }
    let cables: Vec<_> = fabric.links().map(|(port, _)| port).collect();
    fabric.without_links(&[cables[rng.random_range(0..cables.len())], cables[rng.random_range(0..cables.len())]])
}

fn count(seen: &mut [usize; 6], audit: &Audit) {
    let names = ["credit-loops", "loops", "black-holes", "wrong-arrivals", "unreachable-pairs"];
    seen[0] += usize::from(audit.verdict() == AuditVerdict::Safe);
    for (slot, name) in seen[1..].iter_mut().zip(names) {
        *slot += usize::from(audit.faults.contains(&name));
    }
}

/// The witness closes: each output lane leads into the next input lane.
fn check_witness(audit: &Audit, seed: u64) {
    let Some(cycle) = &audit.credit_loops.cycle else {
        assert!(audit.credit_loops.components.is_empty(), "seed {seed}");
        return;
    };
    assert!(audit.credit_loops.shortest && !cycle.is_empty());
    let least = audit.credit_loops.components.iter().map(|component| component.lanes).max();
    assert!(Some(cycle.len()) <= least, "seed {seed}");
    for (dependency, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(dependency.output.vl, next.input.vl, "seed {seed}: a lane is a lane at both ends");
    }
}

#[test]
fn the_prover_says_the_same_of_tables_on_one_lane() {
    let mut refused = 0;
    for seed in 0..SEEDS {
        let (fabric, mut rng) = draw(seed);
        let mut tables = SubnetTables::new(&fabric, steady_sl_to_vl(1), Half::Lower);
        tables.lfts = spoilt(&fabric, shortest(&fabric), &mut rng);
        let rules = AuditRules { switches: rng.random_bool(0.5), data_vls: None };
        let found = audit(&plain(&fabric, &tables.lfts), rules).unwrap();
        let scope = Scope { switches: rules.switches, ..Scope::of(&[Half::Lower, Half::Upper]) };
        match prove_tables(&fabric, &tables, &scope) {
            Ok(proof) => {
                assert_eq!(found.verdict(), AuditVerdict::Safe, "seed {seed}: {:?}", found.faults);
                let statistics = proof.statistics();
                assert_eq!(statistics.dependencies, found.dependencies, "seed {seed}");
            }
            Err(refusal) => {
                refused += 1;
                let name = match refusal {
                    Refusal::Loop(_) => "loops",
                    Refusal::BlackHole(_) => "black-holes",
                    Refusal::WrongArrival(_) => "wrong-arrivals",
                    Refusal::Deadlock(_) => "credit-loops",
                    Refusal::Precondition { what, .. } => panic!("seed {seed}: {what}"),
                };
                assert!(found.faults.contains(&name), "seed {seed}: {refusal} and {:?}", found.faults);
            }
        }
    }
    assert!(refused > 20 && refused < SEEDS - 20, "{refused} of {SEEDS} refused");
}
