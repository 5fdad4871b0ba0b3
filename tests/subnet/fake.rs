//! A subnet of responders in memory, built from a [`Fabric`]: directed routes are walked hop by hop, each device
//! answers as its agent would, and MADs get lost, late and doubled as a seed says. It has no data plane: what the
//! agents say of lanes and sources is scripted by delays.

use async_trait::async_trait;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use reconfig::fabric::{Fabric, Node, NodeId, NodeKind, PortId, PortZero};
use reconfig::ids::{Half, Lid, PortNum, Sl, Vl};
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::wire::vendor::{ActiveHalf, DrainToken, Flush, LaneStatus};
use reconfig::wire::{
    self, AttributeId, LinearForwardingTable, Method, NodeDescription, NodeInfo, NodeType, Notice, PerfAttributeId,
    PerfMad, PortDataSl, PortInfo, Route, SlToVlMappingTable, Smp, SmpAction, SwitchInfo, VlCount, class, class_of,
    status,
};
use std::collections::{BTreeMap, BTreeSet};

/// What befalls MADs. Each one is drawn for on its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub loss: f64,
    pub duplicate: f64,
    /// Extra delay, up to this.
    pub delay_ns: u64,
    /// How much later a duplicate comes, at most.
    pub duplicate_delay_ns: u64,
}

/// Something on its way.
#[derive(Clone, Debug)]
enum Parcel {
    ToDevice(Datagram),
    ToManager(Datagram),
}

/// One device's state.
#[derive(Clone, Debug, Default)]
pub struct Device {
    pub lft: BTreeMap<u32, [u8; 64]>,
    /// By modifier at a switch, by port number at a CA.
    pub sl_to_vl: BTreeMap<u32, [u8; 64]>,
    pub arcs: BTreeMap<u32, [u8; 64]>,
    pub ports: BTreeMap<u8, PortInfo>,
    /// By port: the half and since when.
    pub halves: BTreeMap<u8, (Half, u64)>,
    pub port_state_change: bool,
    pub life_time_value: u8,
    /// The flush under way and when it began.
    pub flush: Option<(Flush, u64)>,
    pub token: Option<DrainToken>,
    /// By port: counters sent and received.
    pub counters: BTreeMap<u8, [[u32; 16]; 2]>,
    /// Sets that were carried out, repetitions included.
    pub sets: u64,
    /// How many requests more it answers with *busy*.
    pub busy_answers: u32,
    /// Its ports go from ARMED to ACTIVE by themselves.
    pub eager: bool,
    /// It takes no SL-to-VL table but the one it has.
    pub stubborn: bool,
    /// It takes no forwarding entries but those that it has.
    pub keeps_entries: bool,
}

impl Device {
    fn switch_info(&self, owner: &Node) -> SwitchInfo {
        SwitchInfo {
            linear_fdb_cap: owner.lft_capacity,
            optimised_sl_to_vl_programming: u8::from(owner.optimised_sl_to_vl),
            enhanced_port0: owner.port_zero == PortZero::Enhanced,
            port_state_change: self.port_state_change,
            life_time_value: self.life_time_value,
            ..SwitchInfo::default()
        }
    }
}

/// What a Set of PortInfo does to a port; an eager one goes from ARMED to ACTIVE by itself.
fn set_port(info: &mut PortInfo, asked: &PortInfo, eager: bool) {
    info.port_state = match asked.port_state {
        wire::PortState::NoChange => info.port_state,
        wire::PortState::Down => wire::PortState::Initialize,
        wire::PortState::Armed if eager => wire::PortState::Active,
        state => state,
    };
    (info.master_sm_lid, info.master_sm_sl) = (asked.master_sm_lid, asked.master_sm_sl);
    (info.lid, info.lmc) = (asked.lid, asked.lmc);
}

/// A subnet in memory, seen from one port.
#[derive(Debug)]
pub struct Fake {
    pub fabric: Fabric,
    pub sm_port: PortId,
    pub devices: Vec<Device>,
    pub faults: Faults,
    pub silent: BTreeSet<NodeId>,
    /// How long sources take to settle, devices to flush, lanes to run empty.
    pub lag_ns: u64,
    /// Leaf reports are lost with this probability.
    pub report_loss: f64,
    /// Devices that must be started before the leaves report: (devices, leaves as end port ids).
    pub token_course: Option<(BTreeSet<NodeId>, Vec<PortId>)>,
    started: BTreeMap<u32, BTreeSet<NodeId>>,
    /// The largest number of requests under way to one device, and in all.
    pub most_under_way: (usize, usize),
    under_way: BTreeMap<Vec<u8>, usize>,
    under_way_total: usize,
    pub repressed: Vec<u64>,
    pub reports_answered: usize,
    /// Node of every Set in the order in which they were sent.
    pub sent_sets: Vec<(NodeId, AttributeId, u32)>,
    random: Pcg32,
    now_ns: u64,
    parcels: BTreeMap<(u64, u64), Parcel>,
    parcels_sent: u64,
}

impl Fake {
    pub fn new(fabric: Fabric, sm_port: PortId, seed: u64) -> Fake {
        let devices = fabric.nodes().map(|(id, _)| device(&fabric, id)).collect();
        Fake {
            fabric,
            sm_port,
            devices,
            faults: Faults::default(),
            silent: BTreeSet::new(),
            lag_ns: 0,
            report_loss: 0.0,
            token_course: None,
            started: BTreeMap::new(),
            most_under_way: (0, 0),
            under_way: BTreeMap::new(),
            under_way_total: 0,
            repressed: Vec::new(),
            reports_answered: 0,
            sent_sets: Vec::new(),
            random: Pcg32::seed_from_u64(seed),
            now_ns: 0,
            parcels: BTreeMap::new(),
            parcels_sent: 0,
        }
    }

    /// A device sends a trap to the manager.
    pub fn trap(&mut self, notice: &Notice, tid: u64, at_ns: u64) {
        let smp = Smp::lid_routed(Method::Trap, AttributeId::Notice, 0, notice.encode()).with_tid(tid);
        let bytes = Box::new(smp.encode());
        let datagram = Datagram { lid: notice.issuer_lid, from: None, qp: 0, sl: Sl::default(), bytes };
        self.post(at_ns, Parcel::ToManager(datagram));
    }

    /// The manager's process is stopped for so long.
    pub fn stop_for(&mut self, pause_ns: u64) {
        self.now_ns += pause_ns;
    }

    /// Hands the manager a datagram as it is.
    pub fn deliver(&mut self, datagram: Datagram, at_ns: u64) {
        self.post(at_ns, Parcel::ToManager(datagram));
    }

    fn post(&mut self, at_ns: u64, parcel: Parcel) {
        self.parcels_sent += 1;
        self.parcels.insert((at_ns, self.parcels_sent), parcel);
    }

    /// On its way, as the faults allow.
    fn dispatch(&mut self, parcel: Parcel) {
        let Faults { loss, duplicate, delay_ns, duplicate_delay_ns } = self.faults;
        let delay = |random: &mut Pcg32, most: u64| if most == 0 { 0 } else { random.random_range(0..=most) };
        let at_ns = self.now_ns + 1_000 + delay(&mut self.random, delay_ns);
        if self.random.random_bool(duplicate) {
            let late_ns = at_ns + delay(&mut self.random, duplicate_delay_ns);
            self.post(late_ns, parcel.clone());
        }
        if !self.random.random_bool(loss) {
            self.post(at_ns, parcel);
        }
    }

    /// Follows a directed route; where it ends, and through which port. None where it is discarded.
    fn walk(&self, smp: &mut Smp) -> Option<(NodeId, PortNum)> {
        let Route::Directed(route) = &mut smp.route else { return None };
        let mut node = self.fabric.port(self.sm_port).node;
        let mut arrival: Option<PortNum> = None;
        loop {
            match route.advance(arrival) {
                SmpAction::Deliver => {
                    let own = if self.fabric.node(node).is_switch() { PortNum::ZERO } else { self.own_port(node) };
                    return Some((node, arrival.unwrap_or(own)));
                }
                SmpAction::Forward(port) => {
                    if arrival.is_some() && !self.fabric.node(node).is_switch() {
                        return None;
                    }
                    let peer = self.fabric.peer(self.fabric.port_at(node, port)?)?;
                    (node, arrival) = (self.fabric.port(peer).node, Some(self.fabric.port(peer).num));
                }
                SmpAction::Discard => return None,
            }
        }
    }

    fn own_port(&self, node: NodeId) -> PortNum {
        let sm = self.fabric.port(self.sm_port);
        if sm.node == node { sm.num } else { PortNum(1) }
    }

    fn serve(&mut self, datagram: &Datagram) {
        if class_of(&datagram.bytes) == class::PERFORMANCE {
            return self.serve_counters(datagram);
        }
        let mut smp = Smp::decode(&datagram.bytes).expect("the manager sends sound SMPs");
        match smp.method {
            Method::TrapRepress => return self.repressed.push(smp.tid),
            Method::ReportResp => return self.reports_answered += 1,
            _ => {}
        }
        let Some((node, arrival)) = self.walk(&mut smp) else { return };
        if self.silent.contains(&node) || !self.fabric.node(node).present {
            return;
        }
        let answer = if self.devices[node.index()].busy_answers > 0 {
            self.devices[node.index()].busy_answers -= 1;
            Err(status::BUSY)
        } else {
            self.attribute(node, arrival, &smp)
        };
        let mut answer = match answer {
            Ok(data) => smp.response(data),
            Err(status) => smp.refusal(status),
        };
        let Route::Directed(_) = answer.route else { return };
        // The way back is the way out: it is walked in one step.
        if let Route::Directed(route) = &mut answer.route {
            route.hop_pointer = 0;
        }
        let bytes = Box::new(answer.encode());
        self.dispatch(Parcel::ToManager(Datagram {
            lid: Lid::PERMISSIVE,
            from: None,
            qp: 0,
            sl: Sl::default(),
            bytes,
        }));
    }

    fn attribute(&mut self, node: NodeId, arrival: PortNum, smp: &Smp) -> Result<[u8; 64], u16> {
        let set = smp.method == Method::Set;
        self.devices[node.index()].sets += u64::from(set);
        let owner = self.fabric.node(node).clone();
        let port = if owner.is_switch() { PortNum(smp.modifier as u8) } else { arrival };
        let now_ns = self.now_ns;
        let lag_ns = self.lag_ns;
        let is_switch = owner.is_switch();
        let device = &mut self.devices[node.index()];
        match smp.attribute {
            AttributeId::NodeInfo => Ok(self.node_info(node, arrival).encode()),
            AttributeId::NodeDescription => Ok(NodeDescription::new(&owner.description).encode()),
            AttributeId::SwitchInfo if is_switch => {
                if set {
                    let asked = SwitchInfo::decode(&smp.data);
                    device.port_state_change &= !asked.port_state_change;
                }
                Ok(device.switch_info(&owner).encode())
            }
            AttributeId::PortInfo => {
                let number = if smp.modifier == 0 && !is_switch { arrival.0 } else { smp.modifier as u8 };
                let eager = device.eager;
                let info = device.ports.get_mut(&number).ok_or(status::INVALID_VALUE)?;
                if set {
                    set_port(info, &PortInfo::decode(&smp.data), eager);
                }
                Ok(info.encode())
            }
            AttributeId::LinearForwardingTable if is_switch => {
                if set && !device.keeps_entries {
                    device.lft.insert(smp.modifier, smp.data);
                }
                Ok(*device.lft.get(&smp.modifier).unwrap_or(&LinearForwardingTable([255; 64]).encode()))
            }
            AttributeId::SlToVlMappingTable => {
                let key = if is_switch { smp.modifier } else { u32::from(arrival.0) };
                let table = device.sl_to_vl.entry(key).or_insert(SlToVlMappingTable([Vl::default(); 16]).encode());
                if set && !device.stubborn {
                    *table = smp.data;
                }
                Ok(*table)
            }
            AttributeId::ActiveHalf => {
                let entry = device.halves.entry(port.0).or_insert((Half::Lower, 0));
                if set {
                    *entry = (ActiveHalf::decode(&smp.data).half, now_ns);
                }
                Ok(ActiveHalf { half: entry.0, settled: now_ns >= entry.1 + lag_ns }.encode())
            }
            AttributeId::Flush => {
                if set {
                    device.flush = Some((Flush::decode(&smp.data), now_ns));
                }
                let (flush, since) = device.flush.ok_or(status::INVALID_VALUE)?;
                Ok(Flush { flushed: now_ns >= since + lag_ns, ..flush }.encode())
            }
            AttributeId::LaneStatus => {
                let drained = (0..=owner.num_ports).filter(|_| now_ns >= lag_ns);
                let drained_outputs = drained.map(PortNum).collect();
                Ok(LaneStatus { drained_outputs, empty_inputs: drained_outputs }.encode())
            }
            AttributeId::DrainArcs => {
                if set {
                    device.arcs.insert(smp.modifier, smp.data);
                }
                Ok(smp.data)
            }
            AttributeId::DrainToken => self.drain_token(node, set, &smp.data),
            _ => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        }
    }

    /// Once every device of the course was started, all leaves have their token, and report it.
    fn drain_token(&mut self, node: NodeId, set: bool, data: &[u8; 64]) -> Result<[u8; 64], u16> {
        let token = DrainToken::decode(data);
        if !set {
            return Ok(self.devices[node.index()].token.unwrap_or(DrainToken::new(0, token.lanes)).encode());
        }
        let Some((needed, leaves)) = self.token_course.clone() else { return Err(status::INVALID_VALUE) };
        let started = self.started.entry(token.round).or_default();
        let first_time = started.insert(node);
        if first_time && *started == needed {
            for (id, owner) in self.fabric.nodes().filter(|(_, owner)| owner.is_switch()) {
                let inputs_done = (0..=owner.num_ports).map(PortNum).collect();
                self.devices[id.index()].token = Some(DrainToken { inputs_done, ..token });
            }
            for leaf in leaves {
                self.leaf_reached(leaf, token);
            }
        }
        Ok(token.encode())
    }

    fn leaf_reached(&mut self, leaf: PortId, token: DrainToken) {
        let end = self.fabric.peer(leaf).expect("a leaf channel leads somewhere");
        let owner = self.fabric.port(end).clone();
        let device = &mut self.devices[owner.node.index()];
        let mut state = device.token.filter(|state| state.round == token.round).unwrap_or(token);
        state.inputs_done.insert(owner.num);
        device.token = Some(state);
        let lid_port = if self.fabric.node(owner.node).is_switch() {
            self.fabric.port_at(owner.node, PortNum::ZERO).expect("port 0")
        } else {
            end
        };
        let lid = self.fabric.port(lid_port).lid.expect("a LID");
        let smp = Smp::lid_routed(Method::Report, AttributeId::DrainToken, u32::from(owner.num.0), state.encode());
        let smp = smp.with_tid(u64::from(leaf.0));
        let datagram = Datagram { lid, from: None, qp: 0, sl: Sl::default(), bytes: Box::new(smp.encode()) };
        if !self.random.random_bool(self.report_loss) {
            let at_ns = self.now_ns + 50_000;
            self.post(at_ns, Parcel::ToManager(datagram));
        }
    }

    fn serve_counters(&mut self, datagram: &Datagram) {
        let mad = PerfMad::decode(&datagram.bytes).expect("the manager sends sound MADs");
        let Some(port) = self.fabric.lid_owner(datagram.lid) else { return };
        assert_eq!(self.fabric.half_of(datagram.lid), Some(Half::of_sl(datagram.sl)), "an illegal class");
        let owner = self.fabric.port(port).clone();
        let asked = PortDataSl::decode(&mad.data);
        assert_eq!(asked.port, owner.num);
        let which = usize::from(mad.attribute == PerfAttributeId::PortRcvDataSl);
        let counters = self.devices[owner.node.index()].counters.entry(owner.num.0).or_default();
        if mad.method == Method::Set {
            (0..16).filter(|sl| asked.counter_select >> sl & 1 == 1).for_each(|sl| counters[which][sl] = 0);
        }
        let data = PortDataSl { counters: counters[which], ..asked }.encode();
        let bytes = Box::new(mad.response(data).encode());
        self.dispatch(Parcel::ToManager(Datagram { lid: datagram.lid, from: None, qp: 1, sl: datagram.sl, bytes }));
    }

    fn node_info(&self, node: NodeId, arrival: PortNum) -> NodeInfo {
        let owner = self.fabric.node(node);
        let named = if owner.is_switch() { PortNum::ZERO } else { arrival };
        let port = self.fabric.port_at(node, named).map(|port| self.fabric.port(port));
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: match owner.kind {
                NodeKind::Switch => NodeType::Switch,
                NodeKind::Ca => NodeType::ChannelAdapter,
                NodeKind::Router => NodeType::Router,
            },
            num_ports: owner.num_ports,
            system_guid: owner.system_guid.unwrap_or_default(),
            node_guid: owner.guid,
            port_guid: port.and_then(|port| port.guid).unwrap_or_default(),
            partition_cap: 32,
            device_id: owner.device_id as u16,
            revision: 0,
            local_port: arrival,
            vendor_id: owner.vendor_id,
        }
    }

    /// Counts requests under way, each route being a device; duplicates and repetitions count once.
    fn count_out(&mut self, datagram: &Datagram) {
        let Ok(smp) = Smp::decode(&datagram.bytes) else { return };
        let Route::Directed(route) = &smp.route else { return };
        let path: Vec<u8> = route.path().map(|port| port.0).collect();
        let mut walked = smp.clone();
        if let (Some((node, _)), Method::Set) = (self.walk(&mut walked), smp.method) {
            self.sent_sets.push((node, smp.attribute, smp.modifier));
        }
        let under_way = self.under_way.entry(path).or_default();
        *under_way += 1;
        self.under_way_total += 1;
        self.most_under_way.0 = self.most_under_way.0.max(*under_way);
        self.most_under_way.1 = self.most_under_way.1.max(self.under_way_total);
    }

    fn count_in(&mut self, datagram: &Datagram) {
        let Ok(smp) = Smp::decode(&datagram.bytes) else { return };
        let Route::Directed(route) = &smp.route else { return };
        let path: Vec<u8> = route.path().map(|port| port.0).collect();
        if let Some(under_way) = self.under_way.get_mut(&path).filter(|under_way| **under_way > 0) {
            *under_way -= 1;
            self.under_way_total -= 1;
        }
    }
}

fn device(fabric: &Fabric, node: NodeId) -> Device {
    let mut device = Device { life_time_value: 0x12, ..Device::default() };
    for id in fabric.ports_of(node) {
        let port = fabric.port(id);
        let mut info = PortInfo { local_port_num: port.num, lmc: port.lmc, ..PortInfo::default() };
        info.lid = port.lid.unwrap_or_default();
        info.vl_cap = VlCount::at_most(port.data_vls).unwrap_or(VlCount::One);
        info.link_width_active = port.width.into();
        info.set_speed(port.speed);
        let up = port.peer.is_some() || port.num == PortNum::ZERO;
        info.port_state = if up { wire::PortState::Active } else { wire::PortState::Down };
        device.ports.insert(port.num.0, info);
    }
    device
}

#[async_trait(?Send)]
impl Transport for Fake {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        self.count_out(&datagram);
        self.dispatch(Parcel::ToDevice(datagram));
        Ok(())
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        while let Some(entry) = self.parcels.first_entry() {
            let at_ns = entry.key().0;
            if at_ns > until_ns {
                break;
            }
            let parcel = entry.remove();
            self.now_ns = self.now_ns.max(at_ns);
            match parcel {
                Parcel::ToDevice(datagram) => self.serve(&datagram),
                Parcel::ToManager(datagram) => {
                    self.count_in(&datagram);
                    return Ok(Some(datagram));
                }
            }
        }
        if until_ns == u64::MAX {
            return Err(TransportError::Closed("nothing will ever come".to_string()));
        }
        self.now_ns = self.now_ns.max(until_ns);
        Ok(None)
    }
}
