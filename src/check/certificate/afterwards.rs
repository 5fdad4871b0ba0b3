//! Verifies that what the last wave leaves serves the fabric *after* the change, without the elements that leave: from
//! every source a way to every owner, on each half in use then. Also verifies that the elements that leave are empty by
//! then.
//!
//! Nothing needs evidence here: the tables no longer change, so each DLID has one way from each switch.

use super::CertificateFault;
use super::net::{ChannelEnd, CheckedNet};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum};
use crate::plan::{Barrier, Plan, Scheme};
use crate::tables::{PathLayers, SubnetTables};

/// The name of that moment.
const AFTERWARDS: &str = "afterwards";

struct Afterwards<'a> {
    plan: &'a Plan,
    net: &'a CheckedNet,
    tables: &'a SubnetTables,
    /// By port: whether it sends and is sent to.
    takes_part: Vec<bool>,
}

pub(super) fn check(plan: &Plan, net: &CheckedNet) -> Result<(), CertificateFault> {
    check_departure(plan)?;
    let draft = plan.draft();
    // Rows say who has lost a way only as long as sources keep to theirs.
    if draft.leaves_losses && (plan.scheme() != Scheme::Ordered || draft.old_ways != draft.new_ways) {
        let what =
            "it leaves losses, which only scheme ordered may, and with the same paths for all sources".to_string();
        return Err(CertificateFault::Plan { wave: AFTERWARDS.to_string(), what });
    }
    let mut takes_part = vec![false; draft.before.port_count()];
    draft.after.end_ports().for_each(|port| takes_part[port.index()] = true);
    draft.stranded.iter().for_each(|port| takes_part[port.index()] = false);
    let tables = plan.tables_at(plan.waves().len());
    let afterwards = Afterwards { plan, net, tables, takes_part };
    let before: Vec<PortId> = draft.before.end_ports().filter(|&port| !plan.has_come(port)).collect();
    check_open(plan, draft.old_ways.as_deref(), draft.old, "steady", &before)?;
    let mut seen = vec![None; net.switches.len()];
    for half in [Half::Lower, Half::Upper].into_iter().filter(|&half| afterwards.is_sent_on(half)) {
        let ends: Vec<PortId> = afterwards.ends().collect();
        check_open(plan, draft.new_ways.as_deref(), half, AFTERWARDS, &ends)?;
        for owner in afterwards.ends() {
            for (path, lid) in draft.before.half_lids(owner, half).enumerate() {
                afterwards.check_ways(owner, lid, path, &mut seen)?;
            }
        }
    }
    Ok(())
}

/// A plan that drains nothing and stops nothing has the leaving elements vacated at its end (section V of
/// docs/PROTOCOL.md).
fn check_departure(plan: &Plan) -> Result<(), CertificateFault> {
    let Some(needed) = rounds_needed(&plan.draft().surviving, &plan.draft().after) else { return Ok(()) };
    let is_drain = |barrier: &Barrier| matches!(barrier, Barrier::Drained(_));
    let drains = plan.waves().iter().flat_map(|wave| &wave.barriers).any(is_drain);
    let rounds = plan.waves().last().map_or(0, |last| {
        let rounds = |barrier: &Barrier| if let Barrier::Vacated(rounds) = *barrier { usize::from(rounds) } else { 0 };
        last.barriers.iter().map(rounds).sum()
    });
    if drains || plan.scheme() == Scheme::Static || rounds >= needed {
        return Ok(());
    }
    let what = format!("what leaves is empty after {needed} rounds, and the last barrier waits for {rounds}");
    Err(CertificateFault::Plan { wave: AFTERWARDS.to_string(), what })
}

/// One round for packets latched before, and one for each channel that a packet can pass in the leaving elements: one
/// more than their largest part has switches. None if nothing leaves.
fn rounds_needed(during: &Fabric, after: &Fabric) -> Option<usize> {
    let mut ports = during.ports().map(|(port, _)| port);
    ports.find(|&port| during.peer(port).is_some() && after.peer(port).is_none())?;
    let leaves = |node: NodeId| during.node(node).present && during.node(node).is_switch() && !after.node(node).present;
    // Parts by union of neighbours: each switch names the part's lowest.
    let mut part: Vec<usize> = (0..during.node_count()).collect();
    fn lowest(part: &[usize], mut node: usize) -> usize {
        while part[node] != node {
            node = part[node];
        }
        node
    }
    for (port, info) in during.ports().filter(|&(_, info)| leaves(info.node)) {
        if let Some(next) = during.neighbour(port).filter(|&next| leaves(next)) {
            let ends = [lowest(&part, info.node.index()), lowest(&part, next.index())];
            part[ends[0].max(ends[1])] = ends[0].min(ends[1]);
        }
    }
    let mut sizes = vec![0; part.len()];
    during.switches().filter(|&node| leaves(node)).for_each(|node| sizes[lowest(&part, node.index())] += 1);
    Some(sizes.into_iter().max().unwrap_or(0) + 2)
}

/// Verifies, where a plan specifies the paths of each source, that every port has a path to every other by a LID that
/// exists.
fn check_open(
    plan: &Plan,
    ways: Option<&PathLayers>,
    half: Half,
    moment: &str,
    ports: &[PortId],
) -> Result<(), CertificateFault> {
    let Some(ways) = ways else { return Ok(()) };
    let fabric = &*plan.draft().before;
    for &owner in ports {
        let lids = fabric.half_lids(owner, half).count();
        let shut = |source: PortId| source != owner && !(0..lids).any(|path| ways.layer(source, owner, path).is_some());
        if let Some(&source) = ports.iter().find(|&&source| shut(source)) {
            let (source, owner) = (fabric.describe_port(source), fabric.describe_port(owner));
            let what = format!("{source} has no path to {owner} on the {half} half");
            return Err(CertificateFault::Plan { wave: moment.to_string(), what });
        }
    }
    Ok(())
}

impl Afterwards<'_> {
    fn ends(&self) -> impl Iterator<Item = PortId> + '_ {
        self.plan.draft().after.end_ports().filter(|port| self.takes_part[port.index()])
    }

    fn is_sent_on(&self, half: Half) -> bool {
        let both = self.plan.draft().both_halves;
        self.ends().any(|port| both || self.tables.sending[port.index()] == half)
    }

    /// The ways to one DLID from every switch that has a source; each switch is passed once.
    fn check_ways(
        &self,
        owner: PortId,
        lid: Lid,
        path: usize,
        seen: &mut [Option<Lid>],
    ) -> Result<(), CertificateFault> {
        let ways = self.plan.draft().new_ways.as_ref();
        for (start, sources) in self.net.sources.iter().enumerate() {
            let open = |port: PortId| ways.is_none_or(|ways| ways.layer(port, owner, path).is_some());
            let sends = |port: PortId| port != owner && self.takes_part[port.index()] && open(port);
            let mut at = sources.iter().any(|source| sends(source.port)).then_some(start);
            // A switch passed twice is no loop: the numbers rise along these very steps, as `rising` verified.
            while let Some(switch) = at.filter(|&switch| seen[switch].replace(lid) != Some(lid)) {
                at = self.next(switch, lid, owner)?;
            }
        }
        Ok(())
    }

    /// Whether a row leads into what died, as it did at the beginning, and the plan leaves such rows to another change.
    /// A way that leads there was lost at the beginning, too: that no other is led to such a row, each wave's closure
    /// shows.
    fn stays_lost(&self, node: NodeId, output: PortNum, lid: Lid) -> bool {
        let draft = self.plan.draft();
        let has_died = |port: PortId| draft.before.peer(port).is_some() && draft.surviving.peer(port).is_none();
        draft.leaves_losses
            && draft.initial.lfts[node.index()].get(lid) == Some(output)
            && draft.before.port_at(node, output).is_some_and(has_died)
    }

    /// The switch that packets to a DLID go on to; none where they have arrived, or stay lost.
    fn next(&self, switch: usize, lid: Lid, owner: PortId) -> Result<Option<usize>, CertificateFault> {
        let node = self.net.switches[switch];
        let fabric = &*self.plan.draft().after;
        let output = self.tables.lfts[node.index()].get(lid).unwrap_or(PortNum::NO_ROUTE);
        let linked = fabric.port_at(node, output).filter(|&port| fabric.peer(port).is_some());
        let Some(channel) = linked else {
            if self.stays_lost(node, output, lid) {
                return Ok(None);
            }
            let what = match output {
                PortNum::NO_ROUTE => "it has no route".to_string(),
                port => format!("its port {port} leads to nothing that is left"),
            };
            let (moment, switch) = (AFTERWARDS.to_string(), fabric.describe_node(node));
            return Err(CertificateFault::Hole { moment, switch, lid, what });
        };
        match self.net.ends[channel.index()] {
            ChannelEnd::Switch(next, _) => Ok(Some(next as usize)),
            ChannelEnd::Port(port) if port == owner => Ok(None),
            ChannelEnd::Port(_) | ChannelEnd::Nowhere => {
                let at = fabric.peer(channel).map_or_else(String::new, |port| fabric.describe_port(port));
                Err(CertificateFault::WrongArrival { moment: AFTERWARDS.to_string(), lid, at })
            }
        }
    }
}
