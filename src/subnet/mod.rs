//! `SubnetManager`: discovers, writes tables, waits for barriers, over any [`Transport`](crate::transport::Transport).
//!
//! Decisions are made by plain values (`exchange`: windows, queues, retries; `sweep`: what to ask next; the judges of
//! [`drain`](crate::drain): what readings prove); [`Manager`] moves their MADs and the time. Requests travel by
//! directed routes over the fabric as it is known, so no forwarding table need be right; performance counters alone are
//! read by LID. On return of every operation nothing of it is under way any more. A caller that drops an operation
//! halfway must call [`SubnetManager::apply`] again before the next one: copies of a `Set` may still be on the wire.
//! Lacks on purpose: when to change what (`machine`), which index a device found has in another fabric
//! (`fabric::difference`), SA records.

mod apply;
mod ask;
mod attendant;
mod barriers;
mod counts;
mod error;
mod events;
mod exchange;
mod fence;
mod manager;
mod paths;
mod sweep;
mod timing;

pub use ask::{Ask, AskResult, RequestTarget};
pub use attendant::Attendant;
pub use counts::SmpCounts;
pub use error::SubnetError;
pub use manager::{Manager, SourceControl};
pub use sweep::Discovered;
pub use timing::Timing;

use crate::drain::{DrainLayer, Drained, Flushed, Observer, SourcesMoved, Ticket};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, VlSet};
use crate::tables::{PathLayers, Write};
use async_trait::async_trait;

/// In which order the writes of a wave are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOrder {
    /// As the windows allow: devices in parallel.
    Any,
    /// In the order of the list, with at most `window` of them unanswered, whichever device they go to. OpenSM: four.
    Listed {
        /// Writes without an answer at most.
        window: u16,
    },
}

/// What became of the writes of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Writes acknowledged: all of them.
    pub writes: usize,
    /// SMPs sent again.
    pub retried: u64,
    /// How long it was waited for copies of repeated `Set`s to die.
    pub quiet_ns: u64,
    /// Ports that were to be ARMED and answered that they are ACTIVE: data reached them and they went on by themselves.
    pub not_held: Vec<PortId>,
}

/// Something happened in the subnet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubnetEvent {
    /// Trap 128: the state of a link changed at a switch.
    LinksChanged {
        /// Who said so.
        lid: Lid,
        /// The switch, where its LID is known.
        switch: Option<NodeId>,
    },
    /// Trap 144: an end port changed.
    EndPortChanged {
        /// Who said so.
        lid: Lid,
        /// The port, where its LID is known.
        port: Option<PortId>,
    },
    /// The light sweep found the port-change bit of a switch set.
    PortsChanged {
        /// The switch.
        switch: NodeId,
    },
    /// The light sweep had no answer from a switch.
    Silent {
        /// The switch.
        switch: NodeId,
    },
}

/// What is to run empty, and what is in use instead.
#[derive(Clone, Copy, Debug)]
pub struct Retiring<'a> {
    /// The lanes to run empty: those of all layers.
    pub lanes: VlSet,
    /// The channels of each layer of the retiring routing.
    pub layers: &'a [DrainLayer],
    /// The half in use now.
    pub half: Half,
    /// Who sends by which path of it, on which layer; none where everybody may by each.
    pub ways: Option<&'a PathLayers>,
}

/// What the driver asks of a subnet. All indices are those of the fabric given to [`SubnetManager::set_topology`].
#[async_trait(?Send)]
pub trait SubnetManager {
    /// Nanoseconds of the transport's clock.
    fn now_ns(&self) -> u64;

    /// Datagrams sent since the beginning.
    fn smps(&self) -> &SmpCounts;

    /// Gives the fabric as it is known: all that is alive, with LIDs, and the SM's own port. Directed paths follow from
    /// it; set it again whenever something died or came.
    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId);

    /// Sweeps the subnet by directed routes. The fabric found has indices of its own; the one known stays as it is.
    async fn discover(&mut self) -> Result<Discovered, SubnetError>;

    /// Carries out the writes of one wave. On return each was read back and no copy of any is under way. `fabric` has
    /// the indices of the one known.
    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError>;

    /// Has every device send off what it latched for `lanes` before, and waits until those lanes are empty everywhere:
    /// as the agents of the devices report, or, where the observer is age, by age.
    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError>;

    /// Waits until each of `ports` sends on `half` and has nothing of the other half left to send.
    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError>;

    /// Waits until the lanes of what is retiring are empty everywhere, as `observer` sees it. Sources must have moved.
    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError>;

    /// An event that came while something else was done; none where none is left. Waits for nothing.
    fn pending_event(&mut self) -> Option<SubnetEvent>;

    /// The next event, or none once the time `until_ns` has come.
    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError>;
}
