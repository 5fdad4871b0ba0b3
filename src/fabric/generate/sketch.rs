//! The common canvas of all families: numbered switches and hosts, and cables between their ports. [`Sketch::build`]
//! turns it into a fabric with the properties that the module's contract promises.

use super::{GenerateError, Options, Topology};
use crate::fabric::{BuildError, Fabric, FabricBuilder, LinkEnd, NodeId, NodeKind};
use crate::ids::{Guid, Lid, Lmc, PortNum};

/// Most switches and hosts together: each needs a unicast LID.
const MOST_NODES: u64 = Lid::MAX_UNICAST.0 as u64;
/// Most external ports of a switch.
pub(super) const MOST_PORTS: u64 = 254;
/// Fewest external ports that a switch gets unless a radix is given: no InfiniBand switch sold had fewer.
const LEAST_RADIX: u8 = 8;
/// A company identifier (24 bits) with the locally administered bit set: no vendor owns it.
const LOCAL_COMPANY: u32 = 0x02_0000;
/// Device identifiers of generated switches and hosts.
const DEVICE_IDS: [u32; 2] = [1, 2];

/// Why a family cannot draw its fabric.
pub(super) enum DrawError {
    /// The parameters contradict each other or a limit.
    Impossible(String),
    /// Every draw failed.
    Luckless {
        /// How many there were.
        attempts: u32,
    },
}

/// One node of a sketch.
#[derive(Clone, Copy)]
pub(super) enum SketchNode {
    Switch(usize),
    Host(usize),
}

/// A port of a sketch; ports count from 1.
pub(super) type SketchPort = (SketchNode, u32);

/// Switches, hosts and cables.
pub(super) struct Sketch {
    switches: Vec<String>,
    /// Highest cabled port of each switch, then of each host.
    used: Vec<u32>,
    cables: Vec<(SketchPort, SketchPort)>,
    /// The radix if no option gives one.
    radix: Option<u8>,
}

/// Refuses parameters unless `holds`, for the reason `why`.
pub(super) fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), DrawError> {
    if holds { Ok(()) } else { Err(DrawError::Impossible(why())) }
}

/// The product of `factors`, or a number beyond every limit if it overflows.
pub(super) fn product<'a>(factors: impl IntoIterator<Item = &'a u32>) -> u64 {
    factors.into_iter().fold(1u64, |all, &factor| all.saturating_mul(factor.into()))
}

impl Sketch {
    /// A sketch without cables.
    pub(super) fn new(switches: u64, hosts: u64, name: impl Fn(usize) -> String) -> Result<Sketch, DrawError> {
        let nodes = switches.saturating_add(hosts);
        require(switches > 0, || "it has no switch".to_string())?;
        require(nodes <= MOST_NODES, || {
            let count = if nodes == u64::MAX { "countless".to_string() } else { nodes.to_string() };
            format!("its switches and hosts need {count} LIDs, and a subnet has {MOST_NODES}")
        })?;
        Ok(Sketch {
            switches: (0..switches as usize).map(name).collect(),
            used: vec![0; nodes as usize],
            cables: Vec::new(),
            radix: None,
        })
    }

    /// Switches named `switch-1`, `switch-2`, …, each with the same number of hosts on its first ports.
    pub(super) fn with_hosts(switches: u64, hosts: u32, name: impl Fn(usize) -> String) -> Result<Sketch, DrawError> {
        require(u64::from(hosts) <= MOST_PORTS, || {
            format!("{hosts} hosts on one switch: a switch has {MOST_PORTS} ports at most")
        })?;
        let mut sketch = Sketch::new(switches, switches.saturating_mul(hosts.into()), name)?;
        let hosts = hosts as usize;
        for switch in 0..sketch.switches.len() {
            for host in switch * hosts..(switch + 1) * hosts {
                sketch.cable(SketchNode::Switch(switch), SketchNode::Host(host));
            }
        }
        Ok(sketch)
    }

    /// Sets the radix of switches if no option gives one.
    pub(super) fn set_radix(&mut self, radix: u8) {
        self.radix = Some(radix);
    }

    /// Cables the next free ports of two nodes.
    pub(super) fn cable(&mut self, a: SketchNode, b: SketchNode) {
        let a = (a, self.used[self.index(a)] + 1);
        let b = (b, self.used[self.index(b)] + 1);
        self.cable_at(a, b);
    }

    pub(super) fn cable_at(&mut self, a: SketchPort, b: SketchPort) {
        for (place, port) in [a, b] {
            let index = self.index(place);
            self.used[index] = self.used[index].max(port);
        }
        self.cables.push((a, b));
    }

    fn index(&self, place: SketchNode) -> usize {
        match place {
            SketchNode::Switch(i) => i,
            SketchNode::Host(i) => self.switches.len() + i,
        }
    }

    /// The fabric, with LIDs in index order.
    pub(super) fn build(self, topology: &Topology, options: &Options) -> Result<Fabric, GenerateError> {
        let radix = self.chosen_radix(topology, options)?;
        self.assemble(topology.family_number(), radix, options)
            .map_err(|source| GenerateError::Build { topology: topology.to_string(), source })
    }

    fn chosen_radix(&self, topology: &Topology, options: &Options) -> Result<u8, GenerateError> {
        let busiest = (0..self.switches.len()).rev().max_by_key(|&switch| self.used[switch]).unwrap_or_default();
        let needed = self.used[busiest];
        let most = u8::try_from(needed).unwrap_or(u8::MAX).clamp(LEAST_RADIX, MOST_PORTS as u8);
        let radix = options.radix.or(self.radix).unwrap_or(most);
        if needed > u32::from(radix).min(MOST_PORTS as u32) {
            let (topology, switch) = (topology.to_string(), self.switches[busiest].clone());
            return Err(GenerateError::Radix { topology, switch, needed, radix });
        }
        Ok(radix)
    }

    fn assemble(&self, family: u8, radix: u8, options: &Options) -> Result<Fabric, BuildError> {
        let mut builder = FabricBuilder::new();
        for (i, name) in self.switches.iter().enumerate() {
            add_node(&mut builder, NodeKind::Switch, family, i, radix, name.clone());
        }
        for (i, &ports) in self.used[self.switches.len()..].iter().enumerate() {
            add_node(&mut builder, NodeKind::Ca, family, i, ports.max(1) as u8, format!("host-{} HCA-1", i + 1));
        }
        for &((a, a_port), (b, b_port)) in &self.cables {
            let a = LinkEnd { node: NodeId(self.index(a) as u32), num: PortNum(a_port as u8) };
            let b = LinkEnd { node: NodeId(self.index(b) as u32), num: PortNum(b_port as u8) };
            builder.link(a, b, options.width, options.speed)?;
        }
        if self.used.len() > self.switches.len() {
            let first = guid(family, NodeKind::Ca, 0, 0);
            builder.origin(first, Guid(first.0 + 1));
        }
        let fabric = builder.build()?;
        let lids: Vec<_> = fabric.lid_ports().zip(1..).map(|(port, lid)| (port, Lid(lid), Lmc::default())).collect();
        fabric.with_lids(lids)
    }
}

fn add_node(builder: &mut FabricBuilder, kind: NodeKind, family: u8, index: usize, ports: u8, description: String) {
    let own = guid(family, kind, index, 0);
    let id = builder.node(kind, own, ports, description);
    let node = builder.node_mut(id);
    node.system_guid = Some(own);
    node.vendor_id = LOCAL_COMPANY;
    node.device_id = DEVICE_IDS[usize::from(kind != NodeKind::Switch)];
    let owners = if kind == NodeKind::Switch { 0..=0 } else { 1..=ports };
    for num in owners {
        if let Some(port) = builder.port_mut(id, PortNum(num)) {
            port.guid = Some(Guid(own.0 + u64::from(num)));
        }
    }
}

/// Company (24 bits), family (8), kind (8), index (16) and port (8).
fn guid(family: u8, kind: NodeKind, index: usize, port: u8) -> Guid {
    let kind = u64::from(kind != NodeKind::Switch);
    Guid(u64::from(LOCAL_COMPANY) << 40 | u64::from(family) << 32 | kind << 24 | (index as u64) << 8 | u64::from(port))
}
