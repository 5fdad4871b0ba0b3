//! InformInfo, and the reports that follow from it.

use crate::sa::bench::Bench;
use reconfig::fabric::PortId;
use reconfig::ids::{Half, Lid};
use reconfig::sa::{Directory, SaEvent, SaLimits};
use reconfig::transport::Datagram;
use reconfig::wire::sa::*;
use reconfig::wire::*;
use std::sync::Arc;

/// What IPoIB's and SRP's daemons ask for: ports that come.
fn in_service() -> InformInfo {
    InformInfo {
        lid_range_begin: InformInfo::ANY_LID,
        is_generic: 1,
        subscribe: 1,
        notice_type: InformInfo::ANY,
        trap_number: 64,
        producer: Notice::CLASS_MANAGER,
        ..InformInfo::default()
    }
}

fn set(bench: &mut Bench, from: PortId, info: &InformInfo) -> Result<InformInfo, u16> {
    let mad = SaMad::new(Method::Set, SaAttributeId::InformInfo, ComponentMask::NONE, info.encode());
    let message = bench.ask_from(from, mad)?;
    Ok(InformInfo::decode(&message.data[..].try_into().unwrap()))
}

fn told(bench: &mut Bench, notice: &Notice) -> Vec<Lid> {
    let sent = bench.sa.notice(notice, bench.now_ns);
    for datagram in &sent {
        let mad = SaMad::decode(&datagram.bytes).unwrap();
        assert_eq!((mad.method, mad.attribute), (Method::Report, SaAttributeId::Notice));
        assert_eq!(&Report::decode(&mad.data).notice, notice);
    }
    sent.iter().map(|datagram| datagram.lid).collect()
}

fn notices(bench: &Bench) -> [Notice; 3] {
    let (gid, sm) = (bench.directory.gid(bench.host(4)), bench.directory.base_lid(bench.directory.facts().sm).unwrap());
    let switch = bench.directory.base_lid(bench.switch(2)).unwrap();
    [Notice::gid_in_service(true, gid, sm), Notice::gid_in_service(false, gid, sm), Notice::link_state_changed(switch)]
}

#[test]
fn a_subscriber_hears_what_it_asked_for() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let (one, all) = (bench.host(0), bench.host(1));
    let everything = InformInfo { trap_number: InformInfo::ANY, producer: InformInfo::ANY_PRODUCER, ..in_service() };
    set(&mut bench, one, &in_service()).unwrap();
    set(&mut bench, all, &everything).unwrap();
    let [one, all] = [one, all].map(|port| bench.lids(port, Half::Lower)[0]);
    let [came, left, link] = notices(&bench);
    assert_eq!(told(&mut bench, &came), [one, all]);
    assert_eq!(told(&mut bench, &left), [all]);
    assert_eq!(told(&mut bench, &link), [all]);
    let vendor = Notice { generic: false, ..link };
    assert_eq!(told(&mut bench, &vendor), []);
}

#[test]
fn ranges_of_lids_and_gids_narrow_it() {
    let bench = Bench::new("ghost-cycle", 1);
    let [.., link] = notices(&bench);
    let any = InformInfo { trap_number: InformInfo::ANY, producer: InformInfo::ANY_PRODUCER, ..in_service() };
    let switch = link.issuer_lid;
    let hears = |info: InformInfo| {
        let mut bench = Bench::new("ghost-cycle", 1);
        let from = bench.host(0);
        set(&mut bench, from, &info).unwrap();
        told(&mut bench, &link).len() == 1
    };
    let range =
        |begin: u16, end: u16| InformInfo { lid_range_begin: Lid(begin), lid_range_end: Lid(end), ..any.clone() };
    assert!(hears(range(switch.0, 0)) && hears(range(switch.0 - 1, switch.0)) && hears(range(1, 0xBFFF)));
    assert!(!hears(range(switch.0 + 1, 0xBFFF)) && !hears(range(1, switch.0 - 1)));
    let gid = |port| InformInfo { gid: bench.directory.gid(port), ..any.clone() };
    assert!(hears(gid(bench.switch(2))) && !hears(gid(bench.switch(1))));
    assert!(
        hears(InformInfo { notice_type: 1, ..any.clone() }) && !hears(InformInfo { notice_type: 3, ..any.clone() })
    );
    assert!(hears(InformInfo { producer: 2, ..any.clone() }) && !hears(InformInfo { producer: 1, ..any.clone() }));
}

#[test]
fn a_subscription_is_made_once_and_ended_by_the_same() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let (from, other) = (bench.host(0), bench.host(1));
    let [came, ..] = notices(&bench);
    assert_eq!(set(&mut bench, from, &in_service()).map(|info| info.qpn), Ok(1));
    set(&mut bench, from, &InformInfo { resp_time_value: 18, ..in_service() }).unwrap();
    let listed = bench.table(&[], &InformInfoRecord::default()).unwrap();
    assert_eq!(
        listed.iter().map(|record| (record.subscriber_gid, record.number)).collect::<Vec<_>>(),
        [(bench.directory.gid(from), 0)]
    );
    let end = InformInfo { subscribe: 0, qpn: 1, ..in_service() };
    assert_eq!(set(&mut bench, other, &end), Err(status::REQUEST_INVALID));
    assert_eq!(told(&mut bench, &came).len(), 1);
    assert!(set(&mut bench, from, &end).is_ok());
    assert_eq!((told(&mut bench, &came), bench.sa.due_ns()), (vec![], u64::MAX));
    assert_eq!(set(&mut bench, from, &InformInfo { subscribe: 2, ..in_service() }), Err(status::REQUEST_INVALID));
}

#[test]
fn reports_follow_the_active_half() {
    let mut bench = Bench::new("ghost-cycle", 2);
    let from = bench.host(0);
    set(&mut bench, from, &in_service()).unwrap();
    let [came, ..] = notices(&bench);
    bench.sa.half_moved(Half::Upper);
    let sent = bench.sa.notice(&came, 0);
    assert_eq!((sent[0].lid, Half::of_sl(sent[0].sl)), (bench.lids(from, Half::Upper)[0], Half::Upper));
}

/// The subscriber's acknowledgement of a report.
fn acknowledgement(report: &Datagram) -> Datagram {
    let mad = SaMad::decode(&report.bytes).unwrap();
    // The kernel puts the number of its agent into the upper half of a transaction.
    let back = SaMad { tid: mad.tid | 7 << 32, ..mad.response(mad.data) };
    Datagram { bytes: Box::new(back.encode()), ..report.clone() }
}

#[test]
fn a_report_is_repeated_until_it_is_acknowledged() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let from = bench.host(0);
    set(&mut bench, from, &in_service()).unwrap();
    let [came, ..] = notices(&bench);
    let first = bench.sa.notice(&came, 1000);
    let due_ns = bench.sa.due_ns();
    assert_eq!(due_ns, 1000 + SaLimits::default().report_resend_ns);
    assert_eq!(bench.sa.wake(due_ns - 1), []);
    let again = bench.sa.wake(due_ns);
    assert_eq!(again, first);
    assert_eq!(bench.sa.answer(&acknowledgement(&first[0]), due_ns), Some(vec![]));
    assert_eq!(bench.sa.due_ns(), u64::MAX);
}

#[test]
fn a_subscription_that_nobody_hears_ends() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let from = bench.host(0);
    set(&mut bench, from, &in_service()).unwrap();
    let [came, ..] = notices(&bench);
    let unheard = |bench: &mut Bench| {
        let mut sent = bench.sa.notice(&came, 0).len();
        while bench.sa.due_ns() != u64::MAX {
            sent += bench.sa.wake(bench.sa.due_ns()).len();
        }
        sent
    };
    assert_eq!(unheard(&mut bench), 3);
    assert_eq!(bench.sa.take_events(), []);
    assert_eq!(unheard(&mut bench), 3);
    let subscriber = bench.directory.guid(from);
    assert_eq!(bench.sa.take_events(), [SaEvent::SubscriptionEnded { subscriber, trap: 64 }]);
    assert_eq!(unheard(&mut bench), 0);
}

#[test]
fn subscribers_that_leave_are_forgotten() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let (from, stays) = (bench.host(0), bench.host(1));
    set(&mut bench, from, &in_service()).unwrap();
    set(&mut bench, stays, &in_service()).unwrap();
    let mut facts = bench.directory.facts().clone();
    facts.fabric = Arc::new(facts.fabric.without_nodes(&[facts.fabric.port(from).node]));
    assert_ne!(facts.sm, from);
    bench.sa.set_directory(Arc::new(Directory::new(facts).unwrap()), 0);
    let [came, ..] = notices(&bench);
    assert_eq!(told(&mut bench, &came), [bench.lids(stays, Half::Lower)[0]]);
}

/// Nobody sends these traps to the manager. A host that shares no partition with the one in question hears of neither.
#[test]
fn the_manager_says_itself_who_comes_and_goes() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let (from, apart) = (bench.host(0), bench.host(1));
    for port in [from, apart] {
        for trap_number in [64, 65] {
            set(&mut bench, port, &InformInfo { trap_number, ..in_service() }).unwrap();
        }
    }
    let mut facts = bench.directory.facts().clone();
    facts.p_keys[apart.index()] = vec![0x8001];
    let whole = Arc::new(Directory::new(facts.clone()).unwrap());
    let gid = bench.directory.gid(bench.host(4));
    facts.fabric = Arc::new(facts.fabric.without_nodes(&[facts.fabric.port(bench.host(4)).node]));
    let without = Arc::new(Directory::new(facts).unwrap());
    let mut told = |directory: &Arc<Directory>| -> Vec<(Lid, Trap)> {
        bench.sa.set_directory(directory.clone(), bench.now_ns);
        let sent = if bench.sa.due_ns() > bench.now_ns { Vec::new() } else { bench.sa.wake(bench.now_ns) };
        let report = |sent: &Datagram| Report::decode(&SaMad::decode(&sent.bytes).unwrap().data);
        let issuer = bench.directory.gid(bench.directory.facts().sm);
        assert!(sent.iter().all(|sent| report(sent).issuer_gid == issuer));
        sent.iter().map(|sent| (sent.lid, report(sent).notice.trap())).collect()
    };
    let lid = bench.directory.base_lid(from).unwrap();
    assert_eq!(told(&whole), [], "nobody came or went");
    assert_eq!(told(&without), [(lid, Trap::GidOutOfService { gid })]);
    assert_eq!(told(&without), []);
    assert_eq!(told(&whole), [(lid, Trap::GidInService { gid })]);
}

#[test]
fn subscriptions_have_a_bound() {
    let bench = Bench::new("ghost-cycle", 1);
    let limits = SaLimits { subscriptions_of_one: 2, reports: 1, ..SaLimits::default() };
    let mut bench = Bench::over(bench.directory.facts().clone(), limits);
    let (from, other) = (bench.host(0), bench.host(1));
    let to = |trap_number| InformInfo { trap_number, ..in_service() };
    let answers = [64, 65, 66].map(|trap| set(&mut bench, from, &to(trap)).map(|info| info.trap_number));
    assert_eq!(answers, [Ok(64), Ok(65), Err(status::NO_RESOURCES)]);
    set(&mut bench, other, &to(64)).unwrap();
    let [came, ..] = notices(&bench);
    assert_eq!(told(&mut bench, &came).len(), 1);
    assert_eq!(bench.sa.take_events(), [SaEvent::ReportsLeftOut { trap: 64, subscribers: 1 }]);
}
