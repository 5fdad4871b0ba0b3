//! Verifies that numbers rise along every dependency, and that a plan drains everything that can be under way.

use super::CertificateFault;
use super::closure::Closure;
use super::lanes::{Groups, Packed, for_all, of_any, of_group, spread};
use super::moments::PlanMoments;
use super::net::{ChannelEnd, CheckedNet};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, PortNum, VlSet};
use crate::plan::Plan;
use std::rc::Rc;

/// The dependencies of one half: for each way and lane, the lanes that packets there can wait for.
struct Waits<'a> {
    net: &'a CheckedNet,
    vls: usize,
    /// By way, then VL.
    lanes: Vec<u16>,
}

struct Judge<'a> {
    plan: &'a Plan,
    fabric: &'a Fabric,
    net: &'a CheckedNet,
    moments: &'a PlanMoments<'a>,
    groups: &'a Groups,
    closure: &'a Closure<'a>,
    /// By moment, then lane.
    numbers: &'a [Rc<[u32]>],
    /// By channel: its place among the numbered ones.
    places: Vec<u32>,
}

/// Judges every moment; returns how many dependencies there are, all moments together.
pub(super) fn check(
    plan: &Plan,
    net: &CheckedNet,
    moments: &PlanMoments<'_>,
    groups: &Groups,
    closure: &Closure<'_>,
    numbers: &[Rc<[u32]>],
) -> Result<u64, CertificateFault> {
    let mut places = vec![u32::MAX; net.ends.len()];
    net.sent.iter().zip(0..).for_each(|(&channel, place)| places[channel as usize] = place);
    let judge = Judge { plan, fabric: &plan.draft().before, net, moments, groups, closure, numbers, places };
    let mut dependencies = 0;
    for half in [Half::Lower, Half::Upper] {
        dependencies += judge.check_half(half)?;
    }
    Ok(dependencies)
}

impl Judge<'_> {
    fn check_half(&self, half: Half) -> Result<u64, CertificateFault> {
        let vls = self.groups.vls;
        let mut waits = Waits { net: self.net, vls, lanes: vec![0; self.net.way_count * vls] };
        let mut dependencies = 0;
        let mut entered = vec![0; self.net.ends.len()];
        for moment in 0..self.moments.all.len() {
            let begins = &self.moments.all[moment];
            self.enter(&mut entered, moment, half);
            // Rule 4 before rule 3: a packet latched earlier still waits, unless the barrier excludes it.
            if moment > 0 && self.is_under_way(moment - 1, half) {
                waits.carry(moment, begins.gone[half.index()], begins.empty);
            }
            self.add(&mut waits, moment, half);
            if !self.is_under_way(moment, half) && begins.drains.is_none() {
                continue; // Nothing of it waits anywhere, so far.
            }
            // Each half is judged by itself, but both by the same numbers: if those rise along the dependencies of
            // either half, they rise along the union.
            dependencies += self.check_rising(&waits, moment)?;
            if let Some((drained, lanes)) = begins.drains.filter(|&(drained, _)| drained == half) {
                self.check_drained(&waits, &entered, moment, drained, lanes)?;
            }
        }
        Ok(dependencies)
    }

    /// Returns whether packets of a half were judged at this moment or an earlier one. Until then none waits.
    fn is_under_way(&self, moment: usize, half: Half) -> bool {
        self.closure.ways[..=moment].iter().any(|ways| !ways[half.index()].is_empty())
    }

    /// Rule 3: adds what packets can wait for by the entries of a moment.
    fn add(&self, waits: &mut Waits<'_>, moment: usize, half: Half) {
        let ways = &self.closure.ways[moment][half.index()];
        if ways.is_empty() {
            return;
        }
        self.net.each_way(|way| {
            let from = ways[way.index];
            if from == 0 || !self.net.is_there(moment, way.outward) {
                return;
            }
            // `spread` keeps the groups that stand here, with all of their lanes: an SL-to-VL table depends on the
            // level, not on the lane by which a packet came in.
            let to = self.groups.through(moment, way.switch, half, way.input.index(), way.output) & spread(from);
            for group in 0..self.groups.count(half) {
                let (from, to) = (of_group(from, group), of_group(to, group));
                (0..waits.vls)
                    .filter(|vl| from >> vl & 1 == 1)
                    .for_each(|vl| waits.lanes[way.index * waits.vls + vl] |= to);
            }
        });
    }

    /// Updates the channels that packets of sources can wait for: by the entries of a moment, or latched before it.
    fn enter(&self, entered: &mut [Packed], moment: usize, half: Half) {
        let begins = &self.moments.all[moment];
        let kept = if begins.gone[half.index()] { 0 } else { !for_all(begins.empty.0) };
        for (channel, entered) in entered.iter_mut().enumerate() {
            let now = self.closure.entered[moment][half.index()].get(channel).copied().unwrap_or(0);
            *entered = if self.net.is_there(moment, channel) { *entered & kept | now } else { 0 };
        }
    }

    fn check_rising(&self, waits: &Waits<'_>, moment: usize) -> Result<u64, CertificateFault> {
        let numbers = &self.numbers[moment];
        let number = |channel: usize, vl: usize| numbers[self.places[channel] as usize * waits.vls + vl];
        let (mut dependencies, mut fault) = (0, None);
        waits.each(|way, vl, to| {
            dependencies += u64::from(to.count_ones());
            for next in VlSet(to).iter() {
                let (low, high) = (number(way.inward, vl), number(way.outward, next.index()));
                // Strictly: equal numbers on a cycle would prove nothing.
                if low >= high && fault.is_none() {
                    let lane = |channel: usize, vl: usize| format!("{} VL {vl}", self.channel(channel));
                    let (from, to) = (lane(way.inward, vl), lane(way.outward, next.index()));
                    let moment = self.moments.all[moment].name.clone();
                    fault = Some(CertificateFault::NotRising { moment, from, low, to, high });
                }
            }
        });
        fault.map_or(Ok(dependencies), Err)
    }

    /// Verifies that a drain covers every lane in which packets of the half can be, and that its order includes every
    /// way that they take.
    fn check_drained(
        &self,
        waits: &Waits<'_>,
        entered: &[Packed],
        moment: usize,
        half: Half,
        lanes: VlSet,
    ) -> Result<(), CertificateFault> {
        let fault = |what: String| CertificateFault::Drain { moment: self.moments.all[moment].name.clone(), what };
        // Packets still in a source's channel, or latched in an earlier wave, must be drained like the rest.
        let injected = self.closure.injected[moment].lanes.iter().flatten();
        let injected = injected.fold(0, |all, lanes| all | of_any(lanes[half.index()]));
        let mut standing = self.closure.standing[moment][half.index()] | injected;
        waits.each(|_, vl, to| standing |= to | 1 << vl);
        if standing & !lanes.0 != 0 {
            let left: Vec<String> = VlSet(standing & !lanes.0).iter().map(|vl| vl.to_string()).collect();
            let left = left.join(", ");
            return Err(fault(format!("packets of the {half} half can be on VL {left}, which is not drained")));
        }
        let mut missing = None;
        waits.each(|way, vl, to| {
            if !self.is_drained(way.switch, way.input, way.output, vl, to) {
                missing.get_or_insert((way.switch, way.input, way.output));
            }
        });
        match missing.or_else(|| self.undrained_source(entered, moment, half)) {
            None => Ok(()),
            Some((switch, input, output)) => {
                let switch = self.fabric.describe_node(self.net.switches[switch]);
                Err(fault(format!(
                    "packets of the {half} half can pass {switch} from port {input} to port {output}, and the order in \
                     which channels are drained does not say so"
                )))
            }
        }
    }

    /// Returns whether the layer of a lane is drained along a way through a switch, together with the lanes to which
    /// the way leads.
    fn is_drained(&self, switch: usize, input: PortNum, output: usize, vl: usize, to: u16) -> bool {
        // Each layer has its own order of channels. A dependency that leaves the lanes of its layer is in none of
        // these orders.
        let Some(layer) = self.plan.drain().iter().find(|layer| layer.lanes.0 >> vl & 1 == 1) else { return false };
        let arcs = layer.graph.arcs().get(&self.net.switches[switch]);
        let mask = arcs.and_then(|inputs| inputs.get(input.index()));
        to & !layer.lanes.0 == 0 && mask.is_some_and(|mask| mask.contains(PortNum(output as u8)))
    }

    /// A way from a source that the drain omits.
    fn undrained_source(&self, entered: &[Packed], moment: usize, half: Half) -> Option<(usize, PortNum, usize)> {
        // Channels of sources have no numbers and so no `waits`; their ways are compared with the drain here.
        for (switch, sources) in self.net.sources.iter().enumerate() {
            for (place, source) in sources.iter().enumerate() {
                let from = self.closure.injected[moment].lanes[switch][place][half.index()];
                let outputs = (1..self.net.sides[switch]).filter(|&output| output != source.input.index());
                for output in outputs {
                    let to = entered[self.net.channel(switch, output)];
                    let undrained = |group: usize| {
                        let (from, to) = (of_group(from, group), of_group(to, group));
                        let mut vls = (0..16).filter(|vl| to != 0 && from >> vl & 1 == 1);
                        vls.any(|vl| !self.is_drained(switch, source.input, output, vl, to))
                    };
                    if (0..self.groups.count(half)).any(undrained) {
                        return Some((switch, source.input, output));
                    }
                }
            }
        }
        None
    }

    fn channel(&self, channel: usize) -> String {
        self.fabric.describe_port(PortId(channel as u32))
    }
}

/// A way through a switch, from a switch's channel.
#[derive(Clone, Copy)]
struct Way {
    index: usize,
    switch: usize,
    input: PortNum,
    inward: usize,
    output: usize,
    outward: usize,
}

impl CheckedNet {
    fn each_way(&self, mut emit: impl FnMut(Way)) {
        for &channel in &self.sent {
            let inward = channel as usize;
            let ChannelEnd::Switch(switch, input) = self.ends[inward] else { continue };
            let switch = switch as usize;
            for output in 1..self.sides[switch] {
                let outward = self.channel(switch, output);
                if self.ends[outward] != ChannelEnd::Nowhere {
                    emit(Way { index: self.way(inward, switch, output), switch, input, inward, output, outward });
                }
            }
        }
    }
}

impl Waits<'_> {
    fn carry(&mut self, moment: usize, gone: bool, empty: VlSet) {
        if gone {
            self.lanes.fill(0);
            return;
        }
        let (net, vls) = (self.net, self.vls);
        let lanes = &mut self.lanes;
        net.each_way(|way| {
            let there = net.is_there(moment, way.inward) && net.is_there(moment, way.outward);
            for vl in 0..vls {
                let own = &mut lanes[way.index * vls + vl];
                // Neither lane of the dependency may be empty or dead (rule 4).
                *own &= if there && empty.0 >> vl & 1 == 0 { !empty.0 } else { 0 };
            }
        });
    }

    /// Reports every lane in which packets can wait, with the lanes that they wait for.
    fn each(&self, mut emit: impl FnMut(Way, usize, u16)) {
        self.net.each_way(|way| {
            for vl in 0..self.vls {
                let to = self.lanes[way.index * self.vls + vl];
                if to != 0 {
                    emit(way, vl, to);
                }
            }
        });
    }
}
