//! Verifies the statements of a plan about its reserved level: the level has its lane to itself at every moment, no
//! barrier covers that lane, and no packet on it can wait for itself, unless the plan assumes that management to
//! switches pauses.
//!
//! A certificate says nothing about it. There is a single lane, so its dependencies are those of channels. They have an
//! order if removing channels that nothing waits for, again and again, leaves none.

use super::CertificateFault;
use super::moments::{PlanMoment, PlanMoments};
use super::net::{ChannelEnd, CheckedNet, Outlet};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, ReservedLevel, Sl};
use crate::plan::{Assumption, Barrier, Plan};
use crate::tables::{Lft, SubnetTables, Write};
use std::collections::BTreeSet;
use std::sync::Arc;

fn fault<T>(wave: &str, what: String) -> Result<T, CertificateFault> {
    Err(CertificateFault::Plan { wave: wave.to_string(), what })
}

/// Verifies the claim, or that a plan without one names the assumptions that it replaces.
pub(super) fn check(plan: &Plan, net: &CheckedNet, moments: &PlanMoments<'_>) -> Result<(), CertificateFault> {
    let draft = plan.draft();
    let (lanes, kept) = (draft.lanes, Assumption::ReservedLevelIsKept);
    let named = |assumption| draft.assumptions.contains(&assumption);
    if lanes.reserved.is_some() != named(kept) || lanes.reserved.map(|level| level.sl) != draft.policy.reserved_sl {
        let kept = kept.name();
        return fault(
            "plan",
            format!("a reserved level, the choice of one and `{kept}` go together, and one is missing"),
        );
    }
    check_others(plan, moments)?;
    let Some(level) = lanes.reserved else { return Ok(()) };
    if [lanes.all, lanes.a, lanes.b].iter().any(|set| set.contains(level.vl)) {
        return fault("plan", format!("VL {} is reserved, and among the lanes of the halves", level.vl));
    }
    let ways = [&draft.old_ways, &draft.new_ways].into_iter().flatten();
    let layers = ways.map(|ways| ways.layers()).max().unwrap_or(1);
    // Layer l of either half takes the level of rank l (P0.3), so a level of that rank carries data (K.1).
    if Half::rank(level.sl) < usize::from(layers) {
        return fault("plan", format!("SL {} is reserved, and one of the levels of data's {layers} layers", level.sl));
    }
    check_barriers(plan, level)?;
    check_kept(&draft.before, net, moments, level)?;
    if named(Assumption::SwitchManagementPaused) { Ok(()) } else { check_followed(plan, net, moments) }
}

/// Tables that are written while data flows meet other packets too: of these the plan assumes that there are none, or
/// that they are on a reserved level.
fn check_others(plan: &Plan, moments: &PlanMoments<'_>) -> Result<(), CertificateFault> {
    let draft = plan.draft();
    let either = |one: Assumption, other: bool| draft.assumptions.contains(&one) || other;
    let reserved = draft.lanes.reserved.is_some();
    for (wave, moment) in plan.waves().iter().zip(&moments.all[1..]) {
        let is_table = |write: &Write| matches!(write, Write::LftBlock { .. } | Write::SlToVl { .. });
        if moment.injected == [false; 2] || !wave.writes.iter().any(is_table) {
            continue;
        }
        for assumption in [Assumption::NoMulticast, Assumption::SwitchManagementPaused] {
            if !either(assumption, reserved) {
                let name = assumption.name();
                return fault(&wave.name, format!("it takes `{name}` for granted, and the plan does not name it"));
            }
        }
    }
    Ok(())
}

fn check_barriers(plan: &Plan, level: ReservedLevel) -> Result<(), CertificateFault> {
    for wave in plan.waves() {
        for barrier in &wave.barriers {
            // K.4: no observer waits for this lane, so a barrier that includes it claims more than was observed.
            if let Barrier::Flushed(lanes) | Barrier::Drained(lanes) = *barrier
                && lanes.contains(level.vl)
            {
                return fault(
                    &wave.name,
                    format!("VL {} is reserved, and the barrier says that it is empty", level.vl),
                );
            }
        }
    }
    Ok(())
}

/// Every table of every cabled way has the level on its lane, and no other level there.
fn check_kept(
    fabric: &Fabric,
    net: &CheckedNet,
    moments: &PlanMoments<'_>,
    level: ReservedLevel,
) -> Result<(), CertificateFault> {
    let cabled = |port: PortId| net.ends[port.index()] != ChannelEnd::Nowhere;
    if let Some((port, _)) =
        fabric.ports().find(|&(port, _)| cabled(port) && net.carried[port.index()] >> level.vl.get() & 1 == 0)
    {
        let port = fabric.describe_port(port);
        return fault("plan", format!("VL {} is reserved, and the link at {port} does not carry it", level.vl));
    }
    for moment in &moments.all {
        for tables in moment.tables {
            for (node, info) in fabric.nodes().filter(|(_, info)| info.present) {
                let outputs: Vec<PortNum> =
                    fabric.ports_of(node).filter(|&port| cabled(port)).map(|port| fabric.port(port).num).collect();
                // Packets of a switch itself enter by port 0. An adapter has one table, whatever the input.
                let mut inputs = vec![PortNum::ZERO];
                inputs.extend(outputs.iter().filter(|_| info.is_switch()));
                let pairs = inputs.iter().flat_map(|&input| outputs.iter().map(move |&output| (input, output)));
                for (input, output) in pairs {
                    let table = tables.sl_to_vl[node.index()].get(input, output);
                    if let Some(sl) = Sl::all().find(|&sl| (sl == level.sl) != (table.get(sl) == level.vl)) {
                        let (node, vl) = (fabric.describe_node(node), table.get(sl));
                        let ReservedLevel { sl: own, vl: lane } = level;
                        let what = format!("VL {lane} is reserved for SL {own}, and {node} sends SL {sl} on VL {vl}");
                        return fault(&moment.name, what);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Verifies that packets on the level, from any switch to any LID, can wait for each other in no cycle, whichever
/// entries they meet: before the change, and while and after it runs.
fn check_followed(plan: &Plan, net: &CheckedNet, moments: &PlanMoments<'_>) -> Result<(), CertificateFault> {
    let fabric = &*plan.draft().before;
    // K.3 needs every entry that a packet can meet. The entries of a new switch are unknown until they are written
    // (G.2).
    let is_new = |node: NodeId| {
        let mut cabled = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).peekable();
        cabled.peek().is_some() && cabled.all(|port| plan.has_come(port))
    };
    if let Some(&node) = net.switches.iter().find(|&&node| is_new(node)) {
        let node = fabric.describe_node(node);
        return fault("plan", format!("{node} has come, so packets on the reserved level cannot be followed"));
    }
    let turning = plan.draft().assumptions.contains(&Assumption::TurnedBackIsDiscarded);
    let mut mixture = ReservedMixture { fabric, net, turning, since: 0, tables: vec![Vec::new(); net.switches.len()] };
    let [steady, waves @ ..] = moments.all.as_slice() else { return Ok(()) };
    mixture.add(steady);
    mixture.check(&steady.name, 0)?;
    mixture.clear();
    let mut last = steady;
    for moment in waves {
        // Only if all ports discard their packets is nothing left here; barriers speak of other lanes. An aged barrier
        // makes `gone` true as well, but its rounds say nothing of this lane (K.4).
        let discarded = moment.gone == [true; 2] && moment.aged.is_none();
        if discarded {
            mixture.check(&last.name, 1)?;
            mixture.clear();
        }
        // While every port stops, nothing moves, so a packet meets none of the entries of that moment.
        if moment.injected != [false; 2] || !discarded {
            mixture.add(moment);
        }
        last = moment;
    }
    mixture.check(&last.name, 1)
}

/// Tables any of whose entries a packet on the reserved level may meet.
struct ReservedMixture<'a> {
    fabric: &'a Fabric,
    net: &'a CheckedNet,
    /// Whether switches discard a packet whose output port is its input port.
    turning: bool,
    since: usize,
    /// By switch.
    tables: Vec<Vec<&'a Lft>>,
}

impl<'a> ReservedMixture<'a> {
    fn clear(&mut self) {
        self.tables.iter_mut().for_each(Vec::clear);
    }

    fn add(&mut self, moment: &PlanMoment<'a>) {
        let both: [&'a SubnetTables; 2] = moment.tables;
        for tables in both {
            for (held, node) in self.tables.iter_mut().zip(&self.net.switches) {
                let table: &'a Lft = Arc::as_ref(&tables.lfts[node.index()]);
                if held.last().is_none_or(|&last| !std::ptr::eq(last, table)) {
                    held.push(table);
                }
            }
        }
    }

    fn check(&mut self, wave: &str, moment: usize) -> Result<(), CertificateFault> {
        self.since = moment;
        // By way through a switch: whether some packet takes it.
        let mut taken = vec![false; self.net.way_count];
        for lid in (1..=self.fabric.max_lid().map_or(0, |lid| lid.0)).map(Lid) {
            let owner = self.fabric.lid_owner(lid).filter(|&owner| self.is_there(owner));
            if let Some(owner) = owner {
                self.follow(wave, lid, owner, &mut taken)?;
            }
        }
        self.check_order(wave, &taken)
    }

    fn is_there(&self, owner: PortId) -> bool {
        let port = self.fabric.port(owner);
        self.net.is_end_port(owner) || port.num == PortNum::ZERO && self.net.switches.contains(&port.node)
    }

    fn outputs(&self, switch: usize, lid: Lid) -> BTreeSet<usize> {
        self.tables[switch].iter().filter_map(|table| table.get(lid)).map(PortNum::index).collect()
    }

    fn follow(&self, wave: &str, lid: Lid, owner: PortId, taken: &mut [bool]) -> Result<(), CertificateFault> {
        let outputs: Vec<BTreeSet<usize>> =
            (0..self.net.switches.len()).map(|switch| self.outputs(switch, lid)).collect();
        for (switch, own) in outputs.iter().enumerate() {
            for &output in own {
                let arrives = match self.net.outlet(self.since, switch, output) {
                    // Such packets may be lost, since management repeats a request without an answer (K.3).
                    Outlet::Hole | Outlet::Dead => continue,
                    Outlet::Own => PortId(self.net.channel(switch, 0) as u32),
                    Outlet::Port { at, .. } => at,
                    Outlet::Switch { channel, next } => {
                        self.take(channel, next, &outputs[next], taken);
                        continue;
                    }
                };
                if arrives != owner {
                    let (moment, at) = (wave.to_string(), self.fabric.describe_port(arrives));
                    return Err(CertificateFault::WrongArrival { moment, lid, at });
                }
            }
        }
        Ok(())
    }

    fn take(&self, channel: usize, switch: usize, outputs: &BTreeSet<usize>, taken: &mut [bool]) {
        let ChannelEnd::Switch(_, input) = self.net.ends[channel] else { return };
        for &output in outputs {
            let goes_on =
                matches!(self.net.outlet(self.since, switch, output), Outlet::Port { .. } | Outlet::Switch { .. });
            // An edge of the graph of Theorem 6 in docs/PROOF.md: a packet came in by any entry of one switch and may
            // be latched by any entry of the next. Port 0 consumes packets, so nothing waits there.
            if goes_on && !(self.turning && output == input.index()) {
                taken[self.net.way(channel, switch, output)] = true;
            }
        }
    }

    /// Removes channels that no packet waits for, until none is left.
    fn check_order(&self, wave: &str, taken: &[bool]) -> Result<(), CertificateFault> {
        let onward = |channel: usize| {
            let ChannelEnd::Switch(at, _) = self.net.ends[channel] else { return Vec::new() };
            let at = at as usize;
            let ways = (1..self.net.sides[at]).filter(|&output| taken[self.net.way(channel, at, output)]);
            ways.map(|output| self.net.channel(at, output)).collect()
        };
        let channels = || self.net.sent.iter().map(|&channel| channel as usize);
        let mut waited_for = vec![0u32; self.net.ends.len()];
        channels().flat_map(onward).for_each(|channel| waited_for[channel] += 1);
        let mut free: Vec<usize> = channels().filter(|&channel| waited_for[channel] == 0).collect();
        while let Some(channel) = free.pop() {
            for next in onward(channel) {
                waited_for[next] -= 1;
                if waited_for[next] == 0 {
                    free.push(next);
                }
            }
        }
        match channels().find(|&channel| waited_for[channel] > 0) {
            None => Ok(()),
            Some(channel) => {
                let port = self.fabric.describe_port(PortId(channel as u32));
                fault(
                    wave,
                    format!(
                        "packets on the reserved level can wait for each other in a cycle, or behind one, at {port}"
                    ),
                )
            }
        }
    }
}
