//! ibsim: a simulated subnet that OpenSM treats as a real one, and one MAD client of it.
//!
//! Source of the protocol: ibsim's `include/ibsim.h`. Local sockets in the abstract name space: `NAME:ctl` takes
//! 80-byte requests (magic, client, kind, length, 64 bytes of data, in the host's order), `NAME:outN` takes the MADs of
//! client N in 288-byte frames (DLID, SLID, destination and source queue pair, status, length, the MAD; in network
//! order). The server sends to `NAME:inID`, where the client chose ID. Every name ends with a zero byte.

use crate::process::background::Background;
use crate::process::wait_for::wait_for;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long ibsim may take to load a fabric or to answer.
const LIMIT: Duration = Duration::from_secs(30);
const MAGIC: u32 = 0xdead_beef;
const CONNECT: u32 = 1;
const GET_PORT: u32 = 3;
/// Bytes of a request, of its data, and of a frame.
const CONTROL_BYTES: usize = 80;
const DATA_BYTES: usize = 64;
const FRAME_BYTES: usize = 288;
/// Where the MAD begins in a frame, and how long it is.
const MAD_AT: usize = 32;
pub const MAD_BYTES: usize = 256;
/// The queue pair of the subnet administrator, and any number above it for a client.
const SA_QP: u32 = 1;
const CLIENT_QP: u32 = 2;
/// The client's identifier: distinct from the process numbers that umad2sim uses.
const CLIENT: u32 = 1;

/// ibsim over one fabric; dropping the value ends it.
pub struct Ibsim {
    pub socket: String,
    _server: Background,
}

impl Ibsim {
    /// ibsim over a net file, ready.
    pub fn start(net: &Path, folder: &Path, socket: String) -> Result<Ibsim, String> {
        let (printed, said) = (folder.join("ibsim.out"), folder.join("ibsim.err"));
        let mut command = Command::new("ibsim");
        command.args(["-s", "-n", "-N", "40000", "-S", "4000", "-P", "400000"]).arg(net);
        command.env("IBSIM_SOCKNAME", &socket);
        let mut server = Background::start(&mut command, &printed, &said).map_err(|error| format!("ibsim: {error}"))?;
        wait_for(&mut server, "Network simulator ready", &printed, LIMIT).map_err(|why| format!("ibsim: {why}"))?;
        Ok(Ibsim { socket, _server: server })
    }
}

/// A client at ibsim's default node, at which OpenSM runs too.
pub struct Client {
    frames: UnixDatagram,
    /// LID of that node's port 0.
    lid: u16,
}

impl Client {
    pub fn attach(ibsim: &Ibsim) -> io::Result<Client> {
        let name = |end: &str| SocketAddr::from_abstract_name(format!("{}:{end}\0", ibsim.socket));
        let control = UnixDatagram::bind_addr(&name(&format!("ctl{CLIENT}"))?)?;
        control.connect_addr(&name("ctl")?)?;
        let frames = UnixDatagram::bind_addr(&name(&format!("in{CLIENT}"))?)?;
        for socket in [&control, &frames] {
            socket.set_read_timeout(Some(LIMIT))?;
        }
        let wish = words([CLIENT, CLIENT_QP, 0]);
        let number = first_word(&request(&control, 0, CONNECT, &wish)?);
        frames.connect_addr(&name(&format!("out{number}"))?)?;
        let port = request(&control, number, GET_PORT, &[])?;
        Ok(Client { frames, lid: u16::from_ne_bytes([port[0], port[1]]) })
    }

    /// How long [`Client::receive`] waits.
    pub fn wait_at_most(&self, limit: Duration) -> io::Result<()> {
        self.frames.set_read_timeout(Some(limit))
    }

    /// Sends a MAD to the subnet administrator at the same node.
    pub fn send(&self, mad: &[u8; MAD_BYTES]) -> io::Result<()> {
        let mut frame = [0; FRAME_BYTES];
        frame[..2].copy_from_slice(&self.lid.to_be_bytes());
        frame[8..12].copy_from_slice(&SA_QP.to_be_bytes());
        frame[12..16].copy_from_slice(&CLIENT_QP.to_be_bytes());
        frame[24..MAD_AT].copy_from_slice(&(MAD_BYTES as u64).to_be_bytes());
        frame[MAD_AT..].copy_from_slice(mad);
        uninterrupted(|| self.frames.send(&frame)).map(|_| ())
    }

    /// The next MAD; none if nothing came in time.
    pub fn receive(&self) -> io::Result<Option<[u8; MAD_BYTES]>> {
        let mut frame = [0; FRAME_BYTES];
        match uninterrupted(|| self.frames.recv(&mut frame)) {
            Ok(_) => Ok(frame[MAD_AT..].try_into().ok()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The same again after a signal: a socket with a time limit does not begin anew by itself.
fn uninterrupted<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Sends the server a request, and returns the answer.
fn request(control: &UnixDatagram, client: u32, kind: u32, data: &[u8]) -> io::Result<[u8; DATA_BYTES]> {
    let mut text = [0; CONTROL_BYTES];
    text[..16].copy_from_slice(&words([MAGIC, client, kind, data.len() as u32]));
    text[16..16 + data.len()].copy_from_slice(data);
    uninterrupted(|| control.send(&text))?;
    let length = uninterrupted(|| control.recv(&mut text))?;
    if length != CONTROL_BYTES || first_word(&text[8..]) != kind {
        return Err(io::Error::other(format!("ibsim refuses request {kind} of client {client}")));
    }
    let mut answer = [0; DATA_BYTES];
    answer.copy_from_slice(&text[16..]);
    Ok(answer)
}

fn words<const N: usize>(values: [u32; N]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn first_word(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}
