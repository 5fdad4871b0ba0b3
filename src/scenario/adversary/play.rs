//! Executes a schedule: a simulated fabric in the plan's initial state, the plan's waves written by the subnet manager
//! in MADs, and packets and late `Set`s at the schedule's times. The simulator keeps all its rules.

use super::schedule::{Landing, Schedule, Train};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::plan::Plan;
use crate::sim::{Halt, HeldSet, Scripted, Sim, SimConfig, SimError, SimTransport};
use crate::subnet::{Manager, SmpCounts, SubnetError, SubnetManager, Timing, WriteOrder};
use crate::tables::{NodeSlToVl, SlToVlScope, Write};
use crate::transport::{AnyTransport, Transport};
use crate::wire::{AttributeId, SlToVlModifier};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// How long the run continues after the last step.
const SETTLE_NS: u64 = 2_000_000;

/// The result of a run; the simulation is left in its final state.
pub struct Played {
    /// The simulation.
    pub transport: SimTransport,
    /// SMPs that the subnet manager sent.
    pub smps: SmpCounts,
    /// The error of the subnet manager; none if it finished or a deadlock stopped it.
    pub error: Option<SubnetError>,
}

/// Executes a schedule until the deadlock closes or the schedule ends.
///
/// # Errors
/// Settings that the simulator rejects.
pub fn carry_out(plan: &Plan, schedule: &Schedule, config: &SimConfig) -> Result<Played, SimError> {
    let draft = plan.draft();
    let silent = SimConfig { load: 0.0, ..config.clone() };
    let mut sim = Sim::new(&draft.before, silent, draft.sm)?;
    load(plan, &mut sim);
    // The whole run is the period *during*: there is no traffic before.
    sim.begin_period();
    sim.begin_period();
    sim.start();
    sim.script(schedule.trains.iter().flat_map(packets).collect());
    sim.hold_sets(schedule.landings.iter().filter_map(|landing| held_set(plan, landing)));
    let transport = SimTransport::new(sim);
    if draft.before != draft.surviving {
        let death_ns = schedule.death_ns.unwrap_or(0);
        transport.with(|sim| sim.run(death_ns, false));
        transport.with(|sim| kill(&draft.before, &draft.surviving, sim));
    }
    let timing = Timing {
        // Only what the schedule delays is late, and a retry would land at an unplanned time. Without windows, a
        // delayed `Set` keeps no other write from landing.
        timeout_ns: 60_000_000_000,
        window: usize::MAX,
        per_device: usize::MAX,
        light_sweep_ns: None,
        ..Timing::default()
    };
    let mut manager = Manager::new(transport.clone().boxed(), timing, 0);
    // This manager discovers nothing: the plan already accounts for the loss.
    manager.set_topology(&draft.surviving, draft.sm);
    // The cycle closes in this wave: later waves are not written.
    let last = plan.waves().iter().rposition(|wave| wave.name == schedule.wave).unwrap_or(0);
    let written = drive(&transport, write_waves(plan, last, &mut manager));
    let error = written.and_then(Result::err);
    settle(&transport, schedule.end_ns);
    Ok(Played { smps: manager.smps().clone(), transport, error })
}

/// Loads the tables in force when the plan begins.
fn load(plan: &Plan, sim: &mut Sim) {
    let (fabric, tables) = (&*plan.draft().before, plan.tables_at(0));
    for (switch, block, entries) in tables.lft_blocks(fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    for (node, _) in fabric.nodes().filter(|(_, node)| node.present) {
        if let NodeSlToVl::Uniform(table) = &*tables.sl_to_vl[node.index()] {
            sim.load_sl_to_vl(node, |sl| table.get(sl));
        }
    }
    sim.load_half(plan.old());
}

/// Kills everything that did not survive.
fn kill(before: &Fabric, surviving: &Fabric, sim: &mut Sim) {
    for (node, _) in before.nodes().filter(|&(id, node)| node.present && !surviving.node(id).present) {
        sim.kill(node);
    }
    for (end, _) in before.links().filter(|&(end, _)| surviving.peer(end).is_none()) {
        sim.kill(end);
    }
}

fn packets(train: &Train) -> impl Iterator<Item = Scripted> + '_ {
    let Train { port: source, lid: dlid, sl, bytes, .. } = *train;
    let at = |nth: u32| train.first_ns + u64::from(nth) * train.every_ns;
    (0..train.count).map(move |nth| Scripted { at_ns: at(nth), source, dlid, sl, bytes })
}

/// The `Set` of a write, as the manager sends it; none for a change at the manager itself.
fn held_set(plan: &Plan, landing: &Landing) -> Option<HeldSet> {
    let fabric = &*plan.draft().before;
    let write = &plan.waves()[landing.id.wave].writes[landing.id.place];
    let number = |port: PortId| u32::from(fabric.port(port).num.0);
    let (attribute, modifier) = match *write {
        Write::LftBlock { block, .. } => (AttributeId::LinearForwardingTable, u32::from(block)),
        Write::SlToVl { scope, .. } => (AttributeId::SlToVlMappingTable, scope_modifier(scope).encode()),
        Write::PortState { port, .. } | Write::MasterSm { port, .. } => (AttributeId::PortInfo, number(port)),
        Write::ActiveHalf { port, .. } => (AttributeId::ActiveHalf, number(port)),
        Write::SaHalf { .. } => return None,
    };
    let node: NodeId = write.node(fabric)?;
    Some(HeldSet { node, attribute, modifier, lands_ns: landing.at_ns })
}

fn scope_modifier(scope: SlToVlScope) -> SlToVlModifier {
    match scope {
        SlToVlScope::Pair { input, output } => SlToVlModifier::Pair { input, output },
        SlToVlScope::All => SlToVlModifier::Every,
        SlToVlScope::EndPort { .. } => SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum::ZERO },
    }
}

/// Writes the waves up to `last`, each after the one before is acknowledged; delays decide the order within a wave.
async fn write_waves(plan: &Plan, last: usize, manager: &mut Manager<AnyTransport>) -> Result<(), SubnetError> {
    for wave in &plan.waves()[..=last] {
        manager.apply(&plan.draft().surviving, &wave.writes, WriteOrder::Any).await?;
    }
    Ok(())
}

/// Polls the manager's future; whenever it waits, the simulation advances. None once a deadlock has closed.
fn drive<T>(transport: &SimTransport, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return Some(result);
        }
        // No waker is needed: only the simulation's deliveries make this future ready.
        if transport.advance(u64::MAX) == Halt::Deadlock {
            return None;
        }
    }
}

/// Runs until everything is at rest: no table is written any more, and no source sends.
fn settle(transport: &SimTransport, end_ns: u64) {
    transport.with(|sim| {
        let until_ns = sim.now_ns().max(end_ns) + SETTLE_NS;
        while sim.deadlock().is_none() && sim.now_ns() < until_ns {
            sim.run(until_ns, false);
        }
        // Sound, since no write is left that could break the cycle.
        sim.confirm_deadlock();
    });
}
