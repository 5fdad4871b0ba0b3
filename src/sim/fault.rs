//! Death of links and switches, and the arrival of switches.
//!
//! A link that dies takes the packets on the wire and those that wait for it. A switch also takes the packets in its
//! buffers and the MADs queued at it. Neighbours that live set SwitchInfo:PortStateChange and send trap 128.

use super::device::{SickAttribute, Sickness};
use super::index::{By, Dense, EndPortRank};
use super::plane::PortRole;
use super::{PortId, Sim, power_on};
use crate::fabric::NodeId;
use crate::ids::{Lid, Lmc};
use crate::wire::{AttributeId, PortState, capability};

/// Why an element goes down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The packets it takes along are lost to the failure.
    Failure,
    /// It leaves as planned: the packets it takes along are not lost to a failure.
    Planned,
}

impl Sim {
    /// Kills the cable at a port.
    pub fn kill_link(&mut self, port: PortId) {
        self.lose_link(port, Loss::Failure);
    }

    fn lose_link(&mut self, port: PortId, loss: Loss) {
        let peer = self.plane.ports[port].peer;
        if peer.is_none() || !self.plane.ports[port].is_up() {
            return;
        }
        // Both ends go down before any queue is offered, so that no step sees a link that is half dead.
        for end in [port, peer] {
            self.take_down(end, loss);
        }
        for end in [port, peer] {
            self.port_changed(end);
            self.notice_link_state(end);
        }
        self.find_cut_off();
        self.assert_conserved();
    }

    /// Kills a node with all its cables.
    pub fn kill_node(&mut self, node: NodeId) {
        self.kill_nodes(&[node]);
    }

    /// Lets a device's management agent fall silent, or answer again: its ports stay up, and it forwards data and
    /// management, passes tokens on and sends as before.
    pub fn deafen_node(&mut self, node: NodeId, deaf: bool) {
        self.devices.list[node].deaf = deaf;
    }

    /// Lets a device's management agent fail at one attribute; what it failed at before it fails at still.
    pub fn sicken_node(&mut self, node: NodeId, sick: SickAttribute) {
        self.devices.list[node].sick.push(sick);
        self.show_sl_mapping(node);
    }

    /// Lets a device's management agent serve all attributes again.
    pub fn heal_node(&mut self, node: NodeId) {
        self.devices.list[node].sick.clear();
        self.show_sl_mapping(node);
    }

    /// Has a device's capability masks say whether it has SL-to-VL tables.
    fn show_sl_mapping(&mut self, node: NodeId) {
        let lacks = |sick: &SickAttribute| {
            sick.attribute == AttributeId::SlToVlMappingTable && sick.sickness == Sickness::Lacks
        };
        let lacks_it = self.devices.list[node].sick.iter().any(lacks);
        for port in self.fabric.ports_of(node).filter(|&port| power_on::is_end(&self.fabric, self.fabric.port(port))) {
            let mask = &mut self.devices.ports[port].capability_mask;
            *mask = if lacks_it { *mask & !capability::SL_TO_VL } else { *mask | capability::SL_TO_VL };
        }
    }

    /// Kills nodes with all their cables at once, such as the nodes of one router in its subnets.
    pub fn kill_nodes(&mut self, nodes: &[NodeId]) {
        self.lose_nodes(nodes, Loss::Failure);
    }

    fn lose_nodes(&mut self, nodes: &[NodeId], loss: Loss) {
        nodes.iter().for_each(|&node| self.devices.list[node].alive = false);
        let ports: Vec<PortId> = nodes.iter().flat_map(|&node| self.fabric.ports_of(node)).collect();
        let cabled: Vec<PortId> = ports.iter().copied().filter(|&port| self.plane.ports[port].is_up()).collect();
        // All cables go down first, those of several nodes at once too, so that no packet moves from one dead node to
        // another.
        for &port in &cabled {
            self.take_down(port, loss);
            self.take_down(self.plane.ports[port].peer, loss);
        }
        // Packets may also stand at a port whose cable died earlier, and at port 0 those that the node was to send.
        for port in ports {
            self.empty_buffers(port);
        }
        for &port in &cabled {
            let peer = self.plane.ports[port].peer;
            self.port_changed(peer);
            self.notice_link_state(peer);
        }
        self.find_cut_off();
        self.assert_conserved();
    }

    /// Takes a node away before the run begins: its cables are loose until [`Sim::revive_node`]. The end ports that
    /// this cuts off are hidden from the others.
    pub fn keep_away(&mut self, node: NodeId) {
        self.devices.list[node].alive = false;
        for port in self.fabric.ports_of(node).filter(|&port| self.plane.ports[port].is_up()).collect::<Vec<_>>() {
            for end in [port, self.plane.ports[port].peer] {
                self.plane.ports[end].state = PortState::Down;
            }
        }
        self.find_cut_off();
        self.hide_cut_off();
    }

    /// Takes a cable away before the run begins, until [`Sim::revive_link`]. The end ports that this cuts off are hidden
    /// from the others.
    pub fn keep_link_away(&mut self, port: PortId) {
        if self.plane.ports[port].is_up() {
            for end in [port, self.plane.ports[port].peer] {
                self.plane.ports[end].state = PortState::Down;
            }
        }
        self.find_cut_off();
        self.hide_cut_off();
    }

    /// Brings a node that was kept away or died, as after its power was cut: its tables are empty, its cables and its
    /// neighbours' ports come up in INITIALIZE. No other end port knows those that it joins again, and they are silent
    /// until they are assigned a half.
    pub fn revive_node(&mut self, node: NodeId) {
        self.forget(node);
        let was_cut_off = self.sources.cut_off.clone();
        for port in self.fabric.ports_of(node).filter(|&port| self.can_come_up(port)).collect::<Vec<_>>() {
            let peer = self.plane.ports[port].peer;
            self.bring_up(port);
            self.bring_up(peer);
            self.notice_link_state(peer);
        }
        self.welcome_joined(&was_cut_off);
    }

    /// Puts the cable at a port back in: both ends come up in INITIALIZE. Does nothing if it is up, or if the node at
    /// one of its ends is dead.
    pub fn revive_link(&mut self, port: PortId) {
        if self.plane.ports[port].is_up() || !self.can_come_up(port) {
            return;
        }
        let was_cut_off = self.sources.cut_off.clone();
        let peer = self.plane.ports[port].peer;
        for end in [port, peer] {
            self.bring_up(end);
            self.notice_link_state(end);
        }
        self.welcome_joined(&was_cut_off);
    }

    /// Plugs a cable in between two ports that are down, whose own cables have left for good. Both ends come up in
    /// INITIALIZE, at the rate of the first one.
    ///
    /// # Panics
    /// One of the ports is up, or is no external port.
    pub fn plug(&mut self, a: PortId, b: PortId) {
        let rate = self.plane.ports[a].ticks_per_byte;
        for (port, peer) in [(a, b), (b, a)] {
            assert!(!self.plane.ports[port].is_up(), "a port whose cable is up takes no other one");
            let sink = !self.plane.is_switch(self.plane.ports[peer].node);
            let own = &mut self.plane.ports[port];
            (own.peer, own.ticks_per_byte, own.sink) = (peer, rate, sink);
        }
        self.revive_link(a);
    }

    /// Whether the cable at a port and both of its ends live.
    pub fn is_up(&self, port: PortId) -> bool {
        self.plane.ports[port].is_up()
    }

    /// Whether a port has a cable between two nodes that live.
    fn can_come_up(&self, port: PortId) -> bool {
        let lives = |port: PortId| self.devices.list[self.plane.ports[port].node].alive;
        let peer = self.plane.ports[port].peer;
        peer.is_some() && lives(port) && lives(peer)
    }

    /// Lets end ports arrive that were cut off and no longer are.
    pub(super) fn welcome_joined(&mut self, was_cut_off: &By<EndPortRank, bool>) {
        self.find_cut_off();
        let joined = was_cut_off.keys().filter(|&rank| was_cut_off[rank] && !self.sources.cut_off[rank]);
        self.welcome(&joined.collect::<Vec<_>>());
        self.assert_conserved();
    }

    /// A device begins anew: empty tables, no MADs to serve, no round of its agents. It records that its ports changed,
    /// and sends no trap: its tables have no route for one.
    fn forget(&mut self, node: NodeId) {
        let device = &mut self.devices.list[node];
        device.queue.clear();
        (device.alive, device.trap) = (true, None);
        if self.devices.cold {
            self.forget_settings(node);
        }
        self.devices.list[node].switch.port_state_change = true;
        let mut block = 0;
        while let Some(entries) = self.plane.tables.block_mut(node, block.into()) {
            self.ledger.remember(node, block, self.clock.now(), entries);
            entries.fill(255);
            block += 1;
        }
        let lanes = self.plane.data_vls;
        self.plane.tables.set_sl_uniform(node, std::array::from_fn(|sl| sl as u8 % lanes));
        self.agents.forget(node);
    }

    /// Resets all settings of a device and its ports, LIDs included.
    fn forget_settings(&mut self, node: NodeId) {
        self.devices.list[node].switch = power_on::switch_info(self.fabric.node(node), &self.config);
        self.devices.kept.forget(&self.fabric.port_range(node));
        for port in self.fabric.ports_of(node) {
            self.devices.take_lids(port, Lid::default(), Lmc::default());
            self.sources.take_lids(port, Lid::default(), Lmc::default());
            let fresh = power_on::port_info(&self.fabric, self.fabric.port(port), &self.config, true);
            self.plane.set_lanes(port, fresh.operational_vls.lanes().unwrap_or(1));
            self.devices.ports[port] = fresh;
            self.plane.arbitrates(port, None);
        }
    }

    /// Brings up a port whose cable is back: in INITIALIZE it carries no data yet; both ends agree on its credits.
    fn bring_up(&mut self, port: PortId) {
        self.plane.ports[port].state = PortState::Initialize;
        self.ledger.revived(port, self.clock.now());
        self.plane.out_lanes(port).for_each(|lane| self.plane.restore_credits(lane));
    }

    /// Takes a node away as planned.
    pub fn retire_node(&mut self, node: NodeId) {
        self.retire_nodes(&[node]);
    }

    /// Takes nodes away as planned, all at once: the packets they take along are not lost to a failure.
    pub fn retire_nodes(&mut self, nodes: &[NodeId]) {
        self.lose_nodes(nodes, Loss::Planned);
    }

    /// Pulls a cable as planned.
    pub fn retire_link(&mut self, port: PortId) {
        self.lose_link(port, Loss::Planned);
    }

    fn take_down(&mut self, port: PortId, loss: Loss) {
        let own = &mut self.plane.ports[port];
        own.state = PortState::Down;
        if std::mem::take(&mut own.waits) {
            self.counters.wait_ends(port, self.clock.now());
        }
        self.counters.link_down(port);
        self.lifetimes.end_stalls(self.plane.out_lanes(port));
        if loss == Loss::Failure {
            self.ledger.died(port, self.clock.now());
        }
    }

    /// Discards every packet in the buffers of a port that has died or no longer carries data.
    pub(super) fn empty_buffers(&mut self, port: PortId) {
        // A host keeps its send queues, whatever happens to its link.
        if self.plane.ports[port].role != PortRole::EndPort {
            self.empty_queues(port);
        }
    }

    /// Finds the end ports that no way of live links leads to from a subnet manager; none while no manager runs.
    pub(super) fn find_cut_off(&mut self) {
        let nodes = self.plane.tables.node_count();
        let mut reached = By::filled(self.devices.managers.is_empty(), nodes);
        let mut queue: Vec<NodeId> = self.devices.managers.iter().map(|&port| self.plane.ports[port].node).collect();
        queue.iter().for_each(|&node| reached[node] = true);
        while let Some(node) = queue.pop() {
            // Only switches pass traffic on; a manager's own node leaves by its one port.
            let passes = self.plane.is_switch(node);
            for port in self.plane.ports_of(node) {
                let usable = self.plane.ports[port].is_up() && (passes || self.devices.managers.contains(&port));
                if usable {
                    let next = self.plane.ports[self.plane.ports[port].peer].node;
                    if !std::mem::replace(&mut reached[next], true) {
                        queue.push(next);
                    }
                }
            }
        }
        for rank in self.sources.list.keys() {
            let port = self.sources.list[rank].port;
            self.sources.cut_off[rank] = !self.plane.ports[port].is_up() || !self.is_joined(&reached, port);
        }
    }

    /// Whether the switch that an end port is cabled to was reached, or the port is a manager's own.
    fn is_joined(&self, reached: &By<NodeId, bool>, port: PortId) -> bool {
        let peer = self.plane.ports[port].peer;
        self.devices.managers.contains(&port) || reached[self.plane.ports[peer].node]
    }
}
