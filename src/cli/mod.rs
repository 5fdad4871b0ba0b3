//! The command line: parses the arguments, interprets them, and runs the command. It holds no logic of its own: each
//! command is one file, which calls the library and shows the result.
//!
//! A command returns an `Answer` or a `Failure`, which together determine the exit code: 0 yes or done, 1 the answer is
//! no, 2 wrong usage or unreadable input, 3 the work could not be carried out. Results go to standard output,
//! everything else to standard error; a reader that closes the pipe early ends the output, not the run. To add a
//! command: a file with its arguments and a `run`, a variant of `Command`, a line in `dispatch`.

mod addition;
mod at;
mod audit;
mod campaign;
mod change;
mod check;
mod choice;
mod clobber;
mod completions;
mod element;
mod events;
mod evidence;
mod fabric;
mod input;
mod journal;
mod keys;
mod lids;
mod log;
mod man;
mod manager;
mod outcome;
mod output;
mod page;
mod permutation;
mod plan;
mod port;
mod progress;
mod removal;
mod reproduce;
mod rescue;
mod resolve;
mod route;
mod schema;
mod serve;
mod simulate;
mod sm;
mod status;
mod stderr;
mod usage;
mod watch;
mod what_if;

use clap::{Args, ColorChoice, Parser, Subcommand};
use outcome::{Answer, Failure};
use reconfig::fabric::format::Tolerance;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  reconfig simulate --remove-root fabric.ibnetdiscover
  reconfig plan before.ibnetdiscover after.ibnetdiscover -o change.plan
  reconfig what-if fabric.ibnetdiscover
  reconfig check change.plan
  reconfig audit opensm-subnet.lst --fdbs opensm.fdbs
  reconfig route fabric.ibnetdiscover --engine up-down -o routed/
  reconfig lids fabric.ibnetdiscover --engine shortest-widest --compare
  reconfig reproduce seed-002 --table 1 --fabrics 2
  reconfig fabric show fabric.ibnetdiscover
  reconfig fabric generate fat-tree:4,2 -o fat-tree-4-2.ibnetdiscover
  reconfig completions bash > ~/.local/share/bash-completion/completions/reconfig
  reconfig man | man -l -

Exit codes: 0 yes or done, 1 the answer is no, 2 wrong usage or unreadable input, 3 the work could not be carried out.
The file name `-` means standard input, or standard output if it is written. An option that would overwrite an input is refused.
RECONFIG_LOG filters the log (for example `reconfig::sim=debug`).
RECONFIG_MAX_INPUT is the size limit for input files, in MiB [default: 1024].";

/// Changes the routing of a running InfiniBand subnet without stopping traffic.
#[derive(Debug, Parser)]
#[command(name = "reconfig", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Log more on standard error: -v events, -vv details, -vvv everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Options of every command that reads a fabric file.
#[derive(Clone, Copy, Default, Debug, Args)]
#[command(next_help_heading = "Reading fabrics")]
struct FabricReading {
    /// Refuse a fabric file that must be repaired to be read (a LID of 65535, a prompt, a link reported by one end
    /// only).
    #[arg(long, conflicts_with = "partial")]
    strict: bool,
    /// Accept an incomplete fabric file: skip unreadable parts, and describe a node that has no section by what its
    /// neighbours report.
    #[arg(long)]
    partial: bool,
    /// Node names to use instead of the descriptions in a fabric file: a node-name-map (0xGUID "NAME" per line), or the
    /// output of ibswitches or ibhosts.
    #[arg(long, value_name = "FILE", value_parser = kept_path)]
    names: Option<&'static Path>,
    /// Folder of the system files (IBNL) that an ibdm topology needs [default: the topology's folder].
    #[arg(long, value_name = "FOLDER", value_parser = kept_path)]
    systems: Option<&'static Path>,
}

/// The options of every command, and those of commands that read fabrics.
#[derive(Clone, Copy, Debug)]
struct Common {
    json: bool,
    reading: FabricReading,
}

impl Global {
    /// For a command that reads no fabric.
    fn alone(self) -> Common {
        self.with(FabricReading::default())
    }

    /// For a command that reads fabrics with these options.
    fn with(self, reading: FabricReading) -> Common {
        Common { json: self.json, reading }
    }
}

/// A path for as long as the process runs, so that the options of every command stay small values.
fn kept_path(text: &str) -> Result<&'static Path, std::convert::Infallible> {
    Ok(Path::new(&*Box::leak(text.to_string().into_boxed_str())))
}

impl Common {
    /// How much damage a fabric file may have.
    fn tolerance(self) -> Tolerance {
        match (self.reading.strict, self.reading.partial) {
            (true, _) => Tolerance::Strict,
            (_, true) => Tolerance::Partial,
            _ => Tolerance::Repair,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate a change of a fabric under traffic, and report the fate of every packet.
    Simulate(Box<simulate::Arguments>),
    /// Plan the change between two captures of a fabric, and prove that no moment of it can deadlock.
    Plan(Box<plan::Arguments>),
    /// For each switch and cable, report the effect of its loss: who is cut off, and which proved change restores the
    /// rest.
    WhatIf(Box<what_if::Arguments>),
    /// Run many simulations from one description, and summarise them with confidence intervals.
    Campaign(campaign::Arguments),
    /// Verify a plan again, from its file alone.
    Check(check::Arguments),
    /// Judge the routing of a running subnet: is it free of deadlock, loops and black holes?
    Audit(Box<audit::Arguments>),
    /// Route a fabric with an engine, prove the routing, and write the tables in OpenSM's formats.
    Route(Box<route::Arguments>),
    /// Count the LIDs that an engine's routing needs, and assign them.
    Lids(Box<lids::Arguments>),
    /// Manage a real subnet: bring it up, and change its routing without stopping traffic.
    Sm(Box<sm::Arguments>),
    /// Serve a simulated fabric, with traffic, to OpenSM and every tool that runs on ibsim.
    Serve(Box<serve::Arguments>),
    /// Describe, compare, convert and generate topologies.
    #[command(subcommand)]
    Fabric(fabric::FabricCommand),
    /// Reproduce the tables of papers, and compare the figures.
    Reproduce(reproduce::Arguments),
    /// Show the state of the local manager.
    Status(status::Arguments),
    /// Watch the local manager on one screen: its state, the change in progress, recent events.
    Watch(watch::Arguments),
    /// Make the local manager drain a switch or a cable before it is removed.
    Change(change::Arguments),
    /// Follow the events of the local manager.
    Events(events::Arguments),
    /// Read a manager's journal of its changes.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Find hosts that a manager left unable to send when it died during a change, and let them send again.
    Rescue(rescue::Arguments),
    /// Find the path to a host by its address, in this subnet or beyond a router.
    Resolve(resolve::Arguments),
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
    /// Print the JSON Schema of what a command prints with --json.
    Schema(schema::Arguments),
    /// Write manual pages, one for each command.
    Man(man::Arguments),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => outcome::exit_code(run(arguments)),
        Err(error) => {
            usage::print(&error);
            if error.use_stderr() { outcome::USAGE.into() } else { ExitCode::SUCCESS }
        }
    }
}

fn run(arguments: Arguments) -> Result<Answer, Failure> {
    output::choose_colour(arguments.global.color);
    // A command that runs indefinitely logs its events by default.
    let (daemon, json) = match &arguments.command {
        Command::Sm(arguments) => (1, arguments.logs_json()),
        _ => (0, false),
    };
    let reload = log::start(arguments.global.verbose.saturating_add(daemon), json)?;
    dispatch(arguments.command, arguments.global, reload)
}

fn dispatch(command: Command, global: Global, reload: log::Reload) -> Result<Answer, Failure> {
    match command {
        Command::Simulate(arguments) => simulate::run(&arguments, global.with(arguments.reading)),
        Command::Plan(arguments) => plan::run(&arguments, global.with(arguments.reading)),
        Command::Campaign(arguments) => campaign::run(&arguments, global.with(arguments.reading)),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::WhatIf(arguments) => what_if::run(&arguments, global.with(arguments.reading)),
        Command::Check(arguments) => check::run(&arguments, global.alone()),
        Command::Audit(arguments) => audit::run(&arguments, global.with(arguments.reading)),
        Command::Route(arguments) => route::run(&arguments, global.with(arguments.reading)),
        Command::Lids(arguments) => lids::run(&arguments, global.with(arguments.reading)),
        Command::Sm(arguments) => sm::run(&arguments, global.alone(), reload),
        Command::Serve(arguments) => serve::run(&arguments, global.with(arguments.reading)),
        Command::Fabric(command) => fabric::run(command, global),
        Command::Reproduce(arguments) => reproduce::run(&arguments, global.alone()),
        Command::Status(arguments) => status::run(&arguments, global.alone()),
        Command::Change(arguments) => change::run(&arguments, global.alone()),
        Command::Events(arguments) => events::run(&arguments, global.alone()),
        Command::Journal(command) => journal::run(&command, global.alone()),
        Command::Rescue(arguments) => rescue::run(&arguments, global.alone()),
        Command::Resolve(arguments) => resolve::run(&arguments, global.alone()),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_contradict_nowhere() {
        Arguments::command().debug_assert();
    }
}
