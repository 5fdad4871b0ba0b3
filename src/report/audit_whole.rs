//! What the screen of an audit shows of subnets and the routers between them.

use super::quantity::{count, counted};
use super::screen::{line, number, show, table};
use reconfig::audit::across::{PathAudit, Stray};
use reconfig::audit::{AuditVerdict, AuditedSubnet, SHOWN, WholeAudit};
use reconfig::routers::{LevelsRule, PartEnforce};
use reconfig::verify::across::{AcrossRefusal, AcrossStatistics};

/// Returns the verdict in words.
pub(super) fn whole(text: &mut String, subnets: &[AuditedSubnet], found: &WholeAudit) -> String {
    for (rank, subnet) in subnets.iter().enumerate() {
        let title = if rank == 0 { "subnets " } else { "        " };
        let AuditedSubnet { name, prefix, .. } = subnet;
        let size = [(subnet.switches, "switch"), (subnet.hosts, "host")];
        let [switches, hosts] = size.map(|(number, name)| counted(number as u64, name));
        line(text, format_args!("{title} {name}, prefix {prefix}: {switches}, {hosts}"));
    }
    let WholeAudit { routers, engine, data_vls, halves, .. } = found;
    let each = if *halves == 1 { "the lower half" } else { "both halves" };
    let vls = counted((*data_vls).into(), "data VL");
    if *routers > 0 {
        line(text, format_args!("routers  {routers}"));
    }
    line(text, format_args!("routed   {engine} on {vls}; LIDs of {each} are followed\n"));
    paths(text, &found.paths);
    parted(text, found);
    match found.router_sl {
        _ if *routers == 0 => {}
        LevelsRule::Keep => line(text, format_args!("levels   kept at routers")),
        LevelsRule::Turn => {
            let layers = counted(found.layers.into(), "layer");
            line(text, format_args!("levels   raised by a layer where ways turn: {layers}"));
        }
        LevelsRule::Raise => {
            let layers = counted(found.layers.into(), "layer");
            line(text, format_args!("levels   raised by a layer at each router: {layers}"));
        }
    }
    proof(text, found);
    let across = if subnets.len() == 1 { "" } else { ", within subnets or across" };
    match found.verdict() {
        AuditVerdict::Safe if found.paths.pairs() == 0 => {
            format!("safe: no deadlock is possible{across}; there is no pair of hosts to follow paths between")
        }
        AuditVerdict::Safe => format!("safe: every path arrives, and no deadlock is possible{across}"),
        AuditVerdict::Unsafe => format!("UNSAFE: {}", unsafe_whole(found)),
        AuditVerdict::Unknown => "NOT KNOWN".to_string(),
    }
}

/// Which paths are lost, and whether a deadlock is possible.
pub(super) fn unsafe_whole(found: &WholeAudit) -> String {
    let paths = &found.paths;
    let lost = (!paths.is_sound()).then(|| {
        let [faulty, pairs] = [paths.faulty_pairs, paths.pairs()].map(count);
        let are_at_routers =
            (1..SHOWN).contains(&paths.faults.len()) && paths.faults.iter().all(|fault| is_at_router(&fault.why));
        let place = if are_at_routers { " at routers" } else { "" };
        format!("{faulty} of {pairs} pairs of hosts lose paths{place}")
    });
    let deadlock = match (&found.refusal, &found.proof) {
        (Some(AcrossRefusal::Deadlock(cycle)), _) => {
            let lanes = counted(cycle.links.len() as u64, "lane");
            format!("{lanes} can wait for each other in a cycle")
        }
        (Some(_), _) => "a deadlock is not excluded".to_string(),
        (None, Some(_)) => "no deadlock is possible".to_string(),
        (None, None) => "deadlocks were not judged".to_string(),
    };
    lost.into_iter().chain([deadlock]).collect::<Vec<_>>().join("; ")
}

/// Whether it is routers that do not pass on what is lost so.
fn is_at_router(why: &Stray) -> bool {
    matches!(why, Stray::NoRouter | Stray::HopLimit | Stray::Layers | Stray::Partition { .. })
}

fn paths(text: &mut String, found: &PathAudit) {
    let mut rows = table();
    rows.set_header(["routers", "pairs of hosts", "paths", "lost", "most switches"].map(number));
    for own in &found.by_crossings {
        let numbers = [own.crossings.into(), own.pairs, own.paths, own.lost, own.longest.into()];
        rows.add_row(numbers.map(|value| number(count(value))));
    }
    show(text, &rows);
    if found.pairs() == 0 {
        line(text, format_args!("paths    none: there is no pair of hosts that may speak with each other"));
        return;
    }
    if found.is_sound() {
        line(text, format_args!("paths    all arrive: {} ordered pairs", count(found.pairs())));
        return;
    }
    let (faulty, pairs) = (count(found.faulty_pairs), count(found.pairs()));
    line(text, format_args!("paths    LOST: of {faulty} pairs of {pairs}"));
    for fault in &found.faults {
        line(text, format_args!("         {} → {}: {}", fault.source, fault.destination, fault.why));
    }
}

/// The effect of partitions.
fn parted(text: &mut String, found: &WholeAudit) {
    let Some((enforced, pairs)) = found.part_enforce.zip(found.paths.parted) else { return };
    let looks = match enforced {
        PartEnforce::Both => "look at what comes in and goes out",
        PartEnforce::In => "look at what comes in",
        PartEnforce::Out => "look at what goes out",
        PartEnforce::Off => "do not look at them",
    };
    let pairs = count(pairs);
    line(
        text,
        format_args!("P_Keys   {pairs} ordered pairs share no partition, and have no path; ports of routers {looks}"),
    );
}

fn proof(text: &mut String, found: &WholeAudit) {
    if let Some(AcrossStatistics { lanes, dependencies, couplings, .. }) = found.proof {
        let [lanes, dependencies, couplings] = [lanes, dependencies, couplings].map(|value| count(value as u64));
        let what = format!("{lanes} lanes, {dependencies} dependencies in subnets, {couplings} through routers");
        line(text, format_args!("deadlock none is possible: {what}, no cycle"));
    }
    if let Some(refusal) = &found.refusal {
        let message = refusal.to_string().replace('\n', "\n         ");
        line(text, format_args!("deadlock NOT EXCLUDED: {message}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list without hosts: nothing arrives, because nothing is sent.
    #[test]
    fn where_there_is_no_pair_that_is_said() {
        let none = PathAudit { by_crossings: Vec::new(), apart: 0, parted: None, faulty_pairs: 0, faults: Vec::new() };
        let found = WholeAudit {
            engine: "up-down".to_string(),
            routers: 1,
            router_sl: LevelsRule::Raise,
            layers: 1,
            data_vls: 4,
            halves: 2,
            part_enforce: None,
            paths: none,
            proof: Some(AcrossStatistics::default()),
            refusal: None,
        };
        let mut text = String::new();
        let told = whole(&mut text, &[], &found);
        assert!(text.contains("paths    none: there is no pair of hosts") && text.contains("1 layer\n"), "{text}");
        assert!(told.starts_with("safe: no deadlock is possible") && !told.contains("every path arrives"), "{told}");
    }
}
