//! Ways there and back: the LIDs and the service level by which one port asks another and gets its answer.

use super::{Lft, PathLayers};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, PortNum, Sl};
use std::sync::Arc;

/// The tables and path layers that determine the ways and the senders of a half.
#[derive(Clone, Copy, Debug)]
pub struct HalfInForce<'a> {
    /// The part of the fabric that is present, LIDs assigned.
    pub fabric: &'a Fabric,
    /// The forwarding tables, by node.
    pub lfts: &'a [Arc<Lft>],
    /// The paths and layers of each source on the half; none if every source may use every path.
    pub ways: Option<&'a PathLayers>,
    /// The half.
    pub half: Half,
    /// Whether a client may also send to a base LID on every level of the half on which its owner may send back, as the
    /// SM does where a plan proves its answers (P0.8).
    pub answers: bool,
}

/// A request that reaches its target, and an answer that returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// The request's DLID: a LID of the port asked, and the SLID of its answer.
    pub to: Lid,
    /// The request's SLID: a LID of the asker, and the DLID of the answer.
    pub from: Lid,
    /// The service level of both.
    pub sl: Sl,
}

/// The first round trip between two ports on the service levels of a half. An answer swaps SLID and DLID and keeps the
/// service level, so both ways must be open to their senders on one layer, and the entries must lead both to their
/// ends. An `asker` without halves of LIDs, such as port 0 of a switch, is answered at its base LID on any layer. None
/// if no pair of ways is so.
pub fn round_trip(in_force: HalfInForce<'_>, asker: PortId, asked: PortId) -> Option<RoundTrip> {
    let back: Vec<(Lid, Option<u8>)> = match in_force.open(asked, asker) {
        ways if !ways.is_empty() => ways.into_iter().map(|(lid, layer)| (lid, Some(layer))).collect(),
        _ if in_force.fabric.half_lids(asker, in_force.half).next().is_none() => {
            in_force.fabric.port(asker).lid.into_iter().map(|lid| (lid, None)).collect()
        }
        _ => Vec::new(),
    };
    let mut there = in_force.open(asker, asked);
    if let (true, Some(base)) = (in_force.answers, in_force.fabric.port(asked).lid) {
        there.extend(back.iter().filter_map(|&(_, layer)| Some((base, layer?))));
    }
    there.retain(|&(to, _)| in_force.leads(asker, to));
    let mut trips = there.into_iter().flat_map(|(to, layer)| {
        let fits = back.iter().filter(move |(_, its)| its.is_none_or(|its| its == layer));
        fits.map(move |&(from, _)| RoundTrip { to, from, sl: in_force.half.sl_of(layer) })
    });
    trips.find(|trip| in_force.leads(asked, trip.from))
}

impl HalfInForce<'_> {
    /// The LIDs by which a source may send to a destination, each with its layer, in ascending order.
    fn open(self, source: PortId, destination: PortId) -> Vec<(Lid, u8)> {
        let lids = self.fabric.half_lids(destination, self.half).enumerate();
        let layer = |path| match self.ways {
            Some(ways) if source != destination => ways.layer(source, destination, path),
            // Everybody may use every path on layer 0; a port reaches itself without the fabric.
            _ => Some(0),
        };
        lids.filter_map(|(path, lid)| layer(path).map(|layer| (lid, layer))).collect()
    }

    /// Returns whether the entries lead a packet from a port to the owner of its DLID.
    fn leads(self, source: PortId, lid: Lid) -> bool {
        let fabric = self.fabric;
        let Some(owner) = fabric.lid_owner(lid) else { return false };
        let onward = |&at: &PortId| {
            let node = fabric.port(at).node;
            // Nodes other than switches forward nothing: their tables are empty.
            let output = self.lfts[node.index()].get(lid)?;
            let next = fabric.port_at(node, output)?;
            if output == PortNum::ZERO { Some(next) } else { fabric.peer(next) }
        };
        let is_switch = fabric.node(fabric.port(source).node).is_switch();
        let first = if is_switch || source == owner { Some(source) } else { fabric.peer(source) };
        // A way without a loop meets each node at most once, and the last switch once more at its port 0.
        std::iter::successors(first, onward).take(fabric.node_count() + 2).any(|port| port == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::Lmc;

    /// A ring of three with a host on each switch; LIDs of two a half, and every entry by the shorter side.
    fn ring() -> (Fabric, Vec<Arc<Lft>>, Vec<PortId>) {
        let ring: Topology = "ring:3,1".parse().expect("a family");
        let bare = generate(&ring, &Options::default()).expect("a fabric");
        let ends: Vec<PortId> = bare.end_ports().collect();
        let lids = ends.iter().zip(1..).map(|(&port, rank)| (port, Lid(4 * rank), Lmc::masked(2)));
        let fabric = bare.with_lids(lids).expect("LIDs of three ports");
        let mut lfts = vec![Lft::new(); fabric.node_count()];
        for switch in fabric.switches() {
            for &end in &ends {
                let home = fabric.neighbour(end).expect("a cabled host");
                let towards = |port: &PortId| match home == switch {
                    true => fabric.peer(*port) == Some(end),
                    false => fabric.neighbour(*port) == Some(home),
                };
                let output = fabric.port(fabric.ports_of(switch).find(towards).expect("a ring of three")).num;
                let lids = fabric.half_lids(end, Half::Lower);
                lids.for_each(|lid| lfts[switch.index()].set(lid, output));
            }
        }
        (fabric, lfts.into_iter().map(Arc::new).collect(), ends)
    }

    #[test]
    fn both_ways_are_on_one_layer_and_lead_to_their_ends() {
        let (fabric, lfts, ends) = ring();
        let mut ways = PathLayers::by_port(&fabric, &ends, &ends, 2);
        // There by path 0 on layer 0 and by path 1 on layer 1; back by path 1 on layer 1.
        [(0, 0), (1, 1)].iter().for_each(|&(path, layer)| ways.open(0, 1, path, layer));
        ways.open(1, 0, 1, 1);
        let in_force =
            |lfts, ways| HalfInForce { fabric: &fabric, lfts, ways: Some(ways), half: Half::Lower, answers: false };
        let found = round_trip(in_force(&lfts, &ways), ends[0], ends[1]);
        assert_eq!(found, Some(RoundTrip { to: Lid(9), from: Lid(5), sl: Sl::masked(1) }));
        // The way back has an entry missing at the switch of the port asked.
        let mut broken = lfts.clone();
        let home = fabric.neighbour(ends[1]).expect("a cabled host");
        Arc::make_mut(&mut broken[home.index()]).set(Lid(5), PortNum::NO_ROUTE);
        assert_eq!(round_trip(in_force(&broken, &ways), ends[0], ends[1]), None);
        // Back on a layer that leads nowhere there: only to the base LID, as answers go.
        let mut apart = PathLayers::by_port(&fabric, &ends, &ends, 2);
        apart.open(0, 1, 0, 0);
        apart.open(1, 0, 0, 3);
        assert_eq!(round_trip(in_force(&lfts, &apart), ends[0], ends[1]), None);
        let answering = HalfInForce { answers: true, ..in_force(&lfts, &apart) };
        let found = round_trip(answering, ends[0], ends[1]);
        assert_eq!(found, Some(RoundTrip { to: Lid(8), from: Lid(4), sl: Sl::masked(3) }));
    }

    #[test]
    fn entries_that_go_in_a_ring_lead_nowhere() {
        let (fabric, mut lfts, ends) = ring();
        let all: Vec<_> = fabric.switches().collect();
        for (at, &switch) in all.iter().enumerate() {
            let next = all[(at + 1) % all.len()];
            let towards = fabric.ports_of(switch).find(|&port| fabric.neighbour(port) == Some(next)).expect("a ring");
            Arc::make_mut(&mut lfts[switch.index()]).set(Lid(8), fabric.port(towards).num);
        }
        let in_force = HalfInForce { fabric: &fabric, lfts: &lfts, ways: None, half: Half::Lower, answers: false };
        let found = round_trip(in_force, ends[0], ends[1]).expect("the other LID leads there");
        assert_eq!((found.to, found.from), (Lid(9), Lid(4)));
    }
}
