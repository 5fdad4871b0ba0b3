//! Sets up ports and switches: writes the settings that differ from the wanted ones, then ARMED, then ACTIVE.
//!
//! A device that fails at a setting is recorded, and the rest is set up nevertheless: the decision which devices are
//! left out is made once, at the end. A device that cannot be read ends the attempt: nothing is known of what it needs,
//! and the next one leaves it out.

use super::error::SmError;
use super::port_needs;
use super::settings::{self, Basis};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum};
use crate::subnet::{
    Ask, AskResult, FailingAs, Manager, REQUESTS_AT_A_TIME, RequestTarget, SubnetError, SubnetManager,
};
use crate::tables::{PortState, Write};
use crate::transport::Transport;
use crate::wire::{self, AttributeId, Method, PortInfo, SwitchInfo};
use std::collections::BTreeSet;

/// How often a link that was taken down is looked at while it trains, and the pause between two looks. One that has
/// not trained by then stays in DOWN: only ports in INITIALIZE are armed, and the next sweep finds it.
const MOST_LOOKS: usize = 100;
const TRAINING_POLL_NS: u64 = 50_000_000;

/// The outcome for ports whose settings were written.
#[derive(Default)]
struct PortsSetUp {
    /// Those in INITIALIZE that were asked to be ARMED, which they are unless there was a fault or their link bounced.
    armed: Vec<PortId>,
    /// Ports that are still in INITIALIZE although they were asked to be ARMED.
    unarmed: Vec<PortId>,
    /// The first fault.
    fault: Option<SmError>,
    /// Devices that failed, or that hold other values after all.
    failing: BTreeSet<NodeId>,
}

impl PortsSetUp {
    /// Judges a port's answer and records what is wrong with it. Returns the port's PortInfo if it suffices to carry
    /// traffic.
    ///
    /// # Errors
    /// No device can be asked any more.
    fn judge<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        fabric: &Fabric,
        (port, wanted): &(PortId, PortInfo),
        answer: AskResult,
    ) -> Result<Option<PortInfo>, SmError> {
        let fails = match answer {
            Ok(data) => {
                let holds = PortInfo::decode(&data);
                if wanted.port_state == wire::PortState::Armed && holds.port_state == wire::PortState::Initialize {
                    self.unarmed.push(*port);
                    return Ok(None);
                }
                match check_taken(manager, fabric, *port, wanted, &holds) {
                    Some(fails) => fails,
                    None => return Ok(Some(holds)),
                }
            }
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(error) => error.into(),
        };
        self.failing.insert(fabric.port(*port).node);
        self.fault.get_or_insert(fails);
        Ok(None)
    }
}

/// Writes the settings of all ports of a subnet that carries traffic, and brings up those that bounced while no manager
/// managed it: the tables in force lead through them, and were proved so. A port that stayed ARMED would hold packets
/// for ever, and no barrier would pass.
pub(super) async fn everything<T: Transport>(manager: &mut Manager<T>, basis: &Basis<'_>) -> Result<(), SmError> {
    let ports = every_port(basis.fabric);
    configure(manager, basis, &ports).await?;
    activate(manager, basis.fabric, &ports).await
}

/// Every port that is to be set up.
pub(super) fn every_port(fabric: &Fabric) -> Vec<PortId> {
    let present = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
    present.flat_map(|node| settings::ports_of(fabric, node)).collect()
}

/// Whether a port is known to be in INITIALIZE or ARMED.
pub(super) fn awaits(info: Option<&PortInfo>) -> bool {
    matches!(info.map(|info| info.port_state), Some(wire::PortState::Initialize | wire::PortState::Armed))
}

/// Writes the settings of ports and switches where they differ, and arms ports in INITIALIZE. Links whose lanes or MTU
/// do not suffice are taken down first, and both their ends are ARMED then.
pub(super) async fn configure<T: Transport>(
    manager: &mut Manager<T>,
    basis: &Basis<'_>,
    ports: &[PortId],
) -> Result<(), SmError> {
    let ports = retrain(manager, basis, ports).await?;
    let (mut fault, mut fresh) = (None, Vec::new());
    // In batches: a thousand switches have fifty thousand ports, and incoming requests must not wait for all of them.
    for part in ports.chunks(REQUESTS_AT_A_TIME) {
        let part = configure_some(manager, basis, part).await?;
        fault = fault.or(part.fault);
        fresh.extend(part.armed);
    }
    // Ports that carry data keep their arbitration lists: only newly armed ports get new ones. A switch's own port is
    // never armed, but may have lost its partitions.
    fresh.extend(ports.iter().copied().filter(|&port| basis.fabric.port(port).num == PortNum::ZERO));
    let arbitration = port_needs::provide(manager, basis.fabric, &fresh, basis.lanes.in_operation()).await;
    let switches = configure_switches(manager, basis, &ports).await;
    let faults = [fault.map_or(Ok(()), Err), arbitration, switches].into_iter().filter_map(Result::err);
    // The manager's own port comes first, then the order in which they were met.
    faults.min_by_key(|fault| !fault.is_fatal()).map_or(Ok(()), Err)
}

/// Writes the settings of some ports, whose PortInfos are known.
async fn configure_some<T: Transport>(
    manager: &mut Manager<T>,
    basis: &Basis<'_>,
    ports: &[PortId],
) -> Result<PortsSetUp, SmError> {
    let fabric = basis.fabric;
    let asked = differing(manager, basis, ports);
    let write = |(port, wanted): &(PortId, PortInfo)| {
        Ask::set(RequestTarget::Port(*port), AttributeId::PortInfo, number(fabric, *port), wanted.encode())
    };
    let answers = manager.ask(asked.iter().map(write).collect()).await?;
    let mut done = PortsSetUp::default();
    let mut refused = Vec::new();
    for (asked, answer) in asked.iter().zip(answers) {
        // If a `Set` was duplicated and the first copy applied, the second is refused, since only INITIALIZE may
        // become ARMED. So a refused port is read back.
        if let Err(SubnetError::Refused { .. }) = answer {
            refused.push(asked);
        } else {
            done.judge(manager, fabric, asked, answer)?;
        }
    }
    let mut rightly = BTreeSet::new();
    let answers = manager.ask(refused.iter().map(|(port, _)| reading(fabric, *port)).collect()).await?;
    for (asked, answer) in refused.into_iter().zip(answers) {
        let Some(holds) = done.judge(manager, fabric, asked, answer)? else { continue };
        let (port, wanted) = asked;
        // The link went meanwhile, or an earlier copy was applied: the device does not fail at it.
        let is_right = holds.port_state == wire::PortState::Down || settings::difference(&holds, wanted).is_none();
        if is_right { &mut rightly } else { &mut done.failing }.insert(fabric.port(*port).node);
    }
    // A port whose link went down and came back is in INITIALIZE too: it waits for the next look.
    let bounced = manager.with_changed_link(fabric, done.unarmed.clone()).await?;
    for port in std::mem::take(&mut done.unarmed) {
        if bounced.contains(&port) {
            tracing::warn!(port = fabric.describe_port(port), "a link bounced while its port was set up");
            rightly.insert(fabric.port(port).node);
            continue;
        }
        let node = fabric.port(port).node;
        manager.port_fails(fabric, port);
        done.failing.insert(node);
        done.fault.get_or_insert(not_taken(fabric, port, "state ARMED"));
    }
    rightly.difference(&done.failing).for_each(|&node| manager.excuse_refusal(node, AttributeId::PortInfo));
    let armed = asked.into_iter().filter(|(_, wanted)| wanted.port_state == wire::PortState::Armed);
    done.armed = armed.map(|(port, _)| port).filter(|port| !bounced.contains(port)).collect();
    Ok(done)
}

/// The ports that are not as they are to be, with their wanted PortInfos. One `Set` carries settings and ARMED:
/// PortInfo is written whole, and a second `Set` would be built from a stale reading.
fn differing<T: Transport>(manager: &Manager<T>, basis: &Basis<'_>, ports: &[PortId]) -> Vec<(PortId, PortInfo)> {
    let wanted = |(&port, held): (&PortId, PortInfo)| {
        let mut wanted = wanted(manager, basis, port, &held);
        let arm = held.port_state == wire::PortState::Initialize && basis.fabric.peer(port).is_some();
        if arm {
            wanted.port_state = wire::PortState::Armed;
        }
        (arm || settings::difference(&held, &wanted).is_some()).then_some((port, wanted))
    };
    ports.iter().zip(known(manager, ports)).filter_map(wanted).collect()
}

fn wanted<T: Transport>(manager: &Manager<T>, basis: &Basis<'_>, port: PortId, held: &PortInfo) -> PortInfo {
    settings::port(basis, port, held, basis.fabric.peer(port).and_then(|peer| manager.port_info(peer)))
}

/// Takes down links whose ACTIVE ports need other lanes or another MTU. Returns `ports`, and both ends of each.
async fn retrain<T: Transport>(
    manager: &mut Manager<T>,
    basis: &Basis<'_>,
    ports: &[PortId],
) -> Result<Vec<PortId>, SmError> {
    let fabric = basis.fabric;
    let mut links = BTreeSet::new();
    // All ports are read first: a port is compared with its peer, which may be in another part.
    read_unknown(manager, fabric, ports).await?;
    for part in ports.chunks(REQUESTS_AT_A_TIME) {
        manager.serve_waiting().await?;
        let held = known(manager, part);
        let needs =
            |(port, held): &(&PortId, &PortInfo)| settings::must_retrain(held, &wanted(manager, basis, **port, held));
        // The nearer end is asked: its answer does not come back over the link.
        let near = |port: PortId| match fabric.peer(port) {
            Some(far) if manager.distance(fabric.port(far).node) < manager.distance(fabric.port(port).node) => far,
            _ => port,
        };
        links.extend(part.iter().zip(&held).filter(needs).map(|(&port, _)| near(port)));
    }
    if links.is_empty() {
        return Ok(ports.to_vec());
    }
    tracing::warn!(
        links = links.len(),
        "links are taken down: their lanes or their MTU do not suffice, and change only while a link is down"
    );
    manager.apply_each(fabric, &Write::links_down(&links)).await?;
    let ends: Vec<PortId> = links.iter().flat_map(|&port| [Some(port), fabric.peer(port)]).flatten().collect();
    for _ in 0..MOST_LOOKS {
        let answers = manager.ask(ends.iter().map(|&port| reading(fabric, port)).collect()).await?;
        let trained = |answer: &AskResult| match answer {
            Ok(data) => PortInfo::decode(data).port_state == wire::PortState::Initialize,
            Err(_) => false,
        };
        if answers.iter().all(trained) {
            break;
        }
        manager.idle(manager.now_ns().saturating_add(TRAINING_POLL_NS)).await?;
    }
    let more = ends.into_iter().filter(|end| !ports.contains(end));
    Ok(ports.iter().copied().chain(more).collect())
}

/// The error if a port has not accepted what it needs to carry traffic. The failure is then on record.
fn check_taken<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    port: PortId,
    wanted: &PortInfo,
    answered: &PortInfo,
) -> Option<SmError> {
    let setting = settings::essential(answered, wanted).filter(|_| is_essential(fabric, port, wanted))?;
    manager.port_fails(fabric, port);
    Some(not_taken(fabric, port, setting))
}

fn not_taken(fabric: &Fabric, port: PortId, setting: &'static str) -> SmError {
    SmError::NotTaken { port: fabric.describe_port(port), setting }
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
    let unknown = ports.iter().copied().filter(|&port| manager.port_info(port).is_none());
    let asks = unknown.map(|port| reading(fabric, port)).collect();
    for answer in manager.ask(asks).await? {
        answer?;
    }
    Ok(())
}

fn known<T: Transport>(manager: &Manager<T>, ports: &[PortId]) -> Vec<PortInfo> {
    ports.iter().map(|&port| manager.port_info(port).cloned().unwrap_or_default()).collect()
}

async fn configure_switches<T: Transport>(
    manager: &mut Manager<T>,
    basis: &Basis<'_>,
    ports: &[PortId],
) -> Result<(), SmError> {
    let Basis { config, fabric, .. } = *basis;
    let top = fabric.max_lid().unwrap_or_default();
    let own = ports.iter().filter(|&&port| fabric.port(port).num == PortNum::ZERO);
    let switches: Vec<_> = own.map(|&port| fabric.port(port).node).collect();
    let get = |&switch| Ask::get(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0);
    let answers = manager.ask(switches.iter().map(get).collect()).await?;
    let (mut asks, mut asked) = (Vec::new(), Vec::new());
    for (&switch, answer) in switches.iter().zip(answers) {
        let held = SwitchInfo::decode(&*answer?);
        let wanted = settings::switch(&held, top, config);
        if settings::switch_differs(&held, &wanted) {
            asks.push(Ask::set(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0, wanted.encode()));
            asked.push((switch, held));
        }
    }
    let mut fault = None;
    for ((switch, held), answer) in asked.into_iter().zip(manager.ask(asks).await?) {
        let holds = match answer {
            Ok(data) => SwitchInfo::decode(&data),
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(_) => held,
        };
        // A switch forwards nothing to LIDs above its top. How long it keeps packets is read before anything rests on
        // it.
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

/// Brings every cabled port from ARMED to ACTIVE: those of switches, and only then end ports, which send as soon as
/// they may, and are asked to register again in the same `Set`. The far end of a cable may become ACTIVE by itself as
/// soon as the near end sends.
pub(super) async fn activate<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let armed = |&&port: &&PortId| {
        let state = manager.port_info(port).map(|info| info.port_state);
        fabric.peer(port).is_some() && state == Some(wire::PortState::Armed)
    };
    let armed: Vec<PortId> = ports.iter().filter(armed).copied().collect();
    let is_of_switch = |port: &PortId| fabric.node(fabric.port(*port).node).is_switch();
    let (of_switches, ends): (Vec<PortId>, Vec<PortId>) = armed.into_iter().partition(is_of_switch);
    let mut fault = None;
    for ports in [of_switches, ends] {
        let writes: Vec<Write> =
            ports.into_iter().map(|port| Write::PortState { port, state: PortState::Active }).collect();
        match manager.apply_each(fabric, &writes).await {
            Ok(_) => {}
            Err(error) if error.is_fatal() => return Err(error.into()),
            // The other ports still become ACTIVE.
            Err(error) => _ = fault.get_or_insert(error),
        }
    }
    fault.map_or(Ok(()), |error| Err(error.into()))
}

fn reading(fabric: &Fabric, port: PortId) -> Ask {
    Ask::get(RequestTarget::Port(port), AttributeId::PortInfo, number(fabric, port))
}

fn number(fabric: &Fabric, port: PortId) -> u32 {
    u32::from(fabric.port(port).num.0)
}
