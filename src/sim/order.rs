//! Whether packets arrive in the order in which they were sent, flow by flow.
//!
//! A *flow* is an ordered pair of end ports, replies included. A packet is *late* when a packet of its flow that was
//! sent after it has arrived before it; a message is late when a message of its flow that was begun after it has
//! arrived whole before it did. InfiniBand promises order only among packets of one (SLID, DLID, SL), a *class of the
//! flow*: a packet is late in its class when one of the same three that was sent after it has arrived before it. What
//! is lost is not late, and a message of which a packet is lost never arrives whole. Counting costs a few look-ups for
//! each packet sent and each delivered, so it is done where it is asked for.

use super::index::{By, EndPortRank, PacketId};
use super::packet::{NIL, Packet};
use super::source::Sources;
use crate::fabric::PortId;
use crate::ids::{Lid, Sl};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// What arrived, and what arrived late.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct OrderCounts {
    /// Packets delivered.
    pub packets: u64,
    /// Packets delivered after one of their flow that was sent later.
    pub late_packets: u64,
    /// Of those: after one of the same SLID, DLID and SL.
    pub late_in_class: u64,
    /// Of those: after one of their own message.
    pub late_in_message: u64,
    /// Messages delivered whole; a packet that belongs to none is one by itself.
    pub messages: u64,
    /// Messages delivered whole after one of their flow that was begun later.
    pub late_messages: u64,
}

/// What a packet's header says of its way, within its flow: the SLID as its rank in its half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FlowClass {
    pub slid_rank: u8,
    pub dlid: u16,
    pub sl: u8,
}

impl FlowClass {
    /// That of a packet as its source sends it: the half of its SLID is that of its SL.
    pub(super) fn of(packet: &Packet) -> FlowClass {
        FlowClass { slid_rank: packet.source_path, dlid: packet.dlid, sl: packet.sl }
    }
}

/// A packet that has arrived after one that was sent later with the same SLID, DLID and SL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OvertakenPacket {
    /// Its source.
    pub source: PortId,
    /// Its destination.
    pub destination: PortId,
    /// Its DLID, as its source sent it.
    pub dlid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// Whether its source and its destination are in different subnets.
    pub crossed: bool,
}

/// A packet on its way: its place in its flow, its class and its message.
#[derive(Clone, Copy)]
struct Mark {
    /// Source and destination.
    flow: (EndPortRank, EndPortRank),
    /// Its number in its flow.
    number: u32,
    class: FlowClass,
    /// Its number in its class.
    number_in_class: u32,
    /// The number of its message among all; [`NIL`] where it is one by itself.
    message: u32,
}

/// The progress of a flow.
#[derive(Default)]
struct Flow {
    /// Packets sent.
    sent: u32,
    /// Packets up to the latest that has arrived.
    arrived: u32,
    /// Up to the latest message that has arrived whole: the number of its first packet, and one.
    whole: u32,
}

/// The progress of a class.
#[derive(Default)]
struct ClassFlow {
    /// Packets sent.
    sent: u32,
    /// Packets up to the latest that has arrived.
    arrived: u32,
}

/// A message that has not arrived whole.
struct Open {
    /// Packets to come.
    left: u16,
    /// The number of its first packet in its flow; [`NIL`] before it is sent.
    first: u32,
    /// Packets of the flow up to the latest of this message that has arrived.
    arrived: u32,
}

/// Counts by flow and by message.
#[derive(Default)]
pub struct DeliveryOrder {
    /// By packet, as [`Packets`](super::packet::Packets) numbers them.
    marks: By<PacketId, Mark>,
    /// By source and destination.
    flows: FxHashMap<(EndPortRank, EndPortRank), Flow>,
    /// By source and destination, and class.
    classes: FxHashMap<((EndPortRank, EndPortRank), FlowClass), ClassFlow>,
    /// The first packet that was late in its class.
    first_overtaken: Option<((EndPortRank, EndPortRank), FlowClass)>,
    /// By number.
    open: FxHashMap<u32, Open>,
    /// Messages begun.
    begun: u32,
}

impl DeliveryOrder {
    /// A message of so many packets begins; its number.
    pub(super) fn begin_message(&mut self, packets: u16) -> u32 {
        let number = self.begun;
        // Billions of messages later a number may come again; the one that stands for none never does.
        self.begun = (self.begun + 1) % NIL;
        self.open.insert(number, Open { left: packets, first: NIL, arrived: 0 });
        number
    }

    /// A packet is sent, as part of a message or ([`NIL`]) by itself.
    pub(super) fn sent(&mut self, id: PacketId, ends: (EndPortRank, EndPortRank), class: FlowClass, message: u32) {
        let flow = self.flows.entry(ends).or_default();
        let own = self.classes.entry((ends, class)).or_default();
        let mark = Mark { flow: ends, number: flow.sent, class, number_in_class: own.sent, message };
        flow.sent = flow.sent.wrapping_add(1);
        own.sent = own.sent.wrapping_add(1);
        if let Some(open) = self.open.get_mut(&message).filter(|open| open.first == NIL) {
            open.first = mark.number;
        }
        self.marks.put(id, mark);
    }

    /// The first packet that was late in its class.
    pub(super) fn first_overtaken(&self, sources: &Sources) -> Option<OvertakenPacket> {
        let ((from, to), FlowClass { dlid, sl, .. }) = self.first_overtaken?;
        let (source, destination) = (sources.list[from].port, sources.list[to].port);
        let crossed = sources.subnet_of(from) != sources.subnet_of(to);
        Some(OvertakenPacket { source, destination, dlid: Lid(dlid), sl: Sl::masked(sl), crossed })
    }

    /// A packet is delivered: adds to the counts.
    pub(super) fn delivered(&mut self, id: PacketId, counts: &mut OrderCounts) {
        let mark = self.marks[id];
        let flow = self.flows.entry(mark.flow).or_default();
        counts.packets += 1;
        counts.late_packets += u64::from(overtaken(mark.number, &mut flow.arrived));
        let own = self.classes.entry((mark.flow, mark.class)).or_default();
        if overtaken(mark.number_in_class, &mut own.arrived) {
            counts.late_in_class += 1;
            self.first_overtaken.get_or_insert((mark.flow, mark.class));
        }
        // No open message has number [`NIL`], so a packet by itself counts as a whole message.
        let Some(open) = self.open.get_mut(&mark.message) else {
            counts.messages += 1;
            counts.late_messages += u64::from(overtaken(mark.number, &mut flow.whole));
            return;
        };
        counts.late_in_message += u64::from(overtaken(mark.number, &mut open.arrived));
        open.left -= 1;
        if open.left == 0 {
            counts.messages += 1;
            counts.late_messages += u64::from(overtaken(open.first, &mut flow.whole));
            self.open.remove(&mark.message);
        }
    }
}

/// Whether something of a higher number has arrived; what arrives now counts from now on.
fn overtaken(number: u32, arrived: &mut u32) -> bool {
    let late = number < *arrived;
    *arrived = (*arrived).max(number + 1);
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: (EndPortRank, EndPortRank) = (EndPortRank(0), EndPortRank(1));
    const CLASS: FlowClass = FlowClass { slid_rank: 0, dlid: 2, sl: 0 };

    /// Counts after packets, by number, arrive in some order; those of each message are listed.
    fn counts(messages: &[u16], arrivals: &[u32]) -> OrderCounts {
        let mut order = DeliveryOrder::default();
        let mut next = 0..;
        for &packets in messages {
            let number = if packets == 1 { NIL } else { order.begin_message(packets) };
            for id in next.by_ref().take(packets.into()) {
                order.sent(PacketId(id), ENDS, CLASS, number);
            }
        }
        let mut counts = OrderCounts::default();
        arrivals.iter().for_each(|&id| order.delivered(PacketId(id), &mut counts));
        counts
    }

    #[test]
    fn nothing_is_late_in_order() {
        let in_order = counts(&[1, 1, 1], &[0, 1, 2]);
        assert_eq!(in_order, OrderCounts { packets: 3, messages: 3, ..OrderCounts::default() });
    }

    #[test]
    fn whatever_comes_after_a_later_one_is_late() {
        let late = OrderCounts { late_packets: 2, late_in_class: 2, late_messages: 2, ..OrderCounts::default() };
        let expected = OrderCounts { packets: 4, messages: 4, ..late };
        assert_eq!(counts(&[1, 1, 1, 1], &[2, 0, 1, 3]), expected);
    }

    #[test]
    fn a_message_overtaken_may_be_in_order_itself() {
        let late = OrderCounts { late_packets: 2, late_in_class: 2, late_messages: 1, ..OrderCounts::default() };
        let expected = OrderCounts { packets: 4, messages: 2, ..late };
        assert_eq!(counts(&[2, 2], &[2, 3, 0, 1]), expected);
    }

    #[test]
    fn a_message_out_of_order_itself_may_overtake_nothing() {
        let late = OrderCounts { late_packets: 1, late_in_class: 1, late_in_message: 1, ..OrderCounts::default() };
        let expected = OrderCounts { packets: 5, messages: 2, ..late };
        assert_eq!(counts(&[3, 2], &[0, 2, 1, 3, 4]), expected);
    }

    #[test]
    fn a_message_that_lost_a_packet_never_arrives_whole() {
        let expected = OrderCounts { packets: 3, messages: 1, ..OrderCounts::default() };
        assert_eq!(counts(&[2, 2], &[0, 2, 3]), expected);
    }

    #[test]
    fn flows_are_apart() {
        let mut order = DeliveryOrder::default();
        let ends = |id| if id % 2 == 0 { ENDS } else { (ENDS.1, ENDS.0) };
        (0..4).for_each(|id| order.sent(PacketId(id), ends(id), CLASS, NIL));
        let mut counts = OrderCounts::default();
        [2, 1, 3, 0].into_iter().for_each(|id| order.delivered(PacketId(id), &mut counts));
        assert_eq!(counts.late_packets, 1, "0 comes after 2; 1 comes before 3");
    }

    #[test]
    fn what_another_class_overtakes_is_in_order_in_its_own() {
        let upper = FlowClass { dlid: 3, sl: 8, ..CLASS };
        let mut order = DeliveryOrder::default();
        [CLASS, CLASS, upper].into_iter().zip(0..).for_each(|(class, id)| order.sent(PacketId(id), ENDS, class, NIL));
        let mut counts = OrderCounts::default();
        [2, 0].into_iter().for_each(|id| order.delivered(PacketId(id), &mut counts));
        assert_eq!((counts.late_packets, counts.late_in_class, order.first_overtaken), (1, 0, None));
        order.sent(PacketId(3), ENDS, CLASS, NIL);
        [3, 1].into_iter().for_each(|id| order.delivered(PacketId(id), &mut counts));
        assert_eq!((counts.late_packets, counts.late_in_class), (2, 1), "1 comes after 3");
        assert_eq!(order.first_overtaken, Some((ENDS, CLASS)));
    }
}
