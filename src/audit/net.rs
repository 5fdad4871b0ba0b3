//! The fabric as the walk needs it: flat arrays by channel and by switch *row*, before a change and now side by side.

use super::Case;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// Which moment a fact is of: what ran before an update, or what runs now (while an update is on, if there is one).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Earlier,
    Now,
}

/// Where a channel leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// Nowhere: the port has no cable.
    Nothing,
    /// To an end port.
    End(PortId),
    /// Into a switch, by one of its ports.
    Switch { row: u32, input: PortNum },
}

/// A port that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    pub port: PortId,
    /// The row of a switch that sends itself; none for an end port, whose channel its port names.
    pub row: Option<u32>,
}

/// End ports at one switch that send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Group {
    /// The switch.
    pub row: u32,
    /// Ranks of its end ports among the sources: from `first` to before `end`.
    pub first: usize,
    /// See `first`.
    pub end: usize,
    /// Whether all they send is alike to the switch: of one service level, whatever the input.
    pub alike: bool,
}

/// Flat view of a fabric at both stages.
pub(super) struct Net {
    /// Switches of either stage, in index order.
    pub rows: Vec<NodeId>,
    /// By row: index of port 0.
    pub first_port: Vec<u32>,
    /// By row: ports, port 0 included.
    pub sides: Vec<usize>,
    /// By stage, then channel. Empty for the earlier stage where there is none.
    heads: [Vec<Head>; 2],
    /// By stage: who sends: end ports at switches by row, then the others, each in index order.
    sources: [Vec<Source>; 2],
}

impl Net {
    pub fn new(case: &Case<'_>) -> Net {
        let is_row = |id: &NodeId| {
            let present = |fabric: &Fabric| fabric.node(*id).present;
            present(case.fabric) || case.earlier.is_some_and(present)
        };
        let switches = case.fabric.nodes().filter(|(_, node)| node.is_switch()).map(|(id, _)| id);
        let rows: Vec<NodeId> = switches.filter(is_row).collect();
        let mut row_of = vec![u32::MAX; case.fabric.node_count()];
        rows.iter().zip(0..).for_each(|(node, row)| row_of[node.index()] = row);
        let stages = [case.earlier, Some(case.fabric)];
        let heads = stages.map(|fabric| fabric.map_or_else(Vec::new, |fabric| heads(fabric, &row_of)));
        let mut sources =
            stages.map(|fabric| fabric.map_or_else(Vec::new, |fabric| sources(fabric, &row_of, case.rules.switches)));
        for (sources, heads) in sources.iter_mut().zip(&heads) {
            sources.sort_by_key(|source| (host_row(heads, *source), source.port));
        }
        Net {
            first_port: rows.iter().map(|&node| case.fabric.node(node).first_port.0).collect(),
            sides: rows.iter().map(|&node| usize::from(case.fabric.node(node).num_ports) + 1).collect(),
            heads,
            sources,
            rows,
        }
    }

    /// Where a channel leads.
    pub fn head(&self, stage: Stage, channel: u32) -> Head {
        self.heads[stage as usize][channel as usize]
    }

    /// Whether the channel was there before the change.
    pub fn was_there(&self, channel: u32) -> bool {
        self.heads[Stage::Earlier as usize].get(channel as usize).is_some_and(|&head| head != Head::Nothing)
    }

    /// Channels, those without a cable included.
    pub fn channels(&self) -> usize {
        self.heads[Stage::Now as usize].len()
    }

    /// Who sends.
    pub fn sources(&self, stage: Stage) -> &[Source] {
        &self.sources[stage as usize]
    }

    /// The switch that an end port sends into; none for a switch itself and for an end port at another.
    pub fn host_row(&self, stage: Stage, source: Source) -> Option<u32> {
        let row = host_row(&self.heads[stage as usize], source);
        (row != u32::MAX).then_some(row)
    }

    /// End ports that send, by the switch that they are at; `alike` tells of the sources at a switch.
    pub fn groups(&self, stage: Stage, alike: impl Fn(u32, &[Source]) -> bool) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (rank, &source) in self.sources(stage).iter().enumerate() {
            let Some(row) = self.host_row(stage, source) else { continue };
            match groups.last_mut().filter(|group| group.row == row) {
                Some(group) => group.end = rank + 1,
                None => groups.push(Group { row, first: rank, end: rank + 1, alike: false }),
            }
        }
        let sources = self.sources(stage);
        groups.iter_mut().for_each(|group| group.alike = alike(group.row, &sources[group.first..group.end]));
        groups
    }

    /// The channel that a switch sends into by one of its ports.
    pub fn channel(&self, row: u32, output: PortNum) -> u32 {
        self.first_port[row as usize] + u32::from(output.0)
    }

    /// The port by which a switch sends into one of its channels.
    pub fn output(&self, row: u32, channel: u32) -> PortNum {
        PortNum((channel - self.first_port[row as usize]) as u8)
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

fn sources(fabric: &Fabric, row_of: &[u32], switches: bool) -> Vec<Source> {
    let ports = fabric.lid_ports().filter(|&port| fabric.port(port).lid.is_some());
    let source = |port: PortId| {
        let row = row_of[fabric.port(port).node.index()];
        Source { port, row: (row != u32::MAX).then_some(row) }
    };
    ports.map(source).filter(|source| switches || source.row.is_none()).collect()
}

/// `u32::MAX` for those that are at no switch.
fn host_row(heads: &[Head], source: Source) -> u32 {
    match heads[source.port.index()] {
        Head::Switch { row, .. } if source.row.is_none() => row,
        _ => u32::MAX,
    }
}
