//! What packets do next: from each place that is listed, one step through the switch, which leads to a listed place or
//! to the right port.

use super::{Closure, Now};
use crate::check::certificate::CertificateFault;
use crate::check::certificate::lanes::{DISCARDS, Packed, for_all, of_any, spread};
use crate::check::certificate::net::{ChannelEnd, Outlet};
use crate::fabric::PortId;
use crate::ids::{PortNum, VlSet};

impl Closure<'_> {
    /// Verifies that whatever packets in listed places can do is listed.
    pub(super) fn check_places(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        for &channel in &class.touched {
            let ChannelEnd::Switch(switch, input) = self.net.ends[channel as usize] else { continue };
            let lanes = class.lanes[channel as usize];
            let (switch, half) = (switch as usize, class.half.index());
            // A packet in any lane of a group may go on to all that its table gives: the table looks at input, output
            // and level, not at the lane that it comes in on. So lanes spread to whole groups here.
            self.check_step(now, switch, Some(input), spread(lanes), true)?;
            let ways = &mut self.ways[moment][half];
            if ways.is_empty() {
                ways.resize(self.net.way_count, 0);
            }
            // A discarded packet waits for nothing.
            let goes_on = |&output: &usize| {
                output < self.net.sides[switch] && !(self.discards_turned_back && output == input.index())
            };
            for output in choices(now.outputs[switch]).filter(goes_on) {
                ways[self.net.way(channel as usize, switch, output)] |= lanes;
            }
        }
        Ok(())
    }

    /// Verifies one step through a switch: from an input (none: from every source of a switch that treats its inputs
    /// alike), by packets of the groups in `present`.
    pub(super) fn check_step(
        &mut self,
        now: &Now<'_>,
        switch: usize,
        input: Option<PortNum>,
        present: Packed,
        firm: bool,
    ) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        for output in choices(now.outputs[switch]) {
            let channel = match self.net.outlet(moment, switch, output) {
                // Rows exist for LIDs of end ports only, so port 0 never belongs to the owner.
                Outlet::Own => return Err(self.wrong(now, self.fabric.describe_node(self.net.switches[switch]))),
                outlet @ (Outlet::Hole | Outlet::Dead) => {
                    // Packets sent towards a dead link vanish and hold no lane. That is a loss where they had a way; on
                    // a half that no source sent on before, the death explains no loss.
                    let may_lose = now.forsaken.may_lose(switch, outlet == Outlet::Dead);
                    if !(self.was_sent(class) && now.forsaken.counts(moment) && may_lose) {
                        self.check_hole(now, switch, output, firm)?;
                    }
                    continue;
                }
                Outlet::Port { at, .. } if at != class.owner => {
                    return Err(self.wrong(now, self.fabric.describe_port(at)));
                }
                Outlet::Port { channel, .. } => channel,
                Outlet::Switch { channel, next } => {
                    if self.discards_turned_back && input.is_some_and(|input| input.index() == output) {
                        self.check_turned_back(now, switch, next, channel)?;
                        continue;
                    }
                    if now.forsaken.leads_astray(switch, next) {
                        self.check_astray(now, switch, output)?;
                    }
                    channel
                }
            };
            let through = self.groups.through(moment, switch, class.half, input.map_or(0, PortNum::index), output);
            // `through` covers all groups of the half; only those that are present count.
            let next = through & present;
            if next & for_all(DISCARDS) != 0 {
                let (moment, lid) = (self.name(moment), class.lid);
                let switch = self.fabric.describe_node(self.net.switches[switch]);
                return Err(CertificateFault::Hole { moment, switch, lid, what: "it sends them to VL 15".to_string() });
            }
            if next & !for_all(self.net.carried[channel]) != 0 {
                return Err(self.not_carried(now, channel));
            }
            // Rules 2 and 3, the closure itself: what can happen next is listed.
            if next & !class.lanes[channel] != 0 {
                return Err(self.not_closed(now, switch, input, channel, next));
            }
            // Nothing waits for a source's channel, so its lanes need no number (Lemma 3). The drain must still cover
            // its dependencies.
            if input.is_none_or(|input| self.net.is_source(switch, input)) {
                let entered = &mut self.entered[moment][class.half.index()];
                if entered.is_empty() {
                    entered.resize(self.net.ends.len(), 0);
                }
                entered[channel] |= next;
            }
        }
        Ok(())
    }

    fn check_hole(&self, now: &Now<'_>, switch: usize, output: usize, firm: bool) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        if !firm || self.is_omitted(now) {
            return Ok(());
        }
        let what = match output {
            255 => "it has no route".to_string(),
            _ => format!("its port {output} has no cable, or a dead one"),
        };
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// Judges packets that would leave by the port they came in by, `channel`, to the switch they came from: they are
    /// discarded, and all of them must have been lost already when they left it.
    fn check_turned_back(
        &self,
        now: &Now<'_>,
        switch: usize,
        before: usize,
        channel: usize,
    ) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        let ChannelEnd::Switch(_, sent_by) = self.net.ends[channel] else { unreachable!("a channel into a switch") };
        let sent = moment > 0 && self.was_sent(class);
        if sent && now.forsaken.sent_only_lost(before, sent_by) || self.is_omitted(now) {
            return Ok(());
        }
        let what = "they come in by the port that they are to leave by".to_string();
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// Judges a step from a switch that has a way to one that has lost its own.
    fn check_astray(&self, now: &Now<'_>, switch: usize, output: usize) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        if self.is_omitted(now) {
            return Ok(());
        }
        let what = format!("its port {output} leads packets that have a way to a switch that has lost its own");
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// The exceptions of Theorem 3: owners that the new routing omits, those that died, and answers.
    fn is_omitted(&self, now: &Now<'_>) -> bool {
        let Now { moment, class, .. } = *now;
        let owner = class.owner.index();
        class.answers || self.stranded[owner] || moment > 0 && !self.net.is_there(moment, owner)
    }

    fn wrong(&self, now: &Now<'_>, at: String) -> CertificateFault {
        CertificateFault::WrongArrival { moment: self.name(now.moment), lid: now.class.lid, at }
    }

    fn not_carried(&self, now: &Now<'_>, channel: usize) -> CertificateFault {
        let channel = self.fabric.describe_port(PortId(channel as u32));
        CertificateFault::NotCarried { moment: self.name(now.moment), lid: now.class.lid, channel }
    }

    fn not_closed(
        &self,
        now: &Now<'_>,
        switch: usize,
        input: Option<PortNum>,
        channel: usize,
        next: Packed,
    ) -> CertificateFault {
        let name = self.fabric.describe_node(self.net.switches[switch]);
        let from = match input {
            Some(input) => format!("port {input} of {name}"),
            None => format!("the hosts of {name}"),
        };
        let missing: Vec<String> =
            VlSet(of_any(next & !now.class.lanes[channel])).iter().map(|vl| vl.to_string()).collect();
        let to = format!("{} on VL {}", self.fabric.describe_port(PortId(channel as u32)), missing.join(", "));
        CertificateFault::NotClosed { moment: self.name(now.moment), lid: now.class.lid, from, to }
    }
}

/// Old and new, once where they agree.
pub(super) fn choices([old, new]: [u8; 2]) -> impl Iterator<Item = usize> {
    std::iter::once(old).chain((old != new).then_some(new)).map(usize::from)
}
