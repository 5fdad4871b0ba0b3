//! Whether links changed while a device failed at something: then the link, or the path to the device, may be at fault,
//! and not the device.
//!
//! A port whose link bounced is in INITIALIZE, whatever was written to it before, and a device behind such a link does
//! not answer. Switches report this by their port-change bits (section 14.2.5.4), which the previous sweep has cleared;
//! a switch that does not answer the first request counts as cut off. A faulty device that is excused this way fails
//! again once the links are quiet. Deliberately omitted: clearing these bits, which is left to the next sweep or
//! glance.

use super::SubnetError;
use super::exchange::{Exchange, MadData, MadRequest};
use super::manager::{Manager, answered_or_failed};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::transport::Transport;
use crate::wire::{AttributeId, SwitchInfo};
use std::collections::BTreeSet;

impl<T: Transport> Manager<T> {
    /// The given ports whose links have changed since the last sweep.
    ///
    /// # Errors
    /// The port failed.
    pub async fn with_changed_link(
        &mut self,
        fabric: &Fabric,
        ports: impl IntoIterator<Item = PortId>,
    ) -> Result<BTreeSet<PortId>, SubnetError> {
        let witnesses: Vec<_> = ports.into_iter().map(|port| (port, self.witnesses_of_link(fabric, port))).collect();
        let changed = self.changed_among(witnesses.iter().flat_map(|(_, switches)| switches)).await?;
        let are_met = |(_, switches): &(PortId, BTreeSet<NodeId>)| !changed.is_disjoint(switches);
        Ok(witnesses.into_iter().filter(are_met).map(|(port, _)| port).collect())
    }

    /// The switches at the ends of a link, which see it change.
    pub(super) fn witnesses_of_link(&self, fabric: &Fabric, port: PortId) -> BTreeSet<NodeId> {
        let ends = [Some(port), fabric.peer(port)].into_iter().flatten();
        ends.map(|end| fabric.port(end).node).filter(|&node| fabric.node(node).is_switch()).collect()
    }

    /// The switches that see the links on the path to a device, except the device itself.
    pub(super) fn witnesses_of_way(&self, fabric: &Fabric, device: NodeId) -> BTreeSet<NodeId> {
        let Some(topology) = &self.topology else { return BTreeSet::new() };
        let path = topology.paths.to_node(fabric, device);
        let mut node = fabric.port(topology.sm).node;
        let mut met = BTreeSet::new();
        for &hop in path.iter().flat_map(|path| path.hops()) {
            if fabric.node(node).is_switch() && node != device {
                met.insert(node);
            }
            match fabric.port_at(node, hop).and_then(|port| fabric.neighbour(port)) {
                Some(next) => node = next,
                None => break,
            }
        }
        met
    }

    /// The given switches that report a changed port since the last sweep, or do not answer. All are asked at once.
    pub(super) async fn changed_among(
        &mut self,
        switches: impl IntoIterator<Item = &NodeId>,
    ) -> Result<BTreeSet<NodeId>, SubnetError> {
        let mut changed = BTreeSet::new();
        let Some(topology) = &self.topology else { return Ok(changed) };
        // If the bits have not been cleared, they also report earlier changes.
        let speak = |switch: &&NodeId| {
            self.port_changes.has_cleared(topology.fabric.node(**switch).guid) && !self.keeps_its_bit(**switch)
        };
        let switches: BTreeSet<NodeId> = switches.into_iter().filter(speak).copied().collect();
        let mut exchange = Exchange::new(self.timing);
        for switch in switches {
            let Some(path) = topology.paths.to_node(&topology.fabric, switch) else {
                changed.insert(switch);
                continue;
            };
            exchange.submit_once(MadRequest::get(switch.0, switch.0.into(), path, AttributeId::SwitchInfo, 0));
        }
        let on = |_: &mut Exchange, done| {
            let (switch, has_changed) = match answered_or_failed(done) {
                Ok((request, answer)) => match answer.data {
                    MadData::Smp(_, data) => (request.queue, SwitchInfo::decode(&data).port_state_change),
                    MadData::Perf(..) => (request.queue, false),
                },
                // A refusal is an answer.
                Err(failed) => (failed.request.queue, failed.status.is_none()),
            };
            if has_changed {
                changed.insert(NodeId(switch));
            }
        };
        self.run(&mut exchange, on).await?;
        Ok(changed)
    }
}
