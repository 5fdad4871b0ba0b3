//! The queries of a client: its own port, and a path from subnet administration.

use crate::ids::{Guid, Lid, PortNum, Sl};
use crate::transport::{AnyTransport, Datagram, TransportError};
use crate::wire::sa::{ComponentMask, PathRecord, Record, SaMad};
use crate::wire::{AttributeId, Gid, MAD_SIZE, Method, PortInfo, Route, SMP_DATA_SIZE, Smp, WireError, status};

/// The wait for an answer, and the number of attempts, as in infiniband-diags.
const PATIENCE_NS: u64 = 1_000_000_000;
const ATTEMPTS: u32 = 3;

/// This host's port, as it describes itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientPort {
    /// Its GID.
    pub gid: Gid,
    /// Its base LID.
    pub lid: Lid,
    /// LID and service level of the master subnet manager, with which subnet administration is.
    pub manager: (Lid, Sl),
}

/// Why there is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No SA answered.
    #[error("asking {whom} for {what}: no answer in {ATTEMPTS} attempts of one second each")]
    Silent {
        /// The port that was asked.
        whom: String,
        /// For what.
        what: &'static str,
    },
    /// The port has no manager.
    #[error(
        "the port {gid} has LID {lid} and its subnet manager LID {manager}: wait until a subnet manager has brought it up"
    )]
    Down {
        /// Its GID.
        gid: Gid,
        /// Its LID.
        lid: Lid,
        /// Its manager's.
        manager: Lid,
    },
    /// The answer is a status.
    #[error("asking {whom} for {what}: it answered with status {code:#06x}")]
    Refused {
        /// The port that was asked.
        whom: String,
        /// For what.
        what: &'static str,
        /// The status.
        code: u16,
    },
    /// The port does not send.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The answer cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// Describes this port, whose number and GUID are known.
///
/// # Errors
/// No answer, or a port that no subnet manager has brought up.
pub async fn own_port(port: &mut AnyTransport, num: PortNum, guid: Guid) -> Result<ClientPort, QueryError> {
    let whom = "this port".to_string();
    let request = Smp::directed(&[], Method::Get, AttributeId::PortInfo, num.0.into(), [0; SMP_DATA_SIZE])?;
    let send = |tid| Datagram {
        lid: Lid::PERMISSIVE,
        from: None,
        qp: 0,
        sl: Sl::default(),
        bytes: Box::new(request.clone().with_tid(tid).encode()),
    };
    let answer = |bytes: &[u8; MAD_SIZE], tid| {
        let found = Smp::decode(bytes).ok()?;
        let fits = found.tid == tid && found.attribute == AttributeId::PortInfo && found.method == Method::GetResp;
        (fits && matches!(found.route, Route::Directed(_))).then_some(found)
    };
    let found = exchange(port, &whom, "its PortInfo", send, answer).await?;
    if found.status != status::SUCCESS {
        return Err(QueryError::Refused { whom, what: "its PortInfo", code: found.status });
    }
    let info = PortInfo::decode(&found.data);
    let own = ClientPort {
        gid: Gid { prefix: info.gid_prefix, guid },
        lid: info.lid,
        manager: (info.master_sm_lid, info.master_sm_sl),
    };
    match own.lid == Lid(0) || own.manager.0 == Lid(0) {
        true => Err(QueryError::Down { gid: own.gid, lid: own.lid, manager: own.manager.0 }),
        false => Ok(own),
    }
}

/// Asks subnet administration for the path from this port to a GID. None: it knows none.
///
/// # Errors
/// No answer, or another status than that there is no record.
pub async fn ask(port: &mut AnyTransport, own: &ClientPort, dgid: Gid) -> Result<Option<PathRecord>, QueryError> {
    let (lid, sl) = own.manager;
    let whom = format!("subnet administration at LID {lid}");
    let wanted = PathRecord { sgid: own.gid, dgid, numb_path: 1, ..PathRecord::default() };
    let mask = ComponentMask::of(&[PathRecord::SGID, PathRecord::DGID, PathRecord::NUMB_PATH]);
    let request = SaMad::request(Method::Get, mask, &wanted);
    let send = |tid| {
        let bytes = Box::new(request.clone().with_tid(tid).encode());
        Datagram { lid, from: None, qp: 1, sl, bytes }
    };
    let answer = |bytes: &[u8; MAD_SIZE], tid| {
        let found = SaMad::decode(bytes).ok()?;
        (found.tid == tid && found.attribute == request.attribute && found.method == Method::GetResp).then_some(found)
    };
    let found = exchange(port, &whom, "a path", send, answer).await?;
    match found.status {
        status::SUCCESS => Ok(Some(PathRecord::from_data(&found.data))),
        status::NO_RECORDS => Ok(None),
        code => Err(QueryError::Refused { whom, what: "a path", code }),
    }
}

/// Sends a request until its answer comes.
async fn exchange<T>(
    port: &mut AnyTransport,
    whom: &str,
    what: &'static str,
    send: impl Fn(u64) -> Datagram,
    answer: impl Fn(&[u8; MAD_SIZE], u64) -> Option<T>,
) -> Result<T, QueryError> {
    for attempt in 1..=ATTEMPTS {
        let tid = u64::from(attempt);
        port.send(send(tid)).await?;
        let until_ns = port.now_ns() + PATIENCE_NS;
        while let Some(datagram) = port.recv(until_ns).await? {
            if let Some(found) = answer(&datagram.bytes, tid) {
                return Ok(found);
            }
        }
    }
    Err(QueryError::Silent { whom: whom.to_string(), what })
}
