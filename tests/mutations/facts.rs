//! Lies told to the prover of what a wave finds and does. It believes them; the checker, which works the facts out from
//! writes and barriers, does not take its certificate.

use super::{Catcher, Row};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::removal::{Removal, removal};
use reconfig::change::prepare;
use reconfig::check::certificate;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, VlSet};
use reconfig::plan::{Barrier, Draft, Phase, Plan, Scheme};
use reconfig::tables::{LFT_BLOCK, Write};
use reconfig::verify::{Binding, Newcomers, ProofWave, Transition, prove_certified};

/// One lie about a plan.
pub struct Lie {
    name: &'static str,
    broken: &'static str,
    /// What is wrong with the plan itself, so that the lie is needed.
    plan: fn(&mut Draft),
    facts: fn(&Plan, &mut Vec<ProofWave<'_>>),
    everyone_stranded: bool,
    newcomers: bool,
    harmless: Option<&'static str>,
}

const fn lie(
    name: &'static str,
    broken: &'static str,
    plan: fn(&mut Draft),
    facts: fn(&Plan, &mut Vec<ProofWave<'_>>),
) -> Lie {
    Lie { name, broken, plan, facts, everyone_stranded: false, newcomers: false, harmless: None }
}

fn sound(_: &mut Draft) {}

fn truth(_: &Plan, _: &mut Vec<ProofWave<'_>>) {}

/// The position of the last wave of a phase.
fn at(plan: &Plan, phase: Phase) -> usize {
    plan.waves().iter().rposition(|wave| wave.phase == phase).expect("scheme double has all five phases")
}

pub const LIES: &[Lie] = &[
    lie(
        "`empty`: lanes that nobody flushed",
        "a plan without its flush passes",
        |draft| draft.waves[0].barriers.retain(|barrier| !matches!(barrier, Barrier::Flushed(_))),
        |plan, waves| waves[1].empty = plan.lanes().b,
    ),
    Lie {
        harmless: Some("sources fill the same lanes anew, so the certificate lists them all the same"),
        ..lie("`empty`: all lanes, after the split", "packets of R are forgotten", sound, |plan, waves| {
            waves[1].empty = plan.lanes().all;
        })
    },
    lie(
        "`gone`: a half that nobody drained",
        "a plan without its drain passes",
        |draft| draft.waves.iter_mut().filter(|wave| wave.phase == Phase::Drain).for_each(|wave| wave.barriers.clear()),
        |plan, waves| {
            let restore = at(plan, Phase::Restore);
            waves[restore].gone[plan.old().index()] = true;
            waves[restore].injected[plan.old().index()] = false;
            waves[restore].empty = plan.lanes().a;
        },
    ),
    lie("`gone`: one wave too early", "packets of R are forgotten before the drain", sound, |plan, waves| {
        let drain = at(plan, Phase::Drain);
        waves[drain].gone[plan.old().index()] = true;
        waves[drain].injected[plan.old().index()] = false;
    }),
    lie("`injected`: nobody on the new half in the swap", "told sources are forgotten", sound, |plan, waves| {
        let swap = plan.waves().iter().map(|wave| wave.phase == Phase::Swap);
        for (facts, _) in waves.iter_mut().zip(swap).filter(|(_, swaps)| *swaps) {
            facts.injected[plan.new_half().index()] = false;
        }
    }),
    lie(
        "`injected`: nobody on the old half in the install",
        "sources that go on are forgotten",
        sound,
        |plan, waves| {
            for facts in &mut waves[1..at(plan, Phase::Swap)] {
                facts.injected[plan.old().index()] = false;
                facts.gone[plan.old().index()] = true;
            }
        },
    ),
    lie("a wave left out", "nobody looks at the drain", sound, |plan, waves| _ = waves.remove(at(plan, Phase::Drain))),
    lie("tables of the split as if in force before", "the steady moment is another", sound, |_, waves| {
        waves[0].before = waves[0].after;
    }),
    lie("the restore's tables as if never written", "its mixture is not looked at", sound, |plan, waves| {
        let restore = at(plan, Phase::Restore);
        waves[restore].after = waves[restore].before;
    }),
    Lie {
        everyone_stranded: true,
        ..lie(
            "everybody stranded",
            "a plan whose install has holes passes",
            |draft| {
                let first = draft.waves[2].writes.iter().find_map(|write| match write {
                    Write::LftBlock { switch, .. } => Some(*switch),
                    _ => None,
                });
                let new = draft.new;
                let fabric = draft.before.clone();
                for write in &mut draft.waves[2].writes {
                    let Write::LftBlock { switch, block, entries } = write else { continue };
                    let lid = |at: usize| Lid(*block * LFT_BLOCK as u16 + at as u16);
                    let mine = Some(*switch) == first;
                    (0..LFT_BLOCK)
                        .filter(|&at| mine && fabric.half_of(lid(at)) == Some(new))
                        .for_each(|at| entries[at] = 255);
                }
            },
            truth,
        )
    },
    Lie { newcomers: true, ..lie("everybody a newcomer", "nobody sends before the restore", sound, truth) },
];

/// A plan, and what is said of it.
struct Told<'a> {
    plan: &'a Plan,
    lie: &'a Lie,
    ends: Vec<PortId>,
}

impl Transition for Told<'_> {
    fn fabric(&self) -> &Fabric {
        self.plan.fabric()
    }

    fn surviving(&self) -> &Fabric {
        self.plan.surviving()
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let mut waves = self.plan.waves_as_facts();
        (self.lie.facts)(self.plan, &mut waves);
        waves
    }

    fn stranded(&self) -> &[PortId] {
        if self.lie.everyone_stranded { &self.ends } else { self.plan.stranded() }
    }

    fn answerer(&self) -> Option<PortId> {
        self.plan.answerer()
    }

    fn newcomers(&self) -> Newcomers {
        match self.lie.newcomers {
            true => Newcomers {
                ports: self.ends.clone(),
                wave: self.plan.waves().len() - 1,
                halves: [Half::Lower, Half::Upper].map(|half| half == self.plan.new_half()),
            },
            false => self.plan.newcomers(),
        }
    }
}

/// The facts as the plan tells them; a plan's own list of waves has the same name.
trait Facts {
    fn waves_as_facts(&self) -> Vec<ProofWave<'_>>;
}

impl Facts for Plan {
    fn waves_as_facts(&self) -> Vec<ProofWave<'_>> {
        Transition::waves(self)
    }
}

/// Tells every lie.
pub fn rows() -> Vec<Row> {
    let subnet = bring_up(&bundled("ghost-cycle"), 1, false);
    let plan = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("provable").plan;
    let row = |lie: &Lie| {
        let mut draft = plan.plan().draft().clone();
        (lie.plan)(&mut draft);
        let caught = caught(lie, &Plan::seal(draft));
        Row { name: lie.name, broken: lie.broken, caught, harmless: lie.harmless }
    };
    LIES.iter().map(row).collect()
}

fn caught(lie: &Lie, plan: &Plan) -> Vec<Catcher> {
    assert_ne!(plan.lanes().b, VlSet::EMPTY);
    let ends = plan.fabric().end_ports().collect();
    let told = Told { plan, lie, ends };
    let Ok((_, certificate)) = prove_certified(told) else { return vec![Catcher::Prover] };
    let text = plan.to_json();
    let accepted = certificate.is_some_and(|certificate| {
        let written = certificate.to_text(&plan.binding(Binding::digest(text.as_bytes())));
        certificate::check(plan, text.as_bytes(), written.as_bytes()).is_ok()
    });
    if accepted { Vec::new() } else { vec![Catcher::Checker] }
}
