//! The fence at end ports: which half is closed at each moment of a change, and the resulting tables.
//!
//! The service levels of a closed half are mapped to VL 15, so the end port discards what its host sends on them
//! (section 7.6.6). A change says how far it has moved the sources ([`Fence`]); the tables that it writes need not show
//! it, and under a standing partition it writes those of newcomers alone. The spare half is closed from the first wave
//! to the swap, the retired half from the end of the swap until [`Manager::open_ends`]. Each end port is written to
//! whenever its table is not known to be in force, in one `Set` with what the wave writes there. Devices with
//! ActiveHalf need none of this.

use super::manager::Manager;
use super::{SubnetError, SubnetManager, WriteOrder};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, PortName, Sl, Vl};
use crate::tables::{SlToVl, SlToVlScope, Write};
use crate::transport::Transport;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Progress of a change by scheme `double` in moving the sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FenceStage {
    /// No half is closed.
    #[default]
    Open,
    /// This half is spare, and closed: from the first wave to the swap.
    Spare(Half),
    /// Sources are being moved to this half, and may send on both.
    Moving(Half),
    /// This half has retired, and is closed: from the end of the swap until [`Manager::open_ends`].
    Retired(Half),
}

impl FenceStage {
    /// Whether an end port discards what its host sends on a half. A port that is brought up by the change has not been
    /// notified of a half before the swap, and must send on neither until then (G.4).
    fn closes(self, half: Half, is_newcomer: bool) -> bool {
        match self {
            FenceStage::Open => false,
            FenceStage::Spare(spare) => is_newcomer || half == spare,
            FenceStage::Moving(new) => is_newcomer && half != new,
            FenceStage::Retired(retired) => half == retired,
        }
    }
}

/// The fence, as a change determines it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fence {
    /// Its progress in moving the sources.
    pub stage: FenceStage,
    /// The SL-to-VL tables of end ports, as they are without a fence once the writes of the wave have landed.
    pub tables: Vec<(PortId, SlToVl)>,
    /// End ports that the change brings up, until the swap is over: from then on they are like any others.
    pub newcomers: Vec<PortId>,
}

/// The fence of a manager.
#[derive(Debug, Default)]
pub(super) struct FenceState {
    stage: FenceStage,
    /// The last SL-to-VL table wanted at each end port, without the fence.
    wanted: BTreeMap<PortName, SlToVl>,
    /// The last table that each end port has answered with, since nothing else was sent to it.
    in_force: BTreeMap<PortName, SlToVl>,
    /// End ports whose table is not known now, and that may be closed: they were, or are about to be; or an earlier
    /// manager has left them so.
    maybe_closed: BTreeSet<PortName>,
    newcomers: BTreeSet<PortName>,
}

impl FenceState {
    /// The table that the fence puts in place of this one. A reserved level is of neither half (K.4).
    fn closed(&self, port: &PortName, table: SlToVl, reserved: Option<Sl>) -> SlToVl {
        let is_newcomer = self.newcomers.contains(port);
        let sends_nothing = is_newcomer && matches!(self.stage, FenceStage::Spare(_));
        let spared = |sl: Sl| Some(sl) == reserved && !sends_nothing;
        let closes = |sl: Sl| self.stage.closes(Half::of_sl(sl), is_newcomer) && !spared(sl);
        SlToVl::from_fn(|sl: Sl| if closes(sl) { Vl::MANAGEMENT } else { table.get(sl) })
    }

    /// Whether an end port is known to discard service levels of data.
    fn is_closed(&self, port: &PortName) -> bool {
        self.in_force.get(port).map_or_else(|| self.maybe_closed.contains(port), SlToVl::discards)
    }

    /// Notes that an end port is about to be written, with this table if it is known. The port may keep the table that
    /// it has.
    fn forget(&mut self, port: PortName, wanted: Option<SlToVl>) {
        if self.is_closed(&port) || wanted.is_some_and(|table| table.discards()) {
            self.maybe_closed.insert(port);
        }
        self.in_force.remove(&port);
    }

    /// Notes that an end port has answered with this table.
    fn stands(&mut self, port: PortName, table: SlToVl) {
        self.maybe_closed.remove(&port);
        self.in_force.insert(port, table);
    }

    /// The table that an end port shall have, if it is not known to have it.
    fn lacking(&self, port: &PortName, reserved: Option<Sl>) -> Option<SlToVl> {
        // A change that was called off has taken its newcomers down again: they are not opened.
        if self.stage == FenceStage::Open && self.newcomers.contains(port) {
            return None;
        }
        let table = self.closed(port, *self.wanted.get(port)?, reserved);
        (self.in_force.get(port) != Some(&table)).then_some(table)
    }
}

/// The end port whose table a write sets, and the table.
fn end_table(fabric: &Fabric, write: &Write) -> Option<(PortName, SlToVl)> {
    match *write {
        Write::SlToVl { node, scope: SlToVlScope::EndPort { port }, table } => {
            Some((PortName { guid: fabric.node(node).guid, num: port }, table))
        }
        _ => None,
    }
}

impl<T: Transport> Manager<T> {
    /// Sets the fence as a change determines it. End ports follow with the next write or flush.
    pub(super) fn adopt_fence(&mut self, fence: &Fence) {
        let Some(known) = &self.topology else { return };
        let named = |port: PortId| known.fabric.port_name(port);
        self.fence.stage = fence.stage;
        self.fence.wanted.extend(fence.tables.iter().map(|&(port, table)| (named(port), table)));
        self.fence.newcomers = fence.newcomers.iter().map(|&port| named(port)).collect();
    }

    /// The writes of a wave with the fence in them (P3.8). A port whose table must change and that the wave does not
    /// name is written to first: it is opened before its clients are notified, since the writes of one device are sent
    /// in this order.
    pub(super) fn fenced<'a>(&mut self, fabric: &Fabric, writes: &'a [Write]) -> Vec<Cow<'a, Write>> {
        let named: BTreeMap<PortName, SlToVl> = writes.iter().filter_map(|write| end_table(fabric, write)).collect();
        self.fence.wanted.extend(&named);
        let first = self.fence_writes(fabric, |port| !named.contains_key(port));
        let mut fenced: Vec<Cow<'a, Write>> = first.into_iter().map(Cow::Owned).collect();
        fenced.extend(writes.iter().map(|write| match (write, end_table(fabric, write)) {
            (&Write::SlToVl { node, scope, .. }, Some((port, table))) => {
                let table = self.fence.closed(&port, table, self.reserved_sl());
                Cow::Owned(Write::SlToVl { node, scope, table })
            }
            _ => Cow::Borrowed(write),
        }));
        // Until each is acknowledged, the table in force is unknown.
        let written = fenced.iter().filter_map(|write| end_table(fabric, write));
        written.for_each(|(port, table)| self.fence.forget(port, Some(table)));
        fenced
    }

    /// The writes of the end ports whose tables the fence changes, among those chosen.
    fn fence_writes(&self, fabric: &Fabric, chosen: impl Fn(&PortName) -> bool) -> Vec<Write> {
        let moved = |id: PortId| {
            let (at, port) = (fabric.port_name(id), fabric.port(id));
            let is_there = port.peer.is_some() && fabric.node(port.node).present;
            let table = self.fence.lacking(&at, self.reserved_sl()).filter(|_| is_there && chosen(&at))?;
            Some(Write::SlToVl { node: port.node, scope: SlToVlScope::EndPort { port: port.num }, table })
        };
        fabric.end_ports().filter_map(moved).collect()
    }

    /// Notes that these writes were acknowledged.
    pub(super) fn fence_stands(&mut self, fabric: &Fabric, writes: &[Cow<'_, Write>]) {
        let written = writes.iter().filter_map(|write| end_table(fabric, write));
        written.for_each(|(port, table)| self.fence.stands(port, table));
    }

    /// Notes the table that this end port has answered with; `None`: it is about to be written, and may keep either
    /// table.
    pub(super) fn fence_stands_at(&mut self, port: PortId, table: Option<SlToVl>) {
        let Some(known) = &self.topology else { return };
        let at = known.fabric.port_name(port);
        match table {
            Some(table) => self.fence.stands(at, table),
            None => self.fence.forget(at, None),
        }
    }

    /// Brings end ports to the fence that the change determined. After a wave that has written to every end port
    /// nothing is left to do.
    pub(super) async fn move_fence(&mut self) -> Result<(), SubnetError> {
        if self.sources.settle_ns().is_none() {
            return Ok(());
        }
        let fabric = self.topology("moving the fence")?.fabric.clone();
        if self.fence_writes(&fabric, |_| true).is_empty() {
            return Ok(());
        }
        self.apply(&fabric, &[], WriteOrder::Any).await.map(|_| ())
    }

    /// The service level that is of neither half.
    pub(super) fn reserved_sl(&self) -> Option<Sl> {
        self.reserved.map(|level| level.sl)
    }

    /// Forgets the state of an earlier mastership, except which end ports are closed: that lasts until they are read or
    /// written. The half in force is `half`. The SA answers as before until it gets another directory.
    pub fn begin_mastership(&mut self, half: Half) {
        let FenceState { in_force, mut maybe_closed, .. } = std::mem::take(&mut self.fence);
        maybe_closed.extend(in_force.into_iter().filter(|(_, table)| table.discards()).map(|(port, _)| port));
        (self.fence.maybe_closed, self.sa_half) = (maybe_closed, half);
        self.forget_counters();
        self.clear_bits();
    }

    /// Records that these end ports of the known fabric were found closed, and no others.
    pub fn set_closed_ends(&mut self, closed: &[PortId]) {
        let Some(known) = &self.topology else { return };
        self.fence.in_force.clear();
        self.fence.maybe_closed = closed.iter().map(|&port| known.fabric.port_name(port)).collect();
    }

    /// Whether an end port discards, or may discard, what its host sends to the SA on this level.
    pub(super) fn is_kept_from_sa(&self, port: PortId, sl: Sl) -> bool {
        let Some(known) = &self.topology else { return false };
        let at = known.fabric.port_name(port);
        let closed_or_unknown = || self.fence.maybe_closed.contains(&at);
        self.fence.in_force.get(&at).map_or_else(closed_or_unknown, |table| table.get(sl) == Vl::MANAGEMENT)
    }

    /// Number of end ports that are known to discard service levels of data, or are about to.
    pub fn closed_ends(&self) -> usize {
        let Some(known) = &self.topology else { return 0 };
        let FenceState { stage, maybe_closed, in_force, .. } = &self.fence;
        if *stage == FenceStage::Open && maybe_closed.is_empty() && !in_force.values().any(SlToVl::discards) {
            return 0;
        }
        let ends = known.fabric.end_ports().filter(|&port| known.fabric.node(known.fabric.port(port).node).present);
        let closes =
            |port: &PortName| self.fence.lacking(port, self.reserved_sl()).is_some_and(|table| table.discards());
        ends.map(|port| known.fabric.port_name(port)).filter(|port| self.fence.is_closed(port) || closes(port)).count()
    }

    /// Opens the retired half again: sources may send on both halves. The caller has routed both.
    ///
    /// # Errors
    /// An end port does not answer, or does not accept its table; some are then open and others not, and the next call
    /// opens them.
    pub async fn open_ends(&mut self) -> Result<(), SubnetError> {
        self.fence.stage = FenceStage::Open;
        self.move_fence().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Guid, PortNum};

    const PORT: PortName = PortName { guid: Guid(7), num: PortNum(1) };

    fn steady() -> SlToVl {
        SlToVl::from_fn(|sl| Vl::masked(sl.get() % 4))
    }

    /// The halves that a port discards, by its table.
    fn shut(state: &FenceState) -> Vec<Half> {
        let table = state.closed(&PORT, steady(), None);
        let is_shut = |half: &Half| half.sls().all(|sl| table.get(sl) == Vl::MANAGEMENT);
        let is_open = |half: &Half| half.sls().all(|sl| table.get(sl) == steady().get(sl));
        let (shut, rest): (Vec<Half>, Vec<Half>) = [Half::Lower, Half::Upper].into_iter().partition(is_shut);
        assert!(rest.iter().all(is_open), "{table:?}");
        shut
    }

    #[test]
    fn each_stage_closes_its_half_and_newcomers_send_on_none_before_the_swap() {
        use Half::{Lower, Upper};
        let stages: [(FenceStage, &[Half], &[Half]); 4] = [
            (FenceStage::Open, &[], &[]),
            (FenceStage::Spare(Upper), &[Upper], &[Lower, Upper]),
            (FenceStage::Moving(Upper), &[], &[Lower]),
            (FenceStage::Retired(Lower), &[Lower], &[Lower]),
        ];
        for (stage, closed, at_newcomers) in stages {
            let known = FenceState { stage, ..FenceState::default() };
            assert_eq!(shut(&known), closed, "{stage:?}");
            let come = FenceState { stage, newcomers: BTreeSet::from([PORT]), ..FenceState::default() };
            assert_eq!(shut(&come), at_newcomers, "{stage:?}");
        }
    }

    #[test]
    fn a_reserved_level_stays_open_except_at_a_newcomer() {
        let stage = FenceStage::Spare(Half::Upper);
        let known = FenceState { stage, ..FenceState::default() };
        let come = FenceState { stage, newcomers: BTreeSet::from([PORT]), ..FenceState::default() };
        let lane = |state: &FenceState, sl| state.closed(&PORT, steady(), Some(Sl::MAX)).get(sl);
        assert_eq!(lane(&known, Sl::MAX), steady().get(Sl::MAX));
        assert_eq!(lane(&known, Sl::masked(14)), Vl::MANAGEMENT);
        assert_eq!(lane(&come, Sl::MAX), Vl::MANAGEMENT);
    }

    #[test]
    fn only_a_port_that_is_not_known_to_have_its_table_is_written_to() {
        let mut state = FenceState { stage: FenceStage::Spare(Half::Upper), ..FenceState::default() };
        assert_eq!(state.lacking(&PORT, None), None, "nobody has said which table it has");
        state.wanted.insert(PORT, steady());
        let closed = state.lacking(&PORT, None).expect("it is open still");
        state.in_force.insert(PORT, closed);
        assert_eq!(state.lacking(&PORT, None), None);
        state.stage = FenceStage::Open;
        assert_eq!(state.lacking(&PORT, None), Some(steady()));
        state.newcomers.insert(PORT);
        assert_eq!(state.lacking(&PORT, None), None, "a change that was called off has taken it down");
    }

    /// A wave that fails leaves it open which of its tables are in force.
    #[test]
    fn whoever_may_be_closed_counts_as_closed() {
        let stage = FenceStage::Retired(Half::Lower);
        let mut state = FenceState { stage, ..FenceState::default() };
        let closed = state.closed(&PORT, steady(), None);
        for (wanted, answered, is_closed) in [
            (steady(), None, false),
            (closed, None, true),
            (closed, Some(closed), true),
            (steady(), None, true),
            (steady(), Some(steady()), false),
        ] {
            state.forget(PORT, Some(wanted));
            if let Some(table) = answered {
                state.stands(PORT, table);
            }
            assert_eq!(state.is_closed(&PORT), is_closed, "{wanted:?}, {answered:?}");
        }
    }
}
