//! Two fabrics and an engine in, a proved plan out.
//!
//! On entry: a [`ChangeInput`], fabrics over one index space and the tables in force. On return: a [`Prepared`] change
//! whose plan the machine may run, or a [`ChangeError`] that says which step failed and why; nothing was written. The
//! routing in force and the new one are each proved by themselves before anything is planned, and the plan is proved
//! wave by wave. An engine that fails is an error: no other one is tried. [`draw`] starts from two captures, [`BringUp`]
//! makes one ready. Lacks on purpose: discovery (`subnet`), and any way to run an unproved plan of scheme `double`.

mod bring_up;
mod captures;

pub use bring_up::{BringUp, BringUpError, data_vls, manager_port};
pub use captures::{Captures, CapturesError, Departure, Drawn, draw};

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Half;
use crate::lid;
use crate::plan::{self, CyclicDrain, DrainGraph, Lanes, Plan, PlanError, PlanInput, Policy, Scheme, Vetted};
use crate::routing::{self, Connectivity, Demand, Engine, RouteError};
use crate::tables::{RoutingFunction, SubnetTables};
use crate::verify::{self, ChannelGraph, Refusal, Scope, TableProof};
use std::sync::Arc;

/// A change to prepare. All fabrics share the index space of `before`.
#[derive(Clone)]
pub struct ChangeInput<'a> {
    /// The fabric that the routing in force was made for, LIDs assigned.
    pub before: Arc<Fabric>,
    /// What is there while the change runs: `before` less what died.
    pub surviving: Arc<Fabric>,
    /// What is to be routed: `surviving` less what is to leave.
    pub after: Arc<Fabric>,
    /// The tables in force.
    pub tables: SubnetTables,
    /// Virtual layers that the routing in force needs.
    pub layers: u8,
    /// The half in use.
    pub old: Half,
    /// Who computes the new routing.
    pub engine: &'a dyn Engine,
    /// How it is brought in.
    pub scheme: Scheme,
    /// What the user settled.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
}

/// A change that may be run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Arc<Vetted>,
    /// The new routing function.
    pub function: Arc<RoutingFunction>,
    /// Its root, where the engine has one.
    pub root: Option<NodeId>,
    /// End ports that the change cuts off from the SM, in index order; the new routing omits them.
    pub stranded: Vec<PortId>,
    /// Proof of the routing in force by itself.
    pub old_proof: TableProof,
    /// Proof of the new routing by itself.
    pub new_proof: TableProof,
}

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// The SM's own port would be cut off.
    #[error("the SM's port {port} is not linked after the change: choose an SM on a host that stays (--sm NODE)")]
    SmLeaves {
        /// The port.
        port: String,
    },
    /// The routing in force is not safe by itself.
    #[error("the routing in force cannot be proved: {0}")]
    Old(Refusal),
    /// The engine failed.
    #[error("routing the fabric after the change: {0}")]
    Route(#[from] RouteError),
    /// A precondition of the scheme does not hold.
    #[error("planning the change: {0}")]
    Plan(#[from] PlanError),
    /// The new routing is not safe by itself.
    #[error("the new routing cannot be proved: {0}")]
    New(Refusal),
    /// A moment of the change is not safe.
    #[error("the plan was refused: {refusal}")]
    Refused {
        /// The plan.
        plan: Box<Plan>,
        /// What is wrong with it.
        refusal: Refusal,
    },
}

impl From<CyclicDrain> for ChangeError {
    fn from(cycle: CyclicDrain) -> ChangeError {
        ChangeError::Plan(cycle.into())
    }
}

/// Prepares a change that is proved at every moment.
///
/// # Errors
/// What [`ChangeError`] lists.
pub fn prepare(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    Draft::of(input)?.prove(|plan, refusal| Err(ChangeError::Refused { plan: Box::new(plan), refusal }))
}

/// Prepares a baseline: like [`prepare`], but a plan of a scheme other than `double` may be run although the prover
/// refused it, for those who want to see what becomes of it.
///
/// # Errors
/// What [`ChangeError`] lists; for scheme `double`, a refused plan too.
pub fn prepare_baseline(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    Draft::of(input)?.prove(|plan, refusal| {
        Vetted::baseline(plan, refusal).map_err(|refused| {
            let (plan, refusal) = *refused;
            ChangeError::Refused { plan: Box::new(plan), refusal }
        })
    })
}

/// A change, planned, R and R′ proved by themselves.
struct Draft {
    plan: Plan,
    function: RoutingFunction,
    stranded: Vec<PortId>,
    old_proof: TableProof,
    new_proof: TableProof,
}

impl Draft {
    fn of(input: ChangeInput<'_>) -> Result<Draft, ChangeError> {
        if input.after.peer(input.sm).is_none() && !is_switch_port(&input.after, input.sm) {
            return Err(ChangeError::SmLeaves { port: input.before.describe_port(input.sm) });
        }
        let old_proof =
            verify::prove_tables(&input.before, &input.tables, &Scope::of(&[input.old])).map_err(ChangeError::Old)?;
        let surviving = Arc::new(within_reach(&input.surviving, input.sm));
        let after = Arc::new(within_reach(&input.after, input.sm));
        let stranded = routing::stranded(&input.before, &after, input.sm);
        let demand = Demand::joined_with(&after, input.sm, paths(&input.before));
        let function = input.engine.route(&after, &demand)?;
        let plan = draw_up(&input, surviving, after, &function, stranded.clone())?;
        let scope = Scope { halves: vec![plan.new_half()], stranded: stranded.clone(), switches: true };
        let last = plan.tables_at(plan.waves().len());
        let new_proof = verify::prove_tables(&plan.draft().after, last, &scope).map_err(ChangeError::New)?;
        Ok(Draft { plan, function, stranded, old_proof, new_proof })
    }

    /// Proves the plan; what becomes of a refused one is the caller's choice.
    fn prove(
        self,
        refused: impl FnOnce(Plan, Refusal) -> Result<Vetted, ChangeError>,
    ) -> Result<Prepared, ChangeError> {
        let vetted = match verify::prove(self.plan) {
            Ok(proved) => Vetted::from(proved),
            Err((plan, refusal)) => refused(plan, refusal)?,
        };
        Ok(Prepared {
            plan: Arc::new(vetted),
            root: self.function.root(),
            function: Arc::new(self.function),
            stranded: self.stranded,
            old_proof: self.old_proof,
            new_proof: self.new_proof,
        })
    }
}

fn is_switch_port(fabric: &Fabric, port: PortId) -> bool {
    let node = fabric.node(fabric.port(port).node);
    node.is_switch() && node.present
}

/// The fabric less the nodes that no links join with the SM: nothing can be written there.
fn within_reach(fabric: &Fabric, sm: PortId) -> Fabric {
    let links = Connectivity::of(fabric);
    let joined = |node: NodeId| fabric.ports_of(node).any(|port| links.joins(port, sm));
    let lost: Vec<_> = fabric.nodes().filter(|&(id, node)| node.present && !joined(id)).map(|(id, _)| id).collect();
    fabric.without_nodes(&lost)
}

/// Paths to each destination: one for each LID of a half, at the end port that has most.
fn paths(fabric: &Fabric) -> usize {
    let halves = fabric.end_ports().map(|port| usize::from(fabric.port(port).lmc.lids() / 2));
    halves.max().unwrap_or(1).max(1)
}

fn draw_up(
    input: &ChangeInput<'_>,
    surviving: Arc<Fabric>,
    after: Arc<Fabric>,
    function: &RoutingFunction,
    stranded: Vec<PortId>,
) -> Result<Plan, ChangeError> {
    let (halves, drain) = match input.scheme {
        Scheme::Double => (vec![input.old.other()], retiring(input, &surviving)?),
        Scheme::Static | Scheme::InPlace => (vec![Half::Lower, Half::Upper], DrainGraph::default()),
    };
    let target = lid::merge(&input.before, &input.tables.lfts, function, &halves);
    let plan = plan::plan(
        input.scheme,
        PlanInput {
            before: input.before.clone(),
            surviving,
            after,
            initial: input.tables.clone(),
            target,
            old: input.old,
            policy: input.policy,
            sm: input.sm,
            stranded,
            old_layers: input.layers,
            new_layers: function.layers(),
            drain,
        },
    )?;
    Ok(plan)
}

/// The dependencies of the routing in force, as far as they survive: what must run empty.
fn retiring(input: &ChangeInput<'_>, surviving: &Fabric) -> Result<DrainGraph, ChangeError> {
    let lanes = Lanes::of_fabric(&input.before).all;
    let graph =
        ChannelGraph::new(&input.before, surviving, &input.tables, input.old, lanes, &[]).map_err(ChangeError::Old)?;
    Ok(DrainGraph::new(surviving, graph.outputs().iter().cloned().collect(), graph.sources())?)
}
