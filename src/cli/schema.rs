//! `reconfig schema`: the JSON Schemas of what commands print with `--json`. They are the files in docs/schemas; a test
//! makes them from the types that are printed, and compares. The program carries them compressed, by `build.rs`.

use super::outcome::{Answer, Failure};
use super::output;
use anyhow::anyhow;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig schema
  reconfig schema simulate > simulate.json

Exit codes: 0 done, 2 no such schema.")]
pub(super) struct Arguments {
    /// The command, or the command and the form of its answer; without a name, all are listed.
    name: Option<String>,
}

/// Every schema, by its name. What is not one object for each run is named by its option or its content.
const NAMES: [&str; 22] = [
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
    "simulate-run",
    "status",
    "what-if",
];

pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    match arguments.name.as_deref() {
        None => output::print(&(NAMES.join("\n") + "\n"))?,
        Some(wanted) if NAMES.contains(&wanted) => output::print(&text(wanted).map_err(Failure::undone)?)?,
        Some(wanted) => {
            let known = NAMES.join(", ");
            return Err(Failure::input(anyhow!("`{wanted}` names no schema: choose one of {known}")));
        }
    }
    Ok(Answer::Yes)
}

/// A schema as its file has it.
#[cfg(not(test))]
fn text(name: &str) -> anyhow::Result<String> {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.z"));
    let all = std::io::read_to_string(flate2::read::ZlibDecoder::new(packed))?;
    let own = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).expect("every schema is packed");
    Ok(serde_json::to_string_pretty(&serde_json::from_str::<schemars::Schema>(own)?)? + "\n")
}

#[cfg(test)]
fn text(name: &str) -> anyhow::Result<String> {
    Ok(std::fs::read_to_string(format!("{}/docs/schemas/{name}.json", env!("CARGO_MANIFEST_DIR")))?)
}

#[cfg(test)]
mod tests {
    use super::super::{campaign, fabric, journal, reproduce, rescue, resolve, route, simulate};
    use super::{NAMES, text};
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
        let made: [String; 22] = [
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
            made::<simulate::FolderOf<'static>>(),
            made::<Status>(),
            made::<report::WhatIfReport>(),
        ];
        for (name, made) in NAMES.iter().zip(&made) {
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
                std::fs::write(file, made).expect("written");
            } else {
                assert!(
                    text(name).expect("the file") == *made,
                    "docs/schemas/{name}.json is not what the types make: UPDATE_EXPECT=1 writes it"
                );
            }
        }
    }
}
