//! A simulated fabric and a driver in one run: what is changed, how, under which traffic, and what came of it.
//!
//! On entry a [`Scenario`]: a fabric as captured and everything that a user may set. On return a [`SimulationReport`], or
//! a [`ScenarioError`] where the run could not begin. The stages: LIDs and routing function R; a simulation with R loaded
//! as found running; traffic under R; the failure or the announced change, and the driver's reaction through MADs; traffic
//! under R′; the planned departure; the end of all traffic, so that every packet has met its fate. The same scenario gives
//! the same report. Lacks on purpose: text for people (`report`), files.

mod accounting;
mod across;
pub mod adversary;
mod course;
mod engines;
mod error;
mod estimate;
mod foresight;
mod measures;
mod outcome;
mod run;
mod setting;
mod site;
mod stage;
mod steady;
mod summary;
mod time;
mod watch;

pub use crate::change::Departure;
pub use accounting::{Accounting, Line, accounting};
pub use across::{
    ACROSS_SCHEMA, AcrossChange, AcrossError, AcrossReport, AcrossScenario, AcrossSettings, ChangeIn, PortLoad,
    RelationReport, RouterPortReport, RouterReport, SubnetReport, WholeProof, run_across,
};
pub use engines::Engines;
pub use error::ScenarioError;
pub use outcome::{
    AdversaryReport, BusyLink, ChangeReport, Ending, FabricSize, Foreseen, Foresight, Latency, LinkLoads, Periods,
    PhaseReport, ProofReport, SCHEMA, Settings, SimulationReport, SmpReport, SourceReport, StuckReport, TrafficReport,
};
pub use run::{plan, run};
pub use setting::{Element, Scenario};
pub use stage::selection;
pub use steady::{SteadyReport, steady};
pub use watch::{Unwatched, Watch};
