//! Messages between hosts under one routing, without a change: how long until the last of them has arrived, in one
//! subnet or among several with their routers.
//!
//! On entry subnets, an engine and a list of messages, all of which are handed to the send queues at once. On return
//! the time until the last packet has arrived. Patterns of several phases are several calls: no host begins a phase
//! before everybody has ended the one before. Deliberately omitted: what the hosts do between messages.

use super::ScenarioError;
use super::steady::load_routed;
use super::subnet_setup::Placement;
use crate::change::{self, LmcWish, RouteInput, Routed, manager_port};
use crate::fabric::subnets::{Joined, SubnetPort, Subnets};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Lmc, SubnetId};
use crate::routers::{Levels, LevelsRule, Routes};
use crate::routing::Engine;
use crate::sim::{Joining, Sim, SimConfig, Traffic};

/// One subnet, or several with their routers, each under one routing.
#[derive(Clone, Debug)]
pub struct SteadySubnets {
    subnets: Subnets,
    each: Vec<Routed>,
    levels: Levels,
    /// Ports of switches and routers to which the channels lie inside a device, with the delay of each such stage in
    /// nanoseconds ([`Sim::put_in_chip`]).
    pub in_chip: Vec<(SubnetPort, u32)>,
}

/// A message from one host to another, named by their ranks among the hosts of all subnets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostMessage {
    /// Who sends it.
    pub source: u32,
    /// Who receives it.
    pub destination: u32,
    /// Its length without headers, in bytes.
    pub bytes: u32,
}

/// What became of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExchangeReport {
    /// From the moment at which all are handed over until the last packet has arrived, in nanoseconds.
    pub took_ns: u64,
    /// Packets of all messages.
    pub packets: u64,
    /// Of those: delivered. Fewer than all if packets were lost or wait for each other in a circle.
    pub delivered: u64,
}

/// Headers of a packet: local route header, base transport header and both checksums (chapters 7 and 9).
const HEADERS: u32 = 8 + 12 + 4 + 2;
/// What a packet to another subnet has besides: the global route header (section 8.3).
const GLOBAL_HEADER: u32 = crate::wire::GRH_SIZE as u32;
/// The shortest packet that the simulator takes, in bytes.
const SHORTEST: u32 = 64;
/// The time after which an exchange counts as stuck, in nanoseconds.
const LONGEST_NS: u64 = 10_000_000_000;

impl SteadySubnets {
    /// Routes every subnet by itself on so many data VLs, with LMC 1, and raises service levels at routers.
    ///
    /// # Errors
    /// An engine that cannot route a subnet; too few lanes for the routers in a row.
    pub fn route(subnets: &Subnets, engine: &dyn Engine, data_vls: u8) -> Result<SteadySubnets, ScenarioError> {
        let lmc = LmcWish::Least(Lmc::masked(1));
        let route = |(_, subnet): (SubnetId, &crate::fabric::subnets::Subnet)| {
            change::route(RouteInput { fabric: &subnet.fabric, engine, data_vls, lmc })
        };
        let each = subnets.subnets().map(route).collect::<Result<Vec<_>, _>>()?;
        let subnets = subnets.with_fabrics(each.iter().map(|routed| routed.fabric.clone()).collect());
        let raises = Routes::all(&subnets).most_raises(LevelsRule::Raise, &subnets);
        let levels = Levels::new(LevelsRule::Raise, raises, data_vls)?;
        Ok(SteadySubnets { subnets, each, levels, in_chip: Vec::new() })
    }

    /// The subnets, LIDs assigned.
    pub fn subnets(&self) -> &Subnets {
        &self.subnets
    }

    /// Lets hosts send each other messages, in packets with up to `mtu` bytes of payload. Traffic and the number of
    /// data VLs in `config` do not matter.
    ///
    /// # Errors
    /// Settings that the simulator rejects; ranks that no host has.
    pub fn exchange(
        &self,
        config: &SimConfig,
        mtu: u32,
        messages: &[HostMessage],
    ) -> Result<ExchangeReport, ScenarioError> {
        let packets: Vec<(u64, u32, u32, u16)> = messages.iter().flat_map(|&one| self.packets(one, mtu)).collect();
        let count = packets.len() as u64;
        let config = SimConfig {
            data_vls: self.each[0].data_vls,
            traffic: Traffic::Trace(packets),
            send_queue: u16::MAX,
            ..config.clone()
        };
        let mut sim = self.simulation(config)?;
        sim.start();
        sim.run(LONGEST_NS, false);
        let period = &sim.periods()[0];
        Ok(ExchangeReport { took_ns: period.last_delivery_ns(), packets: count, delivered: period.delivered })
    }

    /// The packets of a message, all due at the start.
    fn packets(&self, message: HostMessage, mtu: u32) -> impl Iterator<Item = (u64, u32, u32, u16)> + use<> {
        let HostMessage { source, destination, bytes } = message;
        let crosses = self.subnet_of(source) != self.subnet_of(destination);
        let headers = HEADERS + if crosses { GLOBAL_HEADER } else { 0 };
        let lengths = (0..bytes.div_ceil(mtu).max(1)).map(move |nth| mtu.min(bytes - nth * mtu));
        lengths.map(move |payload| (0, source, destination, (payload + headers).max(SHORTEST) as u16))
    }

    /// The subnet of a host, by its rank among all.
    fn subnet_of(&self, mut rank: u32) -> Option<SubnetId> {
        self.subnets.subnets().map(|(id, _)| id).find(|&id| {
            let own = self.subnets.hosts(id).count() as u32;
            let here = rank < own;
            rank = rank.saturating_sub(own);
            here
        })
    }

    fn simulation(&self, config: SimConfig) -> Result<Sim, ScenarioError> {
        let manager = |routed: &Routed| manager_port(&routed.fabric, &routed.fabric, None);
        let joined = Joined::of(&self.subnets);
        let mut sim = match &self.each[..] {
            [alone] => Sim::new(&alone.fabric, config, manager(alone)?)?,
            each => {
                let managers = self.subnets.subnets().zip(each).map(|((subnet, _), routed)| {
                    let port = manager(routed)?;
                    Ok(SubnetPort { subnet, port })
                });
                let managers = managers.collect::<Result<Vec<_>, ScenarioError>>()?;
                Sim::joined(Joining::new(self.subnets.clone(), self.levels, managers), config)?
            }
        };
        for ((subnet, _), routed) in self.subnets.subnets().zip(&self.each) {
            let first_port = joined.port(SubnetPort { subnet, port: PortId(0) }).0;
            let place = Placement { subnet, first_node: joined.node(subnet, NodeId(0)).0, first_port };
            load_routed(&mut sim, routed, place);
        }
        for &(at, stage_ns) in &self.in_chip {
            sim.put_in_chip(joined.port(at), stage_ns);
        }
        Ok(sim)
    }
}
