//! What `reconfig audit` found of several subnets: JSON for programs, one screen for people.

use super::quantity::{count, counted};
use super::screen::{line, number, show, table};
use reconfig::audit::AuditVerdict;
use reconfig::audit::across::PathAudit;
use reconfig::fabric::subnets::Subnets;
use reconfig::ids::GidPrefix;
use reconfig::routers::{Levels, LevelsRule, PartEnforce};
use reconfig::verify::across::{AcrossRefusal, AcrossStatistics};
use serde::Serialize;

/// What `reconfig audit` reports about several subnets and the routers between them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SubnetsAudit {
    pub schema: &'static str,
    /// Whether every path arrives and no deadlock is possible.
    pub verdict: AuditVerdict,
    pub engine: String,
    pub subnets: Vec<SubnetFacts>,
    pub routers: usize,
    /// What routers do with service levels.
    pub router_sl: LevelsRule,
    /// Layers of service levels; 1 where they are kept.
    pub layers: u8,
    /// Data VLs: the least of all subnets.
    pub data_vls: u8,
    /// LIDs of each half that are followed.
    pub halves: usize,
    /// The direction in which ports of routers check partitions, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_enforce: Option<PartEnforce>,
    pub paths: PathAudit,
    /// What the proof covers, where there is one.
    pub proof: Option<AcrossStatistics>,
    pub refusal: Option<AcrossRefusal>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SubnetFacts {
    pub name: String,
    pub prefix: GidPrefix,
    pub switches: usize,
    pub hosts: usize,
}

impl SubnetsAudit {
    /// What was found; `facts` are engine, data VLs and halves.
    pub fn of(
        subnets: &Subnets,
        (engine, data_vls, halves): (String, u8, usize),
        levels: Levels,
        paths: PathAudit,
        proof: Result<AcrossStatistics, AcrossRefusal>,
    ) -> SubnetsAudit {
        let facts = subnets.subnets().map(|(id, subnet)| SubnetFacts {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            switches: subnet.fabric.switches().count(),
            hosts: subnets.hosts(id).count(),
        });
        SubnetsAudit {
            schema: "reconfig.audit-across/1",
            verdict: (paths.is_sound() && proof.is_ok()).into(),
            engine,
            subnets: facts.collect(),
            routers: subnets.routers().len(),
            router_sl: levels.rule(),
            layers: levels.layers(),
            data_vls,
            halves,
            part_enforce: None,
            paths,
            proof: proof.as_ref().ok().copied(),
            refusal: proof.err(),
        }
    }

    /// The same, with partitions that ports of routers check in this direction.
    #[must_use]
    pub fn with_partitions(self, part_enforce: Option<PartEnforce>) -> SubnetsAudit {
        SubnetsAudit { part_enforce, ..self }
    }

    pub fn is_safe(&self) -> bool {
        self.verdict == AuditVerdict::Safe
    }
}

pub fn subnets_audit(report: &SubnetsAudit) -> String {
    let mut text = String::new();
    for (rank, subnet) in report.subnets.iter().enumerate() {
        let title = if rank == 0 { "subnets " } else { "        " };
        let SubnetFacts { name, prefix, .. } = subnet;
        let size = [(subnet.switches, "switch"), (subnet.hosts, "host")];
        let [switches, hosts] = size.map(|(number, name)| counted(number as u64, name));
        line(&mut text, format_args!("{title} {name}, prefix {prefix}: {switches}, {hosts}"));
    }
    let SubnetsAudit { routers, engine, data_vls, halves, .. } = report;
    let each = if *halves == 1 { "the lower half" } else { "both halves" };
    let vls = counted((*data_vls).into(), "data VL");
    line(&mut text, format_args!("routers  {routers}"));
    line(&mut text, format_args!("routed   {engine} on {vls}; LIDs of {each} are followed\n"));
    paths(&mut text, &report.paths);
    parted(&mut text, report);
    match report.router_sl {
        LevelsRule::Keep => line(&mut text, format_args!("levels   kept at routers")),
        LevelsRule::Raise => {
            line(
                &mut text,
                format_args!("levels   raised by a layer at each router: {}", counted(report.layers.into(), "layer")),
            );
        }
    }
    proof(&mut text, report);
    let verdict = match report.verdict {
        AuditVerdict::Safe if report.paths.pairs() == 0 => {
            "safe: no deadlock is possible, within subnets or across; there is no pair of hosts to follow paths between"
        }
        AuditVerdict::Safe => "safe: every path arrives, and no deadlock is possible, within subnets or across",
        AuditVerdict::Unsafe => "UNSAFE",
    };
    line(&mut text, format_args!("{verdict}"));
    text
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
fn parted(text: &mut String, report: &SubnetsAudit) {
    let Some((enforced, pairs)) = report.part_enforce.zip(report.paths.parted) else { return };
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

fn proof(text: &mut String, report: &SubnetsAudit) {
    if let Some(AcrossStatistics { lanes, dependencies, couplings, .. }) = report.proof {
        let [lanes, dependencies, couplings] = [lanes, dependencies, couplings].map(|value| count(value as u64));
        let what = format!("{lanes} lanes, {dependencies} dependencies in subnets, {couplings} through routers");
        line(text, format_args!("deadlock none is possible: {what}, no cycle"));
    }
    if let Some(refusal) = &report.refusal {
        let told = refusal.to_string().replace('\n', "\n         ");
        line(text, format_args!("deadlock NOT EXCLUDED: {told}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};

    /// A list without hosts: nothing arrives, since nobody sends.
    #[test]
    fn where_there_is_no_pair_that_is_said() {
        let topology = "ring:4".parse().expect("a topology");
        let joining = JoinedTopology { topology, subnets: 2, shape: JoinShape::Line, routers: 1 };
        let subnets = joined(&joining, &Options::default()).expect("can be made");
        let none = PathAudit { by_crossings: Vec::new(), apart: 0, parted: None, faulty_pairs: 0, faults: Vec::new() };
        let levels = Levels::new(LevelsRule::Raise, 0, 4).expect("lanes suffice");
        let facts = ("up-down".to_string(), 4, 2);
        let text = subnets_audit(&SubnetsAudit::of(&subnets, facts, levels, none, Ok(AcrossStatistics::default())));
        assert!(text.contains("paths    none: there is no pair of hosts") && text.contains("1 layer\n"), "{text}");
        assert!(text.contains("safe: no deadlock is possible") && !text.contains("every path arrives"), "{text}");
    }
}
