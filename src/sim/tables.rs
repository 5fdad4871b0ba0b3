//! Forwarding and SL-to-VL tables of all nodes, flattened so that a packet-hop looks each of them up in one step.

use super::index::By;
use super::out_port::OutPort;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lid;
use crate::wire::SlToVlModifier;

/// Forwarding and SL-to-VL tables of all nodes, flattened.
pub struct Tables {
    /// The forwarding entries of all switches, row after row: an output port, 255 for none.
    lft: Vec<u8>,
    /// LIDs in a row: a multiple of 64.
    pub lids: usize,
    nodes: By<NodeId, NodeTables>,
    sl_to_vl: Vec<[u8; 16]>,
}

/// The indices of a node's ports and tables.
#[derive(Clone, Debug)]
struct NodeTables {
    /// Its port 0.
    first_port: PortId,
    /// Which row of forwarding entries is its own; [`NO_ROW`] where it is no switch.
    row: u32,
    /// Its first SL-to-VL table.
    sl_base: u32,
    /// From one input to the next; 0 where all tables are alike.
    sl_by_input: u16,
    /// From one output to the next.
    sl_by_output: u8,
    /// Its external ports.
    num_ports: u8,
}

/// No row of forwarding entries.
const NO_ROW: u32 = u32::MAX;

impl Tables {
    pub(super) fn new(fabric: &Fabric, top: Lid, data_vls: u8) -> Tables {
        let nodes = fabric.nodes().map(|(id, node)| NodeTables {
            first_port: node.first_port,
            row: NO_ROW,
            sl_base: id.0,
            sl_by_input: 0,
            sl_by_output: 0,
            num_ports: node.num_ports,
        });
        let mut nodes: By<NodeId, NodeTables> = nodes.collect();
        let lids = (top.index() + 1).next_multiple_of(64);
        let rows = fabric.switches().zip(0..).map(|(id, row)| nodes[id].row = row).count();
        let table = std::array::from_fn(|sl| sl as u8 % data_vls);
        Tables { lft: vec![255; rows * lids], lids, nodes, sl_to_vl: vec![table; fabric.node_count()] }
    }

    /// Port 0 of a node.
    #[inline]
    pub fn first_port(&self, node: NodeId) -> PortId {
        self.nodes[node].first_port
    }

    /// A node's external ports.
    #[inline]
    pub fn num_ports(&self, node: NodeId) -> u8 {
        self.nodes[node].num_ports
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// A port of a node by its number, which the node has.
    #[inline]
    pub fn port_at(&self, node: NodeId, num: u8) -> PortId {
        self.nodes[node].port_at(num)
    }

    /// Whether a node has forwarding entries.
    #[inline]
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.nodes[node].row != NO_ROW
    }

    /// Which row of forwarding entries is a node's own.
    pub fn row(&self, node: NodeId) -> u32 {
        self.nodes[node].row
    }

    /// The output port of a switch for a DLID, 255 for none.
    #[inline]
    pub fn output(&self, node: NodeId, dlid: u16) -> u8 {
        self.entry(self.nodes[node].row, dlid)
    }

    #[inline(always)]
    fn entry(&self, row: u32, dlid: u16) -> u8 {
        let dlid = usize::from(dlid);
        // What wraps is no row, and beyond the end.
        let begin = (row as usize).wrapping_mul(self.lids);
        if dlid < self.lids { self.lft[begin.wrapping_add(place(dlid, self.lids))] } else { 255 }
    }

    /// Output port (dense index) and lane of a switch for a DLID and a service level that come in at `input`; none
    /// where the entry names no port.
    #[inline(always)]
    pub fn way(&self, input: PortId, from: &OutPort, dlid: u16, sl: u8) -> Option<(PortId, u8)> {
        // The port has what the entry takes, since a hop waits for each step to the entry.
        let out = self.entry(from.row, dlid);
        let exists = out != 0 && out <= from.fellows;
        exists.then(|| {
            let port = PortId(input.0.wrapping_sub(from.num.into()).wrapping_add(out.into()));
            (port, self.lane(from.node, from.num, out, sl))
        })
    }

    /// Extends every forwarding table to LID `end` − 1 at least; new entries name no port.
    pub fn reach(&mut self, end: usize) {
        if end <= self.lids {
            return;
        }
        // Doubled, so that a subnet that assigns its LIDs one after the other does not copy the tables for each block.
        let lids = end.next_multiple_of(64).max(2 * self.lids);
        let rows = self.lft.len() / self.lids;
        let mut longer = vec![255; rows * lids];
        for (new, old) in longer.chunks_exact_mut(lids).zip(self.lft.chunks_exact(self.lids)) {
            (0..self.lids).for_each(|lid| new[place(lid, lids)] = old[place(lid, self.lids)]);
        }
        (self.lft, self.lids) = (longer, lids);
    }

    /// Sets one block of a switch's forwarding table, and returns what it held; none where the device has no such
    /// block.
    pub fn replace_block(&mut self, node: NodeId, block: usize, entries: &[u8; 64]) -> Option<[u8; 64]> {
        let fits = self.is_switch(node) && (block + 1) * 64 <= self.lids;
        let begin = if fits { self.nodes[node].row as usize * self.lids } else { 0 };
        let mut replace = |at: usize| {
            let place = begin + place(block * 64 + at, self.lids);
            std::mem::replace(&mut self.lft[place], entries[at])
        };
        fits.then(|| std::array::from_fn(&mut replace))
    }

    /// The lane that a service level takes from an input to an output port.
    #[inline]
    pub fn lane(&self, node: NodeId, input: u8, output: u8, sl: u8) -> u8 {
        self.sl_table(node, input, output)[usize::from(sl & 15)]
    }

    /// The SL-to-VL table from an input to an output port.
    #[inline]
    pub fn sl_table(&self, node: NodeId, input: u8, output: u8) -> &[u8; 16] {
        self.sl_table_of(&self.nodes[node], input, output)
    }

    #[inline(always)]
    fn sl_table_of(&self, node: &NodeTables, input: u8, output: u8) -> &[u8; 16] {
        &self.sl_to_vl[node.sl_table(input, output)]
    }

    /// Sets every table of a node.
    pub fn set_sl_uniform(&mut self, node: NodeId, table: [u8; 16]) {
        let own = &mut self.nodes[node];
        (own.sl_base, own.sl_by_input, own.sl_by_output) = (node.0, 0, 0);
        self.sl_to_vl[node.index()] = table;
    }

    /// Sets the tables of a node that a scope names.
    pub fn set_sl_to_vl(&mut self, node: NodeId, scope: SlToVlModifier, table: [u8; 16]) {
        let all = 0..=self.num_ports(node);
        match scope {
            SlToVlModifier::Every => self.set_sl_uniform(node, table),
            SlToVlModifier::Pair { input, output } => self.set_sl_pair(node, input.0, output.0, table),
            SlToVlModifier::EveryInput { output } => {
                all.for_each(|input| self.set_sl_pair(node, input, output.0, table));
            }
            SlToVlModifier::EveryOutput { input } => {
                all.for_each(|output| self.set_sl_pair(node, input.0, output, table));
            }
        }
    }

    fn set_sl_pair(&mut self, node: NodeId, input: u8, output: u8, table: [u8; 16]) {
        let own = &mut self.nodes[node];
        let side = u16::from(own.num_ports) + 1;
        if own.sl_by_input == 0 {
            let all = self.sl_to_vl[own.sl_base as usize];
            (own.sl_base, own.sl_by_input, own.sl_by_output) = (self.sl_to_vl.len() as u32, side, 1);
            self.sl_to_vl.extend(std::iter::repeat_n(all, usize::from(side) * usize::from(side)));
        }
        let index = own.sl_table(input, output);
        self.sl_to_vl[index] = table;
    }
}

/// Where the entry of a LID is in a row: first come the even LIDs, then the odd ones. Where end ports have two LIDs,
/// these are the halves, of which hosts send on one.
#[inline(always)]
fn place(lid: usize, lids: usize) -> usize {
    (lid >> 1) + if lid & 1 == 1 { lids >> 1 } else { 0 }
}

impl NodeTables {
    #[inline(always)]
    fn port_at(&self, num: u8) -> PortId {
        PortId(self.first_port.0 + u32::from(num))
    }

    /// Index of the SL-to-VL table from an input to an output port.
    #[inline(always)]
    fn sl_table(&self, input: u8, output: u8) -> usize {
        let (by_input, by_output) = (usize::from(self.sl_by_input), usize::from(self.sl_by_output));
        self.sl_base as usize + by_input * usize::from(input) + by_output * usize::from(output)
    }
}
