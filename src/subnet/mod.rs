//! `SubnetManager`: discovers, writes tables, waits for barriers, over any [`Transport`](crate::transport::Transport).
//!
//! Decisions are made by plain values (`exchange`: windows, queues, retries; `sweep`: the next request; the judges of
//! [`drain`](crate::drain): what readings prove); [`Manager`] sends and receives their MADs. Requests travel by
//! directed routes over the known fabric, so no forwarding table need be correct; only performance counters are read by
//! LID. On return of every operation nothing of it is in flight. A caller that drops an operation halfway must call
//! [`SubnetManager::apply`] before the next one: copies of a `Set` may still be on the wire. Deliberately omitted:
//! deciding on changes (`machine`), matching found devices with another fabric's indices (`fabric::difference`), SA
//! records.

mod adaptive;
mod apply;
mod ask;
mod barriers;
mod bounces;
mod counts;
mod devices;
mod error;
mod events;
mod exchange;
mod fence;
mod glance;
mod health;
mod held_keys;
mod long_work;
mod manager;
mod missing;
mod multicast;
mod paths;
mod port_changes;
mod register;
mod responder;
mod retrial;
mod silence;
mod sweep;
mod timing;
mod zero;

pub(crate) use apply::in_turn;
pub use ask::{Ask, AskResult, RequestTarget};
pub use counts::SmpCounts;
pub use devices::{DeviceProfile, DeviceSettings};
pub use error::SubnetError;
pub use fence::{Fence, FenceStage};
pub use health::{DeviceFault, FailingAs};
pub use long_work::{WorkResult, long_work};
pub use manager::{AWAY_NS, Manager, SourceControl, SweptTopology};
pub use missing::MissingDevice;
pub use multicast::MftAsk;
pub use register::MayRegister;
pub use responder::Respond;
pub use sweep::Discovered;
pub use timing::Timing;

use crate::drain::{DrainLayer, Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Half, Lid, PortName, ReservedLevel, VlSet};
use crate::tables::{HalfInForce, PathLayers, SubnetTables, Write};
use async_trait::async_trait;
use std::sync::Arc;

/// Number of requests built at a time: building those of a thousand switches takes long, and incoming requests wait
/// meanwhile.
pub const REQUESTS_AT_A_TIME: usize = 4096;

/// The order in which the writes of a wave are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOrder {
    /// As the windows allow: devices in parallel.
    Any,
    /// In the order of the list, with at most `window` of them unanswered over all devices. OpenSM: four.
    Listed {
        /// The most unanswered writes.
        window: u16,
    },
}

/// The result of the writes of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Writes acknowledged: all of them.
    pub writes: usize,
    /// Retries.
    pub retried: u64,
    /// Nanoseconds waited for copies of repeated `Set`s to die out.
    pub quiet_ns: u64,
    /// Ports that should be ARMED but answered ACTIVE: data reached them, and they advanced by themselves.
    pub not_held: Vec<PortId>,
}

/// An event in the subnet. Devices go by their GUIDs: indices are of one fabric, and an event may be handled when that
/// has been replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubnetEvent {
    /// Trap 128: the state of a link changed at a switch.
    LinksChanged {
        /// The sender's LID.
        lid: Lid,
        /// The switch, if its LID is known.
        switch: Option<Guid>,
    },
    /// Trap 144: an end port changed.
    EndPortChanged {
        /// The sender's LID.
        lid: Lid,
        /// The port, if its LID is known.
        port: Option<PortName>,
    },
    /// The light sweep found the port-change bit of a switch set.
    PortsChanged {
        /// The switch.
        switch: Guid,
    },
    /// A switch did not answer the light sweep.
    Silent {
        /// The switch.
        switch: Guid,
    },
}

/// The channels and lanes to drain, and the half in use instead.
#[derive(Clone, Copy, Debug)]
pub struct Retiring<'a> {
    /// The lanes to drain: those of all layers.
    pub lanes: VlSet,
    /// The channels of each layer of the retiring routing.
    pub layers: &'a [DrainLayer],
    /// The half in use now, by which the manager asks end ports for their counters.
    pub in_use: HalfInForce<'a>,
    /// The end ports that were moved to it, including those that failed afterwards: each observer excuses or refuses
    /// these.
    pub sources: &'a [PortId],
}

/// The basis of the SA's answers: the routing in force, and the next one.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The routed fabric, in the indices of the known one.
    pub fabric: Arc<Fabric>,
    /// The routes of the half in use, and of the other half if answers are about to move to it.
    pub tables: SubnetTables,
    /// For each half, the paths that each source may use.
    pub ways: [Option<Arc<PathLayers>>; 2],
    /// The half in use.
    pub half: Half,
    /// The manager's port.
    pub sm: PortId,
}

/// The elements of a planned removal, and the evidence that no packets are left in them.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The fabric without it.
    pub after: &'a Fabric,
    /// End ports that are removed, or that the new routing omits: packets from and to them are not waited for (V.4).
    pub omitted: &'a [PortId],
    /// Rounds of flushes, one after the other.
    pub rounds: u8,
    /// Since when, in nanoseconds of the transport's clock, no entry has led where packets are to have left: ages count
    /// from then.
    pub since_ns: u64,
    /// Between two waves: nothing is removed yet, and everything sent earlier must have arrived or been discarded
    /// (W.3).
    pub ages: bool,
    /// Whether packets that end ports had mapped to a lane before they were fenced must have left first (P3.8).
    pub fenced: bool,
    /// Whether a wait by age ends once the subnet reports a change, with [`SubnetError::Changed`].
    pub until_event: bool,
}

/// The result of a glance at the known subnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Glance {
    /// Nothing known is gone. Something may have been added, or a device may have fallen silent.
    Same,
    /// What is left of the known fabric.
    Less(Fabric),
    /// Only a sweep decides.
    Unsure,
}

/// Operations of [`SubnetManager`] that a wrapper around a [`Manager`] (its field `manager`) forwards unchanged.
/// Operations that are `async` cannot be among them: `async_trait` does not see these.
macro_rules! as_the_manager {
    () => {
        fn now_ns(&self) -> u64 {
            self.manager.now_ns()
        }

        fn smps(&self) -> &$crate::subnet::SmpCounts {
            self.manager.smps()
        }

        fn reserve(&mut self, level: Option<$crate::ids::ReservedLevel>) {
            self.manager.reserve(level);
        }

        fn set_fence(&mut self, fence: &$crate::subnet::Fence) {
            self.manager.set_fence(fence);
        }

        fn settle_ns(&self) -> Option<u64> {
            self.manager.settle_ns()
        }

        fn set_ways(&mut self, longest: u32, through: &[$crate::fabric::NodeId]) {
            self.manager.set_ways(longest, through);
        }

        fn pending_event(&mut self) -> Option<$crate::subnet::SubnetEvent> {
            self.manager.pending_event()
        }
    };
}
pub(crate) use as_the_manager;

/// The driver's interface to a subnet. All indices are those of the fabric given to [`SubnetManager::set_topology`].
#[async_trait(?Send)]
pub trait SubnetManager {
    /// Nanoseconds of the transport's clock.
    fn now_ns(&self) -> u64;

    /// SMPs sent since the start.
    fn smps(&self) -> &SmpCounts;

    /// Sets the known fabric: all that is alive, with LIDs, and the SM's own port. Directed paths follow from it; set
    /// it again whenever something failed or was added. After a sweep or a glance it is what these found.
    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId);

    /// Sets the service level that is of neither half, and its lane, from the next write on: no fence closes it, and no
    /// barrier waits for packets on it (K.4).
    fn reserve(&mut self, level: Option<ReservedLevel>);

    /// Sets which half end ports discard from the next write or flush on, where sources are fenced (P3.8). The change
    /// states it, since its writes need not show it. Without a fence it has no effect.
    fn set_fence(&mut self, fence: &Fence);

    /// Does long work, such as planning. A manager that serves requests goes on serving them meanwhile; one that serves
    /// nobody just does the work.
    ///
    /// # Errors
    /// The SM's own port failed, or there is no thread. The work may not be done then.
    async fn compute(&mut self, work: Box<dyn FnOnce() + Send>) -> Result<(), SubnetError> {
        work();
        Ok(())
    }

    /// Sweeps the subnet by directed routes. The fabric found has its own indices; the known one is unchanged.
    async fn discover(&mut self) -> Result<Discovered, SubnetError>;

    /// Sweeps like [`discover`](Self::discover), but stops as soon as an event has arrived, and then finds nothing:
    /// silent devices do not delay the look at the event.
    async fn discover_until_event(&mut self) -> Result<Option<Discovered>, SubnetError> {
        self.discover().await.map(Some)
    }

    /// Looks whether a part of the known fabric is gone, by what switches report changed since the last sweep. That
    /// takes far fewer SMPs than a sweep. The known fabric is unchanged. A manager that cannot look is never sure.
    async fn glance(&mut self) -> Result<Glance, SubnetError> {
        Ok(Glance::Unsure)
    }

    /// Carries out the writes of one wave. On return each was read back and no copy of any is in flight. `fabric` has
    /// the indices of the known one.
    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError>;

    /// Makes every device send off what it had latched for `lanes`, and waits until those lanes are empty everywhere:
    /// according to the devices' agents, or, if the observer is age, by age.
    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError>;

    /// Waits until each of `ports` sends on `half` and has nothing of the other half left to send.
    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError>;

    /// Nanoseconds for sources to follow a move before a fence closes; `None` where each is notified and moves at once.
    fn settle_ns(&self) -> Option<u64> {
        None
    }

    /// Sets the basis of answers before a plan's first write: once answers move to another half, every query must get
    /// paths there (P3.1). Without an SA it has no effect.
    fn set_outlook(&mut self, _outlook: Outlook) {}

    /// Sets the most switches that a packet passes on a way of the routing in force: a drain by age must outlast it,
    /// and so must a flush if the spare half was open until the split. It also sets the switches that a packet may be
    /// in while a plan runs: a switch that came back, and is still to be brought in, keeps no barrier waiting.
    fn set_ways(&mut self, longest: u32, through: &[NodeId]);

    /// Waits until the retiring lanes are empty everywhere according to `observer`. Sources must have moved.
    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError>;

    /// Verifies, before the first write of a plan that ends vacated, that devices meet the observer's needs: for age, a
    /// limit at every switch.
    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError>;

    /// Makes every device send off the packets that stand in it, as many times in a row as there are rounds, each time
    /// after the last write: by the devices' agents, or, if the observer is age, by age.
    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError>;

    /// Lets time pass, for a manager whose computing costs none by itself: a simulated one. Events that arrive
    /// meanwhile are kept.
    async fn rest_until(&mut self, _until_ns: u64) -> Result<(), SubnetError> {
        Ok(())
    }

    /// An event that arrived during another operation; `None` if there is none. Does not wait.
    fn pending_event(&mut self) -> Option<SubnetEvent>;

    /// The next event, or `None` once `until_ns` is reached.
    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError>;
}
