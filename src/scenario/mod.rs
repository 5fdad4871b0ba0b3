//! A simulated fabric and drivers in one run: what is changed, how, under which traffic, and what came of it.
//!
//! On entry a [`Scenario`]: a list of subnets as captured, of which one is the usual case, and everything that a user may
//! set. On return a [`SimulationReport`], or a [`ScenarioError`] where the run could not begin. In order: LIDs and routing
//! function R of each subnet; one simulation with R loaded as found running; traffic under R; the failure or the announced
//! change, and the reaction of the managers that it concerns, through MADs; traffic under R′; the planned departure; the
//! end of all traffic, so that every packet has met its fate. The same scenario gives the same report.
//!
//! Among several subnets the whole is proved before anything is written, every moment of the change included
//! ([`prove_across`](crate::verify::across::prove_across)). A change in one subnet is driven by that subnet's manager
//! alone; where a router leaves, the managers of its subnets act at once, and all subnet administrations name other
//! routers from then on: before the change where it is planned, once a manager has noticed the loss where it is sudden.
//! Hosts learn of that at once: what a cache of paths costs is not modelled. Lacks on purpose: text for people, files;
//! among several subnets newcomers, worst traffic and the adversary.

mod accounting;
mod acting;
pub mod adversary;
mod between;
mod engines;
mod error;
mod estimate;
mod foresight;
mod load;
mod measures;
mod outcome;
mod run;
mod setting;
mod setup;
mod steady;
mod subnet_setup;
mod summary;
mod time;
mod timeline;
mod watch;

pub use crate::change::Departure;
pub use accounting::{Accounting, Line, accounting};
pub use engines::Engines;
pub use error::ScenarioError;
pub use outcome::{
    AdversaryReport, BetweenSettings, BusyLink, ChangeReport, Ending, FabricSize, Foreseen, Foresight, Latency,
    LinkLoads, Periods, PhaseReport, PortLoad, ProofReport, RelationReport, RouterPortReport, RouterReport, SCHEMA,
    Settings, SimulationReport, SmpReport, SourceReport, StuckReport, SubnetChange, SubnetReport, TrafficReport,
    WholeProof,
};
pub use run::{plan, run};
pub use setting::{Element, Scenario, ScenarioChange};
pub use steady::{SteadyReport, steady};
pub use subnet_setup::selection;
pub use watch::{Unwatched, Watch};
