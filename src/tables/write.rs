//! Writes, and the tables of a whole subnet that they change.

use super::{LFT_BLOCK, Lft, NodeSlToVl, SlToVl};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum};
use std::sync::Arc;

/// PortInfo:PortState.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortState {
    /// No link.
    Down,
    /// Linked; carries management only.
    Initialize,
    /// Between the two (docs/PROTOCOL.md, *arming*).
    Armed,
    /// Carries data.
    Active,
}

/// The (input, output) pairs of a node that one `Set` of SLtoVLMappingTable changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlToVlScope {
    /// The plain form at a switch: one input, one output.
    Pair {
        /// The input port; 0 for packets that the switch itself sends.
        input: PortNum,
        /// The output port.
        output: PortNum,
    },
    /// The optimised form at a switch: every input and output.
    All,
    /// An end port's only table.
    EndPort {
        /// The port of the CA or router.
        port: PortNum,
    },
}

/// One idempotent `Set` of one attribute of one device. Node and port indices are those of the plan's fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// LinearForwardingTable: one block of 64 entries.
    LftBlock {
        /// The switch.
        switch: NodeId,
        /// The block's number; it begins at LID 64 × `block`.
        block: u16,
        /// Output ports, 255 for no route.
        entries: Box<[u8; LFT_BLOCK]>,
    },
    /// SLtoVLMappingTable.
    SlToVl {
        /// The device.
        node: NodeId,
        /// The pairs that it changes.
        scope: SlToVlScope,
        /// The table.
        table: SlToVl,
    },
    /// PortInfo:PortState of one port.
    PortState {
        /// The port.
        port: PortId,
        /// Its new state.
        state: PortState,
    },
    /// The half on which an end port sends from now on: SLID, DLID and SL follow from it. The end port is notified by a
    /// MAD of its own, or learns it from the SA.
    ActiveHalf {
        /// The end port.
        port: PortId,
        /// The half.
        half: Half,
    },
    /// The half that the SA's PathRecord and GUID-to-LID answers use from now on; changed at the SM itself.
    SaHalf {
        /// The half.
        half: Half,
    },
    /// PortInfo:MasterSMLID and MasterSMSL of one port.
    MasterSm {
        /// The port (port 0 at a switch).
        port: PortId,
        /// The SM's LID on the new half.
        lid: Lid,
        /// The SL towards it.
        sl: crate::ids::Sl,
    },
}

impl Write {
    /// The writes that have the links at these ports train again: they come up in INITIALIZE, which lets no data
    /// through.
    pub fn links_down<'a>(ports: impl IntoIterator<Item = &'a PortId>) -> Vec<Write> {
        ports.into_iter().map(|&port| Write::PortState { port, state: PortState::Initialize }).collect()
    }

    /// The device that the write goes to; none for a change at the SM itself.
    pub fn node(&self, fabric: &Fabric) -> Option<NodeId> {
        match *self {
            Write::LftBlock { switch, .. } => Some(switch),
            Write::SlToVl { node, .. } => Some(node),
            Write::PortState { port, .. } | Write::ActiveHalf { port, .. } | Write::MasterSm { port, .. } => {
                Some(fabric.port(port).node)
            }
            Write::SaHalf { .. } => None,
        }
    }

    /// Whether its device is present, and its port's cable too if it concerns a port.
    pub fn is_there(&self, alive: &Fabric) -> bool {
        let present = self.node(alive).is_none_or(|node| alive.node(node).present);
        let cabled = match *self {
            Write::PortState { port, .. } | Write::ActiveHalf { port, .. } => alive.peer(port).is_some(),
            Write::MasterSm { port, .. } => alive.node(alive.port(port).node).is_switch() || alive.peer(port).is_some(),
            Write::SlToVl { node, scope: SlToVlScope::EndPort { port }, .. } => {
                alive.port_at(node, port).is_some_and(|port| alive.peer(port).is_some())
            }
            Write::LftBlock { .. } | Write::SlToVl { .. } | Write::SaHalf { .. } => true,
        };
        present && cabled
    }
}

/// The tables of every device of a subnet at one moment, as the SM knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubnetTables {
    /// By [`NodeId`]; empty for CAs. Shared, so that the state after a wave costs only the tables that changed.
    pub lfts: Vec<Arc<Lft>>,
    /// By [`NodeId`].
    pub sl_to_vl: Vec<Arc<NodeSlToVl>>,
    /// By [`PortId`]: the half on which an end port sends.
    pub sending: Vec<Half>,
    /// By [`PortId`].
    pub port_states: Vec<PortState>,
    /// The half that the SA's answers use.
    pub sa_half: Half,
}

impl SubnetTables {
    /// Every block of the forwarding tables of present switches: the switch, the block's number, 64 ports.
    pub fn lft_blocks<'a>(&'a self, fabric: &'a Fabric) -> impl Iterator<Item = (NodeId, u16, [u8; LFT_BLOCK])> + 'a {
        fabric.switches().flat_map(|switch| {
            let lft = &self.lfts[switch.index()];
            (0..lft.blocks()).map(move |block| (switch, block, lft.block(block)))
        })
    }

    /// A subnet without routes: every linked port ACTIVE, every SL on the lane in `table`.
    pub fn new(fabric: &Fabric, table: SlToVl, half: Half) -> SubnetTables {
        let lft = Arc::new(Lft::new());
        let sl_to_vl = Arc::new(NodeSlToVl::Uniform(table));
        let state = |linked: bool| if linked { PortState::Active } else { PortState::Down };
        SubnetTables {
            lfts: vec![lft; fabric.node_count()],
            sl_to_vl: vec![sl_to_vl; fabric.node_count()],
            sending: vec![half; fabric.port_count()],
            port_states: fabric.ports().map(|(_, p)| state(p.peer.is_some() || p.num == PortNum::ZERO)).collect(),
            sa_half: half,
        }
    }

    /// These tables, with every SL of every device on the lane in `table`.
    #[must_use]
    pub fn on_lanes(mut self, table: SlToVl) -> SubnetTables {
        self.sl_to_vl.fill(Arc::new(NodeSlToVl::Uniform(table)));
        self
    }

    /// Whether every level is taken to be on one lane at some device: which tables it holds is not known (E.9).
    pub fn is_on_one_lane(&self) -> bool {
        self.sl_to_vl.iter().any(|table| **table == NodeSlToVl::Uniform(SlToVl::ONE))
    }

    /// Applies one write.
    pub fn apply(&mut self, fabric: &Fabric, write: &Write) {
        match write {
            Write::LftBlock { switch, block, entries } => {
                Arc::make_mut(&mut self.lfts[switch.index()]).set_block(*block, entries);
            }
            Write::SlToVl { node, scope: SlToVlScope::All, table } => {
                self.sl_to_vl[node.index()] = Arc::new(NodeSlToVl::Uniform(*table));
            }
            Write::SlToVl { node, scope: SlToVlScope::Pair { input, output }, table } => {
                self.set_sl_to_vl(fabric, *node, *input, *output, *table);
            }
            Write::SlToVl { node, scope: SlToVlScope::EndPort { port }, table } => {
                self.set_sl_to_vl(fabric, *node, PortNum::ZERO, *port, *table);
            }
            Write::PortState { port, state } => self.port_states[port.index()] = *state,
            Write::ActiveHalf { port, half } => self.sending[port.index()] = *half,
            Write::SaHalf { half } => self.sa_half = *half,
            Write::MasterSm { .. } => {}
        }
    }

    fn set_sl_to_vl(&mut self, fabric: &Fabric, node: NodeId, input: PortNum, output: PortNum, table: SlToVl) {
        let num_ports = fabric.node(node).num_ports;
        Arc::make_mut(&mut self.sl_to_vl[node.index()]).set(num_ports, input, output, table);
    }
}
