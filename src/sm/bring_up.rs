//! From a sweep to a running subnet: addresses, tables, states.
//!
//! The routing is computed and proved before anything is written. A subnet without traffic is written while its ports
//! are ARMED, and ACTIVE comes last; SL-to-VL tables alone follow after that, where they are most of the work and the
//! routing is proved on any lanes. A subnet with traffic is adopted as it runs if its tables can be proved.
//! Otherwise nothing is written unless the user allows it.

use super::arrival::{BroughtUp, Pending, SubnetArrival};
use super::aside::AsideElements;
use super::config::{Config, Takeover};
use super::context::Context;
use super::error::SmError;
use super::fallback::{self, FoundRouting, has_routers};
use super::inherited::{self, carrying, lanes_of_most};
use super::installed::{self, InstalledTables};
use super::newcomers::{self, LeftForLater, keeping_their_lids, odd_ports};
use super::planning::computed;
use super::port_needs;
use super::set_up;
use super::settings::Basis;
use super::unfit;
use crate::change::{CaptureSettings, Recovery, RecoveryInput, lost_cables, prepare_recovery, within_reach};
use crate::driver::{Running, StandingChange};
use crate::fabric::{Fabric, Node, NodeId, PortId, difference};
use crate::ids::{Half, Lid, PortNum, ReservedLevel, Sl, Vl};
use crate::journal::Standing;
use crate::lid::LidError;
use crate::plan::{LanePartition, Lanes, MovedBy, Policy, sl_to_vl_pairs, writes_between};
use crate::subnet::{Discovered, FailingAs, Manager, SubnetManager};
use crate::tables::{NodeSlToVl, PathLayers, PortState, SlToVl, SubnetTables, Write};
use crate::transport::Transport;
use crate::verify::{self, Scope};
use crate::wire::{AttributeId, Method};
use std::sync::Arc;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// Brings up the subnet that a sweep found; `fabric` is that subnet with LIDs and lanes set ([`equip`]). Elements set
/// aside are routed around if nothing flows yet, or if the tables in force do so. Other managers are answered
/// meanwhile.
pub(super) async fn bring_up<T: Transport>(
    manager: &mut Manager<T>,
    context: &Context,
    found: &Discovered,
    fabric: Fabric,
) -> Result<BroughtUp, SmError> {
    let (config, aside) = (&context.config, &AsideElements::named(context.aside()));
    check_reserved(&fabric, config)?;
    let whole = Arc::new(fabric);
    for (rest, is_trial) in newcomers::trials(found, &whole) {
        let fabric = rest.clone().unwrap_or_else(|| whole.clone());
        let used = match aside.is_empty() {
            true => fabric.clone(),
            false => Arc::new(within_reach(&aside.out_of(&fabric), found.sm_port)),
        };
        // The order was given to a manager at this port, which may have another cable by now.
        let used = if used.reaches_others(found.sm_port) { used } else { fabric.clone() };
        let target = BringUpTarget { fabric, used, is_trial };
        if let Some(up) = bring_up_used(manager, context, found, target).await? {
            rest.iter().for_each(|rest| newcomers::log(&whole, rest));
            let lost: Vec<(PortId, PortId)> = cables_beyond(&up.running.known, &up.running.alive);
            let known = if lost.is_empty() { whole } else { Arc::new(whole.with_plugged(&lost)) };
            let running = Running { known, ..up.running };
            return Ok(BroughtUp { running, change_is_due: up.change_is_due || rest.is_some(), ..up });
        }
    }
    unreachable!("the last of them is no trial")
}

/// A fabric to bring up.
struct BringUpTarget {
    /// The fabric.
    fabric: Arc<Fabric>,
    /// The fabric without the elements set aside: the part that is used at once.
    used: Arc<Fabric>,
    /// Whether it is brought up only if the forwarding tables in force lead to all of it.
    is_trial: bool,
}

/// Brings up the part of a fabric that is used at once. Returns `None` if a trial finds that the forwarding tables in
/// force do not lead to all of it.
async fn bring_up_used<T: Transport>(
    manager: &mut Manager<T>,
    context: &Context,
    found: &Discovered,
    target: BringUpTarget,
) -> Result<Option<BroughtUp>, SmError> {
    let (config, sm) = (&context.config, found.sm_port);
    let BringUpTarget { fabric, used, .. } = &target;
    manager.set_topology(fabric, sm);
    manager.serve_waiting().await?;
    refuse_adaptive(manager, fabric, config, false).await?;
    let flows = installed::carries_traffic(&found.fabric, &found.port_states);
    // Compute and prove before any write: if either fails, the subnet stays untouched.
    let routing = computed(manager, config.planning, {
        let (config, fabric) = (config.clone(), if flows { fabric.clone() } else { used.clone() });
        move || fallback::routed(&config, &fabric, sm)
    });
    let routing = routing.await??;
    if flows {
        return take_over(manager, context, found, target, routing).await;
    }
    let on_any_lanes = routing.on_any_lanes;
    let mut up = brought_up(target.used, sm, routing, SubnetArrival::Cold);
    let manner = match on_any_lanes {
        _ if config.takeover == Takeover::Rewrite && context.has_failed_often() => WriteManner::AroundOwn,
        true => WriteManner::LanesMayFollow,
        false => WriteManner::Whole,
    };
    let lanes = write(manager, config, &up.running, None, manner).await?;
    up.pending = (!lanes.is_empty()).then_some(Pending::Lanes { writes: lanes, ages: false });
    Ok(Some(up))
}

/// Takes over a subnet that carries traffic: as it runs, or mended, or rewritten by `routing`. Elements set aside are
/// not in `target.used`. If tables still lead over them, a later change takes them out.
async fn take_over<T: Transport>(
    manager: &mut Manager<T>,
    context: &Context,
    found: &Discovered,
    target: BringUpTarget,
    routing: FoundRouting,
) -> Result<Option<BroughtUp>, SmError> {
    let (config, sm) = (&context.config, found.sm_port);
    let BringUpTarget { fabric, used, is_trial } = target;
    let top = fabric.max_lid().unwrap_or_default();
    let mut installed = installed::read(manager, &fabric, &found.port_states, sm, top).await?;
    manager.set_closed_ends(&installed.closed_ends(&fabric));
    // A proof cannot cover unknown tables: a device that does not report its own is left out, if the rest can do
    // without it.
    if let Some(device) = installed.silent.first().filter(|_| manager.can_leave_out(&installed.unread)) {
        return Err(SmError::Unread { device: device.clone() });
    }
    inherited::warn_of_level_given_up(&fabric, &installed.tables, &config.policy);
    let first = installed.steady_where_idle(&fabric, &found.port_states, &config.policy);
    let input = RecoveryInput {
        fabric: fabric.clone(),
        tables: installed.tables.clone(),
        in_use: installed.half,
        policy: Policy { sources: MovedBy::of_settle(config.sources.settle_ns()), ..config.policy },
        sm,
        function: Arc::new(routing.function.clone()),
        may_close: true,
    };
    let comparable = comparable(found, &fabric, &installed);
    let judged = move || verdict(input, comparable, used, is_trial);
    let verdict = computed(manager, config.planning, judged).await?;
    if is_trial && !verdict.is_adoptable() {
        return Ok(None);
    }
    if config.takeover == Takeover::Proved
        && let Some(why) = verdict.unproved()
    {
        return Err(SmError::Foreign { why: why.to_string() });
    }
    newcomers::part_from(manager, found, &fabric).await?;
    manager.apply_each(&fabric, &first).await?;
    let taken = match verdict {
        Verdict::Adoptable { used, lost } => adopt(fabric, installed, used, &lost),
        Verdict::AdoptableOnAnyLanes { why, tables, writes } => {
            tracing::warn!(%why, "the subnet is adopted, and gets other SL-to-VL tables");
            serve_all_lanes(manager, &fabric, config).await?;
            let pending = Pending::Lanes { writes, ages: true };
            TakenOver::whole(fabric, tables, installed.half, SubnetArrival::Adopted, Some(pending))
        }
        Verdict::Recoverable { why, recovery } => {
            recover(manager, config, found, fabric, installed, why, recovery).await?
        }
        Verdict::Unproved { why } => {
            let up = brought_up(fabric, sm, routing, SubnetArrival::Rewritten { why });
            return rewrite(manager, context, up, installed.tables).await.map(Some);
        }
    };
    taken.set_up(manager, config, sm, routing.instead).await.map(Some)
}

/// A subnet that carries traffic, as it is taken over.
struct TakenOver {
    /// The present fabric.
    alive: Arc<Fabric>,
    /// The same, with the lost cables that the tables lead over.
    known: Arc<Fabric>,
    /// The present part of the fabric that the tables serve.
    served: Arc<Fabric>,
    /// That part with the lost cables, if there are any.
    routed: Option<Arc<Fabric>>,
    /// The tables in force.
    tables: SubnetTables,
    /// The half in use.
    half: Half,
    arrival: SubnetArrival,
    pending: Option<Pending>,
}

impl TakenOver {
    /// A fabric whose tables serve all of it.
    fn whole(
        fabric: Arc<Fabric>,
        tables: SubnetTables,
        half: Half,
        arrival: SubnetArrival,
        pending: Option<Pending>,
    ) -> TakenOver {
        let (known, served) = (fabric.clone(), fabric.clone());
        TakenOver { alive: fabric, known, served, routed: None, tables, half, arrival, pending }
    }

    /// Writes the settings of all ports.
    async fn set_up<T: Transport>(
        self,
        manager: &mut Manager<T>,
        config: &Config,
        sm: PortId,
        instead: Option<String>,
    ) -> Result<BroughtUp, SmError> {
        let TakenOver { alive, known, served, routed, tables, half, arrival, pending } = self;
        // Which source sends by which path cannot be read back, so these tables were proved for every source on every
        // path.
        let running = running(served.clone(), sm, tables, 1, None, half);
        // Age limits too: the first barrier of a recovery counts by them.
        set_up::everything(manager, &Basis::of(&running, config)).await?;
        let tables = SubnetTables { port_states: running_states(&known, &running.tables), ..running.tables };
        let change_is_due = routed.is_some();
        let running = Running { known, routed: routed.unwrap_or(served), alive, tables, ..running };
        Ok(BroughtUp { running, arrival, routed_by: None, instead, pending, change_is_due })
    }
}

/// Adopts tables as they stand. A change leads around lost cables next.
fn adopt(fabric: Arc<Fabric>, installed: InstalledTables, used: Arc<Fabric>, lost: &[(PortId, PortId)]) -> TakenOver {
    let InstalledTables { tables, half, .. } = installed;
    let taken = TakenOver::whole(fabric.clone(), tables, half, SubnetArrival::Adopted, None);
    if lost.is_empty() {
        return TakenOver { served: used, ..taken };
    }
    let known = Arc::new(fabric.with_plugged(lost));
    log_lost(&known, &fabric);
    TakenOver { known, routed: Some(Arc::new(used.with_plugged(lost))), served: used, ..taken }
}

/// Prepares devices for the waves of a recovery.
async fn recover<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    found: &Discovered,
    fabric: Arc<Fabric>,
    installed: InstalledTables,
    why: String,
    recovery: Recovery,
) -> Result<TakenOver, SmError> {
    let Recovery { kept, way, .. } = recovery;
    let mut tables = installed.tables;
    tracing::warn!(%why, kept = %kept, "the subnet is not adopted as it is, but mended: {}", way.in_words());
    // Links to newcomers are left alone: neither they nor what is behind them is reached yet.
    let reached = |port: &&PortId| fabric.node(fabric.port(**port).node).present;
    // A device that does not answer may still send, and passes no token on: its links are taken down, or the first
    // barrier would wait for ever (C.5).
    manager.apply_each(&fabric, &Write::links_down(found.silent.iter().filter(reached))).await?;
    serve_all_lanes(manager, &fabric, config).await?;
    // The plan begins with the tables as these first writes leave them.
    recovery.first.iter().for_each(|write| tables.apply(&fabric, write));
    let arrival = SubnetArrival::Recovered { way, why };
    Ok(TakenOver::whole(fabric, tables, kept, arrival, Some(Pending::Recovery(recovery))))
}

/// Rewrites a subnet that holds these tables in place. ACTIVE ports stay so, and data flows while entries of both
/// routings are in force: no proof covers this moment (E.7).
async fn rewrite<T: Transport>(
    manager: &mut Manager<T>,
    context: &Context,
    up: BroughtUp,
    held: SubnetTables,
) -> Result<BroughtUp, SmError> {
    let why = up.arrival.why().unwrap_or_default();
    tracing::warn!(%why, "the subnet is REWRITTEN IN PLACE, and nothing proves that moment");
    // A manager that stops here leaves tables of two routings.
    context.begin_recovery(manager.now_ns());
    write(manager, &context.config, &up.running, Some(held), WriteManner::Whole).await?;
    Ok(up)
}

/// Takes up the change that an earlier manager left, as its journal has it, if devices hold what they may hold in its
/// wave. It writes only the states of ports that bounced or stayed ARMED: such ports would hold packets for ever. The
/// fabric has precedence over the journal; the inner error states how they differ.
pub(super) async fn taken_up<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    standing: &Standing,
    config: &Config,
) -> Result<Result<BroughtUp, String>, SmError> {
    let planning = config.planning;
    if !installed::carries_traffic(&found.fabric, &found.port_states) {
        return Ok(Err("the subnet carries no traffic".to_string()));
    }
    let settle_ns = manager.settle_ns();
    let standing = standing.clone();
    let change = match computed(manager, planning, move || StandingChange::of(&standing)).await? {
        Ok(change) => change,
        Err(why) => return Ok(Err(why)),
    };
    let suits = change.suits(settle_ns).map_err(|error| error.to_string());
    let (alive, bounced) = match suits.and_then(|()| change.alive(found)) {
        Ok((alive, bounced)) => (Arc::new(alive), bounced),
        Err(why) => return Ok(Err(why)),
    };
    let under_way = change.under_way.plan.clone();
    let plan = under_way.plan();
    let sm = plan.draft().sm;
    manager.set_topology(&alive, sm);
    refuse_adaptive(manager, &alive, config, false).await?;
    // The last MADs of the earlier manager may still be on their way.
    manager.idle(manager.now_ns().saturating_add(manager.timing().smp_lifetime_ns)).await?;
    let states = &plan.tables_at(change.position.wave).port_states;
    let top = plan.draft().before.max_lid().unwrap_or_default();
    let installed = installed::read(manager, &alive, states, sm, top).await?;
    manager.set_closed_ends(&installed.closed_ends(&alive));
    if let Some(silent) = installed.silent.first() {
        return Ok(Err(format!("{silent} does not report its tables")));
    }
    let admitted = computed(manager, planning, {
        let (change, alive) = (change.clone(), alive.clone());
        move || change.admits(&installed.tables, &alive)
    });
    if let Err(why) = admitted.await? {
        return Ok(Err(why));
    }
    let is_routed = |port: &PortId| states[port.index()] == PortState::Active;
    let armed: Vec<Write> =
        bounced.into_iter().map(|port| Write::PortState { port, state: PortState::Armed }).collect();
    manager.apply_each(&alive, &armed).await?;
    let routed: Vec<PortId> = set_up::every_port(&alive).into_iter().filter(is_routed).collect();
    set_up::activate(manager, &alive, &routed).await?;
    let what = change.in_words();
    let running = change.running(alive);
    let arrival = SubnetArrival::Resumed { what };
    let pending = Some(Pending::Standing(change));
    Ok(Ok(BroughtUp { running, arrival, routed_by: None, instead: None, pending, change_is_due: false }))
}

/// What can be done about a subnet that carries traffic.
enum Verdict {
    /// Its tables may stay in force.
    Adoptable {
        /// The part of the present fabric that they route.
        used: Arc<Fabric>,
        /// Cables that they route besides, which are lost.
        lost: Vec<(PortId, PortId)>,
    },
    /// Its forwarding tables may stay in force, whatever its SL-to-VL tables are, also while these are replaced.
    AdoptableOnAnyLanes { why: String, tables: SubnetTables, writes: Vec<Write> },
    /// They may not, and proved waves lead from them to one routing on all lanes (section E of docs/PROTOCOL.md).
    Recoverable { why: String, recovery: Recovery },
    /// Neither can be proved.
    Unproved { why: String },
}

impl Verdict {
    /// Whether the forwarding tables may stay in force.
    fn is_adoptable(&self) -> bool {
        matches!(self, Verdict::Adoptable { .. } | Verdict::AdoptableOnAnyLanes { .. })
    }

    /// The reason that some moment would not be proved, if there is such a moment.
    fn unproved(&self) -> Option<&str> {
        match self {
            Verdict::Recoverable { why, recovery } if !recovery.first.is_empty() => Some(why),
            Verdict::Unproved { why } => Some(why),
            _ => None,
        }
    }
}

/// A recovery is not prepared in a trial.
fn verdict(input: RecoveryInput, comparable: Result<(), String>, used: Arc<Fabric>, is_trial: bool) -> Verdict {
    let adoptable = |fabric: &Fabric| adoptable(fabric, &input.tables, &input.policy);
    if comparable.is_ok() && used != input.fabric && adoptable(&used).is_ok() {
        return Verdict::Adoptable { used, lost: Vec::new() };
    }
    let Err(why) = comparable.clone().and_then(|()| adoptable(&input.fabric)) else {
        return Verdict::Adoptable { used: input.fabric, lost: Vec::new() };
    };
    // A loss that no manager has seen is one like any other, if the tables are proved with what was lost.
    let lost = lost_cables(&input.fabric, &input.tables.lfts);
    if comparable.is_ok() && !lost.is_empty() && adoptable(&used.with_plugged(&lost)).is_ok() {
        return Verdict::Adoptable { used, lost };
    }
    if comparable.is_ok() && adoptable_on_any_lanes(&input.fabric, &input.tables, &input.policy) {
        let RecoveryInput { fabric, tables, policy, .. } = input;
        let steady = Lanes::steady_table(&fabric, &policy);
        let writes = writes_between(&fabric, Some(&tables), &tables.lfts, steady);
        return Verdict::AdoptableOnAnyLanes { why, tables: tables.on_lanes(steady), writes };
    }
    if is_trial {
        return Verdict::Unproved { why };
    }
    let recovery = comparable.and_then(|()| {
        let tables = SubnetTables { port_states: running_states(&input.fabric, &input.tables), ..input.tables };
        prepare_recovery(&RecoveryInput { tables, ..input }).map_err(|why| why.to_string())
    });
    match recovery {
        Ok(recovery) => Verdict::Recoverable { why, recovery },
        Err(unmended) => Verdict::Unproved { why: format!("{why}; {unmended}") },
    }
}

/// Checks that there are two lanes for the halves and one for the reserved service level.
fn check_reserved(fabric: &Fabric, config: &Config) -> Result<(), SmError> {
    let data_vls = Lanes::of_fabric(fabric, None).count();
    match config.policy.reserved_sl {
        Some(sl) if Half::rank(sl) == 0 => Err(SmError::ReservedFirst { sl }),
        Some(sl) if data_vls < 3 => Err(SmError::NoLaneToReserve { sl, data_vls }),
        _ => Ok(()),
    }
}

/// Refuses a subnet whose switches do not send packets where their entries say, unless the configuration allows it.
/// Returns false if an event cut the questions short, which happens only with `until_event`.
pub(super) async fn refuse_adaptive<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    config: &Config,
    until_event: bool,
) -> Result<bool, SmError> {
    if config.allows_adaptive {
        return Ok(true);
    }
    let Some(adaptive) = manager.adaptive_switches(until_event).await? else { return Ok(false) };
    match adaptive.split_first() {
        None => Ok(true),
        Some((&first, others)) => Err(SmError::Adaptive { switch: fabric.describe_node(first), others: others.len() }),
    }
}

/// Records which switches have too few forwarding entries for the LIDs to be assigned. The rest of the subnet does
/// without them.
pub(super) fn note_too_short<T: Transport>(manager: &mut Manager<T>, found: &Discovered, error: &SmError) {
    let SmError::Lids(LidError::LftCapacity { top, .. }) = error else { return };
    // The known fabric may be that of a journal.
    manager.set_topology(&found.fabric, found.sm_port);
    for switch in found.fabric.switches() {
        let capacity = found.fabric.node(switch).lft_capacity;
        if capacity <= top.0 {
            let why = FailingAs::Unfit { why: unfit::too_few_entries(capacity, *top), wholly: true };
            manager.device_fails(switch, AttributeId::SwitchInfo, Method::Get, why, true);
        }
    }
}

/// The fabric that a sweep found, with lanes set and LIDs assigned; and whether a part is left for later because it
/// carries nothing and would take lanes out of operation.
pub(super) fn equipped<T: Transport>(
    manager: &Manager<T>,
    context: &mut Context,
    found: &Discovered,
) -> Result<(Fabric, bool), SmError> {
    let Context { config, assign, .. } = context;
    let held = keeping_their_lids(found, config.lmc);
    // If no port reports the lanes in operation, their number is unknown, and no device is kept out for it.
    let in_operation = lanes_of_most(manager, found).map(|most| {
        let capable = carrying(found).map(|port| found.fabric.port(port).data_vls);
        capable.fold(most.min(config.data_vls), u8::min)
    });
    let wide = in_operation.and_then(|lanes| unfit::without_narrow(found, lanes));
    let fabric = wide.as_ref().unwrap_or(&found.fabric);
    let fabric = equip(fabric, config, |fabric| assign(fabric, config.lmc, &held))?;
    Ok((fabric, wide.is_some()))
}

/// The fabric with its lanes set and with the LIDs that `assign` gives.
pub(super) fn equip(
    found: &Fabric,
    config: &Config,
    assign: impl FnOnce(&Fabric) -> Result<Fabric, SmError>,
) -> Result<Fabric, SmError> {
    let settings = CaptureSettings {
        data_vls: config.data_vls,
        optimised_sl_to_vl: None,
        lmc: config.lmc,
        reserved_sl: config.policy.reserved_sl,
    };
    Ok(settings.equip_routed_or_not(&assign(found)?)?)
}

fn brought_up(fabric: Arc<Fabric>, sm: PortId, routing: FoundRouting, arrival: SubnetArrival) -> BroughtUp {
    let FoundRouting { function, tables, instead, .. } = routing;
    BroughtUp {
        running: running(fabric, sm, tables, function.layers(), function.path_layers().cloned(), Half::Lower),
        arrival,
        routed_by: Some(function.routed_by()),
        instead,
        pending: None,
        change_is_due: false,
    }
}

fn running(
    fabric: Arc<Fabric>,
    sm: PortId,
    mut tables: SubnetTables,
    layers: u8,
    ways: Option<Arc<PathLayers>>,
    half: Half,
) -> Running {
    tables.port_states = running_states(&fabric, &tables);
    tables.sa_half = half;
    let both_halves = fabric.has_both_halves();
    Running {
        known: fabric.clone(),
        routed: fabric.clone(),
        alive: fabric,
        tables,
        layers,
        ways,
        half,
        both_halves,
        sm,
    }
}

/// The states after the writes: cabled ports ACTIVE, as the prover assumed.
fn running_states(fabric: &Fabric, tables: &SubnetTables) -> Vec<PortState> {
    let mut states = tables.port_states.clone();
    for (id, port) in fabric.ports() {
        let up = port.peer.is_some() || port.num == PortNum::ZERO;
        states[id.index()] = if up { PortState::Active } else { PortState::Down };
    }
    states
}

/// The cables of `known` that `alive`, a fabric of the same indices, lacks.
fn cables_beyond(known: &Fabric, alive: &Fabric) -> Vec<(PortId, PortId)> {
    known.links().filter(|&(one, _)| alive.peer(one).is_none()).collect()
}

fn log_lost(known: &Fabric, fabric: &Fabric) {
    let what = difference::moved(known, fabric).unwrap_or_default();
    tracing::warn!(
        what,
        "this happened while no manager ran: the tables are adopted as they were before it, and the next change routes around \
         it"
    );
}

/// Checks that the tables read can be judged: every port holds its wanted LID and LMC, and every device has reported.
/// Newcomers and odd ports that the manager cannot leave for later are excepted.
fn comparable(found: &Discovered, fabric: &Fabric, installed: &InstalledTables) -> Result<(), String> {
    let odd = odd_ports(found, fabric);
    let counts = |port: &PortId| !odd.contains(port) && !LeftForLater::Likely.include(found, fabric, *port);
    if let Some(port) = fabric.lid_ports().filter(counts).find(|&port| {
        let (held, wanted) = (found.fabric.port(port), fabric.port(port));
        (held.lid, held.lmc) != (wanted.lid, wanted.lmc)
    }) {
        let (held, wanted) = (found.fabric.port(port), fabric.port(port));
        let lid = |lid: Option<Lid>| lid.map_or("none".to_string(), |lid| lid.to_string());
        return Err(format!(
            "{} has LID {} LMC {} and should have {} LMC {}",
            fabric.describe_port(port),
            lid(held.lid),
            held.lmc,
            lid(wanted.lid),
            wanted.lmc
        ));
    }
    // A table that a device does not report reads as empty, and a proof of it would say nothing about the device.
    match installed.silent.first() {
        Some(silent) => Err(format!("{silent} does not report its tables")),
        None => Ok(()),
    }
}

/// Whether the tables of a running subnet with the wanted LIDs may stay in force: it has the SL-to-VL tables of the
/// steady state, and its forwarding tables are proved on both halves, since it is unknown which source sends on which.
fn adoptable(fabric: &Fabric, tables: &SubnetTables, policy: &Policy) -> Result<(), String> {
    let lanes = Lanes::of_fabric(fabric, policy.reserved_sl);
    // Split tables, which a manager that died during a change leaves behind, fail here (C.4).
    let steady = NodeSlToVl::Uniform(lanes.steady(policy.partition));
    let mut nodes = fabric.nodes().filter(|(_, node)| node.present);
    if let Some((id, _)) = nodes.find(|(id, _)| *tables.sl_to_vl[id.index()] != steady) {
        let wanted = in_words(lanes, policy.partition);
        return Err(format!("{} has other SL-to-VL tables than {wanted}", fabric.describe_node(id)));
    }
    verify::prove_tables(fabric, tables, &Scope::of(fabric.halves())).map(|_| ()).map_err(|refusal| refusal.to_string())
}

/// Makes every port that carries data serve every lane, since service levels move to lanes that they did not use (M3).
async fn serve_all_lanes<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    config: &Config,
) -> Result<(), SmError> {
    let lanes = Lanes::of_fabric(fabric, config.policy.reserved_sl).in_operation();
    let cabled: Vec<PortId> =
        set_up::every_port(fabric).into_iter().filter(|&port| fabric.peer(port).is_some()).collect();
    port_needs::serve_lanes(manager, fabric, &cabled, lanes).await
}

/// Whether forwarding tables may stay in force while SL-to-VL tables are replaced under them: the SL-to-VL tables are
/// not those of an unfinished change, and the forwarding tables close no cycle on any lanes.
fn adoptable_on_any_lanes(fabric: &Fabric, tables: &SubnetTables, policy: &Policy) -> bool {
    // The manager of before may have reserved another level, or none.
    let levels = Sl::all().map(Some).chain([None]);
    let lanes: Vec<Lanes> = levels.map(|reserved| Lanes::of_fabric(fabric, reserved)).collect();
    let steady: Vec<SlToVl> = lanes.iter().map(|lanes| lanes.steady(policy.partition)).collect();
    let parted = lanes.iter().filter(|lanes| lanes.all.len() > 1);
    let splits: Vec<SlToVl> = parted.flat_map(|lanes| HALVES.map(|half| lanes.separate(half))).collect();
    let split = |table: &SlToVl| splits.contains(table);
    // A fence closes a half at end ports, except for a reserved level, which is never the first level of a half.
    let closed = |table: &SlToVl, half: Half| {
        let mut open = half.sls().filter(|&sl| table.get(sl) != Vl::MANAGEMENT);
        open.next().is_none_or(|first| Half::rank(first) != 0) && open.next().is_none()
    };
    let fenced = |table: &SlToVl| HALVES.iter().any(|&half| closed(table, half));
    let holds_what_was_left = |(id, node): (NodeId, &Node)| {
        let held = &tables.sl_to_vl[id.index()];
        let left = |table: &SlToVl| !steady.contains(table) && (split(table) || !node.is_switch() && fenced(table));
        sl_to_vl_pairs(fabric, id).into_iter().any(|(input, output)| left(held.get(input, output)))
    };
    !has_routers(fabric)
        && !fabric.nodes().filter(|(_, node)| node.present).any(holds_what_was_left)
        && verify::prove_tables(fabric, &tables.clone().on_lanes(SlToVl::ONE), &Scope::of(fabric.halves())).is_ok()
}

/// The steady state of the lanes, for messages.
fn in_words(lanes: Lanes, partition: LanePartition) -> String {
    let spread = match partition {
        LanePartition::Standing if lanes.all.len() > 1 => {
            let (lower, upper) = (lanes.a, lanes.b);
            format!("those of a standing partition, SLs 0 to 7 on VLs {lower} and 8 to 15 on VLs {upper}")
        }
        LanePartition::Standing | LanePartition::Temporary => format!("SL mod {}", lanes.all.len()),
    };
    match lanes.reserved {
        Some(ReservedLevel { sl, vl }) => format!("{spread}, and SL {sl} alone on VL {vl}"),
        None => spread,
    }
}

/// How a bring-up writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteManner {
    /// All writes must succeed.
    Whole,
    /// All writes must succeed, but SL-to-VL tables may follow later.
    LanesMayFollow,
    /// The manager's own device and switch cannot be left out. Their failure ends the bring-up only after everything
    /// else is written: the other hosts reach one another, as under any manager, though no proof covers that switch.
    AroundOwn,
}

/// Writes everything: settings and ARMED, then tables, then ACTIVE. An ARMED port sends management packets only, so in
/// a cold subnet no data packet meets a table that is half written. Returns SL-to-VL tables that are still to be
/// written: all of them, if they may follow and are most of the work.
async fn write<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    running: &Running,
    held: Option<SubnetTables>,
    manner: WriteManner,
) -> Result<Vec<Write>, SmError> {
    let (fabric, basis) = (&running.alive, Basis::of(running, config));
    let (began_ns, mut own_fault) = (manager.now_ns(), None);
    let mut passes = |manager: &Manager<T>, done: Result<(), SmError>| match done {
        Err(error)
            if manner == WriteManner::AroundOwn
                && !error.is_of_all()
                && manager.indispensable_fault(began_ns).is_some() =>
        {
            tracing::error!(%error, "the bring-up goes on around the manager's own device or switch, for which nothing is proved");
            own_fault.get_or_insert(error);
            Ok(())
        }
        done => done,
    };
    let ports = set_up::every_port(fabric);
    let configured = set_up::configure(manager, &basis, &ports).await;
    passes(manager, configured)?;
    let writes = computed(manager, config.planning, {
        let (fabric, wanted) = (fabric.clone(), running.tables.lfts.clone());
        let steady = basis.lanes.steady(config.policy.partition);
        move || writes_between(&fabric, held.as_ref(), &wanted, steady)
    });
    let mut writes = writes.await?;
    let blocks = writes.partition_point(|write| matches!(write, Write::LftBlock { .. }));
    let lanes_follow = manner == WriteManner::LanesMayFollow && writes.len() > 2 * blocks;
    let lanes = writes.split_off(if lanes_follow { blocks } else { writes.len() });
    let applied = manager.apply_each(fabric, &writes).await;
    passes(manager, applied.map(|_| ()).map_err(SmError::from))?;
    let activated = set_up::activate(manager, fabric, &ports).await;
    passes(manager, activated)?;
    own_fault.map_or(Ok(lanes), |why| Err(SmError::AroundOwn { why: Box::new(why) }))
}
