//! A fabric as the walk needs it: flat arrays by channel and by switch *row*, the cables before a change and those
//! during it side by side.
//!
//! Both fabrics share one index space. Stage 0 is the moment before the change; all later stages see the cables that
//! are there while it runs.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// The element at the far end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Head {
    /// Nowhere: the port has no cable.
    Nothing,
    /// To an end port.
    End(PortId),
    /// Into a switch, by one of its ports.
    Switch { row: u32, input: PortNum },
}

/// The fate of a packet at an output of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Sends it into a channel.
    Channel(usize),
    /// Delivers it to the switch itself: port 0.
    Own,
    /// Discards it: no output is given.
    NoRoute,
    /// Discards it: the switch lacks the port, or the port has no cable.
    NoCable(PortNum),
    /// Loses it to a cable that died with the change, which holds no packets.
    Died(PortNum),
}

/// A port that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SendingPort {
    /// The port; names the injection channel too, except for a switch itself, which has none.
    pub port: PortId,
    /// The switch that it sends into, or that it is itself; none where the far end of its cable is another end port.
    pub row: Option<u32>,
    /// The switch's port: 0 for the switch itself.
    pub input: PortNum,
}

impl SendingPort {
    /// Returns whether a switch itself sends: its packets stand in no channel.
    pub fn is_switch(self) -> bool {
        self.row.is_some() && self.input == PortNum::ZERO
    }
}

/// Flat view of a fabric before a change and during it.
pub(crate) struct FlatFabric {
    /// Switches present at either time, in index order.
    pub rows: Vec<NodeId>,
    /// By row: index of port 0.
    pub first_port: Vec<u32>,
    /// By row: ports, port 0 included.
    pub sides: Vec<usize>,
    /// By time, then channel. The first is empty where the fabric before the change is unknown.
    heads: [Vec<Head>; 2],
    /// By time.
    senders: [Vec<SendingPort>; 2],
    /// Whether switches discard packets from another switch whose output port is their input port.
    pub discards_turned_back: bool,
}

impl FlatFabric {
    /// The view of a fabric and of its restriction `surviving`. The end ports at switches send, at all stages the
    /// same ones in the same order (rows, then inputs); with `switches`, switches send too.
    pub fn of_restriction(fabric: &Fabric, surviving: &Fabric, switches: bool) -> FlatFabric {
        let mut net = FlatFabric::new(Some(fabric), surviving);
        let rows = net.rows.iter().zip(0..);
        // A dead source no longer sends, but keeps its rank: injection channels are carried from stage to stage by
        // rank.
        let senders: Vec<_> = rows.flat_map(|(&node, row)| senders_at(fabric, row, node, switches)).collect();
        net.senders = [senders.clone(), senders];
        net
    }

    /// The view of two fabrics over one index space, of which either may lack elements of the other. `senders` lists
    /// the senders in a fabric, which is that of the given stage.
    pub fn of_update(
        before: Option<&Fabric>,
        during: &Fabric,
        senders: impl Fn(&FlatFabric, &Fabric, usize) -> Vec<SendingPort>,
    ) -> FlatFabric {
        let mut net = FlatFabric::new(before, during);
        let earlier = before.map_or_else(Vec::new, |fabric| senders(&net, fabric, 0));
        net.senders = [earlier, senders(&net, during, 1)];
        net
    }

    fn new(before: Option<&Fabric>, during: &Fabric) -> FlatFabric {
        let is_present = |id: NodeId| before.into_iter().chain([during]).any(|fabric| fabric.node(id).present);
        let switches = during.nodes().filter(|&(id, node)| node.is_switch() && is_present(id));
        let rows: Vec<NodeId> = switches.map(|(id, _)| id).collect();
        let mut row_of = vec![u32::MAX; during.node_count()];
        rows.iter().zip(0..).for_each(|(node, row)| row_of[node.index()] = row);
        let times = [before, Some(during)];
        FlatFabric {
            first_port: rows.iter().map(|&node| during.node(node).first_port.0).collect(),
            sides: rows.iter().map(|&node| usize::from(during.node(node).num_ports) + 1).collect(),
            heads: times.map(|fabric| fabric.map_or_else(Vec::new, |fabric| heads(fabric, &row_of))),
            senders: [Vec::new(), Vec::new()],
            discards_turned_back: false,
            rows,
        }
    }

    /// The row of a switch; none for any other node.
    pub fn row(&self, node: NodeId) -> Option<usize> {
        self.rows.binary_search(&node).ok()
    }

    /// Channels, those without a cable included.
    #[inline]
    pub fn channels(&self) -> usize {
        self.heads[1].len()
    }

    /// The element at the far end of a channel at a stage.
    #[inline]
    pub fn head(&self, stage: usize, channel: usize) -> Head {
        self.heads[usize::from(stage > 0)][channel]
    }

    /// Returns whether a channel exists at a stage.
    #[inline]
    pub fn exists(&self, stage: usize, channel: usize) -> bool {
        self.head(stage, channel) != Head::Nothing
    }

    /// Returns whether a channel existed before the change.
    #[inline]
    fn was_there(&self, channel: usize) -> bool {
        self.heads[0].get(channel).is_some_and(|&head| head != Head::Nothing)
    }

    /// The senders at a stage.
    #[inline]
    pub fn senders(&self, stage: usize) -> &[SendingPort] {
        &self.senders[usize::from(stage > 0)]
    }

    /// The channel that a switch sends into by one of its ports.
    #[inline]
    pub fn channel(&self, row: usize, output: PortNum) -> usize {
        self.first_port[row] as usize + output.index()
    }

    /// The port by which a switch sends into one of its channels.
    #[inline]
    pub fn output(&self, row: usize, channel: usize) -> PortNum {
        PortNum((channel - self.first_port[row] as usize) as u8)
    }

    /// The fate of packets at an output of a switch at a stage.
    #[inline]
    pub fn exit(&self, stage: usize, row: usize, output: PortNum) -> Exit {
        if output == PortNum::ZERO {
            return Exit::Own;
        }
        if output == PortNum::NO_ROUTE {
            return Exit::NoRoute;
        }
        if output.index() >= self.sides[row] {
            return Exit::NoCable(output);
        }
        let channel = self.channel(row, output);
        match self.head(stage, channel) {
            Head::Nothing if stage > 0 && self.was_there(channel) => Exit::Died(output),
            Head::Nothing => Exit::NoCable(output),
            Head::End(_) | Head::Switch { .. } => Exit::Channel(channel),
        }
    }
}

fn heads(fabric: &Fabric, row_of: &[u32]) -> Vec<Head> {
    let head = |channel: PortId| match fabric.peer(channel).map(|peer| (peer, fabric.port(peer))) {
        None => Head::Nothing,
        Some((_, end)) if row_of[end.node.index()] != u32::MAX => {
            Head::Switch { row: row_of[end.node.index()], input: end.num }
        }
        Some((peer, _)) => Head::End(peer),
    };
    fabric.ports().map(|(id, _)| head(id)).collect()
}

fn senders_at(fabric: &Fabric, row: u32, node: NodeId, switches: bool) -> impl Iterator<Item = SendingPort> {
    fabric.ports_of(node).filter_map(move |id| {
        let input = fabric.port(id).num;
        if input == PortNum::ZERO {
            return switches.then_some(SendingPort { row: Some(row), input, port: id });
        }
        let port = fabric.peer(id)?;
        let end = !fabric.node(fabric.port(port).node).is_switch();
        end.then_some(SendingPort { row: Some(row), input, port })
    })
}
