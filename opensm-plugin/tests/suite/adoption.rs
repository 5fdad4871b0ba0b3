//! What the engine makes of tables that it did not write.

use crate::harness::{OpenSm, bundled, installed};
use crate::moments::{QUIET, cables, name};
use crate::subnet::{Moments, Subnet};
use reconfig::audit::AuditVerdict;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::Lft;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Starts OpenSM, waits until it is done, and tells what it said; `options` are of OpenSM's configuration.
fn run(subnet: &Subnet, settings: &str, options: &str) -> OpenSm {
    let _ = std::fs::remove_file(subnet.folder().join("osm.log"));
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), settings, options);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    opensm
}

/// The subnet after all that was written, of which `skipped` events were before.
fn judged<'a>(subnet: &Subnet, whole: &'a Fabric, skipped: usize) -> (Moments<'a>, usize, usize) {
    let mut moments = Moments::new(whole);
    let (mut changed, mut rings) = (0, 0);
    for (at, event) in subnet.events().iter().enumerate() {
        let differs = moments.step(event);
        if at >= skipped && differs {
            changed += 1;
            let found = moments.audited();
            rings += usize::from(!found.credit_loops.components.is_empty() || found.loops.count > 0);
        }
    }
    (moments, changed, rings)
}

#[test]
fn proved_tables_are_adopted() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    // Its own tables after a restart, and those of OpenSM's minhop on a tree, which are proved as well.
    for (name, first) in [("torus-4x4", ""), ("fat-tree-4-2", "routing_engine minhop")] {
        let fabric = bundled(name);
        let subnet = Subnet::serve(&fabric, 0.1);
        drop(run(&subnet, "", first));
        let before = subnet.events().len();
        let opensm = run(&subnet, "", "");
        let whole = opensm.seen(&fabric);
        let (last, changed, _) = judged(&subnet, &whole, before);
        let said = opensm.said().join("\n");
        assert!(said.contains("adopted: they are proved"), "{name} {first}: {said}");
        assert_eq!((changed, last.audited().verdict()), (0, AuditVerdict::Safe), "{name} {first}: {said}");
    }
}

/// OpenSM's ftree gives spines no ways to each other's own LIDs. They get some, and nothing that hosts use changes.
#[test]
fn what_ftree_leaves_out_is_mended() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("fat-tree-4-2");
    let subnet = Subnet::serve(&fabric, 0.1);
    drop(run(&subnet, "", "routing_engine ftree"));
    let before = subnet.events().len();
    let opensm = run(&subnet, "", "");
    opensm.until("the next wave", |opensm| opensm.said().iter().any(|said| said.contains("is handed over")));
    opensm.quiet(QUIET, || subnet.written());
    let whole = opensm.seen(&fabric);
    let (mut held, mut now) = (Moments::new(&whole), Moments::new(&whole));
    for (at, event) in subnet.events().iter().enumerate() {
        now.step(event);
        if at < before {
            held.step(event);
        }
    }
    let is_host = |lid| whole.lid_owner(lid).is_some_and(|owner| !whole.node(whole.port(owner).node).is_switch());
    let said = opensm.said().join("\n");
    for (was, is) in held.lfts.iter().zip(&now.lfts) {
        assert!(!was.differing(is).any(is_host), "{said}");
    }
    let safe = now.audited_with_switches().verdict() == AuditVerdict::Safe;
    let unsafe_before = held.audited_with_switches().verdict() != AuditVerdict::Safe;
    assert!(safe && unsafe_before, "{said}");
}

#[test]
fn tables_with_a_ring_stay_or_are_rewritten_as_the_settings_say() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("random-regular-16-4");
    for (settings, stays) in [("on_refusal: keep", true), ("on_refusal: rewrite", false)] {
        let subnet = Subnet::serve(&fabric, 0.0);
        drop(run(&subnet, "", "routing_engine minhop"));
        let before = subnet.events().len();
        let opensm = run(&subnet, settings, "");
        let whole = opensm.seen(&fabric);
        let (last, changed, _) = judged(&subnet, &whole, before);
        let said = opensm.said().join("\n");
        let log = opensm.log();
        let named = log.contains("lanes can wait for each other in a cycle") && log.contains("VL 0 → out port");
        assert!(named, "{settings}: {log}");
        assert_eq!(changed == 0, stays, "{settings}: {said}");
        let warned = said.contains("WARNING: all tables are rewritten and NOT proved");
        assert_eq!((warned, last.audited().verdict() == AuditVerdict::Safe), (!stays, !stays), "{settings}: {said}");
    }
}

/// The master dies, and another OpenSM with the engine takes over: it adopts what is in force.
#[test]
fn a_standby_takes_over() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let subnet = Subnet::serve(&fabric, 0.1);
    let mut master = run(&subnet, "", "sm_priority 5");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = "sminfo_polling_timeout 500\npolling_retry_number 2\nsm_priority 1";
    let standby = OpenSm::start_at(Some("host-5 HCA-1"), &subnet.socket, folder.path(), "", options);
    standby.until("STANDBY", |standby| standby.log().contains("STANDBY"));
    let before = subnet.events().len();
    master.kill();
    standby.until("SUBNET UP", |standby| standby.ups() > 0);
    standby.quiet(QUIET, || subnet.written());
    let whole = standby.seen(&fabric);
    let (last, changed, _) = judged(&subnet, &whole, before);
    let said = standby.said().join("\n");
    assert!(said.contains("adopted: they are proved"), "{said}");
    assert_eq!((changed, last.audited().verdict()), (0, AuditVerdict::Safe), "{said}");
}

/// A master hands over to another, which repairs a loss and dies. The first one is master again, and knows tables that
/// are not in force any more: it reads them.
#[test]
fn a_master_that_returns_reads_what_another_wrote() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let subnet = Subnet::serve(&fabric, 0.1);
    let polls = "sminfo_polling_timeout 500\npolling_retry_number 2";
    let first = run(&subnet, "", &format!("sm_priority 5\n{polls}"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut second =
        OpenSm::start_at(Some("host-5 HCA-1"), &subnet.socket, folder.path(), "", &format!("sm_priority 14\n{polls}"));
    second.until("the other to be master", |second| second.ups() > 0);
    second.quiet(QUIET, || subnet.written());
    let (ups, before) = (second.ups(), subnet.written());
    subnet.command(&format!("Unlink {}", name(&fabric, cables(&fabric)[0])));
    second.until("the loss to be repaired", |second| second.ups() > ups);
    second.quiet(QUIET, || subnet.written());
    assert!(subnet.written() > before, "{:?}", second.said());
    let (ups, said, events) = (first.ups(), first.said().len(), subnet.events().len());
    second.kill();
    first.until("the first one to be master again", |first| first.ups() > ups);
    first.quiet(QUIET, || subnet.written());
    let whole = first.seen(&fabric);
    let (last, changed, rings) = judged(&subnet, &whole, events);
    let said = first.said()[said..].join("\n");
    assert!(said.contains("adopted: they are proved"), "{said}");
    assert_eq!((changed, rings, last.audited().verdict()), (0, 0, AuditVerdict::Safe), "{said}");
}

/// The management of a switch falls silent while its links are up. OpenSM drops it, and it goes on forwarding until
/// OpenSM has taken its links down at the end of the sweep: tables change in the sweep after.
#[test]
fn a_switch_that_is_not_heard_is_dead_when_its_links_are_down() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let subnet = Subnet::serve(&fabric, 0.1);
    let opensm = run(&subnet, "", "sweep_interval 1\ntransaction_timeout 50\ntransaction_retries 1");
    let (events, switch) = (subnet.events().len(), fabric.switches().last().expect("switches"));
    let described = fabric.node(switch).description.trim().to_string();
    for attribute in [16, 17, 18, 21] {
        subnet.command(&format!("Sicken \"{described}\" {attribute} silent"));
    }
    let cables = cables(&fabric);
    let is_elsewhere = |port: &&PortId| fabric.port(**port).node != switch && fabric.neighbour(**port) != Some(switch);
    let lost = cables.iter().find(is_elsewhere).expect("cables elsewhere");
    subnet.command(&format!("Unlink {}", name(&fabric, *lost)));
    opensm.until("the loss to be repaired", |opensm| opensm.log().contains("something was lost"));
    let log = opensm.log();
    let named = log.find("does not answer, although its link").expect("the switch is named");
    let repaired = log.find("something was lost").expect("the log holds it");
    assert!(log[named..repaired.max(named)].contains("SUBNET UP"), "in one sweep: {}", opensm.said().join("\n"));
    opensm.until("the last wave", OpenSm::has_ended);
    subnet.command(&format!("Heal \"{described}\""));
    let back = |opensm: &OpenSm| opensm.said().iter().any(|said| said.starts_with("something has come"));
    opensm.until("the switch to be back", back);
    opensm.quiet(QUIET, || subnet.written());
    let whole = opensm.seen(&fabric);
    let (last, _, rings) = judged(&subnet, &whole, events);
    let said = opensm.said().join("\n");
    assert_eq!((rings, last.audited().verdict()), (0, AuditVerdict::Safe), "{said}");
}

/// A switch that starts anew has no tables: what led through it is lost, and then served again.
#[test]
fn a_switch_starts_anew() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("fat-tree-4-2");
    let subnet = Subnet::serve(&fabric, 0.1);
    let opensm = run(&subnet, "", "sweep_interval 1");
    for command in ["Kill \"spine-2\"", "Revive \"spine-2\"", "Kill \"leaf-2\"", "Revive \"leaf-2\""] {
        let ups = opensm.ups();
        subnet.command(command);
        opensm.until(command, |opensm| opensm.ups() > ups);
        opensm.quiet(QUIET, || subnet.written());
    }
    let whole = opensm.seen(&fabric);
    // What a dead switch held is gone, which the record does not tell: only its writes after it came back count.
    let (last, _, rings) = judged(&subnet, &whole, 0);
    let said = opensm.said().join("\n");
    assert_eq!((rings, last.audited().verdict()), (0, AuditVerdict::Safe), "{said}");
    assert_eq!(subnet.status()["deadlocks"]["count"].as_u64().unwrap_or(0), 0);
}

/// A switch that neither takes nor tells its table is named; others are served meanwhile, and it is when it answers
/// again.
#[test]
fn a_switch_is_silent_for_a_while() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("fat-tree-4-2");
    let subnet = Subnet::serve(&fabric, 0.1);
    let opensm = run(&subnet, "", "sweep_interval 1\ntransaction_timeout 50\ntransaction_retries 1");
    subnet.command("Sicken \"leaf-1\" 25 silent");
    subnet.command("Unlink \"spine-1\"");
    let says = |opensm: &OpenSm| opensm.said().iter().any(|said| said.contains("does not report its forwarding table"));
    opensm.until("the switch to be named", says);
    let lost = |opensm: &OpenSm| opensm.said().iter().any(|said| said.starts_with("something was lost"));
    opensm.until("the loss to be repaired for the others", lost);
    subnet.command("Heal \"leaf-1\"");
    let ups = opensm.ups();
    opensm.until("SUBNET UP", |opensm| opensm.ups() > ups);
    opensm.quiet(QUIET, || subnet.written());
    let whole = opensm.seen(&fabric);
    let (last, _, rings) = judged(&subnet, &whole, 0);
    let said = opensm.said().join("\n");
    assert_eq!(rings, 0, "{said}");
    // The spine is gone, and so is nothing else.
    let found = last.audited();
    assert_eq!(found.unreachable_pairs.count, 0, "{:?}\n{said}", found.faults);
}

/// All cables of a switch die at once: it and its hosts are an island, which OpenSM does not see. The rest is served,
/// and the island again when one cable is back.
#[test]
fn an_island_is_left_out_until_a_cable_joins_it() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = bundled("torus-4x4");
    let subnet = Subnet::serve(&fabric, 0.1);
    let opensm = run(&subnet, "", "sweep_interval 1");
    let last = fabric.switches().last().expect("switches");
    let ends = |port: &PortId| [Some(fabric.port(*port).node), fabric.neighbour(*port)].contains(&Some(last));
    let own: Vec<PortId> = cables(&fabric).into_iter().filter(ends).collect();
    assert!(own.len() > 2);
    let whole = opensm.seen(&fabric);
    for cable in &own {
        subnet.command(&format!("Unlink {}", name(&fabric, *cable)));
    }
    let lost = |opensm: &OpenSm| opensm.said().iter().any(|said| said.starts_with("something was lost"));
    opensm.until("the loss", lost);
    opensm.quiet(QUIET, || subnet.written());
    let (island, _, rings) = judged(&subnet, &whole, 0);
    let found = island.audited();
    // Pairs across the gap alone: the island's hosts with all others, in both directions.
    let hosts = whole.ports_of(last).filter_map(|port| whole.peer(port));
    let cut_off = hosts.filter(|&port| !whole.node(whole.port(port).node).is_switch()).count();
    let others = whole.end_ports().count() - cut_off;
    let said = opensm.said().join("\n");
    assert_eq!((rings, found.unreachable_pairs.count), (0, 2 * cut_off * others), "{said}");
    let ups = opensm.ups();
    subnet.command(&format!("Relink {}", name(&fabric, own[0])));
    opensm.until("the island to be seen", |opensm| opensm.ups() > ups);
    opensm.quiet(QUIET, || subnet.written());
    let (joined, _, rings) = judged(&subnet, &whole, 0);
    let said = opensm.said().join("\n");
    assert_eq!((rings, joined.audited().verdict()), (0, AuditVerdict::Safe), "{said}");
}

/// Each port has several LIDs, and all of them are served.
#[test]
fn several_lids_for_each_port() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    for lmc in [1, 2] {
        let fabric = bundled("torus-4x4");
        let subnet = Subnet::serve(&fabric, 0.1);
        let opensm = run(&subnet, "", &format!("lmc {lmc}\nsweep_interval 1"));
        let ups = opensm.ups();
        subnet.command(&format!("Unlink {}", name(&fabric, cables(&fabric)[0])));
        opensm.until("the loss", |opensm| opensm.ups() > ups);
        opensm.quiet(QUIET, || subnet.written());
        let whole = opensm.seen(&fabric);
        let ends = whole.end_ports().filter(|&port| whole.port(port).lmc.lids() == 1 << lmc).count();
        assert_eq!(ends, whole.end_ports().count(), "OpenSM gives each end port its LIDs");
        let (last, _, rings) = judged(&subnet, &whole, 0);
        let said = opensm.said().join("\n");
        assert_eq!((rings, last.audited().verdict()), (0, AuditVerdict::Safe), "LMC {lmc}: {said}");
    }
}

/// Engines that need several lanes: their tables are judged on one, where those of trees stand and others have rings.
#[test]
fn tables_that_rest_on_several_lanes_are_judged_on_one() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let (adopted, mended) = ("the tables in force are adopted", "the tables in force are mended");
    let kept = "no change in place is proved, so the tables in force stay";
    for (topology, engine, expected) in [
        ("fat-tree-4-2", "dfsssp", mended),
        ("fat-tree-4-2", "lash", adopted),
        ("torus-4x4", "dfsssp", kept),
        ("torus-4x4", "lash", kept),
        ("random-regular-16-4", "dfsssp", kept),
        ("random-regular-16-4", "lash", kept),
        ("random-regular-16-4", "nue", mended),
    ] {
        let fabric = bundled(topology);
        let subnet = Subnet::serve(&fabric, 0.0);
        let theirs = run(&subnet, "", &format!("routing_engine {engine}"));
        assert!(theirs.log().contains(&format!("{engine} tables configured on all switches")), "{}", theirs.log());
        drop(theirs);
        let before = subnet.events().len();
        let mut opensm = run(&subnet, "", "");
        if expected == mended {
            opensm.until("the mended tables", |opensm| opensm.said().iter().any(|said| said.contains("handed over")));
            opensm.quiet(QUIET, || subnet.written());
        }
        let said = opensm.said().join("\n");
        assert!(said.contains(expected), "{topology} {engine}: {said}");
        if expected == kept {
            drop(opensm);
            opensm = run(&subnet, "on_refusal: rewrite", "");
            let said = opensm.said().join("\n");
            assert!(said.contains("WARNING: all tables are rewritten and NOT proved"), "{topology} {engine}: {said}");
        }
        let whole = opensm.seen(&fabric);
        let (last, _, rings) = judged(&subnet, &whole, before);
        let said = opensm.said().join("\n");
        assert_eq!(last.audited_with_switches().verdict(), AuditVerdict::Safe, "{topology} {engine}: {said}");
        assert!(rings == 0 || expected == kept, "{topology} {engine}: {rings} moments with a ring: {said}");
    }
}

/// By how many outputs of its switch the LIDs of a host are led to, at most: the ways that a sender can choose from.
fn most_ways(whole: &Fabric, lfts: &[Arc<Lft>]) -> usize {
    let outputs = |end: PortId, switch: NodeId| {
        let (first, lids) = (whole.port(end).lid.expect("OpenSM gives LIDs").0, whole.port(end).lmc.lids());
        let ways = (first..first + lids).map(|lid| lfts[switch.index()].get(Lid(lid)));
        ways.collect::<BTreeSet<Option<PortNum>>>().len()
    };
    let ways = whole.end_ports().flat_map(|end| whole.switches().map(move |switch| outputs(end, switch)));
    ways.max().unwrap_or(0)
}

/// Each LID of a port has a way of its own, after a bring-up and after a loss and a return.
#[test]
fn several_ways_to_each_port() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    for (topology, lmc, first) in [
        ("fat-tree-4-3", 1, ""),
        ("fat-tree-4-3", 2, ""),
        ("torus-4x4", 1, ""),
        // Adopted from OpenSM's own engine.
        ("fat-tree-4-2", 1, "routing_engine minhop"),
    ] {
        let fabric = bundled(topology);
        let subnet = Subnet::serve(&fabric, 0.1);
        if !first.is_empty() {
            drop(run(&subnet, "", &format!("{first}\nlmc {lmc}")));
        }
        let opensm = run(&subnet, "", &format!("lmc {lmc}\nsweep_interval 1"));
        let whole = opensm.seen(&fabric);
        let (up, _, _) = judged(&subnet, &whole, 0);
        let wanted = 1 << lmc;
        assert_eq!(most_ways(&whole, &up.lfts), wanted, "{topology} LMC {lmc}: {}", opensm.said().join("\n"));
        let cable = name(&fabric, cables(&fabric)[0]);
        for command in ["Unlink", "Relink"] {
            let ups = opensm.ups();
            subnet.command(&format!("{command} {cable}"));
            opensm.until(command, |opensm| opensm.ups() > ups);
            opensm.quiet(QUIET, || subnet.written());
        }
        let (last, _, rings) = judged(&subnet, &whole, 0);
        let said = opensm.said().join("\n");
        assert_eq!((rings, last.audited().verdict()), (0, AuditVerdict::Safe), "{topology} LMC {lmc}: {said}");
        assert!(!said.contains("and yet") && !opensm.log().contains("a fault of ours"), "{topology} LMC {lmc}: {said}");
        assert_eq!(most_ways(&whole, &last.lfts), wanted, "{topology} LMC {lmc}: {said}");
    }
}
