//! The manager's side of the control socket.

use super::message::{ControlEvent, ControlOrder, EventKind, Fault, KEPT_EVENTS, Reply};
use crate::shares::{Admitted, ConnectionShares};
use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

/// The most events kept for a slow listener.
const BACKLOG: usize = 1_024;
/// Connections at a time, shared by the processes that open them; more are refused.
pub const MOST_CONNECTIONS: usize = 64;
/// The most bytes of an order.
const LONGEST_LINE: u64 = 64 * 1_024;

/// How long the manager waits for a client before it closes the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientLimits {
    /// Between the first byte of an order and its last.
    pub order: Duration,
    /// Between two orders.
    pub idle: Duration,
    /// While the client takes no byte of what is sent to it.
    pub stalled: Duration,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        let [order, idle, stalled] = [10, 600, 60].map(Duration::from_secs);
        ClientLimits { order, idle, stalled }
    }
}

/// Why the control socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Another manager owns the socket.
    #[error("the control socket {} belongs to a running manager: stop it, or choose another socket with --socket", path.display())]
    Taken {
        /// The socket.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot create the control socket {}: {attempted}: {error}", path.display())]
    Files {
        /// The socket.
        path: PathBuf,
        /// The operation.
        attempted: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// An order, and the way back to its sender.
#[derive(Debug)]
pub struct ControlRequest {
    /// The order.
    pub order: ControlOrder,
    /// Where to reply.
    pub answers: Answers,
}

/// The way back to the sender of an order. If it is dropped without an answer, the sender learns that the manager ended
/// first.
#[derive(Debug)]
pub struct Answers {
    sender: mpsc::UnboundedSender<Reply>,
    answered: bool,
}

impl Answers {
    /// Both ends of a reply channel.
    pub fn channel() -> (Answers, mpsc::UnboundedReceiver<Reply>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Answers { sender, answered: false }, receiver)
    }

    /// Sends an event before the answer.
    pub fn event(&self, event: ControlEvent) {
        // The client may be gone; the order still stands.
        let _ = self.sender.send(Reply::Event(event));
    }

    /// Sends the answer.
    pub fn finish(mut self, reply: Reply) {
        self.answered = true;
        let _ = self.sender.send(reply);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if !self.answered {
            let reason = "the manager ended before it answered; whether it carried out the order is unknown";
            let _ = self.sender.send(Reply::refused(Fault::State, reason));
        }
    }
}

/// Events for all who listen, and the latest of them for those who begin to listen later.
#[derive(Clone, Debug)]
pub struct EventFeed {
    listeners: broadcast::Sender<ControlEvent>,
    /// The oldest first. Whoever sends or begins to listen holds the lock meanwhile, so that a new listener gets every
    /// event once.
    kept: Arc<Mutex<VecDeque<ControlEvent>>>,
}

impl Default for EventFeed {
    fn default() -> EventFeed {
        EventFeed { listeners: broadcast::Sender::new(BACKLOG), kept: Arc::default() }
    }
}

impl EventFeed {
    /// Sends an event to all who listen; there may be nobody.
    pub fn send(&self, event: ControlEvent) {
        let mut kept = self.kept();
        if kept.len() == KEPT_EVENTS {
            kept.pop_front();
        }
        kept.push_back(event.clone());
        let _ = self.listeners.send(event);
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.listeners.receiver_count()
    }

    /// Begins to listen: the latest events so far, at most so many, the oldest first, and all that follow.
    fn listen(&self, last: usize) -> (Vec<ControlEvent>, broadcast::Receiver<ControlEvent>) {
        let kept = self.kept();
        let before = kept.iter().skip(kept.len().saturating_sub(last)).cloned().collect();
        (before, self.listeners.subscribe())
    }

    /// Events are whole whoever panicked.
    fn kept(&self) -> MutexGuard<'_, VecDeque<ControlEvent>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bound socket; dropping it removes the file.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    requests: mpsc::UnboundedSender<ControlRequest>,
    events: EventFeed,
    limits: ClientLimits,
    /// Locked for as long as the socket is ours; the kernel releases the lock however the process ends.
    _lock: File,
}

impl Control {
    /// Creates the socket, replacing one that a dead manager left. Orders come through the channel.
    ///
    /// # Errors
    /// Another manager owns the socket, or the directory is not writable.
    pub fn bind(path: &Path) -> Result<(Control, mpsc::UnboundedReceiver<ControlRequest>), ControlError> {
        let lock = lock(path)?;
        let failed = |attempted| move |error| ControlError::Files { path: path.to_path_buf(), attempted, error };
        // Created under another name, and renamed only once no other user may open it.
        let fresh = beside(path, ".new");
        remove(&fresh).map_err(failed("removing what an earlier start left"))?;
        let listener = UnixListener::bind(&fresh).map_err(failed("binding it"))?;
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600))
            .map_err(failed("restricting its permissions"))?;
        std::fs::rename(&fresh, path).map_err(failed("renaming it into place"))?;
        let (requests, receiver) = mpsc::unbounded_channel();
        let (events, limits) = (EventFeed::default(), ClientLimits::default());
        let control = Control { listener, path: path.to_path_buf(), requests, events, limits, _lock: lock };
        Ok((control, receiver))
    }

    /// The same socket, which waits for clients as long as this.
    #[must_use]
    pub fn with_limits(mut self, limits: ClientLimits) -> Control {
        self.limits = limits;
        self
    }

    /// Where to send events.
    pub fn events(&self) -> EventFeed {
        self.events.clone()
    }

    /// Serves connections until dropped. Spawn it on a runtime.
    pub async fn serve(self) {
        let room = ConnectionShares::new(MOST_CONNECTIONS);
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let Some(room) = room.admit(process(&stream)) else {
                        tokio::spawn(refuse(stream, self.limits));
                        continue;
                    };
                    let (requests, events, limits) = (self.requests.clone(), self.events.clone(), self.limits);
                    tokio::spawn(Connection { requests, events, limits, _room: room }.serve(stream));
                }
                Err(error) => {
                    // Usually out of descriptors; those in use are freed again.
                    tracing::warn!(%error, "accepting a connection to the control socket");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // At worst a stale socket stays, which the next start replaces.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Locks the file beside the socket: the lock's holder owns the socket.
fn lock(path: &Path) -> Result<File, ControlError> {
    let failed = |attempted| move |error| ControlError::Files { path: path.to_path_buf(), attempted, error };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed("creating its directory"))?;
    }
    let options = File::options().create(true).truncate(false).write(true).open(beside(path, ".lock"));
    let file = options.map_err(failed("opening its lock file"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ControlError::Taken { path: path.to_path_buf() }),
        Err(TryLockError::Error(error)) => Err(failed("locking it")(error)),
    }
}

/// The path with `suffix` appended.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The process that opened a connection; 0 where the system does not report it.
fn process(stream: &UnixStream) -> i32 {
    stream.peer_cred().ok().and_then(|peer| peer.pid()).unwrap_or_default()
}

struct Connection {
    requests: mpsc::UnboundedSender<ControlRequest>,
    events: EventFeed,
    limits: ClientLimits,
    _room: Admitted<i32>,
}

/// Tells a client that there is no room for it.
async fn refuse(stream: UnixStream, limits: ClientLimits) {
    let (_, mut writer) = stream.into_split();
    let reason =
        format!("this process has its share of {MOST_CONNECTIONS} connections, or all are open: close one of them");
    // It may be gone.
    let _ = say(&mut writer, &Reply::refused(Fault::State, reason), limits).await;
}

impl Connection {
    async fn serve(self, stream: UnixStream) {
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        // A broken connection just ends: there is no client to report it to.
        let _ = self.answer_all(&mut reader, &mut writer).await;
    }

    async fn answer_all(&self, reader: &mut BufReader<OwnedReadHalf>, writer: &mut OwnedWriteHalf) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if timeout(self.limits.idle, reader.fill_buf()).await??.is_empty() {
                return Ok(());
            }
            let read =
                timeout(self.limits.order, (&mut *reader).take(LONGEST_LINE).read_until(b'\n', &mut line)).await??;
            if read as u64 == LONGEST_LINE {
                let reason = format!("an order has at most {LONGEST_LINE} bytes; the connection is closed");
                return say(writer, &Reply::refused(Fault::Request, reason), self.limits).await;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(ControlOrder::Events { last }) => return self.send_events(last as usize, reader, writer).await,
                Ok(order) => self.pass_on(order, writer).await?,
                Err(error) => {
                    let reason = format!("not an order: {error}; expected one such as {{\"request\":\"status\"}}");
                    say(writer, &Reply::refused(Fault::Request, reason), self.limits).await?;
                }
            }
        }
    }

    /// Passes an order to the manager and its replies to the client.
    async fn pass_on(&self, order: ControlOrder, writer: &mut OwnedWriteHalf) -> io::Result<()> {
        let (answers, mut replies) = Answers::channel();
        // If the manager takes no more orders, dropping the request answers it.
        let _ = self.requests.send(ControlRequest { order, answers });
        while let Some(reply) = replies.recv().await {
            say(writer, &reply, self.limits).await?;
        }
        Ok(())
    }

    /// Sends the latest events, then those to come until the listener hangs up or the manager ends.
    async fn send_events(
        &self,
        last: usize,
        reader: &mut BufReader<OwnedReadHalf>,
        writer: &mut OwnedWriteHalf,
    ) -> io::Result<()> {
        let (before, mut events) = self.events.listen(last);
        say(writer, &Reply::Done { text: "listening".to_string() }, self.limits).await?;
        for event in before {
            say(writer, &Reply::Event(event), self.limits).await?;
        }
        let mut ignored = [0; 64];
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                read = reader.read(&mut ignored) => match read? {
                    0 => return Ok(()),
                    _ => continue,
                },
            };
            match event {
                Ok(event) => say(writer, &Reply::Event(event), self.limits).await?,
                Err(RecvError::Lagged(missed)) => {
                    say(writer, &Reply::Event(ControlEvent::at(0, EventKind::Missed { events: missed })), self.limits)
                        .await?;
                }
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

async fn say(writer: &mut OwnedWriteHalf, reply: &Reply, limits: ClientLimits) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut rest = &line[..];
    while !rest.is_empty() {
        let sent = timeout(limits.stalled, writer.write(rest)).await??;
        rest = &rest[sent..];
    }
    Ok(())
}
