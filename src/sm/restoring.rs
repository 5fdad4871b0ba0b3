//! Devices that restarted get back what they held: their settings and the tables in force.
//!
//! On entry: a sweep that shows ports in INITIALIZE or ARMED whose cables are known. Deliberately omitted: what the
//! routing does not use yet (`admission`).

use super::context::Context;
use super::error::SmError;
use super::reporting::ReportingManager;
use super::set_up;
use super::settings::Basis;
use super::upkeep::Upkeep;
use crate::change;
use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use crate::plan::{self, Lanes};
use crate::subnet::{SubnetManager, WriteOrder};
use crate::transport::Transport;
use std::collections::BTreeSet;

impl<T: Transport> Upkeep<T> {
    /// Handles devices whose ports went down and returned between two sweeps with their cables unchanged. They may only
    /// have been unplugged, or power-cycled, and so have lost everything. So all settings and tables are written again
    /// while their ports are ARMED; then the ports become ACTIVE under the routing in force.
    pub(super) async fn set_up_bounced(&mut self, context: &Context) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let fabric = &running.alive;
        let ReportingManager { manager, groups, .. } = self.driver.subnet_mut();
        let routed = |port: &PortId| running.routed.peer(*port).is_some() && fabric.peer(*port).is_some();
        let down = |port: PortId| set_up::awaits(manager.port_info(port));
        let bounced: Vec<PortId> = fabric.ports().map(|(id, _)| id).filter(routed).filter(|&port| down(port)).collect();
        if bounced.is_empty() {
            return Ok(());
        }
        // A link that went down did so at both its ends, whichever of them shows it.
        let ends = |&port: &PortId| [Some(port), fabric.peer(port)].into_iter().flatten();
        let devices: BTreeSet<NodeId> = bounced.iter().flat_map(ends).map(|end| fabric.port(end).node).collect();
        tracing::warn!(ports = bounced.len(), devices = devices.len(), "ports bounced: setting up their devices again");
        let own = devices.iter().filter(|&&node| fabric.node(node).is_switch());
        let own = own.filter_map(|&node| fabric.port_at(node, PortNum::ZERO));
        let ports: Vec<PortId> = own.chain(bounced.iter().copied()).collect();
        groups.may_be_empty(&devices);
        set_up::configure(manager, &Basis::of(&running, &context.config), &ports).await?;
        let policy = &context.config.policy;
        let steady = Lanes::steady_table(&running.routed, policy);
        // Nothing that these devices held before is taken for granted.
        let writes = plan::writes_to(fabric, &devices, &running.tables.lfts, steady);
        manager.apply(fabric, &writes, WriteOrder::Any).await?;
        // A port that bounced once more waits for the next look, and keeps no other one waiting.
        set_up::activate(manager, fabric, &bounced).await?;
        // A device that does not take its partitions back has those of its own.
        self.publish();
        Ok(())
    }

    /// Writes what is recorded to devices that are unused, because they or their connections are set aside, and that
    /// restarted, as either end of a cable shows: they answered no change. Their ports stay as they are, so nothing
    /// passes them.
    pub(super) async fn rewrite_unused(&mut self, context: &Context) -> Result<(), SmError> {
        if self.aside.is_empty() {
            return Ok(());
        }
        let (running, policy) = (self.driver.running().clone(), &context.config.policy);
        let used = change::within_reach(&self.aside.out_of(&running.alive), running.sm);
        let manager = &mut self.driver.subnet_mut().manager;
        let nodes =
            running.alive.nodes().filter(|&(id, node)| node.present && !used.node(id).present).map(|(id, _)| id);
        let is_reset = |port: PortId| set_up::awaits(manager.port_info(port));
        let has_bounced = |port: PortId| is_reset(port) || running.alive.peer(port).is_some_and(is_reset);
        let bounced = nodes.filter(|&node| running.alive.ports_of(node).any(has_bounced));
        let devices: BTreeSet<NodeId> = bounced.collect();
        if devices.is_empty() {
            return Ok(());
        }
        let steady = Lanes::steady_table(&running.routed, policy);
        let writes = plan::writes_to(&running.alive, &devices, &running.tables.lfts, steady);
        match manager.apply(&running.alive, &writes, WriteOrder::Any).await {
            Ok(_) => self.driver.record_lanes(devices, steady),
            Err(error) if error.is_fatal() => return Err(error.into()),
            // The rest does not wait for it: when it is taken back, all is written.
            Err(error) => tracing::warn!(%error, "writing to what is set aside"),
        }
        Ok(())
    }
}
