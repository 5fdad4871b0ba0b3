//! One simulated run on one screen: the change of one subnet, or several subnets with the routers between them.

use super::adversary::adversary;
use super::cut_off;
use super::devices::devices;
use super::later;
use super::offered::{Offered, offered};
use super::quantity::{count, counted, duration, engine_pair, size_of};
use super::run::{self, scheme};
use super::screen::line;
use super::sources::{links, order, overtaken, sources};
use super::subnets;
use reconfig::change::Prepared;
use reconfig::plan::{Scheme, UNRESERVED};
use reconfig::scenario::{ConnectionReport, Ending, Foreseen, Foresight, OutageReport, SimulationReport};
use reconfig::sim::{GmpCounts, QuestionCounts};
use serde::Serialize;

/// What a plan without waves is: the tables in force serve what is left.
pub(super) const NO_WAVES: &str = "no table has to be written";

/// The report as text, at most 80 columns where names allow it.
pub fn simulation(report: &SimulationReport) -> String {
    let mut text = String::new();
    match report.settings.between {
        None => headline(&mut text, report),
        Some(between) => subnets::headline(&mut text, report, between),
    }
    traffic(&mut text, report);
    later(&mut text, report);
    // A steered run has no driver, and no traffic but the adversary's.
    let is_driven = report.adversary.as_ref().is_none_or(|opposed| opposed.reached.is_none());
    if let Some(outage) = report.outage.as_ref().filter(|_| is_driven) {
        losses(&mut text, report, outage);
    }
    proof(&mut text, report);
    if let Some(opposed) = &report.adversary {
        adversary(&mut text, opposed);
    }
    if is_driven {
        for change in &report.changes {
            if report.settings.between.is_some() {
                subnets::change(&mut text, change);
            }
            run::phases(&mut text, change);
        }
        run::traffic(&mut text, report);
    }
    if report.settings.between.is_some() {
        subnets::relations(&mut text, report);
    }
    packets(&mut text, report);
    report.connections.iter().for_each(|own| connection(&mut text, own));
    if let Some(counts) = report.order {
        order(&mut text, counts);
        overtaken(&mut text, report.overtaken.as_ref());
    }
    if let Some(loads) = &report.links {
        let ends = if report.settings.between.is_some() { "switches and routers" } else { "switches" };
        links(&mut text, ends, loads);
        subnets::router_loads(&mut text, &report.routers);
    }
    subnets::unsendable(&mut text, &report.relations);
    deadlock(&mut text, report);
    // Without a reserved level no such packets are simulated. Other LIDs are reported on standard error.
    for note in
        report.notes.iter().filter(|note| !note.ends_with(UNRESERVED) && report.renumbering.as_ref() != Some(note))
    {
        line(&mut text, format_args!("note: {note}"));
    }
    verdict(&mut text, report);
    text
}

/// `connect  host-1[1] → host-9[1]: ready after 7.1 µs; 1 request with LIDs 0xffff, 0xffff, answered to LID 12 on SL 1`
fn connection(text: &mut String, own: &ConnectionReport) {
    let came = match (own.ready_after_ns, own.answered_after_ns) {
        (Some(ready_ns), _) => format!("ready after {}", duration(ready_ns)),
        (None, Some(ns)) => format!("answered after {}, not yet ready", duration(ns)),
        (None, None) if own.given_up => "given up".to_string(),
        (None, None) => "not yet answered".to_string(),
    };
    let [local, remote] = own.said_lids;
    let asked = counted(own.requests.into(), "request");
    let answer = own.answer_lid.zip(own.answer_sl).map(|(lid, sl)| format!(", answered to LID {lid} on SL {sl}"));
    let (from, to, answer) = (&own.from, &own.to, answer.unwrap_or_default());
    line(text, format_args!("connect  {from} → {to}: {came}; {asked} with LIDs {local:#x}, {remote:#x}{answer}"));
}

/// What scheme `auto` would do, for who ran the Double Scheme.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum AutoInstead {
    /// Its plan.
    Planned {
        scheme: Scheme,
        waves: usize,
        writes: usize,
        /// Waves that end with a wait until what was sent before has left.
        waits: usize,
        /// The plan's notes on schemes that were passed over.
        passed_over: Vec<String>,
        /// Waves of forwarding entries that precede it, for pairs of hosts that need no other scheme.
        before: usize,
    },
    /// Why there is none.
    NotPossible { error: String },
}

impl AutoInstead {
    /// By the plans that it would make.
    pub fn planned(prepared: &Prepared) -> AutoInstead {
        let plan = prepared.last().plan.plan();
        let notes = plan.draft().notes.iter();
        let mut before = 0;
        let mut at = prepared;
        while let Some(then) = &at.then {
            before += at.plan.plan().waves().len();
            at = then;
        }
        AutoInstead::Planned {
            scheme: plan.scheme(),
            waves: plan.waves().len(),
            writes: plan.waves().iter().map(|wave| wave.writes.len()).sum(),
            waits: plan.waves().iter().filter(|wave| wave.vacating_rounds().is_some()).count(),
            passed_over: notes.filter(|note| note.contains("passed over")).cloned().collect(),
            before,
        }
    }
}

/// The line below the verdict.
pub fn auto_instead(auto: &AutoInstead) -> String {
    let mut text = String::new();
    match auto {
        AutoInstead::Planned { scheme: Scheme::Ordered, waves, writes, waits, before, .. } => {
            let first = after_first(*before);
            let [written, waves, waited] =
                [(*writes, "write"), (*waves, "wave"), (*waits, "wait")].map(|(n, name)| counted(n as u64, name));
            let does = match (*writes, *waits) {
                (0, 0) => "no table would have to be written".to_string(),
                (0, _) => format!("{waited} and no write would do"),
                (_, 0) => format!("{written} in {waves} would do"),
                _ => format!("{written} in {waves} and {waited} would do"),
            };
            line(&mut text, format_args!("auto: {does}{first}, proved, and no host moves; see --compare"));
        }
        AutoInstead::Planned { scheme, passed_over, before, .. } => {
            let why = passed_over.first().map(|why| format!(": {why}")).unwrap_or_default();
            line(&mut text, format_args!("auto: scheme {scheme} too{}{why}", after_first(*before)));
        }
        AutoInstead::NotPossible { error } => line(&mut text, format_args!("auto: not possible: {error}")),
    }
    text
}

fn after_first(waves: usize) -> String {
    match waves {
        0 => String::new(),
        _ => format!(", after {} for those whom entries alone serve", counted(waves as u64, "wave")),
    }
}

fn headline(text: &mut String, report: &SimulationReport) {
    let (size, moves) = (report.fabric, &report.moves);
    line(text, format_args!("{} ({}), {}", report.what, report.departure, scheme(report)));
    if !moves.fits_a_line() {
        let lists = [("leaves", &moves.leaves), ("comes ", &moves.comes)];
        lists.iter().for_each(|(verb, names)| listed(text, verb, names));
    }
    let fabric = size_of(size.switches, (size.cas, "CA"), size.links);
    let settings = &report.settings;
    line(text, format_args!("fabric   {fabric}; {} data VLs, LMC {}", settings.data_vls, settings.lmc));
    let engine = engine_pair(&report.engine, report.engine_after.as_deref());
    let roots = report.only_change().map_or_else(String::new, run::roots);
    let sm = report.subnets.first().map_or("", |subnet| &subnet.sm);
    line(text, format_args!("routing  {engine}{roots}; SM on {sm}"));
}

/// What happened after the first event, and who took over.
fn later(text: &mut String, report: &SimulationReport) {
    for (event, title) in report.events.iter().zip(std::iter::once("later").chain(std::iter::repeat(""))) {
        line(text, format_args!("{title:<8} {}: {}", later::when(report, event), event.what));
    }
    let titles = std::iter::once("standby").chain(std::iter::repeat(""));
    later::takeover(report).iter().zip(titles).for_each(|(own, title)| line(text, format_args!("{title:<8} {own}")));
}

/// Every name, the first on the line of its title.
fn listed(text: &mut String, title: &str, names: &[String]) {
    let titles = std::iter::once(title).chain(std::iter::repeat(""));
    titles.zip(names).for_each(|(title, name)| line(text, format_args!("{title:<6}   {name}")));
}

/// What was lost in all, and for how long pairs of end ports were without connection.
fn losses(text: &mut String, report: &SimulationReport, outage: &OutageReport) {
    let change = match report.packets.lost_to_change {
        0 => "none of them".to_string(),
        lost => format!("{} of them", count(lost)),
    };
    let whose = "from or to end ports that left or are cut off (stranded)";
    let lost = counted(report.lost_in_all, "packet");
    match (report.lost_in_all, report.packets.stranded) {
        _ if !report.has_traffic() => line(text, format_args!("lost     nothing: {}", run::no_traffic(report))),
        (0, 0) => line(text, format_args!("lost     nothing")),
        (0, stranded) => line(text, format_args!("lost     {}, all {whose}", counted(stranded, "packet"))),
        (_, 0) => line(text, format_args!("lost     {lost} in all, {change} to the change")),
        (_, stranded) => {
            line(
                text,
                format_args!("lost     {lost} in all, {change} to the change; {} more {whose}", count(stranded)),
            );
        }
    }
    let OutageReport { pairs, still_out, not_seen_again, cut_off, .. } = *outage;
    let apart =
        if cut_off > 0 { format!("; {} cut off for good", counted(cut_off as u64, "pair")) } else { String::new() };
    if pairs == 0 {
        let none = match report.has_traffic() {
            true => "none".to_string(),
            false => format!("not measured: {}", run::no_traffic(report)),
        };
        return line(text, format_args!("outage   {none}{apart}"));
    }
    let length = match (&outage.longest, outage.mean_ns) {
        (Some(longest), Some(mean_ns)) => {
            let (ns, mean) = (duration(longest.ns), duration(mean_ns));
            // How long others were out is known only of those that are back.
            let of = match outage.back {
                back if back == pairs => String::new(),
                back => format!("{} back: ", count(back as u64)),
            };
            format!("; {of}longest {ns} ({} → {}), mean {mean}", longest.source, longest.destination)
        }
        _ => String::new(),
    };
    let missing = [(still_out, "still out"), (not_seen_again, "sent nothing more")];
    let missing: Vec<String> = missing.into_iter().filter(|(pairs, _)| *pairs > 0).map(told_pairs).collect();
    let back = if missing.is_empty() { "all back".to_string() } else { missing.join(", ") };
    line(
        text,
        format_args!("outage   {} of end ports lost packets{length}; {back}{apart}", counted(pairs as u64, "pair")),
    );
}

fn told_pairs((pairs, what): (usize, &str)) -> String {
    format!("{} {what}", count(pairs as u64))
}

/// What sources send, how, and who is cut off.
fn traffic(text: &mut String, report: &SimulationReport) {
    let settings = &report.settings;
    let inhabited = report.subnets.iter().filter(|subnet| subnet.hosts > 0).count();
    let shown = Offered {
        traffic: settings.traffic,
        load: settings.load,
        cross: settings.between.filter(|_| inhabited > 1).map(|between| between.cross),
        packet_bytes: settings.packet_bytes,
        latch: settings.latch,
        arming: report.has_change().then_some(&*settings.arming),
        seed: report.seed,
    };
    if report.has_change() {
        devices(text, &settings.devices);
    }
    offered(text, &shown);
    if let Some(used) = &settings.sources {
        sources(text, used, settings.lmc);
    }
    // Among several subnets those that a change cuts off stand beside that change.
    if settings.between.is_none() {
        cut_off::cut_off(text, &report.cut_off());
    }
}

fn proof(text: &mut String, report: &SimulationReport) {
    let proof = &report.proof;
    let verdict = match (&proof.whole, &proof.refusal) {
        (Some(whole), refusal) => subnets::proof(whole, refusal.as_deref(), !report.routers.is_empty()),
        (None, Some(refusal)) => format!("{}: {refusal}", proof.status),
        (None, None) if proof.waves == 0 => format!("{}: {NO_WAVES}", proof.status),
        (None, None) => {
            let numbers = [(proof.waves, "wave"), (proof.channels, "channel"), (proof.dependencies, "dependency")];
            let [waves, channels, dependencies] = numbers.map(|(number, name)| counted(number as u64, name));
            format!("{}: {waves}, {channels}, {dependencies}", proof.status)
        }
    };
    line(text, format_args!("proof    {verdict}\n"));
}

fn packets(text: &mut String, report: &SimulationReport) {
    if !report.has_change() {
        run::fates_of_rest(text, &report.packets);
        let (reasons, broke) = (subnets::reasons(report), run::broke(report.deadlocks_broken));
        if !reasons.is_empty() {
            line(text, format_args!("discarded: {reasons}{broke}"));
        }
        return;
    }
    run::fates(text, &report.packets);
    others(report).iter().for_each(|own| line(text, format_args!("{own}")));
}

/// What else became of packets and datagrams in a run with a change, where there is something to say of it: a line for
/// each.
pub(super) fn others(report: &SimulationReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(QuestionCounts { sent, arrived, lost }) = report.questions {
        let [sent, arrived, lost] = [sent, arrived, lost].map(count);
        lines.push(format!("questions to switches: sent {sent}, arrived {arrived}, lost {lost}"));
    }
    if let Some(GmpCounts { sent, arrived, lost }) = report.gmps {
        let [sent, arrived, lost] = [sent, arrived, lost].map(count);
        lines.push(format!("general management: sent {sent}, arrived {arrived}, lost {lost}"));
    }
    if report.misdelivered > 0 && report.settings.between.is_none() {
        lines.push(format!("misdelivered {}, counted as lost to the change", count(report.misdelivered)));
    }
    for (why, number) in &report.relay_discards {
        lines.push(format!("routers discarded {} ({why}): among the lost or stranded", count(*number)));
    }
    lines.extend(run::ages(report.lifetime_discards, report.deadlocks_broken));
    if report.vl_stalls > 0 {
        lines.push(format!("lanes stalled (VLStallCount) {}", counted(report.vl_stalls, "time")));
    }
    if report.smps_dropped > 0 {
        lines.push(format!("VL 15 buffers had no room for {}", counted(report.smps_dropped, "SMP")));
    }
    lines
}

fn deadlock(text: &mut String, report: &SimulationReport) {
    let Some(cycle) = &report.deadlock else { return };
    line(
        text,
        format_args!("deadlock of {} packets, each waiting for the buffer that the next one fills:", cycle.len()),
    );
    // A packet that has crossed a router is older than its time in the subnet where it stands.
    let since = if report.settings.between.is_some() { "in this subnet since" } else { "sent at" };
    for stuck in cycle {
        let packet = format!("DLID {} SL {}, {since} {}", stuck.dlid, stuck.sl, duration(stuck.born_ns));
        let place = format!("{} VL {} → {} VL {}", stuck.input, stuck.input_vl, stuck.output, stuck.output_vl);
        line(text, format_args!("  {place}  ({packet})"));
    }
    limit_in_words(report).iter().for_each(|own| line(text, format_args!("{own}")));
    if let Some(foresight) = &report.foresight {
        foreseen(text, foresight);
    }
    text.push('\n');
}

/// The lifetime limit that would have broken a deadlock.
pub(super) fn limit_in_words(report: &SimulationReport) -> Option<String> {
    let limit = report.deadlock_limit_ns?;
    Some(format!("a lifetime limit of {} would discard one of them; the run ends before", duration(limit)))
}

/// Whether this is the cycle that the refusal named.
fn foreseen(text: &mut String, foresight: &Foresight) {
    line(text, format_args!("{}", how_foreseen(foresight.how)));
    if let (Foreseen::Possible, Some(cycle)) = (foresight.how, &foresight.cycle) {
        cycle.dependencies.iter().for_each(|dependency| line(text, format_args!("  {dependency}")));
    }
}

/// What the proof had said of a deadlock that closed.
pub(super) fn how_foreseen(how: Foreseen) -> &'static str {
    match how {
        Foreseen::Named => "the cycle that the proof named beforehand, lane by lane",
        Foreseen::NamedOnOtherLanes => "the cycle that the proof named beforehand, on other lanes of the same ports",
        Foreseen::Possible => {
            "the refusal named another cycle; the proof held this one possible too, by these dependencies:"
        }
        Foreseen::NotReached => "the proof stopped at another fault before it came to this cycle",
        Foreseen::Unclaimed => {
            "all of it is on the reserved level, where the plan assumes that management to switches pauses"
        }
        Foreseen::Unforeseen => {
            "the proof had held this cycle impossible: please report it, with the fabric and the seed"
        }
    }
}

fn verdict(text: &mut String, report: &SimulationReport) {
    let ending = run::ending(report.outcome);
    let took = report.change_ns().map(|ns| format!(" in {}", duration(ns)));
    // Where nothing changes, the deadlock has its time at least.
    let at = || report.deadlock_ns.filter(|_| !report.has_change()).map(|ns| format!(" at {}", duration(ns)));
    let when = took.or_else(at).unwrap_or_default();
    let reason = report.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (lost, unsent) = (lost(report), subnets::unsent(&report.relations));
    let smps = match report.settings.between {
        None => format!(", {}", counted(report.smps().total, "SMP")),
        Some(_) => String::new(),
    };
    let cut_off = match report.cut_off().len() as u64 {
        0 => String::new(),
        ports => format!("; {} cut off", counted(ports, "end port")),
    };
    let hops = counted(report.packet_hops, "packet-hop");
    if let Some(first) = report.strands() {
        cut_off::refusal(text, &report.cut_off(), first);
    }
    let trace = report.trace_hash;
    line(text, format_args!("{ending}{when}{reason}: {lost}{cut_off}{unsent}; {hops}{smps}; trace {trace:016x}"));
}

/// What was lost, or is stuck; where nothing changes, nothing is lost to a change.
fn lost(report: &SimulationReport) -> String {
    if !report.has_traffic() && report.outcome == Ending::Completed {
        return format!("{}, so nothing could be lost", run::no_traffic(report));
    }
    if report.has_change() {
        return run::lost(report.outcome, &report.packets);
    }
    let stuck = counted(report.packets.in_flight, "packet");
    let discarded = |packets| format!("{} discarded ({})", counted(packets, "packet"), subnets::reasons(report));
    match (run::discarded(&report.packets), report.outcome == Ending::Deadlocked) {
        (0, true) => format!("{stuck} stuck"),
        (0, false) => "nothing lost".to_string(),
        (packets, true) => format!("{stuck} stuck, {}", discarded(packets)),
        (packets, false) => discarded(packets),
    }
}
