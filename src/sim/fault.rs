//! Death of links and switches, and the arrival of switches.
//!
//! A link that dies takes the packets on the wire and those that wait for it. A switch also takes the packets in its
//! buffers and the MADs queued at it. Neighbours that live set SwitchInfo:PortStateChange and send trap 128.

use super::device::SickAttribute;
use super::index::{By, Dense, EndPortRank};
use super::out_port::PortRole;
use super::{PortId, Sim};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lid, Lmc};
use crate::wire::VlCount;

/// Why an element goes down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The packets it takes along are lost to the failure.
    Failure,
    /// It leaves as planned: the packets it takes along are not lost to a failure.
    Planned,
}

/// Nodes and cables of a fabric that leave or come at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elements {
    /// The nodes, each once.
    pub nodes: Vec<NodeId>,
    /// One end of each cable, each cable once.
    pub links: Vec<PortId>,
}

impl Elements {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty()
    }

    /// The fabric without them.
    pub fn taken_from(&self, fabric: &Fabric) -> Fabric {
        fabric.without_nodes(&self.nodes).without_links(&self.links)
    }
}

impl From<NodeId> for Elements {
    fn from(node: NodeId) -> Elements {
        Elements { nodes: vec![node], links: Vec::new() }
    }
}

impl From<PortId> for Elements {
    /// The cable at a port.
    fn from(port: PortId) -> Elements {
        Elements { nodes: Vec::new(), links: vec![port] }
    }
}

impl From<&Elements> for Elements {
    fn from(elements: &Elements) -> Elements {
        elements.clone()
    }
}

impl Sim {
    /// Nodes with all their cables, and cables, die. Nodes die all at once, such as those of one router in its subnets.
    pub fn kill(&mut self, what: impl Into<Elements>) {
        self.take_out(&what.into(), Loss::Failure);
    }

    /// Nodes with all their cables, and cables, leave as planned: the packets they take along are not lost to a
    /// failure.
    pub fn retire(&mut self, what: impl Into<Elements>) {
        self.take_out(&what.into(), Loss::Planned);
    }

    fn take_out(&mut self, what: &Elements, loss: Loss) {
        if !what.nodes.is_empty() {
            self.lose_nodes(&what.nodes, loss);
        }
        what.links.iter().for_each(|&port| self.lose_link(port, loss));
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

    fn lose_nodes(&mut self, nodes: &[NodeId], loss: Loss) {
        self.devices.power_off(nodes);
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

    /// Takes nodes and cables away before the run begins, until [`Sim::revive`]; cables of such nodes are loose. The
    /// end ports that this cuts off are hidden from the others.
    pub fn keep_away(&mut self, what: impl Into<Elements>) {
        let what = what.into();
        self.devices.power_off(&what.nodes);
        let own = what.nodes.iter().flat_map(|&node| self.fabric.ports_of(node));
        let loose: Vec<PortId> = own.chain(what.links.iter().copied()).collect();
        for port in loose {
            if self.plane.ports[port].is_up() {
                self.plane.unplug(port);
            }
        }
        self.find_cut_off();
        self.sources.hide_cut_off();
    }

    /// Brings nodes and cables that were kept away or died. A node comes as after its power was cut: its tables are
    /// empty, its cables and its neighbours' ports come up in INITIALIZE, as both ends of a cable do. No other end port
    /// knows those that join again, and they are silent until they are assigned a half. What is up, or has a dead node
    /// at its other end, stays as it is.
    pub fn revive(&mut self, what: impl Into<Elements>) {
        let what = what.into();
        what.nodes.iter().for_each(|&node| self.revive_node(node));
        what.links.iter().for_each(|&port| self.revive_link(port));
    }

    fn revive_node(&mut self, node: NodeId) {
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

    fn revive_link(&mut self, port: PortId) {
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
        self.plane.plug(a, b);
        self.revive_link(a);
    }

    /// Lets a device's management agent fall silent, or answer again: its ports stay up, and it forwards data and
    /// management, passes tokens on and sends as before.
    pub fn deafen_node(&mut self, node: NodeId, deaf: bool) {
        self.devices.list[node].deaf = deaf;
    }

    /// Lets a device's management agent fail at one attribute; what it failed at before it fails at still.
    pub fn sicken_node(&mut self, node: NodeId, sick: SickAttribute) {
        self.devices.sicken(&self.fabric, node, sick);
    }

    /// Lets a device's management agent serve all attributes again.
    pub fn heal_node(&mut self, node: NodeId) {
        self.devices.heal(&self.fabric, node);
    }

    /// Has a device report so many data VLs at each port, and at most so many forwarding entries, as another one with
    /// its GUID would. It takes no more lanes. In a subnet that began cold this ends when it is switched off and on.
    pub fn curtail_node(&mut self, node: NodeId, lanes: VlCount, entries: u16) {
        let switch = &mut self.devices.list[node].switch;
        switch.linear_fdb_cap = switch.linear_fdb_cap.min(entries);
        for port in self.fabric.ports_of(node) {
            let held = &mut self.devices.ports[port];
            (held.vl_cap, held.operational_vls) = (lanes, lanes);
            self.plane.set_lanes(port, lanes.lanes().unwrap_or(1));
        }
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
        if self.devices.cold {
            self.forget_settings(node);
        }
        self.devices.power_on(node);
        let mut block = 0;
        while let Some(held) = self.plane.tables.replace_block(node, block.into(), &[255; 64]) {
            self.ledger.remember(node, block, self.clock.now(), held);
            block += 1;
        }
        let lanes = self.plane.data_vls;
        self.plane.tables.set_sl_uniform(node, std::array::from_fn(|sl| sl as u8 % lanes));
        self.agents.forget(node);
    }

    /// Resets all settings of a device and its ports, LIDs included.
    fn forget_settings(&mut self, node: NodeId) {
        self.devices.forget_settings(&self.fabric, &self.config, node);
        for port in self.fabric.ports_of(node) {
            self.sources.take_lids(port, Lid::default(), Lmc::default());
            self.plane.set_lanes(port, self.devices.ports[port].operational_vls.lanes().unwrap_or(1));
            self.plane.arbitrates(port, None);
        }
    }

    fn bring_up(&mut self, port: PortId) {
        self.plane.bring_up(port);
        self.ledger.revived(port, self.clock.now());
    }

    fn take_down(&mut self, port: PortId, loss: Loss) {
        if self.plane.ports[port].goes_down() {
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

    pub(super) fn find_cut_off(&mut self) {
        self.sources.find_cut_off(&self.plane, &self.devices.managers);
    }
}
