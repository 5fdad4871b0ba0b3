//! Traps: a device reports a change to its subnet manager, and repeats the report until it is repressed.

use super::Sim;
use super::device::{Devices, PendingTrap};
use super::errand::Errand;
use super::mad::Mad;
use super::time_code::coded_limit_ns;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Lid, Sl};
use crate::wire::{AttributeId, Method, Notice, Route, Smp};

/// How often a trap is sent again until it is repressed, where PortInfo:SubnetTimeOut says nothing.
const TRAP_PERIOD_NS: u64 = 1_000_000;

/// A pending trap that is sent now.
struct TrapDue {
    /// The port that sends it.
    port: PortId,
    mad: Mad,
    /// When it is sent again, in nanoseconds from now.
    again_ns: u64,
}

impl Devices {
    /// Lets the device of a port repeat a trap from now on. Returns whether it begins: it does not if it repeats one
    /// already, or in a cold subnet holds no manager's LID.
    fn raise_trap(&mut self, node: NodeId, port: PortId, notice: Notice, now: Ticks) -> bool {
        let has_manager = !self.cold || self.ports[port].master_sm_lid.is_unicast();
        let begins = self.list[node].trap.is_none() && has_manager;
        if begins {
            let tid = u64::from(node.0) << 32 | now & 0xFFFF_FFFF;
            self.list[node].trap = Some(PendingTrap { tid, port, notice });
        }
        begins
    }

    /// The pending trap of a device that lives, towards the subnet manager that its port holds.
    fn trap_due(&self, node: NodeId) -> Option<TrapDue> {
        let device = &self.list[node];
        let PendingTrap { tid, port, notice } = device.trap.as_ref().filter(|_| device.alive)?;
        let held = &self.ports[*port];
        let smp = Smp::new(Route::Lid, Method::Trap, AttributeId::Notice, 0, notice.encode()).with_tid(*tid);
        // A SubnetTimeOut of 0 means that none was ever set.
        let limit_ns = Some(held.subnet_timeout).filter(|&code| code > 0).and_then(coded_limit_ns);
        let mad = Mad::smp(held.lid, held.master_sm_lid, smp);
        Some(TrapDue { port: *port, mad, again_ns: limit_ns.unwrap_or(TRAP_PERIOD_NS) })
    }
}

impl Sim {
    /// A link of a living switch changed: sets SwitchInfo:PortStateChange, and notifies the subnet manager.
    pub(super) fn notice_link_state(&mut self, port: PortId) {
        let node = self.plane.ports[port].node;
        let device = &mut self.devices.list[node];
        if !device.alive || !self.plane.is_switch(node) {
            return;
        }
        device.switch.port_state_change = true;
        let own = self.plane.first_port(node);
        self.raise_trap(own, Notice::link_state_changed(self.devices.ports[own].lid));
    }

    /// The capabilities of an end port changed: notifies the subnet manager.
    pub(super) fn notice_capabilities(&mut self, port: PortId) {
        let producer = super::power_on::node_type(self.fabric.node(self.plane.ports[port].node).kind);
        let (lid, mask) = (self.devices.ports[port].lid, self.devices.capability_mask(port));
        self.raise_trap(port, Notice::end_port_changed(producer, lid, mask));
    }

    fn raise_trap(&mut self, port: PortId, notice: Notice) {
        let node = self.plane.ports[port].node;
        if !self.config.without_traps && self.devices.raise_trap(node, port, notice, self.clock.now()) {
            self.errand(self.clock.now(), Errand::Trap(node));
        }
    }

    /// Sends a device's pending trap to its subnet manager, by the forwarding tables as they are, until it is
    /// repressed.
    pub(super) fn repeat_trap(&mut self, node: NodeId) {
        if let Some(TrapDue { port, mad, again_ns }) = self.devices.trap_due(node) {
            self.send_mad(port, mad);
            self.errand(self.clock.now() + again_ns * TICKS_PER_NS, Errand::Trap(node));
        }
    }

    /// Has every device that repeats a trap send it now, besides the times at which it does so by itself. For callers
    /// whose subnet manager lives in another time than the simulation.
    pub fn send_traps_again(&mut self) {
        for node in self.fabric.nodes().map(|(id, _)| id).collect::<Vec<_>>() {
            if let Some(TrapDue { port, mad, .. }) = self.devices.trap_due(node) {
                self.send_mad(port, mad);
            }
        }
    }

    /// Loads what every port holds of the subnet manager, as found running: its LID and the SL towards it.
    pub fn load_master_sm(&mut self, lid: Lid, sl: Sl) {
        self.devices.ports.keys().for_each(|port| self.devices.load_master_sm(port, lid, sl));
    }

    /// The same for one port.
    pub fn load_master_sm_at(&mut self, port: PortId, lid: Lid, sl: Sl) {
        self.devices.load_master_sm(port, lid, sl);
    }
}
