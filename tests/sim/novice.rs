//! A small subnet manager: it knows the fabric beforehand, asks one question at a time and waits for the answer.

use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Lid, Lmc, PortNum, Sl};
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Halt, Sim, SimConfig};
use reconfig::tables::SubnetTables;
use reconfig::transport::Datagram;
use reconfig::wire::{
    AttributeId, Method, NodeInfo, Notice, PERF_DATA_SIZE, PerfAttributeId, PerfMad, PortCounters,
    PortCountersExtended, PortDataSl, PortInfo, PortState, Smp, SwitchInfo, Trap,
};
use std::collections::{BTreeMap, VecDeque};

/// How long an answer may take before it is taken for lost.
const PATIENCE_NS: u64 = 2_000_000;

/// One end of a link: the node's GUID and the port's number.
pub type End = (Guid, PortNum);

/// The manager and its subnet.
pub struct Novice {
    pub sim: Sim,
    /// The port it sits at.
    pub sm: PortId,
    /// The fabric with the LIDs that it gives.
    pub fabric: Fabric,
    /// The key it sends.
    pub m_key: u64,
    tables: Option<SubnetTables>,
    /// By node: the output ports that lead to it.
    ways: BTreeMap<NodeId, Vec<PortNum>>,
    /// LIDs that the fabric does not know of.
    moved: BTreeMap<PortId, Lid>,
    tid: u64,
    kept: VecDeque<Datagram>,
}

impl Novice {
    /// At the first end port of a cold fabric, routed by up*/down* with LMC 1.
    pub fn new(made: &Fabric, config: SimConfig) -> Novice {
        let fabric = lid::assign(made, Lmc::masked(1)).unwrap();
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        let tables = lid::bring_up(&fabric, &function, config.data_vls);
        let sm = fabric.end_ports().next().unwrap();
        let mut sim = Sim::cold(made, config).unwrap();
        sim.attach(sm).unwrap();
        sim.set_is_sm(sm, true);
        Novice { tables: Some(tables), ..Novice::over(&fabric, sim, sm) }
    }

    /// At the port of a subnet that runs already.
    pub fn over(fabric: &Fabric, sim: Sim, sm: PortId) -> Novice {
        let ways = ways(fabric, sm);
        let (fabric, moved, kept) = (fabric.clone(), BTreeMap::new(), VecDeque::new());
        Novice { sim, sm, fabric, m_key: 0, tables: None, ways, moved, tid: 1, kept }
    }

    /// LIDs, tables, ACTIVE ports: all of the fabric.
    pub fn bring_up(&mut self) {
        self.give_lids();
        self.write_tables();
        self.activate(|_| true);
    }

    /// Walks the subnet from its own port, and tells both directions of every link, in order.
    pub fn discover(&mut self) -> Vec<(End, End)> {
        let mut seen: BTreeMap<Guid, Vec<PortNum>> = BTreeMap::new();
        let mut links = Vec::new();
        let mut next = VecDeque::from([Vec::new()]);
        while let Some(way) = next.pop_front() {
            let info = NodeInfo::decode(&self.ask(&way, Method::Get, AttributeId::NodeInfo, 0, [0; 64]).unwrap().data);
            if seen.insert(info.node_guid, way.clone()).is_some() {
                continue;
            }
            let passes = info.node_type == reconfig::wire::NodeType::Switch;
            for num in (1..=info.num_ports).map(PortNum).filter(|_| passes || way.is_empty()) {
                let on: Vec<PortNum> = way.iter().copied().chain([num]).collect();
                let Some(far) = self.ask(&on, Method::Get, AttributeId::NodeInfo, 0, [0; 64]) else { continue };
                let far = NodeInfo::decode(&far.data);
                let (here, there) = ((info.node_guid, num), (far.node_guid, far.local_port));
                links.extend([(here, there), (there, here)]);
                next.push_back(on);
            }
        }
        links.sort();
        links.dedup();
        links
    }

    /// Gives every port its LID and tells it where the manager is.
    pub fn give_lids(&mut self) {
        let master = self.lid_of(self.sm);
        for port in self.fabric.lid_ports().collect::<Vec<_>>() {
            let at = self.fabric.port(port).clone();
            let told = PortInfo {
                lid: at.lid.unwrap(),
                lmc: at.lmc,
                master_sm_lid: master,
                port_state: PortState::NoChange,
                ..self.port_info(at.node, at.num)
            };
            let answer = self.set(at.node, AttributeId::PortInfo, at.num.0.into(), told.encode()).unwrap();
            assert_eq!(answer.status, 0, "{port:?}");
        }
    }

    /// Writes every forwarding table.
    pub fn write_tables(&mut self) {
        let tables = self.tables.clone().expect("a subnet that is brought up has tables");
        for switch in self.fabric.switches().collect::<Vec<_>>() {
            let lft = &tables.lfts[switch.index()];
            for block in 0..lft.blocks() {
                let modifier = block.into();
                let data = lft.block(block);
                assert_eq!(self.set(switch, AttributeId::LinearForwardingTable, modifier, data).unwrap().data, data);
            }
            let held = SwitchInfo::decode(&self.get(switch, AttributeId::SwitchInfo, 0).unwrap().data);
            let told = SwitchInfo { linear_fdb_top: self.fabric.max_lid().unwrap(), ..held };
            self.set(switch, AttributeId::SwitchInfo, 0, told.encode()).unwrap();
        }
    }

    /// Has every switch send what is for the two LIDs from `new` on as it sends what is for `old`.
    pub fn copy_route(&mut self, old: Lid, new: Lid) {
        for switch in self.fabric.switches().collect::<Vec<_>>() {
            let output = self.sim.output(switch, old).unwrap();
            let mut data = [255; 64];
            data[usize::from(new.0 % 64)..][..2].fill(output.0);
            let block = u32::from(new.0 / 64);
            assert_eq!(self.set(switch, AttributeId::LinearForwardingTable, block, data).unwrap().status, 0);
        }
    }

    /// Gives an end port other LIDs.
    pub fn move_lids(&mut self, port: PortId, lid: Lid) {
        let at = self.fabric.port(port).clone();
        let told = PortInfo { lid, port_state: PortState::NoChange, ..self.port_info(at.node, at.num) };
        let answer = self.set(at.node, AttributeId::PortInfo, at.num.0.into(), told.encode()).unwrap();
        assert_eq!(answer.status, 0);
        self.moved.insert(port, lid);
    }

    /// Has directed routes keep off a link; none, off no link.
    pub fn go_round(&mut self, link: Option<PortId>) {
        self.ways = ways(&self.fabric.without_links(link.as_slice()), self.sm);
    }

    /// Makes cabled ports ACTIVE that are in INITIALIZE.
    pub fn activate(&mut self, chosen: impl Fn(PortId) -> bool) {
        let cabled = |port: &PortId| self.fabric.peer(*port).is_some() && chosen(*port);
        let ports: Vec<PortId> = self.fabric.ports().map(|(id, _)| id).filter(cabled).collect();
        let waiting: Vec<PortId> =
            ports.into_iter().filter(|&port| self.state(port) == PortState::Initialize).collect();
        for state in [PortState::Armed, PortState::Active] {
            waiting.iter().for_each(|&port| assert_eq!(self.set_state(port, state), 0, "{port:?} to {state:?}"));
        }
    }

    fn state(&mut self, port: PortId) -> PortState {
        let at = self.fabric.port(port).clone();
        self.port_info(at.node, at.num).port_state
    }

    /// Asks a port for a state; tells the status.
    pub fn set_state(&mut self, port: PortId, port_state: PortState) -> u16 {
        let at = self.fabric.port(port).clone();
        let told = PortInfo { port_state, ..self.port_info(at.node, at.num) };
        self.set(at.node, AttributeId::PortInfo, at.num.0.into(), told.encode()).unwrap().status
    }

    /// The LID that the manager gives a port.
    pub fn lid_of(&self, port: PortId) -> Lid {
        self.moved.get(&port).copied().unwrap_or_else(|| self.fabric.port(port).lid.unwrap())
    }

    /// PortInfo of a node's port.
    pub fn port_info(&mut self, node: NodeId, num: PortNum) -> PortInfo {
        PortInfo::decode(&self.get(node, AttributeId::PortInfo, num.0.into()).unwrap().data)
    }

    /// Reads an attribute of a node by directed route; none where nobody answers.
    pub fn get(&mut self, node: NodeId, attribute: AttributeId, modifier: u32) -> Option<Smp> {
        let way = self.ways[&node].clone();
        self.ask(&way, Method::Get, attribute, modifier, [0; 64])
    }

    /// Writes an attribute of a node by directed route.
    pub fn set(&mut self, node: NodeId, attribute: AttributeId, modifier: u32, data: [u8; 64]) -> Option<Smp> {
        let way = self.ways[&node].clone();
        self.ask(&way, Method::Set, attribute, modifier, data)
    }

    fn ask(&mut self, way: &[PortNum], method: Method, id: AttributeId, modifier: u32, data: [u8; 64]) -> Option<Smp> {
        self.tid += 1;
        let smp =
            Smp { m_key: self.m_key, ..Smp::directed(way, method, id, modifier, data).unwrap().with_tid(self.tid) };
        let bytes = Box::new(smp.encode());
        self.sim.send_from(self.sm, &Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes });
        let answer = self.wait_for(|datagram| Smp::decode(&datagram.bytes).is_ok_and(|came| came.tid == smp.tid))?;
        Some(Smp::decode(&answer.bytes).unwrap())
    }

    /// Waits for a datagram; others are kept.
    fn wait_for(&mut self, wanted: impl Fn(&Datagram) -> bool) -> Option<Datagram> {
        let until = self.sim.now_ns() + PATIENCE_NS;
        loop {
            while let Some(datagram) = self.sim.received_at(self.sm) {
                if wanted(&datagram) {
                    return Some(datagram);
                }
                self.kept.push_back(datagram);
            }
            if self.sim.now_ns() >= until {
                return None;
            }
            assert_ne!(self.sim.run(until, true), Halt::Deadlock);
        }
    }

    /// Sends an SMP by the forwarding tables.
    pub fn send_lid_routed(&mut self, lid: Lid, smp: &Smp) {
        let bytes = Box::new(smp.encode());
        self.sim.send_from(self.sm, &Datagram { lid, from: None, qp: 0, sl: Sl::default(), bytes });
    }

    /// The traps that have come since the last call.
    pub fn traps(&mut self) -> Vec<(Datagram, Trap)> {
        let come: Vec<Datagram> =
            self.kept.drain(..).chain(std::iter::from_fn(|| self.sim.received_at(self.sm))).collect();
        let trap = |datagram: Datagram| {
            let smp = Smp::decode(&datagram.bytes).unwrap();
            assert_eq!((smp.method, smp.attribute), (Method::Trap, AttributeId::Notice));
            (datagram, Notice::decode(&smp.data).trap())
        };
        come.into_iter().map(trap).collect()
    }

    /// Asks the performance agent of a port's node.
    pub fn perf(
        &mut self,
        port: PortId,
        method: Method,
        id: PerfAttributeId,
        data: [u8; PERF_DATA_SIZE],
    ) -> Option<PerfMad> {
        self.tid += 1;
        let mad = PerfMad::new(method, id, data).with_tid(self.tid);
        let node = self.fabric.port(port).node;
        let own = if self.fabric.node(node).is_switch() { self.fabric.node(node).first_port } else { port };
        let datagram =
            Datagram { lid: self.lid_of(own), from: None, qp: 1, sl: Sl::default(), bytes: Box::new(mad.encode()) };
        self.sim.send_from(self.sm, &datagram);
        let answer = self.wait_for(|came| PerfMad::decode(&came.bytes).is_ok_and(|came| came.tid == mad.tid))?;
        Some(PerfMad::decode(&answer.bytes).unwrap())
    }

    /// The counters of a port.
    pub fn counters(&mut self, port: PortId) -> PortCounters {
        let asked = PortCounters { port: self.fabric.port(port).num, ..PortCounters::default() };
        let answer = self.perf(port, Method::Get, PerfAttributeId::PortCounters, asked.encode()).unwrap();
        assert_eq!(answer.status, 0);
        PortCounters::decode(&answer.data)
    }

    /// The long counters of a port.
    pub fn counters_extended(&mut self, port: PortId) -> PortCountersExtended {
        let asked = PortCountersExtended { port: self.fabric.port(port).num, ..PortCountersExtended::default() };
        let answer = self.perf(port, Method::Get, PerfAttributeId::PortCountersExtended, asked.encode()).unwrap();
        assert_eq!(answer.status, 0);
        PortCountersExtended::decode(&answer.data)
    }

    /// What an end port received of each service level, in units of 4 bytes.
    pub fn received_by_sl(&mut self, port: PortId) -> [u32; 16] {
        let asked = PortDataSl { counter_select: 0, ..PortDataSl::all(PortNum(1)) };
        let answer = self.perf(port, Method::Get, PerfAttributeId::PortRcvDataSl, asked.encode()).unwrap();
        PortDataSl::decode(&answer.data).counters
    }
}

/// The shortest ways from a port to every node, as directed routes.
fn ways(fabric: &Fabric, sm: PortId) -> BTreeMap<NodeId, Vec<PortNum>> {
    let own = fabric.port(sm);
    let mut ways = BTreeMap::from([(own.node, Vec::new())]);
    let mut next = VecDeque::new();
    let first = fabric.neighbour(sm).unwrap();
    ways.insert(first, vec![own.num]);
    next.push_back(first);
    while let Some(node) = next.pop_front() {
        if !fabric.node(node).is_switch() {
            continue;
        }
        let way = ways[&node].clone();
        for port in fabric.ports_of(node) {
            let Some(far) = fabric.neighbour(port) else { continue };
            if let std::collections::btree_map::Entry::Vacant(entry) = ways.entry(far) {
                entry.insert(way.iter().copied().chain([fabric.port(port).num]).collect());
                next.push_back(far);
            }
        }
    }
    ways
}
