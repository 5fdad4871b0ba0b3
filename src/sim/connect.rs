//! Connections that hosts set up while data flows: REQ, REP and RTU (chapter 12) between hosts of one subnet or of
//! several, as packets of the data plane.
//!
//! On entry two end ports ([`Sim::connect`]). The active side takes the path that its host has, as it takes one for
//! data: the model of its subnet administration's answer. Its request says what [`request_along`] makes of that path,
//! 0xFFFF for both LIDs where routers lie between; the passive side reads it with its completion ([`completed`]),
//! answers by [`reply_path`], and has the connection once *ready to use* has come. A side that hears nothing sends
//! again, up to [`MOST_RETRIES`] times. On return: [`Sim::connections`]. The messages are bytes, encoded and decoded at
//! either end, and count among the packets of users: they stand in send queues, wait for credits, cross routers, and
//! are lost where data would be. An RTU is no reply in the sense of P4.4: it takes the path that its host has when it
//! is sent. Source: seed 004, *host stack today (cont.)*. Deliberately omitted: the data that follows, MRA and REJ.

use super::Sim;
use super::config::SimError;
use super::errand::Errand;
use super::gmp::GMP_BYTES;
use super::index::{Dense, EndPortRank, PacketId};
use super::packet::{NIL, Packet, PacketMarks};
use super::relay::{Global, Routers};
use super::source::{Header, PacketSpec, Sources};
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::{Fabric, PortId};
use crate::ids::{GidPrefix, Half, Lid, Sl};
use crate::resolve::{Completion, ReplyPath, completed, reply_path, request_along};
use crate::wire::sa::PathRecord;
use crate::wire::{CM_DATA_SIZE, CmAttributeId, CmMad, ConnectRequest, Gid, MAD_SIZE, Method};
use rustc_hash::FxHashMap;

/// How often a message is sent again.
pub const MOST_RETRIES: u8 = 7;

/// Each side answers within 4.096 µs × 2^8, 1.05 ms.
const RESPONSE_CODE: u8 = 8;
const RESPONSE: Ticks = (4096 << RESPONSE_CODE) * TICKS_PER_NS;

/// Bytes of the global header that a message between subnets has.
const GLOBAL_BYTES: u16 = 40;

/// A connection, as far as it has come. Times in nanoseconds of simulated time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionSetup {
    /// The side that asks.
    pub active: PortId,
    /// The side that is asked.
    pub passive: PortId,
    /// The LIDs that the last request said, its sender's first.
    pub said: (Lid, Lid),
    /// Requests sent.
    pub requests: u32,
    /// When the first was sent.
    pub begun_ns: u64,
    /// How the passive side answers, once it was asked.
    pub answered_by: Option<ReplyPath>,
    /// When the reply had come: the active side may send.
    pub replied_ns: Option<u64>,
    /// When *ready to use* had come: both may.
    pub ready_ns: Option<u64>,
    /// Whether the active side has given up.
    pub given_up: bool,
}

/// The connections of a run, and their messages on the way.
#[derive(Default)]
pub(super) struct Connections {
    list: Vec<ConnectionSetup>,
    /// By packet.
    messages: FxHashMap<PacketId, Message>,
}

/// A message on its way.
pub(super) struct Message {
    connection: u32,
    bytes: Box<[u8; MAD_SIZE]>,
}

/// A message that a side of a connection is to send.
pub(super) struct ConnectionMessage {
    from: EndPortRank,
    headers: Headers,
    message: Message,
}

impl ConnectionMessage {
    fn new(connection: u32, from: EndPortRank, headers: Headers, mad: &CmMad) -> ConnectionMessage {
        ConnectionMessage { from, headers, message: Message { connection, bytes: Box::new(mad.encode()) } }
    }
}

impl Connections {
    /// The message that a packet carried, which has come.
    pub fn take_message(&mut self, id: PacketId) -> Option<Message> {
        self.messages.remove(&id)
    }

    fn begin(&mut self, active: PortId, passive: PortId, now: Ticks) -> u32 {
        self.list.push(ConnectionSetup {
            active,
            passive,
            said: (Lid::PERMISSIVE, Lid::PERMISSIVE),
            requests: 0,
            begun_ns: now / TICKS_PER_NS,
            answered_by: None,
            replied_ns: None,
            ready_ns: None,
            given_up: false,
        });
        self.list.len() as u32 - 1
    }

    /// The request, for the first time or again, and how often it was made with this time. A host without a path makes
    /// it in vain: it asks its subnet administration again later.
    fn request(&mut self, number: u32, hosts: &mut HostsView<'_>) -> (Option<ConnectionMessage>, u32) {
        let own = &mut self.list[number as usize];
        own.requests += 1;
        let (active, passive) = hosts.sides(own);
        let request = hosts.path(active, passive).map(|(path, headers)| {
            let primary = request_along(&path);
            own.said = (primary.local_lid, primary.remote_lid);
            let request = ConnectRequest {
                local_comm_id: number,
                service_id: 1,
                primary,
                remote_cm_response_timeout: RESPONSE_CODE,
                local_cm_response_timeout: RESPONSE_CODE,
                max_cm_retries: MOST_RETRIES,
                ..ConnectRequest::default()
            };
            ConnectionMessage::new(number, active, headers, &CmMad::request(number.into(), &request))
        });
        (request, own.requests)
    }

    /// The time for an answer to the request sent so many times is over: whether it is to be sent again.
    fn asks_again(&mut self, number: u32, sent: u32) -> bool {
        let own = &mut self.list[number as usize];
        if own.replied_ns.is_some() || own.requests != sent {
            return false;
        }
        own.given_up = sent > u32::from(MOST_RETRIES);
        !own.given_up
    }

    /// A message has come to the end port that it is for: the one that answers it.
    fn answer(
        &mut self,
        rank: EndPortRank,
        packet: &Packet,
        came: Message,
        hosts: &mut HostsView<'_>,
    ) -> Option<ConnectionMessage> {
        let Message { connection: number, bytes } = came;
        let mad = CmMad::decode(&bytes).ok()?;
        let own = &mut self.list[number as usize];
        let (active, passive) = hosts.sides(own);
        let now_ns = hosts.now / TICKS_PER_NS;
        match mad.attribute {
            CmAttributeId::ConnectRequest if rank == passive => {
                let request = completed(ConnectRequest::decode(&mad.data), hosts.completion(rank, packet));
                let mask = (hosts.sources.list[rank].lids - 1) as u8;
                let reply = reply_path(&request, mask);
                own.answered_by = Some(reply);
                let headers = hosts.answering(passive, active, &reply)?;
                Some(ConnectionMessage::new(number, passive, headers, &message(number, CmAttributeId::ConnectReply)))
            }
            CmAttributeId::ConnectReply if rank == active => {
                own.replied_ns.get_or_insert(now_ns);
                let (_, headers) = hosts.path(active, passive)?;
                Some(ConnectionMessage::new(number, active, headers, &message(number, CmAttributeId::ReadyToUse)))
            }
            CmAttributeId::ReadyToUse if rank == passive => {
                own.ready_ns.get_or_insert(now_ns);
                None
            }
            _ => None,
        }
    }
}

/// What hosts know of paths to each other.
struct HostsView<'a> {
    fabric: &'a Fabric,
    sources: &'a Sources,
    routers: Option<&'a mut Routers>,
    now: Ticks,
}

impl HostsView<'_> {
    fn sides(&self, own: &ConnectionSetup) -> (EndPortRank, EndPortRank) {
        (self.sources.by_port[own.active], self.sources.by_port[own.passive])
    }

    /// What the adapter reports with a packet: the LID and the level on which it came, and by which of its own LIDs.
    fn completion(&self, rank: EndPortRank, packet: &Packet) -> Completion {
        let half = Half::of_sl(Sl::masked(packet.sl));
        // A router sends on the first LID of its port.
        let path = if packet.marks.contains(PacketMarks::CROSSES) { 0 } else { packet.source_path.into() };
        let (slid, _) = self.sources.address(packet.source, half, path, 0);
        let path_bits = packet.dlid.wrapping_sub(self.sources.list[rank].lid) as u8;
        Completion { slid: Lid(slid), sl: Sl::masked(packet.sl), path_bits }
    }

    /// The path that a host has to another, and the headers of a packet along it.
    fn path(&mut self, from: EndPortRank, to: EndPortRank) -> Option<(PathRecord, Headers)> {
        let half = self.sources.list[from].half;
        let across = self.routers.as_mut().filter(|_| self.sources.subnet_of(from) != self.sources.subnet_of(to));
        let marks = PacketMarks::MESSAGE;
        let bytes = GMP_BYTES + if across.is_some() { GLOBAL_BYTES } else { 0 };
        let spec = PacketSpec { source: from, destination: to, half, bytes, marks, turn: 0, message: NIL };
        let headers = if let Some(routers) = across {
            let (header, global) = routers.address_across(self.sources, &spec, self.now)?;
            Headers { header, global: Some(global) }
        } else {
            Headers { header: self.sources.header(&spec)?, global: None }
        };
        let Header { dlid, sl, source_path, .. } = headers.header;
        let (slid, _) = self.sources.address(from, half, source_path.into(), 0);
        let own = PathRecord { slid: Lid(slid), dlid: Lid(dlid), sl: Sl::masked(sl), ..PathRecord::default() };
        let gid = |prefix: GidPrefix, guid| Gid { prefix: prefix.0, guid };
        let path = match &headers.global {
            Some(global) => {
                let grh = global.grh();
                PathRecord {
                    sgid: gid(grh.source_prefix, grh.source_guid),
                    dgid: gid(grh.destination_prefix, grh.destination_guid),
                    flow_label: grh.flow_label,
                    traffic_class: grh.traffic_class,
                    hop_limit: grh.hop_limit,
                    ..own
                }
            }
            None => {
                let local =
                    |rank: EndPortRank| gid(GidPrefix::LINK_LOCAL, self.fabric.port_guid(self.sources.list[rank].port));
                PathRecord { sgid: local(from), dgid: local(to), ..own }
            }
        };
        Some((path, headers))
    }

    /// The headers of an answer along the path of its request.
    fn answering(&self, from: EndPortRank, to: EndPortRank, reply: &ReplyPath) -> Option<Headers> {
        let crosses = reply.global.is_some();
        let marks = PacketMarks::MESSAGE | PacketMarks::REPLY;
        let header = Header {
            dlid: reply.dlid.0,
            sl: reply.sl.get(),
            bytes: GMP_BYTES + if crosses { GLOBAL_BYTES } else { 0 },
            marks: if crosses { marks | PacketMarks::CROSSES } else { marks },
            source_path: reply.path_bits % self.sources.list[from].paths.max(1) as u8,
            message: NIL,
        };
        let global = match reply.global {
            None => None,
            Some(path) => Some(self.routers.as_ref()?.global_back(from, to, path, self.now)?),
        };
        Some(Headers { header, global })
    }
}

impl Sim {
    /// Begins to set up a connection between the hosts of two end ports.
    ///
    /// # Errors
    /// One of them is no end port that sends, or both are one.
    pub fn connect(&mut self, active: PortId, passive: PortId) -> Result<(), SimError> {
        self.check_connection(active, passive)?;
        let number = self.connections.begin(active, passive, self.clock.now());
        self.request_connection(number);
        Ok(())
    }

    /// Checks that two ports can be the sides of a connection.
    ///
    /// # Errors
    /// As [`Sim::connect`].
    pub fn check_connection(&self, active: PortId, passive: PortId) -> Result<(), SimError> {
        let sends = |port: &PortId| self.sources.by_port[*port].is_some() && !self.plane.is_router_port(*port);
        match [active, passive].into_iter().find(|port| active == passive || !sends(port)) {
            None => Ok(()),
            Some(port) => Err(SimError::NoConnection(self.fabric.describe_port(port))),
        }
    }

    /// The connections begun so far, in their order.
    pub fn connections(&self) -> &[ConnectionSetup] {
        &self.connections.list
    }

    fn request_connection(&mut self, number: u32) {
        let (connections, mut hosts) = self.connections_in_view();
        let (request, sent) = connections.request(number, &mut hosts);
        request.into_iter().for_each(|request| self.send_message(request));
        self.errand(self.clock.now() + RESPONSE, Errand::Connection(number, sent));
    }

    /// The time for an answer to the request sent so many times is over.
    pub(super) fn connection_is_due(&mut self, number: u32, sent: u32) {
        if self.connections.asks_again(number, sent) {
            self.request_connection(number);
        }
    }

    /// A message of a connection has come to the end port that it is for.
    pub(super) fn message_comes(&mut self, rank: EndPortRank, packet: &Packet, came: Message) {
        let (connections, mut hosts) = self.connections_in_view();
        if let Some(answer) = connections.answer(rank, packet, came, &mut hosts) {
            self.send_message(answer);
        }
    }

    fn connections_in_view(&mut self) -> (&mut Connections, HostsView<'_>) {
        let Sim { fabric, sources, routers, clock, connections, .. } = self;
        (connections, HostsView { fabric, sources, routers: routers.as_deref_mut(), now: clock.now() })
    }

    fn send_message(&mut self, outgoing: ConnectionMessage) {
        let ConnectionMessage { from, headers: Headers { header, global }, message } = outgoing;
        // It may be offered, and even lost, at once, so what it says must be stored first.
        self.connections.messages.insert(self.plane.packets.next_id(), message);
        match global {
            Some(global) => self.hand_over_across(from, header, global),
            None => self.hand_over(from, header),
        }
    }
}

/// The headers of a packet that is about to be sent.
struct Headers {
    header: Header,
    global: Option<Global>,
}

/// A message that says no more than which connection it is of.
fn message(connection: u32, attribute: CmAttributeId) -> CmMad {
    let mut data = [0; CM_DATA_SIZE];
    data[..4].copy_from_slice(&connection.to_be_bytes());
    data[4..8].copy_from_slice(&connection.to_be_bytes());
    CmMad { method: Method::Send, status: 0, tid: connection.into(), attribute, modifier: 0, data }
}
