//! The data lanes of a subnet, their two sets during a change, and the resulting SL-to-VL tables.

use crate::fabric::Fabric;
use crate::ids::{Half, Sl, Vl, VlSet};
use crate::tables::SlToVl;

/// The data lanes that every link has, VL 0 to VL V − 1, divided into two sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// All of them.
    pub all: VlSet,
    /// The lower half: carries the old routing during a change.
    pub a: VlSet,
    /// The rest: carries the new routing.
    pub b: VlSet,
}

impl Lanes {
    /// The lanes of a subnet whose links all have at least `count` data VLs, 1 to 15. With one, A is empty.
    pub fn of_count(count: u8) -> Lanes {
        let all = VlSet::first(count);
        let a = VlSet::first(count / 2);
        Lanes { all, a, b: all.minus(a) }
    }

    /// The lanes that every linked port of `fabric` has; all 15 if nothing is linked.
    pub fn of_fabric(fabric: &Fabric) -> Lanes {
        let least = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(_, port)| port.data_vls).min();
        Lanes::of_count(least.unwrap_or(15).min(15))
    }

    /// Outside a change: the SL of rank r in its half on VL r mod V.
    pub fn steady(&self) -> SlToVl {
        SlToVl::from_fn(|sl| spread(self.all, sl))
    }

    /// During a change: SLs of the half `old` on A, those of the other half on B, each in turn.
    pub fn separate(&self, old: Half) -> SlToVl {
        SlToVl::from_fn(|sl| spread(if Half::of_sl(sl) == old { self.a } else { self.b }, sl))
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
        let table = Lanes::of_count(4).steady();
        let lanes: Vec<u8> = table.0.iter().map(|vl| vl.get()).collect();
        assert_eq!(lanes, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    }
}
