//! From a sweep to a running subnet: addresses, tables, states.
//!
//! The routing is computed and proved before anything is written. A subnet without traffic is written whole while its
//! ports are ARMED; ACTIVE comes last. A subnet with traffic is adopted as it runs if its tables can be proved.
//! Otherwise nothing is written unless the user allows it.

use super::config::{Config, Takeover};
use super::error::SmError;
use super::fair;
use super::fallback::{self, FoundRouting};
use super::installed::{self, InstalledTables};
use super::planning::{Planning, computed};
use super::settings::{self, Common};
use crate::change::{BringUp, Prepared, Recovery, RecoveryInput, RecoveryWay, prepare_recovery};
use crate::driver::{Running, StandingChange};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Lmc, PortNum, ReservedLevel};
use crate::journal::Standing;
use crate::plan::{LanePartition, Lanes, MovedBy, Policy, writes_between};
use crate::subnet::{
    Ask, AskResult, Discovered, FailingAs, Manager, REQUESTS_AT_A_TIME, RequestTarget, SubnetError, SubnetManager,
};
use crate::tables::{NodeSlToVl, PathLayers, PortState, RoutedBy, RoutingFunction, SubnetTables, Write};
use crate::transport::Transport;
use crate::verify::{self, Scope};
use crate::wire::{self, AttributeId, Method, PortInfo, SwitchInfo};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often a link that was taken down is looked at while it trains, and the pause between two looks.
const TRAINING: usize = 100;
const TRAINING_POLL_NS: u64 = 50_000_000;

/// How a subnet came under this manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubnetArrival {
    /// It carried no traffic and was written whole.
    Cold,
    /// It carried traffic under tables that were proved as they stood; they are now the routing in force.
    Adopted,
    /// It carried traffic under what a change had left that nobody ended, and was led back to one routing by waves that
    /// are proved.
    Recovered {
        /// How.
        way: RecoveryWay,
        /// Why it could not be adopted.
        why: String,
    },
    /// It carried traffic in the midst of a change that an earlier manager left, and the change went on by its journal.
    Resumed {
        /// Which, and where it stood.
        what: String,
    },
    /// It carried traffic under tables that could neither be proved nor mended with a proof, and was rewritten in place.
    Rewritten {
        /// Why not.
        why: String,
    },
}

impl SubnetArrival {
    /// Its name in status and events.
    pub fn name(&self) -> &'static str {
        match self {
            SubnetArrival::Cold => "cold",
            SubnetArrival::Adopted => "adopted",
            SubnetArrival::Recovered { .. } => "recovered",
            SubnetArrival::Resumed { .. } => "resumed",
            SubnetArrival::Rewritten { .. } => "rewritten",
        }
    }

    /// Why nothing less would do.
    pub fn why(&self) -> Option<&str> {
        match self {
            SubnetArrival::Cold | SubnetArrival::Adopted => None,
            SubnetArrival::Recovered { why, .. } | SubnetArrival::Rewritten { why } => Some(why),
            SubnetArrival::Resumed { what } => Some(what),
        }
    }
}

/// A running subnet.
pub(super) struct BroughtUp {
    pub(super) running: Running,
    pub(super) arrival: SubnetArrival,
    /// Who made the routing, if it was computed here.
    pub(super) routed_by: Option<RoutedBy>,
    /// What stands in for the engine that was settled, if anything does.
    pub(super) instead: Option<String>,
    /// What is still to be run before it is up.
    pub(super) pending: Option<Pending>,
}

/// A change that is to be run before a subnet is up.
pub(super) enum Pending {
    /// The way back to one routing.
    Recovery(Prepared),
    /// A change that an earlier manager left.
    Standing(StandingChange),
}

/// Brings up the subnet that a sweep found, as `fabric` with LIDs and lanes settled ([`equip`]). Other managers are answered
/// meanwhile.
pub(super) async fn bring_up<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    found: &Discovered,
    fabric: Fabric,
) -> Result<BroughtUp, SmError> {
    let sm = found.sm_port;
    check_reserved(&fabric, config)?;
    manager.set_topology(&fabric, sm);
    manager.breathe().await?;
    refuse_adaptive(manager, &fabric).await?;
    let fabric = Arc::new(fabric);
    // Compute and prove before any write: if either fails, the subnet stays untouched.
    let routing = computed(manager, config.planning, {
        let (config, fabric) = (config.clone(), fabric.clone());
        move || fallback::routed(&config, &fabric, sm)
    });
    let routing = routing.await??;
    if !installed::carries_traffic(&found.fabric, &found.port_states) {
        let common = common(&fabric, sm, Half::Lower, routing.function.path_layers(), config);
        write(manager, config, &fabric, &common, None, &routing.tables).await?;
        return Ok(brought_up(fabric, sm, routing, SubnetArrival::Cold));
    }
    let top = fabric.max_lid().unwrap_or_default();
    let installed = installed::read(manager, &fabric, &found.port_states, sm, top).await?;
    // What nobody knows cannot be in a proof: who does not say what it holds is left out, if the rest can do without it.
    if let Some(device) = installed.silent.first().filter(|_| manager.can_leave_out(&installed.unread)) {
        return Err(SmError::Unread { device: device.clone() });
    }
    let comparable = comparable(found, &fabric, &installed);
    let judged = computed(manager, config.planning, {
        let (config, fabric, function) = (config.clone(), fabric.clone(), routing.function.clone());
        let (tables, half) = (installed.tables.clone(), installed.half);
        move || {
            let Err(why) = comparable.clone().and_then(|()| adoptable(&fabric, &tables, &config.policy)) else {
                return Ok(());
            };
            let recovery = comparable.and_then(|()| recoverable(&fabric, &tables, half, &config, sm, function));
            Err((why, recovery))
        }
    });
    match judged.await? {
        Ok(()) => {
            // Which source sends by which path cannot be read back, so these tables were proved for every source on
            // every path.
            let common = common(&fabric, sm, installed.half, None, config);
            set_up(manager, config, &fabric, &common).await?;
            let running = running(fabric, sm, installed.tables, 1, None, installed.half);
            Ok(BroughtUp {
                running,
                arrival: SubnetArrival::Adopted,
                routed_by: None,
                instead: routing.instead,
                pending: None,
            })
        }
        Err((why, recovery)) => match recovery {
            Ok(Recovery { prepared, kept, way }) => {
                tracing::warn!(%why, kept = %kept, "the subnet is not adopted as it is, and mended: {}", way.in_words());
                // Who is behind a link and does not answer may send, and passes no token on: nothing passes between it and the
                // rest, or the first barrier would wait for ever (C.5).
                manager.apply_each(&fabric, &Write::links_down(&found.silent)).await?;
                // Age limits too: the first barrier counts by them.
                let common = common(&fabric, sm, kept, None, config);
                set_up(manager, config, &fabric, &common).await?;
                let running = running(fabric, sm, installed.tables, 1, None, kept);
                let arrival = SubnetArrival::Recovered { way, why };
                let instead = routing.instead;
                Ok(BroughtUp { running, arrival, routed_by: None, instead, pending: Some(Pending::Recovery(prepared)) })
            }
            Err(unmended) => {
                let why = format!("{why}; {unmended}");
                if config.takeover == Takeover::Proved {
                    return Err(SmError::Foreign { why });
                }
                // ACTIVE ports stay so, and data flows while entries of both routings are in force: no proof covers this
                // moment (E.6).
                tracing::warn!(%why, "the subnet is REWRITTEN IN PLACE, and nothing proves that moment");
                let common = common(&fabric, sm, Half::Lower, routing.function.path_layers(), config);
                write(manager, config, &fabric, &common, Some(installed.tables), &routing.tables).await?;
                Ok(brought_up(fabric, sm, routing, SubnetArrival::Rewritten { why }))
            }
        },
    }
}

/// Takes up the change that an earlier manager left, as its journal has it, if devices hold what they may hold in its wave.
/// Writes nothing but the state of ports that stayed ARMED, which would hold packets for ever. The fabric has precedence:
/// where it is otherwise, the answer is why.
pub(super) async fn taken_up<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    standing: &Standing,
    planning: Planning,
) -> Result<Result<BroughtUp, String>, SmError> {
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
    let alive = match suits.and_then(|()| change.alive(&found.fabric, found.sm_port)) {
        Ok(alive) => Arc::new(alive),
        Err(why) => return Ok(Err(why)),
    };
    let under_way = change.under_way.plan.clone();
    let plan = under_way.plan();
    let sm = plan.draft().sm;
    manager.set_topology(&alive, sm);
    refuse_adaptive(manager, &alive).await?;
    // What the earlier manager sent last may still be on its way.
    manager.idle(manager.now_ns().saturating_add(manager.timing().smp_lifetime_ns)).await?;
    let states = &plan.tables_at(change.position.wave).port_states;
    let top = plan.draft().before.max_lid().unwrap_or_default();
    let installed = installed::read(manager, &alive, states, sm, top).await?;
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
    let routed: Vec<PortId> = every_port(&alive).into_iter().filter(is_routed).collect();
    activate(manager, &alive, &routed).await?;
    let what = change.in_words();
    let running = change.running(alive);
    let arrival = SubnetArrival::Resumed { what };
    Ok(Ok(BroughtUp { running, arrival, routed_by: None, instead: None, pending: Some(Pending::Standing(change)) }))
}

/// The proved way from the tables of a running subnet to one routing on all lanes (section E of docs/PROTOCOL.md).
fn recoverable(
    fabric: &Arc<Fabric>,
    held: &SubnetTables,
    in_use: Half,
    config: &Config,
    sm: PortId,
    function: RoutingFunction,
) -> Result<Recovery, String> {
    let tables = SubnetTables { port_states: running_states(fabric, held), ..held.clone() };
    let input = RecoveryInput {
        fabric: fabric.clone(),
        tables,
        in_use,
        policy: Policy { sources: MovedBy::of_settle(config.sources.settle_ns()), ..config.policy },
        sm,
        function: Arc::new(function),
    };
    prepare_recovery(&input).map_err(|why| why.to_string())
}

/// Checks that there is a lane for the reserved service level beside two for the halves.
fn check_reserved(fabric: &Fabric, config: &Config) -> Result<(), SmError> {
    let data_vls = Lanes::of_fabric(fabric, None).count();
    match config.policy.reserved_sl {
        Some(sl) if Half::rank(sl) == 0 => Err(SmError::ReservedFirst { sl }),
        Some(sl) if data_vls < 3 => Err(SmError::NoLaneToReserve { sl, data_vls }),
        _ => Ok(()),
    }
}

/// Refuses a subnet in which switches do not send packets where their entries say.
pub(super) async fn refuse_adaptive<T: Transport>(manager: &mut Manager<T>, fabric: &Fabric) -> Result<(), SmError> {
    let adaptive = manager.adaptive_switches().await?;
    match adaptive.split_first() {
        None => Ok(()),
        Some((&first, others)) => Err(SmError::Adaptive { switch: fabric.describe_node(first), others: others.len() }),
    }
}

/// The LMC with which to bring up what was found: that of a subnet that carries traffic, since another LMC would move
/// LIDs under that traffic; the wanted one where nothing flows, or where it is required.
pub(super) fn lmc_to_keep(found: &Discovered, wanted: Lmc, is_required: bool) -> Lmc {
    if is_required || !installed::carries_traffic(&found.fabric, &found.port_states) {
        return wanted;
    }
    let fabric = &found.fabric;
    let addressed = fabric.end_ports().map(|port| fabric.port(port)).filter(|port| port.lid.is_some());
    let Some(held) = addressed.map(|port| port.lmc).min() else { return wanted };
    if held < wanted {
        tracing::warn!(%held, %wanted, "the subnet carries traffic under a lesser LMC, which is kept: with LMC 0 no change can \
            move hosts to other LIDs, so that only changes by forwarding entries alone are made (--lmc to have it changed)");
    }
    held
}

/// The most data VLs with which to bring up what was found: those of a subnet that carries traffic on more than are wanted,
/// since packets stand in them.
pub(super) fn data_vls_to_keep<T: Transport>(manager: &Manager<T>, found: &Discovered, config: &Config) -> u8 {
    let fabric = &found.fabric;
    if config.data_vls_are_required || !installed::carries_traffic(fabric, &found.port_states) {
        return config.data_vls;
    }
    let cabled = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id);
    let held = cabled.filter_map(|port| manager.port_info(port)?.operational_vls.lanes());
    held.min().unwrap_or(0).max(config.data_vls)
}

/// The fabric with its lanes settled and with the LIDs that `assign` gives.
pub(super) fn equip(
    found: &Fabric,
    config: &Config,
    assign: impl FnOnce(&Fabric) -> Result<Fabric, SmError>,
) -> Result<Fabric, SmError> {
    let bring_up = BringUp {
        data_vls: config.data_vls,
        optimised_sl_to_vl: None,
        lmc: config.lmc,
        reserved_sl: config.policy.reserved_sl,
    };
    Ok(bring_up.equip(&assign(found)?)?)
}

fn brought_up(fabric: Arc<Fabric>, sm: PortId, routing: FoundRouting, arrival: SubnetArrival) -> BroughtUp {
    let FoundRouting { function, tables, instead } = routing;
    BroughtUp {
        running: running(fabric, sm, tables, function.layers(), function.path_layers().cloned(), Half::Lower),
        arrival,
        routed_by: Some(function.routed_by()),
        instead,
        pending: None,
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

/// Whether what was read can be compared with anything: the subnet has the wanted LIDs, and every device has reported.
fn comparable(found: &Discovered, fabric: &Fabric, installed: &InstalledTables) -> Result<(), String> {
    if let Some(port) = fabric.lid_ports().find(|&port| {
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

/// Writes everything: settings and ARMED, then tables, then ACTIVE. An ARMED port sends management packets only, so in
/// a cold subnet no data packet meets a table that is half written.
async fn write<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Arc<Fabric>,
    common: &Common,
    held: Option<SubnetTables>,
    wanted: &SubnetTables,
) -> Result<(), SmError> {
    let ports = every_port(fabric);
    configure(manager, config, fabric, &ports, common).await?;
    let writes = computed(manager, config.planning, {
        let (fabric, wanted, steady) =
            (fabric.clone(), wanted.lfts.clone(), common.lanes.steady(config.policy.partition));
        move || writes_between(&fabric, held.as_ref(), &wanted, steady)
    });
    let writes = writes.await?;
    manager.apply_each(fabric, &writes).await?;
    activate(manager, fabric, &ports).await
}

/// Writes the settings of all ports of a subnet that carries traffic, and brings up those that bounced while nobody managed
/// it: the tables in force lead through them, and were proved so. A port that stayed ARMED would hold packets for ever, and
/// no barrier would pass.
async fn set_up<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Fabric,
    common: &Common,
) -> Result<(), SmError> {
    let ports = every_port(fabric);
    configure(manager, config, fabric, &ports, common).await?;
    activate(manager, fabric, &ports).await
}

fn every_port(fabric: &Fabric) -> Vec<PortId> {
    let present = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
    present.flat_map(|node| settings::ports_of(fabric, node)).collect()
}

/// Where the subnet manager is found on a half, and the lanes of the subnet.
pub(super) fn common(
    fabric: &Fabric,
    sm: PortId,
    half: Half,
    ways: Option<&Arc<PathLayers>>,
    config: &Config,
) -> Common {
    let lanes = Lanes::of_fabric(fabric, config.policy.reserved_sl);
    Common { sm, half, ways: ways.cloned(), lanes }
}

/// Writes the settings of ports and switches where they differ, and arms ports in INITIALIZE. Returns ports that let data
/// through before and are ARMED now: their links had to be taken down, since lanes and MTU change only then.
pub(super) async fn configure<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Fabric,
    ports: &[PortId],
    common: &Common,
) -> Result<Vec<PortId>, SmError> {
    let (retrained, ports) = retrain(manager, config, fabric, ports, common).await?;
    let (mut fault, mut fresh) = (None, Vec::new());
    // In parts: a thousand switches have fifty thousand ports, and whoever asks meanwhile does not wait for all of them.
    for part in ports.chunks(REQUESTS_AT_A_TIME) {
        let told = configure_some(manager, config, fabric, part, common, &mut fault).await?;
        fresh.extend(told);
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    // Ports that carry data keep their arbitration lists: only newly armed ports get new ones.
    fair::provide(manager, fabric, &fresh, common.lanes.in_operation()).await?;
    configure_switches(manager, config, fabric, &ports).await?;
    Ok(retrained)
}

/// Writes the settings of some ports, whose PortInfos are known. Returns those in INITIALIZE that were asked to be ARMED, which
/// they are unless there was a fault. The first fault is returned, and all are on record: who is left out is decided once.
async fn configure_some<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Fabric,
    ports: &[PortId],
    common: &Common,
    fault: &mut Option<SmError>,
) -> Result<Vec<PortId>, SmError> {
    let held = known(manager, ports);
    let peer = |port: PortId| fabric.peer(port).and_then(|peer| manager.port_info(peer));
    let mut asks = Vec::new();
    let mut asked = Vec::new();
    for (&port, held) in ports.iter().zip(&held) {
        // One `Set` carries settings and ARMED: PortInfo is written whole, and a second `Set` would be built from a
        // stale reading.
        let mut wanted = settings::port(fabric, port, held, peer(port), common, config);
        let arm = held.port_state == wire::PortState::Initialize && fabric.peer(port).is_some();
        if arm {
            wanted.port_state = wire::PortState::Armed;
        }
        if arm || settings::difference(held, &wanted).is_some() {
            let place = RequestTarget::Port(port);
            asks.push(Ask::set(place, AttributeId::PortInfo, number(fabric, port), wanted.encode()));
            asked.push((port, wanted));
        }
    }
    let told = manager.ask(asks).await?;
    let (mut refused, mut failing) = (Vec::new(), BTreeSet::new());
    for (at, told) in told.into_iter().enumerate() {
        match told {
            Ok(data) => {
                let (port, wanted) = &asked[at];
                let fails = check_taken(manager, fabric, *port, wanted, &PortInfo::decode(&data));
                failing.extend(fails.is_some().then_some(fabric.port(*port).node));
                keep_first(fault, fails);
            }
            // If a `Set` was duplicated and the first copy applied, the second is refused, since only INITIALIZE may
            // become ARMED. So a refused port is read back.
            Err(SubnetError::Refused { .. }) => refused.push(at),
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(error) => {
                failing.insert(fabric.port(asked[at].0).node);
                keep_first(fault, Some(error.into()));
            }
        }
    }
    let mut rightly = BTreeSet::new();
    let again =
        |&at: &usize| Ask::get(RequestTarget::Port(asked[at].0), AttributeId::PortInfo, number(fabric, asked[at].0));
    for (&at, told) in refused.iter().zip(manager.ask(refused.iter().map(again).collect()).await?) {
        let (port, wanted) = &asked[at];
        match told {
            Ok(data) => {
                let (holds, node) = (PortInfo::decode(&data), fabric.port(*port).node);
                let fails = check_taken(manager, fabric, *port, wanted, &holds);
                // The link went meanwhile, or an earlier copy was applied: the device does not fail at it.
                let is_right =
                    holds.port_state == wire::PortState::Down || settings::difference(&holds, wanted).is_none();
                if fails.is_none() && is_right { &mut rightly } else { &mut failing }.insert(node);
                keep_first(fault, fails);
            }
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(error) => {
                failing.insert(fabric.port(*port).node);
                keep_first(fault, Some(error.into()));
            }
        }
    }
    rightly.difference(&failing).for_each(|&node| manager.refused_rightly(node, AttributeId::PortInfo));
    let armed = asked.into_iter().filter(|(_, wanted)| wanted.port_state == wire::PortState::Armed);
    Ok(armed.map(|(port, _)| port).collect())
}

fn keep_first<E>(first: &mut Option<E>, next: Option<E>) {
    if first.is_none() {
        *first = next;
    }
}

/// Takes down links whose ACTIVE ports need other lanes or another MTU. Returns their ports, and `ports` with them.
async fn retrain<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Fabric,
    ports: &[PortId],
    common: &Common,
) -> Result<(Vec<PortId>, Vec<PortId>), SmError> {
    let mut links = BTreeSet::new();
    // All first: a port is compared with its peer, which may be in another part.
    read_unknown(manager, fabric, ports).await?;
    for part in ports.chunks(REQUESTS_AT_A_TIME) {
        manager.breathe().await?;
        let held = known(manager, part);
        let peer = |port: PortId| fabric.peer(port).and_then(|peer| manager.port_info(peer));
        let needs = |(port, held): &(&PortId, &PortInfo)| {
            let wanted = settings::port(fabric, **port, held, peer(**port), common, config);
            settings::must_retrain(held, &wanted)
        };
        // Of both ends, the one that is nearer: its answer does not come back over the link.
        let near = |port: PortId| match fabric.peer(port) {
            Some(far) if manager.distance(fabric.port(far).node) < manager.distance(fabric.port(port).node) => far,
            _ => port,
        };
        links.extend(part.iter().zip(&held).filter(needs).map(|(&port, _)| near(port)));
    }
    if links.is_empty() {
        return Ok((Vec::new(), ports.to_vec()));
    }
    tracing::warn!(
        links = links.len(),
        "links are taken down: their lanes or their MTU do not suffice, and change only so"
    );
    manager.apply_each(fabric, &Write::links_down(&links)).await?;
    let ends: Vec<PortId> = links.iter().flat_map(|&port| [Some(port), fabric.peer(port)]).flatten().collect();
    for _ in 0..TRAINING {
        let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::PortInfo, number(fabric, port));
        let told = manager.ask(ends.iter().map(ask).collect()).await?;
        let trained = |told: &AskResult| match told {
            Ok(data) => PortInfo::decode(data).port_state == wire::PortState::Initialize,
            Err(_) => false,
        };
        if told.iter().all(trained) {
            break;
        }
        manager.idle(manager.now_ns().saturating_add(TRAINING_POLL_NS)).await?;
    }
    let more = ends.iter().copied().filter(|end| !ports.contains(end));
    let all = ports.iter().copied().chain(more).collect();
    Ok((ends, all))
}

/// What a port needs to carry traffic and has not accepted, if anything; that is on record then.
fn check_taken<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    port: PortId,
    wanted: &PortInfo,
    answered: &PortInfo,
) -> Option<SmError> {
    let unarmed = wanted.port_state == wire::PortState::Armed && answered.port_state == wire::PortState::Initialize;
    let essential = || settings::essential(answered, wanted).filter(|_| is_essential(fabric, port, wanted));
    let setting = if unarmed { "state ARMED" } else { essential()? };
    let node = fabric.port(port).node;
    manager.device_fails(node, AttributeId::PortInfo, Method::Set, FailingAs::HoldsOther, true);
    Some(SmError::NotTaken { port: fabric.describe_port(port), setting })
}

/// Whether a port needs an address and lanes of its own; external ports of a switch have no address.
fn is_essential(fabric: &Fabric, port: PortId, wanted: &PortInfo) -> bool {
    let owner = fabric.port(port);
    !fabric.node(owner.node).is_switch() || (owner.num == PortNum::ZERO && wanted.lid != Lid(0))
}

/// Reads what is not known of these ports.
async fn read_unknown<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let unknown: Vec<PortId> = ports.iter().copied().filter(|&port| manager.port_info(port).is_none()).collect();
    let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::PortInfo, number(fabric, port));
    for told in manager.ask(unknown.iter().map(ask).collect()).await? {
        told?;
    }
    Ok(())
}

fn known<T: Transport>(manager: &Manager<T>, ports: &[PortId]) -> Vec<PortInfo> {
    ports.iter().map(|&port| manager.port_info(port).cloned().unwrap_or_default()).collect()
}

async fn configure_switches<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let top = fabric.max_lid().unwrap_or_default();
    let own = ports.iter().filter(|&&port| fabric.port(port).num == PortNum::ZERO);
    let switches: Vec<_> = own.map(|&port| fabric.port(port).node).collect();
    let get = |&switch| Ask::get(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0);
    let told = manager.ask(switches.iter().map(get).collect()).await?;
    let (mut asks, mut asked) = (Vec::new(), Vec::new());
    for (&switch, told) in switches.iter().zip(told) {
        let held = SwitchInfo::decode(&*told?);
        let wanted = settings::switch(&held, top, config);
        if settings::switch_differs(&held, &wanted) {
            asks.push(Ask::set(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0, wanted.encode()));
            asked.push((switch, held));
        }
    }
    let mut fault = None;
    for ((switch, held), told) in asked.into_iter().zip(manager.ask(asks).await?) {
        let holds = match told {
            Ok(data) => SwitchInfo::decode(&data),
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(_) => held,
        };
        // A switch forwards nothing to LIDs above its top. How long it keeps packets is read before anything rests on it.
        if holds.linear_fdb_top < top {
            manager.device_fails(switch, AttributeId::SwitchInfo, Method::Set, FailingAs::HoldsOther, true);
            let port = fabric.describe_node(switch);
            fault.get_or_insert(SmError::NotTaken { port, setting: "LinearFDBTop" });
        } else if holds.life_time_value != config.limits.life_time_value {
            manager.device_fails(switch, AttributeId::SwitchInfo, Method::Set, FailingAs::HoldsOther, false);
        }
    }
    fault.map_or(Ok(()), Err)
}

/// Brings every cabled port from ARMED to ACTIVE. The far end of a cable may become ACTIVE by itself as soon as the
/// near end sends.
async fn activate<T: Transport>(manager: &mut Manager<T>, fabric: &Fabric, ports: &[PortId]) -> Result<(), SmError> {
    let armed = |&&port: &&PortId| {
        let state = manager.port_info(port).map(|info| info.port_state);
        fabric.peer(port).is_some() && state == Some(wire::PortState::Armed)
    };
    let armed: Vec<PortId> = ports.iter().filter(armed).copied().collect();
    let writes = armed.into_iter().map(|port| Write::PortState { port, state: PortState::Active });
    manager.apply_each(fabric, &writes.collect::<Vec<_>>()).await?;
    Ok(())
}

fn number(fabric: &Fabric, port: PortId) -> u32 {
    u32::from(fabric.port(port).num.0)
}
