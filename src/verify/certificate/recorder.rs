//! Records from the walk, LID by LID, the places that the checker must find closed.

use super::{Certificate, CertifiedMoment};
use crate::ids::{Half, Lid, PortNum};
use crate::verify::case::ProofCase;
use crate::verify::lanes::{HopLanes, LaneMask};
use crate::verify::net::FlatFabric;
use crate::verify::proof_walk::{ProofSink, ProofWalk};
use crate::verify::twins::Twins;
use crate::verify::walk::{Class, ClassHop, Columns, Entrance, Now, Sink};
use fixedbitset::FixedBitSet;

/// Lanes of the groups of one half side by side, 16 bits each: a half has eight service levels at most.
type Packed = u128;

/// A row: packets choose nowhere; they are where the barrier left them, if anywhere.
const NOWHERE: u8 = 0;
/// A row: packets choose at the switches that the LID's last row of the next kind lists.
const SAME: u8 = 1;
/// A row: the switches at which packets choose, one bit each.
const SWITCHES: u8 = 2;
/// A row: every channel with its lanes, group by group.
const CHANNELS: u8 = 3;

/// The places that packets of the current LID can occupy at one moment.
struct Places {
    /// By channel.
    lanes: Vec<Packed>,
    touched: Vec<u32>,
    /// By row: whether packets can choose there.
    choosing: FixedBitSet,
}

/// Collects rows and, at the end, makes the certificate.
pub(in crate::verify) struct Recorder<'a> {
    case: &'a ProofCase<'a>,
    net: &'a FlatFabric,
    groups: &'a HopLanes,
    twins: &'a Twins,
    /// By moment and half: the lanes of [`CertifiedMoment::lanes`], packed.
    usual: Vec<[Packed; 2]>,
    moments: Vec<CertifiedMoment>,
    /// By moment.
    places: Vec<Places>,
    /// By LID, those of answers after all others.
    rows: Vec<((bool, Lid), Vec<u8>)>,
}

impl<'a> Recorder<'a> {
    pub fn new(proof_walk: &'a ProofWalk<'a>) -> Recorder<'a> {
        let ProofWalk { case, net, lanes: groups, twins, .. } = proof_walk;
        let place = || Places {
            lanes: vec![0; net.channels()],
            touched: Vec::new(),
            choosing: FixedBitSet::with_capacity(net.rows.len()),
        };
        let moments = (0..case.stages.len()).map(|stage| CertifiedMoment {
            name: case.stages[stage].name.clone(),
            lanes: (0..groups.groups.len()).map(|group| groups.usual(stage, group)).collect(),
            numbers: Vec::new(),
        });
        let mut recorder = Recorder {
            case,
            net,
            groups,
            twins,
            usual: Vec::new(),
            moments: moments.collect(),
            places: case.stages.iter().map(|_| place()).collect(),
            rows: Vec::new(),
        };
        recorder.usual = recorder.moments.iter().map(|moment| recorder.packed(&moment.lanes)).collect();
        recorder
    }

    /// Lanes by group, packed by half.
    fn packed(&self, lanes: &[LaneMask]) -> [Packed; 2] {
        let mut packed = [0; 2];
        for (group, &mask) in lanes.iter().enumerate() {
            packed[self.groups.groups[group].half().index()] |= self.pack(group, mask);
        }
        packed
    }

    /// A group's lanes at its place among the groups of its half.
    fn pack(&self, group: usize, lanes: LaneMask) -> Packed {
        Packed::from(lanes) << (16 * self.place_of(group))
    }

    fn place_of(&self, group: usize) -> usize {
        let half = self.half_of(group);
        self.groups.groups[..group].iter().filter(|other| other.half() == half).count()
    }

    fn half_of(&self, group: usize) -> Half {
        self.groups.groups[group].half()
    }

    /// The number of groups of a half.
    fn size_of(&self, half: Half) -> usize {
        self.groups.groups.iter().filter(|group| group.half() == half).count()
    }

    /// Numbers of the lanes at a moment.
    pub fn number(&mut self, stage: usize, numbers: Vec<u32>) {
        self.moments[stage].numbers = numbers;
    }

    /// The rows so far, by LID, whether it is of answers first.
    pub fn into_rows(self) -> Vec<((bool, Lid), Vec<u8>)> {
        self.rows
    }

    /// Returns whether a row of one moment states everything that the next ones must repeat.
    pub fn is_repeatable(row: &[u8]) -> bool {
        row.first().is_some_and(|&tag| tag == NOWHERE || tag == SWITCHES)
    }

    /// Writes the rows of a class that stands at all moments as in `first`, its row at the first moment.
    pub fn repeat_all(&mut self, class: &Class, first: &[u8]) {
        let again = if first[0] == NOWHERE { NOWHERE } else { SAME };
        let mut bytes = Vec::with_capacity(first.len() + self.places.len());
        bytes.extend(first);
        bytes.extend(std::iter::repeat_n(again, self.places.len() - 1));
        let answers = self.case.is_answer(class.lid, self.half_of(class.group));
        self.rows.push(((answers, class.lid), bytes));
    }

    /// The certificate of a walk that found no fault.
    pub fn certificate(mut self) -> Certificate {
        self.rows.sort_by_key(|&(place, _)| place);
        Certificate {
            vls: self.groups.vls,
            groups: self.groups.groups.iter().map(|group| group.sls.clone()).collect(),
            moments: self.moments,
            rows: self.rows.into_iter().flat_map(|(_, bytes)| bytes).collect(),
        }
    }

    /// The rows of a LID that has been walked.
    fn write(&mut self, class: &Class, columns: &Columns) {
        let mut bytes = Vec::new();
        // The checker derives most places from where packets choose. A row lists channels only where that derivation
        // would not give exactly the places of the walk.
        let mut carried: Vec<(u32, Packed)> = Vec::new();
        let mut listed: Option<&FixedBitSet> = None;
        for stage in 0..self.places.len() {
            let places = &self.places[stage];
            if !self.is_usual(stage, class, columns, &carried) {
                self.write_channels(&mut bytes, stage, class);
            } else if places.choosing.is_clear() {
                bytes.push(NOWHERE);
            } else if listed == Some(&places.choosing) {
                bytes.push(SAME);
            } else {
                bytes.push(SWITCHES);
                bytes.extend(bits(&places.choosing, self.net.rows.len()));
                listed = Some(&places.choosing);
            }
            carried = self.carried(stage, class);
        }
        for places in &mut self.places {
            places.touched.drain(..).for_each(|channel| places.lanes[channel as usize] = 0);
            places.choosing.clear();
        }
        let answers = self.case.is_answer(class.lid, self.half_of(class.group));
        self.rows.push(((answers, class.lid), bytes));
    }

    /// Returns whether the places of a moment are those that follow from the switches at which packets choose: the
    /// places that were left, and the usual lanes of every output.
    fn is_usual(&self, stage: usize, class: &Class, columns: &Columns, carried: &[(u32, Packed)]) -> bool {
        let (places, net) = (&self.places[stage], self.net);
        let usual = self.usual[stage][self.half_of(class.group).index()];
        let mut follow: Vec<(u32, Packed)> = carried.to_vec();
        for row in places.choosing.ones() {
            let outputs = columns.choices(stage, row);
            let outputs = outputs.filter(|&output| output.index() < net.sides[row] && output != PortNum::ZERO);
            let channels = outputs.map(|output| net.channel(row, output));
            follow.extend(channels.filter(|&c| net.exists(stage, c)).map(|channel| (channel as u32, usual)));
        }
        follow.sort_unstable_by_key(|&(channel, _)| channel);
        follow.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            // `dedup_by` passes the later element first.
            earlier.1 |= if same { later.1 } else { 0 };
            same
        });
        follow.retain(|&(_, lanes)| lanes != 0);
        follow.len() == places.touched.len()
            && follow.iter().all(|&(channel, lanes)| places.lanes[channel as usize] == lanes)
    }

    /// The places of a moment that the barrier after it leaves occupied.
    fn carried(&self, stage: usize, class: &Class) -> Vec<(u32, Packed)> {
        let Some(next) = self.case.stages.get(stage + 1) else { return Vec::new() };
        if next.begins_without(self.half_of(class.group)) {
            return Vec::new();
        }
        // The mask of empty lanes, repeated for each of the eight groups that a half can have.
        let empty = (0..8).fold(0, |all: Packed, group| all | Packed::from(next.empty.0) << (16 * group));
        let places = &self.places[stage];
        let alive = places.touched.iter().filter(|&&channel| self.net.exists(stage + 1, channel as usize));
        let left = alive.map(|&channel| (channel, places.lanes[channel as usize] & !empty));
        left.filter(|&(_, lanes)| lanes != 0).collect()
    }

    fn write_channels(&self, bytes: &mut Vec<u8>, stage: usize, class: &Class) {
        let groups = self.size_of(self.half_of(class.group));
        let places = &self.places[stage];
        let mut channels = places.touched.clone();
        channels.sort_unstable();
        bytes.push(CHANNELS);
        varint(bytes, channels.len() as u32);
        let mut last = 0;
        for channel in channels {
            varint(bytes, channel - last);
            last = channel;
            let lanes = places.lanes[channel as usize];
            (0..groups).for_each(|group| varint(bytes, (lanes >> (16 * group)) as u32 & 0xFFFF));
        }
    }
}

impl Sink for Recorder<'_> {
    #[inline]
    fn hop(&mut self, _class: &Class, _columns: &Columns, hop: &ClassHop) {
        self.places[hop.stage].choosing.insert(hop.row);
    }

    #[inline]
    fn enter(&mut self, _class: &Class, entrance: Entrance) {
        self.places[entrance.stage].choosing.insert(entrance.row);
    }

    fn repeat(&mut self, stage: usize) {
        let (before, now) = self.places.split_at_mut(stage);
        now[0].choosing.union_with(&before[stage - 1].choosing);
    }

    fn hears_repeats(&self) -> bool {
        false
    }

    fn occupied(&mut self, Now { class, stage }: Now<'_>, channels: &[u32], lanes: &[LaneMask]) {
        let shift = 16 * self.place_of(class.group);
        // Wherever a leader is, its twins can be on their own lanes.
        let twins = self.twins.of_half(self.half_of(class.group)).iter();
        let twins = twins.fold(0, |all, twin| all | self.pack(twin.group, 1 << twin.lane));
        let places = &mut self.places[stage];
        for &channel in channels {
            let held = &mut places.lanes[channel as usize];
            if *held == 0 {
                places.touched.push(channel);
            }
            *held |= (Packed::from(lanes[channel as usize]) << shift) | twins;
        }
    }
}

impl ProofSink for Recorder<'_> {
    fn walked(&mut self, class: &Class, columns: &Columns) {
        // The groups of a half are walked one after the other; its last one completes the rows of the LID.
        let half = self.half_of(class.group);
        if self.place_of(class.group) + 1 == self.size_of(half) || !self.twins.of_half(half).is_empty() {
            self.write(class, columns);
        }
    }
}

/// Bit `i` is bit `i % 8` of byte `i / 8`.
fn bits(set: &FixedBitSet, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length.div_ceil(8)];
    set.ones().for_each(|bit| bytes[bit / 8] |= 1 << (bit % 8));
    bytes
}

/// Seven bits a byte, the lowest first; the eighth bit means that more follow.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_numbers_as_the_page_says() {
        let mut set = FixedBitSet::with_capacity(10);
        set.extend([0, 3, 9]);
        assert_eq!(bits(&set, 10), [0b1001, 0b10]);
        let mut bytes = Vec::new();
        [0, 127, 128, 300].into_iter().for_each(|value| varint(&mut bytes, value));
        assert_eq!(bytes, [0, 127, 0x80, 1, 0xAC, 2]);
    }
}
