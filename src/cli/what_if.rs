//! `reconfig what-if`: the effect of losing each switch and cable.

use super::choice::{
    self, DeviceArguments, EngineArguments, FromArguments, PartitionArguments, RateArguments, ReservedArguments,
    TurnBackArguments,
};
use super::element::find_node;
use super::input::read_fabric;
use super::outcome::{Answer, Failure};
use super::output::{Batch, Screen, check_places};
use super::page::{Page, shell};
use super::progress::{Counted, Interrupt, Waiting};
use super::stderr::remark;
use super::{Common, FabricReading};
use crate::report::{self, LossReport, WhatIfReport};
use anyhow::anyhow;
use reconfig::change::{self, AfterLoss, Captures, CapturesError, Departure, Judges, Loss, Pace, WhatIf};
use reconfig::fabric::{Fabric, NodeId, NodeRole, PortId};
use reconfig::plan::Scheme;
use reconfig::routing::MANAGER_ENGINES;
use reconfig::scenario::{DeviceReport, FabricSize};
use reconfig::subnet::DeviceProfile;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// Limit on the pairs that are looked at.
const MOST_PAIRS: usize = 1_000_000;
/// How many are looked at where there are more than that, unless changes are to be planned for more of them.
const CHOSEN_PAIRS: usize = 10_000;

/// Losses that the table lists without `--all`.
const LISTED: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each loss is sudden. A pair of an end port and a LID is out if it has no path until the change that answers the loss. \
It is out while the manager finds the loss, while it plans the change, and until the wave that serves it has landed: \
`mean outage` and `last back` are counted from the first write. The line `time` shows how long planning takes on this \
machine; a manager that foresees losses (`sm --foresee`) has planned beforehand. The worst losses are listed first: \
those that no proved change answers, then those that cut off most end ports, then those by which pairs are out for \
longest, summed over pairs. Changes are planned in the order of an estimate: first for the losses that put pairs out, \
by end ports cut off, then by pairs times blocks of forwarding tables that lead them to what is lost. --worst limits \
their number; some of the others may do more harm than those planned. With --pairs and more than 1,000,000 pairs, \
--worst looks only at pairs of the switches and cables whose loss alone the same estimate ranks first: 141 of them, \
which make up to 9,870 pairs, or more if --worst asks for more pairs. On fabrics of more than 100,000 rows (switches \
times owners of LIDs) a change is the one that the manager makes first, which brings hosts back at once. Each change \
is proved, and not checked a second time, since none is run: --check has the independent checker and the lint judge \
them too. An interrupt (Ctrl-C) ends planning, and the table shows what was planned by then. Losses for which no \
change was planned are listed last, because the duration of their outage is unknown.

Examples:
  reconfig what-if fabric.ibnetdiscover
  reconfig what-if opensm-subnet.lst --from-fdbs opensm.fdbs --devices standard
  reconfig what-if fabric.ibnetdiscover --csv losses.csv
  reconfig what-if large.ibnetdiscover --worst 100
  reconfig what-if fabric.ibnetdiscover --json | jq '.losses[] | select(.change.scheme == \"double\") | .dies'

Exit codes: 0 a proved change answers every loss (with --worst, every loss for which one was planned); 1 some loss has no proved change; 2 wrong usage or unreadable input; 3 the routing in force \
cannot be proved, a file cannot be written, or planning was interrupted; 130 it was interrupted again, or afterwards.")]
#[command(mut_arg("devices", |option| choice::by_default(option, "standard")))]
#[command(mut_arg("drain", |option| choice::by_default(option, "lifetime; with --devices agents token")))]
#[command(mut_arg("sources", |option| choice::by_default(option, "fence; with --devices agents told")))]
#[command(mut_arg("window", |option| choice::by_default(option, "16; with --devices agents one per device")))]
#[command(mut_arg("engine", |option| choice::by_default(option, &choice::managers_engines())))]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md; `-` is standard input.
    fabric: PathBuf,
    /// Lose every pair of switches and cables at once, instead of each alone; a switch and one of its own cables are no
    /// pair. More than 1,000,000 pairs need --worst.
    #[arg(long)]
    pairs: bool,
    /// Lose every cable between switches, not just the busiest between each two.
    #[arg(long)]
    every_cable: bool,
    /// Also lose the cables to end ports.
    #[arg(long)]
    host_cables: bool,
    /// Plan changes only for this many losses that put pairs out, chosen by an estimate: others may do more harm. For
    /// those, report only which end ports are cut off and how many pairs are out, which is much faster.
    #[arg(long, value_name = "NUMBER")]
    worst: Option<usize>,
    /// Have each planned change judged a second time, as a manager does before it runs one: by the independent checker
    /// and the lint. Takes two to three times as long on large fabrics. By default the prover alone judges them.
    #[arg(long)]
    check: bool,
    /// List every loss, not just the twenty worst.
    #[arg(long)]
    all: bool,
    /// Write every loss to FILE as CSV, one per line, with a header; times are in nanoseconds.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the result to FILE as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    from: FromArguments,
    /// LID mask control; LIDs are renumbered if the capture's LMC is smaller [default: 1, or more if the engines need
    /// more LIDs]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Data VLs in operation: 1, 2, 4, 8 or 15; fewer if a port has fewer [default: 4, or more if the engines need more
    /// virtual layers]
    #[arg(long)]
    vls: Option<u8>,
    #[command(flatten)]
    partition: PartitionArguments,
    #[command(flatten)]
    reserved: ReservedArguments,
    #[command(flatten)]
    turn_back: TurnBackArguments,
    /// Node that runs the subnet manager [default: the node that made the capture, or the first host].
    #[arg(long, value_name = "NODE")]
    sm: Option<String>,
    #[command(flatten)]
    rate: RateArguments,
    #[command(flatten)]
    devices: DeviceArguments,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let files = [("--csv", arguments.csv.as_ref()), ("--report", arguments.report.as_ref())];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let fabric = read_fabric(&arguments.fabric, common)?;
    let page = arguments.report.as_deref().map(|file| Page::of(file, [&fabric])).transpose()?;
    let mut report = arguments.look(&fabric)?;
    report.rank();
    report.replay = report.example().map(|loss| replay(&loss.dies, std::env::args_os()));
    let mut batch = Batch::default();
    if let Some(file) = &arguments.csv {
        batch.stage_text(file, report::what_if_csv(&report).map_err(Failure::undone)?)?;
    }
    if let Some(page) = page {
        page.stage(report::what_if_page(&report, &page.origin), &mut batch)?;
    }
    batch.finish()?;
    screen.show(&report, || report::what_if(&report))?;
    if report.is_interrupted {
        return Err(Failure::undone(anyhow!("interrupted: losses for which no change was planned are listed as such")));
    }
    Ok(report.is_yes().into())
}

impl Arguments {
    fn look(&self, fabric: &Fabric) -> Result<WhatIfReport, Failure> {
        let captured = fabric;
        let sm = self.sm.as_ref().map(|name| find_node(fabric, name)).transpose()?;
        let engines = self.from.engines(fabric, self.engine.engines_or(&MANAGER_ENGINES)?)?;
        let profile = self.devices.devices_or(DeviceProfile::Standard);
        self.devices.check(profile)?;
        let settings = self.rate.over(self.devices.settings(profile));
        let sources = settings.sources;
        let pace = Pace { smps: settings.rate(), lifetime_ns: settings.switch_life_ns, settle_ns: sources.settle_ns() };
        let captures = Captures {
            before: fabric,
            after: fabric,
            departure: Departure::Sudden,
            settings: choice::capture_settings(self.lmc, self.vls, self.reserved)?,
            vls_fixed: self.vls.is_some(),
            lmc_fixed: self.lmc.is_some(),
            sm,
            engine: &*engines.before,
            engine_after: &*engines.after,
            scheme: Scheme::Double,
            auto: true,
            settle_ns: pace.settle_ns,
            policy: choice::policy(settings, self.partition, self.reserved, self.turn_back),
        };
        let proving = Waiting::at("routing the fabric, and proving the routing");
        let doubted = |error: CapturesError| match &error {
            CapturesError::Change(change) => Failure::undone(anyhow!("{error}{}", self.from.doubt(change))),
            _ => Failure::undone(error),
        };
        let judges = if self.check { Judges::All } else { Judges::Prover };
        let whole = WhatIf::of(&captures, pace, judges).map_err(doubted)?;
        drop(proving);
        let fabric = whole.fabric();
        let elements = Elements::of(fabric, whole.cables(self.every_cable), self.host_cables);
        let (losses, pairs_among) =
            if self.pairs { elements.by_two(&whole, self.worst)? } else { (elements.losses.clone(), None) };
        let (after, is_interrupted) = answered(&whole, &losses, self.worst.unwrap_or(losses.len()));
        let named = |(loss, (after, ns))| LossReport::of(fabric, names(fabric, loss), after, ns);
        let (lmc, renumbered) = (greatest_lmc(fabric), renumbered(captured, fabric));
        Ok(WhatIfReport {
            schema: report::WHAT_IF_SCHEMA,
            fabric: FabricSize::of(fabric),
            engine: whole.engine(),
            lmc,
            sm: fabric.describe_port(whole.sm()),
            devices: DeviceReport::new(profile, settings),
            at_once: if self.pairs { 2 } else { 1 },
            pairs_among,
            switches: elements.switches,
            cables: elements.cables,
            every_cable: self.every_cable,
            host_cables: elements.host_cables,
            worst: self.worst,
            checked: self.check,
            losses: losses.iter().zip(after).map(named).collect(),
            notes: whole.note.clone().into_iter().chain(renumbered).collect(),
            replay: None,
            is_interrupted,
            listed: (!self.all).then_some(LISTED),
        })
    }
}

fn greatest_lmc(fabric: &Fabric) -> u8 {
    fabric.end_ports().map(|port| fabric.port(port).lmc.get()).max().unwrap_or_default()
}

/// A note, if ports that have LIDs in the capture have more of them here.
fn renumbered(captured: &Fabric, fabric: &Fabric) -> Option<String> {
    let (held, lmc) = (greatest_lmc(captured), greatest_lmc(fabric));
    let is_more = held < lmc && captured.end_ports().any(|port| captured.port(port).lid.is_some());
    is_more.then(|| {
        format!("end ports have LMC {held} in the capture, and {lmc} here: --lmc {held} asks about them as they are")
    })
}

/// The subnet after a loss, and the nanoseconds that the computation took.
type Timed = (AfterLoss, u64);

/// The answers to all losses, with changes planned for the worst of them until an interrupt, and whether there was one.
fn answered(whole: &WhatIf<'_>, losses: &[Loss], most: usize) -> (Vec<Timed>, bool) {
    let unanswered = looked_at(losses, "losses looked at", &|loss| Some(whole.unanswered(loss)));
    let mut after: Vec<Timed> = unanswered.into_iter().flatten().collect();
    let worst = change::worst(after.iter().map(|(own, _)| own), most);
    let chosen: Vec<Loss> = worst.iter().map(|&place| losses[place].clone()).collect();
    let interrupt = Interrupt::awaited();
    let planned = looked_at(&chosen, "losses, the worst first", &|loss| (!interrupt.came()).then(|| whole.after(loss)));
    let is_interrupted = planned.iter().any(Option::is_none);
    for (place, own) in worst.into_iter().zip(planned) {
        after[place] = own.unwrap_or_else(|| after[place].clone());
    }
    (after, is_interrupted)
}

fn looked_at(
    losses: &[Loss],
    what: &'static str,
    look: &(dyn Fn(&Loss) -> Option<AfterLoss> + Sync),
) -> Vec<Option<Timed>> {
    let progress = Counted::of(losses.len(), what);
    change::each(losses, &|loss| {
        let begun = Instant::now();
        let after = look(loss)?;
        progress.passes();
        Some((after, begun.elapsed().as_nanos() as u64))
    })
}

/// The elements that can be lost one at a time.
struct Elements {
    losses: Vec<Loss>,
    switches: usize,
    cables: usize,
    host_cables: usize,
}

impl Elements {
    /// The switches, then these cables, then, if wanted, the cables to end ports of nodes that are no part of a switch.
    fn of(fabric: &Fabric, cables: Vec<PortId>, host_cables: bool) -> Elements {
        let cut = |port: PortId| Loss { nodes: Vec::new(), links: vec![port] };
        let mut losses: Vec<Loss> =
            fabric.switches().map(|node| Loss { nodes: vec![node], links: Vec::new() }).collect();
        let (switches, between) = (losses.len(), cables.len());
        losses.extend(cables.into_iter().map(cut));
        let role = |port: PortId| fabric.role(fabric.port(port).node);
        let ends = |port: PortId| !matches!(role(port), NodeRole::Switch | NodeRole::InSwitch);
        let to_ends = fabric.end_ports().filter(|&port| fabric.peer(port).is_some() && ends(port));
        losses.extend(to_ends.filter(|_| host_cables).map(cut));
        Elements { host_cables: losses.len() - switches - between, losses, switches, cables: between }
    }

    /// The pairs to look at. If there are too many, and changes are planned for only some, these are the pairs of the
    /// elements whose loss alone seems worst; then the number of those elements is returned, too.
    fn by_two(&self, whole: &WhatIf<'_>, worst: Option<usize>) -> Result<(Vec<Loss>, Option<usize>), Failure> {
        let fabric = whole.fabric();
        let (elements, pairs) = (self.losses.len(), self.pairs(fabric));
        let Some(worst) = worst.filter(|_| pairs > MOST_PAIRS) else {
            if pairs > MOST_PAIRS {
                return Err(Failure::input(anyhow!(
                    "{elements} switches and cables make {pairs} pairs, more than {MOST_PAIRS}: each takes as long as a \
                     change does to be planned; --worst NUMBER looks at pairs of those whose loss alone seems worst, and \
                     plans changes for so many"
                )));
            }
            return Ok((pairs_of(fabric, &self.losses), None));
        };
        let wanted = worst.clamp(CHOSEN_PAIRS, MOST_PAIRS);
        // The most elements that make no more pairs than wanted.
        let most = (1..).take_while(|of| of * (of - 1) / 2 <= wanted).last().unwrap_or(1).min(elements);
        let alone = looked_at(&self.losses, "single losses looked at", &|loss| Some(whole.unanswered(loss)));
        let alone: Vec<AfterLoss> = alone.into_iter().flatten().map(|(own, _)| own).collect();
        let mut places = change::worst(alone.iter(), most);
        places.sort_unstable();
        let chosen: Vec<Loss> = places.iter().map(|&place| self.losses[place].clone()).collect();
        let pairs = pairs_of(fabric, &chosen);
        remark(&report::chosen_pairs(pairs.len(), chosen.len(), elements));
        Ok((pairs, Some(chosen.len())))
    }

    /// How many pairs there are, counted before they are made, since there may be too many.
    fn pairs(&self, fabric: &Fabric) -> usize {
        let nodes: BTreeSet<NodeId> = self.losses.iter().flat_map(|loss| &loss.nodes).copied().collect();
        let cables = self.losses.iter().flat_map(|loss| &loss.links);
        let taken = |&port: &PortId| ends(fabric, port).collect::<BTreeSet<_>>().intersection(&nodes).count();
        let elements = self.losses.len();
        elements * elements.saturating_sub(1) / 2 - cables.map(taken).sum::<usize>()
    }
}

/// The nodes at the ends of a cable.
fn ends(fabric: &Fabric, port: PortId) -> impl Iterator<Item = NodeId> {
    [Some(port), fabric.peer(port)].into_iter().flatten().map(|end| fabric.port(end).node)
}

/// Every pair of these elements, except a switch and a cable that ends at it: that is the loss of the switch alone.
fn pairs_of(fabric: &Fabric, elements: &[Loss]) -> Vec<Loss> {
    let takes = |first: &Loss, second: &Loss| {
        second.links.iter().flat_map(|&port| ends(fabric, port)).any(|node| first.nodes.contains(&node))
    };
    let with = |(at, first): (usize, &Loss)| {
        let both = move |second: &Loss| Loss {
            nodes: [&first.nodes[..], &second.nodes].concat(),
            links: [&first.links[..], &second.links].concat(),
        };
        elements[at + 1..].iter().filter(|second| !takes(first, second)).map(both).collect::<Vec<_>>()
    };
    elements.iter().enumerate().flat_map(with).collect()
}
/// Options of this command that are not for the run of one loss, and whether a value follows.
const OWN: [(&str, bool); 8] = [
    ("--pairs", false),
    ("--every-cable", false),
    ("--host-cables", false),
    ("--check", false),
    ("--all", false),
    ("--worst", true),
    ("--csv", true),
    ("--report", true),
];

/// The command line by which `simulate` carries out a loss under the settings of this one, whose defaults are others.
fn replay(dies: &[String], line: impl IntoIterator<Item = OsString>) -> String {
    let mut given = line.into_iter().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let mut arguments = vec!["simulate".to_string()];
    while let Some(argument) = given.next() {
        let name = argument.split('=').next().unwrap_or_default();
        match OWN.iter().find(|(own, _)| *own == name) {
            Some((_, true)) if name == argument => drop(given.next()),
            Some(_) => {}
            None if argument == "what-if" || argument == "--json" => {}
            None => arguments.push(argument),
        }
    }
    let named = |option: &str| arguments.iter().any(|own| own.split('=').next() == Some(option));
    let engines = choice::managers_engines();
    let defaults = [("--engine", &engines[..]), ("--devices", "standard"), ("--scheme", "auto")];
    let missing: Vec<_> = defaults.into_iter().filter(|(option, _)| !named(option)).collect();
    arguments.extend(missing.into_iter().flat_map(|(option, value)| [option, value]).map(str::to_string));
    for element in dies {
        let (option, name) = match element.split_once(' ') {
            Some(("cable", ends)) => ("--remove-link", ends.split(" – ").next().unwrap_or(ends)),
            Some((_, name)) => ("--remove-switch", name),
            None => continue,
        };
        arguments.extend([option, name].map(str::to_string));
    }
    shell(arguments)
}

/// `switch A`, `cable A[1] – B[2]`.
fn names(fabric: &Fabric, loss: &Loss) -> Vec<String> {
    let nodes = loss.nodes.iter().map(|&node| format!("switch {}", fabric.describe_node(node)));
    let cable = |&port: &PortId| {
        let ends = [Some(port), fabric.peer(port)].into_iter().flatten().map(|end| fabric.describe_port(end));
        format!("cable {}", ends.collect::<Vec<_>>().join(" – "))
    };
    nodes.chain(loss.links.iter().map(cable)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::simulate;
    use super::*;
    use clap::{Args, Command};

    /// An option that is neither would have `simulate` refuse the command that is printed.
    #[test]
    fn each_option_is_one_of_simulate_or_is_left_away() {
        let longs = |command: Command| -> Vec<String> {
            command.get_arguments().filter_map(|option| option.get_long().map(str::to_string)).collect()
        };
        let own = longs(Arguments::augment_args(Command::new("what-if")));
        let simulators = longs(simulate::Arguments::augment_args(Command::new("simulate")));
        assert!(own.len() > OWN.len());
        for option in &own {
            let is_left_away = OWN.iter().any(|(name, _)| name.strip_prefix("--") == Some(option));
            assert!(is_left_away || simulators.contains(option), "--{option}");
        }
        assert!(OWN.iter().all(|(name, _)| own.contains(&name[2..].to_string())));
    }

    #[test]
    fn a_replay_says_what_is_not_given_and_leaves_away_what_is_not_for_it() {
        let dies = ["switch spine 1", "cable leaf-1[2] – spine-2[1]"].map(str::to_string);
        let line = "reconfig what-if f --worst 3 --csv=x.csv --json --lmc 0 --engine up-down --all".split(' ');
        assert_eq!(
            replay(&dies, line.map(OsString::from)),
            "reconfig simulate f --lmc 0 --engine up-down --devices standard --scheme auto --remove-switch 'spine 1' \
             --remove-link 'leaf-1[2]'"
        );
    }
}
