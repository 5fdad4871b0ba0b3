//! Reports for people: one screen of text for each kind of result. Values in, text out; no logic, no I/O.

mod accounting;
mod adversary;
mod audit;
mod audit_whole;
mod campaign;
mod compare;
mod cut_off;
mod devices;
mod later;
mod lids;
mod manager;
mod offered;
mod page;
mod plan;
mod quantity;
mod reproduction;
mod routing;
mod run;
mod screen;
mod series;
mod serve;
mod simulation;
mod sources;
mod subnets;
mod tables_json;
mod unfinished;
mod what_if;
mod worst;

pub use accounting::accounting;
pub use audit::{audit, audit_drawing};
pub use campaign::campaign;
pub use compare::comparison;
pub use lids::{LidCount, LidReport, PortNeed, lids};
pub use manager::{
    change_beside, change_done, change_sentence, is_under_way, manager_event, manager_facts, manager_line,
    manager_missing, manager_status,
};
pub use page::{
    LivePage, Origin, audit_page, live_files, plan_page, reproduction_page, route_page, simulation_page, what_if_page,
};
pub use plan::{CheckReport, Judgement, PlanFacts, PlanReport, Refused, check, plan, witnesses};
pub use quantity::{count, counted, duration, percent};
pub use reproduction::reproduction;
pub use routing::{RouteFacts, RouteReport, SubnetRoute, engines, route};
pub use series::{RUN_FILES, run_csv};
pub use serve::served;
pub use simulation::{AutoInstead, auto_instead, simulation};
pub use tables_json::tables_json;
pub use what_if::{LossReport, WHAT_IF_SCHEMA, WhatIfReport, chosen_pairs, what_if, what_if_csv};
pub use worst::WorstFacts;
