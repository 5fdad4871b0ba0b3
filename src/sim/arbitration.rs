//! VL arbitration as programmed (IBA 7.6.9): two lists of lanes with weights, and how much the one of high priority may
//! send before the other has its turn.
//!
//! A port whose lists nobody has written goes by equal weights, in `plane`, without any of this. A lane that stands in
//! no list with a weight above 0 is never served: its packets wait until a list has it, or a lifetime limit takes them.

use crate::wire::VlArbitrationTable;

/// Bytes of a credit, and of a unit of weight.
const UNIT: i64 = 64;
/// Bytes of a unit of PortInfo:VLHighLimit.
const LIMIT_UNIT: i64 = 4096;
/// VLHighLimit: the list of high priority has no limit.
const UNLIMITED: u8 = 255;

/// The arbiter of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct VlArbiter {
    high: LaneList,
    low: LaneList,
    /// Bytes that the list of high priority may send in a row where the other has a packet to send.
    limit: i64,
    /// Those it may still send; 0 or less when it is the other's turn.
    left: i64,
}

/// A list of lanes, served in turn.
#[derive(Clone, PartialEq, Eq, Debug)]
struct LaneList {
    /// Lanes with their weights in credits, those without weight left out.
    entries: Vec<(u8, u16)>,
    /// The entry in turn.
    at: usize,
    /// Credits that it may still send.
    left: u16,
}

impl VlArbiter {
    /// An arbiter by two lists and PortInfo:VLHighLimit.
    pub fn of(high: &VlArbitrationTable, low: &VlArbitrationTable, high_limit: u8) -> VlArbiter {
        // With 0 one packet: whatever its length, it is over the limit then.
        let limit = if high_limit == UNLIMITED { i64::MAX } else { (i64::from(high_limit) * LIMIT_UNIT).max(1) };
        VlArbiter { high: LaneList::of(high), low: LaneList::of(low), limit, left: limit }
    }

    /// The lane that sends next. `ready` says how many credits the packet takes that a lane could send now; none where
    /// it could send none.
    pub fn pick(&mut self, mut ready: impl FnMut(u8) -> Option<u16>) -> Option<u8> {
        if self.left <= 0
            && let Some((vl, _)) = self.low.next(&mut ready)
        {
            self.left = self.limit;
            return Some(vl);
        }
        if let Some((vl, credits)) = self.high.next(&mut ready) {
            if self.limit != i64::MAX {
                self.left -= i64::from(credits) * UNIT;
            }
            return Some(vl);
        }
        let (vl, _) = self.low.next(&mut ready)?;
        self.left = self.limit;
        Some(vl)
    }
}

impl LaneList {
    fn of(table: &VlArbitrationTable) -> LaneList {
        let weighty = table.0.iter().filter(|entry| entry.weight > 0);
        let entries: Vec<(u8, u16)> = weighty.map(|entry| (entry.vl.get(), entry.weight.into())).collect();
        LaneList { at: 0, left: entries.first().map_or(0, |entry| entry.1), entries }
    }

    /// The next lane in turn that is ready, and what its packet takes. The entry in turn goes on while it has weight
    /// left, and a packet that is longer than the rest still goes.
    fn next(&mut self, ready: &mut impl FnMut(u8) -> Option<u16>) -> Option<(u8, u16)> {
        let entries = self.entries.len();
        // One step more than there are: the entry in turn may have its next turn, too.
        for step in 0..=entries {
            let at = (self.at + step) % entries.max(1);
            let &(vl, weight) = self.entries.get(at)?;
            let left = if step == 0 { self.left } else { weight };
            if left > 0
                && let Some(credits) = ready(vl)
            {
                (self.at, self.left) = (at, left.saturating_sub(credits));
                return Some((vl, credits));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Vl;
    use crate::wire::VlArbitrationEntry;

    fn table(entries: &[(u8, u8)]) -> VlArbitrationTable {
        let mut table = VlArbitrationTable::default();
        for (own, &(vl, weight)) in table.0.iter_mut().zip(entries) {
            *own = VlArbitrationEntry { vl: Vl::masked(vl), weight };
        }
        table
    }

    /// The lanes of the next packets, each of eight credits (512 bytes), where these lanes always have one.
    fn order(arbiter: &mut VlArbiter, lanes: &[u8], packets: usize) -> Vec<u8> {
        let next = |_| arbiter.pick(|vl| lanes.contains(&vl).then_some(8)).expect("a lane is ready");
        (0..packets).map(next).collect()
    }

    #[test]
    fn lanes_of_a_list_send_by_their_weights() {
        // 8 credits are one packet, 24 three; a packet that is longer than the rest of a weight still goes.
        let low = table(&[(0, 8), (1, 24), (2, 1), (3, 0)]);
        let mut arbiter = VlArbiter::of(&table(&[]), &low, 0);
        assert_eq!(order(&mut arbiter, &[0, 1, 2, 3], 10), [0, 1, 1, 1, 2, 0, 1, 1, 1, 2]);
        assert_eq!(order(&mut arbiter, &[1], 5), [1, 1, 1, 1, 1], "a lane alone has every turn");
        assert_eq!(arbiter.pick(|vl| (vl == 3).then_some(8)), None, "without weight a lane is never served");
        assert_eq!(arbiter.pick(|vl| (vl == 7).then_some(8)), None, "nor is one that is not listed");
    }

    #[test]
    fn a_lane_may_stand_in_a_list_twice() {
        let low = table(&[(0, 8), (1, 8), (0, 8), (2, 8)]);
        assert_eq!(order(&mut VlArbiter::of(&table(&[]), &low, 0), &[0, 1, 2], 8), [0, 1, 0, 2, 0, 1, 0, 2]);
    }

    #[test]
    fn high_priority_goes_first_up_to_its_limit() {
        let (high, low) = (table(&[(1, 255)]), table(&[(0, 8), (2, 8)]));
        let lanes = [0, 1, 2];
        // One packet of high priority, then one of the others.
        assert_eq!(order(&mut VlArbiter::of(&high, &low, 0), &lanes, 6), [1, 0, 1, 2, 1, 0]);
        // 4096 bytes are eight packets.
        let first = order(&mut VlArbiter::of(&high, &low, 1), &lanes, 18);
        assert_eq!(first, [vec![1; 8], vec![0], vec![1; 8], vec![2]].concat());
        assert_eq!(order(&mut VlArbiter::of(&high, &low, 255), &lanes, 100), [1; 100]);
        // Where the others have nothing, the limit stops nobody.
        assert_eq!(order(&mut VlArbiter::of(&high, &low, 0), &[1], 4), [1; 4]);
    }
}
