//! Whether links changed amid what a device failed at: then it may be the link's fault, or the way's, and no device's.
//!
//! A port whose link went down and came back is in INITIALIZE whatever it was asked before, and who is asked through
//! such a link is silent. Switches say so by their port-change bits (section 14.2.5.4), which the sweep before has
//! cleared; a switch that does not answer at once is taken to have been cut off. Who is taken for well so though it is
//! not fails again when nothing else happens. Deliberately omitted: clearing these bits, which is for who looks next.

use super::SubnetError;
use super::exchange::{Exchange, MadData, MadRequest, RequestBody};
use super::manager::{Manager, settled};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE, SwitchInfo};
use std::collections::BTreeSet;

impl<T: Transport> Manager<T> {
    /// Of these ports, those whose links have changed since the last sweep.
    ///
    /// # Errors
    /// The port failed.
    pub async fn with_changed_link(
        &mut self,
        fabric: &Fabric,
        ports: impl IntoIterator<Item = PortId>,
    ) -> Result<BTreeSet<PortId>, SubnetError> {
        let mut changed = BTreeSet::new();
        for port in ports {
            let witnesses = self.witnesses_of_link(fabric, port);
            if self.some_changed(witnesses).await? {
                changed.insert(port);
            }
        }
        Ok(changed)
    }

    /// The switches that know of a link.
    pub(super) fn witnesses_of_link(&self, fabric: &Fabric, port: PortId) -> BTreeSet<NodeId> {
        let ends = [Some(port), fabric.peer(port)].into_iter().flatten();
        ends.map(|end| fabric.port(end).node).filter(|&node| fabric.node(node).is_switch()).collect()
    }

    /// The switches that know of the links on the way to a device, but the device itself.
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

    /// Whether one of these switches says that a port of it has changed since the last sweep, or says nothing.
    pub(super) async fn some_changed(&mut self, mut switches: BTreeSet<NodeId>) -> Result<bool, SubnetError> {
        // Where nobody has cleared the bits they speak of what was before, too.
        switches.retain(|&switch| self.has_cleared && !self.keeps_its_bit(switch));
        let Some(topology) = &self.topology else { return Ok(false) };
        let mut exchange = Exchange::new(self.timing);
        for switch in switches {
            let Some(path) = topology.paths.to_node(&topology.fabric, switch) else { return Ok(true) };
            let body =
                RequestBody::Smp { path, attribute: AttributeId::SwitchInfo, data: Box::new([0; SMP_DATA_SIZE]) };
            let tag = u64::from(switch.0);
            exchange.submit_once(MadRequest { device: switch.0, tag, method: Method::Get, modifier: 0, body });
        }
        let mut has_changed = false;
        let on = |_: &mut Exchange, done| {
            has_changed |= match settled(done) {
                Ok((_, answer)) => match answer.data {
                    MadData::Smp(_, data) => SwitchInfo::decode(&data).port_state_change,
                    MadData::Perf(..) => false,
                },
                // Who refuses has answered.
                Err(failed) => failed.status.is_none(),
            };
        };
        self.run(&mut exchange, on).await?;
        Ok(has_changed)
    }
}
