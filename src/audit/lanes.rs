//! Which lanes a service level can take at each hop: the old and the new SL-to-VL tables together.
//!
//! A switch whose tables agree for every cabled (input, output) is held as one table, however the dump spells it.

use super::net::{Net, Source, Stage};
use super::{Case, Snapshot};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{PortNum, Sl, Vl};

/// Lanes as a mask, bit v for VL v; bit 15, which no data lane has, stands for packets that are discarded.
pub(super) type LaneMask = u16;

/// In a [`LaneMask`]: VL 15, a lane that is not in operation, or no table.
pub(super) const DISCARD: LaneMask = 1 << 15;

/// Where a switch's masks lie: `start + rank of the SL × size + input × in_step + output × out_step`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: usize,
    size: usize,
    in_step: usize,
    out_step: usize,
}

/// The lanes of every hop.
pub(super) struct Lanes {
    /// Service levels in use, in rising order.
    pub sls: Vec<Sl>,
    /// One more than the highest data VL that a hop can take.
    pub vls: usize,
    rank: [usize; 16],
    slots: Vec<Slot>,
    masks: Vec<LaneMask>,
    /// By rank of the SL: by port, the lanes that it sends into as a source.
    sources: Vec<Vec<LaneMask>>,
}

impl Lanes {
    /// The lanes that some of the snapshots say, for the service levels of all.
    pub fn new(case: &Case<'_>, net: &Net, snapshots: &[&Snapshot<'_>]) -> Lanes {
        let sls = in_use(case);
        let mut rank = [0; 16];
        sls.iter().enumerate().for_each(|(at, sl)| rank[sl.index()] = at);
        let mut lanes = Lanes { sls, vls: 1, rank, slots: Vec::new(), masks: Vec::new(), sources: Vec::new() };
        for (row, &node) in net.rows.iter().enumerate() {
            let slot = lanes.push(case, snapshots, net.sides[row], node);
            lanes.slots.push(slot);
        }
        lanes.add_sources(case, snapshots, net);
        let all = lanes.masks.iter().chain(lanes.sources.iter().flatten()).fold(0, |all, mask| all | mask);
        lanes.vls = ((LaneMask::BITS - (all & !DISCARD).leading_zeros()) as usize).max(1);
        lanes
    }

    /// The lanes that a packet can take from `input` to `output`, and whether it can be discarded.
    pub fn at_switch(&self, row: u32, sl: Sl, input: PortNum, output: PortNum) -> LaneMask {
        let slot = self.slots[row as usize];
        let at = self.rank[sl.index()] * slot.size + input.index() * slot.in_step + output.index() * slot.out_step;
        self.masks[slot.start + at]
    }

    /// Whether the input makes no difference at a switch.
    pub fn is_uniform(&self, row: u32) -> bool {
        self.slots[row as usize].in_step == 0
    }

    /// The lanes that an end port can send into, and whether it can discard.
    pub fn at_source(&self, source: Source, sl: Sl) -> LaneMask {
        self.sources[self.rank[sl.index()]][source.port.index()]
    }

    fn push(&mut self, case: &Case<'_>, snapshots: &[&Snapshot<'_>], side: usize, node: NodeId) -> Slot {
        let start = self.masks.len();
        let both = |input, output, sl| mask(case, snapshots, node, [input, output], sl);
        if !snapshots.iter().any(|snapshot| snapshot.sl_to_vl.is_some_and(|dump| dump.tells_of(node))) {
            self.masks.extend(self.sls.iter().map(|&sl| both(PortNum::ZERO, PortNum::ZERO, sl)));
            return Slot { start, size: 1, in_step: 0, out_step: 0 };
        }
        let pairs = pairs(case, node);
        let ports = || (0..side).map(|num| PortNum(num as u8));
        let agree = |&sl: &Sl| {
            let mut masks = pairs.iter().map(|&(input, output)| both(input, output, sl));
            let first = masks.next();
            masks.all(|mask| Some(mask) == first).then_some(first.unwrap_or(DISCARD))
        };
        if let Some(agreed) = self.sls.iter().map(agree).collect::<Option<Vec<_>>>() {
            self.masks.extend(agreed);
            return Slot { start, size: 1, in_step: 0, out_step: 0 };
        }
        for &sl in &self.sls {
            self.masks.extend(ports().flat_map(|input| ports().map(move |output| both(input, output, sl))));
        }
        Slot { start, size: side * side, in_step: side, out_step: 1 }
    }

    fn add_sources(&mut self, case: &Case<'_>, snapshots: &[&Snapshot<'_>], net: &Net) {
        for &sl in &self.sls {
            let mut masks = vec![0; case.fabric.port_count()];
            for stage in [Stage::Earlier, Stage::Now] {
                for source in net.sources(stage).iter().filter(|source| source.row.is_none()) {
                    let port = case.fabric.port(source.port);
                    masks[source.port.index()] = mask(case, snapshots, port.node, [PortNum::ZERO, port.num], sl);
                }
            }
            self.sources.push(masks);
        }
    }
}

/// The lane of one snapshot from an input to an output; none where packets are discarded. Without a file, and for devices
/// that it does not tell of, the lane of a service level is the one of its number, modulo the lanes in operation where that
/// is known. So it is at the beginning of a path where the file tells of other inputs only: most leave those out.
pub(super) fn lane(snapshot: &Snapshot<'_>, vls: Option<u8>, node: NodeId, hop: [PortNum; 2], sl: Sl) -> Option<Vl> {
    let [input, output] = hop;
    let told = snapshot.sl_to_vl.filter(|dump| dump.tells_of(node));
    let vl = match told.map(|dump| dump.get(node, input, output)) {
        Some(Some(table)) => table.get(sl),
        Some(None) if input != PortNum::ZERO => return None,
        _ => Vl::masked(vls.map_or(sl.get(), |vls| sl.get() % vls)),
    };
    let data = vl != Vl::MANAGEMENT && vls.is_none_or(|vls| vl.get() < vls);
    data.then_some(vl)
}

fn mask(case: &Case<'_>, snapshots: &[&Snapshot<'_>], node: NodeId, hop: [PortNum; 2], sl: Sl) -> LaneMask {
    let of = |snapshot| lane(snapshot, case.rules.data_vls, node, hop, sl).map_or(DISCARD, |vl| 1 << vl.get());
    snapshots.iter().fold(0, |mask, snapshot| mask | of(snapshot))
}

/// Lanes of a mask in rising order, discarding left out.
pub(super) fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut left = mask & !DISCARD;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < LaneMask::BITS).then_some(lane as usize)
    })
}

fn in_use(case: &Case<'_>) -> Vec<Sl> {
    let mut used = [false; 16];
    used[0] = true;
    let files = case.snapshots().into_iter().filter_map(|snapshot| snapshot.path_sls);
    files.flat_map(|sls| sls.in_use()).for_each(|sl| used[sl.index()] = true);
    Sl::all().filter(|sl| used[sl.index()]).collect()
}

/// The (input, output) pairs of a switch that data can take, at either stage.
fn pairs(case: &Case<'_>, node: NodeId) -> Vec<(PortNum, PortNum)> {
    let has_cable = |fabric: &Fabric, port| fabric.peer(port).is_some();
    let cabled = |&port: &_| has_cable(case.fabric, port) || case.earlier.is_some_and(|fabric| has_cable(fabric, port));
    let ports: Vec<PortNum> =
        case.fabric.ports_of(node).filter(cabled).map(|port| case.fabric.port(port).num).collect();
    let inputs = ports.iter().copied().chain(case.rules.switches.then_some(PortNum::ZERO));
    inputs.flat_map(|input| ports.iter().map(move |&output| (input, output))).collect()
}
