//! What ibsim and its clients say to each other, byte for byte: names of sockets, calls on the control channel, and
//! MADs with their addresses on the data channels.
//!
//! All sockets are Unix datagram sockets with abstract names, each of which ends in a zero byte. A client calls from
//! `NAME:ctl<PID>` to `NAME:ctl` and gets the same 80 bytes back, filled in; its MADs go from `NAME:in<PID>` to
//! `NAME:out<ID>` and come back the same way, ID being what the call `Connect` gave it. Control is in the byte order
//! of the machine, addresses of MADs are in that of the network. Golden bytes are those of libumad2sim 0.10, as it
//! sent them. Not spoken: ibsim's remote mode (UDP).

use crate::ids::Lid;
use crate::wire::MAD_SIZE;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;

/// The default name under which clients look for a server (`IBSIM_SOCKNAME` sets it).
pub const DEFAULT_NAME: &str = "sim";

/// Bytes of a call.
pub const CALL_SIZE: usize = 80;

/// Bytes that a call carries.
pub const CALL_DATA_SIZE: usize = 64;

/// Bytes of a MAD with its addresses.
pub const PACKET_SIZE: usize = 288;

/// The status of an unanswered MAD: timed out (Linux's ETIMEDOUT).
pub const TIMED_OUT: u32 = 110;

const MAGIC: u32 = 0xDEAD_BEEF;

/// Offsets in a call.
mod call {
    use std::ops::Range;

    pub const MAGIC: usize = 0;
    pub const CLIENT: usize = 4;
    pub const KIND: usize = 8;
    pub const LENGTH: usize = 12;
    pub const DATA: Range<usize> = 16..80;
}

/// Offsets in what `Connect` carries.
mod connect {
    use std::ops::Range;

    pub const ID: usize = 0;
    pub const QP: usize = 4;
    pub const IS_SM: usize = 8;
    pub const NODE: Range<usize> = 12..44;
}

/// Offsets in a MAD with its addresses. Bytes 20–23 are unused.
mod packet {
    use std::ops::Range;

    pub const DLID: usize = 0;
    pub const SLID: usize = 4;
    pub const DQP: usize = 8;
    pub const SQP: usize = 12;
    pub const STATUS: usize = 16;
    pub const LENGTH: Range<usize> = 24..32;
    pub const MAD: Range<usize> = 32..288;
}

/// What a client asks for on the control channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// Only in answers: it was refused.
    Error,
    /// To be a client at a node.
    Connect,
    /// To be none any more.
    Disconnect,
    /// LID and state of its port.
    Port,
    /// Vendor, device and revision of its node.
    Vendor,
    /// The GID of its port.
    Gid,
    /// The GUID of its node.
    Guid,
    /// NodeInfo of the client's port.
    NodeInfo,
    /// PortInfo of a port of its node.
    PortInfo,
    /// To be the subnet manager at its port, or not any more.
    SetIsSm,
    /// The first partition keys of its port.
    PKeys,
    /// A kind that the protocol does not define.
    Unknown(u32),
}

impl From<u32> for CallKind {
    fn from(code: u32) -> CallKind {
        match code {
            0 => CallKind::Error,
            1 => CallKind::Connect,
            2 => CallKind::Disconnect,
            3 => CallKind::Port,
            4 => CallKind::Vendor,
            5 => CallKind::Gid,
            6 => CallKind::Guid,
            7 => CallKind::NodeInfo,
            8 => CallKind::PortInfo,
            9 => CallKind::SetIsSm,
            10 => CallKind::PKeys,
            code => CallKind::Unknown(code),
        }
    }
}

impl From<CallKind> for u32 {
    fn from(kind: CallKind) -> u32 {
        match kind {
            CallKind::Error => 0,
            CallKind::Connect => 1,
            CallKind::Disconnect => 2,
            CallKind::Port => 3,
            CallKind::Vendor => 4,
            CallKind::Gid => 5,
            CallKind::Guid => 6,
            CallKind::NodeInfo => 7,
            CallKind::PortInfo => 8,
            CallKind::SetIsSm => 9,
            CallKind::PKeys => 10,
            CallKind::Unknown(code) => code,
        }
    }
}

/// A call on the control channel, or the answer to one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Who calls; meaningless in `Connect`.
    pub client: u32,
    /// What for.
    pub kind: CallKind,
    /// How many bytes of `data` mean something.
    pub length: u32,
    /// Depends on the kind.
    pub data: [u8; CALL_DATA_SIZE],
}

impl Call {
    /// Reads a call; none where it has another length or does not begin as calls do.
    pub fn decode(bytes: &[u8]) -> Option<Call> {
        let bytes: &[u8; CALL_SIZE] = bytes.try_into().ok()?;
        if number(bytes, call::MAGIC) != MAGIC {
            return None;
        }
        let mut data = [0; CALL_DATA_SIZE];
        data.copy_from_slice(&bytes[call::DATA]);
        Some(Call {
            client: number(bytes, call::CLIENT),
            kind: number(bytes, call::KIND).into(),
            length: number(bytes, call::LENGTH),
            data,
        })
    }

    /// Writes the call.
    pub fn encode(&self) -> [u8; CALL_SIZE] {
        let mut bytes = [0; CALL_SIZE];
        put(&mut bytes, call::MAGIC, MAGIC);
        put(&mut bytes, call::CLIENT, self.client);
        put(&mut bytes, call::KIND, self.kind.into());
        put(&mut bytes, call::LENGTH, self.length);
        bytes[call::DATA].copy_from_slice(&self.data);
        bytes
    }

    /// The answer that carries `data`, zeroes after it. Panics beyond 64 bytes.
    pub fn answer(&self, data: &[u8]) -> Call {
        let mut all = [0; CALL_DATA_SIZE];
        all[..data.len()].copy_from_slice(data);
        Call { data: all, ..self.clone() }
    }

    /// The answer that refuses.
    pub fn refusal(&self) -> Call {
        Call { kind: CallKind::Error, ..self.clone() }
    }
}

/// What `Connect` carries, both ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connect {
    /// The client's process; in the answer, the client's ID.
    pub id: u32,
    /// The queue pair that it listens at; libumad2sim always says 0.
    pub qp: u32,
    /// It wants to be the subnet manager at its port.
    pub is_sm: bool,
    /// The node that it runs on; empty where it does not care. 31 bytes at most.
    pub node: String,
}

impl Connect {
    /// Reads what a call carries; bytes of the name that are no UTF-8 become U+FFFD.
    pub fn decode(data: &[u8; CALL_DATA_SIZE]) -> Connect {
        let name = &data[connect::NODE];
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        Connect {
            id: number(data, connect::ID),
            qp: number(data, connect::QP),
            is_sm: number(data, connect::IS_SM) != 0,
            node: String::from_utf8_lossy(&name[..end]).into_owned(),
        }
    }

    /// Writes it, the name cut to 31 bytes.
    pub fn encode(&self) -> [u8; CALL_DATA_SIZE] {
        let mut data = [0; CALL_DATA_SIZE];
        put(&mut data, connect::ID, self.id);
        put(&mut data, connect::QP, self.qp);
        put(&mut data, connect::IS_SM, self.is_sm.into());
        let name = self.node.as_bytes();
        let length = name.len().min(connect::NODE.len() - 1);
        data[connect::NODE][..length].copy_from_slice(&name[..length]);
        data
    }
}

/// What `Vendor` answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vendor {
    /// The vendor, an OUI.
    pub vendor: u32,
    /// Its number of the device.
    pub device: u32,
    /// Revision of the hardware.
    pub hardware: u32,
    /// Version of the firmware.
    pub firmware: u64,
}

impl Vendor {
    /// Writes it: four bytes of nothing go before the firmware.
    pub fn encode(&self) -> [u8; 24] {
        let mut data = [0; 24];
        put(&mut data, 0, self.vendor);
        put(&mut data, 4, self.device);
        put(&mut data, 8, self.hardware);
        data[16..].copy_from_slice(&self.firmware.to_ne_bytes());
        data
    }
}

/// A MAD with its addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimDatagram {
    /// To whom.
    pub dlid: Lid,
    /// From whom; of what a client sends, 0 says *from me*.
    pub slid: Lid,
    /// The queue pair it is for.
    pub dqp: u32,
    /// The queue pair it comes from.
    pub sqp: u32,
    /// 0, or why a client gets its own request back.
    pub status: u32,
    /// Bytes of the MAD that mean something.
    pub length: u64,
    /// The MAD.
    pub mad: Box<[u8; MAD_SIZE]>,
}

impl SimDatagram {
    /// Reads a packet; none where it has another length.
    pub fn decode(bytes: &[u8]) -> Option<SimDatagram> {
        let bytes: &[u8; PACKET_SIZE] = bytes.try_into().ok()?;
        let mut mad = Box::new([0; MAD_SIZE]);
        mad.copy_from_slice(&bytes[packet::MAD]);
        Some(SimDatagram {
            dlid: lid(bytes, packet::DLID),
            slid: lid(bytes, packet::SLID),
            dqp: u32::from_be(number(bytes, packet::DQP)),
            sqp: u32::from_be(number(bytes, packet::SQP)),
            status: u32::from_be(number(bytes, packet::STATUS)),
            length: u64::from_be_bytes(array(&bytes[packet::LENGTH])),
            mad,
        })
    }

    /// Writes the packet.
    pub fn encode(&self) -> [u8; PACKET_SIZE] {
        let mut bytes = [0; PACKET_SIZE];
        put(&mut bytes, packet::DLID, self.dlid.0.to_be().into());
        put(&mut bytes, packet::SLID, self.slid.0.to_be().into());
        put(&mut bytes, packet::DQP, self.dqp.to_be());
        put(&mut bytes, packet::SQP, self.sqp.to_be());
        put(&mut bytes, packet::STATUS, self.status.to_be());
        bytes[packet::LENGTH].copy_from_slice(&self.length.to_be_bytes());
        bytes[packet::MAD].copy_from_slice(&*self.mad);
        bytes
    }
}

/// The socket that takes calls.
pub fn control_address(name: &str) -> io::Result<SocketAddr> {
    address(&format!("{name}:ctl"))
}

/// The server's data socket for a client.
pub fn server_address(name: &str, client: u32) -> io::Result<SocketAddr> {
    address(&format!("{name}:out{client}"))
}

/// The data socket of the client with this process.
pub fn client_address(name: &str, process: u32) -> io::Result<SocketAddr> {
    address(&format!("{name}:in{process}"))
}

/// Names end in a zero byte.
fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}\0"))
}

/// A number in the byte order of the machine.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(array(&bytes[at..at + 4]))
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
}

/// A LID in the byte order of the network, widened to a number of the machine.
fn lid(bytes: &[u8], at: usize) -> Lid {
    Lid(u16::from_be(number(bytes, at) as u16))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

#[cfg(test)]
mod tests;
