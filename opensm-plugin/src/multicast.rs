//! Multicast trees beside unicast: whether they can wait for each other in a ring, and trees that cannot.
//!
//! On entry: rows of multicast tables as OpenSM has them ([`TreeRow`]), and unicast as it was last handed over
//! ([`Unicast`]). On return: a [`Ring`], or none ([`judge`]); or the rows of a group's tree ([`TreeBuilder`]), all of
//! one tree over all switches that bear hosts, of which all turns are proved beside unicast: so is what any mixture of
//! its groups does. Pure: no I/O, no OpenSM. Deliberately omitted: which lane a group's service level takes; trees
//! are judged on each.

use crate::memory::same_port;
use crate::plans::{self, LayeredWays};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, PortMask, PortNum};
use reconfig::routing::{FoundTree, SpanningTree, TreeSearch};
use reconfig::tables::{Lft, TreeTurn};
use reconfig::verify::{Refusal, TurnWait, UnicastWaits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What a switch does with packets to a multicast LID: copies go to these ports, but for the one that they came in by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TreeRow {
    /// The switch.
    pub switch: Guid,
    /// The multicast LID.
    pub mlid: u16,
    /// Its ports of the tree, in rising order.
    pub ports: Vec<PortNum>,
}

/// Unicast tables as they were last handed over.
#[derive(Clone, Debug)]
pub struct Unicast {
    /// What is routed.
    pub fabric: Arc<Fabric>,
    /// By node: what was in force before.
    pub earlier: Vec<Arc<Lft>>,
    /// By node: the tables.
    pub lfts: Vec<Arc<Lft>>,
    /// Who sends on which layer, if that matters.
    pub ways: LayeredWays,
}

/// Waits of multicast and unicast that close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    /// By switch: its name, the port in, the port out, and whose packets wait so.
    pub waits: Vec<String>,
    /// The multicast LIDs whose trees are part of it.
    pub mlids: BTreeSet<u16>,
}

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mlids: Vec<String> = self.mlids.iter().map(|mlid| format!("0x{mlid:x}")).collect();
        write!(
            f,
            "packets of multicast ({}) and of unicast can wait for each other in a ring of {} lanes",
            mlids.join(", "),
            self.waits.len()
        )?;
        self.waits.iter().try_for_each(|wait| write!(f, "; {wait}"))
    }
}

impl Unicast {
    /// What unicast packets can wait for when these tables are in force.
    ///
    /// # Errors
    /// What is wrong with the tables.
    pub fn waits(&self) -> Result<UnicastWaits, Refusal> {
        plans::waits(&self.fabric, &self.lfts, &self.ways)
    }

    /// The same in every mixture of these tables and those before; none where they are the same, or cannot be judged.
    pub fn waits_while_written(&self) -> Option<UnicastWaits> {
        let differ = self.earlier != self.lfts;
        differ.then(|| plans::waits_while_written(&self.fabric, &self.earlier, &self.lfts, &self.ways).ok()).flatten()
    }
}

/// Rows by switch and multicast LID, as ports of a fabric.
struct Rows<'a> {
    fabric: &'a Fabric,
    ports: BTreeMap<(u16, NodeId), BTreeSet<PortId>>,
}

impl<'a> Rows<'a> {
    fn of(fabric: &'a Fabric, rows: &[TreeRow]) -> Rows<'a> {
        let mut ports: BTreeMap<(u16, NodeId), BTreeSet<PortId>> = BTreeMap::new();
        for row in rows {
            let Some(node) = fabric.by_guid(row.switch) else { continue };
            let own = row.ports.iter().filter_map(|&num| fabric.port_at(node, num));
            ports.entry((row.mlid, node)).or_default().extend(own);
        }
        Rows { fabric, ports }
    }

    /// What packets of a group do at switches, from switch to switch: they come in by a port whose peer sends them
    /// there, and leave by any other of the row.
    fn turns(&self) -> Vec<(u16, TreeTurn)> {
        let mut turns = Vec::new();
        for (&(mlid, node), outputs) in &self.ports {
            let sends = |&port: &PortId| {
                let peer = self.fabric.peer(port)?;
                let far = self.ports.get(&(mlid, self.fabric.port(peer).node))?;
                far.contains(&peer).then_some(port)
            };
            let inputs: Vec<PortId> = self.fabric.ports_of(node).filter_map(|port| sends(&port)).collect();
            let onward = outputs.iter().filter(|&&port| leads_to_switch(self.fabric, port));
            for &output in onward {
                let from = inputs.iter().filter(|&&input| input != output);
                turns.extend(from.map(|&input| (mlid, TreeTurn { input, output })));
            }
        }
        turns
    }
}

fn leads_to_switch(fabric: &Fabric, port: PortId) -> bool {
    fabric.neighbour(port).is_some_and(|other| fabric.node(other).is_switch())
}

/// A ring that trees close with what unicast packets can wait for, or with each other; none where there is none.
pub fn judge(fabric: &Fabric, unicast: &UnicastWaits, rows: &[TreeRow]) -> Option<Ring> {
    let turns = Rows::of(fabric, rows).turns();
    let all: Vec<TreeTurn> = turns.iter().map(|&(_, turn)| turn).collect();
    let cycle = unicast.cycle_with(fabric, &all)?;
    let mlids = turns.iter().filter(|(_, turn)| cycle.iter().any(|wait| wait.turn == *turn && !wait.unicast));
    let mlids: BTreeSet<u16> = mlids.map(|&(mlid, _)| mlid).collect();
    let waits = cycle.iter().map(|wait| shown(fabric, wait)).collect();
    Some(Ring { waits, mlids })
}

fn shown(fabric: &Fabric, wait: &TurnWait) -> String {
    let TurnWait { turn: TreeTurn { input, output }, unicast, multicast } = *wait;
    let (from, to) = (fabric.port(input), fabric.port(output));
    let whose = match (unicast, multicast) {
        (true, true) => "both",
        (true, false) => "unicast",
        (false, _) => "multicast",
    };
    format!("{} in {} out {} ({whose})", fabric.describe_node(from.node), from.num, to.num)
}

/// Builds the trees of all groups as parts of one tree.
#[derive(Default)]
pub struct TreeBuilder {
    current: Option<Current>,
}

/// The tree, and what it was made for.
struct Current {
    fabric: Arc<Fabric>,
    lfts: Vec<Arc<Lft>>,
    /// Switches that take part in multicast.
    switches: BTreeSet<Guid>,
    /// Switches with members, or hosts.
    ends: BTreeSet<NodeId>,
    tree: SpanningTree,
    /// A ring that it closes, until that was said.
    ring: Option<String>,
}

/// The rows of a group, and what is wrong with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderedTree {
    /// The rows.
    pub rows: Vec<TreeRow>,
    /// Members that no tree reaches, and a ring where no tree that was tried is free of one.
    pub complaints: Vec<String>,
    /// Whether a member is on a switch that unicast does not know yet.
    pub ahead: bool,
}

impl TreeBuilder {
    /// The rows of a group's tree. `members` are where its members are attached: a switch and its port, 0 for the
    /// switch itself. `switches` are those that forward multicast.
    ///
    /// # Errors
    /// The unicast tables are not sound, so nothing can be proved beside them.
    pub fn build(
        &mut self,
        unicast: &Unicast,
        mlid: u16,
        members: &[(Guid, PortNum)],
        switches: &BTreeSet<Guid>,
    ) -> Result<OrderedTree, Refusal> {
        let fabric = &*unicast.fabric;
        let at = |&(guid, port): &(Guid, PortNum)| fabric.by_guid(guid).map(|node| (node, port));
        let attached: Vec<(NodeId, PortNum)> = members.iter().filter_map(at).collect();
        let wanted: BTreeSet<NodeId> = attached.iter().map(|&(node, _)| node).collect();
        let fits = |current: &Current| {
            (Arc::ptr_eq(&current.fabric, &unicast.fabric) || *current.fabric == *unicast.fabric)
                && current.lfts == unicast.lfts
                && current.switches == *switches
                && current.ends.is_superset(&wanted)
        };
        if !self.current.as_ref().is_some_and(fits) {
            self.current = Some(self.grow(unicast, &wanted, switches)?);
        }
        let current = self.current.as_mut().expect("it was grown");
        let mut complaints: Vec<String> = current.ring.take().into_iter().collect();
        let lost = members.len() - attached.iter().filter(|(node, _)| current.tree.has(*node)).count();
        if lost > 0 {
            complaints.push(format!("no tree of MLID 0x{mlid:x} reaches {lost} of its {} members", members.len()));
        }
        let rows = rows_of(&current.tree, fabric, mlid, &attached);
        Ok(OrderedTree { rows, complaints, ahead: attached.len() < members.len() })
    }

    fn grow(
        &self,
        unicast: &Unicast,
        wanted: &BTreeSet<NodeId>,
        switches: &BTreeSet<Guid>,
    ) -> Result<Current, Refusal> {
        let fabric = &*unicast.fabric;
        let takes_part = |node: NodeId| fabric.node(node).present && switches.contains(&fabric.node(node).guid);
        let bears = |node: &NodeId| {
            let is_host = |port: PortId| fabric.neighbour(port).is_some_and(|other| !fabric.node(other).is_switch());
            fabric.ports_of(*node).any(is_host)
        };
        let mut ends: BTreeSet<NodeId> = fabric.switches().filter(bears).collect();
        ends.extend(wanted);
        let waits = unicast.waits()?;
        // Switches hold rows of the tree before until all are written.
        let left = self.current.as_ref().map(|current| current.left(fabric)).unwrap_or_default();
        let before = self.current.as_ref();
        let before = before.and_then(|current| current.tree.translated(&current.fabric, fabric));
        let search = TreeSearch {
            fabric,
            takes_part: &takes_part,
            ends: &ends,
            before: before.as_ref(),
            goes: &|turns| waits.go_with(fabric, turns),
            waits: waits.count(),
            also: &left,
        };
        let FoundTree { tree, goes } = search.run().unwrap_or_default();
        let ring = if goes { None } else { ring_of(fabric, &waits, &ends, &tree) };
        Ok(Current::of(unicast, switches, ends, tree, ring))
    }
}

/// The ring that a tree closes with unicast, in words.
fn ring_of(fabric: &Fabric, waits: &UnicastWaits, ends: &BTreeSet<NodeId>, tree: &SpanningTree) -> Option<String> {
    let rows = rows_of(tree, fabric, 0, &ends.iter().map(|&end| (end, PortNum::ZERO)).collect::<Vec<_>>());
    judge(fabric, waits, &rows).map(|Ring { waits, .. }| {
        let waits = waits.join("; ");
        format!("no tree was found that goes with the unicast ways; the one taken closes a ring: {waits}")
    })
}

impl Current {
    fn of(
        unicast: &Unicast,
        switches: &BTreeSet<Guid>,
        ends: BTreeSet<NodeId>,
        tree: SpanningTree,
        ring: Option<String>,
    ) -> Current {
        let Unicast { fabric, lfts, .. } = unicast.clone();
        Current { fabric, lfts, switches: switches.clone(), ends, tree, ring }
    }

    /// The turns of its tree in another fabric, as far as they are left there.
    fn left(&self, to: &Fabric) -> Vec<TreeTurn> {
        let turns = self.tree.turns(&self.fabric, &self.ends).into_iter();
        let turn = |TreeTurn { input, output }| {
            Some(TreeTurn { input: same_port(&self.fabric, input, to)?, output: same_port(&self.fabric, output, to)? })
        };
        turns.filter_map(turn).collect()
    }
}

/// The rows of a group whose members are attached at these ports of switches.
fn rows_of(tree: &SpanningTree, fabric: &Fabric, mlid: u16, members: &[(NodeId, PortNum)]) -> Vec<TreeRow> {
    let places: Vec<_> = members.iter().map(|&(node, port)| (node, Some(port))).collect();
    let row = |(node, ports): (NodeId, PortMask)| TreeRow {
        switch: fabric.node(node).guid,
        mlid,
        ports: ports.iter().collect(),
    };
    tree.rows(fabric, &places).into_iter().map(row).collect()
}
