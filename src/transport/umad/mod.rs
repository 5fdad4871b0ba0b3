//! [`Umad`]: a port of this machine, through the kernel's user MAD interface (real hardware, or ibsim by its preload).
//!
//! Needs libibumad at run time only. Each port has one thread that waits for MADs, because ibsim's descriptors are not
//! real ones and no runtime can poll them; everything else happens on the caller's task, inside a tokio runtime with
//! timers. Each transmission has its own transaction on the wire (`transactions`), so the kernel neither repeats nor
//! reassembles anything. A MAD that the kernel gives up, or cannot accept, counts as lost ([`UmadCounts`]): the
//! requester asks again. Deliberately omitted: retries, windows, RMPP, partitions other than the first, global routes.

mod adapters;
mod error;
mod library;
mod transactions;

pub use adapters::{Adapter, AdapterPort, ChoiceError};
pub use error::UmadError;

use super::{Datagram, Transport, TransportError};
use crate::ids::{Guid, Half, Lmc, PortNum};
use crate::wire::{class, class_of};
use async_trait::async_trait;
use library::{Agent, IssmDevice, Library, Outgoing, PortHandle, UmadArrival};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use transactions::Transactions;

/// The interval at which the thread checks whether it should end.
const PATROL_MS: i32 = 100;
/// The Q_Key of every QP 1.
const GSI_QKEY: u32 = 0x8001_0000;
/// The management class of subnet administration.
const CLASS_SA: u8 = 0x03;

/// The purpose of opening the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UmadRole {
    /// To query: only answers come in. Any number of programs can do this.
    #[default]
    Client,
    /// To manage: traps and requests of other managers and of clients come in, and the port announces a subnet manager
    /// (IsSM). One program for each port.
    Manager,
}

/// The port to open, and its purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UmadOptions {
    /// The adapter, such as `mlx5_0`; none: the first suitable one.
    pub adapter: Option<String>,
    /// The port's number; none: the first that is ACTIVE, or at least has a link.
    pub port: Option<PortNum>,
    /// The purpose.
    pub role: UmadRole,
    /// Milliseconds for which the kernel keeps a request open for its answer. A value above the longest wait between
    /// two transmissions only costs the kernel memory; a smaller one turns late answers into lost ones.
    pub answer_ms: u32,
}

impl Default for UmadOptions {
    fn default() -> UmadOptions {
        UmadOptions { adapter: None, port: None, role: UmadRole::Client, answer_ms: 2_000 }
    }
}

/// Counters of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UmadCounts {
    /// MADs handed to the kernel.
    pub sent: u64,
    /// MADs that the kernel did not accept (its queues were full): lost.
    pub refused: u64,
    /// MADs that came in and were delivered.
    pub received: u64,
    /// Requests that the kernel gave up waiting for.
    pub given_up: u64,
    /// Answers to no open request.
    pub stray: u64,
    /// MADs shorter than a MAD.
    pub short: u64,
}

/// A port opened for MADs. Dropping it closes the port and ends its thread, within a tenth of a second.
pub struct Umad {
    adapter: String,
    port: PortNum,
    guid: Guid,
    link: Arc<Link>,
    agents: Vec<(u8, Agent)>,
    inbox: UnboundedReceiver<Word>,
    reader: Option<JoinHandle<()>>,
    began: Instant,
    transactions: Transactions,
    answer_ms: u32,
    lmc: Lmc,
    counts: UmadCounts,
    /// Open as long as the port is.
    _issm: Option<IssmDevice>,
}

/// State shared by thread and task.
struct Link {
    library: Library,
    handle: PortHandle,
    ending: AtomicBool,
}

/// A message from the thread to the task.
enum Word {
    Mad(Datagram),
    GivenUp,
    Short,
    Closed(String),
}

impl Umad {
    /// The InfiniBand adapters of this machine.
    ///
    /// # Errors
    /// The library is missing, or the kernel does not describe an adapter.
    pub fn list() -> Result<Vec<Adapter>, UmadError> {
        adapters_of(&Library::load().map_err(UmadError::library)?)
    }

    /// Opens a port.
    ///
    /// # Errors
    /// No library, no such port, no permission, a kernel without user MADs, or another manager on this port.
    pub fn open(options: &UmadOptions) -> Result<Umad, UmadError> {
        let library = Library::load().map_err(UmadError::library)?;
        let found = adapters_of(&library)?;
        let (adapter, port) = adapters::choose(&found, options.adapter.as_deref(), options.port)?;
        let guid = found
            .iter()
            .find(|known| known.name == adapter)
            .and_then(|known| known.ports.iter().find(|known| known.number == port).map(|known| known.guid));
        let handle = library.open_port(&adapter, port).map_err(|error| UmadError::open(&adapter, port, error))?;
        // From here on the port is closed by `Link`, whatever fails.
        let link = Arc::new(Link { library, handle, ending: AtomicBool::new(false) });
        let agents = register(&link, options.role)
            .map_err(|(class, error)| UmadError::register(&adapter, port, class, error))?;
        let issm = match options.role {
            UmadRole::Client => None,
            UmadRole::Manager => Some(announce(&link.library, &adapter, port)?),
        };
        let (sender, inbox) = unbounded_channel();
        let reader = std::thread::Builder::new()
            .name(format!("umad {adapter}/{port}"))
            .spawn({
                let link = Arc::clone(&link);
                move || read(&link, &sender)
            })
            .map_err(UmadError::Thread)?;
        Ok(Umad {
            adapter,
            port,
            guid: guid.unwrap_or_default(),
            link,
            agents,
            inbox,
            reader: Some(reader),
            began: Instant::now(),
            transactions: Transactions::new(2 * u64::from(options.answer_ms) * 1_000_000),
            answer_ms: options.answer_ms,
            lmc: Lmc::default(),
            counts: UmadCounts::default(),
            _issm: issm,
        })
    }

    /// The adapter's name.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// The port's number at its adapter.
    pub fn port(&self) -> PortNum {
        self.port
    }

    /// The port's GUID.
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Counts of MADs sent and received.
    pub fn counts(&self) -> UmadCounts {
        self.counts
    }

    /// Announces that the port answers to 2^`lmc` LIDs: MADs with a service level of the upper half then leave with the
    /// first LID of the upper half, so that SLID, DLID and SL of a path belong to one half. Before that, all leave with
    /// the base LID.
    pub fn set_lmc(&mut self, lmc: Lmc) {
        self.lmc = lmc;
    }

    fn agent(&self, bytes: &[u8; crate::wire::MAD_SIZE]) -> Result<Agent, TransportError> {
        let class = class_of(bytes);
        let agent = self.agents.iter().find(|(registered, _)| *registered == class);
        agent.map(|&(_, agent)| agent).ok_or_else(|| TransportError::Refused {
            attempted: format!("sending a MAD of class {class:#04x} through {} port {}", self.adapter, self.port),
            reason: "nothing is registered for that class; supported are 0x01, 0x81, 0x03 and 0x04".into(),
        })
    }

    fn path_bits(&self, datagram: &Datagram) -> u8 {
        // A base LID is a multiple of 2^LMC, so the bits of a LID of the port are its offset.
        let mask = self.lmc.lids() - 1;
        match datagram.from {
            Some(own) => (own.0 & mask) as u8,
            None if datagram.qp != 0 && Half::of_sl(datagram.sl) == Half::Upper => (self.lmc.lids() / 2) as u8,
            None => 0,
        }
    }

    /// Handles a message of the thread: a MAD to deliver, something to count, or the end.
    fn sort(&mut self, word: Word) -> Result<Option<Datagram>, TransportError> {
        match word {
            Word::Mad(mut datagram) => {
                let open = self.transactions.incoming(&mut datagram.bytes);
                *if open { &mut self.counts.received } else { &mut self.counts.stray } += 1;
                return Ok(open.then_some(datagram));
            }
            Word::GivenUp => self.counts.given_up += 1,
            Word::Short => self.counts.short += 1,
            Word::Closed(reason) => return Err(TransportError::Closed(reason)),
        }
        Ok(None)
    }

    /// The next message, or none when the time has come.
    async fn next_word(&mut self, until_ns: u64) -> Option<Word> {
        if let Ok(word) = self.inbox.try_recv() {
            return Some(word);
        }
        let deadline = self.began.checked_add(Duration::from_nanos(until_ns)).filter(|_| until_ns != u64::MAX);
        let word = match deadline {
            None => self.inbox.recv().await,
            Some(deadline) => tokio::time::timeout_at(deadline.into(), self.inbox.recv()).await.ok()?,
        };
        // The thread gives a reason before it ends; without one, it was ended from here.
        Some(word.unwrap_or_else(|| Word::Closed(format!("{} port {} was closed", self.adapter, self.port))))
    }
}

#[async_trait(?Send)]
impl Transport for Umad {
    fn answers_to(&mut self, lmc: Lmc) {
        self.set_lmc(lmc);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    async fn send(&mut self, mut datagram: Datagram) -> Result<(), TransportError> {
        let agent = self.agent(&datagram.bytes)?;
        let path_bits = self.path_bits(&datagram);
        let now_ns = self.now_ns();
        let asks = self.transactions.outgoing(&mut datagram.bytes, now_ns);
        let Datagram { lid, qp, sl, bytes, .. } = datagram;
        let out = Outgoing {
            bytes: &bytes,
            lid,
            qp,
            qkey: if qp == 0 { 0 } else { GSI_QKEY },
            sl,
            path_bits,
            answer_ms: if asks { self.answer_ms } else { 0 },
        };
        let sent = self.link.library.send(self.link.handle, agent, &out);
        match sent {
            Ok(()) => self.counts.sent += 1,
            Err(error) if is_full(&error) => {
                self.counts.refused += 1;
                tracing::warn!(adapter = %self.adapter, port = %self.port, %error, "the kernel did not accept a MAD");
            }
            Err(error) => return Err(TransportError::Closed(error::gone(&self.adapter, self.port, &error))),
        }
        Ok(())
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        while let Some(word) = self.next_word(until_ns).await {
            if let Some(datagram) = self.sort(word)? {
                return Ok(Some(datagram));
            }
        }
        Ok(None)
    }
}

impl Drop for Umad {
    fn drop(&mut self) {
        self.link.ending.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // A thread that panicked has already reported it.
            let _ = reader.join();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.library.close_port(self.handle);
    }
}

fn adapters_of(library: &Library) -> Result<Vec<Adapter>, UmadError> {
    let names = library.adapter_names().map_err(UmadError::List)?;
    let described = names.into_iter().map(|name| match library.adapter(&name) {
        Ok(adapter) => Ok(Some(adapter)),
        // If there is none, the library invents a name; and an adapter may disappear between the two calls.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(UmadError::Describe { adapter: name, error }),
    });
    described.filter_map(Result::transpose).collect()
}

/// The unsolicited methods that a manager receives, by class: subnet management, then the SA. A client: none.
fn register(link: &Link, role: UmadRole) -> Result<Vec<(u8, Agent)>, (u8, io::Error)> {
    // Get, Set, Trap, Report, TrapRepress.
    const SUBNET: &[u8] = &[0x01, 0x02, 0x05, 0x06, 0x07];
    // Get, Set, GetTable, GetTraceTable, GetMulti, Delete.
    const SA: &[u8] = &[0x01, 0x02, 0x12, 0x13, 0x14, 0x15];
    let classes: [(u8, u8, &[u8]); 4] = [
        (class::SUBNET_DIRECTED, 1, SUBNET),
        (class::SUBNET_LID, 1, SUBNET),
        (CLASS_SA, 2, SA),
        (class::PERFORMANCE, 1, &[]),
    ];
    classes
        .into_iter()
        .map(|(class, version, methods)| {
            let methods = if role == UmadRole::Manager { methods } else { &[] };
            let agent = link.library.register(link.handle, class, version, methods);
            agent.map(|agent| (class, agent)).map_err(|error| (class, error))
        })
        .collect()
}

/// Announces that a subnet manager runs on the port.
fn announce(library: &Library, adapter: &str, port: PortNum) -> Result<IssmDevice, UmadError> {
    let path = library.issm_path(adapter, port).map_err(|error| UmadError::open(adapter, port, error))?;
    IssmDevice::open(&path).map_err(|error| UmadError::announce(adapter, port, path, error))
}

/// The thread: delivers MADs until it is asked to end or the port disappears.
fn read(link: &Link, inbox: &UnboundedSender<Word>) {
    while !link.ending.load(Ordering::Relaxed) {
        let word = match link.library.receive(link.handle, PATROL_MS) {
            Ok(UmadArrival::Nothing) => continue,
            Ok(UmadArrival::Mad(datagram)) => Word::Mad(datagram),
            Ok(UmadArrival::GivenUp) => Word::GivenUp,
            Ok(UmadArrival::Short) => Word::Short,
            Err(error) => Word::Closed(format!("reading MADs failed: {error}")),
        };
        let last = matches!(word, Word::Closed(_));
        // A closed channel means that the port was dropped.
        if inbox.send(word).is_err() || last {
            return;
        }
    }
}

/// Returns whether the kernel merely had no room, or a request of this number is still open there.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::OutOfMemory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::Interrupted
    )
}
