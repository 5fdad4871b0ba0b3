//! `reconfig schema`: the JSON Schemas of what commands print with `--json`, made from the types that are printed. A copy
//! of each stands in docs/schemas.

use super::outcome::{Answer, Failure};
use super::{campaign, fabric, journal, output, reproduce, rescue, resolve, route, simulate};
use crate::report;
use anyhow::anyhow;
use reconfig::audit::AuditReport;
use reconfig::fabric::subnets::summary::SubnetsSummary;
use reconfig::serve::ServeStatus;
use reconfig::sm::control::{ChangeDone, ControlEvent, Status};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig schema
  reconfig schema simulate > simulate.json

Exit codes: 0 done, 2 no such schema.")]
pub(super) struct Arguments {
    /// The command, or the command and the form of its answer: one of those that are listed if none is given.
    name: Option<String>,
}

/// A name, and what makes its schema.
type Entry = (&'static str, fn() -> Schema);

/// Every schema. What is not one object for each run is named by its option or its content.
const SCHEMAS: [Entry; 22] = [
    ("audit", schema_of::<AuditReport>),
    ("campaign", schema_of::<campaign::CampaignDocument<'static>>),
    ("change", schema_of::<ChangeDone>),
    ("check", schema_of::<report::CheckReport>),
    ("events", schema_of::<ControlEvent>),
    ("fabric-diff", schema_of::<fabric::DifferenceReport>),
    ("fabric-show", schema_of::<fabric::ShownFabric>),
    ("fabric-show-subnets", schema_of::<SubnetsSummary>),
    ("journal-show", schema_of::<journal::JournalReport<'static>>),
    ("lids", schema_of::<report::LidReport>),
    ("plan", schema_of::<report::PlanReport>),
    ("reproduce", schema_of::<reproduce::StudyDocument<'static>>),
    ("rescue", schema_of::<rescue::RescueReport>),
    ("resolve", schema_of::<resolve::ResolveReport>),
    ("route", schema_of::<report::RouteObject<'static>>),
    ("route-list", schema_of::<Vec<route::ListedEngine>>),
    ("serve", schema_of::<ServeStatus>),
    ("simulate", schema_of::<simulate::Beside<'static>>),
    ("simulate-accounting", schema_of::<simulate::Accounted<'static>>),
    ("simulate-compare", schema_of::<simulate::Comparison<'static>>),
    ("status", schema_of::<Status>),
    ("what-if", schema_of::<report::WhatIfReport>),
];

/// The schema of what is written, not of what may be read: a field that is always there is required.
fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let names = || SCHEMAS.map(|(name, _)| name);
    match &arguments.name {
        None => output::print(&(names().join("\n") + "\n"))?,
        Some(wanted) => {
            let found = SCHEMAS.iter().find(|(name, _)| name == wanted);
            let (_, make) = found.ok_or_else(|| {
                Failure::input(anyhow!("`{wanted}` names no schema: choose one of {}", names().join(", ")))
            })?;
            output::print_json(&make())?;
        }
    }
    Ok(Answer::Yes)
}
