//! How newcomers are brought in between two changes: they get LIDs and settings, and their ports are ARMED; the change
//! that follows makes these ACTIVE.
//!
//! On entry: a sweep that found them, and nothing that is lost. On return: a larger known fabric, with everything
//! prepared for that change (section G of docs/PROTOCOL.md). Deliberately omitted: the change.

use super::bring_up;
use super::context::Context;
use super::error::SmError;
use super::partitions;
use super::set_up;
use super::settings::Basis;
use super::unfit;
use super::upkeep::Upkeep;
use crate::driver::{Running, Sighting};
use crate::fabric::{Fabric, NodeId, PortId, difference};
use crate::ids::{PortMask, PortName, PortNum};
use crate::plan::{self, Lanes};
use crate::subnet::SubnetManager;
use crate::tables::Lft;
use crate::transport::Transport;
use crate::wire::{self, AttributeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl<T: Transport> Upkeep<T> {
    /// Merges newcomers into the known fabric and assigns their LIDs. Those that do not fit are left for later.
    pub(super) async fn admit(&mut self, context: &mut Context, sighting: &Sighting) -> Result<(), SmError> {
        let (found, sm) = (&sighting.discovered.fabric, sighting.discovered.sm_port);
        let known = without_recabled(&self.driver.running().known, found);
        // G.7: the SL-to-VL tables in force use lanes that a newcomer with fewer VLs lacks.
        let in_use = Lanes::of_fabric(&self.driver.running().routed, None).count();
        let (mut rest, newcomers) = unfit::fitting(&known, (&sighting.usable(), sm), in_use);
        let mut unfit = unfit::lesser(sighting);
        unfit.extend(newcomers);
        let lmc = context.config.lmc;
        let whole = loop {
            if difference::recognise(&known, &rest).stranger.is_none() {
                break None;
            }
            let union = difference::union(&known, &rest)?;
            let assign = |fabric: &Fabric| (context.assign)(fabric, lmc, &BTreeSet::new());
            let error = match bring_up::equip(&union.fabric, &context.config, assign) {
                Ok(whole) => break Some(whole),
                Err(error) => error,
            };
            let SmError::Lids(lacking) = &error else { return Err(error) };
            let Some((fewer, out)) = unfit::without_room(&known, &union.fabric, lacking, (&rest, sm)) else {
                return Err(error);
            };
            rest = fewer;
            unfit.extend(out);
        };
        self.driver.subnet_mut().manager.set_unfit(unfit::parted(unfit, &rest));
        let Some(whole) = whole else { return Ok(()) };
        // Stored before anything is written: a LID once assigned must not go to another device.
        context.keep_lids(&whole);
        self.driver.widen(Arc::new(whole));
        // The last sweep was matched with the smaller fabric and shows no newcomer.
        self.driver.look().await?;
        Ok(())
    }

    /// Writes the settings of everything that is not yet up, and makes room in all switches for new LIDs.
    pub(super) async fn set_up_newcomers(&mut self, context: &Context) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        // A cable to what is set aside would stay ARMED, and what is set aside may still send into it: there its
        // packets would stand for ever.
        let used = self.aside.out_of(&running.alive);
        let manager = &mut self.driver.subnet_mut().manager;
        let down = ports_to_set_up(&used, |port| manager.port_info(port));
        self.lead_nothing_into(&running, &down).await?;
        let manager = &mut self.driver.subnet_mut().manager;
        set_up::configure(manager, &Basis::of(&running, &context.config), &down).await?;
        // Tables of newcomers that another manager has brought up.
        partitions::read_unknown(manager, &running.alive).await
    }

    /// Takes entries out of the tables in force that lead into some ports, or out of their far ends (G.1). A switch
    /// that does not take this serves everything else as before, so it is not left out.
    async fn lead_nothing_into(&mut self, running: &Running, ports: &[PortId]) -> Result<(), SmError> {
        let Some(mut lfts) = without_entries_into(running, ports) else { return Ok(()) };
        let fabric = &running.alive;
        let manager = &mut self.driver.subnet_mut().manager;
        let began_ns = manager.now_ns();
        let writes = plan::entries_between(fabric, Some(&running.tables.lfts), &lfts);
        match manager.apply_each(fabric, &writes).await {
            Ok(_) => {}
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "entries that lead to what comes are left");
                let refusing = manager.refusing_since(began_ns, AttributeId::LinearForwardingTable);
                for switch in refusing.into_iter().filter_map(|device| fabric.by_guid(device)) {
                    manager.excuse_refusal(switch, AttributeId::LinearForwardingTable);
                    // Of several blocks it may have taken some. What is recorded as taken out is written again by the
                    // change that needs it.
                    if writes.iter().filter(|write| write.node(fabric) == Some(switch)).count() == 1 {
                        lfts[switch.index()] = running.tables.lfts[switch.index()].clone();
                    }
                }
            }
        }
        self.driver.record_tables(lfts, running.both_halves);
        // The routing is the same, and so is what is proved of it: a loss is to find the new basis.
        self.driver.ready();
        self.publish();
        Ok(())
    }
}

/// The known fabric without the cables of ports that were found cabled to another peer.
fn without_recabled(known: &Fabric, found: &Fabric) -> Fabric {
    let there = |port: PortName| {
        let port = found.port_named(port).filter(|&port| found.node(found.port(port).node).present)?;
        found.peer(port).map(|peer| found.port_name(peer))
    };
    // A device that was not found disproves nothing: its cables stay known.
    let moved = |&(a, b): &(PortId, PortId)| {
        let (at_a, at_b) = (known.port_name(a), known.port_name(b));
        there(at_a).is_some_and(|peer| peer != at_b) || there(at_b).is_some_and(|peer| peer != at_a)
    };
    let gone: Vec<PortId> = known.links().filter(moved).map(|(a, _)| a).collect();
    known.without_links(&gone)
}

/// Cabled ports in INITIALIZE or ARMED, and every port with a LID of its own.
fn ports_to_set_up<'a>(fabric: &Fabric, info: impl Fn(PortId) -> Option<&'a wire::PortInfo>) -> Vec<PortId> {
    let owns = |port: PortId| {
        let at = fabric.port(port);
        let node = fabric.node(at.node);
        node.present && node.is_switch() && at.num == PortNum::ZERO
    };
    let cabled = |port: PortId| fabric.peer(port).is_some() && set_up::awaits(info(port));
    fabric.ports().map(|(id, _)| id).filter(|&id| cabled(id) || owns(id)).collect()
}

/// The tables in force without entries that lead into some ports, or out of their far ends, over cables that the
/// routing does not use; `None` if there are none. LIDs keep their rows while their device is away, and adopted tables
/// have rows for more than is used. Packets meet the same fate without them as they did while the port was down. Before
/// an ARMED port they would stand, and no token would pass them.
fn without_entries_into(running: &Running, ports: &[PortId]) -> Option<Vec<Arc<Lft>>> {
    let mut unused: BTreeMap<NodeId, PortMask> = BTreeMap::new();
    // A port may read ACTIVE while the link has come anew, as its far end shows.
    for port in ports.iter().flat_map(|&port| [Some(port), running.alive.peer(port)]).flatten() {
        let at = running.alive.port(port);
        // The tables of what is not routed yet are written whole.
        if at.num != PortNum::ZERO && running.routed.node(at.node).present && running.routed.peer(port).is_none() {
            unused.entry(at.node).or_default().insert(at.num);
        }
    }
    let mut lfts = running.tables.lfts.clone();
    let mut has_some = false;
    for (switch, unused) in unused {
        let table = lfts[switch.index()].clone();
        for (lid, _) in table.routes().filter(|&(_, output)| unused.contains(output)) {
            Arc::make_mut(&mut lfts[switch.index()]).set(lid, PortNum::NO_ROUTE);
            has_some = true;
        }
    }
    has_some.then_some(lfts)
}
