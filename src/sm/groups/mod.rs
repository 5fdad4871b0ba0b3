//! Multicast groups in switches: who forwards what, kept as the SA's members, the fabric and the devices change.
//!
//! All groups are parts of one tree of switches ([`choice`]). Joins and leaves collect while other work goes on, and
//! are then written together; a change of the tree is written in two steps ([`held`]). At arrival every table is read:
//! hosts that are in it stay served until they have had time to join again. A switch that fails at its table is passed
//! by, and an event of the subnet ends what is under way. The list of members is the SA's; nothing here is stored.

mod choice;
mod held;

use super::context::Context;
use super::error::SmError;
use super::planning::computed;
use super::upkeep::Upkeep;
use crate::driver::Running;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Lid, PortNum, ReservedLevel};
use crate::plan::Lanes;
use crate::routing::SpanningTree;
use crate::sa::GroupMember;
use crate::subnet::{Manager, MftAsk};
use crate::tables::{Lft, Mft};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method};
use choice::{ChosenTree, TreeInput};
use held::{HeldTable, HeldTables};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Time for hosts that switches forward to at arrival to join again.
pub const REJOIN_NS: u64 = 60_000_000_000;
/// Requests at a time: a loss waits for no more.
const AT_A_TIME: usize = 512;
/// The pause after requests that nobody has answered.
const REST_NS: u64 = 200_000_000;
/// Groups whose rows are made at a time: requests of others wait for no more.
const GROUPS_AT_A_TIME: usize = 256;

/// Where packets enter or leave the tree: a switch, and the port to a member that receives, 0 for the switch itself.
type Place = (NodeId, Option<PortNum>);

/// The state of groups in switches.
#[derive(Default)]
pub(super) struct GroupForwarding {
    held: HeldTables,
    basis: Option<TreeBasis>,
    chosen: Option<ChosenTree>,
    /// What switches are to hold.
    wanted: BTreeMap<NodeId, Mft>,
    /// Multicast LIDs whose rows are to be made anew.
    stale: BTreeSet<Lid>,
    arrival: Arrival,
    /// Whether nothing is to be written until something changes.
    is_settled: bool,
    /// Until when nothing is asked.
    rests_until_ns: u64,
    /// Places of members that no tree reaches, by LID.
    unreached: BTreeMap<Lid, usize>,
}

/// The contents of the tables when this manager became master.
#[derive(Default)]
enum Arrival {
    /// They are not all read.
    #[default]
    Reading,
    /// Hosts that they led to are served until then, whether they join again or not.
    Kept { places: BTreeMap<Lid, BTreeSet<Place>>, until_ns: u64 },
    /// They no longer count.
    Over,
}

/// The facts for which a tree was chosen.
struct TreeBasis {
    routed: Arc<Fabric>,
    alive: Arc<Fabric>,
    lfts: Vec<Arc<Lft>>,
    switches: BTreeSet<NodeId>,
    /// The fabric that is routed and present.
    fabric: Arc<Fabric>,
    /// By port GUID: the switch and its port that lead there.
    attached: BTreeMap<Guid, (NodeId, PortNum)>,
}

impl TreeBasis {
    fn of(running: &Running, switches: BTreeSet<NodeId>) -> TreeBasis {
        let fabric = running.outlook().fabric;
        let at = |port: PortId| match fabric.peer(port) {
            Some(peer) => (fabric.port(peer).node, fabric.port(peer).num),
            None => (fabric.port(port).node, PortNum::ZERO),
        };
        let attached = fabric.lid_ports().map(|port| (fabric.port_guid(port), at(port))).collect();
        let Running { routed, alive, tables, .. } = running;
        let (routed, alive, lfts) = (routed.clone(), alive.clone(), tables.lfts.clone());
        TreeBasis { routed, alive, lfts, switches, fabric, attached }
    }

    fn is_of(&self, running: &Running, switches: &BTreeSet<NodeId>) -> bool {
        let same = |(own, other): (&Arc<Lft>, &Arc<Lft>)| Arc::ptr_eq(own, other);
        Arc::ptr_eq(&self.routed, &running.routed)
            && Arc::ptr_eq(&self.alive, &running.alive)
            && self.lfts.len() == running.tables.lfts.len()
            && self.lfts.iter().zip(&running.tables.lfts).all(same)
            && self.switches == *switches
    }
}

/// The report on groups in switches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupView {
    /// Memberships that no tree reaches.
    pub unreached: usize,
    /// Why packets on the reserved lane may wait for each other in a ring, if they may.
    pub unproved: Option<String>,
}

impl GroupForwarding {
    /// These devices may have lost their tables.
    pub(super) fn may_be_empty(&mut self, devices: &BTreeSet<NodeId>) {
        for device in devices {
            if let Some(held) = self.held.0.get_mut(device) {
                held.may_be_empty();
                self.is_settled = false;
            }
        }
    }

    pub(super) fn view(&self) -> GroupView {
        let unproved = self.chosen.as_ref().and_then(|chosen| chosen.unproved.clone());
        GroupView { unreached: self.unreached.values().sum(), unproved }
    }

    /// Follows which switches are there. Switches that left are forgotten, so their tables are read again on return.
    fn follow<T: Transport>(&mut self, manager: &Manager<T>, running: &Running) {
        let is_there = |node: NodeId| running.alive.node(node).present && running.routed.node(node).present;
        let before = self.held.0.len();
        self.held.0.retain(|&switch, _| is_there(switch));
        self.is_settled &= self.held.0.len() == before;
        for switch in running.routed.switches().filter(|&switch| is_there(switch)) {
            let cap = manager.multicast_cap(switch);
            if cap > 0 && !self.held.0.contains_key(&switch) {
                let ports = running.routed.node(switch).num_ports;
                self.held.0.insert(switch, HeldTable::unknown(ports, cap));
                self.is_settled = false;
            }
            if fails(manager, switch)
                && let Some(held) = self.held.0.get_mut(&switch)
                && held.is_read()
            {
                // Its table is read again once it answers.
                *held = HeldTable::unknown(running.routed.node(switch).num_ports, cap);
            }
        }
    }

    /// The switches that forward multicast: they answer, and have entries for all groups up to `highest`, the last one
    /// with members. Their present rows do not count, since rows depend on which switches forward.
    fn able<T: Transport>(&self, manager: &Manager<T>, highest: Option<Lid>) -> BTreeSet<NodeId> {
        let kept = match &self.arrival {
            Arrival::Kept { places, .. } => places.keys().next_back().copied(),
            Arrival::Reading | Arrival::Over => None,
        };
        let highest = highest.max(kept);
        let needed = highest.map_or(0, |lid| lid.0 - Lid::FIRST_MULTICAST.0 + 1);
        let known = self.held.0.iter().filter(|(_, held)| held.is_read()).map(|(&switch, _)| switch);
        known.filter(|&switch| !fails(manager, switch) && manager.multicast_cap(switch) >= needed).collect()
    }

    /// Parts to read now, of switches that answer.
    fn to_read<T: Transport>(&self, manager: &Manager<T>) -> Vec<MftAsk> {
        let answering = self.held.0.iter().filter(|(switch, _)| !fails(manager, **switch));
        let parts = answering.flat_map(|(&switch, held)| held.unread().map(move |part| (switch, part)));
        parts.take(AT_A_TIME).map(|(switch, part)| MftAsk { switch, part, masks: None }).collect()
    }

    /// Called when the tables of all switches that answer have been read once.
    fn has_arrived(&mut self, fabric: &Fabric, until_ns: u64) {
        let mut places: BTreeMap<Lid, BTreeSet<Place>> = BTreeMap::new();
        for (&switch, held) in &self.held.0 {
            for (lid, row) in held.rows().rows() {
                let found = places_of(fabric, switch, row.iter());
                places.entry(lid).or_default().extend(found);
            }
        }
        self.stale.extend(places.keys());
        self.arrival = Arrival::Kept { places, until_ns };
    }

    /// The tree that the tables in force form, if they form one.
    fn tree_in_force(&self, fabric: &Fabric) -> Option<SpanningTree> {
        let mut cables = BTreeSet::new();
        for (&switch, held) in &self.held.0 {
            let rows = held.rows().rows().flat_map(|(_, row)| row.iter());
            let ports = rows.filter_map(|num| fabric.port_at(switch, num));
            let leads = |port: &PortId| fabric.neighbour(*port).is_some_and(|other| fabric.node(other).is_switch());
            cables.extend(ports.filter(leads));
        }
        SpanningTree::of_cables(fabric, &cables)
    }

    /// Makes the rows of some groups anew.
    fn make_rows(&mut self, members: impl Fn(Lid) -> Vec<GroupMember>) {
        let (Some(basis), Some(chosen)) = (&self.basis, &self.chosen) else {
            self.stale.clear();
            return;
        };
        for _ in 0..GROUPS_AT_A_TIME {
            let Some(mlid) = self.stale.pop_first() else { return };
            let place = |member: GroupMember| {
                let &(switch, port) = basis.attached.get(&member.port)?;
                // A host at another host's cable has no switch.
                basis.fabric.node(switch).is_switch().then_some((switch, member.receives.then_some(port)))
            };
            let mut places: Vec<Place> = members(mlid).into_iter().filter_map(place).collect();
            let unreached = places.iter().filter(|(switch, _)| !chosen.tree.has(*switch)).count();
            if let Arrival::Kept { places: kept, .. } = &self.arrival {
                places.extend(kept.get(&mlid).into_iter().flatten());
            }
            let rows = chosen.tree.rows(&basis.fabric, &places);
            self.wanted.values_mut().for_each(|table| table.set(mlid, Default::default()));
            for (switch, row) in rows {
                self.wanted.entry(switch).or_default().set(mlid, row);
            }
            match unreached {
                0 => _ = self.unreached.remove(&mlid),
                unreached => _ = self.unreached.insert(mlid, unreached),
            }
        }
    }
}

/// Whether a switch fails at its multicast table.
fn fails<T: Transport>(manager: &Manager<T>, switch: NodeId) -> bool {
    let attribute = AttributeId::MulticastForwardingTable;
    [Method::Get, Method::Set].into_iter().any(|method| manager.fails_at(switch, attribute, method))
}

/// Where a row leads to members: the ports to end ports; a switch that is the end of a tree and leads to none has one
/// that only sends.
fn places_of(fabric: &Fabric, switch: NodeId, ports: impl Iterator<Item = PortNum>) -> Vec<Place> {
    let ports: Vec<PortNum> = ports.collect();
    let is_end = |num: &PortNum| {
        let neighbour = fabric.port_at(switch, *num).and_then(|port| fabric.neighbour(port));
        *num == PortNum::ZERO || neighbour.is_some_and(|other| !fabric.node(other).is_switch())
    };
    let members: Vec<Place> = ports.iter().copied().filter(is_end).map(|num| (switch, Some(num))).collect();
    if members.is_empty() && ports.len() == 1 { vec![(switch, None)] } else { members }
}

impl<T: Transport> Upkeep<T> {
    /// Forgets the tables of switches that the last look did not find: one that is back at the next has lost them.
    pub(super) fn follow_switches(&mut self, context: &Context) {
        if self.reserved_level(context).is_some() {
            self.groups.follow(&self.driver.subnet().manager, self.driver.running());
        }
    }

    /// Brings the tables of switches nearer to what groups need. The step is as long as an event of the subnet may have
    /// to wait.
    pub(super) async fn tend_groups(&mut self, context: &Context) -> Result<(), SmError> {
        let Some(level) = self.reserved_level(context) else { return Ok(()) };
        let changed = context.responder.borrow_mut().sa().take_changed_groups();
        self.groups.is_settled &= changed.is_empty();
        self.groups.stale.extend(changed);
        self.groups.follow(&self.driver.subnet().manager, self.driver.running());
        self.end_arrival(context);
        if self.now_ns() < self.groups.rests_until_ns {
            return Ok(());
        }
        let to_read = self.groups.to_read(&self.driver.subnet().manager);
        if !to_read.is_empty() {
            self.groups.is_settled = false;
            return self.ask_about_groups(&to_read).await;
        }
        if matches!(self.groups.arrival, Arrival::Reading) {
            let until_ns = if context.config.asks_clients { self.now_ns() + REJOIN_NS } else { u64::MAX };
            let fabric = self.driver.running().outlook().fabric;
            self.groups.has_arrived(&fabric, until_ns);
        }
        let highest = context.responder.borrow_mut().sa().highest_group();
        let able = self.groups.able(&self.driver.subnet().manager, highest);
        let is_current = self.groups.basis.as_ref().is_some_and(|basis| basis.is_of(self.driver.running(), &able));
        if !is_current {
            self.choose_tree(context, level, able).await?;
        }
        if self.groups.is_settled {
            return Ok(());
        }
        {
            let mut responder = context.responder.borrow_mut();
            let sa = responder.sa();
            self.groups.make_rows(|mlid| sa.group_members(mlid));
        }
        if self.groups.stale.is_empty() { self.write_groups().await } else { Ok(()) }
    }

    /// Repeats [`Upkeep::tend_groups`] until nothing is left to do, or until an event of the subnet.
    pub(super) async fn settle_groups(&mut self, context: &Context) -> Result<(), SmError> {
        if context.config.policy.reserved_sl.is_none() {
            return Ok(());
        }
        // The change may have added work that is not known yet.
        self.groups.is_settled = false;
        while self.are_groups_under_way(context) && !self.driver.subnet().manager().has_event() {
            self.tend_groups(context).await?;
        }
        Ok(())
    }

    /// Whether groups have work that can be done at once.
    pub(super) fn are_groups_under_way(&self, context: &Context) -> bool {
        let has_changed = || context.responder.borrow_mut().sa().have_groups_changed();
        let may_go_on = context.config.policy.reserved_sl.is_some() && self.now_ns() >= self.groups.rests_until_ns;
        may_go_on && (!self.groups.is_settled || has_changed())
    }

    fn reserved_level(&self, context: &Context) -> Option<ReservedLevel> {
        Lanes::of_fabric(&self.driver.running().routed, context.config.policy.reserved_sl).reserved
    }

    /// Hosts have had time to join again.
    fn end_arrival(&mut self, context: &Context) {
        let (now_ns, are_asked) = (self.now_ns(), self.registering.is_under_way() && self.may_mend(context));
        let Arrival::Kept { places, until_ns } = &mut self.groups.arrival else { return };
        if are_asked && *until_ns != u64::MAX {
            *until_ns = (*until_ns).max(now_ns + REJOIN_NS);
        }
        if now_ns >= *until_ns {
            self.groups.stale.extend(places.keys());
            (self.groups.arrival, self.groups.is_settled) = (Arrival::Over, false);
        }
    }

    async fn ask_about_groups(&mut self, asks: &[MftAsk]) -> Result<(), SmError> {
        let answers = match self.driver.subnet_mut().manager.ask_for_multicast(asks).await {
            Err(error) if error.is_fatal() => return Err(error.into()),
            // None of them counts as answered; they are asked again while this manager may.
            Err(_) => Vec::new(),
            Ok(answers) => answers,
        };
        if answers.iter().all(Option::is_none) {
            // Switches that answer nothing, and are not on record for it, must not be asked without a pause.
            self.groups.rests_until_ns = self.now_ns() + REST_NS;
        }
        for (ask, held) in asks.iter().zip(answers) {
            if let Some(masks) = held {
                self.groups.held.holds(ask.switch, ask.part, &masks);
            }
        }
        Ok(())
    }

    /// Chooses the tree anew: the fabric, the routing, or the switches that answer have changed.
    async fn choose_tree(
        &mut self,
        context: &Context,
        level: ReservedLevel,
        able: BTreeSet<NodeId>,
    ) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let basis = TreeBasis::of(&running, able.clone());
        let fabric = basis.fabric.clone();
        let before = match &self.groups.chosen {
            Some(chosen) => Some(chosen.tree.clone()),
            None => self.groups.tree_in_force(&fabric),
        };
        let work = move || {
            let (fabric, tables, before) = (&*fabric, &running.tables, before.as_ref());
            choice::choose(&TreeInput { fabric, tables, level, switches: &able, before })
        };
        let chosen = computed(&mut self.driver.subnet_mut().manager, context.config.planning, work).await?;
        let unproved = chosen.as_ref().and_then(|chosen| chosen.unproved.clone());
        if let Some(why) = unproved.filter(|_| self.groups.view().unproved.is_none()) {
            tracing::warn!("multicast on the reserved level is not proved: {why}");
        }
        let groups = &mut self.groups;
        // Rows are made anew even for the same tree: hosts may be attached elsewhere.
        groups.stale.extend(context.responder.borrow_mut().sa().groups());
        groups.stale.extend(groups.wanted.values().flat_map(|table| table.rows().map(|(lid, _)| lid)));
        if let Arrival::Kept { places, .. } = &groups.arrival {
            groups.stale.extend(places.keys());
        }
        if chosen.is_none() {
            groups.wanted.clear();
        }
        (groups.basis, groups.chosen, groups.is_settled) = (Some(basis), chosen, false);
        Ok(())
    }

    async fn write_groups(&mut self) -> Result<(), SmError> {
        let Some(basis) = &self.groups.basis else { return Ok(()) };
        let takes_part = |switch: NodeId| basis.switches.contains(&switch);
        let mut writes = self.groups.held.next_writes(&self.groups.wanted, takes_part);
        if writes.is_empty() {
            let used: Vec<NodeId> = self.groups.wanted.keys().copied().filter(|&switch| takes_part(switch)).collect();
            self.groups.is_settled = true;
            return match self.driver.subnet_mut().manager.raise_multicast_tops(&used).await {
                Err(error) if error.is_fatal() => Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "having switches route all multicast LIDs");
                    Ok(())
                }
                Ok(()) => Ok(()),
            };
        }
        writes.truncate(AT_A_TIME);
        writes.iter().for_each(|write| self.groups.held.is_sent(write));
        let ask = |write: &held::PartWrite| MftAsk { switch: write.switch, part: write.part, masks: Some(write.masks) };
        let asks: Vec<MftAsk> = writes.iter().map(ask).collect();
        self.ask_about_groups(&asks).await
    }
}
