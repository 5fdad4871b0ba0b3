//! Subnet administration (chapter 15): what clients may ask of the subnet, answered from what is known, without I/O or
//! clock.
//!
//! [`Sa`] takes datagrams and the time and returns datagrams; it answers at once, from a [`Directory`] that the subnet
//! manager replaces whenever the subnet has changed. Without one it answers *busy*. Paths name LIDs and service levels
//! of the active half ([`Sa::half_moved`]), and of no other; paths to other subnets name a router's port ([`Remote`]).
//! Everything that waits is bounded ([`SaLimits`]): beyond, a client is answered *busy* or *no resources*, and queries
//! again. Costs: a path between two named ports is two walks along forwarding tables, whatever the size of the fabric;
//! a table is as long as its records. Lacks on purpose: multicast groups, MultiPathRecord and TraceRecord, partitions
//! beyond the default one, GUID aliases, redirection.

mod agenda;
mod answer;
mod directory;
mod legs;
mod modelled;
mod path_capacity;
mod paths;
mod prefix_routes;
mod records;
mod remote;
mod remote_paths;
pub mod rmpp;
mod service_levels;
mod services;
mod subscriptions;
mod transfers;

pub use directory::{Directory, DirectoryError, DirectoryFacts};
pub use path_capacity::{PathCapacity, PathRate};
pub use prefix_routes::{PrefixRoute, PrefixRoutes};
pub use remote::{Beyond, LeadingRouters, Remote, RemoteRule};
pub use service_levels::{FirstOfHalf, OfLayers, ServiceLevels};

use crate::ids::{Guid, Half, Lid};
use crate::transport::Datagram;
use crate::wire::sa::SaMad;
use crate::wire::{Gid, Notice, class, class_of};
use rmpp::{RmppPace, TransferFailure};
use services::Services;
use std::collections::BTreeMap;
use std::sync::Arc;
use subscriptions::{SubscriptionContext, Subscriptions};
use transfers::Transfers;

/// How much is kept for clients, and how long is waited for them.
#[derive(Clone, Debug)]
pub struct SaLimits {
    /// The key that shows a client to be trusted (SAHeader:SM_Key). Requests with another one, zero apart, are dropped.
    pub sm_key: u64,
    /// Bytes of one answer.
    pub answer_bytes: usize,
    /// Answers of several segments under way at once.
    pub transfers: usize,
    /// Bytes of all of them.
    pub transfer_bytes: usize,
    /// How they are sent.
    pub pace: RmppPace,
    /// ServiceRecords.
    pub services: usize,
    /// Subscriptions.
    pub subscriptions: usize,
    /// Subscriptions of one port.
    pub subscriptions_of_one: usize,
    /// Reports under way at once.
    pub reports: usize,
    /// A report is sent again after so many nanoseconds without an answer.
    pub report_resend_ns: u64,
    /// How often it is sent in all.
    pub report_tries: u32,
    /// Consecutive reports without an acknowledgement after which a subscription ends.
    pub unheard_reports: u32,
    /// The response time announced to clients: 4.096 µs × 2^n.
    pub resp_time_value: u8,
}

impl Default for SaLimits {
    fn default() -> SaLimits {
        SaLimits {
            sm_key: 1,
            answer_bytes: 32 << 20,
            transfers: 1024,
            transfer_bytes: 64 << 20,
            pace: RmppPace::default(),
            services: 16_384,
            subscriptions: 65_536,
            subscriptions_of_one: 64,
            reports: 65_536,
            report_resend_ns: 500_000_000,
            report_tries: 3,
            unheard_reports: 2,
            resp_time_value: 16,
        }
    }
}

/// What people may want to read in a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SaEvent {
    /// A table did not reach its client.
    AnswerFailed {
        /// The client.
        client: Lid,
        /// Why.
        failure: TransferFailure,
    },
    /// A subscriber acknowledged nothing for too long.
    SubscriptionEnded {
        /// Its port.
        subscriber: Guid,
        /// What it had subscribed to.
        trap: u16,
    },
    /// Too many reports were under way.
    ReportsLeftOut {
        /// The notice that they would have carried.
        trap: u16,
        /// How many subscribers were not notified.
        subscribers: usize,
    },
    /// A request came with a key that is not the SM's, and was dropped.
    WrongKey {
        /// From where.
        client: Lid,
    },
}

/// Events that are kept until someone takes them.
const MOST_EVENTS: usize = 1024;

/// Subnet administration.
#[derive(Clone, Debug)]
pub struct Sa {
    limits: SaLimits,
    directory: Option<Arc<Directory>>,
    half: Half,
    transfers: Transfers,
    services: Services,
    subscriptions: Subscriptions,
    events: Vec<SaEvent>,
    /// By number of the attribute.
    requests: BTreeMap<u16, u64>,
}

impl Sa {
    /// Subnet administration that knows nothing yet.
    pub fn new(limits: SaLimits) -> Sa {
        Sa {
            limits,
            directory: None,
            half: Half::Lower,
            transfers: Transfers::default(),
            services: Services::default(),
            subscriptions: Subscriptions::default(),
            events: Vec::new(),
            requests: BTreeMap::new(),
        }
    }

    /// The subnet is as `directory` has it from now on, its active half included. Services and subscriptions of ports
    /// that are gone go with them.
    pub fn set_directory(&mut self, directory: Arc<Directory>) {
        self.half = directory.facts().half;
        self.services.retain_ports(|gid| directory.by_gid(gid).is_some());
        self.subscriptions.retain_ports(&directory);
        self.directory = Some(directory);
    }

    /// What was set last.
    pub fn directory(&self) -> Option<&Arc<Directory>> {
        self.directory.as_ref()
    }

    /// Answers name this half from now on. The directory's tables must hold its routes already.
    pub fn half_moved(&mut self, half: Half) {
        self.half = half;
    }

    /// Takes a datagram. Returned is what is to be sent, at once and in this order; none where it is no MAD of this
    /// class.
    pub fn answer(&mut self, asked: &Datagram, now_ns: u64) -> Option<Vec<Datagram>> {
        if class_of(&asked.bytes) != class::SUBNET_ADMINISTRATION {
            return None;
        }
        let mad = SaMad::decode(&asked.bytes).ok()?;
        let sent = self.respond(asked, &mad, now_ns);
        self.events.truncate(MOST_EVENTS);
        Some(sent)
    }

    /// A trap came in, or the SM made a notice itself. Returned are the reports to subscribers.
    pub fn notice(&mut self, notice: &Notice, now_ns: u64) -> Vec<Datagram> {
        let Some(directory) = self.directory.clone() else { return Vec::new() };
        let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
        self.subscriptions.notice(view, notice, now_ns, &mut self.events)
    }

    /// The notice that a port came into service, or left it: traps 64 and 65, which the SM makes.
    pub fn port_in_service(&mut self, in_service: bool, guid: Guid, now_ns: u64) -> Vec<Datagram> {
        let Some(directory) = self.directory.clone() else { return Vec::new() };
        let facts = directory.facts();
        let issuer = directory.base_lid(facts.sm).unwrap_or_default();
        let gid = Gid { prefix: facts.subnet_prefix, guid };
        self.notice(&Notice::gid_in_service(in_service, gid, issuer), now_ns)
    }

    /// When [`Sa::wake`] must be called next; `u64::MAX` where nothing waits.
    pub fn due_ns(&self) -> u64 {
        self.transfers.due_ns().min(self.subscriptions.due_ns())
    }

    /// The time has come. Returned is what is to be sent.
    pub fn wake(&mut self, now_ns: u64) -> Vec<Datagram> {
        let mut sent = self.transfers.wake(now_ns, &mut self.events);
        if let Some(directory) = self.directory.clone() {
            let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
            sent.extend(self.subscriptions.wake(view, now_ns, &mut self.events));
        }
        self.events.truncate(MOST_EVENTS);
        sent
    }

    /// Events since the last call, for a log; of very many only the first.
    pub fn take_events(&mut self) -> Vec<SaEvent> {
        std::mem::take(&mut self.events)
    }

    /// Requests so far, by the number of their attribute.
    pub fn requests(&self) -> &BTreeMap<u16, u64> {
        &self.requests
    }
}
