//! What is known of a routing in force before anything happens to it, so that it need not be found out afterwards.

use super::{ChangeError, ChangeInput, halves_in_use, repairing};
use crate::fabric::{Fabric, PortId};
use crate::ids::Half;
use crate::plan::{self, Barrier, Phase, Plan, PlanInput, Policy, Scheme, Sending, Wave};
use crate::repair::RepairBase;
use crate::tables::{PathLayers, SubnetTables};
use crate::verify::{BaseInput, ProofBase, Scope};
use crate::vet::VetBase;
use std::sync::{Arc, OnceLock};

/// A routing in force, and who sends by it: what a change begins with, whatever happens first.
#[derive(Clone, PartialEq, Debug)]
pub struct InForce {
    /// See the fields of the same names in [`ChangeInput`].
    pub before: Arc<Fabric>,
    /// The tables in force.
    pub tables: SubnetTables,
    /// Virtual layers that the routing needs.
    pub layers: u8,
    /// Which sources send by which path.
    pub ways: Option<Arc<PathLayers>>,
    /// The half in use.
    pub old: Half,
    /// Whether sources may send on the other half as well.
    pub both_halves: bool,
    /// What the user configured.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
}

impl ChangeInput<'_> {
    /// What the change begins with.
    pub fn in_force(&self) -> InForce {
        InForce {
            before: self.before.clone(),
            tables: self.tables.clone(),
            layers: self.layers,
            ways: self.ways.clone(),
            old: self.old,
            both_halves: self.both_halves,
            policy: self.policy,
            sm: self.sm,
        }
    }

    /// What is known, where it is of the routing in force.
    pub(super) fn base(&self) -> Option<&ChangeBase> {
        self.base.filter(|base| base.proof().is_proof_of(&self.before, &self.tables, &self.scope()))
    }

    /// What a proof of the routing in force covers.
    pub(super) fn scope(&self) -> Scope {
        scope(self.both_halves, self.old, self.ways.as_ref())
    }
}

/// What is known of a routing in force: empty until it was found out; none where that routing cannot be proved. Clones
/// share it, so that a thread can find it out for others.
#[derive(Clone, Default)]
pub struct KnownBase(Arc<OnceLock<Option<ChangeBase>>>);

impl KnownBase {
    /// The base of a routing, computed at once.
    pub fn of(routing: &InForce) -> KnownBase {
        let known = KnownBase::default();
        known.find_out(routing);
        known
    }

    /// The base, if it has been computed and the routing is proved.
    pub fn get(&self) -> Option<&ChangeBase> {
        self.0.get()?.as_ref()
    }

    /// Computes the base, which takes seconds on a thousand switches.
    pub fn find_out(&self, routing: &InForce) {
        self.0.get_or_init(|| ChangeBase::of(routing).ok());
    }

    /// Whether anybody else has it, and may wait for it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// The routing in force, proved, with all that a change begins with and that does not depend on what is lost. A change
/// that is prepared with it is the change that would be prepared without it.
pub struct ChangeBase {
    pub(super) vet: VetBase,
    /// What a repair begins with.
    pub(super) repair: Option<RepairBase>,
    /// Whether sources may send to LIDs of a port that are led each its own way.
    pub(super) is_parted: bool,
    /// That for which an order was first asked for.
    pub(super) order: OnceLock<repairing::OrderOf>,
}

impl ChangeBase {
    /// Of a routing in force.
    ///
    /// # Errors
    /// It cannot be proved.
    pub fn of(input: &InForce) -> Result<ChangeBase, ChangeError> {
        let proof = ProofBase::of(BaseInput {
            fabric: input.before.clone(),
            tables: input.tables.clone(),
            scope: scope(input.both_halves, input.old, input.ways.as_ref()),
            answerer: Some(input.sm),
            reserved: input.policy.reserved_sl,
        });
        let vet = VetBase::of(proof.map_err(ChangeError::Old)?, quiet_plan(input));
        let is_parted = repairing::is_parted(input);
        Ok(ChangeBase { vet, repair: repairing::base(input), is_parted, order: OnceLock::new() })
    }

    /// What the prover knows.
    pub(super) fn proof(&self) -> &ProofBase {
        self.vet.proof()
    }
}

/// A plan of scheme `ordered` with a wave that writes nothing; none where the scheme's preconditions do not hold.
fn quiet_plan(input: &InForce) -> Option<Plan> {
    let fabric = &input.before;
    let ordered = PlanInput {
        before: fabric.clone(),
        routed: fabric.clone(),
        surviving: fabric.clone(),
        after: fabric.clone(),
        initial: input.tables.clone(),
        target: input.tables.lfts.clone(),
        steps: Vec::new(),
        discards_turned_back: false,
        closes: false,
        old: input.old,
        both_halves: input.both_halves,
        begins_with_losses: false,
        leaves_losses: false,
        policy: input.policy,
        sm: input.sm,
        stranded: Vec::new(),
        old_layers: input.layers,
        new_layers: input.layers,
        drain: Vec::new(),
        old_ways: input.ways.clone(),
        new_ways: input.ways.clone(),
    };
    let mut draft = plan::plan(Scheme::Ordered, ordered).ok()?.draft().clone();
    draft.waves.push(Wave {
        name: Phase::Rewrite.to_string(),
        phase: Phase::Rewrite,
        writes: Vec::new(),
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::AnyOrder,
    });
    let plan = Plan::seal(draft).prove_switch_management();
    if plan.proves_answers() {
        return Some(plan);
    }
    Some(plan.prove_answers().map_or_else(|unproved| unproved.0, |(plan, _)| plan))
}

/// What a proof of a routing in force covers.
fn scope(both_halves: bool, half: Half, ways: Option<&Arc<PathLayers>>) -> Scope {
    Scope::of(halves_in_use(both_halves, half)).by(ways)
}
