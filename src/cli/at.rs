//! The times of events that options name: `--at` applies to the options after it.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use reconfig::scenario::EventTime;
use std::collections::BTreeMap;

/// The options that name removed and added elements, by their identifiers.
const NAMING: [&str; 8] = [
    "remove_switch",
    "remove_host",
    "remove_chassis",
    "remove_link",
    "add_switch",
    "add_link",
    "add_host",
    "move_cable",
];

/// States of a change that `--at` takes (`state-machines/change.yaml`).
const STATES: [&str; 15] = [
    "splitting",
    "flushing",
    "installing",
    "swapping",
    "moving",
    "draining",
    "restoring",
    "stopping",
    "starting",
    "rewriting",
    "vacating",
    "calling-off",
    "called-off",
    "cut-short",
    "completed",
];

/// The places of `--at` among the options of a command line.
#[derive(Clone, Debug, Default)]
pub(super) struct AtArguments {
    /// By place, in order.
    times: Vec<(usize, EventTime)>,
    /// The places of each naming option's values.
    named: BTreeMap<&'static str, Vec<usize>>,
}

impl AtArguments {
    /// The times, in the order given: what the options behind the first one name happens at the first time, and so on.
    pub(super) fn times(&self) -> impl Iterator<Item = EventTime> {
        self.times.iter().map(|(_, time)| *time)
    }

    /// How many `--at` stand before a value of an option: 0 for what happens at once.
    pub(super) fn group(&self, option: &str, rank: usize) -> usize {
        let place = self.named.get(option).and_then(|places| places.get(rank)).copied().unwrap_or(0);
        self.times.iter().filter(|(at, _)| *at < place).count()
    }
}

impl Args for AtArguments {
    fn augment_args(command: Command) -> Command {
        let at = Arg::new("at").long("at").value_name("US|STATE").action(ArgAction::Append).value_parser(time).help(
            "Delay the events named by the options that follow until this many microseconds after the first event, or until \
                 the change first enters this state (splitting, installing, draining …). They are not announced",
        );
        command.arg(at)
    }

    fn augment_args_for_update(command: Command) -> Command {
        AtArguments::augment_args(command)
    }
}

impl FromArgMatches for AtArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let places = |option: &str| matches.indices_of(option).map_or_else(Vec::new, Iterator::collect);
        let times = matches.get_many::<EventTime>("at").into_iter().flatten().copied();
        let times = places("at").into_iter().zip(times).collect();
        let named = NAMING.into_iter().map(|option| (option, places(option))).collect();
        Ok(AtArguments { times, named })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = AtArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

fn time(text: &str) -> Result<EventTime, String> {
    if let Some(state) = STATES.into_iter().find(|state| *state == text) {
        return Ok(EventTime::Entering(state));
    }
    let us: f64 = text.parse().ok().filter(|us| (0.0..=60_000_000.0).contains(us)).ok_or_else(|| {
        format!("expected microseconds (60000000 at most), or a state of the change: {}", STATES.join(", "))
    })?;
    Ok(EventTime::AfterNs((us * 1e3) as u64))
}
