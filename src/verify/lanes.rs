//! The lanes that a service level can take at each hop of each stage, and the hops at which packets are discarded for
//! want of one.
//!
//! On entry, for each stage, masks that unite the lanes of every table that may be in force. Service levels that no
//! table distinguishes form a *group* and are walked once. A switch whose lanes do not depend on input and output has
//! one mask for each group. The reader of the tables decides what a mask contains: `tables` for a proof, `audit` for
//! dumps.

use crate::fabric::PortId;
use crate::ids::{Half, PortNum, Sl};

/// Lanes as a mask, bit v for VL v. Bit 15, which no data lane has, is [`DISCARD`].
pub(crate) type LaneMask = u16;

/// In a [`LaneMask`]: some packets are discarded, because their service level has no data lane there.
pub(crate) const DISCARD: LaneMask = 1 << 15;

/// Service levels that every table maps alike.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// In rising order; never empty. All are of one half, where halves matter.
    pub sls: Vec<Sl>,
}

impl Group {
    /// A service level that stands for all of them.
    #[inline]
    pub fn sl(&self) -> Sl {
        self.sls[0]
    }

    /// The half of its service levels.
    #[inline]
    pub fn half(&self) -> Half {
        Half::of_sl(self.sl())
    }
}

/// The layout of a switch's masks: `start + group × size + input × in_step + output × out_step`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Slot {
    start: usize,
    size: usize,
    in_step: usize,
    out_step: usize,
}

/// The masks of one stage.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StageLanes {
    groups: usize,
    masks: Vec<LaneMask>,
    /// By row.
    slots: Vec<Slot>,
    /// By port, then group: the lanes that the port can take into its own channel as a source; 0 where it is none.
    sources: Vec<LaneMask>,
}

impl StageLanes {
    /// No switch yet, and no source.
    pub fn new(groups: usize, ports: usize) -> StageLanes {
        StageLanes { groups, masks: Vec::new(), slots: Vec::new(), sources: vec![0; groups * ports] }
    }

    /// Adds the next row, at which the lanes do not depend on input and output: a mask for each group.
    pub fn push_uniform(&mut self, masks: impl IntoIterator<Item = LaneMask>) {
        let start = self.masks.len();
        self.masks.extend(masks);
        // Steps of 0 lead every input and output to the same mask.
        self.slots.push(Slot { start, size: 1, in_step: 0, out_step: 0 });
    }

    /// Adds the next row, of `side` ports with port 0; `mask` gives the lanes of a group from an input to an output.
    pub fn push_pairs(&mut self, side: usize, mask: impl Fn(usize, PortNum, PortNum) -> LaneMask) {
        let start = self.masks.len();
        let ports = || (0..side).map(|num| PortNum(num as u8));
        for group in 0..self.groups {
            let mask = &mask;
            self.masks.extend(ports().flat_map(|input| ports().map(move |output| mask(group, input, output))));
        }
        self.slots.push(Slot { start, size: side * side, in_step: side, out_step: 1 });
    }

    /// Sets the lanes that a port takes as a source: a mask for each group.
    pub fn set_source(&mut self, port: PortId, masks: impl IntoIterator<Item = LaneMask>) {
        let own = &mut self.sources[port.index() * self.groups..(port.index() + 1) * self.groups];
        own.iter_mut().zip(masks).for_each(|(own, mask)| *own = mask);
    }
}

/// The lanes of every stage.
pub(crate) struct HopLanes {
    pub groups: Vec<Group>,
    /// One more than the highest data VL that some hop can take; at least 1.
    pub vls: usize,
    stages: Vec<StageLanes>,
    /// By stage: whether its masks are those of the stage before.
    repeats: Vec<bool>,
}

impl HopLanes {
    /// Combines the stages.
    pub fn new(groups: Vec<Group>, stages: Vec<StageLanes>) -> HopLanes {
        let used = |stage: &StageLanes| stage.masks.iter().chain(&stage.sources).fold(0, |all, mask| all | mask);
        let used = stages.iter().map(used).fold(0, |all: LaneMask, mask| all | mask) & !DISCARD;
        // Every array of the proof has `vls` entries for each channel: lanes that no hop can take are omitted.
        let vls = (LaneMask::BITS - used.leading_zeros()).max(1) as usize;
        // Compared once here: the walk asks for each class and stage.
        let repeats = (0..stages.len()).map(|stage| stage > 0 && stages[stage] == stages[stage - 1]).collect();
        HopLanes { groups, vls, stages, repeats }
    }

    /// The lanes that a packet of `group` can take from `input` to `output`, and whether it can be discarded there.
    #[inline]
    pub fn at_switch(&self, stage: usize, row: usize, group: usize, input: PortNum, output: PortNum) -> LaneMask {
        let stage = &self.stages[stage];
        let slot = stage.slots[row];
        stage.masks[slot.start + group * slot.size + input.index() * slot.in_step + output.index() * slot.out_step]
    }

    /// The lanes that packets of `group` can take at any switch.
    pub fn usual(&self, stage: usize, group: usize) -> LaneMask {
        let stage = &self.stages[stage];
        let of = |slot: &Slot| {
            let start = slot.start + group * slot.size;
            stage.masks[start..start + slot.size].iter().fold(0, |all, mask| all | mask)
        };
        stage.slots.iter().map(of).fold(0, |all, mask| all | mask)
    }

    /// The lane that a group takes, with no other choice, at every switch of every stage and from every source that
    /// sends it; none where there is no such lane.
    pub fn only_lane(&self, group: usize) -> Option<usize> {
        let at_switches = self.stages.iter().flat_map(|stage| {
            stage.slots.iter().flat_map(move |slot| &stage.masks[slot.start + group * slot.size..][..slot.size])
        });
        let at_sources =
            self.stages.iter().flat_map(|stage| stage.sources.iter().skip(group).step_by(self.groups.len()));
        let mut masks = at_switches.chain(at_sources.filter(|&&mask| mask != 0));
        let only = *masks.next()?;
        let lane = only.trailing_zeros() as usize;
        (only.is_power_of_two() && only != DISCARD && masks.all(|&mask| mask == only)).then_some(lane)
    }

    /// Returns whether the same ports send two groups, at each stage.
    pub fn have_same_sources(&self, one: usize, other: usize) -> bool {
        let mut ports = self.stages.iter().flat_map(|stage| stage.sources.chunks(self.groups.len()));
        ports.all(|masks| (masks[one] == 0) == (masks[other] == 0))
    }

    /// Returns whether a stage has the lanes of the stage before it.
    pub fn repeats(&self, stage: usize) -> bool {
        self.repeats[stage]
    }

    /// Returns whether a switch treats its inputs alike.
    #[inline]
    pub fn is_uniform(&self, stage: usize, row: usize) -> bool {
        self.stages[stage].slots[row].in_step == 0
    }

    /// The lanes that a port can take into its own channel as a source, and whether it can discard instead.
    pub fn at_source(&self, stage: usize, port: PortId, group: usize) -> LaneMask {
        self.stages[stage].sources[port.index() * self.groups.len() + group]
    }
}

/// Lanes of a mask in rising order, without [`DISCARD`].
pub(crate) fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut left = mask & !DISCARD;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        // Clears the lowest bit. Zero stays zero, and its `trailing_zeros` is `BITS`, which ends the iterator.
        left &= left.wrapping_sub(1);
        (lane < LaneMask::BITS).then_some(lane as usize)
    })
}
