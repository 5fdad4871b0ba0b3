//! A simulated fabric and its drivers in one run: a change, its method, the traffic, and the result.
//!
//! On entry: a [`Scenario`], a list of subnets as captured (usually one), with all settings of the user. On return: a
//! [`SimulationReport`], or a [`ScenarioError`] if the run could not begin. The steps: LIDs and routing function R of
//! each subnet; one simulation with R loaded as found running; traffic under R; the failure or the announced change,
//! and the reaction of the managers concerned, through MADs; traffic under R′; the planned departure; the end of all
//! traffic, so that every packet's fate is known. The same scenario gives the same report.
//!
//! Among several subnets the whole is proved before anything is written, at every moment of the change
//! ([`prove_across`](crate::verify::across::prove_across)). The manager of the subnet that changes drives its change
//! alone. If a router leaves, the managers of its subnets act at once, and all subnet administrations name other
//! routers from then on: before a planned change, or once a manager has noticed a sudden loss. Hosts learn of that at
//! once: the cost of cached paths is not modelled. Deliberately omitted: text for people and files; among several
//! subnets also newcomers, worst traffic and the adversary.

mod accounting;
mod acting;
pub mod adversary;
mod between;
mod cut_off;
mod elements;
mod engines;
mod error;
mod estimate;
mod event;
mod exchange;
mod foresight;
mod later;
mod load;
mod map;
mod measures;
mod outages;
mod outcome;
mod report;
mod run;
mod series;
mod setting;
mod setup;
mod standby;
mod steady;
mod subnet_setup;
mod time;
mod timeline;
mod watch;
mod witness;

pub use crate::change::Departure;
pub use crate::driver::ComputeTime;
pub use accounting::{Accounting, Line, PAPER_SMP_NS, PaperCounts, accounting};
pub use cut_off::CutOffPort;
pub use elements::{Element, Moves, MovesReport, ScenarioChange};
pub use engines::Engines;
pub use error::ScenarioError;
pub use estimate::USUAL_LOAD;
pub use event::{EventTime, LaterEvent};
pub use exchange::{ExchangeReport, HostMessage, SteadySubnets};
pub use outcome::{
    AdversaryReport, BetweenSettings, BinReport, BusyLink, ConnectionReport, DeviceReport, DisorderCause, Ending,
    EventReport, FabricMap, FabricSize, Fate, Foreseen, Foresight, HostLosses, Latency, LinkLoads, LongestOutage,
    ManagementReport, MapLink, MapNode, Marks, OutageReport, OvertakenReport, Periods, PhaseReport, PortLoad,
    ProofReport, RelationReport, RenumberedPort, RouterPortReport, RouterReport, SCHEMA, SeriesReport, Settings,
    SimulationReport, SmpReport, SourceReport, StuckReport, SubnetChange, SubnetReport, TakeoverChange, TakeoverReport,
    TrafficReport, WholeProof, is_saturated,
};
pub use run::{plan, prepared, run};
pub use setting::{Detection, Scenario, Standby};
pub use steady::{SteadyReport, steady};
pub use subnet_setup::selection;
pub use watch::{Unwatched, Watch};
pub use witness::Witnessed;
