//! Scheme `recover`: ends a change that no manager ended. One half of LIDs and service levels is kept, the other one
//! follows it, and then every service level returns to its lanes. Section E of docs/PROTOCOL.md.
//!
//! It begins at the tables that devices report, whatever phase they are of: SL-to-VL tables that are split at some
//! devices and steady at others, fences at some end ports, halves that lead by two routings, or by parts of them. So no
//! wave relies on the intentions of an earlier manager, and the prover has sources send on both halves throughout,
//! wherever the tables let them. Only packets that stood in the subnet before were sent under tables that can no longer
//! be read: the first wave waits until they have left.

use super::ordered::{aging, step_writes};
use super::{PlanInput, about_other_packets, about_spare_half, differs, sl_to_vl_writes};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, PortNum, Sl, Vl};
use crate::plan::{Assumption, Barrier, Draft, Lanes, Phase, Plan, Scheme, Sending, Wave};
use crate::tables::{SlToVl, SlToVlScope, SubnetTables, Write};

/// Close (or only wait), follow, open.
pub(super) fn plan(input: PlanInput) -> Plan {
    let lanes = Lanes::of_fabric(&input.before, input.policy.reserved_sl);
    let steady = lanes.steady(input.policy.partition);
    let closing = match input.closes {
        true => close_writes(&input.surviving, &input.initial, input.old, lanes),
        false => Vec::new(),
    };
    let mut tables = input.initial.clone();
    closing.iter().for_each(|write| tables.apply(&input.before, write));
    let mut first = wave(if input.closes { "close" } else { "wait" }, closing);
    first.barriers.extend(aging(&input, &input.initial.lfts));
    let mut waves = vec![first];
    waves.extend(following(&input));
    waves.extend(opening(&input, &tables, steady));
    let mut assumptions = about_other_packets(&input).to_vec();
    assumptions.extend([Assumption::EntriesDecide, Assumption::AnswersAreLegal]);
    assumptions.extend(about_spare_half(&input));
    assumptions.extend(Assumption::of_vacating(input.policy.observer));
    if input.closes || is_fenced(&input) {
        assumptions.extend([Assumption::FencesDiscard, Assumption::FencedLanesRunEmpty]);
    }
    Plan::seal(Draft { waves, assumptions, drain: Vec::new(), ..input.draft(Scheme::Recover, lanes) })
}

/// Returns whether some end port discards a service level already.
fn is_fenced(input: &PlanInput) -> bool {
    let fabric = &*input.surviving;
    let discards = |port: PortId| {
        let at = fabric.port(port);
        let held = input.initial.sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
        fabric.peer(port).is_some() && held.discards()
    };
    fabric.end_ports().any(discards)
}

/// Has each end port discard what its host sends on the half that is not `kept`, where it does not do so already.
pub fn close_writes(fabric: &Fabric, held: &SubnetTables, kept: Half, lanes: Lanes) -> Vec<Write> {
    let given_up = kept.other();
    let reserved = lanes.reserved.map(|level| level.sl);
    let close = |port: PortId| {
        let at = fabric.port(port);
        let held = *held.sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
        let shuts = |sl: Sl| Half::of_sl(sl) == given_up && Some(sl) != reserved;
        let table = SlToVl::from_fn(|sl| if shuts(sl) { Vl::MANAGEMENT } else { held.get(sl) });
        let scope = SlToVlScope::EndPort { port: at.num };
        (table != held).then_some(Write::SlToVl { node: at.node, scope, table })
    };
    fabric.end_ports().filter(|&port| fabric.peer(port).is_some()).filter_map(close).collect()
}

/// A wave for each step that writes something.
fn following(input: &PlanInput) -> Vec<Wave> {
    let mut held = &input.initial.lfts;
    let mut waves: Vec<Wave> = Vec::new();
    for step in &input.steps {
        let writes = step_writes(input, held, &step.lfts);
        if step.aged_before
            && let Some(last) = waves.last_mut()
        {
            // Before the first of these waves, all have waited already.
            last.barriers.extend(aging(input, held));
        }
        if !writes.is_empty() {
            waves.push(wave(&format!("follow/{}", waves.len() + 1), writes));
        }
        held = &step.lfts;
    }
    waves
}

/// Every service level goes to its lanes: first at the switches, then, when all of them have their tables, at end
/// ports. That also ends any fence, whichever manager closed it; by then all switches treat a level alike.
fn opening(input: &PlanInput, tables: &SubnetTables, steady: SlToVl) -> Vec<Wave> {
    let is_hosts = |write: &Write| matches!(write, Write::SlToVl { scope: SlToVlScope::EndPort { .. }, .. });
    let writes = sl_to_vl_writes(&input.surviving, steady, differs(tables, steady));
    let (hosts, switches): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(is_hosts);
    vec![wave("open/1", switches), wave("open/2", hosts)]
}

fn wave(part: &str, writes: Vec<Write>) -> Wave {
    Wave {
        name: format!("{}/{part}", Phase::Rewrite),
        phase: Phase::Rewrite,
        writes,
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::AnyOrder,
    }
}
