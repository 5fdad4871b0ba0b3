//! The server's sockets: one for calls, one for the MADs of each client.
//!
//! Reading never waits. A MAD for a client whose queue is full is kept and sent later, in order; a client whose socket is
//! gone is told as dead. Nothing here knows what a datagram means.

use super::protocol::{self, CALL_SIZE, PACKET_SIZE};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;

/// More than any datagram of the protocol, so that longer ones are seen to be too long.
const ROOM: usize = 512;

/// What came in by a socket.
#[derive(Debug)]
pub enum Incoming {
    /// A call, and where to answer it.
    Call(Vec<u8>, SocketAddr),
    /// A MAD of a client.
    Packet(u32, Vec<u8>),
}

/// All sockets of a server.
pub struct Sockets {
    name: String,
    control: AsyncFd<UnixDatagram>,
    clients: BTreeMap<u32, ClientSocket>,
}

struct ClientSocket {
    socket: AsyncFd<UnixDatagram>,
    address: SocketAddr,
    /// MADs that its queue had no room for.
    pending: VecDeque<[u8; PACKET_SIZE]>,
}

impl Sockets {
    /// Binds the control socket. Needs a tokio runtime.
    ///
    /// # Errors
    /// Another server has this name.
    pub fn bind(name: &str) -> io::Result<Sockets> {
        let control = bound(&protocol::control_address(name)?)?;
        Ok(Sockets { name: name.to_string(), control, clients: BTreeMap::new() })
    }

    /// Opens a client's data socket.
    ///
    /// # Errors
    /// The process has no socket of its own, or ours cannot be bound.
    pub fn open(&mut self, client: u32, process: u32) -> io::Result<()> {
        let address = protocol::client_address(&self.name, process)?;
        let socket = bound(&protocol::server_address(&self.name, client)?)?;
        socket.get_ref().connect_addr(&address)?;
        self.clients.insert(client, ClientSocket { socket, address, pending: VecDeque::new() });
        Ok(())
    }

    /// Closes a client's data socket.
    pub fn close(&mut self, client: u32) {
        self.clients.remove(&client);
    }

    /// Whether a client has no socket any more: its process has ended without a word. A living client's socket is connected
    /// to ours, and refuses any other; a dead one's name is nobody's.
    pub fn is_dead(&self, client: u32) -> bool {
        let Some(client) = self.clients.get(&client) else { return true };
        let probe = UnixDatagram::unbound().and_then(|probe| probe.connect_addr(&client.address));
        probe.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    }

    /// Answers a call. What the caller does not take is lost, like any datagram.
    pub fn answer(&self, bytes: &[u8; CALL_SIZE], to: &SocketAddr) {
        if let Err(error) = self.control.get_ref().send_to_addr(bytes, to) {
            tracing::warn!("answering a call from {:?}: {error}", to.as_abstract_name().map(String::from_utf8_lossy));
        }
    }

    /// Sends a client a MAD, behind those that wait. False when the client is dead.
    pub fn send(&mut self, client: u32, bytes: [u8; PACKET_SIZE]) -> bool {
        let Some(socket) = self.clients.get_mut(&client) else { return true };
        socket.pending.push_back(bytes);
        socket.flush()
    }

    /// Sends what waits; tells who is dead.
    pub fn flush(&mut self) -> Vec<u32> {
        let sent = self.clients.iter_mut().filter(|(_, client)| !client.pending.is_empty());
        sent.filter_map(|(&id, client)| (!client.flush()).then_some(id)).collect()
    }

    /// What has come and was not read, at most `most` datagrams of each socket.
    pub fn read(&self, most: usize) -> Vec<Incoming> {
        let mut all = Vec::new();
        let calls = std::iter::from_fn(|| self.read_call());
        all.extend(calls.take(most));
        for &client in self.clients.keys() {
            let packets = std::iter::from_fn(|| self.read_packet(client));
            all.extend(packets.take(most));
        }
        all
    }

    fn read_call(&self) -> Option<Incoming> {
        let mut bytes = [0; ROOM];
        let (length, from) = self.control.get_ref().recv_from(&mut bytes).ok()?;
        Some(Incoming::Call(bytes[..length].to_vec(), from))
    }

    fn read_packet(&self, client: u32) -> Option<Incoming> {
        let mut bytes = [0; ROOM];
        let length = self.clients.get(&client)?.socket.get_ref().recv(&mut bytes).ok()?;
        Some(Incoming::Packet(client, bytes[..length].to_vec()))
    }

    /// Ready with the next datagram, whichever socket it came by, or when a client takes MADs again.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Incoming>> {
        if let Poll::Ready(call) = readable(&self.control, context, || self.read_call()) {
            return Poll::Ready(Some(call));
        }
        for (&id, client) in &self.clients {
            if let Poll::Ready(packet) = readable(&client.socket, context, || self.read_packet(id)) {
                return Poll::Ready(Some(packet));
            }
            if !client.pending.is_empty() && writable(&client.socket, context) {
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }
}

impl ClientSocket {
    /// Sends what waits, as far as there is room. False when nobody is there.
    fn flush(&mut self) -> bool {
        while let Some(bytes) = self.pending.front() {
            match self.socket.get_ref().send(bytes) {
                Ok(_) => self.pending.pop_front(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) => {
                    tracing::debug!("sending to a client: {error}");
                    return false;
                }
            };
        }
        true
    }
}

fn bound(address: &SocketAddr) -> io::Result<AsyncFd<UnixDatagram>> {
    let socket = UnixDatagram::bind_addr(address)?;
    socket.set_nonblocking(true)?;
    AsyncFd::new(socket)
}

/// Reads once the socket is readable. A socket that was read empty is watched again.
fn readable(
    socket: &AsyncFd<UnixDatagram>,
    context: &mut Context<'_>,
    read: impl Fn() -> Option<Incoming>,
) -> Poll<Incoming> {
    while let Poll::Ready(Ok(mut guard)) = socket.poll_read_ready(context) {
        match read() {
            Some(incoming) => return Poll::Ready(incoming),
            None => guard.clear_ready(),
        }
    }
    Poll::Pending
}

/// Whether the socket takes datagrams. The kernel tells readiness to write of a datagram socket by its own buffer, not by
/// the other's queue: where that is full, this is asked again soon.
fn writable(socket: &AsyncFd<UnixDatagram>, context: &mut Context<'_>) -> bool {
    matches!(socket.poll_write_ready(context), Poll::Ready(Ok(_)))
}
