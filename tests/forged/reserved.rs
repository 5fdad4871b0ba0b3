//! Plans with a reserved service level: what is said of its lane, and what is said of the packets on it.

use super::{Files, Script};
use crate::support::brought_up::{Subnet, VLS, bring_up};
use crate::support::bundled::bundled;
use crate::support::removal::{Removal, removal};
use reconfig::change::{ChangeInput, prepare};
use reconfig::check::lint;
use reconfig::fabric::NodeId;
use reconfig::ids::{Half, PortNum, ReservedLevel, Sl, Vl, VlSet};
use reconfig::plan::{Assumption, Barrier, Draft, LanePartition, Lanes, Phase, Plan, Policy, Scheme};
use reconfig::tables::{LFT_BLOCK, NodeSlToVl, SlToVl, Write};
use reconfig::verify::prove;

const LEVEL: ReservedLevel = ReservedLevel { sl: Sl::masked(7), vl: Vl::masked(VLS - 1) };
const KEPT: Assumption = Assumption::ReservedLevelIsKept;
const PAUSED: Assumption = Assumption::SwitchManagementPaused;

/// A subnet brought up with the reserved level.
fn reserving(name: &str) -> Subnet {
    let subnet = bring_up(&bundled(name), 1, false);
    let steady = Lanes::of_fabric(&subnet.fabric, Some(LEVEL.sl)).steady(LanePartition::Temporary);
    Subnet { tables: subnet.tables.clone().on_lanes(steady), ..subnet }
}

fn planned(name: &str, scheme: Scheme, when: Removal) -> Plan {
    let subnet = reserving(name);
    let input = removal(&subnet, scheme, when);
    let policy = Policy { reserved_sl: Some(LEVEL.sl), ..input.policy };
    let prepared = prepare(ChangeInput { policy, ..input }).unwrap_or_else(|error| panic!("{name}: {error}"));
    prepared.plan.plan().clone()
}

fn plain(name: &str) -> Plan {
    let subnet = bring_up(&bundled(name), 1, false);
    prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("a plan").plan.plan().clone()
}

/// A forged plan with the certificate of the sound one made out for it.
fn forged(sound: &Files, plan: &Plan) -> Files {
    let files = sound.with_plan(plan.to_json());
    let mut header = files.header();
    let names = plan.draft().assumptions.iter().map(|assumed| assumed.name().into()).collect();
    header["assumptions"] = serde_json::Value::Array(names);
    files.with_header(&header.to_string())
}

struct Forgery {
    name: &'static str,
    /// What each refusal says.
    said: &'static str,
    forge: fn(&mut Draft),
}

/// Another lane for a service level in every table of a wave.
fn remap(draft: &mut Draft, phase: Phase, sl: u8, vl: Vl) {
    let wave = draft.waves.iter_mut().find(|wave| wave.phase == phase).expect("the phase");
    for write in &mut wave.writes {
        if let Write::SlToVl { table, .. } = write {
            *table = SlToVl::from_fn(|own| if own == Sl::masked(sl) { vl } else { table.get(own) });
        }
    }
}

/// Two service levels change places in every table, and so does what is reserved.
fn rename(draft: &mut Draft, sl: Sl) {
    let other = LEVEL.sl;
    let renamed = |table: &SlToVl| {
        SlToVl::from_fn(|own| {
            let from = if own == sl { other } else { own };
            table.get(if own == other { sl } else { from })
        })
    };
    let written = draft.waves.iter_mut().flat_map(|wave| &mut wave.writes);
    for write in written {
        if let Write::SlToVl { table, .. } = write {
            *table = renamed(table);
        }
    }
    for tables in &mut draft.initial.sl_to_vl {
        let NodeSlToVl::Uniform(table) = &**tables else { panic!("the subnet was brought up so") };
        *tables = NodeSlToVl::Uniform(renamed(table)).into();
    }
    draft.policy.reserved_sl = Some(sl);
    draft.lanes.reserved = Some(ReservedLevel { sl, ..LEVEL });
}

fn with_reserved(lanes: VlSet) -> VlSet {
    VlSet(lanes.0 | 1 << LEVEL.vl.get())
}

const FORGERIES: &[Forgery] = &[
    Forgery {
        name: "the reserved lane is one of B",
        said: "reserved",
        forge: |draft| {
            draft.lanes.b = with_reserved(draft.lanes.b);
            draft.lanes.all = with_reserved(draft.lanes.all);
        },
    },
    Forgery {
        name: "a level of the spare half is put on the reserved lane",
        said: "reserved",
        forge: |draft| remap(draft, Phase::Split, 9, LEVEL.vl),
    },
    Forgery {
        name: "split moves the reserved level",
        said: "reserved",
        forge: |draft| remap(draft, Phase::Split, LEVEL.sl.get(), Vl::masked(0)),
    },
    Forgery {
        name: "restore closes the reserved level",
        said: "reserved",
        forge: |draft| remap(draft, Phase::Restore, LEVEL.sl.get(), Vl::MANAGEMENT),
    },
    Forgery {
        name: "the flush is said to leave the reserved lane empty",
        said: "empty",
        forge: |draft| {
            let lanes = with_reserved(draft.lanes.b);
            draft.waves[0].barriers = vec![Barrier::Acknowledged, Barrier::Flushed(lanes)];
        },
    },
    Forgery {
        name: "the drain is said to empty the reserved lane",
        said: "reserved",
        forge: |draft| {
            let lanes = with_reserved(draft.lanes.a);
            let drain = draft.waves.iter_mut().find(|wave| wave.phase == Phase::Drain).expect("a drain");
            drain.barriers = vec![Barrier::Drained(lanes)];
        },
    },
    Forgery {
        name: "another level is reserved than the tables keep apart",
        said: "reserved",
        forge: |draft| {
            let sl = Sl::masked(6);
            draft.policy.reserved_sl = Some(sl);
            draft.lanes.reserved = Some(ReservedLevel { sl, ..LEVEL });
        },
    },
    Forgery {
        name: "the level that all data is on is reserved",
        said: "is reserved, and",
        forge: |draft| rename(draft, Sl::masked(0)),
    },
    Forgery {
        name: "a lane is reserved that links lack",
        said: "reserved",
        forge: |draft| draft.lanes.reserved = Some(ReservedLevel { vl: Vl::masked(VLS), ..LEVEL }),
    },
    Forgery {
        name: "the level is reserved, and nobody is told",
        said: "reserve",
        forge: |draft| draft.assumptions.retain(|assumed| *assumed != KEPT),
    },
    Forgery { name: "policy and lanes differ", said: "reserved", forge: |draft| draft.policy.reserved_sl = None },
    Forgery {
        name: "packets to a switch are led to a host",
        said: "arrive at",
        forge: |draft| {
            let fabric = draft.before.clone();
            let own = |switch: NodeId| fabric.port(fabric.port_at(switch, PortNum::ZERO).expect("port 0")).lid;
            let leads_to_host = |switch: NodeId| {
                let ports = fabric.ports_of(switch).filter_map(|port| Some((port, fabric.neighbour(port)?)));
                let host = ports.into_iter().find(|&(_, next)| !fabric.node(next).is_switch());
                host.map(|(port, _)| fabric.port(port).num)
            };
            let astray = draft.waves.iter_mut().flat_map(|wave| &mut wave.writes).find_map(|write| {
                let Write::LftBlock { switch, block, entries } = write else { return None };
                let others = fabric.switches().filter(|other| other != switch).filter_map(own);
                let lid = others.into_iter().find(|lid| lid.0 / LFT_BLOCK as u16 == *block)?;
                entries[usize::from(lid.0) % LFT_BLOCK] = leads_to_host(*switch)?.0;
                Some(())
            });
            astray.expect("a switch with hosts has such a block written");
        },
    },
];

#[test]
fn a_lane_that_is_not_kept_and_packets_that_go_astray_are_refused_by_every_judge() {
    let mut script = Script::start();
    let plan = planned("fat-tree-4-2", Scheme::Double, Removal::Planned);
    assert!(plan.proves_switch_management());
    let sound = Files::of(plan.clone());
    let said = sound.checked().expect("a sound plan");
    assert!(script.as_mut().is_none_or(|script| script.judge(&sound) == Ok(said)));
    for Forgery { name, said, forge } in FORGERIES {
        let mut draft = plan.draft().clone();
        forge(&mut draft);
        assert!(draft != *plan.draft(), "{name}: nothing is changed");
        let plan = Plan::seal(draft);
        let files = forged(&sound, &plan);
        assert!(!lint(&plan).is_empty(), "{name}: the lint finds nothing");
        let refusal = prove(plan).map(|_| ()).expect_err(name).1.to_string();
        let verdicts = [Some(Err(refusal)), Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
        for verdict in verdicts.into_iter().flatten() {
            let refused = verdict.map(|_: String| ()).expect_err(name);
            assert!(refused.contains(said), "{name}: {refused}");
        }
    }
}

/// A monitor goes on asking a switch that has died, so its LID must not lead round.
#[test]
fn packets_to_what_has_died_are_followed_by_every_judge() {
    let mut script = Script::start();
    let plan = planned("fat-tree-4-2", Scheme::Static, Removal::Sudden);
    assert!(plan.proves_switch_management());
    let sound = Files::of(plan.clone());
    let mut draft = plan.draft().clone();
    let fabric = draft.surviving.clone();
    let dead = draft.before.switches().find(|&switch| !fabric.node(switch).present).expect("the root");
    let lid = draft.before.port(draft.before.port_at(dead, PortNum::ZERO).expect("port 0")).lid.expect("a LID");
    let block = lid.0 / LFT_BLOCK as u16;
    let writes = draft.waves.iter_mut().flat_map(|wave| &mut wave.writes);
    let mut written: Vec<(NodeId, &mut u8)> = writes
        .filter_map(|write| match write {
            Write::LftBlock { switch, block: own, entries } if *own == block => {
                Some((*switch, &mut entries[usize::from(lid.0) % LFT_BLOCK]))
            }
            _ => None,
        })
        .collect();
    let switches: Vec<NodeId> = written.iter().map(|&(switch, _)| switch).collect();
    let between = |a: NodeId, b: NodeId| fabric.ports_of(a).find(|&port| fabric.neighbour(port) == Some(b));
    let pairs = switches.iter().flat_map(|&a| switches.iter().map(move |&b| (a, b)));
    let (a, b) = pairs.into_iter().find(|&(a, b)| between(a, b).is_some()).expect("neighbours that are written");
    for (switch, entry) in &mut written {
        let next = [(a, b), (b, a)].into_iter().find(|&(from, _)| from == *switch).map(|(_, to)| to);
        if let Some(port) = next.and_then(|to| between(*switch, to)) {
            **entry = fabric.port(port).num.0;
        }
    }
    let plan = Plan::seal(draft);
    let files = forged(&sound, &plan);
    let refusal = prove(plan).map(|_| ()).expect_err("they go round").1.to_string();
    let verdicts = [Some(Err(refusal)), Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
    for verdict in verdicts.into_iter().flatten() {
        let said = verdict.map(|_: String| ()).expect_err("they go round");
        assert!(said.contains("wait for each other"), "{said}");
    }
}

/// The assumption says nothing where no level is reserved, and does not replace the others there.
#[test]
fn the_assumption_without_a_reserved_level_is_refused_by_every_judge() {
    let mut script = Script::start();
    let plan = plain("fat-tree-4-2");
    let sound = Files::of(plan.clone());
    let exchanges: [&[Assumption]; 2] = [&[], &[Assumption::NoMulticast, PAUSED]];
    for dropped in exchanges {
        let mut draft = plan.draft().clone();
        draft.assumptions.retain(|assumed| !dropped.contains(assumed));
        draft.assumptions.push(KEPT);
        let plan = Plan::seal(draft);
        let files = forged(&sound, &plan);
        let refusal = prove(plan).map(|_| ()).expect_err("no level is reserved").1.to_string();
        assert!(refusal.contains("reserves no service level"), "{refusal}");
        let verdicts = [Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
        for said in verdicts.into_iter().flatten() {
            let said = said.expect_err("no level is reserved");
            assert!(said.contains("reserved level"), "{said}");
        }
    }
}

#[test]
fn without_a_reserved_level_other_packets_are_assumed_to_pause() {
    let mut script = Script::start();
    let plan = plain("fat-tree-4-2");
    let sound = Files::of(plan.clone());
    for dropped in [Assumption::NoMulticast, PAUSED] {
        let mut draft = plan.draft().clone();
        draft.assumptions.retain(|assumed| *assumed != dropped);
        let files = forged(&sound, &Plan::seal(draft));
        let verdicts = [Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
        for said in verdicts.into_iter().flatten() {
            let said = said.expect_err("it is taken for granted");
            assert!(said.contains(dropped.name()) && said.contains("for granted"), "{said}");
        }
    }
}

/// Where old and new entries of the reserved level close a cycle, no judge lets a plan claim the contrary.
#[test]
fn what_is_not_proved_on_the_reserved_lane_stays_an_assumption() {
    let mut script = Script::start();
    for name in ["ghost-cycle", "ring-8", "fat-tree-4-3"] {
        let plan = planned(name, Scheme::Double, Removal::Planned);
        assert!(!plan.proves_switch_management() && plan.draft().assumptions.contains(&PAUSED), "{name}");
        let note = plan.draft().notes.iter().find(|note| note.contains(PAUSED.name()));
        assert!(note.is_some_and(|note| note.contains("wait for each other in a cycle")), "{name}: {note:?}");
        let sound = Files::of(plan.clone());
        let said = sound.checked().unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(script.as_mut().is_none_or(|script| script.judge(&sound) == Ok(said)), "{name}");

        let mut draft = plan.draft().clone();
        draft.assumptions.retain(|assumed| *assumed != PAUSED);
        let plan = Plan::seal(draft);
        let files = forged(&sound, &plan);
        let refusal = prove(plan).map(|_| ()).expect_err("a cycle").1.to_string();
        let verdicts = [Some(Err(refusal)), Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
        for verdict in verdicts.into_iter().flatten() {
            let said = verdict.map(|_: String| ()).expect_err("a cycle");
            assert!(said.contains("wait for each other in a cycle"), "{name}: {said}");
        }
    }
}

/// A switch that has come forwards by tables that nobody read, until they are written.
#[test]
fn nothing_is_proved_on_the_reserved_lane_behind_a_switch_that_has_come() {
    let mut script = Script::start();
    let subnet = reserving("fat-tree-4-2");
    let input = removal(&subnet, Scheme::Ordered, Removal::Sudden);
    let policy = Policy { reserved_sl: Some(LEVEL.sl), ..input.policy };
    let prepared = prepare(ChangeInput { policy, ..input.clone() }).expect("the root leaves");
    let tables = prepared.plan.plan().tables_at(prepared.plan.plan().waves().len()).clone();
    let (before, whole) = (input.after.clone(), input.before.clone());
    let grown =
        ChangeInput { surviving: whole.clone(), after: whole, before, tables, policy, scheme: Scheme::Double, ..input };
    let plan = prepare(grown).expect("the root comes back").plan.plan().clone();
    assert!(plan.draft().assumptions.contains(&PAUSED) && plan.draft().assumptions.contains(&KEPT));
    let sound = Files::of(plan.clone());
    let mut draft = plan.draft().clone();
    draft.assumptions.retain(|assumed| *assumed != PAUSED);
    let plan = Plan::seal(draft);
    let files = forged(&sound, &plan);
    let refusal = prove(plan).map(|_| ()).expect_err("a switch has come").1.to_string();
    let verdicts = [Some(Err(refusal)), Some(files.checked()), script.as_mut().map(|script| script.judge(&files))];
    for verdict in verdicts.into_iter().flatten() {
        let said = verdict.map(|_: String| ()).expect_err("a switch has come");
        assert!(said.contains("has come"), "{said}");
    }
}

/// Prover, checker and script agree on every scheme and fabric whether packets on the reserved level are proved.
#[test]
fn the_judges_agree_whether_packets_on_the_reserved_level_are_proved() {
    let mut script = Script::start();
    let names = [
        "dragonfly-2-4-2",
        "fat-tree-4-2",
        "fat-tree-4-3",
        "ghost-cycle",
        "hypercube-4",
        "mesh-4x4",
        "random-regular-16-4",
        "ring-8",
        "seed-16",
        "torus-4x4",
        "waxman-24",
    ];
    let mut proved = [0; 3];
    let schemes = [Scheme::Double, Scheme::Ordered, Scheme::Static];
    for name in names {
        for (at, scheme) in schemes.into_iter().enumerate() {
            let plan = planned(name, scheme, Removal::Sudden);
            let prover = plan.proves_switch_management();
            proved[at] += u32::from(prover);
            let sound = Files::of(plan.clone());
            let mut draft = plan.draft().clone();
            draft.assumptions.retain(|assumed| *assumed != PAUSED);
            let claimed = forged(&sound, &Plan::seal(draft));
            assert_eq!(claimed.checked().is_ok(), prover, "{name}, {scheme}: {:?}", claimed.checked());
            let said = script.as_mut().map(|script| script.judge(&claimed));
            assert!(said.as_ref().is_none_or(|said| said.is_ok() == prover), "{name}, {scheme}: {said:?}");
            assert!(plan.draft().old == Half::Lower && plan.draft().assumptions.contains(&KEPT));
        }
    }
    // The figures of docs/decisions/0024.
    assert_eq!(proved, [1, 9, 11], "proved on {} fabrics, by scheme", names.len());
}
