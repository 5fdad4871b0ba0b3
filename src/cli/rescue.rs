//! `reconfig rescue`: finds fences that a dead manager left closed, and opens them, from any port.

use super::keys::MKeyArguments;
use super::outcome::{Answer, Failure};
use super::port::PortArguments;
use super::{Common, output};
use anyhow::anyhow;
use reconfig::ids::Sl;
use reconfig::sm::rescue::{ClosedSubnet, find_closed, open_closed};
use reconfig::subnet::{Manager, Timing};
use reconfig::transport::Transport;
use reconfig::transport::umad::{Umad, UmadRole};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A manager that dies during a change by scheme `double` may leave end ports that discard what their hosts send (VL 15). The next \
`reconfig sm` repairs such a subnet, which is the better remedy because its repair is proved. Use this command if another \
manager, or none, will manage the subnet. It works from any port, even while a manager runs. The effect of --clear is not proved: \
hosts may then send by the tables of a half-finished change.

Examples:
  reconfig rescue
  reconfig rescue --ca mlx5_0 --port 1 --clear

Exit codes: 0 nothing is closed, or everything was opened; 1 something is closed; 2 wrong usage; 3 the subnet could not be \
swept, or not everything was opened.")]
pub(super) struct Arguments {
    #[command(flatten)]
    port: PortArguments,
    /// Reopen the closed ports: map discarded service levels as most tables of the subnet do.
    #[arg(long)]
    clear: bool,
    /// Clear even if a manager claims to be master. That manager may have closed them itself, during a change.
    #[arg(long, requires = "clear")]
    force: bool,
    #[command(flatten)]
    m_key: MKeyArguments,
}

/// What was found, and done.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct RescueReport {
    schema: &'static str,
    /// The port of a manager that says it is master.
    master: Option<String>,
    /// Devices whose tables could not be read.
    unread: Vec<String>,
    closed: Vec<ClosedRow>,
    /// Whether they were opened.
    cleared: bool,
    /// What did not take its table.
    faults: Vec<String>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct ClosedRow {
    place: String,
    service_levels: Vec<Sl>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::undone(anyhow!(error).context("starting the event loop")))?;
    runtime.block_on(rescue(arguments, common))
}

async fn rescue(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let port = Umad::open(&arguments.port.options(UmadRole::Client)).map_err(Failure::undone)?;
    let timing = Timing { light_sweep_ns: None, ..Timing::default() };
    let mut manager = Manager::new(port.boxed(), timing, arguments.m_key.chosen()?);
    let found = find_closed(&mut manager).await.map_err(Failure::undone)?;
    let mut report = report(&found);
    if arguments.clear && !found.closed.is_empty() {
        if let Some(master) = found.master.as_ref().filter(|_| !arguments.force) {
            show(&report, common)?;
            return Err(Failure::undone(anyhow!(
                "nothing is cleared: a subnet manager at {master} says that it is master, and may be changing the routing; \
                 wait until it has ended, or clear nevertheless (--force)"
            )));
        }
        if found.usual.is_none() {
            show(&report, common)?;
            return Err(Failure::undone(anyhow!(
                "nothing is cleared: every table discards, so that none shows the lanes"
            )));
        }
        report.faults = open_closed(&mut manager, &found).await.map_err(Failure::undone)?;
        report.cleared = report.faults.is_empty();
    }
    show(&report, common)?;
    match report.faults.first() {
        Some(first) => Err(Failure::undone(anyhow!("{} tables were not taken, first {first}", report.faults.len()))),
        None => Ok((report.closed.is_empty() || report.cleared).into()),
    }
}

fn report(found: &ClosedSubnet) -> RescueReport {
    let row = |table: &reconfig::sm::rescue::ClosedTable| ClosedRow {
        place: table.place.clone(),
        service_levels: table.levels.clone(),
    };
    RescueReport {
        schema: "reconfig.rescue/1",
        master: found.master.clone(),
        unread: found.silent.clone(),
        closed: found.closed.iter().map(row).collect(),
        cleared: false,
        faults: Vec::new(),
    }
}

fn show(report: &RescueReport, common: Common) -> Result<(), Failure> {
    if common.json {
        return output::print_json(report);
    }
    let mut text = String::new();
    for row in &report.closed {
        let levels: Vec<String> = row.service_levels.iter().map(ToString::to_string).collect();
        text += &format!("{}: discards SL {}\n", row.place, levels.join(", "));
    }
    for device in &report.unread {
        text += &format!("{device}: its tables could not be read\n");
    }
    if let Some(master) = &report.master {
        text += &format!("{master}: a subnet manager says that it is master\n");
    }
    text += &match (report.closed.len(), report.cleared) {
        (0, _) => "No table maps a service level of data to VL 15, which would discard it.\n".to_string(),
        (count, true) => format!(
            "{count} tables were opened. Nothing is proved of what hosts send now: let a manager route the \
             subnet again (`reconfig sm`).\n"
        ),
        (count, false) => format!("{count} tables discard service levels of data; --clear opens them.\n"),
    };
    output::print(&text)
}
