//! Sender and receiver over a channel that loses, doubles, delays and reorders.

use crate::support::properties::properties;
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::sa::rmpp::*;
use reconfig::wire::Method;
use reconfig::wire::sa::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn head() -> SaMad {
    let record = NodeRecord::default();
    SaMad { attribute_offset: 14, ..SaMad::request(Method::GetTableResp, ComponentMask::NONE, &record).with_tid(77) }
}

fn message(len: usize) -> Arc<[u8]> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum To {
    Receiver,
    Sender,
}

/// Packets under way, by the time of their arrival.
struct Channel {
    rng: Pcg64,
    loss: f64,
    doubling: f64,
    spread_ns: u64,
    under_way: BTreeMap<(u64, u64), (To, SaMad)>,
    sent: u64,
}

impl Channel {
    fn send(&mut self, to: To, mads: Vec<SaMad>, now_ns: u64) {
        for mad in mads {
            let copies =
                if self.rng.random_bool(self.loss) { 0 } else { 1 + u32::from(self.rng.random_bool(self.doubling)) };
            for _ in 0..copies {
                self.sent += 1;
                let at = now_ns + 1 + self.rng.next_u64() % self.spread_ns;
                // Over the wire, as bytes.
                let mad = SaMad::decode(&mad.encode()).expect("a MAD that was encoded");
                self.under_way.insert((at, self.sent), (to, mad));
            }
        }
    }
}

/// How both ends saw it end.
#[derive(PartialEq, Debug)]
struct End {
    sender: Result<(), TransferFailure>,
    receiver: Option<Result<RmppMessage, TransferFailure>>,
    packets: u64,
}

/// Runs a transfer until nothing moves any more.
fn transfer(data: &Arc<[u8]>, paces: [RmppPace; 2], mut channel: Channel) -> End {
    let (mut sender, first) = Sender::begin(head(), data.clone(), paces[0], 0);
    channel.send(To::Receiver, first, 0);
    let (mut receiver, mut sender_end, mut receiver_end): (Option<Receiver>, _, _) = (None, None, None);
    for _ in 0..1_000_000 {
        let arrival = channel.under_way.keys().next().map_or(u64::MAX, |key| key.0);
        let receiver_due = receiver.as_ref().map_or(u64::MAX, |receiver| receiver.due_ns());
        let now_ns = arrival.min(sender.due_ns()).min(receiver_due);
        if sender_end.is_some() && channel.under_way.is_empty() || now_ns == u64::MAX {
            let sender = sender_end.expect("a sender that ends");
            return End { sender, receiver: receiver_end, packets: channel.sent };
        }
        if arrival > now_ns {
            let step = sender.wake(now_ns);
            channel.send(To::Receiver, step.mads, now_ns);
            sender_end = sender_end.or(step.end);
            let step = receiver.as_mut().map(|receiver| receiver.wake(now_ns));
            if let Some(RmppStep { mads, end }) = step {
                channel.send(To::Sender, mads, now_ns);
                receiver_end = receiver_end.or(end);
            }
            continue;
        }
        match channel.under_way.pop_first().expect("something arrives").1 {
            (To::Sender, mad) => {
                let step = sender.take(&mad, now_ns);
                channel.send(To::Receiver, step.mads, now_ns);
                sender_end = sender_end.or(step.end);
            }
            (To::Receiver, mad) => {
                let receiver = receiver.get_or_insert_with(|| Receiver::begin(&mad, paces[1], now_ns));
                let step = receiver.take(&mad, now_ns);
                channel.send(To::Sender, step.mads, now_ns);
                receiver_end = receiver_end.or(step.end);
            }
        }
    }
    panic!("the transfer does not end");
}

fn channel(seed: u64, loss: f64, doubling: f64, spread_ns: u64) -> Channel {
    let rng = Pcg64::seed_from_u64(seed);
    Channel { rng, loss, doubling, spread_ns, under_way: BTreeMap::new(), sent: 0 }
}

fn pace() -> impl Strategy<Value = RmppPace> {
    (1u32..70, 0u32..12).prop_map(|(window, retries)| RmppPace { window, retries, ..RmppPace::default() })
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_message_arrives_as_it_was_sent_or_both_ends_know_better(
        len in 0usize..20_000, seed in any::<u64>(), paces in [pace(), pace()],
        loss in prop_oneof![Just(0.0), 0.0..0.6], doubling in 0.0..0.5, spread_ns in 1u64..1_000_000_000,
    ) {
        let data = message(len);
        let end = transfer(&data, paces, channel(seed, loss, doubling, spread_ns));
        if let Some(Ok(message)) = &end.receiver {
            prop_assert_eq!(&message.data[..], &data[..]);
            prop_assert_eq!((message.head.tid, message.head.attribute_offset), (77, 14));
        }
        // A sender that believes in its success is right.
        if end.sender.is_ok() {
            prop_assert!(matches!(end.receiver, Some(Ok(_))), "{:?}", end);
        }
    }

    #[test]
    fn without_faults_every_message_arrives(len in 0usize..60_000, seed in any::<u64>(), paces in [pace(), pace()]) {
        let data = message(len);
        let end = transfer(&data, paces, channel(seed, 0.0, 0.0, 1000));
        prop_assert_eq!(end.sender, Ok(()));
        prop_assert_eq!(end.receiver.map(|end| end.map(|message| message.data)), Some(Ok(data.to_vec())));
        prop_assert!(end.packets <= 2 * u64::from(segments_for(len)) + 2, "{} packets", end.packets);
    }

    /// Whatever comes in, neither end sends without bound, and both come to an end.
    #[test]
    fn any_packet_is_taken(bytes in prop::collection::vec(any::<[u8; 32]>(), 1..20), len in 0usize..2000) {
        let (mut sender, _) = Sender::begin(head(), message(len), RmppPace::default(), 0);
        let mut receiver = Receiver::begin(&head(), RmppPace::default(), 0);
        for noise in bytes {
            let mut mad = head().encode();
            mad[24..36].copy_from_slice(&noise[..12]);
            mad[24] = 1;
            mad[25] = noise[1] % 6;
            mad[28..31].fill(0);
            let mad = SaMad::decode(&mad).expect("class and version are kept");
            prop_assert!(sender.take(&mad, 1).mads.len() <= 64);
            prop_assert!(receiver.take(&mad, 1).mads.len() <= 1);
        }
        let end_ns = 10 * RmppPace::default().total_ns;
        for turn in 0..20 {
            sender.wake(end_ns + turn * end_ns);
            receiver.wake(end_ns + turn * end_ns);
        }
        prop_assert_eq!((sender.due_ns(), receiver.is_over(20 * end_ns)), (u64::MAX, true));
    }
}

#[test]
fn a_short_answer_is_one_packet() {
    let (mut sender, first) = Sender::begin(head(), message(72), RmppPace::default(), 5);
    let [mad] = &first[..] else { panic!("{} packets", first.len()) };
    let Rmpp { first, last, active, segment, length, .. } = mad.rmpp;
    assert_eq!((mad.rmpp.kind, first, last, active, segment, length), (RmppType::Data, true, true, true, 1, 92));
    assert_eq!(length_of(&mad.encode()), 56 + 72);
    let ack = Rmpp { segment: 1, length: 1, ..Rmpp::of(RmppType::Ack) };
    assert_eq!(sender.take(&SaMad { rmpp: ack, ..head() }, 6), RmppStep { mads: vec![], end: Some(Ok(())) });
    assert_eq!(sender.due_ns(), u64::MAX);
}

/// As the kernel counts them: 220 bytes a segment less what the last one lacks; in the last, its own.
#[test]
fn lengths_are_those_of_the_kernel() {
    let (mut sender, first) = Sender::begin(head(), message(450), RmppPace::default(), 0);
    let ack = Rmpp { segment: 1, length: 65, ..Rmpp::of(RmppType::Ack) };
    let rest = sender.take(&SaMad { rmpp: ack, ..head() }, 1).mads;
    let lengths = |mads: &[SaMad]| mads.iter().map(|mad| (mad.rmpp.segment, mad.rmpp.length)).collect::<Vec<_>>();
    assert_eq!((lengths(&first), lengths(&rest)), (vec![(1, 510)], vec![(2, 0), (3, 70)]));
}

#[test]
fn silence_is_answered_by_the_first_segment_that_is_missing_and_then_by_an_abort() {
    let pace = RmppPace { retries: 2, resend_ns: 10, ..RmppPace::default() };
    let (mut sender, _) = Sender::begin(head(), message(2000), pace, 0);
    let ack = Rmpp { segment: 1, length: 3, ..Rmpp::of(RmppType::Ack) };
    let numbers = |mads: Vec<SaMad>| mads.into_iter().map(|mad| mad.rmpp.segment).collect::<Vec<_>>();
    assert_eq!(numbers(sender.take(&SaMad { rmpp: ack, ..head() }, 5).mads), [2, 3]);
    assert_eq!(sender.due_ns(), 15);
    assert_eq!(sender.wake(14), RmppStep { mads: vec![], end: None });
    assert_eq!(numbers(sender.wake(15).mads), [2, 3]);
    assert_eq!(numbers(sender.wake(25).mads), [2, 3]);
    let RmppStep { mads, end } = sender.wake(35);
    assert_eq!((mads[0].rmpp.kind, mads[0].rmpp.status), (RmppType::Abort, RmppStatus::TooManyRetries));
    assert_eq!(end, Some(Err(TransferFailure::GaveUp { segments: 1, of: 10, status: RmppStatus::TooManyRetries })));
}

#[test]
fn what_cannot_be_is_aborted_with_its_reason() {
    let begin = || Sender::begin(head(), message(2000), RmppPace::default(), 0).0;
    let told = |sender: &mut Sender, segment, length| {
        let ack = Rmpp { segment, length, ..Rmpp::of(RmppType::Ack) };
        sender.take(&SaMad { rmpp: ack, ..head() }, 1).mads.last().map(|mad| (mad.rmpp.kind, mad.rmpp.status))
    };
    assert_eq!(told(&mut begin(), 2, 9), Some((RmppType::Abort, RmppStatus::SegmentTooBig)));
    let mut sender = begin();
    assert_eq!(told(&mut sender, 1, 4), Some((RmppType::Data, RmppStatus::Normal)));
    assert_eq!(told(&mut sender, 1, 3), None); // overtaken
    assert_eq!(told(&mut sender, 2, 3), Some((RmppType::Abort, RmppStatus::WindowTooSmall)));

    let segment = |segment, first, last, length| {
        let rmpp = Rmpp { segment, first, last, length, ..Rmpp::of(RmppType::Data) };
        SaMad { rmpp, ..head() }
    };
    let answered = |mad: &SaMad| Receiver::begin(mad, RmppPace::default(), 0).take(mad, 0).mads[0].rmpp;
    assert_eq!(answered(&segment(2, true, false, 0)).status, RmppStatus::InconsistentFirst);
    assert_eq!(answered(&segment(1, true, true, 300)).status, RmppStatus::InconsistentLast);
    assert_eq!(answered(&segment(1, true, true, 19)).status, RmppStatus::InconsistentLast);
    let other = Rmpp { version: 2, ..segment(1, true, true, 20).rmpp };
    assert_eq!(answered(&SaMad { rmpp: other, ..head() }).status, RmppStatus::UnsupportedVersion);
}

#[test]
fn a_receiver_takes_no_more_than_it_has_room_for() {
    let small = RmppPace { most_bytes: 1000, ..RmppPace::default() };
    let end = transfer(&message(1001), [RmppPace::default(), small], channel(1, 0.0, 0.0, 10));
    let stopped = RmppStatus::ResourcesExhausted;
    assert!(matches!(end.receiver, Some(Err(TransferFailure::GaveUp { status, .. })) if status == stopped));
    assert!(matches!(end.sender, Err(TransferFailure::Ended { status, .. }) if status == stopped));
    assert_eq!(transfer(&message(1000), [RmppPace::default(), small], channel(1, 0.0, 0.0, 10)).sender, Ok(()));
}

#[test]
fn an_acknowledgement_answers_the_method_of_the_segments() {
    let (_, first) = Sender::begin(head(), message(10), RmppPace::default(), 0);
    let step = Receiver::begin(&first[0], RmppPace::default(), 0).take(&first[0], 0);
    assert_eq!((step.mads[0].method, step.mads[0].tid), (Method::GetTable, 77));
}

#[test]
fn who_was_never_heard_of_is_sent_nothing_unasked() {
    let pace = RmppPace { unheard: false, ..RmppPace::default() };
    let (mut sender, first) = Sender::begin(head(), message(1000), pace, 0);
    assert_eq!(first.len(), 1);
    let patience_ns = pace.resend_ns * (u64::from(pace.retries) + 1);
    assert_eq!(sender.due_ns(), patience_ns);
    assert_eq!(sender.begin_again(5), first, "asked again, it answers again");
    let step = sender.wake(patience_ns + 5);
    assert_eq!((step.mads.len(), step.end), (0, Some(Err(TransferFailure::Unheard { segments: 5 }))));

    let (mut sender, _) = Sender::begin(head(), message(1000), pace, 0);
    let acknowledged = Rmpp { segment: 1, length: 2, ..Rmpp::of(RmppType::Ack) };
    let ack = SaMad { rmpp: acknowledged, ..head() };
    assert_eq!(sender.take(&ack, 9).mads.len(), 1, "the second segment");
    assert_eq!(sender.wake(9 + pace.resend_ns).mads.len(), 1, "and once more: there is somebody");
}
