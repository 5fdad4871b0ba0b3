//! What an unfinished change left: which half to keep, and the proved way back to one routing on all lanes.
//!
//! On entry: the tables as devices report them, and nothing about what they were meant for. On return: a plan of scheme
//! `recover`, vetted like any other, or why there is none. Both halves are tried, the one in use first; and of each the
//! ways that lose nothing before the one that closes the other half for a while. Rows of the kept half that lead
//! nowhere get ways by `repair`; the other half is led by the repaired routing at once.
//!
//! If the tables as they stand cannot be proved, no plan that begins with them can. Closing a half first removes
//! sources and adds nothing. So it can cause nothing that waiting could not cause too, and the plan that follows can be
//! proved.

use super::repairing::solved;
use super::{ChangeError, PlannedChange, Prepared, refused};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Sl, Vl};
use crate::lid;
use crate::plan::{self, Lanes, PlanInput, Policy, Scheme, TableStep};
use crate::repair::{Budget, RepairError, RepairInput, RepairWave};
use crate::routing::{self, switch_order};
use crate::tables::{Lft, LidFate, LidFates, NodeSlToVl, RoutedBy, RoutingFunction, SlToVl, SubnetTables, Write};
use crate::verify::{self, InjectionRules, Refusal, Scope};
use std::sync::Arc;

/// A subnet to recover.
#[derive(Clone, Debug)]
pub struct RecoveryInput {
    /// What is there, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// Its tables, as reported.
    pub tables: SubnetTables,
    /// The half that most end ports are on.
    pub in_use: Half,
    /// What the user configured.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
    /// The engine's routing of the fabric, which later changes install.
    pub function: Arc<RoutingFunction>,
    /// Whether end ports may be kept from sending on a half; not where only forwarding entries are written.
    pub may_close: bool,
}

/// How a subnet is recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryWay {
    /// Forwarding entries stay; only service levels go back to their lanes.
    Open,
    /// The other half is led where the kept one leads, while sources may send on both.
    Follow,
    /// End ports are first kept from sending on the other half: what hosts that have not been moved from it send there
    /// meanwhile is lost.
    Close,
    /// End ports are kept from sending on the other half before the plan begins: until what was sent on it has left,
    /// nothing is proved, so no host is moved from it.
    CloseFirst,
}

impl RecoveryWay {
    /// Those that are proved from the first write on, from the one that costs least.
    const PROVED: [RecoveryWay; 3] = [RecoveryWay::Open, RecoveryWay::Follow, RecoveryWay::Close];

    /// What it does, in words.
    pub fn in_words(self) -> &'static str {
        match self {
            RecoveryWay::Open => "service levels return to their lanes",
            RecoveryWay::Follow => "the other half follows, then service levels return to their lanes",
            RecoveryWay::Close => {
                "the other half is closed, follows, and then service levels return to their lanes; what hosts without \
                 agents send on the other half meanwhile is lost"
            }
            RecoveryWay::CloseFirst => {
                "the other half is closed before anything is proved, follows, and then service levels return to their \
                 lanes; what hosts send on the other half meanwhile is lost"
            }
        }
    }
}

/// A recovery that may be run.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The change.
    pub prepared: Prepared,
    /// The half that is kept.
    pub kept: Half,
    /// The way taken.
    pub way: RecoveryWay,
    /// What is written before the plan begins ([`RecoveryWay::CloseFirst`]).
    pub first: Vec<Write>,
}

/// Why there is no recovery: what was said of each half, and of each way.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Unrecovered(Vec<String>);

/// Prepares the recovery that costs least among those that are proved.
///
/// # Errors
/// Neither half can be kept, or no way to keep one is proved.
pub fn prepare_recovery(input: &RecoveryInput) -> Result<Recovery, Unrecovered> {
    let input = &RecoveryInput { tables: with_lanes_that_exist(input), ..input.clone() };
    let halves: &[Half] = match input.fabric.halves() {
        [_, _] => &[input.in_use, input.in_use.other()],
        one => one,
    };
    let may_close = input.may_close && halves.len() == 2;
    let mut reasons = Vec::new();
    let mut keepable = Vec::new();
    for &half in halves {
        match KeptHalf::new(input, half) {
            Ok(kept) => keepable.push(kept),
            Err(error) => reasons.push(format!("the {half} half cannot be kept: {}", first_line(&error))),
        }
    }
    for way in RecoveryWay::PROVED {
        if way == RecoveryWay::Close && !may_close {
            continue;
        }
        for kept in &keepable {
            let half = kept.half;
            match attempt(input, kept, way) {
                Ok(prepared) => return Ok(Recovery { prepared, kept: half, way, first: Vec::new() }),
                Err(error) => reasons.push(format!("to keep the {half} half ({}): {}", name(way), first_line(&error))),
            }
        }
    }
    let closed_first = halves.iter().filter(|_| may_close).find_map(|&half| closed_first(input, half));
    closed_first.ok_or(Unrecovered(reasons))
}

/// Closes the half that is not kept before anything else, and recovers what is left; none if no way is proved after
/// that either, if it is closed already, or if packets go round there: the first wave ends when every packet has passed
/// as many switches as the longest way has (W.3), which says nothing of those on a ring.
fn closed_first(input: &RecoveryInput, kept: Half) -> Option<Recovery> {
    let fabric = &*input.fabric;
    let mut given_up =
        fabric.end_ports().flat_map(|port| fabric.half_lids(port, kept.other()).map(move |lid| (port, lid)));
    if given_up.any(|(owner, lid)| is_led_astray(fabric, &input.tables.lfts, fabric.port(owner).node, lid)) {
        return None;
    }
    let lanes = Lanes::of_fabric(&input.fabric, input.policy.reserved_sl);
    let first = plan::close_writes(&input.fabric, &input.tables, kept, lanes);
    if first.is_empty() {
        return None;
    }
    let mut tables = input.tables.clone();
    first.iter().for_each(|write| tables.apply(&input.fabric, write));
    let input = &RecoveryInput { tables, ..input.clone() };
    let half = KeptHalf::new(input, kept).ok()?;
    let ways = [RecoveryWay::Open, RecoveryWay::Follow];
    let prepared = ways.into_iter().find_map(|way| attempt(input, &half, way).ok())?;
    Some(Recovery { prepared, kept, way: RecoveryWay::CloseFirst, first })
}

fn name(way: RecoveryWay) -> &'static str {
    match way {
        RecoveryWay::Open => "open",
        RecoveryWay::Follow => "follow, open",
        RecoveryWay::Close | RecoveryWay::CloseFirst => "close, follow, open",
    }
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}

/// The tables without lanes that links lack. An end port discards what it maps to such a lane (IBA 7.6.6), as if that
/// were VL 15. So does a switch, on VL 15 too, and no fence of ours is at switches: there it reads as a lane that
/// exists, and is not that of the steady state, so that it is written. A proof in which those packets go on speaks of
/// those that are discarded as well. OpenSM without QoS leaves levels so, and so does the power of many devices.
fn with_lanes_that_exist(input: &RecoveryInput) -> SubnetTables {
    let fabric = &*input.fabric;
    let lanes = Lanes::of_fabric(fabric, input.policy.reserved_sl);
    let steady = lanes.steady(input.policy.partition);
    let width = |port: PortId| {
        let ends = [Some(port), fabric.peer(port)].into_iter().flatten();
        ends.map(|end| fabric.port(end).data_vls).min().unwrap_or(0)
    };
    let lacks = |port: PortId, vl: Vl| vl != Vl::MANAGEMENT && vl.get() >= width(port);
    let mut tables = input.tables.clone();
    for id in fabric.end_ports() {
        let at = fabric.port(id);
        let own = &mut tables.sl_to_vl[at.node.index()];
        let held = *own.get(PortNum::ZERO, at.num);
        let read = SlToVl::from_fn(|sl| if lacks(id, held.get(sl)) { Vl::MANAGEMENT } else { held.get(sl) });
        if read != held {
            Arc::make_mut(own).set(fabric.node(at.node).num_ports, PortNum::ZERO, at.num, read);
        }
    }
    let another = |sl: Sl| lanes.all.iter().find(|&vl| vl != steady.get(sl));
    for switch in fabric.switches() {
        let own = &mut tables.sl_to_vl[switch.index()];
        let rows: Vec<_> = plan::sl_to_vl_pairs(fabric, switch)
            .into_iter()
            .map(|(input, output)| {
                let held = *own.get(input, output);
                let discards = |vl: Vl| {
                    let port = fabric.port_at(switch, output);
                    vl == Vl::MANAGEMENT || port.is_some_and(|port| lacks(port, vl))
                };
                let read = SlToVl::from_fn(|sl| {
                    another(sl).filter(|_| discards(held.get(sl))).unwrap_or_else(|| held.get(sl))
                });
                (input, output, read)
            })
            .collect();
        if rows.iter().all(|(input, output, read)| own.get(*input, *output) == read) {
            continue;
        }
        // One table for all pairs is spelled out only where they come to differ: a switch of 40 ports has 1,600 pairs.
        match &rows[..] {
            [(.., first), others @ ..] if others.iter().all(|(.., read)| read == first) => {
                *own = Arc::new(NodeSlToVl::Uniform(*first));
            }
            _ => rows.into_iter().for_each(|(input, output, read)| {
                Arc::make_mut(own).set(fabric.node(switch).num_ports, input, output, read);
            }),
        }
    }
    tables
}

/// The tables with every service level on its lanes.
fn steadied(input: &RecoveryInput, lfts: &[Arc<Lft>]) -> SubnetTables {
    let steady = Arc::new(NodeSlToVl::Uniform(Lanes::steady_table(&input.fabric, &input.policy)));
    let sl_to_vl = vec![steady; input.fabric.node_count()];
    SubnetTables { sl_to_vl, lfts: lfts.to_vec(), ..input.tables.clone() }
}

/// Whether the entries of a half close no cycle on any lanes, and lead every packet home that they do not lose.
fn by_itself(input: &RecoveryInput, half: Half) -> Result<(), Refusal> {
    // LIDs of switches are of no half, and a change that installs writes them in no order (L.2): see `straightened`.
    let scope = Scope { losses: true, switches: false, ..Scope::of(&[half]) };
    verify::prove_tables(&input.fabric, &steadied(input, &input.tables.lfts), &scope).map(|_| ())
}

/// Whether packets to a LID go round somewhere, or come to another device than its owner.
fn is_led_astray(fabric: &Fabric, lfts: &[Arc<Lft>], owner: NodeId, lid: Lid) -> bool {
    let mut fates = LidFates::new(fabric, lfts, lid);
    fabric.switches().any(|switch| match fates.of(switch) {
        LidFate::Loop => true,
        LidFate::Wrong(port) => fabric.port(port).node != owner,
        // What has no way `repair` sees to.
        LidFate::Arrives(_) | LidFate::Hole(_) => false,
    })
}

/// The tables without entries for LIDs of switches to which packets would go round, or come to another port; or for all
/// of them. Only management uses these LIDs, and it is paused or on a level of its own; `repair` gives them ways beside
/// data.
fn straightened(input: &RecoveryInput, all: bool) -> Vec<Arc<Lft>> {
    let fabric = &*input.fabric;
    let mut lfts = input.tables.lfts.clone();
    let astray = |owner: NodeId, lid: Lid| is_led_astray(fabric, &lfts, owner, lid);
    let owned = |switch: NodeId| fabric.port_at(switch, PortNum::ZERO).and_then(|port| fabric.port(port).lid);
    let lids: Vec<Lid> =
        fabric.switches().filter_map(|owner| owned(owner).filter(|&lid| all || astray(owner, lid))).collect();
    for switch in fabric.switches().filter(|_| !lids.is_empty()) {
        let own = Arc::make_mut(&mut lfts[switch.index()]);
        for &lid in &lids {
            own.set(lid, PortNum::NO_ROUTE);
        }
    }
    lfts
}

/// A half that is kept, and how its rows come to lead home.
struct KeptHalf {
    half: Half,
    /// What the waves start from: as held, without what led switches' LIDs astray.
    straight: Vec<Arc<Lft>>,
    /// They give ways to rows that have none; none where every row has one.
    waves: Vec<RepairWave>,
}

impl KeptHalf {
    fn new(input: &RecoveryInput, half: Half) -> Result<Self, ChangeError> {
        by_itself(input, half).map_err(ChangeError::Old)?;
        // Each half by itself closes no cycle. Where there is one nevertheless, LIDs of switches close it, on ways of
        // two routings, or answers to base LIDs, on what another manager left: a recovery does not prove those.
        let mut found = Err(ChangeError::Incomplete);
        for (answerer, all) in [(Some(input.sm), false), (Some(input.sm), true), (None, false), (None, true)] {
            let straight = straightened(input, all);
            found = repaired(input, half, &straight, answerer).map(|waves| KeptHalf { half, straight, waves });
            if !matches!(found, Err(ChangeError::Repair(RepairError::Deadlock { .. }))) {
                break;
            }
        }
        found
    }
}

/// Waves from `lfts` that give ways to the rows of a half that have none, beside answers of `answerer` to base LIDs.
fn repaired(
    input: &RecoveryInput,
    kept: Half,
    lfts: &[Arc<Lft>],
    answerer: Option<PortId>,
) -> Result<Vec<RepairWave>, ChangeError> {
    let fabric = &*input.fabric;
    let mut senders = InjectionRules::default();
    senders.injected[kept.index()] = true;
    let alike = input.function.path_layers().is_none();
    let target = lid::merge(fabric, &input.tables.lfts, &input.function, &[Half::Lower, Half::Upper]);
    let RoutedBy { engine, root } = input.function.routed_by();
    let order = root.and_then(|root| switch_order(engine, fabric, root));
    let tables = steadied(input, lfts);
    let asked = RepairInput {
        target: alike.then_some(&target),
        answerer,
        order: order.as_deref(),
        // The plan waits for what was sent before, which does not go together with packets that turn back (W.8).
        discards_turned_back: false,
        budget: Budget { renewals: 0, ..Budget::default() },
        ..RepairInput::quiet(fabric, &tables, &senders)
    };
    let found = solved(&asked, None)?;
    Ok(found.waves)
}

/// The tables with the entries of the other half as those of `last` have them for their twins of the kept one.
fn followed(fabric: &Fabric, lfts: &[Arc<Lft>], last: &[Arc<Lft>], kept: Half) -> Vec<Arc<Lft>> {
    let led = lid::mirrored(fabric, last, kept);
    let others: Vec<Lid> = fabric.lid_ports().flat_map(|port| fabric.half_lids(port, kept.other())).collect();
    let mut tables = lfts.to_vec();
    for switch in fabric.switches() {
        let from = &led[switch.index()];
        for &lid in others.iter().filter(|&&lid| fabric.half_of(lid).is_some()) {
            if tables[switch.index()].get(lid) != from.get(lid) {
                Arc::make_mut(&mut tables[switch.index()]).set(lid, from.get(lid).unwrap_or(PortNum::NO_ROUTE));
            }
        }
    }
    tables
}

/// Whether some switch has no way on for a LID that an end port owns.
fn begins_with_losses(fabric: &Fabric, lfts: &[Arc<Lft>]) -> bool {
    let lids: Vec<Lid> = fabric
        .end_ports()
        .flat_map(|port| [Half::Lower, Half::Upper].into_iter().flat_map(move |half| fabric.half_lids(port, half)))
        .collect();
    let goes_on = |switch: NodeId, lid: Lid| {
        let output = lfts[switch.index()].get(lid).and_then(|num| fabric.port_at(switch, num));
        output.is_some_and(|port| fabric.peer(port).is_some() || fabric.port(port).num == PortNum::ZERO)
    };
    fabric.switches().any(|switch| lids.iter().any(|&lid| !goes_on(switch, lid)))
}

fn attempt(input: &RecoveryInput, own: &KeptHalf, way: RecoveryWay) -> Result<Prepared, ChangeError> {
    let fabric = &input.fabric;
    let held = &input.tables.lfts;
    let KeptHalf { half: kept, ref straight, ref waves } = *own;
    let last = waves.last().map_or(straight, |wave| &wave.lfts);
    let step = |lfts: &[Arc<Lft>], aged_before| TableStep { lfts: followed(fabric, lfts, last, kept), aged_before };
    let mut steps: Vec<TableStep> = waves.iter().map(|wave| step(&wave.lfts, wave.aged_before)).collect();
    match way {
        RecoveryWay::Open if steps.is_empty() && straight == held => {}
        RecoveryWay::Open => return Err(ChangeError::Incomplete),
        _ if steps.is_empty() => steps.push(step(straight, false)),
        _ => {}
    }
    let target = steps.last().map_or(held, |step| &step.lfts).clone();
    let scope = Scope::of(fabric.halves());
    verify::prove_tables(fabric, &steadied(input, &target), &scope).map_err(ChangeError::New)?;
    let mut initial = input.tables.clone();
    initial.sending.iter_mut().for_each(|half| *half = kept);
    initial.sa_half = kept;
    let stranded = routing::stranded(fabric, fabric, input.sm);
    let plan = plan::plan(
        Scheme::Recover,
        PlanInput {
            before: fabric.clone(),
            routed: fabric.clone(),
            surviving: fabric.clone(),
            after: fabric.clone(),
            begins_with_losses: begins_with_losses(fabric, held),
            leaves_losses: false,
            initial,
            target,
            steps,
            discards_turned_back: false,
            closes: way == RecoveryWay::Close,
            old: kept,
            both_halves: fabric.has_both_halves(),
            policy: input.policy,
            sm: input.sm,
            stranded: stranded.clone(),
            old_layers: 1,
            new_layers: 1,
            drain: Vec::new(),
            old_ways: None,
            new_ways: None,
        },
    )?;
    let (function, routed_by) = (Some(input.function.clone()), input.function.routed_by());
    PlannedChange { plan, layers: 1, function, routed_by, stranded }.vet(None, refused)
}
