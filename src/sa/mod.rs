//! Subnet administration (chapter 15): answers clients' queries from known facts, without I/O or a clock.
//!
//! [`Sa`] takes datagrams and the time and returns datagrams. It answers at once, from a [`Directory`] that the subnet
//! manager replaces whenever the subnet has changed; without one it answers *busy*. Paths name LIDs and service levels
//! of the active half only ([`Sa::half_moved`]); paths to other subnets name a router's port ([`Remote`]). Everything
//! that waits or is kept is bounded ([`SaLimits`]): beyond the limit, a client is answered *busy* or *no resources* and
//! must query again. Costs: a path between two given ports takes two walks along forwarding tables, whatever the size
//! of the fabric; a table is as long as its records. Multicast groups exist where the directory says what they have in
//! common; where their packets go is another's concern ([`Sa::take_changed_groups`]). Deliberately omitted:
//! MultiPathRecord and TraceRecord, whether the asker shares a partition with the ports that it asks about, GUID
//! aliases, redirection.

mod agenda;
mod answer;
mod directory;
mod groups;
mod legs;
mod member_requests;
mod modelled;
mod partitions;
mod path_capacity;
mod path_rate;
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

pub use directory::{Directory, DirectoryError, DirectoryFacts, MulticastFacts};
pub use groups::{GroupCounts, GroupMember};
pub use path_rate::{PathCapacity, PathRate};
pub use prefix_routes::{PrefixRoute, PrefixRoutes};
pub use remote::{Beyond, LeadingRouters, Remote, RemoteRule};
pub use service_levels::{FirstOfHalf, OfLayers, Reserving, ServiceLevels};

use crate::ids::{Guid, Half, Lid};
use crate::transport::Datagram;
use crate::wire::sa::SaMad;
use crate::wire::{Notice, class, class_of};
use groups::{GroupNews, MulticastGroups};
use rmpp::{RmppPace, TransferFailure};
use services::Services;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use subscriptions::{SubscriptionContext, Subscriptions};
use transfers::Transfers;

/// Limits on the state kept for clients, and timeouts.
#[derive(Clone, Debug)]
pub struct SaLimits {
    /// The key that marks a client as trusted (SAHeader:SM_Key). Requests with another key, except zero, are dropped.
    pub sm_key: u64,
    /// The most bytes in one answer.
    pub answer_bytes: usize,
    /// The most multi-segment answers in progress. Of these, of bytes and of services a port gets no more than it
    /// leaves free.
    pub transfers: usize,
    /// The most bytes of all answers in progress.
    pub transfer_bytes: usize,
    /// The pace of multi-segment answers.
    pub pace: RmppPace,
    /// The most ServiceRecords.
    pub services: usize,
    /// The most memberships in multicast groups. Of these a port gets no more than it leaves free, and neither of the
    /// groups for which switches have room.
    pub memberships: usize,
    /// The most subscriptions.
    pub subscriptions: usize,
    /// The most subscriptions of one port.
    pub subscriptions_of_one: usize,
    /// The most unacknowledged reports.
    pub reports: usize,
    /// A report is sent again after this many nanoseconds without an answer.
    pub report_resend_ns: u64,
    /// The total number of times that a report is sent.
    pub report_tries: u32,
    /// A subscription ends after this many consecutive reports without an acknowledgement.
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
            memberships: 1 << 20,
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

/// Events worth logging.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SaEvent {
    /// A table did not reach its client.
    AnswerFailed {
        /// The client's LID.
        client: Lid,
        /// Why.
        failure: TransferFailure,
    },
    /// A subscriber failed to acknowledge too many reports.
    SubscriptionEnded {
        /// The subscriber's port.
        subscriber: Guid,
        /// The trap that it had subscribed to.
        trap: u16,
    },
    /// Too many reports were in progress; these were not sent.
    ReportsLeftOut {
        /// The notice that they would have carried.
        trap: u16,
        /// The number of subscribers that were not notified.
        subscribers: usize,
    },
    /// A client has asked for multicast groups for the first time, and there are none.
    NoGroups {
        /// The client's LID.
        client: Lid,
    },
    /// A request carried a key other than the SM's and was dropped.
    WrongKey {
        /// The sender's LID.
        client: Lid,
    },
}

/// The most events kept for [`Sa::take_events`].
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
    groups: MulticastGroups,
    /// Whether somebody was told that there are no groups.
    has_refused_groups: bool,
    events: Vec<SaEvent>,
    /// Number of requests by attribute.
    requests: BTreeMap<u16, u64>,
}

impl Sa {
    /// Subnet administration without a directory: it answers *busy*.
    pub fn new(limits: SaLimits) -> Sa {
        Sa {
            directory: None,
            half: Half::Lower,
            transfers: Transfers::new(&limits),
            services: Services::new(limits.services),
            subscriptions: Subscriptions::default(),
            groups: MulticastGroups::new(limits.memberships),
            has_refused_groups: false,
            events: Vec::new(),
            requests: BTreeMap::new(),
            limits,
        }
    }

    /// Answers from `directory` from now on, its active half included. Services and subscriptions of ports that are
    /// gone are dropped. Of the ports that have come or gone since the directory before, subscribers are told (traps 64
    /// and 65) when [`Sa::wake`] is called next.
    pub fn set_directory(&mut self, directory: Arc<Directory>, now_ns: u64) {
        self.half = directory.facts().half;
        self.services.retain_ports(|gid| directory.by_gid(gid).is_some());
        self.subscriptions.retain_ports(&directory);
        self.groups.follow(&directory);
        let before = self.directory.replace(directory.clone());
        self.announce_groups(now_ns);
        let Some(before) = before else { return };
        let issuer = directory.base_lid(directory.facts().sm).unwrap_or_default();
        let left = before.ports_beyond(&directory).map(|gid| (Notice::gid_in_service(false, gid, issuer), &before));
        let came = directory.ports_beyond(&before).map(|gid| (Notice::gid_in_service(true, gid, issuer), &directory));
        let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
        for (notice, known_by) in left.chain(came) {
            self.subscriptions.announce(view, &notice, known_by, now_ns, &mut self.events);
        }
        self.events.truncate(MOST_EVENTS);
    }

    /// Has subscribers told of groups that have come into being or ended, when [`Sa::wake`] is called next.
    fn announce_groups(&mut self, now_ns: u64) {
        let news = self.groups.take_news();
        let Some(directory) = self.directory.clone().filter(|_| !news.is_empty()) else { return };
        let issuer = directory.base_lid(directory.facts().sm).unwrap_or_default();
        let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
        for GroupNews { is_there, mgid, p_key } in news {
            let notice = Notice::group(is_there, mgid, issuer);
            self.subscriptions.announce_group(view, &notice, p_key, now_ns, &mut self.events);
        }
    }

    /// Nobody counts as a member of a multicast group until it joins again; groups that hosts made end.
    pub fn forget_members(&mut self) {
        self.groups.forget_members();
    }

    /// How many multicast groups and memberships there are.
    pub fn group_counts(&self) -> GroupCounts {
        self.groups.counts()
    }

    /// The LIDs of all multicast groups, in rising order.
    pub fn groups(&self) -> impl Iterator<Item = Lid> + '_ {
        self.groups.mlids()
    }

    /// The highest LID of a multicast group that has members.
    pub fn highest_group(&self) -> Option<Lid> {
        self.groups.highest_with_members()
    }

    /// The members of the multicast group with this LID; none if no group has it.
    pub fn group_members(&self, mlid: Lid) -> Vec<GroupMember> {
        self.groups.members(mlid)
    }

    /// Whether members of some group have changed since they were taken.
    pub fn have_groups_changed(&self) -> bool {
        self.groups.have_changed()
    }

    /// The LIDs of groups whose members have changed since the last call.
    pub fn take_changed_groups(&mut self) -> BTreeSet<Lid> {
        self.groups.take_changed()
    }

    /// The current directory.
    pub fn directory(&self) -> Option<&Arc<Directory>> {
        self.directory.as_ref()
    }

    /// Answers with LIDs of this half from now on. The directory's tables must already hold its routes.
    pub fn half_moved(&mut self, half: Half) {
        self.half = half;
    }

    /// The half whose LIDs it answers with.
    pub fn half(&self) -> Half {
        self.half
    }

    /// Processes a datagram. Returns what to send, at once and in this order; none if it is not a MAD of this class.
    pub fn answer(&mut self, asked: &Datagram, now_ns: u64) -> Option<Vec<Datagram>> {
        if class_of(&asked.bytes) != class::SUBNET_ADMINISTRATION {
            return None;
        }
        let mad = SaMad::decode(&asked.bytes).ok()?;
        let sent = self.respond(asked, &mad, now_ns);
        self.announce_groups(now_ns);
        self.events.truncate(MOST_EVENTS);
        Some(sent)
    }

    /// Processes a trap, or a notice that the SM itself made. Returns the reports to subscribers.
    pub fn notice(&mut self, notice: &Notice, now_ns: u64) -> Vec<Datagram> {
        let Some(directory) = self.directory.clone() else { return Vec::new() };
        let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
        self.subscriptions.notice(view, notice, now_ns, &mut self.events)
    }

    /// When [`Sa::wake`] must be called next; `u64::MAX` if nothing waits.
    pub fn due_ns(&self) -> u64 {
        self.transfers.due_ns().min(self.subscriptions.due_ns())
    }

    /// Performs the actions that are due. Returns the datagrams to send.
    pub fn wake(&mut self, now_ns: u64) -> Vec<Datagram> {
        let mut sent = self.transfers.wake(now_ns, &mut self.events);
        if let Some(directory) = self.directory.clone() {
            let view = SubscriptionContext { directory: &directory, half: self.half, limits: &self.limits };
            sent.extend(self.subscriptions.wake(view, now_ns, &mut self.events));
        }
        self.events.truncate(MOST_EVENTS);
        sent
    }

    /// Events since the last call, for a log; beyond a limit only the first are kept.
    pub fn take_events(&mut self) -> Vec<SaEvent> {
        std::mem::take(&mut self.events)
    }

    /// Requests so far, by attribute number.
    pub fn requests(&self) -> &BTreeMap<u16, u64> {
        &self.requests
    }
}
