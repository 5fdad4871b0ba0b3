//! One simulated change on one screen.

use super::adversary::adversary;
use super::offered::{Offered, offered};
use super::quantity::{count, counted, duration, engine_pair, root_pair, size_of};
use super::run;
use super::screen::line;
use super::sources::{links, order, sources};
use reconfig::scenario::{Foreseen, Foresight, SimulationReport, StuckReport};

/// The report as text, at most 80 columns where names allow it.
pub fn simulation(report: &SimulationReport) -> String {
    let mut text = String::new();
    headline(&mut text, report);
    proof(&mut text, report);
    if let Some(opposed) = &report.adversary {
        adversary(&mut text, opposed);
    }
    // A steered run has no driver, and no traffic but the adversary's.
    if report.adversary.as_ref().is_none_or(|opposed| opposed.reached.is_none()) {
        run::phases(&mut text, report.sweep.iter().chain(&report.phases));
        run::traffic(&mut text, report.latency_ns, report.throughput, true);
    }
    packets(&mut text, report);
    if let Some(counts) = report.order {
        order(&mut text, counts);
    }
    if let Some(loads) = &report.links {
        links(&mut text, "switches", loads);
    }
    if let Some(cycle) = &report.deadlock {
        deadlock(&mut text, cycle, report.foresight.as_ref());
    }
    for note in &report.notes {
        line(&mut text, format_args!("note: {note}"));
    }
    verdict(&mut text, report);
    text
}

fn headline(text: &mut String, report: &SimulationReport) {
    let (size, change) = (report.fabric, &report.change);
    line(text, format_args!("{} ({}), scheme {}", change.what, change.departure, report.scheme));
    let fabric = size_of(size.switches, (size.cas, "CA"), size.links);
    let settings = &report.settings;
    line(text, format_args!("fabric   {fabric}; {} data VLs, LMC {}", settings.data_vls, settings.lmc));
    let engine = engine_pair(&report.engine, report.engine_after.as_deref());
    let roots = root_pair(change.root_before.as_deref(), change.root_after.as_deref());
    line(text, format_args!("routing  {engine}{roots}; SM on {}", settings.sm));
    let shown = Offered {
        traffic: settings.traffic,
        load: settings.load,
        cross: None,
        packet_bytes: settings.packet_bytes,
        latch: settings.latch,
        policy: Some((&settings.arming, &settings.drain)),
        seed: report.seed,
    };
    offered(text, &shown);
    if let Some(used) = settings.sources {
        sources(text, used, settings.lmc);
    }
    if !change.stranded.is_empty() {
        let first = change.stranded.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = if change.stranded.len() > 3 { ", …" } else { "" };
        let ports = counted(change.stranded.len() as u64, "end port");
        line(text, format_args!("stranded {ports}: {first}{more}"));
    }
}

fn proof(text: &mut String, report: &SimulationReport) {
    let proof = &report.proof;
    let size = format!(
        "{}, {}, {}",
        counted(proof.waves as u64, "wave"),
        counted(proof.channels as u64, "channel"),
        counted(proof.dependencies as u64, "dependency")
    );
    match &proof.refusal {
        None => line(text, format_args!("proof    {}: {size}\n", proof.status)),
        Some(refusal) => line(text, format_args!("proof    {}: {refusal}\n", proof.status)),
    }
}

fn packets(text: &mut String, report: &SimulationReport) {
    run::fates(text, &report.packets);
    if report.misdelivered > 0 {
        line(text, format_args!("misdelivered {}, counted as lost to the change", count(report.misdelivered)));
    }
    run::ages(text, report.lifetime_discards, report.deadlocks_broken);
}

fn deadlock(text: &mut String, cycle: &[StuckReport], foresight: Option<&Foresight>) {
    line(
        text,
        format_args!("deadlock of {} packets, each waiting for the buffer that the next one fills:", cycle.len()),
    );
    for stuck in cycle {
        let packet = format!("DLID {} SL {}, sent at {}", stuck.dlid, stuck.sl, duration(stuck.born_ns));
        let place = format!("{} VL {} → {} VL {}", stuck.input, stuck.input_vl, stuck.output, stuck.output_vl);
        line(text, format_args!("  {place}  ({packet})"));
    }
    if let Some(foresight) = foresight {
        foreseen(text, foresight);
    }
    text.push('\n');
}

/// Whether this is the cycle that the proof had named.
fn foreseen(text: &mut String, foresight: &Foresight) {
    let sentence = match foresight.how {
        Foreseen::Named => "the cycle that the proof named beforehand, lane by lane",
        Foreseen::NamedOnOtherLanes => "the cycle that the proof named beforehand, on other lanes of the same ports",
        Foreseen::Possible => "the proof names something else, but held this cycle possible too:",
        Foreseen::NotReached => "the proof stopped at another fault before it came to this cycle",
        Foreseen::Unforeseen => {
            "the proof had held this cycle impossible: please report it, with the fabric and the seed"
        }
    };
    line(text, format_args!("{sentence}"));
    if let (Foreseen::Possible, Some(cycle)) = (foresight.how, &foresight.cycle) {
        cycle.dependencies.iter().for_each(|dependency| line(text, format_args!("  {dependency}")));
    }
}

fn verdict(text: &mut String, report: &SimulationReport) {
    let lost = run::lost(report.outcome, &report.packets);
    let hops = format!("{}, {}", counted(report.packet_hops, "packet-hop"), counted(report.smps.total, "SMP"));
    let ending = run::ending(report.outcome);
    let took = report.change_ns.map(|ns| format!(" in {}", duration(ns))).unwrap_or_default();
    let reason = report.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    line(text, format_args!("{ending}{took}{reason}: {lost}; {hops}; trace {:016x}", report.trace_hash));
}
