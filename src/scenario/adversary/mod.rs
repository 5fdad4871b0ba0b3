//! The adversary: drives a run into the deadlock that the prover named, within the rules.
//!
//! On entry: a refused plan, its refusal, and hardware. [`schedule`] is a pure function. For each lane of the cycle it
//! finds a packet that can come to stand there; it orders the parking of packets and the landing of writes, and assigns
//! times. The schedule that it returns is complete. [`carry_out`] executes it in a fresh simulation: the same `Set`s in
//! the same MADs, some of them late, and packets from end ports that may send them; no rule of the simulator is
//! suspended. [`run`] does both for a scenario. A proved plan has no cycle to aim at; against it the adversary is
//! *generic*: saturated traffic, and every MAD delayed at random. Deliberately omitted: any claim that what the
//! adversary cannot reach cannot happen.

mod needs;
mod order;
mod play;
pub(super) mod schedule;
mod search;
mod timing;

pub use needs::WriteId;
pub use play::{Played, carry_out};
pub use schedule::{Landing, Role, Schedule, Step, StepAction, Train, Unreached};

use super::acting::DrivenChange;
use super::outcome::{AdversaryReport, Ending, SimulationReport};
use super::report::{Ran, report_on};
use super::setting::Scenario;
use super::setup::Setup;
use super::watch::Watch;
use super::{Engines, ScenarioError, run as simulate};
use crate::change::Prepared;
use crate::fabric::Fabric;
use crate::ids::{PortNum, Sl, Vl};
use crate::plan::Plan;
use crate::sim::{Sim, SimConfig};
use crate::subnet::SmpCounts;
use crate::verify::{ClassLoop, Cycle, Dependency, EntryAge, LoopHop, PortLane, Refusal};
use crate::vet::Vetted;

/// The longest delay of a MAD under the generic adversary.
const GENERIC_DELAY_NS: u64 = 300_000;

/// A schedule that drives packets into the cycle that a refusal names, on the hardware of `config`.
///
/// # Errors
/// No schedule was found, which does not mean that none exists.
pub fn schedule(plan: &Plan, refusal: &Refusal, config: &SimConfig) -> Result<Schedule, Unreached> {
    let draft = plan.draft();
    if draft.before.ports().any(|(port, _)| plan.has_come(port)) {
        return Err(Unreached::Growth);
    }
    let cycle = cycle_of(plan, refusal)?;
    let choice = search::search(plan, &cycle, config.latch)?;
    timing::schedule(plan, &choice, &cycle.wave, config)
}

/// Runs a scenario under the adversary: steered if the plan was refused, generic if it was proved.
///
/// # Errors
/// As for [`run`](super::run).
pub fn run(
    scenario: &Scenario,
    engines: impl Into<Engines>,
    watch: &mut dyn Watch,
) -> Result<SimulationReport, ScenarioError> {
    let engines = engines.into();
    let setup = Setup::new(scenario, &engines)?;
    if setup.between.is_some() {
        return Err(ScenarioError::Unsupported(
            "the adversary works against the change of a single subnet: give the subnet's own file",
        ));
    }
    let prepared = setup.prepare(&engines)?.remove(0).change().clone();
    match prepared.plan.refusal() {
        None => generic(scenario, engines, watch),
        Some(_) => steered(&setup, prepared),
    }
}

/// Random delays of every MAD, and sources that send at full rate.
fn generic(scenario: &Scenario, engines: Engines, watch: &mut dyn Watch) -> Result<SimulationReport, ScenarioError> {
    let sim = SimConfig { smp_delay_ns: scenario.sim.smp_delay_ns.max(GENERIC_DELAY_NS), ..scenario.sim.clone() };
    let scenario = Scenario { sim, load: Some(scenario.load.unwrap_or(1.0)), ..scenario.clone() };
    let report = simulate(&scenario, engines, watch)?;
    let adversary = AdversaryReport { kind: "generic", reached: None, why: None, schedule: None };
    Ok(SimulationReport { adversary: Some(adversary), ..report })
}

fn steered(setup: &Setup<'_>, prepared: Prepared) -> Result<SimulationReport, ScenarioError> {
    let config = SimConfig { load: 0.0, ..setup.each[0].config.clone() };
    let vetted: &Vetted = &prepared.plan;
    let scheduled = match vetted.refusal() {
        Some(refusal) => schedule(vetted.plan(), refusal, &config),
        None => Err(Unreached::NoCycle { refusal: "the plan is proved".to_string() }),
    };
    match scheduled {
        Err(why) => {
            let transport = setup.simulation(0.0)?.remove(0);
            // The report reads the periods of a run under traffic.
            (0..2).for_each(|_| transport.with(Sim::begin_period));
            let played = Played { transport, smps: SmpCounts::default(), error: None };
            Ok(missed(reported(setup, prepared, played), &why, None))
        }
        Ok(schedule) => {
            let played = carry_out(vetted.plan(), &schedule, &config)?;
            let met = played.transport.with(|sim| sim.deadlock().is_some_and(|stuck| schedule.is_met_by(stuck)));
            Ok(judged(reported(setup, prepared, played), schedule, met))
        }
    }
}

/// The report of a run under a schedule, or without one.
fn reported(setup: &Setup<'_>, prepared: Prepared, played: Played) -> SimulationReport {
    let Played { transport, smps, error } = played;
    transport.with(|sim| {
        let deadlocked = sim.deadlock().is_some();
        let ending = if deadlocked { Ending::Deadlocked } else { Ending::NotReached };
        let reason = deadlocked.then(|| "packets wait for each other in a circle".to_string());
        let reason = error.map(|error| error.to_string()).or(reason);
        let change =
            DrivenChange { ending, reason, start_ns: 0, end_ns: sim.now_ns(), report: None, smps, takeover: None };
        report_on(&Ran { setup, sim, changes: vec![change], events: Vec::new(), prepared: &[prepared], whole: None })
    })
}

fn judged(report: SimulationReport, schedule: Schedule, met: bool) -> SimulationReport {
    let why = match report.outcome {
        Ending::Deadlocked if met => None,
        Ending::Deadlocked => Some("another deadlock closed before".to_string()),
        _ => Some(format!("{} packets are still on their way", report.packets.in_flight)),
    };
    match why {
        Some(why) => missed(report, &Unreached::Missed { why }, Some(schedule)),
        None => {
            let adversary =
                AdversaryReport { kind: "steered", reached: Some(true), why: None, schedule: Some(schedule) };
            SimulationReport { adversary: Some(adversary), ..report }
        }
    }
}

fn missed(report: SimulationReport, why: &Unreached, schedule: Option<Schedule>) -> SimulationReport {
    let why = why.to_string();
    let adversary = AdversaryReport { kind: "steered", reached: Some(false), why: Some(why.clone()), schedule };
    SimulationReport { reason: report.reason.or(Some(why)), adversary: Some(adversary), ..report }
}

/// The cycle that a refusal names; a class in a loop fills a cycle of lanes by itself.
fn cycle_of(plan: &Plan, refusal: &Refusal) -> Result<Cycle, Unreached> {
    match refusal {
        Refusal::Deadlock(cycle) => Ok(cycle.clone()),
        Refusal::Loop(found) => {
            let none = || Unreached::NoCycle { refusal: refusal.to_string() };
            lanes_of_loop(plan, found).ok_or_else(none)
        }
        Refusal::Precondition { .. } | Refusal::BlackHole(_) | Refusal::WrongArrival(_) => {
            Err(Unreached::NoCycle { refusal: refusal.to_string() })
        }
    }
}

/// The lanes that a looping class occupies, on the first service level of its half that keeps its lane.
fn lanes_of_loop(plan: &Plan, found: &ClassLoop) -> Option<Cycle> {
    let fabric = &*plan.draft().before;
    let half = fabric.half_of(found.lid)?;
    half.sls().find_map(|sl| {
        let last = found.hops.iter().cycle().skip(found.hops.len() - 1);
        let dependencies = found.hops.iter().zip(last).map(|(hop, last)| {
            let switch = fabric.by_guid(hop.switch.guid)?;
            let input = input_after(fabric, last)?;
            let wave = plan.waves().iter().position(|wave| wave.name == found.wave)?;
            let vl = plan.tables_at(wave).sl_to_vl[switch.index()].get(input, hop.port).get(sl);
            Some((input, vl, hop))
        });
        let lanes = dependencies.collect::<Option<Vec<_>>>()?;
        let vl = lanes[0].1;
        let steady = lanes.iter().all(|&(_, own, _)| own == vl);
        steady.then(|| Cycle {
            wave: found.wave.clone(),
            dependencies: lanes.iter().map(|&(input, vl, hop)| turn_of(found, sl, input, vl, hop)).collect(),
            shortest: false,
        })
    })
}

fn turn_of(found: &ClassLoop, sl: Sl, input: PortNum, vl: Vl, hop: &LoopHop) -> Dependency {
    Dependency {
        switch: hop.switch.clone(),
        input: PortLane { port: input, vl },
        output: PortLane { port: hop.port, vl },
        lid: found.lid,
        sl,
        entry: hop.entry,
        mapping: EntryAge::Unchanged,
        latched: None,
    }
}

/// The port at which packets arrive that left a switch of a loop.
fn input_after(fabric: &Fabric, hop: &LoopHop) -> Option<PortNum> {
    let port = fabric.port_at(fabric.by_guid(hop.switch.guid)?, hop.port)?;
    fabric.peer(port).map(|peer| fabric.port(peer).num)
}
