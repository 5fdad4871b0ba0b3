//! A plan on one screen, as it was made or as it was checked.

use super::cut_off;
use super::devices::devices;
use super::quantity::{count, counted, duration, engine_pair, repaired, root_pair, size_of};
use super::screen::{line, number, show, some, table};
use comfy_table::Cell;
use reconfig::change::{ChangeError, Departure, Drawn, is_repair};
use reconfig::check::Finding;
use reconfig::check::certificate::{CertificateFault, Checked};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Half, Lid, PortNum, VlSet};
use reconfig::plan::{FabricDigest, Phase, Plan, Scheme, SmpRate, WaveCost};
use reconfig::scenario::{CutOffPort, DeviceReport, FabricMap, FabricSize};
use reconfig::verify::{self, ProofStatistics, Refusal, Witness};
use serde::Serialize;

/// The contents of a plan, in numbers and names. Times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct PlanFacts {
    pub scheme: Scheme,
    /// Identifies the fabric it is for.
    pub digest: FabricDigest,
    /// The fabric before.
    pub fabric: FabricSize,
    /// Nodes that the new routing does without; for captures, the nodes that are removed.
    pub leaves: Vec<String>,
    /// Switches that stay, of a plan for captures, to which no way leads from the manager any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub isolated: Vec<String>,
    /// Nodes that only the new routing has.
    pub comes: Vec<String>,
    /// One end of each cable between nodes that stay, which the new routing does without.
    pub cut: Vec<String>,
    /// One end of each cable between nodes that stay, which only the new routing has.
    pub joined: Vec<String>,
    /// End ports that the new routing omits.
    pub stranded: Vec<String>,
    pub sm: String,
    /// Data lanes, and the two sets of them.
    pub lanes: LaneFacts,
    /// The half in use before.
    pub old: Half,
    /// The half in use afterwards.
    pub new: Half,
    pub arming: String,
    pub drain: String,
    pub waves: Vec<WaveFacts>,
    /// Time that a device needs for an SMP: `expected_ns` follows from it, and from `window`.
    pub smp_ns: u64,
    /// SMPs under way over all devices; none: one for each device.
    pub window: Option<usize>,
    /// SMPs of all waves.
    pub smps: usize,
    /// Time for the writes of all waves, without barriers.
    pub expected_ns: u64,
    /// End ports that have to send to other LIDs on other service levels.
    pub hosts_that_move: usize,
    /// What must run empty.
    pub drain_graph: DrainFacts,
    /// Whether it reconnects hosts, but rows (switch and LID) of switches still lead into failed elements: another
    /// change gives them paths.
    pub leads_into_loss: bool,
    /// Whether rows by which hosts send to hosts may be among those.
    pub leaves_losses: bool,
    /// What is taken for granted.
    pub assumptions: Vec<&'static str>,
    /// Choices that the fabric forced.
    pub notes: Vec<String>,
}

/// The data lanes of a plan, by number.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LaneFacts {
    pub all: Vec<u8>,
    /// Those that retire.
    pub a: Vec<u8>,
    /// Those that take over.
    pub b: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WaveFacts {
    pub name: String,
    /// Its part in the scheme.
    pub phase: Phase,
    /// What it costs.
    #[serde(flatten)]
    pub cost: WaveCost,
    /// What must hold at its end, in order.
    pub barriers: Vec<String>,
}

/// What must run empty before the last phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DrainFacts {
    pub channels: usize,
    /// Channels on its longest path.
    pub depth: u32,
}

impl PlanFacts {
    /// The facts of a plan, where SMPs are served so fast.
    pub fn of(plan: &Plan, rate: SmpRate) -> PlanFacts {
        let draft = plan.draft();
        // The fabric that the plan is made on holds newcomers too; the routing in force was made for `routed`.
        let (before, routed, after) = (&*draft.before, &*draft.routed, &*draft.after);
        let ports = |ports: &[PortId]| ports.iter().map(|&port| before.describe_port(port)).collect();
        let waves: Vec<WaveFacts> = plan.waves().iter().map(|wave| WaveFacts::of(plan, wave, rate)).collect();
        let lanes = |set: VlSet| set.iter().map(|vl| vl.get()).collect();
        PlanFacts {
            scheme: plan.scheme(),
            digest: plan.digest(),
            fabric: FabricSize::of(routed),
            leaves: missing_nodes(routed, after),
            isolated: Vec::new(),
            comes: missing_nodes(after, routed),
            cut: missing_cables(routed, after),
            joined: missing_cables(after, routed),
            stranded: ports(&draft.stranded),
            sm: before.describe_port(draft.sm),
            lanes: LaneFacts { all: lanes(draft.lanes.all), a: lanes(draft.lanes.a), b: lanes(draft.lanes.b) },
            old: draft.old,
            new: draft.new,
            arming: draft.policy.arming.to_string(),
            drain: draft.policy.observer.to_string(),
            smp_ns: rate.smp_ns,
            window: plan.window(rate.window),
            smps: waves.iter().map(|wave| wave.cost.smps).sum(),
            expected_ns: waves.iter().map(|wave| wave.cost.expected_ns).sum(),
            waves,
            hosts_that_move: plan.hosts_that_move(),
            drain_graph: DrainFacts { channels: drained_channels(plan), depth: plan.drain_depth() },
            leads_into_loss: plan.leads_into_loss(),
            leaves_losses: plan.draft().leaves_losses,
            assumptions: draft.assumptions.iter().map(|held| held.name()).collect(),
            notes: draft.notes.clone(),
        }
    }
}

impl WaveFacts {
    fn of(plan: &Plan, wave: &reconfig::plan::Wave, rate: SmpRate) -> WaveFacts {
        WaveFacts {
            name: wave.name.clone(),
            phase: wave.phase,
            cost: plan.cost(wave, rate),
            barriers: wave.barriers.iter().map(ToString::to_string).collect(),
        }
    }
}

impl PlanFacts {
    /// Separates the devices that are removed from switches that lose every path; end ports that lose every path are
    /// cut off.
    fn with_departures(self, plan: &Plan, leaves: impl Fn(Guid) -> bool) -> PlanFacts {
        let (before, after) = (&*plan.draft().routed, &*plan.draft().after);
        let gone = |gone: bool| {
            let nodes = before.nodes().filter(|&(id, node)| node.present && !after.node(id).present);
            nodes.filter(|(_, node)| leaves(node.guid) == gone).collect::<Vec<_>>()
        };
        let isolated = gone(false).into_iter().filter(|(_, node)| node.is_switch());
        PlanFacts {
            leaves: gone(true).into_iter().map(|(id, _)| before.describe_node(id)).collect(),
            isolated: isolated.map(|(id, _)| before.describe_node(id)).collect(),
            ..self
        }
    }
}

/// Nodes of `here` that `there`, of the same indices, lacks.
fn missing_nodes(here: &Fabric, there: &Fabric) -> Vec<String> {
    let gone = here.nodes().filter(|&(id, node)| node.present && !there.node(id).present);
    gone.map(|(id, _)| here.describe_node(id)).collect()
}

/// One end of each cable of `here` that `there` lacks though it has both nodes.
fn missing_cables(here: &Fabric, there: &Fabric) -> Vec<String> {
    let has = |port: PortId| there.node(there.port(port).node).present;
    let gone = here.links().filter(|&(a, b)| there.peer(a).is_none() && has(a) && has(b));
    gone.map(|(a, _)| here.describe_port(a)).collect()
}

#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct PlanReport {
    pub schema: &'static str,
    /// `proved`, `refused`, `not-planned` or `nothing-to-change`.
    pub outcome: &'static str,
    /// Why no plan could be drawn up at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unplanned: Option<String>,
    /// `planned` or `sudden`.
    pub departure: &'static str,
    /// The engine of R.
    pub engine: &'static str,
    /// The engine of R′, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_after: Option<&'static str>,
    /// Root of R.
    pub root_before: Option<String>,
    /// Root of R′.
    pub root_after: Option<String>,
    /// Whether entries in force are kept wherever they still lead somewhere: then R′ is not what runs afterwards.
    pub repairs: bool,
    /// The plan, where one was drawn up.
    pub plan: Option<PlanFacts>,
    pub proof: Option<ProofStatistics>,
    pub refusal: Option<Refused>,
    /// What was refused where several ways were tried, and none of them does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Refused>,
    /// End ports that the change cuts off, except those of nodes that the fabric after lacks.
    pub cut_off: Vec<CutOffPort>,
    /// Whether end ports are meant to be cut off.
    pub cut_off_meant: bool,
    /// What devices do by themselves, where a plan was drawn up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceReport>,
    /// Nanoseconds for which barriers wait by the clock on these devices, whatever the traffic.
    pub waits_ns: u64,
    /// The fabric as it is drawn, where a plan was drawn up.
    #[serde(skip)]
    pub map: Option<FabricMap>,
    /// The forwarding entries that change, where a plan was drawn up.
    #[serde(skip)]
    pub rows: ChangedRows,
    /// What a reader should know of the captures.
    pub notes: Vec<String>,
    /// The file that holds the plan, where one was written.
    pub file: Option<String>,
    /// The file that holds its certificate, where one was written.
    pub certificate: Option<String>,
    /// The change that follows, once cables are plugged in where others have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Box<PlanReport>>,
}

/// Rows (switch and LID) whose output port a plan changes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChangedRows {
    /// How many there are.
    pub all: usize,
    /// The first of them, by switch and then by LID.
    pub first: Vec<ChangedRow>,
}

/// A row whose output port changes; none where it leads nowhere.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedRow {
    pub switch: String,
    pub lid: Lid,
    /// The end port that has the LID.
    pub owner: String,
    pub old: Option<PortNum>,
    pub new: Option<PortNum>,
}

impl ChangedRows {
    /// The most rows that are kept.
    const MOST: usize = 1_000;

    fn of(plan: &Plan) -> ChangedRows {
        let (before, after) = (&plan.draft().initial.lfts, &plan.tables_at(plan.waves().len()).lfts);
        let fabric = &plan.draft().before;
        let mut rows = ChangedRows::default();
        for switch in fabric.switches() {
            let (old, new) = (&before[switch.index()], &after[switch.index()]);
            for lid in old.differing(new) {
                rows.all += 1;
                if rows.first.len() < ChangedRows::MOST {
                    let owner =
                        fabric.lid_owner(lid).map_or_else(|| "–".to_string(), |port| fabric.describe_port(port));
                    let (switch, old, new) = (fabric.describe_node(switch), old.get(lid), new.get(lid));
                    rows.first.push(ChangedRow { switch, lid, owner, old, new });
                }
            }
        }
        rows
    }
}

/// A refusal: in words, and the evidence.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Refused {
    /// What was refused: a scheme or a part of one, or a routing.
    pub what: String,
    pub text: String,
    pub evidence: Refusal,
    /// By dependency of a cycle, the way of a packet that causes it.
    pub witnesses: Vec<Witness>,
}

impl PlanReport {
    /// For captures that do not differ in nodes and cables.
    pub fn nothing_to_change(departure: Departure, engine: &'static str) -> PlanReport {
        PlanReport {
            schema: "reconfig.plan-report/1",
            outcome: "nothing-to-change",
            unplanned: None,
            departure: departure.name(),
            engine,
            engine_after: None,
            root_before: None,
            root_after: None,
            repairs: false,
            plan: None,
            proof: None,
            refusal: None,
            attempts: Vec::new(),
            cut_off: Vec::new(),
            cut_off_meant: false,
            devices: None,
            waits_ns: 0,
            map: None,
            rows: ChangedRows::default(),
            notes: Vec::new(),
            file: None,
            certificate: None,
            then: None,
        }
    }

    /// For a change that was planned and judged.
    pub fn drawn(drawn: &Drawn, departure: Departure, engine: &'static str, rate: SmpRate) -> PlanReport {
        let vetted = &drawn.prepared.plan;
        let name = |root: Option<NodeId>| root.map(|node| vetted.plan().draft().before.describe_node(node));
        let leaves = |guid: Guid| drawn.difference.nodes_gone.iter().any(|gone| gone.guid == guid);
        PlanReport {
            outcome: if vetted.refusal().is_none() { "proved" } else { "refused" },
            engine_after: Some(drawn.prepared.routed_by.engine).filter(|&after| after != engine),
            root_before: name(drawn.root_before),
            root_after: name(drawn.prepared.routed_by.root),
            repairs: is_repair(vetted.plan()),
            plan: Some(PlanFacts::of(vetted.plan(), rate).with_departures(vetted.plan(), leaves)),
            proof: vetted.proof().cloned(),
            refusal: vetted.refusal().map(|refusal| Refused::of(vetted.plan(), refusal)),
            cut_off: cut_off_by(vetted.plan(), leaves),
            map: Some(map(vetted.plan(), leaves)),
            rows: ChangedRows::of(vetted.plan()),
            notes: drawn.notes.clone(),
            ..PlanReport::nothing_to_change(departure, engine)
        }
    }

    /// For a change that was refused before there was a plan to keep; none where the error is no refusal.
    pub fn refused(
        error: &ChangeError,
        departure: Departure,
        engine: &'static str,
        rate: SmpRate,
    ) -> Option<PlanReport> {
        // What stood against scheme `ordered` is in the text, and among the attempts.
        let judged = if let ChangeError::NoScheme { double, .. } = error { double } else { error };
        let plan = match judged {
            ChangeError::Old(_) | ChangeError::New(_) => None,
            ChangeError::Refused { plan, .. } => Some(plan),
            ChangeError::SmLeaves { .. }
            | ChangeError::LostAndGained { .. }
            | ChangeError::NarrowNewcomer { .. }
            | ChangeError::Route(_)
            | ChangeError::Lids(_)
            | ChangeError::Repair(_)
            | ChangeError::Incomplete
            | ChangeError::AnswersUnproved
            | ChangeError::Unrepaired { .. }
            | ChangeError::NeitherInPlace { .. }
            | ChangeError::Plan(_)
            | ChangeError::Unaskable { .. }
            | ChangeError::Uncounted { .. }
            | ChangeError::NoScheme { .. }
            | ChangeError::Objected { .. } => return None,
        };
        let mut attempts = Refused::all_of(error);
        let last = attempts.last()?.clone();
        if attempts.len() == 1 {
            attempts.clear();
        }
        Some(PlanReport {
            outcome: "refused",
            plan: plan.map(|plan| PlanFacts::of(plan, rate)),
            cut_off: plan.map_or_else(Vec::new, |plan| cut_off_by(plan, |_| false)),
            refusal: Some(Refused { text: error.in_lines(), ..last }),
            attempts,
            ..PlanReport::nothing_to_change(departure, engine)
        })
    }

    /// For a change that cannot be planned at all.
    pub fn not_planned(error: &ChangeError, departure: Departure, engine: &'static str) -> PlanReport {
        PlanReport {
            outcome: "not-planned",
            unplanned: Some(error.in_lines()),
            attempts: Refused::all_of(error),
            ..PlanReport::nothing_to_change(departure, engine)
        }
    }

    /// The first end port that a planned change cuts off without permission.
    pub fn strands(&self) -> Option<&CutOffPort> {
        let asked = self.departure == Departure::Planned.name() && !self.cut_off_meant;
        self.cut_off.iter().find(|port| asked && !port.leaves)
    }

    pub fn is_yes(&self) -> bool {
        let own = self.unplanned.is_none() && self.refusal.is_none() && self.strands().is_none();
        own && self.then.as_ref().is_none_or(|then| then.is_yes())
    }
}

/// What becomes of the nodes and cables of a plan.
fn map(plan: &Plan, leaves: impl Fn(Guid) -> bool) -> FabricMap {
    let draft = plan.draft();
    FabricMap::between(&draft.routed, &draft.after, draft.sm, &|node| leaves(draft.routed.node(node).guid))
}

/// The end ports that a plan cuts off, except those of nodes that `leaves`.
fn cut_off_by(plan: &Plan, leaves: impl Fn(Guid) -> bool) -> Vec<CutOffPort> {
    CutOffPort::named(&plan.draft().before, &plan.draft().stranded, leaves)
}

impl Refused {
    /// The refusal of a plan.
    pub fn of(plan: &Plan, refusal: &Refusal) -> Refused {
        Refused::named(format!("scheme {}", plan.scheme()), Some(plan), refusal)
    }

    /// Every refusal that an error consists of.
    fn all_of(error: &ChangeError) -> Vec<Refused> {
        error.refusals().into_iter().map(|(what, plan, refusal)| Refused::named(what, plan, refusal)).collect()
    }

    /// With the ways of packets into the cycle of a plan. The prover found it in this plan, so each has one.
    fn named(what: String, plan: Option<&Plan>, refusal: &Refusal) -> Refused {
        let witnesses = match (plan, refusal) {
            (Some(plan), Refusal::Deadlock(cycle)) => verify::witness(plan, cycle).unwrap_or_default(),
            _ => Vec::new(),
        };
        Refused { what, text: refusal.to_string(), evidence: refusal.clone(), witnesses }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct CheckReport {
    pub schema: &'static str,
    /// Whether the lint found nothing and every wave is safe, by the prover or by the certificate.
    pub sound: bool,
    pub plan: PlanFacts,
    /// What the lint found.
    pub findings: Vec<Finding>,
    pub proof: Option<ProofStatistics>,
    pub refusal: Option<Refused>,
    /// What the certificate was found to cover, where one was given.
    pub certificate: Option<Checked>,
    /// Why the certificate is not accepted.
    pub fault: Option<String>,
}

/// Who judges whether the waves of a plan are safe.
pub enum Judgement {
    Proof(Result<ProofStatistics, Refused>),
    /// The checker, by a certificate.
    Certificate(Result<Checked, CertificateFault>),
    /// Both: the prover accepts.
    Both(ProofStatistics, Result<Checked, CertificateFault>),
}

impl CheckReport {
    /// For a plan that was judged by the lint and by one more.
    pub fn new(plan: PlanFacts, findings: Vec<Finding>, judgement: Judgement) -> CheckReport {
        let mut report = CheckReport {
            schema: "reconfig.check-report/1",
            sound: findings.is_empty(),
            plan,
            findings,
            proof: None,
            refusal: None,
            certificate: None,
            fault: None,
        };
        let checked = match judgement {
            Judgement::Both(proof, checked) => {
                report.proof = Some(proof);
                Some(checked)
            }
            Judgement::Certificate(checked) => Some(checked),
            Judgement::Proof(Ok(proof)) => {
                report.proof = Some(proof);
                None
            }
            Judgement::Proof(Err(refused)) => {
                report.refusal = Some(refused);
                None
            }
        };
        match checked {
            Some(Ok(checked)) => report.certificate = Some(checked),
            Some(Err(fault)) => report.fault = Some(fault.to_string()),
            None => {}
        }
        report.sound &= report.refusal.is_none() && report.fault.is_none();
        report
    }
}

/// A report of `reconfig plan` as text.
pub fn plan(report: &PlanReport) -> String {
    let then = report.then.as_ref().map(|then| plan(then));
    let then =
        then.map_or_else(String::new, |then| format!("\nthen, once the cables are plugged in elsewhere:\n{then}"));
    one_plan(report) + &then
}

fn one_plan(report: &PlanReport) -> String {
    let Some(facts) = &report.plan else { return without_plan(report) };
    let mut text = String::new();
    line(&mut text, format_args!("{} change, scheme {}", report.departure, facts.scheme));
    elements(&mut text, facts);
    let cut_off: Vec<_> = report.cut_off.iter().collect();
    cut_off::cut_off(&mut text, &cut_off);
    let engine = engine_pair(report.engine, report.engine_after);
    let roots = root_pair(report.root_before.as_deref(), report.root_after.as_deref()) + repaired(report.repairs);
    line(&mut text, format_args!("routing  {engine}{roots}; SM at {}", facts.sm));
    if let Some(own) = &report.devices {
        devices(&mut text, own);
    }
    policy(&mut text, facts);
    waves(&mut text, facts, report.waits_ns);
    proof(&mut text, report.proof.as_ref(), report.refusal.as_ref());
    ending(&mut text, facts, &report.notes);
    let written = match (&report.file, &report.certificate) {
        (Some(file), Some(certificate)) => format!("written to {file}, its certificate to {certificate}"),
        (Some(file), None) => format!("written to {file}"),
        (None, _) if report.refusal.is_some() || report.strands().is_some() => "no plan is written".to_string(),
        (None, _) => "-o FILE writes the plan".to_string(),
    };
    let strands = report.strands();
    if let Some(first) = strands {
        cut_off::refusal(&mut text, &cut_off, first);
    }
    let answer = match (&report.refusal, strands) {
        (Some(_), _) => "NO, refused",
        (None, Some(_)) => "NO, though proved",
        (None, None) => "yes, proved",
    };
    line(&mut text, format_args!("{answer}: {written}"));
    text
}

fn without_plan(report: &PlanReport) -> String {
    match (&report.refusal, &report.unplanned) {
        (Some(refusal), _) => format!("{}\n\nNO, refused: no plan is written\n", refusal.text),
        (None, Some(why)) => format!("{why}\n\nNO, it cannot be planned: no plan is written\n"),
        (None, None) => {
            let notes: String = report.notes.iter().map(|note| format!("note: {note}\n")).collect();
            format!("nothing to change: both captures have the same nodes and cables\n{notes}")
        }
    }
}

/// The ways of packets into a cycle, each under the dependency that it causes.
pub fn witnesses(refused: &Refused) -> String {
    let mut text = String::new();
    let Refusal::Deadlock(cycle) = &refused.evidence else { return text };
    for (dependency, witness) in cycle.dependencies.iter().zip(&refused.witnesses) {
        line(&mut text, format_args!("{dependency}"));
        witness.to_string().lines().for_each(|way| line(&mut text, format_args!("    {way}")));
    }
    text
}

/// A report of `reconfig check` as text.
pub fn check(report: &CheckReport) -> String {
    let facts = &report.plan;
    let mut text = String::new();
    line(&mut text, format_args!("plan     scheme {}, for the fabric with digest {}", facts.scheme, facts.digest));
    elements(&mut text, facts);
    if !facts.stranded.is_empty() {
        line(&mut text, format_args!("stranded {}", some(&facts.stranded)));
    }
    policy(&mut text, facts);
    waves(&mut text, facts, 0);
    match report.findings.len() {
        0 => line(&mut text, format_args!("lint     nothing found")),
        found => line(&mut text, format_args!("lint     {found} found")),
    }
    for finding in report.findings.iter().take(20) {
        line(&mut text, format_args!("         {finding}"));
    }
    if report.findings.len() > 20 {
        line(&mut text, format_args!("         … and {} more (--json lists them all)", report.findings.len() - 20));
    }
    proof(&mut text, report.proof.as_ref(), report.refusal.as_ref());
    certificate(&mut text, report);
    ending(&mut text, facts, &[]);
    line(&mut text, format_args!("{}", verdict(report)));
    text
}

fn verdict(report: &CheckReport) -> &'static str {
    match (report.sound, &report.fault, &report.proof) {
        (true, ..) => "yes, the plan is sound",
        (false, Some(_), None) => "NO, the certificate is not accepted; the plan by itself was not judged",
        (false, ..) => "NO, the plan is not sound",
    }
}

fn elements(text: &mut String, facts: &PlanFacts) {
    let FabricSize { switches, cas, links } = facts.fabric;
    let lanes = counted(facts.lanes.all.len() as u64, "data VL");
    line(text, format_args!("fabric   {}; {lanes}", size_of(switches, (cas, "CA"), links)));
    let named = [
        ("leaves", &facts.leaves),
        ("isolated", &facts.isolated),
        ("comes", &facts.comes),
        ("cut", &facts.cut),
        ("joined", &facts.joined),
    ];
    for (what, names) in named.into_iter().filter(|(_, names)| !names.is_empty()) {
        line(text, format_args!("{what:<8} {}", some(names)));
    }
}

fn policy(text: &mut String, facts: &PlanFacts) {
    let sets = |lanes: &[u8]| lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    if facts.scheme == Scheme::Double {
        let (a, b) = (sets(&facts.lanes.a), sets(&facts.lanes.b));
        line(text, format_args!("halves   {} on VLs {{{a}}} → {} on VLs {{{b}}}", facts.old, facts.new));
        line(text, format_args!("policy   arming {}, drain by {}", facts.arming, facts.drain));
    }
    text.push('\n');
}

fn waves(text: &mut String, facts: &PlanFacts, waits_ns: u64) {
    if facts.waves.is_empty() {
        return line(text, format_args!("writes   none: the tables in force serve what is left"));
    }
    let mut rows = table();
    let header = ["Sets", "busiest", "expected"].map(number);
    rows.set_header([Cell::new("wave")].into_iter().chain(header).chain(["writes", "barriers"].map(Cell::new)));
    for wave in &facts.waves {
        let cost = &wave.cost;
        let writes = cost.writes.iter().map(|(name, writes)| format!("{} {name}", count(*writes as u64)));
        let writes: Vec<String> = writes.collect();
        let numbers = [count(cost.smps as u64), count(cost.busiest as u64), duration(cost.expected_ns)].map(number);
        let texts = [writes.join(" + "), wave.barriers.join(", ")].map(Cell::new);
        rows.add_row([Cell::new(&wave.name)].into_iter().chain(numbers).chain(texts));
    }
    show(text, &rows);
    let at_once = facts.window.map_or(String::new(), |window| format!(", {window} at a time"));
    let each = format!("{} each{at_once}", duration(facts.smp_ns));
    let (smps, time) = (count(facts.smps as u64), duration(facts.expected_ns));
    let waits = if waits_ns > 0 { format!(", and {} by the clock", duration(waits_ns)) } else { String::new() };
    line(text, format_args!("expected {time} for {smps} Sets of {each}{waits}; barriers wait for traffic on top"));
    let DrainFacts { channels, depth } = facts.drain_graph;
    if channels > 0 {
        line(text, format_args!("drains   {} channels, {depth} on the longest path", count(channels as u64)));
    }
    if facts.leads_into_loss {
        let rest = match facts.leaves_losses {
            true => "some hosts do not reach others yet; another change gives them ways",
            false => "hosts reach hosts, and another change gives the rest ways",
        };
        line(text, format_args!("leaves   rows (switch and LID) that lead into what died: {rest}"));
    }
}

fn proof(text: &mut String, proof: Option<&ProofStatistics>, refusal: Option<&Refused>) {
    if let Some(proof) = proof.filter(|proof| proof.waves > 0) {
        let size = [
            (proof.waves, "wave"),
            (proof.channels, "channel"),
            (proof.lanes, "lane"),
            (proof.dependencies, "dependency"),
        ];
        let size = size.map(|(number, name)| counted(number as u64, name)).join(", ");
        let classes = if proof.classes == 1 { "class" } else { "classes" };
        line(text, format_args!("proof    {size}, {} {classes}", count(proof.classes as u64)));
    }
    if let Some(refusal) = refusal {
        line(text, format_args!("proof    refused: {}", refusal.text));
    }
}

fn certificate(text: &mut String, report: &CheckReport) {
    if let Some(Checked { waves, channels, lanes, lids, pairs, dependencies }) = &report.certificate {
        let [channels, lanes, lids] = [channels, lanes, lids].map(|&number| count(number as u64));
        let waves = counted(*waves as u64, "wave");
        let (pairs, dependencies) = (count(*pairs), count(*dependencies));
        line(
            text,
            format_args!(
                "checked  by its certificate, {waves}: {pairs} places (lane, class) of {lids} LIDs in {lanes} lanes of \
                 {channels} channels are closed, {dependencies} dependencies rise"
            ),
        );
    }
    if let Some(fault) = &report.fault {
        line(text, format_args!("checked  by its certificate, which is NOT accepted: {fault}"));
    }
}

fn ending(text: &mut String, facts: &PlanFacts, notes: &[String]) {
    line(text, format_args!("assumes  {}", facts.assumptions.join(", ")));
    for note in facts.notes.iter().chain(notes) {
        line(text, format_args!("note: {note}"));
    }
    text.push('\n');
}

/// Channels that must run empty, those of every layer counted.
fn drained_channels(plan: &Plan) -> usize {
    plan.drain().iter().map(|layer| layer.graph.channels().len()).sum()
}
