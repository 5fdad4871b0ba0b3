//! Traffic under one routing, without a change: throughput, latency, order and links, for one set of sources.

use super::ScenarioError;
use super::measures::{BEFORE, latency, link_loads, slowest, throughput};
use super::outcome::{Latency, LinkLoads};
use super::subnet_setup::{Placement, ways};
use crate::change::{Routed, manager_port};
use crate::ids::Half;
use crate::sim::{OrderCounts, Sim, SimConfig};
use serde::Serialize;

/// Results of traffic over a period after a warm-up.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SteadyReport {
    /// Bytes delivered, as a fraction of what all end ports could receive.
    pub throughput: f64,
    /// Of the end ports that received anything, the received share of the slowest, as a fraction of what it could
    /// receive: under a permutation, the slowest flow.
    pub slowest: f64,
    /// From send queue to delivery, in nanoseconds.
    pub latency_ns: Latency,
    /// Packets out of order, if the settings count them.
    pub order: OrderCounts,
    /// Loads of links between switches.
    pub links: LinkLoads,
    /// Whether packets deadlocked, which ended the period.
    pub deadlocked: bool,
    /// Digest of every event.
    pub trace_hash: u64,
}

/// Lets sources send under a routing, on the lower half of the LIDs, for `warm_up_ns` and then `length_ns`, and reports
/// the second part. Data VLs are those of the routing, whatever `config` specifies.
///
/// # Errors
/// Settings that the simulator rejects.
pub fn steady(
    routed: &Routed,
    config: &SimConfig,
    (warm_up_ns, length_ns): (u64, u64),
) -> Result<SteadyReport, ScenarioError> {
    let fabric = &routed.fabric;
    let sm = manager_port(fabric, fabric, None)?;
    let mut sim = Sim::new(fabric, SimConfig { data_vls: routed.data_vls, ..config.clone() }, sm)?;
    load_routed(&mut sim, routed, Placement::default());
    sim.start();
    sim.run(warm_up_ns, false);
    sim.begin_period();
    sim.run(warm_up_ns + length_ns, false);
    Ok(SteadyReport {
        throughput: throughput(&sim, BEFORE, sim.delivery_capacity()),
        slowest: slowest(&sim, fabric, 1),
        latency_ns: latency(&sim.periods()[1]),
        order: sim.periods()[1].order,
        links: link_loads(&sim, fabric, 1, 1),
        deadlocked: sim.deadlock().is_some(),
        trace_hash: sim.trace_hash(),
    })
}

/// Loads a routing, as found running, into the simulation of its subnet, or of several among which it has this place.
/// Sources send on the lower half.
pub(super) fn load_routed(sim: &mut Sim, routed: &Routed, place: Placement) {
    for (switch, block, entries) in routed.tables.lft_blocks(&routed.fabric) {
        sim.load_lft_block(place.node(switch), block, &entries);
    }
    sim.load_half_in(place.subnet, Half::Lower);
    sim.load_ways(place.subnet, Half::Lower, ways(routed.function.path_layers()));
}
