//! A quick look at a known subnet: only switches that report a change say which of their ports are down. It asks each
//! switch for SwitchInfo, and one that changed for the ports with known cables: a hundredth of a sweep's SMPs.
//!
//! A switch sets its port-change bit whenever a link of it goes down or comes up (section 14.2.5.4), and sweeps clear
//! it; so what no bit reports is as the last sweep found it. Switches are asked outwards from the SM over links that
//! were found up, so no request goes through failed elements. A link is gone if each of its ends at a reachable switch
//! reports so; if two ends differ, only a sweep decides. Deliberately omitted: additions, ports that bounced, devices
//! that are silent behind a link that is up, bits that another manager has cleared. For these a glance says that a
//! sweep is needed, or does not notice them; so a sweep must follow each glance.

use super::exchange::{Completed, Exchange, MadAnswer, MadData, MadRequest, RequestBody};
use super::manager::{Manager, answered_or_failed};
use super::paths::{DirectedPath, DirectedPaths, MOST_HOPS};
use super::port_changes::Freshness;
use super::{Glance, SubnetError};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::transport::Transport;
use crate::wire::{self, AttributeId, Method, PortInfo, SwitchInfo};
use std::cell::Cell;
use std::collections::BTreeSet;

/// The tag of a request for SwitchInfo. Any other tag is the number of the port whose PortInfo is requested.
const SWITCH: u64 = 0;

/// The number of glances before one waits for silent devices.
const MOST_GLANCES: usize = 4;

/// A glance in progress.
struct Glancing<'a> {
    fabric: &'a Fabric,
    /// Switches that have reported a change.
    changed: BTreeSet<NodeId>,
    /// By node.
    asked: Vec<bool>,
    /// By node: PortInfo outstanding there.
    open: Vec<usize>,
    down: Vec<PortId>,
    /// Whether something was found that only a sweep explains.
    unsure: bool,
    /// Switches whose bits are not cleared.
    of_others: BTreeSet<NodeId>,
}

impl Glancing<'_> {
    fn visit(&mut self, exchange: &mut Exchange, switch: NodeId, path: DirectedPath) {
        if std::mem::replace(&mut self.asked[switch.index()], true) {
            return;
        }
        match path.hops().len() <= MOST_HOPS {
            true => exchange.submit(MadRequest::get(switch.0, SWITCH, path, AttributeId::SwitchInfo, 0)),
            false => self.unsure = true,
        }
    }

    fn take(&mut self, exchange: &mut Exchange, done: Completed) {
        let switch = NodeId(done.request.queue);
        let Ok((request, MadAnswer { data: MadData::Smp(_, data), .. })) = answered_or_failed(done) else {
            return self.unsure = true;
        };
        let RequestBody::Smp { path, .. } = request.body else { return };
        if request.tag != SWITCH {
            return self.port(exchange, switch, request.tag, &PortInfo::decode(&data), path);
        }
        let info = SwitchInfo::decode(&data);
        if request.method == Method::Get && info.port_state_change {
            self.changed.insert(switch);
        }
        if request.method == Method::Get && info.port_state_change && !self.of_others.contains(&switch) {
            // Cleared before the ports are read: a change in between sets it again.
            let data = Box::new(info.encode());
            let body = RequestBody::Smp { path, attribute: AttributeId::SwitchInfo, data };
            return exchange.submit(MadRequest { method: Method::Set, body, ..request });
        }
        if request.method == Method::Get && !self.changed.contains(&switch) {
            return self.go_on(exchange, switch, &path);
        }
        for (_, port) in self.cabled(switch) {
            self.open[switch.index()] += 1;
            let (tag, modifier) = (u64::from(port.0), u32::from(port.0));
            exchange.submit(MadRequest::get(switch.0, tag, path.clone(), AttributeId::PortInfo, modifier));
        }
    }

    fn port(&mut self, exchange: &mut Exchange, switch: NodeId, num: u64, info: &PortInfo, path: DirectedPath) {
        let port = self.fabric.port_at(switch, PortNum(num as u8));
        match info.port_state {
            wire::PortState::Down => self.down.extend(port),
            wire::PortState::Active => {}
            // It went down and came back, and what is behind it may have lost everything.
            _ => self.unsure = true,
        }
        self.open[switch.index()] -= 1;
        if self.open[switch.index()] == 0 {
            self.go_on(exchange, switch, &path);
        }
    }

    /// Asks the switches behind the links of a switch that has reported which are up.
    fn go_on(&mut self, exchange: &mut Exchange, switch: NodeId, path: &DirectedPath) {
        for (port, num) in self.cabled(switch) {
            let next = self.fabric.neighbour(port).filter(|&next| self.fabric.node(next).is_switch());
            if let Some(next) = next.filter(|_| !self.down.contains(&port)) {
                self.visit(exchange, next, path.through(num));
            }
        }
    }

    /// Whether one end of a link reports it down, while the switch at the other end has answered and does not.
    fn is_contradicted(&self) -> bool {
        let mut far = self.down.iter().filter_map(|&port| self.fabric.peer(port));
        far.any(|end| self.asked[self.fabric.port(end).node.index()] && !self.down.contains(&end))
    }

    fn cabled(&self, switch: NodeId) -> Vec<(PortId, PortNum)> {
        let cabled = self.fabric.ports_of(switch).filter(|&port| self.fabric.peer(port).is_some());
        cabled.map(|port| (port, self.fabric.port(port).num)).collect()
    }
}

impl<T: Transport> Manager<T> {
    /// See [`SubnetManager::glance`](super::SubnetManager::glance).
    pub(super) async fn glance_around(&mut self) -> Result<Glance, SubnetError> {
        let topology = self.topology("a glance")?;
        let (fabric, sm) = (topology.fabric.clone(), topology.sm);
        // Stale until everything is known that the bits cleared below report.
        let is_known = self.port_changes.begin_look() == Freshness::Known;
        // Nothing gets through a port without a link, and a sweep finds that without a question to a switch.
        if !is_known || self.own_port_is_down() {
            return Ok(Glance::Unsure);
        }
        for _ in 1..MOST_GLANCES {
            if let Some(glance) = self.glance_once(&fabric, sm, true).await? {
                return Ok(glance);
            }
            // Their reports are looked at now.
            self.events.clear();
        }
        Ok(self.glance_once(&fabric, sm, false).await?.expect("nothing cuts it short"))
    }

    /// One walk over the switches. None if it is cut short, as `until_event` allows: a device does not answer in its
    /// time, and the subnet has reported a change meanwhile, which may be that this device died.
    async fn glance_once(
        &mut self,
        fabric: &Fabric,
        sm: PortId,
        until_event: bool,
    ) -> Result<Option<Glance>, SubnetError> {
        let mut exchange = Exchange::ended_by_event(self.timing);
        let (nodes, home) = (fabric.node_count(), fabric.port(sm).node);
        let mut glancing = Glancing {
            fabric,
            changed: self.port_changes.take_reported(),
            asked: vec![false; nodes],
            open: vec![0; nodes],
            down: Vec::new(),
            unsure: false,
            of_others: fabric.switches().filter(|&switch| !self.clears_bit_of(fabric, switch)).collect(),
        };
        let first = match fabric.node(home).is_switch() {
            true => Some((home, DirectedPath::default())),
            false => fabric.neighbour(sm).map(|next| (next, DirectedPath::default().through(fabric.port(sm).num))),
        };
        match first.filter(|&(next, _)| fabric.node(next).is_switch()) {
            Some((switch, path)) => glancing.visit(&mut exchange, switch, path),
            // Only switches report the states of links.
            None => glancing.unsure = fabric.links().next().is_some(),
        }
        let on = |exchange: &mut Exchange, done| {
            glancing.take(exchange, done);
            if glancing.unsure {
                // A sweep follows and asks again. A device that died during the glance does not answer the next
                // question either.
                exchange.forget_reads();
            }
        };
        let is_cut = Cell::new(false);
        let died = |manager: &Manager<T>, exchange: &Exchange| {
            is_cut.set(is_cut.get() || until_event && !manager.events.is_empty() && exchange.repeats());
            is_cut.get()
        };
        let quiet_at_ns = self.quiet_at_ns;
        self.run_until(&mut exchange, on, died).await?;
        if is_cut.get() {
            // Copies of a `Set` may be under way that clears a bit, and the sweep after the change reads the ports: no
            // write waits for them.
            self.quiet_at_ns = quiet_at_ns;
            self.port_changes.report(glancing.changed);
            return Ok(None);
        }
        if self.transport.now_ns() < self.quiet_at_ns {
            // A late copy of a `Set` may clear what a later change sets.
            self.port_changes.report(std::mem::take(&mut glancing.changed));
        }
        if glancing.unsure || glancing.is_contradicted() {
            return Ok(Some(Glance::Unsure));
        }
        if glancing.down.is_empty() {
            self.port_changes.end_look(Freshness::Known);
            return Ok(Some(Glance::Same));
        }
        // Known once the caller has set what is left.
        self.port_changes.end_look(Freshness::New);
        let rest = fabric.without_links(&glancing.down);
        let paths = DirectedPaths::new(&rest, sm);
        let present = rest.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
        let gone: Vec<NodeId> = present.filter(|&node| !paths.reaches(node)).collect();
        Ok(Some(Glance::Less(rest.without_nodes(&gone))))
    }
}
