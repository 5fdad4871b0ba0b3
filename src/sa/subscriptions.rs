//! Subscriptions to notices (InformInfo), and the reports being sent to subscribers.
//!
//! A subscriber is a port and a queue pair. Its reports use the LIDs and service levels of the half that is active when
//! they are sent. A report is repeated until it is acknowledged; a subscription ends after several consecutive
//! unacknowledged reports.

use super::agenda::Agenda;
use super::directory::Directory;
use super::{SaEvent, SaLimits};
use crate::ids::{Guid, Half, Lid, PKey};
use crate::transport::Datagram;
use crate::wire::sa::{ComponentMask, InformInfo, InformInfoRecord, Record, Report, SaAttributeId, SaMad, selected};
use crate::wire::{Gid, Method, Notice, Trap, status};
use std::collections::BTreeMap;

/// A subscription of one port and queue pair.
#[derive(Clone, Debug)]
struct Subscription {
    subscriber: Guid,
    /// The rank, within its half, of the LID that the subscriber used.
    rank: usize,
    record: InformInfoRecord,
    /// Consecutive reports without an acknowledgement.
    unheard: u32,
}

/// A report that is not yet acknowledged.
#[derive(Clone, Debug)]
struct Pending {
    subscription: u64,
    report: Report,
    /// The number of times that it was sent.
    sent: u32,
}

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscriptions {
    /// By the order of subscribing.
    all: BTreeMap<u64, Subscription>,
    made: u64,
    /// By transaction number.
    pending: Agenda<u32, Pending>,
    transaction: u32,
}

/// The facts on which a subscription's answers and reports depend.
#[derive(Clone, Copy)]
pub(super) struct SubscriptionContext<'a> {
    pub(super) directory: &'a Directory,
    pub(super) half: Half,
    pub(super) limits: &'a SaLimits,
}

impl Subscriptions {
    /// Subscribes the sender of `asked`, or ends its subscription; returns the answer.
    ///
    /// # Errors
    /// The status to refuse with.
    pub(super) fn set(
        &mut self,
        view: SubscriptionContext<'_>,
        from: &Datagram,
        asked: &InformInfo,
    ) -> Result<InformInfo, u16> {
        let port = view.directory.fabric().lid_owner(from.lid).ok_or(status::REQUEST_INVALID)?;
        let lids = view.directory.fabric().port(port);
        let below = from.lid.0 - lids.lid.unwrap_or(from.lid).0;
        let rank = usize::from(below) % usize::from(lids.lmc.lids() / 2).max(1);
        let subscriber = view.directory.guid(port);
        match (asked.is_generic, asked.subscribe) {
            (0 | 1, 1) => self.subscribe(view, subscriber, rank, InformInfo { qpn: from.qp, ..asked.clone() }),
            (0 | 1, 0) => self.unsubscribe(subscriber, asked),
            _ => Err(status::REQUEST_INVALID),
        }
    }

    fn subscribe(
        &mut self,
        view: SubscriptionContext<'_>,
        subscriber: Guid,
        rank: usize,
        info: InformInfo,
    ) -> Result<InformInfo, u16> {
        let own = || self.all.values().filter(|known| known.subscriber == subscriber);
        if own().any(|known| same(&known.record.info, &info)) {
            return Ok(info);
        }
        let full = self.all.len() >= view.limits.subscriptions;
        if full || own().count() >= view.limits.subscriptions_of_one {
            return Err(status::NO_RESOURCES);
        }
        let taken: Vec<u16> = own().map(|known| known.record.number).collect();
        let number = (0..=u16::MAX).find(|number| !taken.contains(number)).ok_or(status::NO_RESOURCES)?;
        let subscriber_gid = Gid { prefix: view.directory.facts().subnet_prefix, guid: subscriber };
        let record = InformInfoRecord { subscriber_gid, number, info: info.clone() };
        self.all.insert(self.made, Subscription { subscriber, rank, record, unheard: 0 });
        self.made += 1;
        Ok(info)
    }

    fn unsubscribe(&mut self, subscriber: Guid, asked: &InformInfo) -> Result<InformInfo, u16> {
        let meant = InformInfo { subscribe: 1, ..asked.clone() };
        let found =
            self.all.iter().find(|(_, known)| known.subscriber == subscriber && same(&known.record.info, &meant));
        let number = *found.ok_or(status::REQUEST_INVALID)?.0;
        self.end(number);
        Ok(asked.clone())
    }

    fn end(&mut self, number: u64) -> Option<Subscription> {
        self.pending.retain(|pending| pending.subscription != number);
        self.all.remove(&number)
    }

    /// The subscriptions that match the request.
    pub(super) fn select(&self, mask: ComponentMask, asked: &InformInfoRecord) -> Vec<InformInfoRecord> {
        let asked = asked.to_data();
        let records = self.all.values().map(|known| &known.record);
        records.filter(|record| selected::<InformInfoRecord>(mask, &asked, &record.to_data())).cloned().collect()
    }

    /// Drops the subscriptions of ports that are gone.
    pub(super) fn retain_ports(&mut self, directory: &Directory) {
        let gone = |known: &Subscription| directory.by_port_guid(known.subscriber).is_none();
        let numbers: Vec<u64> = self.all.iter().filter(|(_, known)| gone(known)).map(|(&number, _)| number).collect();
        for number in numbers {
            self.end(number);
        }
    }

    /// Reports a notice to every subscriber.
    pub(super) fn notice(
        &mut self,
        view: SubscriptionContext<'_>,
        notice: &Notice,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        self.announce(view, notice, view.directory, now_ns, events);
        self.wake(view, now_ns, events)
    }

    /// Has a notice reported when it is woken next, to every subscriber that wants it by `known_by`, a directory that
    /// has the port in question. Beyond the limit of pending reports none is made, and the omission is logged.
    pub(super) fn announce(
        &mut self,
        view: SubscriptionContext<'_>,
        notice: &Notice,
        known_by: &Directory,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) {
        let report = report_of(notice, view.directory);
        let wants = |known: &Subscription| {
            wants(&known.record.info, &report, known_by) && may_hear(known.subscriber, &report, known_by)
        };
        let numbers = self.all.iter().filter(|(_, known)| wants(known)).map(|(&number, _)| number).collect();
        self.have_reported(view, &report, numbers, now_ns, events);
    }

    /// The same for a notice about a multicast group, to those who are in its partition.
    pub(super) fn announce_group(
        &mut self,
        view: SubscriptionContext<'_>,
        notice: &Notice,
        p_key: PKey,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) {
        let report = report_of(notice, view.directory);
        let is_in =
            |guid| view.directory.by_port_guid(guid).is_some_and(|port| view.directory.is_in_partition(port, p_key));
        let wants =
            |known: &Subscription| wants(&known.record.info, &report, view.directory) && is_in(known.subscriber);
        let numbers = self.all.iter().filter(|(_, known)| wants(known)).map(|(&number, _)| number).collect();
        self.have_reported(view, &report, numbers, now_ns, events);
    }

    fn have_reported(
        &mut self,
        view: SubscriptionContext<'_>,
        report: &Report,
        numbers: Vec<u64>,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) {
        let room = view.limits.reports.saturating_sub(self.pending.len());
        if numbers.len() > room {
            let trap = report.notice.trap_number;
            events.push(SaEvent::ReportsLeftOut { trap, subscribers: numbers.len() - room });
        }
        for subscription in numbers.into_iter().take(room) {
            self.transaction = self.transaction.wrapping_add(1);
            self.pending.insert(self.transaction, now_ns, Pending { subscription, report: report.clone(), sent: 0 });
        }
    }

    /// Processes an acknowledgement. Only the low 32 bits of the transaction ID are the sender's.
    pub(super) fn acknowledged(&mut self, tid: u64) {
        if let Some(pending) = self.pending.remove(&(tid as u32))
            && let Some(known) = self.all.get_mut(&pending.subscription)
        {
            known.unheard = 0;
        }
    }

    pub(super) fn due_ns(&self) -> u64 {
        self.pending.due_ns()
    }

    /// Repeats reports that are due, drops those that were sent often enough, and ends subscriptions that stay
    /// unacknowledged.
    pub(super) fn wake(
        &mut self,
        view: SubscriptionContext<'_>,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        let due_ns = now_ns.saturating_add(view.limits.report_resend_ns.max(1));
        let mut sent = Vec::new();
        while let Some((tid, mut pending)) = self.pending.pop_due(now_ns) {
            if pending.sent >= view.limits.report_tries {
                events.extend(self.unheard(view, pending.subscription));
                continue;
            }
            pending.sent += 1;
            sent.extend(self.datagram(view, tid, &pending));
            self.pending.insert(tid, due_ns, pending);
        }
        sent
    }

    fn unheard(&mut self, view: SubscriptionContext<'_>, number: u64) -> Option<SaEvent> {
        let known = self.all.get_mut(&number)?;
        known.unheard += 1;
        if known.unheard < view.limits.unheard_reports {
            return None;
        }
        let ended = self.end(number)?;
        Some(SaEvent::SubscriptionEnded { subscriber: ended.subscriber, trap: ended.record.info.trap_number })
    }

    /// A report addressed to its subscriber on the half that is active now.
    fn datagram(&self, view: SubscriptionContext<'_>, tid: u32, pending: &Pending) -> Option<Datagram> {
        let known = self.all.get(&pending.subscription)?;
        let port = view.directory.by_port_guid(known.subscriber)?;
        let lids = view.directory.lids(port, view.half);
        let facts = view.directory.facts();
        let first = known.rank.checked_rem(lids.len())?;
        // A LID whose path the SM's port may not use has no service level: take the next.
        let mut in_turn = lids.iter().cycle().skip(first).take(lids.len());
        let level = |&lid: &Lid| facts.service_levels.choose(facts.sm, lid, view.half, None).map(|sl| (lid, sl));
        let (lid, sl) = in_turn.find_map(level)?;
        let data = pending.report.encode();
        let mad = SaMad::new(Method::Report, SaAttributeId::Notice, ComponentMask::NONE, data).with_tid(tid.into());
        Some(Datagram { lid, from: None, qp: known.record.info.qpn, sl, bytes: Box::new(mad.encode()) })
    }
}

fn report_of(notice: &Notice, directory: &Directory) -> Report {
    let issuer_gid = match directory.fabric().lid_owner(notice.issuer_lid) {
        Some(port) => directory.gid(port),
        None => Gid::default(),
    };
    Report { notice: notice.clone(), issuer_gid }
}

/// Returns whether two subscriptions of one port are the same, response times aside.
fn same(one: &InformInfo, other: &InformInfo) -> bool {
    let bare = |info: &InformInfo| InformInfo { resp_time_value: 0, ..info.clone() };
    bare(one) == bare(other)
}

/// Returns whether a subscription matches a report (section 13.4.8.3).
fn wants(info: &InformInfo, report: &Report, directory: &Directory) -> bool {
    let notice = &report.notice;
    let kind = u16::from(u8::from(notice.notice_type));
    (info.is_generic == 1) == notice.generic
        && (info.notice_type == InformInfo::ANY || info.notice_type == kind)
        && (info.trap_number == InformInfo::ANY || info.trap_number == notice.trap_number)
        && (info.producer == InformInfo::ANY_PRODUCER || info.producer == notice.producer)
        && about(info, report, directory)
}

/// Returns whether a subscriber may hear that a port came or went: only of one with which it shares a partition.
fn may_hear(subscriber: Guid, report: &Report, directory: &Directory) -> bool {
    match report.notice.trap() {
        Trap::GidInService { gid } | Trap::GidOutOfService { gid } => {
            let ends = [directory.by_port_guid(subscriber), directory.by_gid(gid)];
            matches!(ends, [Some(from), Some(to)] if directory.p_key(from, to, None).is_some())
        }
        _ => true,
    }
}

/// Returns whether the report concerns a port that the subscription names: by GID, else by a range of LIDs.
fn about(info: &InformInfo, report: &Report, directory: &Directory) -> bool {
    if info.gid != Gid::default() {
        let gid_of_report = match report.notice.trap() {
            Trap::GidInService { gid } | Trap::GidOutOfService { gid } => gid,
            Trap::GroupMade { mgid } | Trap::GroupEnded { mgid } => mgid,
            _ => report.issuer_gid,
        };
        return gid_of_report == info.gid;
    }
    if info.lid_range_begin == InformInfo::ANY_LID {
        return true;
    }
    let last = info.lid_range_end.max(info.lid_range_begin);
    let range = info.lid_range_begin..=last;
    let of = |gid: Gid| directory.by_gid(gid).and_then(|port| directory.base_lid(port));
    match report.notice.trap() {
        Trap::GidInService { gid } | Trap::GidOutOfService { gid } => {
            of(gid).is_some_and(|lid: Lid| range.contains(&lid))
        }
        _ => range.contains(&report.notice.issuer_lid),
    }
}
