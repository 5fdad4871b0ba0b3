//! Compares a deadlock of the simulator with the verdict of the prover on the plan.

use super::outcome::{Foreseen, Foresight};
use crate::sim::StuckPacket;
use crate::verify::{self, Cycle, Dependency, Refusal, Wait};
use crate::vet::Vetted;

/// What the prover had made of a cycle of waiting packets.
pub fn foresight(plan: &Vetted, stuck: &[StuckPacket]) -> Foresight {
    let wait = |stuck: &StuckPacket| {
        let StuckPacket { input, input_vl, output, output_vl, .. } = *stuck;
        Wait { input, input_vl, output, output_vl }
    };
    let waits: Vec<Wait> = stuck.iter().map(wait).collect();
    // Waits that are none of the plan's fabric are not foreseen either.
    let cycle = verify::foresee(plan.plan(), &waits).ok().flatten();
    let reserved = plan.plan().reserved().filter(|_| !plan.plan().proves_switch_management());
    let unclaimed = reserved.is_some_and(|level| stuck.iter().all(|stuck| stuck.input_vl == level.vl));
    let how = match (&cycle, plan.refusal()) {
        _ if unclaimed => Foreseen::Unclaimed,
        (None, None | Some(Refusal::Deadlock(_) | Refusal::Loop(_))) => Foreseen::Unforeseen,
        (None, Some(_)) => Foreseen::NotReached,
        (Some(met), Some(Refusal::Deadlock(named))) if same(met, named, lanes) => Foreseen::Named,
        (Some(met), Some(Refusal::Deadlock(named))) if same(met, named, ports) => Foreseen::NamedOnOtherLanes,
        (Some(_), _) => Foreseen::Possible,
    };
    Foresight { how, cycle }
}

/// The cycle that a refusal names.
pub fn named(plan: &Vetted) -> Option<&Cycle> {
    match plan.refusal() {
        Some(Refusal::Deadlock(cycle)) => Some(cycle),
        _ => None,
    }
}

/// Whether two cycles are the same in what `of` extracts from a dependency, wherever they begin.
fn same<T: PartialEq>(a: &Cycle, b: &Cycle, of: impl Fn(&Dependency) -> T) -> bool {
    let list = |cycle: &Cycle| cycle.dependencies.iter().map(&of).collect::<Vec<T>>();
    let (a, mut b) = (list(a), list(b));
    a.len() == b.len()
        && (0..b.len()).any(|_| {
            b.rotate_left(1);
            a == b
        })
}

fn ports(dependency: &Dependency) -> impl PartialEq + use<> {
    (dependency.switch.guid, dependency.input.port, dependency.output.port)
}

fn lanes(dependency: &Dependency) -> impl PartialEq + use<> {
    (dependency.switch.guid, dependency.input, dependency.output)
}
