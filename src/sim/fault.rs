//! Death of links and switches, and the arrival of switches.
//!
//! A link that dies takes what is on the wire and what waits for it; a switch takes everything in its buffers too, and the
//! management queued at it. Neighbours that live mark the change (SwitchInfo:PortStateChange) and send trap 128.

use super::packet::NIL;
use super::wheel::Ticks;
use super::{PortId, Sim, power_on};
use crate::fabric::NodeId;
use crate::ids::{Lid, Lmc};
use crate::wire::PortState;

impl Sim {
    /// Kills the cable at a port.
    pub fn kill_link(&mut self, port: PortId) {
        let peer = self.net.ports[port.index()].peer;
        if peer == NIL || !self.net.ports[port.index()].alive {
            return;
        }
        for end in [port.0, peer] {
            self.take_down(end);
        }
        for end in [port.0, peer] {
            self.port_changed(end);
            self.notice_link_state(end);
        }
        self.find_cut_off();
    }

    /// Kills a node with all its cables.
    pub fn kill_node(&mut self, node: NodeId) {
        self.kill_nodes(&[node]);
    }

    /// Kills nodes with all their cables at once: those that a router is in its subnets.
    pub fn kill_nodes(&mut self, nodes: &[NodeId]) {
        nodes.iter().for_each(|node| self.devices.list[node.index()].alive = false);
        let ports: Vec<PortId> = nodes.iter().flat_map(|&node| self.fabric.ports_of(node)).collect();
        let cabled: Vec<u32> = ports.iter().map(|port| port.0).filter(|&p| self.net.ports[p as usize].alive).collect();
        for &port in &cabled {
            self.take_down(port);
            self.take_down(self.net.ports[port as usize].peer);
        }
        // Behind a cable that died earlier packets may stand, too.
        let wired = |port: &u32| self.net.ports[*port as usize].peer != NIL;
        for port in ports.iter().map(|port| port.0).filter(wired).collect::<Vec<_>>() {
            self.empty_buffers(port);
        }
        for &port in &cabled {
            let peer = self.net.ports[port as usize].peer;
            self.port_changed(peer);
            self.notice_link_state(peer);
        }
        self.find_cut_off();
    }

    /// Takes a node away before the run begins: its cables hang loose until [`Sim::revive_node`]. Nobody knows of the end
    /// ports that this cuts off.
    pub fn keep_away(&mut self, node: NodeId) {
        self.devices.list[node.index()].alive = false;
        for port in self.fabric.ports_of(node).filter(|port| self.net.ports[port.index()].alive).collect::<Vec<_>>() {
            for end in [port.0, self.net.ports[port.index()].peer] {
                let state = &mut self.net.ports[end as usize];
                (state.alive, state.sends, state.state) = (false, false, PortState::Down);
            }
        }
        self.find_cut_off();
        self.hide_cut_off();
    }

    /// Brings a node that was kept away or died, as after its power was cut: its tables are empty, its cables and its
    /// neighbours' ports come up in INITIALIZE. End ports that it joins with the others again are unknown to all, and
    /// silent until they are told of a half.
    pub fn revive_node(&mut self, node: NodeId) {
        self.forget(node);
        let was_cut_off = self.ledger.cut_off.clone();
        for port in self.fabric.ports_of(node).filter(|&port| self.can_come_up(port)).collect::<Vec<_>>() {
            let peer = self.net.ports[port.index()].peer;
            self.bring_up(port.0, peer);
            self.bring_up(peer, port.0);
            self.notice_link_state(peer);
        }
        self.welcome_joined(&was_cut_off);
    }

    /// Puts the cable at a port back in: both ends come up in INITIALIZE. Nothing happens where it is up, or where one
    /// of its ends is at a node that is dead.
    pub fn revive_link(&mut self, port: PortId) {
        if self.net.ports[port.index()].alive || !self.can_come_up(port) {
            return;
        }
        let was_cut_off = self.ledger.cut_off.clone();
        let peer = self.net.ports[port.index()].peer;
        for (end, other) in [(port.0, peer), (peer, port.0)] {
            self.bring_up(end, other);
            self.notice_link_state(end);
        }
        self.welcome_joined(&was_cut_off);
    }

    /// Whether a port has a cable between two nodes that live.
    fn can_come_up(&self, port: PortId) -> bool {
        let lives = |port: u32| self.devices.list[self.net.ports[port as usize].node as usize].alive;
        let peer = self.net.ports[port.index()].peer;
        peer != NIL && lives(port.0) && lives(peer)
    }

    /// Sees to end ports that were cut off and are so no more.
    pub(super) fn welcome_joined(&mut self, was_cut_off: &[bool]) {
        self.find_cut_off();
        let joined = (0..was_cut_off.len()).filter(|&rank| was_cut_off[rank] && !self.ledger.cut_off[rank]);
        self.welcome(&joined.map(|rank| rank as u32).collect::<Vec<_>>());
    }

    /// A device begins anew: nothing in its tables, nothing to serve, no agent at work. It tells that its ports changed
    /// when it is asked; a trap would find no way.
    fn forget(&mut self, node: NodeId) {
        let device = &mut self.devices.list[node.index()];
        device.queue.clear();
        (device.alive, device.trap) = (true, None);
        if self.began_cold {
            self.forget_settings(node);
        }
        self.devices.list[node.index()].switch.port_state_change = true;
        let row = self.net.tables.row(node.0);
        let mut block = 0;
        while let Some(entries) = self.net.tables.block_mut(node.0, block.into()) {
            self.ledger.remember(row, block, self.now, entries);
            entries.fill(255);
            block += 1;
        }
        let lanes = self.net.data_vls;
        self.net.tables.set_sl_uniform(node.0, std::array::from_fn(|sl| sl as u8 % lanes));
        self.agents.forget(node.index());
    }

    /// What was ever set at a device and its ports is gone, LIDs too.
    fn forget_settings(&mut self, node: NodeId) {
        self.devices.list[node.index()].switch = power_on::switch_info(self.fabric.node(node), &self.config);
        self.forget_kept(node);
        for port in self.fabric.ports_of(node) {
            self.devices.take_lids(port.0, Lid::default(), Lmc::default());
            self.sources.take_lids(port.0, Lid::default(), Lmc::default());
            let fresh = power_on::port_info(&self.fabric, self.fabric.port(port), &self.config, true);
            self.net.set_lanes(port.0, fresh.operational_vls.lanes().unwrap_or(1));
            self.devices.ports[port.index()] = fresh;
        }
    }

    /// A port whose cable comes back: it carries no data yet, and knows what room the far end has.
    fn bring_up(&mut self, port: u32, peer: u32) {
        let state = &mut self.net.ports[port as usize];
        (state.alive, state.sends, state.receives, state.state) = (true, false, true, PortState::Initialize);
        self.ledger.revived[port as usize] = self.now;
        for vl in 0..self.net.data_vls {
            let (out, far) = (self.net.lane(port, vl), self.net.lane(peer, vl));
            let held = self.net.ins[far as usize].held;
            self.restore_credits(out, self.net.capacity - held as u16);
        }
    }

    /// Takes a node away that was to leave as planned: whatever it takes along is no failure's loss.
    pub fn retire_node(&mut self, node: NodeId) {
        self.retiring = true;
        self.kill_node(node);
        self.retiring = false;
    }

    /// Pulls a cable that was to leave as planned.
    pub fn retire_link(&mut self, port: PortId) {
        self.retiring = true;
        self.kill_link(port);
        self.retiring = false;
    }

    fn take_down(&mut self, port: u32) {
        self.count_link_down(port);
        let state = &mut self.net.ports[port as usize];
        // What an ARMED port held back in its buffer goes on: no cable, nothing to wait for.
        (state.alive, state.sends, state.receives, state.state) = (false, false, true, PortState::Down);
        if !self.retiring {
            (self.ledger.died[port as usize], self.ledger.revived[port as usize]) = (self.now, Ticks::MAX);
        }
    }

    /// Discards all that stands in the buffers of a port that has died, or carries no data any more.
    pub(super) fn empty_buffers(&mut self, port: u32) {
        if self.net.ports[port as usize].source {
            return;
        }
        let first = self.net.lane(port, 0);
        for lane in first..first + u32::from(self.net.data_vls) {
            while self.net.ins[lane as usize].head != NIL {
                self.unwait(lane);
                self.discard_head(lane);
            }
        }
    }

    /// Which end ports can no longer be reached from a subnet manager; none, as long as there is no manager.
    pub(super) fn find_cut_off(&mut self) {
        let nodes = self.net.tables.node_count();
        let mut reached = vec![self.managers.is_empty(); nodes];
        let mut queue: Vec<u32> = self.managers.iter().map(|&port| self.net.ports[port as usize].node).collect();
        queue.iter().for_each(|&node| reached[node as usize] = true);
        while let Some(node) = queue.pop() {
            // Only switches pass traffic on; a manager's own node leaves by its one port.
            let passes = self.net.tables.row(node) != NIL;
            let first = self.net.first_port(node);
            for port in first + 1..=first + u32::from(self.net.num_ports(node)) {
                let usable = self.net.ports[port as usize].alive && (passes || self.managers.contains(&port));
                if usable {
                    let next = self.net.ports[self.net.ports[port as usize].peer as usize].node;
                    if !std::mem::replace(&mut reached[next as usize], true) {
                        queue.push(next);
                    }
                }
            }
        }
        for source in &self.sources.list {
            let port = &self.net.ports[source.port as usize];
            self.ledger.cut_off[source.rank as usize] = !port.alive || !self.hangs_on(&reached, source.port);
        }
    }

    /// Whether the switch that an end port hangs on was reached, or the port is a manager's own.
    fn hangs_on(&self, reached: &[bool], port: u32) -> bool {
        let peer = self.net.ports[port as usize].peer;
        self.managers.contains(&port) || reached[self.net.ports[peer as usize].node as usize]
    }
}
