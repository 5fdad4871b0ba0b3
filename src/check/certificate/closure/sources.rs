//! What sources can send: the classes in their channels at each moment, and whether a certificate lists where packets
//! of them go.

use super::{Answerer, Closure, Now};
use crate::check::certificate::CertificateFault;
use crate::check::certificate::lanes::{Packed, for_all, spread};
use crate::check::certificate::moments::PlanMoment;
use crate::check::certificate::net::{CheckedNet, SourcePort};
use crate::fabric::PortId;
use crate::ids::Half;
use crate::plan::{Assumption, Plan};

/// The classes that sources can have in their channels at one moment.
pub(in crate::check::certificate) struct Injected {
    /// By switch: for each of its sources in order, by half.
    pub lanes: Vec<Vec<[Packed; 2]>>,
    /// By switch and half: all sources of the switch together.
    together: Vec<[Together; 2]>,
}

/// Sources of one switch that treats its inputs alike.
#[derive(Clone, Copy, Default)]
struct Together {
    /// The groups that any of them has.
    present: Packed,
    /// Whether a loss of packets is a fault for one of them.
    firm: bool,
}

impl Closure<'_> {
    /// Verifies that there is a source of the answers that the plan makes no assumption about.
    pub(super) fn check_answerer(&self) -> Result<(), CertificateFault> {
        let special =
            |moment: &PlanMoment<'_>| moment.injected[Half::Upper.index()] || moment.ways.iter().any(|w| !w.is_empty());
        let named = self.plan.draft().assumptions.contains(&Assumption::AnswersAreLegal);
        if named || self.answerer.is_some() || !self.moments.all.iter().any(special) {
            return Ok(());
        }
        let what = format!(
            "the SM's port sends into no switch, so its answers cannot be followed, and the plan does not name `{}`",
            Assumption::AnswersAreLegal.name()
        );
        Err(CertificateFault::Plan { wave: "plan".to_string(), what })
    }

    /// Verifies that sources send on lanes which their links carry, and that every port that takes part has a LID of
    /// each half in use.
    pub(super) fn check_sending(&self) -> Result<(), CertificateFault> {
        for (moment, injected) in self.injected.iter().enumerate() {
            let fault = |what: String| Err(CertificateFault::Plan { wave: self.name(moment), what });
            for (sources, lanes) in self.net.sources.iter().zip(&injected.lanes) {
                for (source, lanes) in sources.iter().zip(lanes) {
                    let carried = for_all(self.net.carried[source.port.index()]);
                    if lanes.iter().any(|lanes| lanes & !carried != 0) {
                        let port = self.fabric.describe_port(source.port);
                        return fault(format!("{port} sends on a virtual lane that its link does not carry"));
                    }
                }
            }
            for half in [Half::Lower, Half::Upper] {
                let sent = self.moments.all[moment].injected[half.index()];
                let lacks = |&port: &PortId| {
                    let takes_part = !self.stranded[port.index()] && self.moments.admits(port, moment, half);
                    takes_part
                        && self.net.is_there(moment, port.index())
                        && self.fabric.half_lids(port, half).next().is_none()
                };
                if let Some(port) = self.fabric.end_ports().find(|port| sent && lacks(port)) {
                    let port = self.fabric.describe_port(port);
                    return fault(format!("{port} owns no LID of the {half} half, which is sent on"));
                }
            }
        }
        Ok(())
    }

    /// Verifies that whatever sources can send is listed.
    pub(super) fn check_sources(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        // No source sends to a newcomer before it takes part.
        if !self.moments.admits(class.owner, moment, class.half) {
            return Ok(());
        }
        if class.answers {
            return self.check_answers(now);
        }
        if !self.moments.all[moment].ways[class.half.index()].is_empty() {
            return self.check_selected(now);
        }
        for switch in 0..self.net.switches.len() {
            let Together { present, firm } = self.injected[moment].together[switch][class.half.index()];
            if present == 0 {
                continue;
            }
            // At the switch of the owner the sum over the sources would include the owner, which sends nothing to
            // itself.
            if class.at != Some(switch as u32) && self.groups.is_alike(moment, switch) {
                self.check_step(now, switch, None, present, firm)?;
            } else {
                self.check_each_source(now, switch)?;
            }
        }
        Ok(())
    }

    /// Checks the sources of answers: only the manager's port sends them, to the base LID of the port that asked.
    fn check_answers(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Some(Answerer { switch, place, .. }) = self.answerer else { return Ok(()) };
        let half = now.class.half;
        let lanes = self.injected[now.moment].lanes[switch][place][half.index()] & self.asked(now);
        if lanes == 0 {
            return Ok(());
        }
        // Not firm: an answer may be lost, since the client asks again.
        self.check_step(now, switch, Some(self.net.sources[switch][place].input), spread(lanes), false)
    }

    /// The groups on which the owner of a class's DLID may ask the manager: answers have the level of their request.
    fn asked(&self, now: &Now<'_>) -> Packed {
        let (half, ways) = (now.class.half, &self.moments.all[now.moment].ways[now.class.half.index()]);
        match self.answerer.filter(|_| self.fabric.port(now.class.owner).lid == Some(now.class.lid)) {
            None => 0,
            Some(_) if ways.is_empty() => Packed::MAX,
            Some(answerer) => {
                let paths = 0..self.fabric.half_lids(answerer.port, half).count();
                let layers = paths
                    .flat_map(|path| ways.iter().filter_map(move |w| w.layer(now.class.owner, answerer.port, path)));
                layers.fold(0, |all, layer| all | self.groups.of_layer(half, layer))
            }
        }
    }

    /// Checks the sources of a DLID to which only sources with a path send.
    fn check_selected(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        let (half, owner) = (class.half, class.owner);
        let Some(path) = self.fabric.half_lids(owner, half).position(|lid| lid == class.lid) else { return Ok(()) };
        for switch in 0..self.net.switches.len() {
            let alike = self.groups.is_alike(moment, switch);
            let mut together = Together::default();
            for place in 0..self.net.sources[switch].len() {
                let source = self.net.sources[switch][place];
                let ways = &self.moments.all[moment].ways[half.index()];
                // A source may send whatever any of the path layers allows.
                let layers = ways.iter().filter_map(|ways| ways.layer(source.port, owner, path));
                let mut open = layers.fold(0, |all, layer| all | self.groups.of_layer(half, layer));
                if self.answerer.is_some_and(|answerer| answerer.port == source.port) {
                    open |= self.asked(now);
                }
                let lanes = self.injected[moment].lanes[switch][place][half.index()] & open;
                if lanes == 0 || source.port == owner {
                    continue;
                }
                let firm = !self.stranded[source.port.index()];
                if alike {
                    together.present |= spread(lanes);
                    together.firm |= firm;
                } else {
                    self.check_step(now, switch, Some(source.input), spread(lanes), firm)?;
                }
            }
            if together.present != 0 {
                self.check_step(now, switch, None, together.present, together.firm)?;
            }
        }
        Ok(())
    }

    fn check_each_source(&mut self, now: &Now<'_>, switch: usize) -> Result<(), CertificateFault> {
        for place in 0..self.net.sources[switch].len() {
            let source = self.net.sources[switch][place];
            let lanes = self.injected[now.moment].lanes[switch][place][now.class.half.index()];
            // An owner sends nothing to itself.
            if lanes != 0 && source.port != now.class.owner {
                let firm = !self.stranded[source.port.index()];
                self.check_step(now, switch, Some(source.input), spread(lanes), firm)?;
            }
        }
        Ok(())
    }

    pub(super) fn inject(&self, moment: usize) -> Injected {
        let begins = &self.moments.all[moment];
        // The barrier before this moment applies to the places of the moment before; moments are added in order, so
        // that is the last one.
        let kept = begins.gone.map(|gone| if gone { 0 } else { !for_all(begins.empty.0) });
        let mut injected = Injected { lanes: Vec::new(), together: Vec::new() };
        for (switch, sources) in self.net.sources.iter().enumerate() {
            let of_source = |(place, source): (usize, &SourcePort)| {
                let there = self.net.is_there(moment, source.port.index());
                [Half::Lower, Half::Upper].map(|half| {
                    let sends = begins.injected[half.index()] && self.moments.admits(source.port, moment, half);
                    let fresh = if sends { self.groups.at_source(moment, switch, place, half) } else { 0 };
                    // Rule 1 for sources: what one had in its channel remains there until a barrier shows otherwise,
                    // even if it no longer sends.
                    let earlier = self.injected.last().map_or(0, |last| last.lanes[switch][place][half.index()]);
                    if there { fresh | earlier & kept[half.index()] } else { 0 }
                })
            };
            let lanes: Vec<[Packed; 2]> = sources.iter().enumerate().map(of_source).collect();
            let mut together = [Together::default(); 2];
            for (source, lanes) in sources.iter().zip(&lanes) {
                for (all, &lanes) in together.iter_mut().zip(lanes) {
                    all.present |= spread(lanes);
                    all.firm |= lanes != 0 && !self.stranded[source.port.index()];
                }
            }
            injected.together.push(together);
            injected.lanes.push(lanes);
        }
        injected
    }
}

/// The manager's port among the sources; none where the plan assumes that its answers stay within the halves.
pub(super) fn answerer(plan: &Plan, net: &CheckedNet) -> Option<Answerer> {
    let port = plan.draft().sm;
    if plan.draft().assumptions.contains(&Assumption::AnswersAreLegal) {
        return None;
    }
    net.sources.iter().enumerate().find_map(|(switch, sources)| {
        let place = sources.iter().position(|source| source.port == port)?;
        Some(Answerer { port, switch, place })
    })
}
