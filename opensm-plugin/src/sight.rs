//! What OpenSM knows, as plain values ([`SeenSubnet`]), and as the fabric and tables that decisions are made of
//! ([`Sight`]).
//!
//! On entry of [`SeenSubnet::sight`]: nodes and ports by dense indices, as the shim counts them. On return: a fabric
//! with LIDs, and the forwarding tables in force. Every link counts as one lane, so what is proved holds whatever
//! SL-to-VL tables the devices have (docs/OPENSM.md); how many lanes there are is only told ([`Sight::with_lanes`]).

use reconfig::fabric::{BuildError, Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId, PortZero};
use reconfig::ids::{Guid, Lid, Lmc, PortNum};
use reconfig::tables::{LFT_BLOCK, Lft, PathLayers};
use std::sync::Arc;

/// A port as OpenSM knows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeenPort {
    /// PortGUID, 0 where it has none.
    pub guid: u64,
    /// The index of the port at the other end of a healthy link.
    pub peer: Option<usize>,
    /// Base LID, 0 for none.
    pub lid: u16,
    /// LMC.
    pub lmc: u8,
    /// PortInfo:PortState, 1 to 4.
    pub state: u8,
    /// PortInfo:LinkWidthActive.
    pub width: u8,
    /// A bit for each of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR.
    pub speed: u8,
    /// PortInfo:OperationalVLs that OpenSM programs, 1 to 5; 0 where there is no link.
    pub op_vls: u8,
}

/// A switch's forwarding table as OpenSM knows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeenTable {
    /// What the switch holds, as far as OpenSM knows; whole blocks.
    pub entries: Vec<u8>,
    /// SwitchInfo:LinearFDBTop; 0 for a switch that nobody has set up since it started.
    pub top: u16,
    /// SwitchInfo:LinearFDBCap.
    pub capacity: u16,
    /// Whether OpenSM takes the switch for reset.
    pub reset: bool,
    /// Blocks that the switch was asked for and did not tell.
    pub silent: Vec<u16>,
}

/// A node as OpenSM knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenNode {
    /// NodeGUID.
    pub guid: u64,
    /// NodeDescription.
    pub name: String,
    /// NodeInfo:NodeType: 1 adapter, 2 switch, 3 router.
    pub kind: u8,
    /// External ports.
    pub num_ports: u8,
    /// The index of its port 0.
    pub first_port: usize,
    /// SwitchInfo:EnhancedPort0.
    pub enhanced: bool,
    /// Its forwarding table, of a switch.
    pub table: Option<SeenTable>,
}

/// All of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeenSubnet {
    /// Nodes.
    pub nodes: Vec<SeenNode>,
    /// Ports.
    pub ports: Vec<SeenPort>,
    /// The GUID of OpenSM's port.
    pub sm_port_guid: u64,
    /// The highest LID in use.
    pub max_lid: u16,
    /// SwitchInfo:LifeTimeValue that OpenSM programs.
    pub life_time: u8,
    /// Service levels, from 0 up, that OpenSM's SL-to-VL tables put on the VL of their number everywhere.
    pub plain_levels: u8,
}

/// The fabric, and the tables in force.
#[derive(Clone, Debug)]
pub struct Sight {
    /// What is there, with as many data lanes on each link as count: one, unless service levels are given out.
    pub fabric: Arc<Fabric>,
    /// Data lanes that every link has and that OpenSM puts service levels on, each on its own.
    pub lanes: u8,
    /// Who sends on which layer; none where that does not matter, because all is on one lane.
    pub ways: Option<Arc<PathLayers>>,
    /// By node: what switches hold.
    pub lfts: Vec<Arc<Lft>>,
    /// OpenSM's port.
    pub sm: PortId,
    /// Ports of switches that carry data, and lead to nothing that OpenSM knows.
    pub open: Vec<(NodeId, PortNum)>,
    /// Blocks that switches did not tell.
    pub silent: Vec<(NodeId, u16)>,
    /// SwitchInfo:LifeTimeValue.
    pub life_time: u8,
}

/// Why there is no sight.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SightError {
    /// OpenSM's structures contradict each other.
    #[error("what OpenSM knows of the subnet contradicts itself: {0}")]
    Build(#[from] BuildError),
    /// A type of node that there is none of.
    #[error("node {guid} is of type {kind}, which is neither an adapter (1), a switch (2) nor a router (3)")]
    Kind {
        /// The node.
        guid: Guid,
        /// NodeInfo:NodeType.
        kind: u8,
    },
    /// OpenSM's own port is not among the ports.
    #[error("OpenSM's port {0} is not among the ports that have LIDs")]
    NoManager(Guid),
}

impl Sight {
    /// The same with so many data lanes on every link, and with who sends on which layer.
    #[must_use]
    pub fn with_lanes(&self, lanes: u8, ways: impl FnOnce(&Fabric) -> Arc<PathLayers>) -> Sight {
        let fabric = Arc::new(self.fabric.with_lanes(lanes));
        Sight { ways: Some(ways(&fabric)), fabric, ..self.clone() }
    }
}

impl SeenTable {
    /// How many blocks can be in force, now or once OpenSM has raised the top of the table.
    pub fn blocks(&self, max_lid: u16) -> u16 {
        let wanted = self.top.max(max_lid) / LFT_BLOCK as u16 + 1;
        wanted.min((self.entries.len() / LFT_BLOCK) as u16)
    }

    /// What is in force: nothing, where nobody has set up the switch since it started.
    fn lft(&self) -> Lft {
        let mut lft = Lft::new();
        if self.top == 0 {
            return lft;
        }
        for (entries, block) in self.entries.chunks_exact(LFT_BLOCK).zip(0..) {
            let entries: &[u8; LFT_BLOCK] = entries.try_into().expect("chunks are exact");
            if entries.iter().any(|&port| port != PortNum::NO_ROUTE.0) {
                lft.set_block(block, entries);
            }
        }
        lft
    }
}

impl SeenSubnet {
    /// The fabric and its tables.
    ///
    /// # Errors
    /// What OpenSM knows contradicts itself.
    pub fn sight(&self) -> Result<Sight, SightError> {
        let mut builder = FabricBuilder::new();
        for node in &self.nodes {
            self.add_node(&mut builder, node)?;
        }
        let owners = self.owners();
        for (index, port) in self.ports.iter().enumerate() {
            let Some(peer) = port.peer.filter(|&peer| peer > index) else { continue };
            builder.link(owners[index], owners[peer], width(port.width), speed(port.speed))?;
        }
        let fabric = builder.build()?.with_data_vls(1);
        let narrowest = self.ports.iter().filter(|port| port.peer.is_some()).map(|port| lanes(port.op_vls)).min();
        let guid = Guid(self.sm_port_guid);
        let sm = fabric.lid_ports().find(|&port| fabric.recorded_port_guid(port) == Some(guid));
        let table = |node: &SeenNode| node.table.as_ref().map(|table| Arc::new(table.lft())).unwrap_or_default();
        let silent = |(node, id): (&SeenNode, u32)| {
            let blocks = node.table.iter().flat_map(|table| table.silent.clone()).collect::<Vec<u16>>();
            blocks.into_iter().map(move |block| (NodeId(id), block))
        };
        Ok(Sight {
            sm: sm.ok_or(SightError::NoManager(guid))?,
            open: self.open(),
            lfts: self.nodes.iter().map(table).collect(),
            silent: self.nodes.iter().zip(0..).flat_map(silent).collect(),
            life_time: self.life_time,
            lanes: narrowest.unwrap_or(1).min(self.plain_levels).max(1),
            ways: None,
            fabric: Arc::new(fabric),
        })
    }

    fn add_node(&self, builder: &mut FabricBuilder, node: &SeenNode) -> Result<(), SightError> {
        let guid = Guid(node.guid);
        let kind = match node.kind {
            1 => NodeKind::Ca,
            2 => NodeKind::Switch,
            3 => NodeKind::Router,
            kind => return Err(SightError::Kind { guid, kind }),
        };
        let id = builder.node(kind, guid, node.num_ports, node.name.clone());
        let held = builder.node_mut(id);
        if node.enhanced {
            held.port_zero = PortZero::Enhanced;
        }
        if let Some(table) = &node.table {
            held.lft_capacity = table.capacity;
        }
        for num in 0..=node.num_ports {
            let seen = &self.ports[node.first_port + usize::from(num)];
            // Ports of switches share the GUID of port 0, and only that one has a LID.
            let bears = kind != NodeKind::Switch || num == 0;
            if let Some(port) = builder.port_mut(id, PortNum(num)).filter(|_| bears && seen.guid != 0) {
                port.guid = Some(Guid(seen.guid));
                if seen.lid != 0 {
                    (port.lid, port.lmc) = (Some(Lid(seen.lid)), Lmc::masked(seen.lmc));
                }
            }
        }
        Ok(())
    }

    fn open(&self) -> Vec<(NodeId, PortNum)> {
        let is_open = |port: &SeenPort| port.peer.is_none() && port.state >= ARMED;
        let switches = self.nodes.iter().zip(0..).filter(|(node, _)| node.kind == 2);
        let ports = switches.flat_map(|(node, id)| (1..=node.num_ports).map(move |num| (node, NodeId(id), num)));
        let open = ports.filter(|(node, _, num)| is_open(&self.ports[node.first_port + usize::from(*num)]));
        open.map(|(_, id, num)| (id, PortNum(num))).collect()
    }

    /// By port: its node, and its number there.
    fn owners(&self) -> Vec<(NodeId, PortNum)> {
        let own = |(node, id): (&SeenNode, u32)| (0..=node.num_ports).map(move |num| (NodeId(id), PortNum(num)));
        self.nodes.iter().zip(0..).flat_map(own).collect()
    }
}

/// PortInfo:PortState from which on a port takes data in.
const ARMED: u8 = 3;

/// Data VLs by PortInfo:OperationalVLs.
fn lanes(op_vls: u8) -> u8 {
    match op_vls {
        5.. => 15,
        2..=4 => 1 << (op_vls - 1),
        _ => 1,
    }
}

fn width(active: u8) -> LinkWidth {
    match active {
        1 => LinkWidth::X1,
        4 => LinkWidth::X8,
        8 => LinkWidth::X12,
        16 => LinkWidth::X2,
        _ => LinkWidth::X4,
    }
}

/// The fastest of the bits: a port has one active speed.
fn speed(bits: u8) -> LinkSpeed {
    let fastest = 7_u32.saturating_sub(bits.leading_zeros());
    LinkSpeed::ALL.get(fastest as usize).copied().unwrap_or_default()
}
