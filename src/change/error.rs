//! Why a change cannot be made, in words for people.

use super::ONE_WAVE;
use crate::ids::Lid;
use crate::lid::TooFewLids;
use crate::plan::{CyclicDrain, Plan, PlanError, Scheme};
use crate::repair::RepairError;
use crate::routing::RouteError;
use crate::verify::Refusal;
use crate::vet::Objection;

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// The SM's own port would be cut off.
    #[error("the SM's port {port} is not linked after the change: the SM must be on a host that stays")]
    SmLeaves {
        /// The port.
        port: String,
    },
    /// Something was lost and something has come.
    #[error(
        "the cable {lost} was lost and the cable {gained} has come since the routing in force was made: make the change for the loss first, \
         then the one for what has come"
    )]
    LostAndGained {
        /// A cable that was lost, by its ends.
        lost: String,
        /// A cable that has come, by its ends.
        gained: String,
    },
    /// What has come has fewer data VLs than are in use.
    #[error(
        "{port} has come with {data_vls} data VLs, and {in_use} are in use on every link: replace it, or bring the subnet \
         up anew with fewer"
    )]
    NarrowNewcomer {
        /// An end of the cable.
        port: String,
        /// Data VLs there.
        data_vls: u8,
        /// Data VLs that the SL-to-VL tables in force use.
        in_use: usize,
    },
    /// The routing in force is not safe by itself.
    #[error("the routing in force cannot be proved: {0}")]
    Old(Refusal),
    /// The engine failed.
    #[error("routing the fabric after the change: {0}")]
    Route(#[from] RouteError),
    /// A port has too few LIDs for the new routing.
    #[error("realising the new routing: {0}")]
    Lids(#[from] TooFewLids),
    /// Forwarding entries alone do not do.
    #[error("repairing the routing in force: {0}")]
    Repair(#[from] RepairError),
    /// Forwarding entries alone do not give all rows a way.
    #[error(
        "repairing the routing in force: {rows} rows (switch and LID) are left without a way that is free of deadlock \
         beside the others, among them {switch} to LID {lid}: use scheme double, which gives them other LIDs and service \
         levels"
    )]
    Unrepaired {
        /// Rows.
        rows: usize,
        /// The switch of one.
        switch: String,
        /// Its LID.
        lid: Lid,
    },
    /// Neither a repair nor the full re-route in one wave does.
    #[error("{repair}; and the full re-route in one wave was refused: {whole}")]
    NeitherInPlace {
        /// Why the repair does not.
        repair: Box<ChangeError>,
        /// Why the re-route does not.
        whole: Box<ChangeError>,
    },
    /// A plan that is proved, but for answers of the SM.
    #[error("the SM's answers to base LIDs would not be proved")]
    AnswersUnproved,
    /// Opening service levels alone does not give all rows a way.
    #[error("some rows (switch and LID) lead nowhere, and are to be given ways first")]
    Incomplete,
    /// A precondition of the scheme does not hold.
    #[error("planning the change: {0}")]
    Plan(#[from] PlanError),
    /// The new routing is not safe by itself.
    #[error("the new routing cannot be proved: {0}")]
    New(Refusal),
    /// The SM and an end port have no paths there and back on which a request and its answer may go.
    #[error(
        "the counters of {port} cannot be read while the old lanes drain: a reply goes on the service level of its \
         request, and engine `{engine}` puts the paths from the SM's port to it and back on different virtual layers; \
         choose another drain observer than conservation, or an engine of one layer"
    )]
    Unaskable {
        /// The end port.
        port: String,
        /// The engine that computed the new routing.
        engine: &'static str,
    },
    /// The SM is on port 0 of a switch, which has no counters by service level.
    #[error(
        "counters cannot show when the old lanes have drained: the SM is on {port}, which does not count data by service \
         level, and what it sends and receives counts at the end ports alone; choose another drain observer than \
         conservation, or run the SM on a port of a channel adapter"
    )]
    Uncounted {
        /// The SM's port.
        port: String,
    },
    /// A moment of the change is not safe.
    #[error("the plan was refused: {refusal}")]
    Refused {
        /// The plan.
        plan: Box<Plan>,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// No scheme does.
    #[error("scheme {}: {ordered}; scheme {}: {double}", Scheme::Ordered, Scheme::Double)]
    NoScheme {
        /// Why scheme `ordered` does not.
        ordered: Box<ChangeError>,
        /// Why scheme `double` does not.
        double: Box<ChangeError>,
    },
    /// A judge other than the prover objects to a plan.
    #[error("the plan may not run: {objection}")]
    Objected {
        /// The plan.
        plan: Box<Plan>,
        /// The objection.
        objection: Objection,
    },
}

impl ChangeError {
    /// The error; where several schemes were tried, a line for each, and what would help, if that is known.
    pub fn in_lines(&self) -> String {
        let ChangeError::NoScheme { ordered, double } = self else { return self.to_string() };
        let helps = match &**double {
            ChangeError::Plan(PlanError::LmcZero { .. }) => {
                "\nWhat would help: LMC 1 or more, which gives scheme double its second half of LIDs"
            }
            ChangeError::Plan(PlanError::OneDataVl { .. }) => {
                "\nWhat would help: two data VLs or more on every link, which scheme double needs"
            }
            _ => "",
        };
        format!(
            "no scheme makes this change\nscheme {}: {ordered}\nscheme {}: {double}{helps}",
            Scheme::Ordered,
            Scheme::Double
        )
    }

    /// Each refusal of the prover that the error consists of, with what was refused, and the plan if there is one.
    pub fn refusals(&self) -> Vec<(String, Option<&Plan>, &Refusal)> {
        match self {
            ChangeError::Old(refusal) => vec![("the routing in force".to_string(), None, refusal)],
            ChangeError::New(refusal) => vec![("the new routing".to_string(), None, refusal)],
            ChangeError::Refused { plan, refusal } => {
                vec![(format!("scheme {}", plan.scheme()), Some(plan), refusal)]
            }
            ChangeError::NeitherInPlace { repair, whole } => {
                let named = |(_, plan, refusal)| (format!("scheme {}, {ONE_WAVE}", Scheme::Ordered), plan, refusal);
                repair.refusals().into_iter().chain(whole.refusals().into_iter().map(named)).collect()
            }
            ChangeError::NoScheme { ordered, double } => {
                [ordered, double].into_iter().flat_map(|error| error.refusals()).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn objected((plan, objection): (Plan, Objection)) -> ChangeError {
        let plan = Box::new(plan);
        match objection {
            Objection::Refused(refusal) => ChangeError::Refused { plan, refusal },
            objection => ChangeError::Objected { plan, objection },
        }
    }
}

impl From<CyclicDrain> for ChangeError {
    fn from(cycle: CyclicDrain) -> ChangeError {
        ChangeError::Plan(cycle.into())
    }
}
