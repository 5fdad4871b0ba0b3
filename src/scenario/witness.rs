//! A subnet manager whose barriers are compared with the simulation's own account at the moment they are passed.
//!
//! Judges see readings; the simulation knows where every packet stands. If a judge says that lanes are empty and they
//! are not, the run ends with an error that names them: what it would show from then on means nothing. Deliberately
//! omitted: *acknowledged*, which the writes' read-back shows, and of *sources moved* the replies, which are the
//! drain's concern (P3.6).

use crate::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use crate::fabric::{Fabric, Port, PortId};
use crate::ids::{Half, VlSet};
use crate::routing::Connectivity;
use crate::sim::{LanePlace, SimTransport, StandingLane};
use crate::subnet::{
    Applied, Discovered, Glance, Leaving, Manager, Retiring, SubnetError, SubnetEvent, SubnetManager, WriteOrder,
    as_the_manager,
};
use crate::tables::Write;
use crate::transport::{AnyTransport, Transport};
use async_trait::async_trait;

/// The most lanes that an error names.
const NAMED: usize = 8;

/// A manager of a simulated subnet, and a witness to its barriers.
pub struct Witnessed<T: Transport = AnyTransport> {
    manager: Manager<T>,
    /// The simulation, whatever lies between it and the manager.
    simulation: SimTransport,
    /// The index in the simulation of the subnet's first port.
    first_port: u32,
    /// What the manager can reach.
    reach: Option<Reach>,
}

/// The known fabric, and its ports that links join with the manager's.
struct Reach {
    fabric: Fabric,
    joined: Vec<bool>,
}

impl<T: Transport> Witnessed<T> {
    /// Witnesses a manager of the subnet whose first port has this index in the simulation, whatever lies between the
    /// two.
    pub fn new(simulation: SimTransport, manager: Manager<T>, first_port: u32) -> Witnessed<T> {
        Witnessed { manager, simulation, first_port, reach: None }
    }

    /// Sweeps lightly, and from then on this many times the duration of that sweep after each.
    pub async fn poll_by(&mut self, factor: u32) -> Result<(), SubnetError> {
        let took_ns = self.manager.sweep_lightly().await?;
        self.manager.set_light_sweep(Some(took_ns.saturating_mul(factor.into()).max(1)));
        Ok(())
    }

    /// The time until the next light sweep at most, in nanoseconds.
    pub fn light_sweep_ns(&self) -> Option<u64> {
        self.manager.timing().light_sweep_ns
    }

    /// The index in the simulation of a port of the subnet.
    fn placed(&self, port: PortId) -> PortId {
        PortId(port.0 + self.first_port)
    }

    /// Compares a barrier with the lanes of the simulation that are not as it says, except those that it does not
    /// concern.
    fn compare(
        &self,
        barrier: String,
        standing: Vec<StandingLane>,
        concerns: impl Fn(&Fabric, PortId, LanePlace) -> bool,
    ) -> Result<(), SubnetError> {
        let Some(Reach { fabric, joined }) = &self.reach else { return Ok(()) };
        let own = |lane: &StandingLane| lane.port.0.checked_sub(self.first_port).map(|port| (PortId(port), *lane));
        // What is cut off from the manager is excused, like what died (P4.3): no barrier speaks of it.
        let reached = |port: PortId| joined.get(port.index()).copied().unwrap_or(false);
        let standing = standing.iter().filter_map(own).filter(|&(port, _)| reached(port));
        let found: Vec<(PortId, StandingLane)> =
            standing.filter(|&(port, lane)| concerns(fabric, port, lane.place)).collect();
        if found.is_empty() {
            return Ok(());
        }
        let name = |&(port, lane): &(PortId, StandingLane)| {
            format!("{} VL {} ({})", fabric.describe_port(port), lane.vl, lane.place)
        };
        let mut named: Vec<String> = found.iter().take(NAMED).map(name).collect();
        if found.len() > NAMED {
            named.push("…".to_string());
        }
        Err(SubnetError::FalseBarrier { barrier, occupied: found.len(), standing: named.join(", ") })
    }
}

/// Whether a lane belongs to the channel from an end port into its first switch.
fn is_of_source(fabric: &Fabric, port: PortId, place: LanePlace) -> bool {
    let ends = |port: PortId| !fabric.node(fabric.port(port).node).is_switch();
    match place {
        LanePlace::SendQueue | LanePlace::Source => true,
        LanePlace::Buffer => fabric.peer(port).is_some_and(ends),
        LanePlace::Wire | LanePlace::Latched => false,
    }
}

/// The ports at both ends of every cable that leaves.
fn ends_of_leaving(fabric: &Fabric, after: &Fabric) -> Vec<PortId> {
    let leaves = |&(id, port): &(PortId, &Port)| port.peer.is_some() && after.peer(id).is_none();
    fabric.ports().filter(leaves).map(|(id, _)| id).collect()
}

#[async_trait(?Send)]
impl<T: Transport> SubnetManager for Witnessed<T> {
    as_the_manager!();

    async fn rest_until(&mut self, until_ns: u64) -> Result<(), SubnetError> {
        self.manager.rest_until(until_ns).await
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        let links = Connectivity::of(fabric);
        let joined = fabric.ports().map(|(port, _)| links.joins(port, sm_port)).collect();
        self.reach = Some(Reach { fabric: fabric.clone(), joined });
        self.manager.set_topology(fabric, sm_port);
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        self.manager.discover().await
    }

    async fn glance(&mut self) -> Result<Glance, SubnetError> {
        self.manager.glance().await
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        self.manager.apply(fabric, writes, order).await
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        let flushed = self.manager.flush(ticket, observer, lanes).await?;
        // F.6: by age, lanes of the channels out of end ports are not among those shown to be empty.
        let by_age = observer == Observer::Lifetime;
        let concerns = |fabric: &Fabric, port: PortId, place: LanePlace| !(by_age && is_of_source(fabric, port, place));
        let standing = self.simulation.with(|sim| sim.standing(flushed.lanes()));
        self.compare(format!("flush of lanes {lanes}, by {observer}"), standing, concerns)?;
        Ok(flushed)
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        let moved = self.manager.confirm_sources(ticket, ports, half).await?;
        let placed: Vec<PortId> = ports.iter().map(|&port| self.placed(port)).collect();
        let old = half.other();
        let standing = self.simulation.with(|sim| sim.still_on(old, &placed));
        // P3.8: what stands in the lanes of a port that has just been fenced is the drain's concern.
        let fenced = self.manager.source_control().settle_ns().is_some();
        let concerns = |_: &Fabric, _, place| !(fenced && place == LanePlace::SendQueue);
        self.compare(format!("move of the sources from the {old} half"), standing, concerns)?;
        Ok(moved)
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        let drained = self.manager.drain(ticket, observer, retiring).await?;
        let (lanes, half) = (drained.lanes(), retiring.in_use.half.other());
        let standing = self.simulation.with(|sim| sim.standing(lanes));
        self.compare(format!("drain of lanes {lanes}, by {observer}"), standing, |_, _, _| true)?;
        // Nothing of the retired half is left, whatever lane it may stand in (F.6).
        let standing = self.simulation.with(|sim| sim.standing_of(half));
        self.compare(format!("drain of the {half} half, by {observer}"), standing, |_, _, _| true)?;
        Ok(drained)
    }

    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError> {
        self.manager.can_vacate(observer).await
    }

    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        // By age, what waits in a send queue is sent later (W.3).
        let in_send_queues = observer != Observer::Lifetime;
        let earlier = leaving.ages.then(|| self.simulation.with(|sim| sim.under_way(in_send_queues)));
        let vacated = self.manager.vacate(ticket, observer, leaving).await?;
        if let Some(earlier) = earlier {
            let standing = self.simulation.with(|sim| sim.still_under_way(&earlier));
            self.compare(format!("end of all that was sent before, by {observer}"), standing, |_, _, _| true)?;
            return Ok(vacated);
        }
        let Some(Reach { fabric, .. }) = &self.reach else { return Ok(vacated) };
        let placed = |ports: &[PortId]| -> Vec<PortId> { ports.iter().map(|&port| self.placed(port)).collect() };
        let (ends, omitted) = (placed(&ends_of_leaving(fabric, leaving.after)), placed(leaving.omitted));
        let standing = self.simulation.with(|sim| sim.standing_about(&ends, &omitted));
        self.compare(format!("departure of what leaves, by {observer}"), standing, |_, _, _| true)?;
        Ok(vacated)
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.manager.next_event(until_ns).await
    }
}
