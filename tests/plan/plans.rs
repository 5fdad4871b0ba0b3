//! Plans of every scheme on every bundled fabric, and what keeps a change from being planned.

use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::capture::capture;
use crate::support::removal::{Removal, removal, removal_of, root_of};
use crate::support::short::short;
use reconfig::change::{ChangeError, ChangeInput, prepare, prepare_baseline, prepare_cheapest};
use reconfig::check::{self, Rule};
use reconfig::fabric::format;
use reconfig::fabric::generate::BUNDLED;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum, Sl, SubnetId, Vl};
use reconfig::plan::{
    Arming, Barrier, Draft, LanePartition, Lanes, Phase, Plan, PlanError, PlanInput, Policy, Scheme, TableStep,
    TurnedBack, UNRESERVED, Wave, plan,
};
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Element, Ending, Scenario, ScenarioChange, Unwatched};
use reconfig::tables::{Lft, NodeSlToVl, PortState, SlToVl, SlToVlScope, Write};
use reconfig::verify::{Refusal, prove, rounds_to_vacate};
use reconfig::vet::{Objection, Vetted, vet};
use std::sync::Arc;

fn writes_of(plan: &Plan, phase: Phase) -> Vec<&Write> {
    plan.waves().iter().filter(|wave| wave.phase == phase).flat_map(|wave| &wave.writes).collect()
}

#[test]
fn every_bundled_fabric_loses_its_root_under_a_proved_plan() {
    for known in BUNDLED {
        let subnet = bring_up(&bundled(known.name), 1, true);
        for when in [Removal::Planned, Removal::Sudden] {
            let prepared = prepare(removal(&subnet, Scheme::Double, when));
            let prepared = prepared.unwrap_or_else(|error| panic!("{} {when:?}: {error}", known.name));
            let proof = prepared.plan.proof().expect("a plan of scheme double is proved");
            assert!(proof.dependencies > 0 && prepared.routed_by.root != Some(root_of(&subnet)), "{}", known.name);
        }
    }
}

#[test]
fn captures_of_real_fabrics_lose_their_root_under_a_proved_plan() {
    for name in ["qdr-mesh-8sw", "psmn-x5"] {
        let Some(file) = capture(&format!("real/{name}.ibnetdiscover")) else { return };
        let fabric =
            format::read(&std::fs::read(file).expect("a readable capture"), name).expect("a capture can be read");
        let subnet = bring_up(&fabric, 1, true);
        for when in [Removal::Planned, Removal::Sudden] {
            let prepared = prepare(removal(&subnet, Scheme::Double, when));
            let prepared = prepared.unwrap_or_else(|error| panic!("{name} {when:?}: {error}"));
            assert!(check::lint(prepared.plan.plan()).is_empty());
        }
    }
}

#[test]
fn a_static_plan_is_proved() {
    let subnet = bring_up(&bundled("torus-4x4"), 1, true);
    prepare(removal(&subnet, Scheme::Static, Removal::Sudden)).expect("stopped ports hold nothing");
}

#[test]
fn the_seeds_fabric_takes_the_seeds_number_of_writes() {
    for (optimised, wanted) in [(false, 302..=306), (true, 30..=30)] {
        let subnet = bring_up(&bundled("seed-16"), 1, optimised);
        let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("provable");
        let split = writes_of(prepared.plan.plan(), Phase::Split).len();
        assert!(wanted.contains(&split), "{split} SL-to-VL writes, optimised: {optimised}");
        let restore = writes_of(prepared.plan.plan(), Phase::Restore).len();
        assert_eq!(split, restore, "both passes write every table");
    }
}

#[test]
fn plans_of_every_scheme_pass_the_lint() {
    for name in ["seed-16", "dragonfly-2-4-2", "fat-tree-4-2"] {
        for optimised in [false, true] {
            let subnet = bring_up(&bundled(name), 1, optimised);
            for &scheme in Scheme::ALL {
                let prepared = prepare_baseline(removal(&subnet, scheme, Removal::Sudden)).expect("can be planned");
                let findings = check::lint(prepared.plan.plan());
                assert!(findings.is_empty(), "{name}, {scheme}: {}", findings[0]);
            }
        }
    }
}

/// A plan of scheme `double` to break.
fn sound() -> Draft {
    let subnet = bring_up(&bundled("seed-16"), 1, false);
    let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Sudden)).expect("provable");
    prepared.plan.plan().draft().clone()
}

fn wave(draft: &mut Draft, phase: Phase) -> &mut Wave {
    draft.waves.iter_mut().rfind(|wave| wave.phase == phase).expect("scheme double has all five phases")
}

/// The wave of the swap in which sources are told.
fn told(draft: &mut Draft) -> &mut Wave {
    let tells = |wave: &&mut Wave| wave.writes.iter().any(|write| matches!(write, Write::ActiveHalf { .. }));
    draft.waves.iter_mut().find(tells).expect("scheme double tells sources")
}

/// One way to break a plan, and the rule that it breaks.
type Fault = (Rule, fn(&mut Draft));

const FAULTS: &[Fault] = &[
    (Rule::PhaseOrder, |draft| draft.waves.swap(0, 1)),
    (Rule::Barriers, |draft| _ = wave(draft, Phase::Split).barriers.pop()),
    (Rule::Barriers, |draft| wave(draft, Phase::Swap).barriers.reverse()),
    (Rule::Barriers, |draft| wave(draft, Phase::Drain).barriers.clear()),
    (Rule::WriteKind, |draft| {
        let half = draft.new;
        wave(draft, Phase::Restore).writes.push(Write::SaHalf { half });
    }),
    (Rule::Target, |draft| {
        let dead = draft.before.switches().find(|&switch| !draft.surviving.node(switch).present).expect("one died");
        let block = Write::LftBlock { switch: dead, block: 0, entries: Box::new([255; 64]) };
        draft.waves[2].writes.push(block);
    }),
    (Rule::Capability, |draft| {
        let switch = draft.surviving.switches().next().expect("a switch");
        let table = draft.lanes.separate(draft.old);
        wave(draft, Phase::Split).writes.push(Write::SlToVl { node: switch, scope: SlToVlScope::All, table });
    }),
    (Rule::Block, |draft| {
        let switch = draft.surviving.switches().next().expect("a switch");
        draft.waves[2].writes.push(Write::LftBlock { switch, block: 700, entries: Box::new([9; 64]) });
    }),
    (Rule::Twice, |draft| {
        let again = draft.waves[0].writes[0].clone();
        draft.waves[0].writes.push(again);
    }),
    (Rule::LaneSets, |draft| draft.lanes.b = draft.lanes.all),
    (Rule::OwnLanes, |draft| _ = draft.waves[0].writes.pop()),
    (Rule::DataLanes, |draft| {
        let last = wave(draft, Phase::Restore).writes.last_mut().expect("restore writes");
        if let Write::SlToVl { table, .. } = last {
            *table = SlToVl::from_fn(|_| Vl::masked(7));
        }
    }),
    (Rule::InUse, |draft| {
        let host = draft.surviving.end_ports().next().expect("a host");
        let lid = draft.before.half_lids(host, Half::Lower).next().expect("a lower half");
        let block = lid.0 / 64;
        for write in &mut draft.waves[2].writes {
            if let Write::LftBlock { block: found, entries, .. } = write
                && *found == block
            {
                entries[usize::from(lid.0 % 64)] = 255;
            }
        }
    }),
    (Rule::EverySource, |draft| _ = told(draft).writes.pop()),
    (Rule::PortsActive, |draft| _ = wave(draft, Phase::Install).writes.pop()),
    (Rule::Assumptions, |draft| _ = draft.assumptions.pop()),
];

#[test]
fn the_lint_finds_each_fault() {
    for (number, (rule, fault)) in FAULTS.iter().enumerate() {
        let mut draft = sound();
        fault(&mut draft);
        let findings = check::lint(&Plan::seal(draft));
        assert!(findings.iter().any(|finding| finding.rule == *rule), "fault {number} ({rule:?}): found {findings:?}");
    }
}

#[test]
fn a_link_with_one_data_vl_is_named() {
    let mut subnet = bring_up(&bundled("seed-16"), 1, true);
    subnet.fabric = subnet.fabric.with_capabilities(1, true);
    subnet.tables.sl_to_vl.fill(Arc::new(NodeSlToVl::Uniform(SlToVl::from_fn(|_| Vl::masked(0)))));
    let error = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).unwrap_err();
    assert!(matches!(error, ChangeError::Plan(PlanError::OneDataVl { data_vls: 1, .. })), "{error}");
}

#[test]
fn a_port_with_one_lid_is_named() {
    let subnet = bring_up(&bundled("seed-16"), 0, true);
    let error = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).unwrap_err();
    assert!(matches!(error, ChangeError::Plan(PlanError::LmcZero { .. })), "{error}");
    prepare_baseline(removal(&subnet, Scheme::InPlace, Removal::Planned)).expect("in-place needs no halves");
}

#[test]
fn an_sm_that_leaves_is_an_error() {
    let subnet = bring_up(&bundled("seed-16"), 1, true);
    let home = subnet.fabric.neighbour(subnet.sm).expect("the SM is cabled");
    let error = prepare(removal_of(&subnet, home, Scheme::Double, Removal::Planned)).unwrap_err();
    assert!(matches!(error, ChangeError::SmLeaves { .. }), "{error}");
}

#[test]
fn sources_on_the_other_half_are_an_error() {
    let mut subnet = bring_up(&bundled("seed-16"), 1, true);
    subnet.tables.sending.fill(Half::Upper);
    let error = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).unwrap_err();
    assert!(matches!(error, ChangeError::Plan(PlanError::WrongHalf { .. })), "{error}");
}

#[test]
fn a_double_plan_that_is_refused_never_runs() {
    let mut unflushed = sound();
    unflushed.waves[0].barriers.pop();
    let (plan, refusal) = prove(Plan::seal(unflushed)).map(|_| ()).expect_err("without its flush the plan is unsafe");
    assert!(Vetted::baseline(plan, refusal).is_err());
}

/// The prover accepts both plans; one judge more must be asked before either may run.
#[test]
fn a_proved_plan_to_which_another_judge_objects_never_runs() {
    let objection = |draft: Draft| {
        let plan = Plan::seal(draft);
        assert!(prove(plan.clone()).is_ok(), "the prover has no objection");
        vet(plan).map(|_| ()).expect_err("another judge has").1
    };
    let mut unrestored = sound();
    unrestored.waves.pop();
    assert!(matches!(objection(unrestored), Objection::Findings(_)));

    let mut twice = sound();
    let writes = &mut told(&mut twice).writes;
    let told = writes.iter().find(|write| matches!(write, Write::ActiveHalf { .. })).expect("sources are told").clone();
    writes.push(told);
    assert!(matches!(objection(twice), Objection::Unchecked(_)));
}

#[test]
fn roles_alternate() {
    let subnet = bring_up(&bundled("random-regular-16-4"), 1, true);
    let first = prepare(removal(&subnet, Scheme::Double, Removal::Sudden)).expect("provable");
    let plan = first.plan.plan();
    let mut input = removal(&subnet, Scheme::Double, Removal::Sudden);
    (input.before, input.surviving) = (plan.draft().after.clone(), plan.draft().after.clone());
    input.tables = plan.tables_at(plan.waves().len()).clone();
    input.old = plan.new_half();
    let second_root = first.routed_by.root.expect("up*/down* has a root");
    let stays = |port: &PortId| input.before.neighbour(*port) != Some(second_root);
    input.sm = input.before.end_ports().find(stays).expect("a host away from the second root");
    input.after = Arc::new(input.before.without_nodes(&[second_root]));
    let second = prepare(input).expect("the second change starts from the upper half");
    assert_eq!(second.plan.plan().new_half(), Half::Lower);
    assert!(check::lint(second.plan.plan()).is_empty());
}

#[test]
fn taking_the_split_back_restores_every_table() {
    for optimised in [false, true] {
        let subnet = bring_up(&bundled("seed-16"), 1, optimised);
        let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Sudden)).expect("provable");
        let plan = prepared.plan.plan();
        let draft = plan.draft();
        for reached in 0..4 {
            let mut tables = plan.tables_at(reached + 1).clone();
            plan.undo_writes(reached).iter().for_each(|write| tables.apply(&draft.before, write));
            let live = |port: &PortId| draft.surviving.peer(*port).is_some();
            let ports = draft.before.ports().map(|(id, _)| id).filter(live);
            assert!(ports.into_iter().all(|port| tables.port_states[port.index()] == PortState::Active));
            for switch in draft.surviving.switches() {
                let linked = |num: &PortNum| {
                    draft.surviving.port_at(switch, *num).is_some_and(|port| draft.surviving.peer(port).is_some())
                };
                for (input, output) in (0..5).flat_map(|i| (1..5).map(move |o| (PortNum(i), PortNum(o)))) {
                    if linked(&output) {
                        let now = tables.sl_to_vl[switch.index()].get(input, output);
                        assert_eq!(now, draft.initial.sl_to_vl[switch.index()].get(input, output));
                    }
                }
            }
        }
    }
}

#[test]
fn arming_off_leaves_ports_alone() {
    let subnet = bring_up(&bundled("seed-16"), 1, true);
    let input = removal(&subnet, Scheme::Double, Removal::Planned);
    let policy = Policy { arming: Arming::Off, ..input.policy };
    let prepared = prepare(ChangeInput { policy, ..input }).expect("provable");
    let install = writes_of(prepared.plan.plan(), Phase::Install);
    assert!(!install.is_empty() && install.iter().all(|write| matches!(write, Write::LftBlock { .. })));
}

/// Step 3 of the slides: "ports switched to ARMED state so that modification of PathRecord and supply of LID addresses
/// to sources appears atomic".
#[test]
fn sources_are_told_while_their_own_ports_are_armed() {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 1, true);
    for arming in [Arming::Hold, Arming::HoldEach, Arming::Discard] {
        let input = removal(&subnet, Scheme::Double, Removal::Planned);
        let policy = Policy { arming, ..input.policy };
        let prepared = prepare(ChangeInput { policy, ..input }).expect("provable");
        let plan = prepared.plan.plan();
        let swap: Vec<_> = plan.waves().iter().filter(|wave| wave.phase == Phase::Swap).collect();
        assert_eq!(swap[0].writes[0], Write::SaHalf { half: plan.new_half() }, "the SA comes first (P3.1)");
        let mut told = 0;
        for part in swap[1..].chunks(3) {
            let [arm, sources, activate] = part else { panic!("{arming}: three parts: {}", part.len()) };
            let states = |state| {
                let of = |write: &Write| match *write {
                    Write::ActiveHalf { port, .. } => Write::PortState { port, state },
                    ref other => panic!("{arming}: {other:?} among the sources"),
                };
                sources.writes.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!((&arm.writes, &activate.writes), (&states(PortState::Armed), &states(PortState::Active)));
            told += sources.writes.len();
        }
        let groups = if arming == Arming::HoldEach { 4 } else { 1 };
        assert_eq!((told, (swap.len() - 1) / 3), (plan.draft().surviving.end_ports().count(), groups), "{arming}");
        let waits = |wave: &&Wave| wave.barriers.contains(&Barrier::SourcesMoved);
        assert_eq!(swap.iter().position(waits), Some(swap.len() - 1), "{arming}: once the last is ACTIVE again");
    }
}

#[test]
fn in_place_writes_in_the_order_of_opensm() {
    let subnet = bring_up(&bundled("dragonfly-2-4-2"), 1, true);
    let prepared = prepare_baseline(removal(&subnet, Scheme::InPlace, Removal::Sudden)).expect("a baseline");
    let plan = prepared.plan.plan();
    let places: Vec<_> = plan.waves()[0]
        .writes
        .iter()
        .map(|write| match *write {
            Write::LftBlock { switch, block, .. } => (block, plan.draft().before.node(switch).guid),
            ref other => panic!("in-place writes forwarding blocks only, not {other:?}"),
        })
        .collect();
    assert!(places.len() > 64 && places.is_sorted(), "block by block, switches by GUID");
}

#[test]
fn a_planned_departure_ends_when_what_leaves_is_vacated() {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 1, true);
    let plan = |scheme, when| {
        let prepared = prepare(removal(&subnet, scheme, when)).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        prepared.plan.plan().clone()
    };
    let last = |plan: &Plan| plan.waves().last().expect("a wave").barriers.clone();
    for (scheme, when) in [(Scheme::InPlace, Removal::Sudden), (Scheme::Static, Removal::Planned)] {
        assert_eq!(last(&plan(scheme, when)), [Barrier::Acknowledged], "{scheme}: nothing is in what leaves");
    }
    let sound = plan(Scheme::InPlace, Removal::Planned);
    assert_eq!(last(&sound), [Barrier::Acknowledged, Barrier::Vacated(3)]);
    // A chain of switches takes a round for each; switches apart leave side by side.
    let leaves = |nodes: &[NodeId]| rounds_to_vacate(&subnet.fabric, &subnet.fabric.without_nodes(nodes));
    let root = root_of(&subnet);
    let apart = subnet.fabric.switches().find(|&node| node != root && !joined(&subnet.fabric, node, root));
    let next = subnet.fabric.switches().find(|&node| joined(&subnet.fabric, node, root)).expect("it has cables");
    assert_eq!(leaves(&[root, apart.expect("a tree has two roots")]), Some(3));
    assert_eq!((leaves(&[root, next]), leaves(&[])), (Some(4), None));
    for barriers in [vec![Barrier::Acknowledged], vec![Barrier::Acknowledged, Barrier::Vacated(2)]] {
        let mut draft = sound.draft().clone();
        draft.waves[0].barriers = barriers;
        let broken = Plan::seal(draft);
        assert!(check::lint(&broken).iter().any(|finding| finding.rule == Rule::Barriers), "{:?}", last(&broken));
        let (_, refusal) = prove(broken).expect_err("packets may be in what leaves");
        assert!(refusal.to_string().contains("what leaves"), "{refusal}");
    }
}

/// A director leaves: twelve boards that hosts' switches are cabled to, and six between those. That takes more rounds
/// than one question can ask for, and so two questions.
#[test]
fn a_chassis_of_many_boards_leaves_empty() {
    let mut builder = FabricBuilder::new();
    let mut guids = 1..;
    let mut add = |builder: &mut FabricBuilder, kind, name: String| {
        builder.node(kind, Guid(guids.next().expect("more")), 24, name)
    };
    let mut used = [0; 64];
    let mut cable = |builder: &mut FabricBuilder, a: NodeId, b: NodeId| {
        let ends = [a, b].map(|node| {
            used[node.index()] += 1;
            (node, PortNum(used[node.index()]))
        });
        builder.link(ends[0], ends[1], LinkWidth::X4, LinkSpeed::Hdr).expect("free ports");
    };
    let mut switches = |builder: &mut FabricBuilder, count: usize, name: &str| -> Vec<NodeId> {
        (0..count).map(|at| add(builder, NodeKind::Switch, format!("{name}-{at}"))).collect()
    };
    let [leaves, plain] = [(4, "leaf"), (1, "spine")].map(|(count, name)| switches(&mut builder, count, name));
    let [lines, boards] = [(12, "line"), (6, "board")].map(|(count, name)| switches(&mut builder, count, name));
    for (at, &leaf) in leaves.iter().enumerate() {
        cable(&mut builder, leaf, plain[0]);
        lines.iter().for_each(|&line| cable(&mut builder, leaf, line));
        for host in 0..2 {
            let host = builder.node(NodeKind::Ca, Guid(0x1000 + 2 * at as u64 + host), 1, format!("host-{at}-{host}"));
            cable(&mut builder, leaf, host);
        }
    }
    lines.iter().for_each(|&line| boards.iter().for_each(|&board| cable(&mut builder, line, board)));
    let subnet = bring_up(&builder.build().expect("a fabric"), 1, false);
    let chassis = [lines, boards].concat();
    for scheme in [Scheme::Ordered, Scheme::InPlace] {
        let mut input = removal_of(&subnet, chassis[0], scheme, Removal::Planned);
        input.after = Arc::new(subnet.fabric.without_nodes(&chassis));
        let prepared = prepare_baseline(input).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        let plan = prepared.plan.plan();
        let last = plan.waves().last().expect("a wave");
        assert_eq!(last.barriers, [Barrier::Acknowledged, Barrier::Vacated(16), Barrier::Vacated(4)], "{scheme}");
        assert!(check::lint(plan).is_empty(), "{scheme}");
        if scheme == Scheme::Ordered {
            assert!(prepared.plan.proof().is_some());
            // One question alone does not do.
            let mut draft = plan.draft().clone();
            draft.waves.last_mut().expect("a wave").barriers.pop();
            let Err((_, refusal)) = prove(Plan::seal(draft)) else { panic!("packets may be in what leaves") };
            assert!(refusal.to_string().contains("vacated in 16 rounds, and takes 20"), "{refusal}");
        }
    }
    let elements = chassis.iter().map(|&node| Element::Switch(node)).collect();
    let change = ScenarioChange::In { subnet: SubnetId(0), elements };
    let scenario = Scenario {
        departure: Departure::Planned,
        scheme: Scheme::Ordered,
        ..short(Scenario::of_one(subnet.fabric.clone(), change))
    };
    let report = scenario::run(&scenario, Arc::new(UpDown::default()), &mut Unwatched).expect("it begins");
    assert_eq!((report.outcome, report.lost_in_all), (Ending::Completed, 0), "{:?}", report.reason);
}

fn joined(fabric: &Fabric, one: NodeId, other: NodeId) -> bool {
    fabric.ports_of(one).any(|port| fabric.neighbour(port) == Some(other))
}

#[test]
fn an_unsafe_baseline_runs_only_when_asked_for() {
    let subnet = bring_up(&bundled("random-regular-16-4"), 1, true);
    let input = removal(&subnet, Scheme::InPlace, Removal::Sudden);
    let error = prepare(input.clone()).map(|_| ()).expect_err("old and new tables mixed close a cycle");
    assert!(matches!(error, ChangeError::Refused { refusal: Refusal::Deadlock(_) | Refusal::Loop(_), .. }), "{error}");
    let baseline = prepare_baseline(input).expect("a baseline may run");
    assert!(baseline.plan.refusal().is_some() && baseline.plan.proof().is_none());
}

#[test]
fn the_drain_graph_leads_from_every_host_to_every_host() {
    let subnet = bring_up(&bundled("mesh-4x4"), 1, true);
    let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("provable");
    let plan = prepared.plan.plan();
    let (graph, fabric) = (&plan.drain()[0].graph, &plan.draft().before);
    assert_eq!(graph.sources().len(), fabric.end_ports().count(), "nothing died: sources are the hosts");
    assert_eq!(graph.leaves().len(), fabric.end_ports().count());
    for (place, channel) in graph.channels().iter().enumerate() {
        assert!(channel.predecessors.iter().all(|&before| (before as usize) < place));
        assert_eq!(fabric.port(channel.channel).node, channel.sender);
    }
    assert!((4..=12).contains(&graph.depth()), "{} channels on the longest path", graph.depth());
}

#[test]
fn a_plan_read_back_is_the_plan_written() {
    for (optimised, when) in [(false, Removal::Sudden), (true, Removal::Planned)] {
        let subnet = bring_up(&bundled("seed-16"), 1, optimised);
        for &scheme in Scheme::ALL {
            let prepared = match prepare_baseline(removal(&subnet, scheme, when)) {
                // Entries alone do not lead this root's packets elsewhere without a loss.
                Err(ChangeError::NeitherInPlace { .. }) if (scheme, when) == (Scheme::Ordered, Removal::Planned) => {
                    continue;
                }
                prepared => prepared.expect("can be planned"),
            };
            let plan = prepared.plan.plan();
            let text = plan.to_json();
            let read = Plan::from_json(&text).unwrap_or_else(|error| panic!("{scheme}: {error}"));
            assert!(read == *plan, "{scheme}, {when:?}: the plan changed on its way through the file");
            assert!(read.to_json() == text, "{scheme}: the second file equals the first");
        }
    }
}

#[test]
fn a_second_plan_with_unequal_tables_survives_its_file() {
    let mut draft = sound();
    let num_ports = draft.before.node(draft.surviving.switches().next().expect("a switch")).num_ports;
    let switch = draft.surviving.switches().next().expect("a switch").index();
    let table = SlToVl::from_fn(|_| Vl::masked(3));
    Arc::make_mut(&mut draft.initial.sl_to_vl[switch]).set(num_ports, PortNum(1), PortNum(2), table);
    let plan = Plan::seal(draft);
    assert!(Plan::from_json(&plan.to_json()).expect("a plan") == plan);
}

/// An edit of a plan's file, and what the reader must say of it.
const EDITS: &[(&str, &str, &str)] = &[
    ("\"reconfig.plan/2\"", "\"reconfig.plan/3\"", "schema is `reconfig.plan/3`"),
    ("\"scheme\": \"double\"", "\"scheme\": \"treble\"", "unknown variant `treble`"),
    ("\"old\": \"lower\"", "\"old\": \"lower\", \"colour\": 1", "unknown field `colour`"),
    ("\"digest\": \"", "\"digest\": \"0", "is not a digest"),
    ("\"block\": 0", "\"block\": 4000", "block 4000 of"),
    ("\"input\": 0", "\"input\": 77", "has no port 77"),
    ("\"table\": \"", "\"table\": \"0", "is no SL-to-VL table"),
];

#[test]
fn a_faulty_file_is_told_what_is_wrong_with_it() {
    let text = Plan::seal(sound()).to_json();
    for (from, to, says) in EDITS {
        assert!(text.contains(from), "no `{from}` in the file");
        let error = Plan::from_json(&text.replacen(from, to, 1)).map(|_| ()).expect_err(from);
        assert!(error.to_string().contains(says), "`{from}` → `{to}`: {error}");
    }
}

#[test]
fn no_damaged_file_makes_the_reader_panic() {
    let text = Plan::seal(sound()).to_json();
    let numbers: Vec<_> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
    let mut damaged = 0;
    for (step, &at) in numbers.iter().step_by(numbers.len() / 150).enumerate() {
        let digit = ["9", "99", "f", "-1", ""][step % 5];
        let edited = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
        damaged += usize::from(Plan::from_json(&edited).is_err());
        assert!(Plan::from_json(&text[..at]).is_err(), "half a file is no plan");
    }
    assert!(damaged > 50, "{damaged} of 150 damages were noticed");
}

/// What the planner of scheme `double` is given when nothing changes.
fn still() -> PlanInput {
    let subnet = bring_up(&bundled("seed-16"), 1, true);
    let before = Arc::new(subnet.fabric);
    PlanInput {
        routed: before.clone(),
        surviving: before.clone(),
        after: before.clone(),
        target: subnet.tables.lfts.clone(),
        steps: Vec::new(),
        discards_turned_back: false,
        initial: subnet.tables,
        old: Half::Lower,
        begins_with_losses: false,
        leaves_losses: false,
        closes: false,
        both_halves: false,
        policy: Policy::default(),
        sm: subnet.sm,
        stranded: Vec::new(),
        old_layers: 1,
        new_layers: 1,
        drain: Vec::new(),
        old_ways: None,
        new_ways: None,
        before,
    }
}

/// Whoever is to ask for a new path needs time for it, and has none meanwhile: where sources are fenced, scheme
/// `double` takes longer than where they are told. Either way the plan says what the other scheme would have cost.
#[test]
fn the_time_that_sources_need_to_follow_counts_against_the_double_scheme() {
    let subnet = bring_up(&bundled("seed-16"), 1, true);
    // `… 12.3 s, …, by scheme … 0.400 ms (…)`: seconds.
    let figures = |note: &str| -> Vec<f64> {
        let words: Vec<&str> = note.split([' ', ',']).collect();
        let time = |pair: &[&str]| {
            let unit = [("ms", 1e-3), ("s", 1.0)].into_iter().find(|(name, _)| *name == pair[1])?.1;
            Some(pair[0].parse::<f64>().ok()? * unit)
        };
        words.windows(2).filter_map(time).collect()
    };
    let mut told = Vec::new();
    for (settle_ns, wanted, other) in
        [(0, Scheme::Double, Scheme::Ordered), (2_000_000_000, Scheme::Ordered, Scheme::Double)]
    {
        // Where switches may send packets back, the waves of `ordered` wait for one another.
        let input = removal(&subnet, Scheme::Static, Removal::Sudden);
        let policy = Policy { turned_back: TurnedBack::Returned, ..input.policy };
        let input = ChangeInput { policy, ..input };
        let plan = prepare_cheapest(input, settle_ns).unwrap_or_else(|error| panic!("{error}")).plan;
        let notes = &plan.plan().draft().notes;
        let note = notes.iter().find(|note| note.starts_with(&format!("scheme {other} was passed over: ")));
        let note = note.unwrap_or_else(|| panic!("{notes:?}"));
        assert!(note.contains(", summed over all pairs, by scheme "), "{note}");
        assert_eq!(plan.plan().scheme(), wanted, "{note}");
        told.push(figures(note));
    }
    let [at_once, behind_a_fence] = &told[..] else { panic!("{told:?}") };
    let ([ordered, double], [late, again]) = (&at_once[..], &behind_a_fence[..]) else { panic!("{told:?}") };
    assert_eq!(ordered, again, "forwarding entries alone ask nobody");
    // Two seconds for each pair, as far as the digits go that are shown.
    let pairs = (late - double) / 2.0;
    assert!(pairs > 0.5 && (pairs - pairs.round()).abs() < 0.06, "{told:?}");
}

/// Where one scheme is not possible, the plan of the other says why.
#[test]
fn a_plan_says_why_the_other_scheme_is_not_possible() {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 0, true);
    let input = removal(&subnet, Scheme::Static, Removal::Sudden);
    let prepared = prepare_cheapest(input, 0).unwrap_or_else(|error| panic!("{error}"));
    let plan = prepared.plan.plan();
    assert_eq!(plan.scheme(), Scheme::Ordered);
    let [note, paused] = &plan.draft().notes[..] else { panic!("{:?}", plan.draft().notes) };
    assert!(note.starts_with("scheme double was passed over: ") && note.contains("LMC 0"), "{note}");
    assert!(paused.ends_with(UNRESERVED) && paused.contains("`no-multicast`"), "{paused}");
    assert_eq!(Plan::from_json(&plan.to_json()).expect("it was just written").draft().notes, plan.draft().notes);
}

/// A step may say nothing that the devices do not hold already: then there is no wave for it, and no wait before it.
#[test]
fn a_step_that_writes_nothing_is_no_wave() {
    let input = still();
    let held = input.initial.lfts.clone();
    let switch = input.before.switches().next().expect("a switch").index();
    let set = |lid: u16| {
        let mut lfts = held.clone();
        Arc::make_mut(&mut lfts[switch]).set(Lid(lid), PortNum(1));
        lfts
    };
    let step = |lfts: &[Arc<Lft>], aged_before| TableStep { lfts: lfts.to_vec(), aged_before };
    let (first, second) = (set(0x200), set(0x240));
    let cases = [
        (vec![step(&held, true)], vec![]),
        (vec![step(&first, false), step(&first, true)], vec![("rewrite", 1, false)]),
        (
            vec![step(&first, false), step(&first, true), step(&second, false)],
            vec![("rewrite/1", 1, true), ("rewrite/2", 2, false)],
        ),
        (
            vec![step(&held, true), step(&first, false), step(&second, false)],
            vec![("rewrite/0", 0, true), ("rewrite/1", 1, false), ("rewrite/2", 2, false)],
        ),
    ];
    for (steps, expected) in cases {
        let target = steps.last().map_or(&held, |last| &last.lfts).clone();
        let plan = plan(Scheme::Ordered, PlanInput { steps, target, ..input.clone() }).expect("a plan");
        let waves = plan.waves().iter();
        let found: Vec<_> =
            waves.map(|wave| (&*wave.name, wave.writes.len(), wave.vacating_rounds().is_some())).collect();
        assert_eq!(found, expected);
    }
}

/// The words that the error must have, and what breaks the precondition.
type Precondition = (&'static str, fn(&mut PlanInput));

const PRECONDITIONS: &[Precondition] = &[
    ("the new routing needs 3 virtual layers for freedom from deadlock, but its set of lanes has 2", |input| {
        input.new_layers = 3;
    }),
    ("the old routing needs 9 virtual layers, but a half has only 8 service levels", |input| input.old_layers = 9),
    ("forwards only LIDs below 49152, but the new tables route LID 49152", |input| {
        let switch = input.before.switches().next().expect("a switch").index();
        Arc::make_mut(&mut input.target[switch]).set(Lid(0xC000), PortNum(1));
    }),
    ("which belongs to the half in use (lower)", |input| {
        let host = input.before.end_ports().next().expect("a host");
        let lid = input.before.half_lids(host, Half::Lower).next().expect("a lower half");
        let switch = input.before.switches().next().expect("a switch").index();
        Arc::make_mut(&mut input.target[switch]).set(lid, PortNum::NO_ROUTE);
    }),
    ("cannot be reached from the SM", |input| {
        let host = input.before.port(input.sm).node;
        input.surviving =
            Arc::new(input.before.without_links(&[input.before.port_at(host, PortNum(1)).expect("a port")]));
    }),
    ("which is not a multiple of 2^1", |input| {
        let odd = |port: PortId| (port, Lid(2 * port.0 as u16 + 1), Lmc::masked(1));
        let lids: Vec<_> = input.before.end_ports().map(odd).collect();
        input.before = Arc::new(input.before.with_lids(lids).expect("ranges apart"));
    }),
    ("has no LID", |input| input.before = Arc::new(input.before.with_lids([]).expect("no LIDs at all"))),
];

#[test]
fn each_precondition_has_its_own_error() {
    plan(Scheme::Double, still()).expect("nothing is wrong yet");
    for (says, spoil) in PRECONDITIONS {
        let mut input = still();
        spoil(&mut input);
        let error = plan(Scheme::Double, input).map(|_| ()).expect_err(says);
        assert!(error.to_string().contains(says), "expected `{says}`, found: {error}");
    }
}

#[test]
fn a_level_is_reserved_only_where_data_is_not_on_it_and_the_tables_keep_it_apart() {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 1, true);
    let refused = |sl: u8, keep: bool| {
        let input = removal(&subnet, Scheme::Double, Removal::Planned);
        let reserved_sl = Sl::new(sl);
        let steady = Lanes::of_fabric(&subnet.fabric, reserved_sl).steady(LanePartition::Temporary);
        let tables = if keep { subnet.tables.clone().on_lanes(steady) } else { subnet.tables.clone() };
        let policy = Policy { reserved_sl, ..input.policy };
        prepare(ChangeInput { policy, tables, ..input }).err().map(|error| error.to_string())
    };
    for sl in [0, 8] {
        let said = refused(sl, true).expect("data is on it");
        assert!(said.contains(&format!("SL {sl} cannot be reserved")), "{said}");
    }
    for sl in [1, 7, 15] {
        assert_eq!(refused(sl, true), None, "SL {sl}");
        let said = refused(sl, false).expect("other levels are on its lane");
        assert!(said.contains("a bring-up with that level can change that"), "{said}");
    }
}
