//! A proved plan, handed to OpenSM wave by wave.
//!
//! On entry: a plan that prover, checker and lint accepted. On return: the tables of one wave at a time, and how often
//! everything in the subnet must have moved on before the next may be written. OpenSM cannot hold writes back within a
//! wave, so what a plan does before any table that is in force leads there (the tables of what has come) is written
//! with the first wave: ports of what has come carry nothing before OpenSM has written all tables and activates them.

use reconfig::fabric::Fabric;
use reconfig::plan::{Barrier, Phase, Plan};
use reconfig::tables::Lft;
use reconfig::vet::Vetted;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// One wave.
#[derive(Clone, Debug)]
pub struct HandoverWave {
    /// By node of the plan: forwarding tables when it has landed.
    pub lfts: Vec<Arc<Lft>>,
    /// How often every device must have sent off what stood in it, since the step before it was written.
    pub rounds: u32,
}

/// What is left of a plan.
#[derive(Clone, Debug)]
pub struct Handover {
    /// The plan.
    pub plan: Arc<Vetted>,
    /// Of what is there it routes what there was before, where something has come that waits.
    pub routed: Option<Arc<Fabric>>,
    steps: VecDeque<HandoverWave>,
}

/// The longest that a packet may stand in a switch, as OpenSM programs it (SwitchInfo:LifeTimeValue); none where
/// nothing limits it.
pub fn life(life_time: u8) -> Option<Duration> {
    (life_time <= 19).then(|| Duration::from_nanos(4096 << life_time))
}

impl Handover {
    /// The waves of a plan that change tables.
    pub fn of(plan: Arc<Vetted>) -> Handover {
        let steps = steps(plan.plan());
        Handover { plan, routed: None, steps }
    }

    /// Whether the first wave need not wait, because nothing stands in the subnet.
    #[must_use]
    pub fn at_once(mut self) -> Handover {
        self.has_waited();
        self
    }

    /// The next wave need not wait any more.
    pub fn has_waited(&mut self) {
        self.steps.front_mut().into_iter().for_each(|first| first.rounds = 0);
    }

    /// The next wave.
    pub fn next(&self) -> Option<&HandoverWave> {
        self.steps.front()
    }

    /// The next wave was handed over.
    pub fn advance(&mut self) {
        self.steps.pop_front();
    }

    /// Whether a wave is left.
    pub fn is_over(&self) -> bool {
        self.steps.is_empty()
    }

    /// Waves left.
    pub fn left(&self) -> usize {
        self.steps.len()
    }
}

fn steps(plan: &Plan) -> VecDeque<HandoverWave> {
    let mut steps = VecDeque::new();
    let mut rounds = 0;
    for (index, wave) in plan.waves().iter().enumerate() {
        let (before, after) = (&plan.tables_at(index).lfts, &plan.tables_at(index + 1).lfts);
        if wave.phase == Phase::Rewrite && before != after {
            steps.push_back(HandoverWave { lfts: after.clone(), rounds: std::mem::take(&mut rounds) });
        }
        let waits = wave.barriers.iter().map(|barrier| match barrier {
            Barrier::Vacated(rounds) => u32::from(*rounds),
            Barrier::Acknowledged | Barrier::Flushed(_) | Barrier::SourcesMoved | Barrier::Drained(_) => 0,
        });
        rounds += waits.sum::<u32>();
    }
    // A plan for what has come may have nothing to rewrite: its tables are what it installs.
    let (first, last) = (plan.tables_at(0), plan.tables_at(plan.waves().len()));
    if steps.is_empty() && first.lfts != last.lfts {
        steps.push_back(HandoverWave { lfts: last.lfts.clone(), rounds: 0 });
    }
    steps
}
