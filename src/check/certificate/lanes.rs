//! The lanes that the service levels of a group can take at each hop of each moment. The groups of a half lie side by
//! side, 16 bits each, so that all service levels are followed at once.

use super::CertificateFault;
use super::file::File;
use super::moments::PlanMoments;
use super::net::CheckedNet;
use crate::fabric::NodeId;
use crate::ids::{Half, PortNum, ReservedLevel, Sl};
use crate::plan::Plan;
use crate::tables::{NodeSlToVl, SlToVl, SubnetTables};

/// Lanes of up to eight groups.
pub(super) type Packed = u128;

/// VL 15: packets are discarded. Switches must not, end ports may.
pub(super) const DISCARDS: u16 = 0x8000;

/// The lowest lane of every group.
const LOWEST: Packed = 0x0001_0001_0001_0001_0001_0001_0001_0001;

/// One lane mask for all groups.
#[inline]
pub(super) const fn for_all(lanes: u16) -> Packed {
    // A mask is narrower than the distance between groups, so the product has no carries.
    LOWEST * lanes as Packed
}

/// Every lane of each group that has one.
#[inline]
pub(super) fn spread(lanes: Packed) -> Packed {
    // Each step folds the upper half of every group onto its lower half, and the masks keep neighbouring groups out.
    // Groups do not overlap, so the product has no carries.
    let mut any = lanes | lanes >> 8 & for_all(0x00FF);
    any |= any >> 4 & for_all(0x000F);
    any |= any >> 2 & for_all(0x0003);
    any |= any >> 1 & for_all(0x0001);
    (any & LOWEST) * 0xFFFF
}

/// The mask of one group.
#[inline]
pub(super) fn of_group(lanes: Packed, group: usize) -> u16 {
    (lanes >> (16 * group)) as u16
}

/// Lanes of any group.
#[inline]
pub(super) fn of_any(lanes: Packed) -> u16 {
    let all = (lanes >> 64) as u64 | lanes as u64;
    let all = all | all >> 32;
    (all | all >> 16) as u16
}

/// The tables of one switch at one moment, old and new together.
#[derive(Clone, PartialEq)]
enum AtSwitch {
    /// All cabled (input, output) pairs alike; by half.
    Alike([Packed; 2]),
    /// By input, then output, of so many ports each; by half.
    Pairs { sides: usize, lanes: Vec<[Packed; 2]> },
}

/// Groups of service levels, and their lanes.
#[derive(Clone)]
pub(super) struct Groups {
    pub vls: usize,
    /// By half: the service levels of each group.
    halves: [Vec<Vec<Sl>>; 2],
    /// By moment, then switch.
    switches: Vec<Vec<AtSwitch>>,
    /// By moment, then switch: for its sources in order, by half.
    sources: Vec<Vec<Vec<[Packed; 2]>>>,
    /// By moment and half: the lanes of a row that names none.
    usual: Vec<[Packed; 2]>,
}

impl Groups {
    /// Reads the tables of every moment by the groups of the certificate.
    ///
    /// # Errors
    /// Groups that do not partition the service levels, or that some table distinguishes.
    pub fn new(
        file: &File,
        plan: &Plan,
        net: &CheckedNet,
        moments: &PlanMoments<'_>,
    ) -> Result<Groups, CertificateFault> {
        let halves = halves(file.groups(), plan.reserved())?;
        let mut groups =
            Groups { vls: vls(file)?, halves, switches: Vec::new(), sources: Vec::new(), usual: Vec::new() };
        for (index, moment) in moments.all.iter().enumerate() {
            groups.check_alike(moment.tables)?;
            let at = net.switches.iter().enumerate();
            groups.switches.push(at.map(|(place, &node)| groups.at_switch(net, place, node, moment.tables)).collect());
            let sources = net.sources.iter().map(|sources| {
                let port = |source: &super::net::SourcePort| plan.draft().before.port(source.port);
                let lanes = |source| groups.of(moment.tables, port(source).node, PortNum::ZERO, port(source).num);
                sources.iter().map(lanes).collect()
            });
            groups.sources.push(sources.collect());
            groups.usual.push(groups.usual_of(file.usual(index))?);
        }
        Ok(groups)
    }

    /// The number of groups of a half.
    #[inline]
    pub fn count(&self, half: Half) -> usize {
        self.halves[half.index()].len()
    }

    /// Every lane of the group that a virtual layer's service level belongs to.
    pub fn of_layer(&self, half: Half, layer: u8) -> Packed {
        let sl = half.sl_of(layer);
        let group = self.halves[half.index()].iter().position(|sls| sls.contains(&sl));
        group.map_or(0, |group| Packed::from(u16::MAX) << (16 * group))
    }

    /// Service levels of a group.
    #[inline]
    pub fn size(&self, half: Half, group: usize) -> usize {
        self.halves[half.index()][group].len()
    }

    /// The lanes from an input of a switch to an output.
    #[inline]
    pub fn through(&self, moment: usize, switch: usize, half: Half, input: usize, output: usize) -> Packed {
        match &self.switches[moment][switch] {
            AtSwitch::Alike(lanes) => lanes[half.index()],
            AtSwitch::Pairs { sides, lanes } => lanes[input * sides + output][half.index()],
        }
    }

    /// Returns whether every table has the lanes of the moment before, at switches and at sources.
    pub fn repeats(&self, moment: usize) -> bool {
        self.switches[moment] == self.switches[moment - 1] && self.sources[moment] == self.sources[moment - 1]
    }

    /// Returns whether the groups, and the lanes of the first moment, equal those of `other`.
    pub fn begin_like(&self, other: &Groups) -> bool {
        (self.vls, &self.halves, &self.switches[0], &self.sources[0], self.usual[0])
            == (other.vls, &other.halves, &other.switches[0], &other.sources[0], other.usual[0])
    }

    /// Returns whether all pairs of a switch are alike at a moment.
    #[inline]
    pub fn is_alike(&self, moment: usize, switch: usize) -> bool {
        matches!(self.switches[moment][switch], AtSwitch::Alike(_))
    }

    /// The lanes that a source of a switch, by its place there, takes into its channel.
    pub fn at_source(&self, moment: usize, switch: usize, place: usize, half: Half) -> Packed {
        self.sources[moment][switch][place][half.index()] & !for_all(DISCARDS)
    }

    /// The usual lanes of a moment.
    #[inline]
    pub fn usual(&self, moment: usize, half: Half) -> Packed {
        self.usual[moment][half.index()]
    }

    fn usual_of(&self, lanes: &[u16]) -> Result<[Packed; 2], CertificateFault> {
        let [lower, upper] = [self.halves[0].len(), self.halves[1].len()];
        if lanes.len() != lower + upper {
            let what = format!("a moment has lanes for {} groups, expected {}", lanes.len(), lower + upper);
            return Err(CertificateFault::Form(what));
        }
        // From the last group to the first, so that group 0 ends at the lowest bits.
        let pack = |lanes: &[u16]| lanes.iter().rev().fold(0, |all: Packed, &mask| all << 16 | Packed::from(mask));
        Ok([pack(&lanes[..lower]), pack(&lanes[lower..])])
    }

    fn at_switch(&self, net: &CheckedNet, place: usize, node: NodeId, tables: [&SubnetTables; 2]) -> AtSwitch {
        let sides = net.sides[place];
        let uniform = tables.iter().all(|tables| matches!(*tables.sl_to_vl[node.index()], NodeSlToVl::Uniform(_)));
        if uniform {
            return AtSwitch::Alike(self.of(tables, node, PortNum::ZERO, PortNum::ZERO));
        }
        // No data packet reads the table of a pair without cables, so those need not agree.
        let cabled = |&port: &usize| net.ends[net.channel(place, port)] != super::net::ChannelEnd::Nowhere;
        let ports: Vec<usize> = (1..sides).filter(cabled).collect();
        let mut pairs = vec![[0; 2]; sides * sides];
        let mut first = None;
        let mut alike = true;
        for &input in &ports {
            for &output in &ports {
                let lanes = self.of(tables, node, PortNum(input as u8), PortNum(output as u8));
                pairs[input * sides + output] = lanes;
                alike &= *first.get_or_insert(lanes) == lanes;
            }
        }
        match first {
            Some(lanes) if alike => AtSwitch::Alike(lanes),
            _ => AtSwitch::Pairs { sides, lanes: pairs },
        }
    }

    /// Old and new lanes of one table, by half.
    fn of(&self, tables: [&SubnetTables; 2], node: NodeId, input: PortNum, output: PortNum) -> [Packed; 2] {
        let both = tables.map(|tables| tables.sl_to_vl[node.index()].get(input, output));
        [0, 1].map(|half| {
            let lanes = self.halves[half].iter().map(|sls| both.iter().fold(0, |all, table| all | lane(table, sls[0])));
            lanes.rev().fold(0, |all: Packed, mask| all << 16 | Packed::from(mask))
        })
    }

    /// Verifies that no table distinguishes the service levels of a group.
    fn check_alike(&self, tables: [&SubnetTables; 2]) -> Result<(), CertificateFault> {
        let mut last: Option<SlToVl> = None;
        for node in tables.iter().flat_map(|tables| &tables.sl_to_vl) {
            let tables = match &**node {
                NodeSlToVl::Uniform(table) => std::slice::from_ref(table),
                NodeSlToVl::PerPair { tables, .. } => tables,
            };
            for table in tables {
                // Most tables equal the one before.
                if last != Some(*table) {
                    self.check_table(table)?;
                    last = Some(*table);
                }
            }
        }
        Ok(())
    }

    fn check_table(&self, table: &SlToVl) -> Result<(), CertificateFault> {
        for sls in self.halves.iter().flatten() {
            if let Some(other) = sls.iter().find(|&&sl| table.get(sl) != table.get(sls[0])) {
                let what = format!(
                    "SL {} and SL {other} are of one group, and a table of the plan distinguishes them",
                    sls[0]
                );
                return Err(CertificateFault::Form(what));
            }
        }
        Ok(())
    }
}

fn lane(table: &SlToVl, sl: Sl) -> u16 {
    1 << table.get(sl).index()
}

fn vls(file: &File) -> Result<usize, CertificateFault> {
    match file.vls() {
        vls @ 1..=15 => Ok(vls),
        vls => Err(CertificateFault::Form(format!("`vls` is {vls}, expected 1 to 15"))),
    }
}

/// The groups by half, after a check that each service level of data is in one group, and lower ones come first.
fn halves(groups: &[Vec<u8>], reserved: Option<ReservedLevel>) -> Result<[Vec<Vec<Sl>>; 2], CertificateFault> {
    let mut halves = [Vec::new(), Vec::new()];
    let mut seen = [false; 16];
    for group in groups {
        let sls: Vec<Sl> = group.iter().filter_map(|&sl| Sl::new(sl)).collect();
        let half = sls.first().map(|&sl| Half::of_sl(sl));
        let one_half =
            half.is_some() && sls.iter().all(|&sl| Some(Half::of_sl(sl)) == half) && sls.len() == group.len();
        let fresh = one_half && sls.iter().all(|sl| !std::mem::replace(&mut seen[sl.index()], true));
        let Some(half) = half.filter(|_| fresh) else {
            return Err(CertificateFault::Form(format!("{group:?} is no group of service levels of one half")));
        };
        if half == Half::Lower && !halves[1].is_empty() {
            return Err(CertificateFault::Form("groups of the upper half come before some of the lower".to_string()));
        }
        halves[half.index()].push(sls);
    }
    if let Some(ReservedLevel { sl, .. }) = reserved
        && std::mem::replace(&mut seen[sl.index()], true)
    {
        return Err(CertificateFault::Form(format!("SL {sl} is reserved, and in a group")));
    }
    match seen.iter().position(|seen| !seen) {
        Some(sl) => Err(CertificateFault::Form(format!("SL {sl} is in no group"))),
        None => Ok(halves),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_all_groups_and_of_any() {
        for mask in [0, 1, 0x8001, 0xFFFF] {
            assert_eq!((0..8).map(|group| of_group(for_all(mask), group)).collect::<Vec<_>>(), [mask; 8]);
            for group in 0..8 {
                assert_eq!(of_any(Packed::from(mask) << (16 * group)), mask, "group {group} mask {mask:#x}");
            }
        }
        assert_eq!(of_any(1 | 2 << 32 | 4 << 112), 7);
    }

    #[test]
    fn spreading_fills_the_groups_that_have_a_lane() {
        for group in 0..8 {
            for lane in 0..16 {
                let one: Packed = 1 << (16 * group + lane);
                assert_eq!(spread(one), 0xFFFF << (16 * group), "group {group} lane {lane}");
            }
        }
        assert_eq!(spread(0), 0);
        assert_eq!(spread(for_all(0x10)), Packed::MAX);
    }
}
