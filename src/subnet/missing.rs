//! Devices that do not answer although their links are up: searches for them again at each such link.
//!
//! A device that is silent in all sweeps counts as gone, and its links are taken down (C.5). They train again to
//! INITIALIZE, in which they carry subnet management but no data, so the device can be asked as before. No trap reports
//! that an agent answers again, and light sweeps ask only known switches; so the device is asked after ten seconds, and
//! then after pauses that grow to a minute. Deliberately omitted: bringing it in, which is left to the sweep that
//! follows.

use super::SubnetError;
use super::exchange::{Exchange, MadData, MadRequest};
use super::manager::{Manager, answered_or_failed};
use super::paths::{DirectedPath, MOST_HOPS};
use super::retrial::{FIRST_PAUSE_NS, Retrial};
use super::sweep::Sweep;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, PortName};
use crate::transport::Transport;
use crate::wire::{self, AttributeId, PortInfo};
use std::collections::BTreeMap;

/// The longest pause between two requests to a device that failed at them.
pub(super) const LONGEST_PAUSE_NS: u64 = 60_000_000_000;

/// A link that is up, and behind which no device answers as it must.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingDevice {
    /// The device and its name, if it was ever known.
    pub device: Option<(Guid, String)>,
    /// The near end of the link.
    pub near: PortName,
    /// The near end of the link, by name.
    pub place: String,
    /// Since when, in nanoseconds of the transport's clock.
    pub since_ns: u64,
    /// When the link was last found up.
    last_ns: u64,
    retrial: Retrial,
}

/// Missing devices, by the near end of their links.
pub(super) type MissingDevices = BTreeMap<PortName, MissingDevice>;

impl<T: Transport> Manager<T> {
    /// Devices behind links that are up which do not answer as they must; by each of their links.
    pub fn missing(&self) -> impl Iterator<Item = &MissingDevice> {
        self.missing.values()
    }

    /// Records behind which links a sweep had no answer.
    pub(super) fn swept_for_missing(&mut self, sweep: &Sweep) {
        let now_ns = self.transport.now_ns();
        let mute = sweep.unanswered_ports();
        self.missing.retain(|near, missing| {
            // A link that was taken down takes a moment to train. A device that is used was silent only where it was
            // asked through what died meanwhile: its other end, or what was on the way to it.
            let trains = sweep.is_gone(*near) && now_ns < missing.last_ns.saturating_add(FIRST_PAUSE_NS);
            let is_used = missing.device.as_ref().is_some_and(|(device, _)| sweep.uses(*device));
            mute.contains_key(near) || trains && !is_used
        });
        for (near, met) in mute {
            let fabric = self.topology.as_ref().map(|topology| &topology.fabric);
            let port = fabric.and_then(|fabric| Some((fabric, fabric.port_named(near)?)));
            let place = port.map_or_else(|| near.to_string(), |(of, port)| of.describe_port(port));
            let known = |(of, port): (&Fabric, PortId)| {
                let node = of.neighbour(port)?;
                Some((of.node(node).guid, of.describe_node(node)))
            };
            let device = met.or_else(|| port.and_then(known));
            let new = || MissingDevice {
                device: None,
                near,
                place,
                since_ns: now_ns,
                last_ns: now_ns,
                retrial: Retrial::from(now_ns),
            };
            let missing = self.missing.entry(near).or_insert_with(new);
            missing.last_ns = now_ns;
            missing.device = device.or(missing.device.take());
        }
    }

    /// Whether a missing device is to be asked again.
    pub(super) fn is_missing_due(&self) -> bool {
        let now_ns = self.transport.now_ns();
        self.missing.values().any(|missing| missing.retrial.is_due(now_ns))
    }

    /// Asks the missing devices that are due, each request once. Returns whether one answers everything that it failed
    /// at before.
    pub(super) async fn look_for_missing(&mut self) -> Result<bool, SubnetError> {
        let now_ns = self.transport.now_ns();
        let mut asked = Vec::new();
        for missing in self.missing.values_mut().filter(|missing| missing.retrial.is_due(now_ns)) {
            missing.retrial = missing.retrial.next(now_ns, LONGEST_PAUSE_NS);
            asked.push(missing.clone());
        }
        let near_and_far = |missing: &MissingDevice| {
            let topology = self.topology.as_ref()?;
            let near = topology.fabric.by_guid(missing.near.guid)?;
            let path = topology.paths.to_node(&topology.fabric, near)?;
            (path.hops().len() < MOST_HOPS).then(|| (path.clone(), path.through(missing.near.num)))
        };
        let ways: Vec<Option<(DirectedPath, DirectedPath)>> = asked.iter().map(near_and_far).collect();
        let mut exchange = Exchange::of_one_round(self.timing);
        // By rank: how many requests to the device are still unanswered.
        let mut open = vec![0_usize; asked.len()];
        for (rank, (missing, way)) in asked.iter().zip(&ways).enumerate() {
            let Some((near, far)) = way else { continue };
            let at_near = (near, AttributeId::PortInfo, u32::from(missing.near.num.0));
            let device = missing.device.as_ref().map(|(device, _)| *device);
            let failed = device.into_iter().flat_map(|device| self.health.questions_failed(device));
            let at_far = std::iter::once((AttributeId::NodeInfo, 0)).chain(failed);
            let at_far: Vec<_> = at_far.map(|(attribute, modifier)| (far, attribute, modifier)).collect();
            open[rank] = at_far.len();
            for (turn, (path, attribute, modifier)) in std::iter::once(at_near).chain(at_far).enumerate() {
                let tag = (rank as u64) << 32 | turn as u64;
                exchange.submit_once(MadRequest::get(rank as u32, tag, path.clone(), attribute, modifier));
            }
        }
        let mut has_no_link = vec![false; asked.len()];
        let on = |_: &mut Exchange, done| {
            let Ok((request, answer)) = answered_or_failed(done) else { return };
            let rank = request.queue as usize;
            match (request.tag as u32, answer.data) {
                (0, MadData::Smp(_, data)) => {
                    has_no_link[rank] = PortInfo::decode(&data).port_state == wire::PortState::Down;
                }
                _ => open[rank] -= 1,
            }
        };
        self.run(&mut exchange, on).await?;
        let mut is_back = false;
        for (rank, missing) in asked.iter().enumerate().filter(|&(rank, _)| ways[rank].is_some()) {
            if has_no_link[rank] {
                // It is gone with its link; a trap or a port-change bit reports the next one.
                self.missing.remove(&missing.near);
            } else if open[rank] == 0 {
                is_back = true;
                tracing::info!(port = missing.place, "the device behind this link answers again");
            }
        }
        Ok(is_back)
    }
}
