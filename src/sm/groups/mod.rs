//! Multicast groups in switches: who forwards what, kept as the SA's members, the fabric and the devices change.
//!
//! All groups are parts of one tree of switches ([`choice`]). Joins and leaves collect while other work goes on, and
//! are then written together; a change of the tree is written in two steps ([`held`]). That is done between changes of
//! the routing; but a tree that has lost something is replaced before the next wait of the change that follows the
//! loss. At arrival every table is read: hosts that are in it stay served until they have had time to join again. A
//! switch that fails at its table is passed by, and an event of the subnet ends what is under way. The list of members
//! is the SA's; nothing here is stored.

mod choice;
mod held;

use super::error::SmError;
use super::lifecycle::Mandate;
use super::planning::computed;
use super::reporting::ReportingManager;
use crate::driver::Running;
use crate::fabric::difference::{common, lacks, shared};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Lid, PortNum, ReservedLevel};
use crate::plan::Lanes;
use crate::routing::SpanningTree;
use crate::sa::GroupMember;
use crate::subnet::{Manager, MftAsk, Outlook, SubnetError, SubnetManager as _};
use crate::tables::{Lft, Mft, SubnetTables};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method};
use choice::{ChosenTree, TreeInput};
use futures_util::future::LocalBoxFuture;
use held::{HeldTable, HeldTables};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Time for hosts that switches forward to at arrival to join again.
pub const REJOIN_NS: u64 = 60_000_000_000;
/// Requests at a time: a loss waits for no more.
const AT_A_TIME: usize = 512;
/// The pause after requests that nobody has answered.
const REST_NS: u64 = 200_000_000;
/// The longest that a wait within a change is put off.
const AMID_CHANGE_NS: u64 = 200_000_000;
/// Groups whose rows are made at a time: requests of others wait for no more.
const GROUPS_AT_A_TIME: usize = 256;

/// Where packets enter or leave the tree: a switch, and the port to a member that receives, 0 for the switch itself.
type Place = (NodeId, Option<PortNum>);

/// The state of groups in switches.
#[derive(Default)]
pub(super) struct GroupForwarding {
    held: HeldTables,
    /// The tables that the SA answers by: within a change its last ones.
    ahead: Option<SubnetTables>,
    amid: Option<AmidChange>,
    basis: Option<TreeBasis>,
    chosen: Option<ChosenTree>,
    /// What switches are to hold.
    wanted: BTreeMap<NodeId, Mft>,
    /// Multicast LIDs whose rows must be made again.
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

/// The subnet that rows are made for.
#[derive(Clone, Copy)]
pub(super) struct GroupBase<'a> {
    routed: &'a Arc<Fabric>,
    alive: &'a Arc<Fabric>,
    tables: &'a SubnetTables,
}

impl<'a> GroupBase<'a> {
    pub(super) fn of(running: &'a Running) -> GroupBase<'a> {
        let Running { routed, alive, tables, .. } = running;
        GroupBase { routed, alive, tables }
    }

    fn is_there(&self, node: NodeId) -> bool {
        self.alive.node(node).present && self.routed.node(node).present
    }
}

/// The subnet that rows are made for within a change, once the tree of before has lost something.
#[derive(Clone)]
struct AmidChange {
    /// What is left of the subnet that the tree of before was chosen for.
    left: Arc<Fabric>,
    /// The last tables of the change.
    tables: SubnetTables,
}

/// The facts for which a tree was chosen.
struct TreeBasis {
    routed: Arc<Fabric>,
    alive: Arc<Fabric>,
    lfts: Vec<Arc<Lft>>,
    /// What is routed and present.
    fabric: Arc<Fabric>,
    switches: BTreeSet<NodeId>,
    /// By port GUID: the switch and its port that lead there.
    attached: BTreeMap<Guid, (NodeId, PortNum)>,
}

impl TreeBasis {
    fn of(base: &GroupBase<'_>, switches: BTreeSet<NodeId>) -> TreeBasis {
        let fabric = shared(base.routed, base.alive);
        let at = |port: PortId| match fabric.peer(port) {
            Some(peer) => (fabric.port(peer).node, fabric.port(peer).num),
            None => (fabric.port(port).node, PortNum::ZERO),
        };
        let attached = fabric.lid_ports().map(|port| (fabric.port_guid(port), at(port))).collect();
        let (routed, alive, lfts) = (base.routed.clone(), base.alive.clone(), base.tables.lfts.clone());
        TreeBasis { routed, alive, lfts, fabric, switches, attached }
    }

    fn is_of(&self, base: &GroupBase<'_>, switches: &BTreeSet<NodeId>) -> bool {
        let same = |(own, other): (&Arc<Lft>, &Arc<Lft>)| Arc::ptr_eq(own, other);
        Arc::ptr_eq(&self.routed, base.routed)
            && Arc::ptr_eq(&self.alive, base.alive)
            && self.lfts.len() == base.tables.lfts.len()
            && self.lfts.iter().zip(&base.tables.lfts).all(same)
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
    fn follow<T: Transport>(&mut self, manager: &Manager<T>, base: &GroupBase<'_>) {
        let before = self.held.0.len();
        self.held.0.retain(|&switch, _| base.is_there(switch));
        self.is_settled &= self.held.0.len() == before;
        for switch in base.routed.switches().filter(|&switch| base.is_there(switch)) {
            let cap = manager.multicast_cap(switch);
            let ports = base.routed.node(switch).num_ports;
            if cap > 0 && !self.held.0.contains_key(&switch) {
                self.held.0.insert(switch, HeldTable::unknown(ports, cap));
                self.is_settled = false;
            }
            if fails(manager, switch)
                && let Some(held) = self.held.0.get_mut(&switch)
                && held.is_read()
            {
                // Its table is read again once it answers.
                *held = HeldTable::unknown(ports, cap);
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

    /// Makes the rows of some groups again.
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

    /// Takes note of the tables that the SA answers by.
    pub(super) fn look_ahead(&mut self, outlook: &Outlook) {
        self.ahead = Some(outlook.tables.clone());
    }

    /// The subnet for which rows are made within a change; `None` as long as the tree has lost nothing, or if the tree
    /// was chosen for a subnet that has grown since.
    fn amid_change(&mut self, present: &Fabric) -> Option<AmidChange> {
        let (basis, tables) = (self.basis.as_ref()?, self.ahead.as_ref()?);
        if basis.fabric.node_count() != present.node_count() {
            return None;
        }
        if lacks(present, &basis.fabric) {
            let left = Arc::new(common(&basis.fabric, present));
            (self.amid, self.is_settled) = (Some(AmidChange { left, tables: tables.clone() }), false);
        }
        self.amid.clone().filter(|_| !self.is_settled)
    }

    /// Hosts have had time to join again; as long as they are being asked to, they get more of it.
    pub(super) fn end_arrival(&mut self, now_ns: u64, are_asked: bool) {
        let Arrival::Kept { places, until_ns } = &mut self.arrival else { return };
        if are_asked && *until_ns != u64::MAX {
            *until_ns = (*until_ns).max(now_ns + REJOIN_NS);
        }
        if now_ns >= *until_ns {
            self.stale.extend(places.keys());
            (self.arrival, self.is_settled) = (Arrival::Over, false);
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

// Futures of other modules' calls are boxed here: an `async fn` is compiled into every module that calls it.
impl<T: Transport> ReportingManager<T> {
    /// Forgets the tables of switches that the last look did not find: one that is back at the next has lost them.
    pub(super) fn follow_switches(&mut self, base: &GroupBase<'_>) {
        if self.reserved_level(base).is_some() {
            self.groups.follow(&self.manager, base);
        }
    }

    /// Between changes: brings the tables of switches nearer to what groups need. The step is as long as an event of
    /// the subnet may have to wait.
    pub(super) fn tend_groups<'a>(&'a mut self, base: GroupBase<'a>) -> LocalBoxFuture<'a, Result<(), SmError>> {
        self.groups.amid = None;
        Box::pin(async move { self.tend(&base, false).await })
    }

    /// After a change: repeats [`ReportingManager::tend_groups`] until nothing is left to do, until an event of the
    /// subnet, or until another manager is to write.
    pub(super) fn settle_groups<'a>(&'a mut self, base: GroupBase<'a>) -> LocalBoxFuture<'a, Result<(), SmError>> {
        // The change may have added work that is not known yet.
        (self.groups.amid, self.groups.is_settled) = (None, false);
        Box::pin(async move {
            while self.may_go_on() {
                self.tend(&base, false).await?;
            }
            Ok(())
        })
    }

    /// Before a wait within a change: leads the tree past what died since it was chosen. Nothing else is written then.
    /// Work that takes longer, or that has to wait for copies of lost requests, is left for the next wait, or for the
    /// end.
    pub(super) fn settle_groups_amid_change(&mut self) -> LocalBoxFuture<'_, Result<(), SubnetError>> {
        Box::pin(async move {
            let amid = self.manager.present().and_then(|present| self.groups.amid_change(present));
            let Some(AmidChange { left, tables }) = amid else { return Ok(()) };
            let base = GroupBase { routed: &left, alive: &left, tables: &tables };
            let until_ns = self.manager.now_ns() + AMID_CHANGE_NS;
            while self.may_go_on() && self.manager.now_ns() < until_ns && !self.manager.may_multicast_copies_arrive() {
                match self.tend(&base, true).await {
                    Err(SmError::Subnet(error)) if error.is_fatal() => return Err(error),
                    Err(error) => {
                        tracing::warn!(%error, "multicast groups wait for the end of the change");
                        return Ok(());
                    }
                    Ok(()) => {}
                }
            }
            Ok(())
        })
    }

    fn may_go_on(&self) -> bool {
        let is_ours = self.responder.borrow().mandate() == Mandate::Full;
        is_ours && self.are_groups_under_way() && !self.manager.has_event()
    }

    async fn tend(&mut self, base: &GroupBase<'_>, is_amid_change: bool) -> Result<(), SmError> {
        let Some(level) = self.reserved_level(base) else { return Ok(()) };
        let changed = self.responder.borrow_mut().sa().take_changed_groups();
        self.groups.is_settled &= changed.is_empty();
        self.groups.stale.extend(changed);
        self.groups.follow(&self.manager, base);
        if self.manager.now_ns() < self.groups.rests_until_ns {
            return Ok(());
        }
        let to_read = self.groups.to_read(&self.manager);
        if !to_read.is_empty() {
            self.groups.is_settled = false;
            return self.ask_about_groups(&to_read).await;
        }
        if matches!(self.groups.arrival, Arrival::Reading) {
            let until_ns = if self.config.asks_clients { self.manager.now_ns() + REJOIN_NS } else { u64::MAX };
            self.groups.has_arrived(&shared(base.routed, base.alive), until_ns);
        }
        let highest = self.responder.borrow_mut().sa().highest_group();
        let able = self.groups.able(&self.manager, highest);
        if !self.groups.basis.as_ref().is_some_and(|basis| basis.is_of(base, &able)) {
            self.choose_tree(base, level, able).await?;
        }
        if self.groups.is_settled {
            return Ok(());
        }
        {
            let mut responder = self.responder.borrow_mut();
            let sa = responder.sa();
            self.groups.make_rows(|mlid| sa.group_members(mlid));
        }
        if self.groups.stale.is_empty() { self.write_groups(is_amid_change).await } else { Ok(()) }
    }

    /// Whether groups have work that can be done at once.
    pub(super) fn are_groups_under_way(&self) -> bool {
        let has_changed = || self.responder.borrow_mut().sa().have_groups_changed();
        let may_go_on = self.config.policy.reserved_sl.is_some() && self.manager.now_ns() >= self.groups.rests_until_ns;
        may_go_on && (!self.groups.is_settled || has_changed())
    }

    fn reserved_level(&self, base: &GroupBase<'_>) -> Option<ReservedLevel> {
        Lanes::of_fabric(base.routed, self.config.policy.reserved_sl).reserved
    }

    async fn ask_about_groups(&mut self, asks: &[MftAsk]) -> Result<(), SmError> {
        let answers = match self.manager.ask_for_multicast(asks).await {
            Err(error) if error.is_fatal() => return Err(error.into()),
            // None of them counts as answered; they are asked again while this manager may.
            Err(_) => Vec::new(),
            Ok(answers) => answers,
        };
        if answers.iter().all(Option::is_none) {
            // Switches that answer nothing, and are not on record for it, must not be asked without a pause.
            self.groups.rests_until_ns = self.manager.now_ns() + REST_NS;
        }
        for (ask, held) in asks.iter().zip(answers) {
            if let Some(masks) = held {
                self.groups.held.holds(ask.switch, ask.part, &masks);
            }
        }
        Ok(())
    }

    /// Chooses the tree again, because the fabric, the routing, or the switches that answer have changed.
    async fn choose_tree(
        &mut self,
        base: &GroupBase<'_>,
        level: ReservedLevel,
        able: BTreeSet<NodeId>,
    ) -> Result<(), SmError> {
        let basis = TreeBasis::of(base, able.clone());
        let (fabric, tables) = (basis.fabric.clone(), base.tables.clone());
        let before = match &self.groups.chosen {
            Some(chosen) => Some(chosen.tree.clone()),
            None => self.groups.tree_in_force(&fabric),
        };
        let work = move || {
            let (fabric, tables, before) = (&*fabric, &tables, before.as_ref());
            choice::choose(&TreeInput { fabric, tables, level, switches: &able, before })
        };
        let chosen = computed(&mut self.manager, self.config.planning, work).await?;
        if let Some(why) = chosen.unproved.as_ref().filter(|_| self.groups.view().unproved.is_none()) {
            tracing::warn!("multicast on the reserved level is not proved: {why}");
        }
        let groups = &mut self.groups;
        // Rows are made again even for the same tree, because hosts may be attached elsewhere.
        groups.stale.extend(self.responder.borrow_mut().sa().groups());
        groups.stale.extend(groups.wanted.values().flat_map(|table| table.rows().map(|(lid, _)| lid)));
        if let Arrival::Kept { places, .. } = &groups.arrival {
            groups.stale.extend(places.keys());
        }
        (groups.basis, groups.chosen, groups.is_settled) = (Some(basis), Some(chosen), false);
        Ok(())
    }

    async fn write_groups(&mut self, is_amid_change: bool) -> Result<(), SmError> {
        let Some(basis) = &self.groups.basis else { return Ok(()) };
        let takes_part = |switch: NodeId| basis.switches.contains(&switch);
        let mut writes = self.groups.held.next_writes(&self.groups.wanted, takes_part);
        if writes.is_empty() {
            let used: Vec<NodeId> = self.groups.wanted.keys().copied().filter(|&switch| takes_part(switch)).collect();
            self.groups.is_settled = true;
            if is_amid_change {
                return Ok(());
            }
            return match self.manager.raise_multicast_tops(&used).await {
                Err(error) if error.is_fatal() => Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "switches could not be set to route all multicast LIDs");
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
