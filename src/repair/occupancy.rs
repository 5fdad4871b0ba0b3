//! Where packets of one LID can stand, and what they can wait for there: the closure of docs/PROOF.md for one LID.
//!
//! Apart from `verify::walk`, since a search tries an entry and takes it back: only what an entry adds is followed, and
//! the trail undoes it. The prover judges what comes of it.

use super::classes::{ClassMask, Classes, PlaneMask, SourceClasses};
use super::columns::Ways;
use super::net::Net;

/// Gets every dependency that a walk passes, and ends the walk by false.
pub(super) trait Emit: FnMut(u32, u32) -> bool {}

impl<T: FnMut(u32, u32) -> bool> Emit for T {}

/// Lanes that packets of one LID can occupy, by class.
pub(super) struct Occupancy {
    channels: usize,
    /// By class, then channel: planes.
    planes: Vec<PlaneMask>,
    /// What was occupied, in order: the slot, and what it held before.
    trail: Vec<(u32, PlaneMask)>,
    /// Occupied and not followed yet.
    stack: Vec<Standing>,
}

/// Packets of a class in a channel.
#[derive(Clone, Copy)]
struct Standing {
    class: u32,
    channel: u32,
    planes: PlaneMask,
}

/// Entries of one LID: of each row all those that may be in force.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub old: &'a [u32],
    pub new: &'a [u32],
}

impl<'a> Entries<'a> {
    /// Entries that do not change.
    pub fn steady(column: &'a [u32]) -> Entries<'a> {
        Entries { old: column, new: column }
    }

    /// What packets may meet at a row. A packet may meet old entries at some rows and new ones at others, in any
    /// pattern: with both at every row, one walk covers all mixtures of a wave.
    #[inline]
    pub fn at(&self, row: usize) -> impl Iterator<Item = u32> + use<> {
        let (old, new) = (self.old[row], self.new[row]);
        std::iter::once(old).chain((old != new).then_some(new))
    }
}

impl Occupancy {
    pub fn new(net: &Net, classes: &Classes<'_>) -> Occupancy {
        let channels = net.channels.len();
        Occupancy { channels, planes: vec![0; channels * classes.len()], trail: Vec::new(), stack: Vec::new() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.roll_back(0);
        self.stack.clear();
    }

    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back what was occupied since [`Occupancy::mark`].
    pub fn roll_back(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some((slot, was)) = self.trail.pop() {
                self.planes[slot as usize] = was;
            }
        }
        self.stack.clear();
    }

    #[inline]
    fn at(&self, class: usize, channel: u32) -> PlaneMask {
        self.planes[class * self.channels + channel as usize]
    }

    /// Occupies planes of a channel; what is new there is to be followed.
    #[inline]
    fn occupy(&mut self, class: usize, channel: u32, planes: PlaneMask) {
        let slot = class * self.channels + channel as usize;
        let was = self.planes[slot];
        let fresh = planes & !was;
        if fresh != 0 {
            self.planes[slot] |= fresh;
            self.trail.push((slot as u32, was));
            self.stack.push(Standing { class: class as u32, channel, planes: fresh });
        }
    }

    /// Packets of dead channels vanish. The trail stays: rolled back to its beginning it empties every slot all the
    /// same.
    pub fn bury(&mut self, alive: &[bool]) {
        for at in 0..self.trail.len() {
            let slot = self.trail[at].0 as usize;
            if !alive[slot % self.channels] {
                self.planes[slot] = 0;
            }
        }
    }

    /// Everything that stands somewhere is to be followed again.
    pub fn stir(&mut self) {
        for &(slot, was) in &self.trail {
            // A slot may be on the trail several times, each time with what was new.
            let (class, channel) = (slot as usize / self.channels, slot % self.channels as u32);
            let planes = self.planes[slot as usize] & !was;
            if planes != 0 {
                self.stack.push(Standing { class: class as u32, channel, planes });
            }
        }
    }

    /// End ports send by every entry of their switch; `sent` is by row.
    pub fn inject(&mut self, way: &Passage<'_>, entries: Entries<'_>, sent: &[ClassMask]) {
        for (row, &mask) in sent.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            for entry in entries.at(row) {
                self.inject_at(way, row, mask, entry);
            }
        }
    }

    /// End ports of one row send by an entry.
    pub fn inject_at(&mut self, way: &Passage<'_>, row: usize, mask: ClassMask, entry: u32) {
        if !Net::leads(way.flags, entry) {
            return;
        }
        let mut left = mask;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            let planes = way.classes.entry(way.feed, class, row, way.net.channel(entry).port);
            self.occupy(class, entry, planes);
        }
    }

    /// Follows everything until nothing new is occupied. Returns false if `emit` or a loss ended that before.
    pub fn spread(&mut self, way: &Passage<'_>, entries: Entries<'_>, emit: &mut impl Emit) -> bool {
        while let Some(Standing { class, channel, planes }) = self.stack.pop() {
            let row = way.net.to(channel);
            for entry in entries.at(row) {
                if !self.pass(way, Standing { class, channel, planes }, entry, emit) {
                    return false;
                }
            }
        }
        true
    }

    /// Packets in a channel go on by an entry of the row that it leads to.
    fn pass(&mut self, way: &Passage<'_>, standing: Standing, entry: u32, emit: &mut impl Emit) -> bool {
        if !Net::leads(way.flags, entry) {
            return true;
        }
        let Passage { net, classes, .. } = way;
        if way.discards_turned_back && net.channel(standing.channel).back == entry {
            // Discarded, which is a loss unless all of them were lost already.
            return !way.fair.get(standing.channel as usize).is_some_and(|&fair| fair);
        }
        // The next lane follows from level, input and output, not from the lane that the packet stands on. So each
        // plane that it may stand on waits for each that it may take.
        let (class, all) = (standing.class as usize, classes.planes as u32);
        let (arrives, leaves) = (net.channel(standing.channel), net.channel(entry));
        let onward = classes.step(class, arrives.to as usize, arrives.input, leaves.port);
        for plane in planes_of(standing.planes) {
            for next in planes_of(onward) {
                if !emit(standing.channel * all + plane, entry * all + next) {
                    return false;
                }
            }
        }
        self.occupy(class, entry, onward);
        true
    }

    /// What stands at the inputs of a row, and what its end ports send, takes a new entry. False where `emit` ended it.
    pub fn redirect(&mut self, way: &Passage<'_>, row: usize, entry: u32, emit: &mut impl Emit) -> bool {
        for channel in way.net.into(row).filter(|&channel| way.flags[channel as usize]) {
            for class in 0..way.classes.len() {
                let planes = self.at(class, channel);
                let standing = Standing { class: class as u32, channel, planes };
                if planes != 0 && !self.pass(way, standing, entry, emit) {
                    return false;
                }
            }
        }
        self.inject_at(way, row, way.feed.now[row], entry);
        true
    }
}

/// What a walk reads besides entries.
pub(super) struct Passage<'a> {
    pub net: &'a Net,
    pub classes: &'a Classes<'a>,
    pub feed: &'a SourceClasses,
    /// By channel: whether it exists.
    pub flags: &'a [bool],
    /// Whether packets that would go back whence they came end there.
    pub discards_turned_back: bool,
    /// By channel, where that is known: whether rows may have sent packets into it that had a way.
    pub fair: &'a [bool],
}

/// Marks the channels into which a wave may lead packets that have a way.
pub(super) fn add_fair(net: &Net, ways: &mut Ways, entries: Entries<'_>, fair: &mut [bool]) {
    ways.follow(net, entries.old, &net.alive);
    for row in (0..net.rows.len()).filter(|&row| ways.arrives(row)) {
        entries.at(row).filter(|&entry| Net::leads(&net.alive, entry)).for_each(|entry| fair[entry as usize] = true);
    }
}

fn planes_of(mask: PlaneMask) -> impl Iterator<Item = u32> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let plane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (plane < PlaneMask::BITS).then_some(plane)
    })
}
