//! The data lanes of a subnet, their two sets during a change, and the resulting SL-to-VL tables.

use super::{LanePartition, Policy};
use crate::fabric::Fabric;
use crate::ids::{Half, ReservedLevel, Sl, Vl, VlSet};
use crate::tables::SlToVl;

/// The data lanes that every link has, VL 0 to VL V − 1, divided into two sets; the last one apart, where a service
/// level is reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// All of them, but the reserved one.
    pub all: VlSet,
    /// Carries the old routing during a change: the lower lanes, or those of the old half where the partition stands.
    pub a: VlSet,
    /// The rest: carries the new routing.
    pub b: VlSet,
    /// The service level that is of neither half, and its lane (K.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ReservedLevel>,
}

impl Lanes {
    /// The lanes of `set` that one of `count` virtual layers is on: the one of its number. Lanes that no layer claims
    /// go with the last.
    pub(crate) fn of_layer(set: VlSet, layer: usize, count: usize) -> VlSet {
        let own = |at: usize| at == layer || layer + 1 == count && at > layer;
        let lanes = set.iter().enumerate().filter(|&(at, _)| own(at));
        lanes.fold(VlSet::EMPTY, |set, (_, vl)| VlSet(set.0 | 1 << vl.get()))
    }

    /// The lanes of a subnet whose links all have at least `count` data VLs, 1 to 15. With one, A is empty.
    pub fn of_count(count: u8) -> Lanes {
        let all = VlSet::first(count);
        let a = VlSet::first(count / 2);
        Lanes { all, a, b: all.minus(a), reserved: None }
    }

    /// The lanes of `count` data VLs, the last of which is reserved for a service level. A single lane cannot be kept
    /// apart: the reserved lane is then VL 1, which no link carries, so that planners and judges refuse.
    pub fn of_count_reserving(count: u8, reserved: Option<Sl>) -> Lanes {
        let Some(sl) = reserved else { return Lanes::of_count(count) };
        let rest = count.saturating_sub(1).max(1);
        Lanes { reserved: Some(ReservedLevel { sl, vl: Vl::masked(rest) }), ..Lanes::of_count(rest) }
    }

    /// The lanes that every linked port of `fabric` has, all 15 if nothing is linked; the last for a reserved level.
    pub fn of_fabric(fabric: &Fabric, reserved: Option<Sl>) -> Lanes {
        let least = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(_, port)| port.data_vls).min();
        Lanes::of_count_reserving(least.unwrap_or(15).min(15), reserved)
    }

    /// The lanes of a change from the half `old`. Under a standing partition each half keeps its own: the lower half of
    /// LIDs the lower lanes, the upper half the rest (P1.6).
    pub fn of_change(fabric: &Fabric, policy: &Policy, old: Half) -> Lanes {
        Lanes::of_fabric(fabric, policy.reserved_sl).parted(policy.partition, old)
    }

    /// Every data VL in operation, the reserved one included.
    pub fn in_operation(&self) -> VlSet {
        self.all.iter().chain(self.reserved.map(|reserved| reserved.vl)).collect()
    }

    /// The number of data VLs in operation.
    pub fn count(&self) -> usize {
        self.in_operation().len()
    }

    fn parted(self, partition: LanePartition, old: Half) -> Lanes {
        match (partition, old) {
            (LanePartition::Standing, Half::Upper) => Lanes { a: self.b, b: self.a, ..self },
            (LanePartition::Standing, Half::Lower) | (LanePartition::Temporary, _) => self,
        }
    }

    /// Outside a change. Under a temporary partition the SL of rank r in its half takes VL r mod V, under a standing
    /// one lane r of those of its half. One lane cannot be divided, and takes every SL.
    pub fn steady(&self, partition: LanePartition) -> SlToVl {
        match partition {
            LanePartition::Standing if self.all.len() > 1 => {
                let parted = Lanes::of_count(self.all.len() as u8);
                Lanes { reserved: self.reserved, ..parted }.separate(Half::Lower)
            }
            LanePartition::Standing | LanePartition::Temporary => self.mapping(|_| self.all),
        }
    }

    /// The table of every device of a subnet outside a change.
    pub fn steady_table(fabric: &Fabric, policy: &Policy) -> SlToVl {
        Lanes::of_fabric(fabric, policy.reserved_sl).steady(policy.partition)
    }

    /// During a change: SLs of the half `old` on A, those of the other half on B, each in turn.
    pub fn separate(&self, old: Half) -> SlToVl {
        self.mapping(|sl| if Half::of_sl(sl) == old { self.a } else { self.b })
    }

    /// Each service level in turn on the lanes that it may use; the reserved one on its own, at every time (K.1).
    fn mapping(&self, of: impl Fn(Sl) -> VlSet) -> SlToVl {
        SlToVl::from_fn(|sl| match self.reserved {
            Some(reserved) if reserved.sl == sl => reserved.vl,
            _ => spread(of(sl), sl),
        })
    }
}

/// The lane of a service level if the levels of each half use the lanes of a set in turn: the layers of a routing
/// function keep their lanes, whichever half it is on.
fn spread(lanes: VlSet, sl: Sl) -> Vl {
    assert!(!lanes.is_empty(), "SL {sl} has no lane to go to: the planner must have asked for two data VLs");
    let nth = Half::rank(sl) % lanes.len();
    lanes.iter().nth(nth).unwrap_or(Vl::MANAGEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_never_share_a_lane_while_separate() {
        for count in 2..=15 {
            let lanes = Lanes::of_count(count);
            assert_eq!(lanes.a.len() + lanes.b.len(), usize::from(count));
            for old in [Half::Lower, Half::Upper] {
                let table = lanes.separate(old);
                assert!(old.sls().all(|sl| lanes.a.contains(table.get(sl))), "{count} lanes, {old}");
                assert!(old.other().sls().all(|sl| lanes.b.contains(table.get(sl))), "{count} lanes, {old}");
            }
        }
    }

    #[test]
    fn steady_lanes_are_taken_in_turn() {
        let lanes = |partition| Lanes::of_count(4).steady(partition).0.map(Vl::get);
        assert_eq!(lanes(LanePartition::Temporary), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(lanes(LanePartition::Standing), [0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]);
    }

    #[test]
    fn the_reserved_level_has_its_lane_to_itself_at_every_time() {
        for count in [2, 3, 4, 8, 15] {
            let reserved = ReservedLevel { sl: Sl::MAX, vl: Vl::masked(count - 1) };
            let lanes = Lanes::of_count_reserving(count, Some(reserved.sl));
            assert_eq!((lanes.reserved, lanes.count()), (Some(reserved), usize::from(count)));
            let steady = LanePartition::ALL.iter().map(|&partition| lanes.steady(partition));
            // Of two lanes one is left, which no two sets share.
            let apart = [Half::Lower, Half::Upper].into_iter().filter(|_| count > 2).map(|old| lanes.separate(old));
            for table in steady.chain(apart) {
                let there = Sl::all().filter(|&sl| table.get(sl) == reserved.vl).collect::<Vec<_>>();
                assert_eq!(there, [reserved.sl], "{count} lanes");
            }
        }
    }

    #[test]
    fn a_standing_partition_is_that_of_every_change() {
        for count in [2, 4, 8, 15] {
            for old in [Half::Lower, Half::Upper] {
                let lanes = Lanes::of_count(count).parted(LanePartition::Standing, old);
                assert_eq!(lanes.separate(old), lanes.steady(LanePartition::Standing), "{count} lanes, {old}");
            }
        }
    }
}
