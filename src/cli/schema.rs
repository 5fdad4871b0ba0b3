//! `reconfig schema`: the JSON Schemas of what commands print with `--json`. They are the files in docs/schemas; a test
//! makes them from the types that are printed, and compares. The program carries them compressed, by `build.rs`.

use super::outcome::{Answer, Failure};
use super::output;
use anyhow::anyhow;
use flate2::read::ZlibDecoder;

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

/// Names and content of the files with these names, compressed but in tests.
#[cfg(not(test))]
macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.z")))),*] };
}

#[cfg(test)]
macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_bytes!(concat!("../../docs/schemas/", $name, ".json")))),*] };
}

/// Every schema, by its name. What is not one object for each run is named by its option or its content.
const SCHEMAS: [(&str, &[u8]); 21] = files![
    "audit",
    "campaign",
    "change",
    "check",
    "events",
    "fabric-diff",
    "fabric-show",
    "journal-show",
    "lids",
    "plan",
    "reproduce",
    "rescue",
    "resolve",
    "route",
    "route-list",
    "serve",
    "simulate",
    "simulate-accounting",
    "simulate-compare",
    "status",
    "what-if",
];

pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let names = || SCHEMAS.map(|(name, _)| name);
    match &arguments.name {
        None => output::print(&(names().join("\n") + "\n"))?,
        Some(wanted) => {
            let found = SCHEMAS.iter().find(|(name, _)| name == wanted);
            let (_, content) = found.ok_or_else(|| {
                Failure::input(anyhow!("`{wanted}` names no schema: choose one of {}", names().join(", ")))
            })?;
            output::print(&text(content).map_err(Failure::undone)?)?;
        }
    }
    Ok(Answer::Yes)
}

fn text(content: &[u8]) -> std::io::Result<String> {
    if cfg!(test) { std::io::read_to_string(content) } else { std::io::read_to_string(ZlibDecoder::new(content)) }
}

#[cfg(test)]
mod tests {
    use super::super::{campaign, fabric, journal, reproduce, rescue, resolve, route, simulate};
    use super::SCHEMAS;
    use crate::report;
    use reconfig::audit::AuditReport;
    use reconfig::fabric::subnets::summary::SubnetsSummary;
    use reconfig::frontend::control::{ChangeDone, ControlEvent, Status};
    use reconfig::serve::ServeStatus;
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use std::path::Path;

    /// The schema of what is written, not of what may be read: a field that is always there is required.
    fn made<T: JsonSchema>() -> String {
        let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
        serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
    }

    /// After a change of a report, `UPDATE_EXPECT=1` has the files written anew.
    #[test]
    fn the_files_are_what_the_types_make() {
        let made: [String; 21] = [
            made::<AuditReport>(),
            made::<campaign::CampaignDocument<'static>>(),
            made::<ChangeDone>(),
            made::<report::CheckReport>(),
            made::<ControlEvent>(),
            made::<fabric::DifferenceReport>(),
            made::<SubnetsSummary>(),
            made::<journal::JournalReport<'static>>(),
            made::<report::LidReport>(),
            made::<report::PlanReport>(),
            made::<reproduce::StudyDocument<'static>>(),
            made::<rescue::RescueReport>(),
            made::<resolve::ResolveReport>(),
            made::<report::RouteReport>(),
            made::<Vec<route::ListedEngine>>(),
            made::<ServeStatus>(),
            made::<simulate::Beside<'static>>(),
            made::<simulate::Accounted<'static>>(),
            made::<simulate::Comparison<'static>>(),
            made::<Status>(),
            made::<report::WhatIfReport>(),
        ];
        for ((name, kept), made) in SCHEMAS.iter().zip(&made) {
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
                std::fs::write(file, made).expect("written");
            } else {
                assert!(
                    *kept == made.as_bytes(),
                    "docs/schemas/{name}.json is not what the types make: UPDATE_EXPECT=1 writes it"
                );
            }
        }
    }
}
