//! A small fat tree on ibsim: bring-up, a spine lost, a spine back.

use crate::harness::{OpenSm, bundled, differing, held, installed, patience};
use crate::moments::random;
use crate::times::{FABRICS, generated};
use reconfig::audit::{AuditRules, AuditVerdict, RoutingSnapshot, audit};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::tables::Lft;
use reconfig_measuring::process::run::run;
use reconfig_measuring::served::Served;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// One line for ibsim's console.
pub fn console(served: &mut Served, line: &str) {
    let stdin = served.server.as_mut().and_then(|server| server.stdin.as_mut()).expect("ibsim's console is open");
    writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("ibsim reads its console");
}

/// Nothing is lost, nothing waits in a ring, switches' own LIDs included.
fn assert_safe(fabric: &Fabric, lfts: &[Arc<Lft>]) {
    let snapshot = RoutingSnapshot { fabric, lfts, sl_to_vl: None, path_sls: None, unknown: &[] };
    let found = audit(&snapshot, AuditRules { switches: true, data_vls: Some(1) }).expect("the fabric has LIDs");
    assert_eq!(found.verdict(), AuditVerdict::Safe, "{found:?}");
}

/// What ibdmchk, which none of us wrote, says of OpenSM's own files.
fn assert_ibdmchk_finds_nothing(folder: &Path) {
    std::fs::write(folder.join("none.mcfdbs"), "").expect("a file in a temporary folder");
    let mut command = Command::new("ibdmchk");
    command.args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "none.mcfdbs"]).current_dir(folder);
    let said = run(&mut command, folder, "ibdmchk", patience()).expect("ibdmchk is installed").output;
    assert!(said.lines().any(|line| line == "-I- no credit loops found"), "{said}");
    assert!(!said.contains("missing paths"), "{said}");
}

/// The file of metrics has these lines, and each sample has a type.
fn assert_metrics(file: &Path, samples: &[&str], switches: &str) {
    let text = std::fs::read_to_string(file).expect("metrics are published");
    let has = |line: &str| text.lines().any(|own| own == line);
    assert!(has(&format!("reconfig_switches {switches}")) && has("reconfig_opensm_proved 1"), "{text}");
    for sample in samples {
        assert!(has(&format!("reconfig_opensm_{sample}")), "{sample} is not in\n{text}");
    }
    for sample in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = sample.rsplit_once(' ').expect("a name and a value");
        let name = name.split('{').next().unwrap_or_default();
        let family = name.trim_end_matches("_sum").trim_end_matches("_count");
        assert!(text.contains(&format!("# TYPE {family} ")) && value.parse::<f64>().is_ok(), "{sample}");
    }
}

#[test]
fn a_spine_dies_and_comes_back() {
    if !installed(&["opensm", "ibsim", "ibsim-run", "dump_fts", "ibdmchk"]) {
        return;
    }
    let net = write(&bundled("fat-tree-4-2"), Format::IbsimNet).expect("ibsim can have it");
    let mut served = Served::serve(&net);
    let (socket, folder) = (served.socket().to_string(), served.folder().to_path_buf());
    let published = folder.join("reconfig.prom");
    let settings = format!("metrics: {}", published.display());
    let opensm = OpenSm::start(&socket, &folder, &settings, "sweep_interval 1");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.settle();
    assert_metrics(&published, &["runs_total{outcome=\"brought-up\"} 1", "runs_total{outcome=\"changed\"} 0"], "8");
    let brought_up = opensm.last_plan();
    let before = held(&socket, &folder, &brought_up.draft().after);
    assert_eq!(differing(&brought_up, &before), Vec::<String>::new());
    assert_safe(&brought_up.draft().after, &before);
    assert_ibdmchk_finds_nothing(&folder);

    for (command, what) in [("Unlink \"spine-1\"", "something was lost"), ("ReLink \"spine-1\"", "something has come")]
    {
        let ups = opensm.ups();
        console(&mut served, command);
        opensm.until(what, |opensm| opensm.ups() > ups && opensm.said().iter().any(|said| said.starts_with(what)));
        opensm.settle();
        let plan = opensm.last_plan();
        let held = held(&socket, &folder, &plan.draft().after);
        assert_eq!(differing(&plan, &held), Vec::<String>::new(), "{command}: {}", opensm.said().join("\n"));
        assert_safe(&plan.draft().after, &held);
        assert_ibdmchk_finds_nothing(&folder);
    }
    // The spine that came back carries traffic again.
    let plan = opensm.last_plan();
    let fabric = &plan.draft().after;
    let spine = fabric.nodes().find(|(_, node)| node.description.trim() == "spine-1").expect("it is there").0;
    let leads_there = |switch| {
        let lft: &Arc<Lft> = &plan.tables_at(plan.waves().len()).lfts[switch];
        lft.routes().any(|(lid, port)| {
            let is_host = fabric.lid_owner(lid).is_some_and(|owner| !fabric.node(fabric.port(owner).node).is_switch());
            let next =
                fabric.port_at(reconfig::fabric::NodeId(switch as u32), port).and_then(|port| fabric.neighbour(port));
            is_host && next == Some(spine)
        })
    };
    assert!(
        (0..fabric.node_count()).any(leads_there),
        "no host is reached by the spine that came back: {:?}",
        opensm.said()
    );
    assert_metrics(&published, &["runs_total{outcome=\"changed\"} 2", "waves_left 0", "multicast_ring 0"], "8");
    assert!(
        !opensm.log().contains("ERR "),
        "{}",
        opensm.log().lines().filter(|line| line.contains("ERR ")).collect::<Vec<_>>().join("\n")
    );
}

/// What switches hold after a bring-up is what the engine's plan says, and others judge it: 16 switches, or with
/// RECONFIG_THOROUGH 320 and 972.
#[test]
fn bring_ups_are_what_the_plan_says() {
    if !installed(&["opensm", "ibsim", "ibsim-run", "dump_fts", "ibdmchk"]) {
        return;
    }
    let mut fabrics = vec![bundled("torus-4x4")];
    if std::env::var_os("RECONFIG_THOROUGH").is_some() {
        fabrics.extend(FABRICS.map(generated));
    }
    for fabric in fabrics {
        let start = Instant::now();
        let served = Served::serve(&write(&fabric, Format::IbsimNet).expect("ibsim can have it"));
        let (socket, folder) = (served.socket().to_string(), served.folder().to_path_buf());
        let opensm = OpenSm::start(&socket, &folder, "renew: false", "");
        opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
        opensm.settle();
        let plan = opensm.last_plan();
        let whole = &plan.draft().after;
        let held = held(&socket, &folder, whole);
        assert_eq!(differing(&plan, &held), Vec::<String>::new());
        assert_safe(whole, &held);
        assert_ibdmchk_finds_nothing(&folder);
        let (switches, hosts) = (whole.switches().count(), whole.end_ports().count());
        println!("{switches} switches, {hosts} hosts: as planned, and safe, after {:?}", start.elapsed());
    }
}

/// What OpenSM counts itself is what we count for it, byte by byte.
#[test]
fn hop_counts_are_opensms_own() {
    if !installed(&["opensm", "ibsim", "ibsim-run"]) {
        return;
    }
    for fabric in [bundled("fat-tree-4-2"), bundled("dragonfly-2-4-2"), random(16, 4, 2)] {
        let net = write(&fabric, Format::IbsimNet).expect("ibsim can have it");
        let [ours, opensms] = ["reconfig no_fallback", "minhop"].map(|engine| {
            let served = Served::serve(&net);
            let options = format!("routing_engine {engine}");
            let opensm = OpenSm::start(served.socket(), served.folder(), "", &options);
            opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
            opensm.settle();
            let dump = served.folder().join("opensm-lid-matrix.dump");
            std::fs::read_to_string(dump).expect("OpenSM dumps the hop counts of each sweep")
        });
        assert!(ours.lines().count() > fabric.switches().count(), "{ours}");
        assert_eq!(ours, opensms);
    }
}
