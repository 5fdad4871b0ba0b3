//! The data plane's state: flat arrays by port and by lane, so a packet-hop touches a few cache lines and no allocator.
//!
//! A lane's index is `port << shift | vl`, `port` being a dense [`PortId`](crate::fabric::PortId). The *out lane* of a
//! port is the lane it sends into; the *in lane* is its input buffer for that lane. At an end port the in lane is the
//! send queue instead, for what arrives there is consumed at once.

use super::packet::NIL;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::ids::Lid;
use crate::wire::PortState;

/// Marks in [`Packet::out_lane`](super::packet::Packet): the packet is to be discarded on reaching the head.
pub const DISCARD: u32 = NIL - 1;

/// A port as a sender; one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct OutPort {
    /// The link is sending until then.
    pub busy_until: Ticks,
    /// Bytes of all data packets it sent.
    pub bytes_sent: u64,
    /// Data packets it sent.
    pub packets_sent: u64,
    /// Ticks for a byte, in 1/65536.
    pub ticks_per_byte: u32,
    /// The port at the other end as cabled, dead or alive.
    pub peer: u32,
    /// The node it belongs to.
    pub node: u32,
    /// Lanes that somebody waits for.
    pub pending: u16,
    /// Credits that the lane in turn may still send.
    pub allowance: u16,
    /// The lane in turn.
    pub turn: u8,
    /// Its number on its node.
    pub num: u8,
    /// Whether the other end consumes what it gets.
    pub sink: bool,
    /// Whether it is an end port itself: its in lanes are send queues.
    pub source: bool,
    /// Whether it is a router's, between subnets: its in lanes are buffers, out of which packets go on by other ports.
    pub relays: bool,
    /// Whether a wake-up at `busy_until` is pending.
    pub scheduled: bool,
    /// The cable and both ends live.
    pub alive: bool,
    /// PortInfo:PortState.
    pub state: PortState,
    /// Data may be sent.
    pub sends: bool,
    /// Arriving data is handled; otherwise it waits in its buffer.
    pub receives: bool,
    /// Packets wait for it, its link is free, and none of their lanes has the credits.
    pub waits: bool,
    /// Data lanes in operation (PortInfo:OperationalVLs); what is mapped beyond them is discarded.
    pub lanes: u8,
}

/// A lane as seen by its sender.
#[derive(Clone, Debug)]
pub struct OutLane {
    /// When the latest return of credits that was noted is there.
    pub latest_at: Ticks,
    /// The first of the returns before that, as [`Returns`](super::credit::Returns) keeps them.
    pub earlier: u32,
    /// The latest return noted.
    pub latest: u16,
    /// Credits at hand; those on their way back apart.
    pub credits: u16,
    /// Somebody waits for credits: each return is an event.
    pub starved: bool,
    /// First in lane whose head waits for this lane.
    pub first_waiter: u32,
    /// Last one.
    pub last_waiter: u32,
}

/// An input buffer, or a send queue.
#[derive(Clone, Debug)]
pub struct InLane {
    /// First packet.
    pub head: u32,
    /// Last packet.
    pub tail: u32,
    /// The next in lane that waits for the same out lane.
    pub next_waiter: u32,
    /// The out lane that the head waits for.
    pub waits_for: u32,
    /// Credits taken, by packets still on the wire too.
    pub held: u32,
    /// Packets in the queue.
    pub count: u32,
}

/// Forwarding and SL-to-VL tables of all nodes, flattened.
pub struct Tables {
    /// `lft[row × lids + dlid]`: an output port, 255 for none.
    pub lft: Vec<u8>,
    /// LIDs in a row: a multiple of 64.
    pub lids: usize,
    nodes: Vec<NodeTables>,
    sl_to_vl: Vec<[u8; 16]>,
}

/// Where a node's ports and tables are.
#[derive(Clone, Debug)]
struct NodeTables {
    /// Its port 0.
    first_port: u32,
    /// Its row of forwarding entries; [`NIL`] where it is no switch.
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

impl Tables {
    fn new(fabric: &Fabric, top: Lid, data_vls: u8) -> Tables {
        let nodes = fabric.nodes().map(|(id, node)| NodeTables {
            first_port: node.first_port.0,
            row: NIL,
            sl_base: id.0,
            sl_by_input: 0,
            sl_by_output: 0,
            num_ports: node.num_ports,
        });
        let mut nodes: Vec<NodeTables> = nodes.collect();
        let rows = fabric.switches().zip(0..).map(|(id, rank)| nodes[id.index()].row = rank).count();
        let lids = (top.index() + 1).next_multiple_of(64);
        let table = std::array::from_fn(|sl| sl as u8 % data_vls);
        Tables { lft: vec![255; rows * lids], lids, nodes, sl_to_vl: vec![table; fabric.node_count()] }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The row of a node's forwarding entries; [`NIL`] where it is no switch.
    #[inline]
    pub fn row(&self, node: u32) -> u32 {
        self.nodes[node as usize].row
    }

    /// The output port of a switch for a DLID, 255 for none.
    #[inline]
    pub fn output(&self, node: u32, dlid: u16) -> u8 {
        self.entry(&self.nodes[node as usize], dlid)
    }

    #[inline]
    fn entry(&self, node: &NodeTables, dlid: u16) -> u8 {
        let dlid = usize::from(dlid);
        if dlid < self.lids { self.lft[node.row as usize * self.lids + dlid] } else { 255 }
    }

    /// Output port (dense index) and lane of a switch for a DLID and a service level that come in at `input`; none where
    /// the entry names no port.
    #[inline]
    pub fn way(&self, node: u32, input: u8, dlid: u16, sl: u8) -> Option<(u32, u8)> {
        let node = &self.nodes[node as usize];
        let out = self.entry(node, dlid);
        let exists = out != 0 && out <= node.num_ports;
        exists.then(|| (node.first_port + u32::from(out), self.sl_table_of(node, input, out)[usize::from(sl & 15)]))
    }

    /// Has every forwarding table reach as far as LID `end` − 1, at least; new entries name no port.
    pub fn reach(&mut self, end: usize) {
        if end <= self.lids {
            return;
        }
        // Doubled, so that a subnet that gives its LIDs one after the other is not copied for each block.
        let lids = end.next_multiple_of(64).max(2 * self.lids);
        let rows = self.lft.len() / self.lids;
        let mut longer = vec![255; rows * lids];
        for (new, old) in longer.chunks_exact_mut(lids).zip(self.lft.chunks_exact(self.lids)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.lft, self.lids) = (longer, lids);
    }

    /// One block of a switch's forwarding table; none where the device has no such block.
    pub fn block_mut(&mut self, node: u32, block: usize) -> Option<&mut [u8]> {
        let row = self.row(node);
        let fits = row != NIL && (block + 1) * 64 <= self.lids;
        let start = row as usize * self.lids + block * 64;
        fits.then(|| &mut self.lft[start..start + 64])
    }

    /// The lane that a service level takes from an input to an output port.
    #[inline]
    pub fn lane(&self, node: u32, input: u8, output: u8, sl: u8) -> u8 {
        self.sl_table(node, input, output)[usize::from(sl & 15)]
    }

    /// The SL-to-VL table from an input to an output port.
    #[inline]
    pub fn sl_table(&self, node: u32, input: u8, output: u8) -> &[u8; 16] {
        self.sl_table_of(&self.nodes[node as usize], input, output)
    }

    #[inline]
    fn sl_table_of(&self, node: &NodeTables, input: u8, output: u8) -> &[u8; 16] {
        &self.sl_to_vl[node.sl_table(input, output)]
    }

    /// Sets every table of a node.
    pub fn set_sl_uniform(&mut self, node: u32, table: [u8; 16]) {
        let own = &mut self.nodes[node as usize];
        (own.sl_base, own.sl_by_input, own.sl_by_output) = (node, 0, 0);
        self.sl_to_vl[node as usize] = table;
    }

    /// Sets one table of a node with `num_ports` external ports.
    pub fn set_sl_pair(&mut self, node: u32, num_ports: u8, input: u8, output: u8, table: [u8; 16]) {
        let side = u16::from(num_ports) + 1;
        let own = &mut self.nodes[node as usize];
        if own.sl_by_input == 0 {
            let all = self.sl_to_vl[own.sl_base as usize];
            (own.sl_base, own.sl_by_input, own.sl_by_output) = (self.sl_to_vl.len() as u32, side, 1);
            self.sl_to_vl.extend(std::iter::repeat_n(all, usize::from(side) * usize::from(side)));
        }
        let index = own.sl_table(input, output);
        self.sl_to_vl[index] = table;
    }
}

impl NodeTables {
    /// Index of the SL-to-VL table from an input to an output port.
    #[inline]
    fn sl_table(&self, input: u8, output: u8) -> usize {
        let offset = u32::from(self.sl_by_input) * u32::from(input) + u32::from(self.sl_by_output) * u32::from(output);
        (self.sl_base + offset) as usize
    }
}

/// Ports, lanes and tables.
pub struct Net {
    /// Bits of a lane index that name the VL.
    pub shift: u32,
    /// Data lanes in operation.
    pub data_vls: u8,
    /// The fewest that any port ever had in operation.
    fewest_lanes: u8,
    /// By port.
    pub ports: Vec<OutPort>,
    /// By lane.
    pub outs: Vec<OutLane>,
    /// By lane.
    pub ins: Vec<InLane>,
    /// What routes and maps.
    pub tables: Tables,
    /// Credits of one input buffer.
    pub capacity: u16,
}

impl Net {
    pub(super) fn new(fabric: &Fabric, top: Lid, data_vls: u8, capacity: u16) -> Net {
        let shift = u32::from(data_vls).next_power_of_two().trailing_zeros();
        let lanes = fabric.port_count() << shift;
        let ports = fabric.ports().map(|(id, _)| out_port(fabric, id, data_vls)).collect();
        let out_lane = OutLane {
            latest_at: 0,
            earlier: NIL,
            latest: 0,
            credits: capacity,
            starved: false,
            first_waiter: NIL,
            last_waiter: NIL,
        };
        let in_lane = InLane { head: NIL, tail: NIL, next_waiter: NIL, waits_for: NIL, held: 0, count: 0 };
        Net {
            shift,
            data_vls,
            fewest_lanes: data_vls,
            ports,
            outs: vec![out_lane; lanes],
            ins: vec![in_lane; lanes],
            tables: Tables::new(fabric, top, data_vls),
            capacity,
        }
    }

    /// Port 0 of a node.
    #[inline]
    pub fn first_port(&self, node: u32) -> u32 {
        self.tables.nodes[node as usize].first_port
    }

    /// A node's external ports.
    #[inline]
    pub fn num_ports(&self, node: u32) -> u8 {
        self.tables.nodes[node as usize].num_ports
    }

    /// The lane of a port.
    #[inline]
    pub fn lane(&self, port: u32, vl: u8) -> u32 {
        port << self.shift | u32::from(vl)
    }

    /// Whether a lane of a port is in operation.
    #[inline]
    pub fn runs(&self, port: u32, vl: u8) -> bool {
        vl < self.fewest_lanes || vl < self.ports[port as usize].lanes
    }

    /// Sets a port's lanes in operation.
    pub fn set_lanes(&mut self, port: u32, lanes: u8) {
        self.ports[port as usize].lanes = lanes.min(self.data_vls);
        self.fewest_lanes = self.fewest_lanes.min(lanes);
    }

    /// The port of a lane.
    #[inline]
    pub fn port_of(&self, lane: u32) -> u32 {
        lane >> self.shift
    }

    /// The VL of a lane.
    #[inline]
    pub fn vl_of(&self, lane: u32) -> u8 {
        (lane & ((1 << self.shift) - 1)) as u8
    }

    /// The in lane that an out lane fills, or the out lane that fills an in lane.
    #[inline]
    pub fn across(&self, lane: u32) -> u32 {
        self.ports[self.port_of(lane) as usize].peer << self.shift | lane & ((1 << self.shift) - 1)
    }
}

impl Net {
    /// Makes a cabled end port one of a router between subnets.
    pub(super) fn make_relay(&mut self, port: PortId) {
        let peer = self.ports[port.index()].peer;
        let own = &mut self.ports[port.index()];
        (own.relays, own.source) = (true, false);
        if peer != NIL {
            self.ports[peer as usize].sink = false;
        }
    }
}

fn out_port(fabric: &Fabric, id: PortId, lanes: u8) -> OutPort {
    let port = fabric.port(id);
    let kind = |port: PortId| fabric.node(fabric.port(port).node).kind;
    // Kilobytes per second to ticks per byte, times 65536.
    let ticks_per_byte = (TICKS_PER_NS * 1_000_000 * 65_536).div_ceil(port.width.data_rate_kbps(port.speed));
    OutPort {
        busy_until: 0,
        bytes_sent: 0,
        packets_sent: 0,
        ticks_per_byte: ticks_per_byte as u32,
        peer: port.peer.map_or(NIL, |peer| peer.0),
        node: port.node.0,
        pending: 0,
        allowance: 0,
        turn: 0,
        num: port.num.0,
        sink: port.peer.is_some_and(|peer| kind(peer) != NodeKind::Switch),
        source: port.peer.is_some() && kind(id) != NodeKind::Switch,
        relays: false,
        scheduled: false,
        alive: port.peer.is_some(),
        state: if port.peer.is_some() { PortState::Active } else { PortState::Down },
        sends: port.peer.is_some(),
        receives: true,
        waits: false,
        lanes,
    }
}
