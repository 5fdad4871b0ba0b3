//! One port of one subnet, through which MADs go out and come in.
//!
//! A transport moves bytes and gives the time; retries, windows and interpretation belong to `subnet`. Implementations:
//! the simulator (whose clock is simulated) and the kernel's user MAD interface ([`umad`]); [`faults`] adds loss and
//! delay to either. Futures need not be `Send`: a transport belongs to one task.

pub mod faults;
pub mod umad;

use crate::ids::{Lid, Lmc, Sl};
use crate::wire::MAD_SIZE;
use async_trait::async_trait;
use futures_util::future::LocalBoxFuture;

/// A MAD with its local route header: its receiver, or its sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Outgoing: the DLID; incoming: the SLID. [`Lid::PERMISSIVE`] for pure directed routes.
    pub lid: Lid,
    /// Outgoing: the SLID, one of the port's own LIDs; none leaves it to the transport. Incoming: none.
    pub from: Option<Lid>,
    /// The queue pair: 0 for subnet management (VL 15), 1 for general services.
    pub qp: u32,
    /// The service level (general services only; QP 0 has none).
    pub sl: Sl,
    /// The MAD itself.
    pub bytes: Box<[u8; MAD_SIZE]>,
}

/// Why a MAD could not be sent or received. A MAD lost in the fabric is not an error here: its answer never comes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The port left the subnet or the device disappeared.
    #[error("the port is gone: {0}")]
    Closed(String),
    /// The device refused.
    #[error("{attempted}: {reason}")]
    Refused {
        /// The operation attempted.
        attempted: String,
        /// The device's reason.
        reason: String,
    },
}

/// One port of one subnet.
#[async_trait(?Send)]
pub trait Transport {
    /// Nanoseconds since the transport began; never decreases.
    fn now_ns(&self) -> u64;

    /// Sends one MAD. Returns once it is handed over, not when it arrives.
    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError>;

    /// Announces that the port answers to 2^`lmc` LIDs, for transports that choose the sender's LID by the service
    /// level.
    fn answers_to(&mut self, _lmc: Lmc) {}

    /// The next MAD, or none once `until_ns` has come (`u64::MAX` waits for ever).
    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError>;

    /// This transport without its type.
    fn boxed(self) -> AnyTransport
    where
        Self: Sized + 'static,
    {
        Box::new(self)
    }
}

/// Any transport. Code that is generic over transports is compiled once for each; code that takes this one is compiled
/// with the library, once for all: the subnet manager is a fifth of the program.
pub type AnyTransport = Box<dyn Transport>;

/// The expansion of `async` in these methods, written out: the futures are those of the boxed transport, and not boxed
/// again.
impl Transport for AnyTransport {
    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }

    fn send<'a, 'f>(&'a mut self, datagram: Datagram) -> LocalBoxFuture<'f, Result<(), TransportError>>
    where
        'a: 'f,
        Self: 'f,
    {
        (**self).send(datagram)
    }

    fn answers_to(&mut self, lmc: Lmc) {
        (**self).answers_to(lmc);
    }

    fn recv<'a, 'f>(&'a mut self, until_ns: u64) -> LocalBoxFuture<'f, Result<Option<Datagram>, TransportError>>
    where
        'a: 'f,
        Self: 'f,
    {
        (**self).recv(until_ns)
    }

    fn boxed(self) -> AnyTransport {
        self
    }
}
