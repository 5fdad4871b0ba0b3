//! The server's sockets: one for calls, one for the MADs of each client.
//!
//! Reading never waits. A MAD for a client whose socket has no room is kept and sent later, in order; a client whose
//! socket is gone is reported as dead. Nothing here knows what a datagram means.

use super::protocol::{self, CALL_SIZE, PACKET_SIZE};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::task::{Context, Poll};
use tokio::io::Interest;

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
    control: Watched,
    clients: BTreeMap<u32, ClientSocket>,
}

/// A socket, and a second handle on it by which tokio watches it: tokio's own knows no abstract names to send to.
struct Watched {
    socket: UnixDatagram,
    watch: tokio::net::UnixDatagram,
}

struct ClientSocket {
    watched: Watched,
    address: SocketAddr,
    /// MADs that there was no room for.
    pending: VecDeque<[u8; PACKET_SIZE]>,
}

impl Sockets {
    /// Binds the control socket. Needs a tokio runtime.
    ///
    /// # Errors
    /// Another server has this name.
    pub fn bind(name: &str) -> io::Result<Sockets> {
        let control = Watched::bind(&protocol::control_address(name)?)?;
        Ok(Sockets { name: name.to_string(), control, clients: BTreeMap::new() })
    }

    /// Opens a client's data socket.
    ///
    /// # Errors
    /// The process has no socket of its own, or ours cannot be bound.
    pub fn open(&mut self, client: u32, process: u32) -> io::Result<()> {
        let address = protocol::client_address(&self.name, process)?;
        let watched = Watched::bind(&protocol::server_address(&self.name, client)?)?;
        watched.socket.connect_addr(&address)?;
        self.clients.insert(client, ClientSocket { watched, address, pending: VecDeque::new() });
        Ok(())
    }

    /// Closes a client's data socket.
    pub fn close(&mut self, client: u32) {
        self.clients.remove(&client);
    }

    /// Whether a client has no socket any more: its process has ended without disconnecting. A living client's socket
    /// is connected to ours, and refuses any other; a dead one's name is free.
    pub fn is_dead(&self, client: u32) -> bool {
        let Some(client) = self.clients.get(&client) else { return true };
        let probe = UnixDatagram::unbound().and_then(|probe| probe.connect_addr(&client.address));
        probe.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    }

    /// Answers a call. What the caller does not take is lost, like any datagram.
    pub fn answer(&self, bytes: &[u8; CALL_SIZE], to: &SocketAddr) {
        if let Err(error) = self.control.socket.send_to_addr(bytes, to) {
            tracing::warn!("answering a call from {:?}: {error}", to.as_abstract_name().map(String::from_utf8_lossy));
        }
    }

    /// Sends a client a MAD, after those that wait. False when the client is dead.
    pub fn send(&mut self, client: u32, bytes: [u8; PACKET_SIZE]) -> bool {
        let Some(socket) = self.clients.get_mut(&client) else { return true };
        socket.pending.push_back(bytes);
        socket.flush()
    }

    /// What has come and was not read, at most `most` datagrams of each socket.
    pub fn read(&self, most: usize) -> Vec<Incoming> {
        let mut all: Vec<Incoming> = std::iter::from_fn(|| self.control.read_call().ok()).take(most).collect();
        for (&id, client) in &self.clients {
            all.extend(std::iter::from_fn(|| client.watched.read_packet(id).ok()).take(most));
        }
        all
    }

    /// Ready with the next datagram, whichever socket it came by. What waits for clients is sent as soon as it can be.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Incoming> {
        for client in self.clients.values_mut() {
            client.poll_flush(context);
        }
        let control = &self.control;
        if let Poll::Ready(call) = control.poll(context, || control.read_call()) {
            return Poll::Ready(call);
        }
        for (&id, client) in &self.clients {
            let watched = &client.watched;
            if let Poll::Ready(packet) = watched.poll(context, || watched.read_packet(id)) {
                return Poll::Ready(packet);
            }
        }
        Poll::Pending
    }
}

impl Watched {
    fn bind(address: &SocketAddr) -> io::Result<Watched> {
        let socket = UnixDatagram::bind_addr(address)?;
        socket.set_nonblocking(true)?;
        let watch = tokio::net::UnixDatagram::from_std(socket.try_clone()?)?;
        Ok(Watched { socket, watch })
    }

    fn read_call(&self) -> io::Result<Incoming> {
        let mut bytes = [0; ROOM];
        let (length, from) = self.socket.recv_from(&mut bytes)?;
        Ok(Incoming::Call(bytes[..length].to_vec(), from))
    }

    fn read_packet(&self, client: u32) -> io::Result<Incoming> {
        let mut bytes = [0; ROOM];
        let length = self.socket.recv(&mut bytes)?;
        Ok(Incoming::Packet(client, bytes[..length].to_vec()))
    }

    /// Reads once there is something. A socket that was read empty is watched again.
    fn poll(&self, context: &mut Context<'_>, read: impl Fn() -> io::Result<Incoming>) -> Poll<Incoming> {
        while self.watch.poll_recv_ready(context).is_ready() {
            if let Ok(incoming) = self.watch.try_io(Interest::READABLE, &read) {
                return Poll::Ready(incoming);
            }
        }
        Poll::Pending
    }
}

impl ClientSocket {
    /// Sends what is queued, as far as there is room. Returns false if there is no peer.
    fn flush(&mut self) -> bool {
        while let Some(bytes) = self.pending.front() {
            match self.watched.socket.send(bytes) {
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

    /// Sends what waits, and watches for room where there is too little. What the dead are sent is lost.
    fn poll_flush(&mut self, context: &mut Context<'_>) {
        while let Some(bytes) = self.pending.front()
            && self.watched.watch.poll_send_ready(context).is_ready()
        {
            let sent = self.watched.watch.try_io(Interest::WRITABLE, || self.watched.socket.send(bytes));
            if !sent.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                self.pending.pop_front();
            }
        }
    }
}
