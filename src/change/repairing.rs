//! The steps of scheme `ordered`: the waves that `repair` finds, as values that a planner takes.

use super::{ChangeBase, ChangeError, Groundwork, InForce, Outset};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::lid;
use crate::plan::{TableStep, TurnedBack};
use crate::repair::{self, Budget, Repair, RepairBase, RepairInput, RepairWave, repair_from};
use crate::routing::{Engine, chosen_root, switch_order};
use crate::tables::Lft;
use crate::verify::InjectionRules;
use std::sync::Arc;

/// The order of switches by which the routing of an engine goes up and down.
pub(super) struct OrderOf {
    pub made_by: &'static str,
    pub root: Option<NodeId>,
    /// None where it has none.
    pub order: Option<Vec<NodeId>>,
}

/// What a repair comes to.
#[derive(Default)]
pub(super) struct RepairSteps {
    pub steps: Vec<TableStep>,
    /// Whether they are free of deadlock only where switches discard packets that turn back.
    pub discards_turned_back: bool,
    /// Whether rows by which hosts send to hosts stay lost.
    pub leaves_losses: bool,
}

/// Waves that lead from the tables in force to tables that serve what remains. `target` is the full re-route.
///
/// # Errors
/// The tables in force can deadlock, or some row finds no way: only another service level, or another LID, would do.
pub(super) fn steps(ground: &Groundwork<'_>, target: &[Arc<Lft>]) -> Result<RepairSteps, ChangeError> {
    let (outset, input) = (&ground.outset, ground.outset.input);
    let sending = Sending::over(outset);
    // Sources keep their paths and levels, so tables that were made for others are no guide.
    let alike = input.ways.is_none() && ground.function.path_layers().is_none();
    let order = outset.order_in_force(ground.function.engine());
    let asked = RepairInput {
        target: alike.then_some(target),
        order: order.as_deref(),
        discards_turned_back: input.policy.turned_back == TurnedBack::Discarded,
        ..sending.asked(outset)
    };
    Ok(sending.followed(outset, solved(&asked, outset.repair_base())?))
}

/// The order of switches by which an engine's routing of a fabric goes up and down, if it has one; `made_by` names the
/// engine itself, or one of its list.
fn order_in_force(engine: &dyn Engine, made_by: &str, fabric: &Fabric) -> Option<Vec<NodeId>> {
    let root = engine.given_root().or_else(|| chosen_root(made_by, fabric))?;
    switch_order(made_by, fabric, root)
}

/// The steps of a repair without a full re-route.
///
/// # Errors
/// As for [`steps`].
pub(super) fn unguided(outset: &Outset<'_>) -> Result<RepairSteps, ChangeError> {
    let sending = Sending::over(outset);
    let discards_turned_back = outset.input.policy.turned_back == TurnedBack::Discarded;
    let asked = RepairInput { discards_turned_back, ..sending.asked(outset) };
    Ok(sending.followed(outset, solved(&asked, outset.repair_base())?))
}

/// The first wave of a repair, found without the full re-route, and whether rows stay lost.
pub(super) fn first_wave(outset: &Outset<'_>) -> Option<(RepairSteps, bool)> {
    let sending = Sending::over(outset);
    let found = repair::reconnect_hosts(&sending.asked(outset), outset.repair_base()).ok()?;
    let fabric = &outset.after;
    let is_host = |node| !fabric.node(node).is_switch();
    let sends = |switch| fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port)).any(is_host);
    let is_sent_to = |lid| fabric.lid_owner(lid).is_some_and(|owner| is_host(fabric.port(owner).node));
    let leaves_losses = found.unsolved.iter().any(|row| is_sent_to(row.lid) && sends(row.switch));
    let is_partial = !found.unsolved.is_empty();
    Some((RepairSteps { leaves_losses, ..sending.followed(outset, found) }, is_partial))
}

/// What a repair of the routing in force begins with, whatever is lost; none where that cannot be determined.
pub(super) fn base(routing: &InForce) -> Option<RepairBase> {
    let fabric = &*routing.before;
    let senders = Sending::of(routing, is_parted(routing)).senders;
    let asked = RepairInput { answerer: Some(routing.sm), ..RepairInput::quiet(fabric, &routing.tables, &senders) };
    RepairBase::of(&asked).ok()
}

/// Who sends while a repair runs.
struct Sending {
    senders: InjectionRules,
    /// Whether the LIDs of a port are led each its own way, as by tables of other subnet managers, and all are sent to.
    parted: bool,
}

impl Outset<'_> {
    fn in_force(&self) -> InForce {
        InForce { tables: self.initial.clone(), ..self.input.in_force() }
    }

    /// See [`order_in_force`]; that by an engine for which it was found before is known.
    fn order_in_force(&self, made_by: &'static str) -> Option<Vec<NodeId>> {
        let (engine, before) = (self.input.engine, &self.input.before);
        let found = || order_in_force(engine, made_by, before);
        let Some(base) = self.known() else { return found() };
        let root = engine.given_root();
        let known = base.order.get_or_init(|| OrderOf { made_by, root, order: found() });
        if (known.made_by, known.root) == (made_by, root) { known.order.clone() } else { found() }
    }

    /// Whether a cable comes between two switches.
    fn joins_switches(&self) -> bool {
        let (before, after) = (&self.input.before, &self.after);
        let is_switch = |port: PortId| after.node(after.port(port).node).is_switch();
        after.links().any(|(a, b)| is_switch(a) && is_switch(b) && before.peer(a) != Some(b))
    }

    /// What is known of the tables in force, where they are all that there is: nothing has come.
    fn known(&self) -> Option<&ChangeBase> {
        self.input.base().filter(|_| *self.whole == *self.input.before)
    }

    fn repair_base(&self) -> Option<&RepairBase> {
        self.known()?.repair.as_ref()
    }
}

/// Whether the LIDs of a port are led each its own way, where sources may send to all of them.
pub(super) fn is_parted(routing: &InForce) -> bool {
    let InForce { before, tables, old, both_halves, .. } = routing;
    *both_halves && lid::mirrored(before, &tables.lfts, *old) != tables.lfts
}

impl Sending {
    fn over(outset: &Outset<'_>) -> Sending {
        let routing = outset.in_force();
        let parted = outset.known().map_or_else(|| is_parted(&routing), |base| base.is_parted);
        Sending::of(&routing, parted)
    }

    fn of(routing: &InForce, parted: bool) -> Sending {
        let InForce { old, ways, .. } = routing;
        let mut senders = InjectionRules::default();
        senders.injected[old.index()] = true;
        senders.ways[old.index()] = ways.iter().cloned().collect();
        if parted {
            senders.injected = [true; 2];
        }
        Sending { senders, parted }
    }

    /// What a repair reads, without guides.
    fn asked<'r>(&'r self, outset: &'r Outset<'_>) -> RepairInput<'r> {
        RepairInput {
            surviving: &outset.surviving,
            remaining: &outset.after,
            answerer: Some(outset.input.sm),
            // A loss is repaired with few writes; what comes between switches is there to carry traffic.
            budget: match outset.joins_switches() {
                true => Budget::default(),
                false => Budget { renewals: 0, ..Budget::default() },
            },
            ..RepairInput::quiet(&outset.whole, &outset.initial, &self.senders)
        }
    }

    /// The waves of a repair, with the twins of the LIDs that it leads.
    fn followed(&self, outset: &Outset<'_>, found: Repair) -> RepairSteps {
        let input = outset.input;
        let are_twins = input.both_halves && !self.parted;
        // Packets to the twin of a LID meet the same entries at every moment, as they do by the tables in force.
        let held = if *outset.whole == *input.before { &outset.initial.lfts[..] } else { &[] };
        let both = |lfts: &[Arc<Lft>]| lid::mirrored_from(&outset.after, held, lfts, input.old);
        let step = |RepairWave { lfts, aged_before, .. }: RepairWave| {
            let lfts = if are_twins { both(&lfts) } else { lfts };
            TableStep { lfts, aged_before }
        };
        let mut steps: Vec<TableStep> = found.waves.into_iter().map(step).collect();
        if !self.parted && (!are_twins || steps.is_empty()) {
            follow(outset, &mut steps);
        }
        RepairSteps { steps, discards_turned_back: found.discards_turned_back, leaves_losses: false }
    }
}

/// The repair of every row.
///
/// # Errors
/// As for [`repair`]; or some row finds no way.
pub(super) fn solved(asked: &RepairInput<'_>, base: Option<&RepairBase>) -> Result<Repair, ChangeError> {
    let found = repair_from(asked, base)?;
    match found.unsolved.first() {
        None => Ok(found),
        Some(first) => {
            let switch = asked.before.describe_node(first.switch);
            Err(ChangeError::Unrepaired { rows: found.unsolved.len(), switch, lid: first.lid })
        }
    }
}

/// Has LIDs of the spare half lead where their twins of the half in use lead, in the last wave that is written anyway.
/// No source sends there, so the time does not matter.
fn follow(outset: &Outset<'_>, steps: &mut Vec<TableStep>) {
    let last = steps.last().map_or(&outset.initial.lfts, |step| &step.lfts);
    let lfts = lid::mirrored(&outset.after, last, outset.input.old);
    let differs = lfts != *last;
    match steps.last_mut() {
        Some(step) => step.lfts = lfts,
        None if differs => steps.push(TableStep { lfts, aged_before: false }),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::routing::{FatTree, UpDown, UpDownRobust};

    #[test]
    fn a_repair_is_led_by_the_root_that_the_routing_in_force_has() {
        let fabric = generate(&"torus:4x4,1".parse().unwrap(), &Options::default()).unwrap();
        let front = |engine: &dyn Engine| Some(order_in_force(engine, engine.name(), &fabric)?[0]);
        let chosen = front(&UpDown::default()).expect("it has an order");
        let given = fabric.switches().find(|&switch| switch != chosen);
        assert_eq!(front(&UpDown { root: given }), given);
        assert_eq!(front(&UpDownRobust { root: given }), given);
        assert_eq!(front(&FatTree), None);
    }
}
