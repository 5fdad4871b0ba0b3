//! Schemes: planners, one a file, and their common parts: the writes that lead from tables to tables, and
//! preconditions.
//!
//! Only differences are written. A plain SL-to-VL pass over a switch takes one table for each pair of input and output
//! ports with cables, where port 0 counts among the inputs, and a port may be its own output (a DLID may lead a packet
//! back): d × (d + 1) writes for d cabled ports, 1332 for a full 36-port switch. Pairs with an uncabled port carry no
//! packets and are skipped. A switch with the optimised form takes one write, and so does an end port.

mod double;
mod in_place;
mod ordered;
mod recover;
mod static_;
mod urgency;

pub use ordered::TableStep;
pub(crate) use recover::close_writes;

use super::{Arming, Assumption, Draft, DrainLayer, LanePartition, Lanes, Plan, PlanError, Policy, Scheme};
use crate::fabric::{Fabric, Node, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, ReservedLevel, Sl};
use crate::tables::{
    LFT_BLOCK, Lft, NodeSlToVl, PathLayers, PortState, SlToVl, SlToVlScope, SubnetTables, Write, address,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A planner's input. All fabrics share one index space.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The fabric before the change, with newcomers, LIDs assigned.
    pub before: Arc<Fabric>,
    /// The part of `before` for which the routing in force was made. Tables of newcomers are unknown: each is written
    /// whole, whatever `initial` holds.
    pub routed: Arc<Fabric>,
    /// The part that is present while the waves run; the SM reaches every device in it.
    pub surviving: Arc<Fabric>,
    /// The fabric after the change.
    pub after: Arc<Fabric>,
    /// The tables in force.
    pub initial: SubnetTables,
    /// The wanted forwarding tables, by node: for `double`, the new routing on the LIDs of the spare half and of the
    /// switches, everything else unchanged; for the other schemes, the new routing on all LIDs.
    pub target: Vec<Arc<Lft>>,
    /// For `ordered`: the waves, the last of which ends at the wanted tables.
    pub steps: Vec<TableStep>,
    /// Whether the waves of `ordered` are proved only if switches discard packets that turn back.
    pub discards_turned_back: bool,
    /// For `recover`: whether end ports are first kept from sending on the half that is not `old`.
    pub closes: bool,
    /// The half in use.
    pub old: Half,
    /// Whether sources may send on the other half as well: for schemes that have no half retire.
    pub both_halves: bool,
    /// For `recover`: whether the tables in force lead from some rows (switch, LID) nowhere.
    pub begins_with_losses: bool,
    /// For `ordered`: whether hosts may have no way to hosts at the end that had none when it began.
    pub leaves_losses: bool,
    /// The user's choices.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
    /// End ports of `before` that the new routing omits.
    pub stranded: Vec<PortId>,
    /// Virtual layers that the routing in force needs.
    pub old_layers: u8,
    /// Virtual layers that the new routing needs.
    pub new_layers: u8,
    /// For `double`: the dependencies of the routing in force.
    pub drain: Vec<DrainLayer>,
    /// The paths and layers of each source under the routing in force; none if every source may use every path.
    pub old_ways: Option<Arc<PathLayers>>,
    /// The paths and layers of each source under the new routing.
    pub new_ways: Option<Arc<PathLayers>>,
}

/// Plans a change under a scheme.
///
/// # Errors
/// A precondition of the scheme does not hold.
pub fn plan(scheme: Scheme, input: PlanInput) -> Result<Plan, PlanError> {
    check(scheme, &input)?;
    match scheme {
        Scheme::Double => double::plan(input),
        Scheme::Static => Ok(static_::plan(input)),
        Scheme::InPlace => in_place::plan(input),
        Scheme::Ordered => ordered::plan(input),
        Scheme::Recover => Ok(recover::plan(input)),
    }
}

/// How much a plan writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanSize {
    /// Writes in all.
    pub writes: usize,
    /// Waves.
    pub waves: usize,
}

impl Plan {
    /// How much it writes.
    pub fn size(&self) -> PlanSize {
        PlanSize { writes: self.waves().iter().map(|wave| wave.writes.len()).sum(), waves: self.waves().len() }
    }
}

/// How much the plan of scheme `double` would write. It may have millions of writes, so they are only counted.
///
/// # Errors
/// As for [`plan`].
pub fn size_of_double(input: PlanInput) -> Result<PlanSize, PlanError> {
    check(Scheme::Double, &input)?;
    double::size(input)
}

/// Checks what every scheme asks for.
fn check(scheme: Scheme, input: &PlanInput) -> Result<(), PlanError> {
    assert_eq!(input.target.len(), input.before.node_count(), "one wanted forwarding table for each node");
    check_reach(input)?;
    check_capacity(input)?;
    check_reserved(scheme, input)
}

/// Checks that every surviving device can be written to.
fn check_reach(input: &PlanInput) -> Result<(), PlanError> {
    let fabric = &*input.surviving;
    let start = fabric.port(input.sm).node;
    let mut reached = vec![false; fabric.node_count()];
    reached[start.index()] = true;
    let mut queue = vec![start];
    while let Some(node) = queue.pop() {
        if node != start && !fabric.node(node).is_switch() {
            continue;
        }
        for next in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                queue.push(next);
            }
        }
    }
    let linked = |id| fabric.ports_of(id).any(|port| fabric.peer(port).is_some());
    let lost = fabric.nodes().find(|&(id, node)| node.present && linked(id) && !reached[id.index()]);
    match lost {
        Some((id, _)) => {
            Err(PlanError::Unreachable { device: fabric.describe_node(id), sm: fabric.describe_port(input.sm) })
        }
        None => Ok(()),
    }
}

/// Checks that every switch can hold the highest LID that it must route.
fn check_capacity(input: &PlanInput) -> Result<(), PlanError> {
    for switch in input.surviving.switches() {
        let capacity = input.surviving.node(switch).lft_capacity;
        let highest = highest_routed(&input.target[switch.index()]);
        if let Some(lid) = highest.filter(|lid| lid.0 >= capacity) {
            return Err(PlanError::LftCapacity { switch: input.surviving.describe_node(switch), capacity, lid });
        }
    }
    Ok(())
}

/// Checks that the reserved level is no virtual layer's, that lanes are left beside its own, and that the tables in
/// force give it that lane already: a wave that moved it would move multicast packets that no judge follows (K.1).
fn check_reserved(scheme: Scheme, input: &PlanInput) -> Result<(), PlanError> {
    let Some(reserved) = Lanes::of_fabric(&input.before, input.policy.reserved_sl).reserved else { return Ok(()) };
    let ReservedLevel { sl, vl } = reserved;
    let layers = input.old_layers.max(input.new_layers);
    if Half::rank(sl) < usize::from(layers) {
        return Err(PlanError::ReservedInUse { sl, layers });
    }
    let needed = if scheme == Scheme::Double { 3 } else { 2 };
    let data_vls = Lanes::of_fabric(&input.before, None).count();
    if data_vls < needed {
        return Err(PlanError::NoLaneToReserve { sl, data_vls, needed });
    }
    for (node, _) in input.before.nodes().filter(|(_, info)| info.present) {
        let held = &input.initial.sl_to_vl[node.index()];
        for (from, to) in sl_to_vl_pairs(&input.before, node) {
            let lane = |other| held.get(from, to).get(other);
            let stray = Sl::all().find(|&other| (lane(other) == vl) != (other == sl));
            if let Some(stray) = stray {
                let device = input.before.describe_node(node);
                return Err(PlanError::ReservedNotKept { device, sl, vl, stray, on: lane(stray) });
            }
        }
    }
    Ok(())
}

fn highest_routed(lft: &Lft) -> Option<Lid> {
    let lids = u32::from(lft.blocks()) * LFT_BLOCK as u32;
    (0..lids).rev().map(|lid| Lid(lid as u16)).find(|&lid| lft.get(lid).is_some())
}

/// The switches present while the waves run, in GUID order.
fn by_guid(fabric: &Fabric) -> Vec<NodeId> {
    let mut switches: Vec<_> = fabric.switches().collect();
    switches.sort_unstable_by_key(|&id| fabric.node(id).guid);
    switches
}

impl PlanInput {
    /// A draft with everything that the input determines: without waves and assumptions, and with no half but the one
    /// in use.
    fn draft(self, scheme: Scheme, lanes: Lanes) -> Draft {
        Draft {
            scheme,
            notes: lane_notes(&self, lanes),
            before: self.before,
            routed: self.routed,
            surviving: self.surviving,
            after: self.after,
            initial: self.initial,
            old: self.old,
            new: self.old,
            both_halves: self.both_halves,
            begins_with_losses: self.begins_with_losses,
            leaves_losses: self.leaves_losses,
            lanes,
            policy: self.policy,
            sm: self.sm,
            stranded: self.stranded,
            waves: Vec::new(),
            drain: self.drain,
            old_ways: self.old_ways,
            new_ways: self.new_ways,
            assumptions: Vec::new(),
        }
    }

    /// Returns whether the cable at a port is new.
    fn has_come(&self, port: PortId) -> bool {
        self.before.peer(port).is_some() && self.routed.peer(port).is_none()
    }

    /// Returns whether a cable at one of two ports of a node is new: the SL-to-VL table between them is then unknown.
    fn pair_has_come(&self, node: NodeId, input: PortNum, output: PortNum) -> bool {
        let comes = |num| self.before.port_at(node, num).is_some_and(|port| self.has_come(port));
        comes(input) || comes(output)
    }

    /// Returns whether all cables of a node are new: its tables are then unknown.
    fn is_new(&self, node: NodeId) -> bool {
        let mut cabled = self.before.ports_of(node).filter(|&port| self.before.peer(port).is_some()).peekable();
        cabled.peek().is_some() && cabled.all(|port| self.has_come(port))
    }
}

/// The forwarding blocks that differ between the tables in force and the wanted ones: block by block, each over the
/// switches in GUID order; every block of a new switch. A switch that is to leave keeps its tables: packets of the old
/// routing may still reach it.
fn lft_writes(input: &PlanInput) -> Vec<Write> {
    let mut switches = by_guid(&input.surviving);
    switches.retain(|&switch| input.after.node(switch).present);
    let (held, wanted) = (&input.initial.lfts, &input.target);
    let most = switches.iter().map(|switch| held[switch.index()].blocks().max(wanted[switch.index()].blocks())).max();
    block_writes(&switches, most.unwrap_or(0), wanted, |switch, block, entries| {
        held[switch.index()].slice(block) != entries || input.is_new(switch)
    })
}

/// The number of [`lft_writes`].
fn lft_count(input: &PlanInput) -> usize {
    let (held, wanted) = (&input.initial.lfts, &input.target);
    let stays = |switch: &NodeId| input.after.node(*switch).present;
    let most = |switch: NodeId| held[switch.index()].blocks().max(wanted[switch.index()].blocks());
    let all = input.surviving.switches().filter(stays).map(most).max().unwrap_or(0);
    let of_switch = |switch: NodeId| match input.is_new(switch) {
        true => usize::from(all),
        false => held[switch.index()].blocks_differing(&wanted[switch.index()]),
    };
    input.surviving.switches().filter(stays).map(of_switch).sum()
}

/// The first `blocks` blocks of the `wanted` tables, if they are `due`: block by block, each over the switches in their
/// order.
fn block_writes(
    switches: &[NodeId],
    blocks: u16,
    wanted: &[Arc<Lft>],
    due: impl Fn(NodeId, u16, &[u8]) -> bool,
) -> Vec<Write> {
    let mut writes = Vec::new();
    for block in 0..blocks {
        for &switch in switches {
            let table = &wanted[switch.index()];
            if due(switch, block, table.slice(block)) {
                writes.push(Write::LftBlock { switch, block, entries: Box::new(table.block(block)) });
            }
        }
    }
    writes
}

/// Writes of one SL-to-VL table to the chosen (input, output) pairs, in the form that each device supports.
fn sl_to_vl_writes(fabric: &Fabric, table: SlToVl, chosen: impl Fn(NodeId, PortNum, PortNum) -> bool) -> Vec<Write> {
    let mut writes = Vec::new();
    for (node, _) in fabric.nodes().filter(|(_, info)| info.present) {
        writes.extend(lane_writes(fabric, node, table, |input, output| chosen(node, input, output)));
    }
    writes
}

/// The number of [`sl_to_vl_writes`] to the pairs of `tables` that differ, and to those of new cables; of all pairs
/// where no `tables` are given.
fn sl_to_vl_count(input: &PlanInput, tables: Option<&SubnetTables>, table: SlToVl) -> usize {
    let fabric = &*input.surviving;
    let has_new = fabric.ports().any(|(port, info)| info.peer.is_some() && input.has_come(port));
    let of_node = |node: NodeId| {
        let info = fabric.node(node);
        let held = tables.map(|tables| &*tables.sl_to_vl[node.index()]);
        match held {
            Some(NodeSlToVl::PerPair { .. }) => None,
            Some(NodeSlToVl::Uniform(_)) if has_new => None,
            Some(NodeSlToVl::Uniform(held)) if *held == table => Some(0),
            Some(NodeSlToVl::Uniform(_)) | None => {
                let cabled = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).count();
                Some(match (info.is_switch(), info.optimised_sl_to_vl) {
                    (true, true) => cabled.min(1),
                    (true, false) => cabled * (cabled + 1),
                    (false, _) => cabled,
                })
            }
        }
    };
    let singly = |node: NodeId| {
        let differs = |from, to| tables.is_some_and(|tables| differs(tables, table)(node, from, to));
        lane_writes(fabric, node, table, |from, to| differs(from, to) || input.pair_has_come(node, from, to)).len()
    };
    let present = fabric.nodes().filter(|(_, info)| info.present).map(|(node, _)| node);
    present.map(|node| of_node(node).unwrap_or_else(|| singly(node))).sum()
}

/// Writes of one SL-to-VL table of one node.
fn lane_writes(fabric: &Fabric, node: NodeId, table: SlToVl, chosen: impl Fn(PortNum, PortNum) -> bool) -> Vec<Write> {
    let pairs = sl_to_vl_pairs(fabric, node).into_iter().filter(|&(input, output)| chosen(input, output));
    scopes(fabric.node(node), pairs).into_iter().map(|scope| Write::SlToVl { node, scope, table }).collect()
}

/// The writes that bring devices from the tables that they hold to the wanted ones, outside any change: forwarding
/// blocks in OpenSM's order, and SL-to-VL tables where a single `table` is wanted everywhere. If nothing is known of
/// the devices (`held` is none), everything is written.
pub fn writes_between(fabric: &Fabric, held: Option<&SubnetTables>, lfts: &[Arc<Lft>], table: SlToVl) -> Vec<Write> {
    let mut writes = entries_between(fabric, held.map(|held| held.lfts.as_slice()), lfts);
    let chosen = |node, input, output| held.is_none_or(|held| differs(held, table)(node, input, output));
    writes.extend(sl_to_vl_writes(fabric, table, chosen));
    writes
}

/// The forwarding blocks of [`writes_between`].
pub fn entries_between(fabric: &Fabric, held: Option<&[Arc<Lft>]>, lfts: &[Arc<Lft>]) -> Vec<Write> {
    let most = held.into_iter().flatten().chain(lfts).map(|lft| lft.blocks()).max().unwrap_or(0);
    block_writes(&by_guid(fabric), most, lfts, |switch, block, entries| {
        held.is_none_or(|held| held[switch.index()].slice(block) != entries)
    })
}

/// All writes to a few devices of which nothing is known, as of [`writes_between`].
pub fn writes_to(fabric: &Fabric, devices: &BTreeSet<NodeId>, lfts: &[Arc<Lft>], table: SlToVl) -> Vec<Write> {
    let mut switches = by_guid(fabric);
    switches.retain(|switch| devices.contains(switch));
    let most = lfts.iter().map(|lft| lft.blocks()).max().unwrap_or(0);
    let mut writes = block_writes(&switches, most, lfts, |_, _, _| true);
    let present = devices.iter().filter(|&&device| fabric.node(device).present);
    writes.extend(present.flat_map(|&device| lane_writes(fabric, device, table, |_, _| true)));
    writes
}

/// Returns whether a table of `tables` differs from `wanted`.
fn differs(tables: &SubnetTables, wanted: SlToVl) -> impl Fn(NodeId, PortNum, PortNum) -> bool + use<'_> {
    move |node, input, output| *tables.sl_to_vl[node.index()].get(input, output) != wanted
}

/// The scopes that cover some (input, output) pairs of a node, in the form that it supports.
fn scopes(node: &Node, pairs: impl Iterator<Item = (PortNum, PortNum)>) -> Vec<SlToVlScope> {
    match (node.is_switch(), node.optimised_sl_to_vl) {
        // The optimised form sets all pairs at once, so one difference is reason enough.
        (true, true) => pairs.take(1).map(|_| SlToVlScope::All).collect(),
        (true, false) => pairs.map(|(input, output)| SlToVlScope::Pair { input, output }).collect(),
        (false, _) => pairs.map(|(_, port)| SlToVlScope::EndPort { port }).collect(),
    }
}

/// The (input, output) pairs of a node whose table a packet may use.
pub fn sl_to_vl_pairs(fabric: &Fabric, node: NodeId) -> Vec<(PortNum, PortNum)> {
    let linked: Vec<PortNum> = fabric
        .ports_of(node)
        .map(|id| fabric.port(id))
        .filter(|port| port.peer.is_some())
        .map(|port| port.num)
        .collect();
    // An end port has one table, by its output; a switch has one for each input, its own port 0 among them.
    let own = std::iter::once(PortNum::ZERO);
    let inputs: Vec<_> =
        if fabric.node(node).is_switch() { own.chain(linked.clone()).collect() } else { own.collect() };
    inputs.into_iter().flat_map(|input| linked.iter().map(move |&output| (input, output))).collect()
}

/// Sets the state of every cabled port.
fn port_writes(fabric: &Fabric, state: PortState) -> Vec<Write> {
    let cabled = fabric.ports().filter(|(_, port)| port.peer.is_some());
    cabled.map(|(port, _)| Write::PortState { port, state }).collect()
}

/// Sets the ports of every new cable to ACTIVE: until then they carry no data.
fn new_port_writes(input: &PlanInput) -> Vec<Write> {
    let ports = input.surviving.ports().filter(|&(id, port)| port.peer.is_some() && input.has_come(id));
    ports.map(|(port, _)| Write::PortState { port, state: PortState::Active }).collect()
}

/// The assumption of a scheme without halves about the SM's answers. None is needed where answers are of classes that
/// all sources send: on the lower half, to which base LIDs belong, by paths that every source may use.
fn about_answers(input: &PlanInput) -> Option<Assumption> {
    let special = input.old == Half::Upper || input.old_ways.is_some() || input.new_ways.is_some();
    special.then_some(Assumption::AnswersAreLegal)
}

/// The assumptions of a scheme under which data flows about packets that are in no class of data: that they pause; or,
/// with a reserved level, that they are on it. Where packets to switch LIDs are proved, the assumption that they pause
/// is removed again.
fn about_other_packets(input: &PlanInput) -> [Assumption; 2] {
    let other =
        if input.policy.reserved_sl.is_some() { Assumption::ReservedLevelIsKept } else { Assumption::NoMulticast };
    [Assumption::SwitchManagementPaused, other]
}

/// The assumption of a scheme under which nothing flows about the reserved level, where there is one: at other times,
/// too, only the traffic for which it is reserved is on it.
fn about_reserved(input: &PlanInput) -> impl Iterator<Item = Assumption> + use<> {
    input.policy.reserved_sl.map(|_| about_other_packets(input)).into_iter().flatten()
}

/// The assumption of a scheme without a swap about the spare half, where there is one: that no host sends on it, unless
/// the plan has sources send on both.
fn about_spare_half(input: &PlanInput) -> Option<Assumption> {
    let is_divided = |port| input.before.half_lids(port, input.old.other()).next().is_some();
    let unused = !input.both_halves && input.before.end_ports().any(is_divided);
    unused.then_some(Assumption::SpareHalfUnused)
}

/// The writes that notify new end ports of the LID of the subnet manager, and permit them to send on `half`.
fn welcome_writes(input: &PlanInput, half: Half) -> Vec<Write> {
    let fabric = &*input.surviving;
    let is_new = |&port: &PortId| match fabric.node(fabric.port(port).node).is_switch() {
        true => input.is_new(fabric.port(port).node),
        false => input.has_come(port),
    };
    let ports = fabric.lid_ports().filter(is_new);
    let mut writes: Vec<Write> = ports.filter_map(|port| manager_at(input, port, half)).collect();
    writes.extend(fabric.end_ports().filter(is_new).map(|port| Write::ActiveHalf { port, half }));
    writes
}

/// The write that gives a port the LID and service level by which it reaches the subnet manager on a half. None if the
/// manager's port has no such LID, or the new routing gives the port no path there.
fn manager_at(input: &PlanInput, port: PortId, half: Half) -> Option<Write> {
    let fabric = &*input.surviving;
    let (lid, sl) = address(fabric, input.new_ways.as_deref(), port, input.sm, half)?;
    Some(Write::MasterSm { port, lid, sl })
}

/// Notes which links have more lanes than are used, and which lanes the halves keep.
fn lane_notes(input: &PlanInput, lanes: Lanes) -> Vec<String> {
    let cabled = input.before.ports().filter(|(_, port)| port.peer.is_some());
    let richer = cabled.filter(|(_, port)| usize::from(port.data_vls) > lanes.count()).count();
    let more = (richer > 0).then(|| {
        let count = lanes.count();
        format!("{richer} cabled ports have more than {count} data VLs: the least is used everywhere")
    });
    let standing = input.policy.partition == LanePartition::Standing;
    let kept = standing.then(|| {
        let Lanes { all, a, b, .. } = Lanes::of_count(lanes.all.len() as u8);
        if all.len() < 2 {
            return "the partition of lanes has no effect: there is one data VL for both halves".to_string();
        }
        format!("the partition of lanes stands: between changes the lower half is on VLs {a}, the upper half on {b}")
    });
    let apart = lanes.reserved.map(|ReservedLevel { sl, vl }| {
        format!("SL {sl} is of neither half and alone on VL {vl}, for multicast and management to and from switches")
    });
    more.into_iter().chain(kept).chain(apart).collect()
}

impl Arming {
    /// Returns whether ports are ARMED while tables are installed.
    fn arms(self) -> bool {
        match self {
            Arming::Hold | Arming::HoldEach | Arming::Discard => true,
            Arming::Off => false,
        }
    }
}
