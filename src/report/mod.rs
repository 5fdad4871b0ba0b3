//! What people see of a run: one screen of text for each kind of result. Values in, text out; no logic, no I/O.

mod accounting;
mod compare;
mod plan;
mod quantity;
mod screen;
mod simulation;

pub use accounting::accounting;
pub use compare::comparison;
pub use plan::{CheckReport, DrainFacts, Judgement, LaneFacts, PlanFacts, PlanReport, Refused, WaveFacts, check, plan};
pub use quantity::{count, duration, percent};
pub use simulation::simulation;
