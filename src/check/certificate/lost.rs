//! Switches from which a DLID could no longer be reached when a moment began, because something had died.
//!
//! Only packets there may be lost on the way (docs/PROOF.md, Theorem 3): no switch that still has a way may lead
//! packets to such a switch, nor into a hole.

use super::net::{CheckedNet, Outlet};
use crate::ids::{PortMask, PortNum};

/// By switch: whether it had lost its way to the DLID in hand.
#[derive(Default)]
pub(super) struct CutOffSwitches {
    /// Whether the plan states that its first tables lead nowhere from some switches. All switches are then examined
    /// from the first moment on, and those have lost their way like the ones that led into an element that died.
    begins_with_losses: bool,
    /// The first outputs of the change, by switch, once some moment has written another; empty until then.
    first: Vec<u8>,
    now: Vec<bool>,
    /// By switch: outputs by which packets may have left it at some moment at which it still had its way.
    fair: Vec<PortMask>,
}

impl CutOffSwitches {
    /// Nothing has happened yet.
    pub fn of_plan(begins_with_losses: bool) -> CutOffSwitches {
        CutOffSwitches { begins_with_losses, ..CutOffSwitches::default() }
    }

    /// Returns whether switches may have lost their way at a moment.
    pub fn counts(&self, moment: usize) -> bool {
        moment > 0 || self.begins_with_losses
    }

    /// Records the outputs of the next moment, old and new, by switch; the first ones where they matter.
    pub fn begin(&mut self, net: &CheckedNet, moment: usize, outputs: &[[u8; 2]]) {
        let all = self.begins_with_losses;
        if self.first.is_empty() && (all || outputs.iter().any(|[old, new]| old != new)) {
            self.first = outputs.iter().map(|[old, _]| *old).collect();
            let lost = reaches(net, moment, &self.first, Goal::Gone { all });
            self.fair = self.first.iter().zip(lost).map(|(&first, lost)| only(first, !lost)).collect();
        }
        if !self.first.is_empty() {
            let old: Vec<u8> = outputs.iter().map(|[old, _]| *old).collect();
            let (died, arrives) =
                (reaches(net, moment, &self.first, Goal::Gone { all }), reaches(net, moment, &old, Goal::Port));
            self.now = died.iter().zip(arrives).map(|(&died, arrives)| died && !arrives).collect();
            for ((fair, lost), outputs) in self.fair.iter_mut().zip(&self.now).zip(outputs) {
                outputs.iter().filter(|_| !lost).for_each(|&output| fair.insert(PortNum(output)));
            }
        }
    }

    /// Returns whether packets at a switch may be lost at its output; `dead` says whether the output died.
    pub fn may_lose(&self, switch: usize, dead: bool) -> bool {
        self.now.get(switch).copied().unwrap_or(dead)
    }

    /// Returns whether every packet that a switch can have sent by an output had lost its way there. Such packets may
    /// be discarded further on.
    pub fn sent_only_lost(&self, switch: usize, output: PortNum) -> bool {
        self.fair.get(switch).is_some_and(|fair| !fair.contains(output))
    }

    /// Returns whether a switch that has a way leads packets to one that has none.
    pub fn leads_astray(&self, switch: usize, next: usize) -> bool {
        !self.now.is_empty() && !self.now[switch] && self.now[next]
    }
}

/// A mask of one port, or of none.
fn only(output: u8, counts: bool) -> PortMask {
    let mut mask = PortMask::default();
    if counts {
        mask.insert(PortNum(output));
    }
    mask
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// An output that was there before the change and is no more; with `all`, no output too.
    Gone { all: bool },
    /// A port that takes packets.
    Port,
}

/// By switch: whether its outputs lead to the goal. As many rounds as a way can have hops, backwards from the goal.
fn reaches(net: &CheckedNet, moment: usize, outputs: &[u8], goal: Goal) -> Vec<bool> {
    let mut before = vec![Vec::new(); outputs.len()];
    let mut found = vec![false; outputs.len()];
    let mut fresh = Vec::new();
    for (switch, &output) in outputs.iter().enumerate() {
        let is_goal = match net.outlet(moment, switch, output.into()) {
            Outlet::Own | Outlet::Port { .. } => goal == Goal::Port,
            Outlet::Dead => matches!(goal, Goal::Gone { .. }),
            Outlet::Hole => goal == Goal::Gone { all: true },
            Outlet::Switch { next, .. } => {
                before[next].push(switch);
                false
            }
        };
        if is_goal {
            found[switch] = true;
            fresh.push(switch);
        }
    }
    while let Some(switch) = fresh.pop() {
        for &earlier in &before[switch] {
            if !std::mem::replace(&mut found[earlier], true) {
                fresh.push(earlier);
            }
        }
    }
    found
}
