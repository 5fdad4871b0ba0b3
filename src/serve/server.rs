//! The server's loop: sockets, simulated time, commands.
//!
//! One task. While a MAD is under way, or simulated time is owed, the simulation runs in slices of about a tenth of a
//! millisecond of real time, and the sockets are read between them; otherwise the task sleeps until something comes or
//! time is owed again. The clock of the machine is read here and nowhere else.

use super::command::CommandOutput;
use super::console::{self, ConsoleCommand};
use super::error::ServeError;
use super::pacer::Pacer;
use super::protocol::{CALL_SIZE, Call, SimDatagram};
use super::record::LandingRecord;
use super::sockets::{Incoming, Sockets};
use super::status::ServeStatus;
use super::switchboard::{ClientChange, Switchboard};
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// Datagrams read of one socket before the others have their turn.
const MOST_READ: usize = 64;

/// Real time that a slice of simulation should take.
const SLICE: Duration = Duration::from_micros(100);

/// Least and most simulated time of a slice, in nanoseconds.
const SLICE_NS: (u64, u64) = (100, 1_000_000);

/// Real time between looks at the clock while nothing happens.
const TICK: Duration = Duration::from_millis(1);

/// Real time between checks for dead clients.
const ROUND: Duration = Duration::from_secs(1);

/// What a server is to do.
#[derive(Clone, PartialEq, Debug)]
pub struct ServeOptions {
    /// The name of its sockets, as `IBSIM_SOCKNAME` gives it to clients.
    pub name: String,
    /// Where it takes commands, if anywhere: the path of a Unix socket.
    pub control: Option<PathBuf>,
    /// Whether it takes commands on standard input.
    pub console: bool,
    /// Simulated nanoseconds that pass in a real one while no MAD is under way, 0 to 1.
    pub speed: f64,
    /// Where writes of forwarding tables and commands are recorded in the order in which they take effect, if anywhere.
    pub record: Option<PathBuf>,
}

/// A line that was typed or sent, and where the reply goes.
type Line = (String, oneshot::Sender<String>);

/// A server, its sockets bound: clients may connect.
pub struct Server {
    board: Switchboard,
    sockets: Sockets,
    pace: Pacer,
    lines: mpsc::UnboundedReceiver<Line>,
    /// Keeps `lines` open where no other sender does.
    _typed: mpsc::UnboundedSender<Line>,
    signals: [Signal; 2],
    control: Option<ControlPath>,
    record: Option<LandingRecord>,
    began: Instant,
    looked: Instant,
    counted: Instant,
    gave_way: Instant,
    slice_ns: u64,
}

/// The path of the control socket, removed at the end.
struct ControlPath(PathBuf);

impl Drop for ControlPath {
    fn drop(&mut self) {
        // Another process may have removed it; nothing is left to do then.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What ended a wait.
enum Wake {
    Incoming(Incoming),
    Line(Line),
    Signal,
    Tick,
}

impl Server {
    /// Binds the sockets. Needs a tokio runtime with I/O and time, of one thread.
    ///
    /// # Errors
    /// A name or path is taken.
    pub fn bind(mut board: Switchboard, options: &ServeOptions) -> Result<Server, ServeError> {
        let name = |source| ServeError::Name { name: options.name.clone(), source };
        let sockets = Sockets::bind(&options.name).map_err(name)?;
        let (typed, lines) = mpsc::unbounded_channel();
        let control = options.control.as_deref().map(|path| listen(path, &typed)).transpose()?;
        if options.console {
            read_console(typed.clone());
        }
        let record = options.record.as_deref().map(LandingRecord::begin).transpose()?;
        if record.is_some() {
            board.sim_mut().record_table_writes();
        }
        let watch = |kind| signal(kind).map_err(ServeError::Signals);
        let now = Instant::now();
        Ok(Server {
            board,
            sockets,
            pace: Pacer::new(options.speed),
            lines,
            _typed: typed,
            signals: [watch(SignalKind::interrupt())?, watch(SignalKind::terminate())?],
            control,
            record,
            began: now,
            looked: now,
            counted: now,
            gave_way: now,
            slice_ns: SLICE_NS.0,
        })
    }

    /// Serves until a command or signal ends it, and returns the last counts.
    pub async fn run(mut self) -> ServeStatus {
        loop {
            for incoming in self.sockets.read(MOST_READ) {
                self.take(incoming);
            }
            self.count_time();
            let wake = match self.simulate() {
                true => {
                    self.send();
                    self.give_way().await
                }
                false => self.wait().await,
            };
            let quits = match wake {
                Wake::Incoming(incoming) => {
                    self.take(incoming);
                    false
                }
                Wake::Line((line, reply)) => self.obey(&line, reply),
                Wake::Signal => true,
                Wake::Tick => false,
            };
            if quits {
                drop(self.control.take());
                return self.status();
            }
        }
    }

    /// The counts at this moment.
    fn status(&self) -> ServeStatus {
        ServeStatus::of(&self.board, self.pace.times())
    }

    fn real_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Accounts for the real time since the last look.
    fn count_time(&mut self) {
        let now = Instant::now();
        let passed = now.duration_since(self.counted).as_nanos() as u64;
        self.counted = now;
        self.pace.elapse(passed, self.board.under_way_until().is_some());
        if now.duration_since(self.looked) >= ROUND {
            self.looked = now;
            self.bury();
        }
    }

    /// Lets one slice of simulated time pass. False where none is to pass.
    fn simulate(&mut self) -> bool {
        let now_ns = self.board.sim().now_ns();
        let under_way = self.board.under_way_until();
        let until = under_way.unwrap_or(now_ns + self.pace.due_ns()).min(now_ns + self.slice_ns);
        if until == now_ns {
            self.board.settle(self.real_ns());
            self.send();
            return false;
        }
        let real_ns = self.real_ns();
        let start = Instant::now();
        let passed = self.board.run(until, real_ns);
        if let Some(record) = &mut self.record {
            record.writes(&mut self.board);
        }
        self.pace.pass(passed, under_way.is_some());
        let took = start.elapsed();
        let wanted = if took > SLICE { self.slice_ns / 2 } else { self.slice_ns * 2 };
        self.slice_ns = wanted.clamp(SLICE_NS.0, SLICE_NS.1);
        true
    }

    /// Hands clients what came for them.
    fn send(&mut self) {
        for (client, packet) in self.board.outgoing() {
            if !self.sockets.send(client, packet.encode()) {
                self.close(client);
            }
        }
    }

    fn close(&mut self, client: u32) {
        self.board.disconnect(client);
        self.sockets.close(client);
    }

    /// Closes the sockets of clients that ended without disconnecting.
    fn bury(&mut self) {
        let all: Vec<u32> = self.board.clients().iter().map(|(id, _)| id).collect();
        for client in all {
            if self.sockets.is_dead(client) {
                self.close(client);
            }
        }
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Call(bytes, from) => self.take_call(&bytes, &from),
            Incoming::Packet(client, bytes) => match SimDatagram::decode(&bytes) {
                Some(packet) => self.board.packet(client, packet, self.real_ns()),
                None => tracing::warn!("client {client} sent {} bytes, and MADs have 288 here", bytes.len()),
            },
        }
    }

    fn take_call(&mut self, bytes: &[u8], from: &SocketAddr) {
        let Some(call) = Call::decode(bytes) else {
            return tracing::warn!("a call has {CALL_SIZE} bytes, and this has {}: it is ignored", bytes.len());
        };
        self.bury();
        let called = self.board.call(&call);
        let mut answer = called.answer;
        match called.change {
            Some(ClientChange::Opened { client, process }) => {
                if let Err(error) = self.sockets.open(client, process) {
                    tracing::warn!("opening the socket of process {process}: {error}");
                    self.close(client);
                    answer = call.refusal();
                }
            }
            Some(ClientChange::Closed(client)) => self.sockets.close(client),
            None => {}
        }
        self.sockets.answer(&answer.encode(), from);
    }

    /// Carries a line out and replies. Whether it was the last.
    fn obey(&mut self, line: &str, reply: oneshot::Sender<String>) -> bool {
        let answer = match ConsoleCommand::read(line) {
            Ok(None) => String::new(),
            Ok(Some(ConsoleCommand::Quit)) => {
                // The sender may be gone; the server ends regardless.
                let _ = reply.send(String::new());
                return true;
            }
            Ok(Some(ConsoleCommand::Help)) => console::HELP.to_string(),
            Ok(Some(ConsoleCommand::Status)) => {
                serde_json::to_string(&self.status()).expect("counts are all JSON can hold")
            }
            Ok(Some(command)) => match super::command::carry_out(&mut self.board, &command) {
                Ok(CommandOutput(text)) => {
                    if let Some(record) = &mut self.record {
                        record.command(&self.board, line);
                    }
                    text
                }
                Err(error) => format!("error: {error}"),
            },
            Err(error) => format!("error: {error}"),
        };
        // As above.
        let _ = reply.send(answer);
        false
    }

    /// Lets others have a turn now and then while the simulation runs, and returns what has come besides datagrams.
    async fn give_way(&mut self) -> Wake {
        if self.gave_way.elapsed() < TICK {
            return Wake::Tick;
        }
        self.gave_way = Instant::now();
        tokio::task::yield_now().await;
        if let Ok(line) = self.lines.try_recv() {
            return Wake::Line(line);
        }
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match self.signals.iter_mut().any(|signal| signal.poll_recv(&mut context).is_ready()) {
            true => Wake::Signal,
            false => Wake::Tick,
        }
    }

    /// Sleeps until something comes, a tick at most.
    async fn wait(&mut self) -> Wake {
        let Server { sockets, lines, signals, .. } = self;
        let woken = std::future::poll_fn(|context| {
            if let Poll::Ready(incoming) = sockets.poll(context) {
                return Poll::Ready(Wake::Incoming(incoming));
            }
            if let Poll::Ready(Some(line)) = lines.poll_recv(context) {
                return Poll::Ready(Wake::Line(line));
            }
            match signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
                true => Poll::Ready(Wake::Signal),
                false => Poll::Pending,
            }
        });
        tokio::time::timeout(TICK, woken).await.unwrap_or(Wake::Tick)
    }
}

/// Takes commands at a Unix socket, from as many as want, each line answered by a line or more and an empty one.
fn listen(path: &Path, typed: &mpsc::UnboundedSender<Line>) -> Result<ControlPath, ServeError> {
    let listener =
        UnixListener::bind(path).map_err(|source| ServeError::Control { path: path.to_path_buf(), source })?;
    let typed = typed.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, typed.clone()));
        }
    });
    Ok(ControlPath(path.to_path_buf()))
}

/// One conversation at the control socket; it ends when either side has gone.
async fn converse(stream: UnixStream, typed: mpsc::UnboundedSender<Line>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let (reply, replied) = oneshot::channel();
        if typed.send((line, reply)).is_err() {
            break;
        }
        let Ok(text) = replied.await else { break };
        write.write_all(format!("{text}\n\n").as_bytes()).await?;
    }
    Ok(())
}

/// Takes commands from standard input, in a thread of its own, which ends with the input or the process.
fn read_console(typed: mpsc::UnboundedSender<Line>) {
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let (reply, replied) = oneshot::channel();
            if typed.send((line, reply)).is_err() {
                return;
            }
            if let Ok(text) = replied.blocking_recv()
                && !text.is_empty()
            {
                println!("{text}");
            }
        }
    });
}
