//! Plans of scheme `recover`: made from what every moment of a change by `double` can leave, read alike by both
//! checkers, and refused once what they rest on is taken away. Rows that lead nowhere are forgiven where a plan begins
//! with them, and nowhere else.

use super::{Files, Script};
use crate::support::brought_up::{Subnet, bring_up};
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::recovery::{closing, input};
use crate::support::removal::{Removal, removal};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use reconfig::change::{Recovery, RecoveryWay, prepare, prepare_recovery};
use reconfig::check;
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Half, PortNum, Sl, Vl};
use reconfig::plan::{Assumption, Barrier, Draft, LanePartition, Lanes, Phase, Plan, Scheme};
use reconfig::tables::{LFT_BLOCK, SlToVl, SlToVlScope, SubnetTables, Write};
use reconfig::verify::{self, Scope, prove};
use std::sync::Arc;

/// What takes something away from a plan.
type Breaks = fn(&mut Draft);

const BOTH: [Half; 2] = [Half::Lower, Half::Upper];

/// Has some end ports discard what their hosts send on a half, as the fence of a manager does.
fn fenced(subnet: &Subnet, tables: &mut SubnetTables, half: Half, mut chosen: impl FnMut(PortId) -> bool) {
    for port in subnet.fabric.end_ports() {
        let at = subnet.fabric.port(port);
        let held = *tables.sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
        let closed = |sl: Sl| if Half::of_sl(sl) == half { Vl::MANAGEMENT } else { held.get(sl) };
        let scope = SlToVlScope::EndPort { port: at.num };
        let write = Write::SlToVl { node: at.node, scope, table: SlToVl::from_fn(closed) };
        if chosen(port) {
            tables.apply(&subnet.fabric, &write);
        }
    }
}

/// What a manager leaves that dies in a wave of a change, some of its writes done, and the half in use.
fn left(subnet: &Subnet, plan: &Plan, wave: usize, seed: u64) -> (SubnetTables, Half) {
    let mut random = Pcg32::seed_from_u64(seed);
    let mut tables = plan.tables_at(wave).clone();
    let wave = &plan.waves()[wave];
    for write in &wave.writes {
        if random.random_bool(0.5) {
            tables.apply(&subnet.fabric, write);
        }
    }
    let share = random.random_range(0.0..1.0);
    let mut some = |_| random.random_bool(share);
    match wave.phase {
        // While the split is written the fence is being closed; it stands from its end on.
        Phase::Split => fenced(subnet, &mut tables, Half::Upper, &mut some),
        Phase::Install => fenced(subnet, &mut tables, Half::Upper, |_| true),
        Phase::Swap => fenced(subnet, &mut tables, Half::Lower, &mut some),
        _ => fenced(subnet, &mut tables, Half::Lower, |_| true),
    }
    let half = if matches!(wave.phase, Phase::Split | Phase::Install) { Half::Lower } else { Half::Upper };
    (tables, half)
}

/// It ends with one sound routing on all lanes, for both halves, and nobody fenced.
fn ends_well(subnet: &Subnet, plan: &Plan) {
    let last = plan.tables_at(plan.waves().len());
    let steady = Lanes::of_fabric(&subnet.fabric, None).steady(LanePartition::Temporary);
    for (node, _) in subnet.fabric.nodes() {
        let table = &last.sl_to_vl[node.index()];
        let pairs = reconfig::plan::sl_to_vl_pairs(&subnet.fabric, node);
        assert!(pairs.iter().all(|&(input, output)| *table.get(input, output) == steady));
    }
    verify::prove_tables(&subnet.fabric, last, &Scope::of(&BOTH)).expect("proved on both halves");
}

fn both_accept(plan: &Plan, script: &mut Option<Script>) {
    let files = Files::of(plan.clone());
    let said = files.checked().unwrap_or_else(|why| panic!("the checker: {why}"));
    if let Some(script) = script {
        assert_eq!(script.judge(&files), Ok(said));
    }
}

#[test]
fn what_any_moment_of_a_change_leaves_is_recovered_with_a_proof() {
    let mut script = Script::start();
    let (mut ways, mut unrepaired) = (Vec::new(), 0);
    for name in ["seed-16", "fat-tree-4-2", "dragonfly-2-4-2", "torus-4x4"] {
        for when in [Removal::Planned, Removal::Sudden] {
            let subnet = bring_up(&bundled(name), 1, false);
            let change = prepare(removal(&subnet, Scheme::Double, when)).expect("a plan of scheme double");
            let plan = change.plan.plan();
            // What died is not there for the successor either.
            let whole = Subnet { fabric: (*plan.draft().surviving).clone(), ..subnet };
            // In the brief form the larger two have every third wave: of each removal other ones.
            let is_large = ["dragonfly-2-4-2", "torus-4x4"].contains(&name);
            let is_left_out = |wave: usize| is_large && wave % 3 != usize::from(when == Removal::Sudden);
            for wave in (0..plan.waves().len()).filter(|&wave| is_thorough() || !is_left_out(wave)) {
                for seed in 0..if is_thorough() { 2 } else { 1 } {
                    let (tables, half) = left(&whole, plan, wave, seed);
                    let found = prepare_recovery(&input(&whole, tables, half));
                    let Recovery { prepared, way, .. } = match found {
                        Ok(found) => found,
                        // Where a root died, entries alone do not give every row a way on every fabric.
                        Err(why) if when == Removal::Sudden && why.to_string().contains("without a way") => {
                            unrepaired += 1;
                            continue;
                        }
                        Err(why) => panic!("{name} {when:?} wave {wave} seed {seed}: {why}"),
                    };
                    let recovery = prepared.plan.plan();
                    assert!(prepared.plan.proof().is_some());
                    ends_well(&whole, recovery);
                    // A plan's file lists what is there, so one without the dead switch has no index for it. Most of
                    // the time is the script's.
                    let is_brief = wave % 3 == 0 && ["seed-16", "fat-tree-4-2"].contains(&name);
                    if seed == 0 && when == Removal::Planned && (is_thorough() || is_brief) {
                        both_accept(recovery, &mut script);
                    }
                    ways.push(way);
                }
            }
        }
    }
    println!("{} recovered, {unrepaired} not repaired by entries alone", ways.len());
    assert!(unrepaired * 4 < ways.len(), "{unrepaired} are not repaired, {} are", ways.len());
    for way in [RecoveryWay::Open, RecoveryWay::Follow] {
        assert!(ways.contains(&way), "{way:?} is never taken: {ways:?}");
    }
}

#[test]
fn hosts_on_two_routings_are_brought_to_one_by_closing_a_half() {
    let mut script = Script::start();
    let plan = closing().expect("a half is closed");
    assert!(plan.draft().assumptions.contains(&Assumption::FencedLanesRunEmpty));
    both_accept(&plan, &mut script);
    let unaged = |draft: &mut Draft| {
        draft.waves[0].barriers.retain(|barrier| !matches!(barrier, Barrier::Vacated(_)));
    };
    let hurried = |draft: &mut Draft| {
        for barrier in &mut draft.waves[0].barriers {
            if let Barrier::Vacated(rounds) = barrier {
                *rounds -= 1;
            }
        }
    };
    let unclosed = |draft: &mut Draft| draft.waves[0].writes.clear();
    let one_open = |draft: &mut Draft| _ = draft.waves[0].writes.pop();
    let broken: [(&str, Breaks); 4] =
        [("no wait", unaged), ("a round too few", hurried), ("nobody closed", unclosed), ("one host open", one_open)];
    let sound = Files::of(plan.clone());
    for (name, breaks) in broken {
        let mut draft = plan.draft().clone();
        breaks(&mut draft);
        let forged = Plan::seal(draft);
        assert!(prove(forged.clone()).is_err(), "{name}: the prover");
        let files = sound.with_plan(forged.to_json());
        assert!(files.checked().is_err(), "{name}: the checker");
        if let Some(script) = &mut script {
            assert!(script.judge(&files).is_err(), "{name}: the script");
        }
    }
    let mut draft = plan.draft().clone();
    unaged(&mut draft);
    assert!(!check::lint(&Plan::seal(draft)).is_empty(), "the lint wants the wait");
}

/// The entries of a switch for one LID of each of some hosts, taken away.
fn with_holes(subnet: &Subnet, tables: &SubnetTables) -> SubnetTables {
    let mut tables = tables.clone();
    let host = subnet.fabric.end_ports().next().expect("a host");
    let switch: NodeId = subnet.fabric.neighbour(host).expect("at a switch");
    let lft = Arc::make_mut(&mut tables.lfts[switch.index()]);
    let beyond = |port: &PortId| subnet.fabric.neighbour(*port) != Some(switch);
    for port in subnet.fabric.end_ports().filter(beyond).take(3) {
        for lid in BOTH.iter().flat_map(|&half| subnet.fabric.half_lids(port, half)) {
            lft.set(lid, PortNum::NO_ROUTE);
        }
    }
    tables
}

#[test]
fn rows_that_lead_nowhere_are_repaired_and_no_other_loss_is_forgiven() {
    let mut script = Script::start();
    for name in ["fat-tree-4-2", "seed-16"] {
        let subnet = bring_up(&bundled(name), 1, false);
        let tables = with_holes(&subnet, &subnet.tables);
        let strict = verify::prove_tables(&subnet.fabric, &tables, &Scope::of(&BOTH));
        assert!(strict.is_err(), "tables with holes are not adopted");
        let found = prepare_recovery(&input(&subnet, tables, Half::Lower)).expect("they are repaired");
        let plan = found.prepared.plan.plan().clone();
        assert!(plan.draft().begins_with_losses);
        ends_well(&subnet, &plan);
        both_accept(&plan, &mut script);
        let sound = Files::of(plan.clone());
        let refused = |draft: Draft, what: &str, script: &mut Option<Script>| {
            let forged = Plan::seal(draft);
            assert!(prove(forged.clone()).is_err(), "{name}, {what}: the prover");
            let files = sound.with_plan(forged.to_json());
            assert!(files.checked().is_err(), "{name}, {what}: the checker");
            if let Some(script) = script {
                assert!(script.judge(&files).is_err(), "{name}, {what}: the script");
            }
        };
        // The same holes, of which the plan says nothing.
        let unsaid = Draft { begins_with_losses: false, ..plan.draft().clone() };
        refused(unsaid, "losses that are not named", &mut script);
        // A row that had a way loses it in a wave, and gets it back in none.
        let mut robbed = plan.draft().clone();
        let host = subnet.fabric.end_ports().last().expect("a host");
        let home = subnet.fabric.neighbour(host).expect("at a switch");
        let lid = subnet.fabric.half_lids(host, Half::Lower).next().expect("a LID");
        let block = (lid.0 as usize / LFT_BLOCK) as u16;
        let last = plan.waves().len();
        let mut entries = Box::new(plan.tables_at(last).lfts[home.index()].block(block));
        entries[lid.index() % LFT_BLOCK] = PortNum::NO_ROUTE.0;
        robbed.waves[last - 1].writes.push(Write::LftBlock { switch: home, block, entries });
        refused(robbed, "a row robbed of its way", &mut script);
    }
}

#[test]
fn no_other_scheme_begins_with_losses() {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 1, false);
    let plan = prepare(removal(&subnet, Scheme::Ordered, Removal::Sudden)).expect("a plan").plan.plan().clone();
    let claimed = Plan::seal(Draft { begins_with_losses: true, ..plan.draft().clone() });
    assert!(check::lint(&plan).is_empty() && !check::lint(&claimed).is_empty());
}
