//! The effect of each loss on a subnet, the worst first: a table, JSON, and CSV.

use super::devices::devices;
use super::quantity::{count, counted, duration, size_of};
use super::screen::{line, number, some, table};
use comfy_table::Cell;
use reconfig::change::{AfterLoss, AnsweringChange};
use reconfig::fabric::{Fabric, PortId};
use reconfig::plan::Scheme;
use reconfig::scenario::{DeviceReport, FabricSize};
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt::Write;

/// The name and version of the JSON object.
pub const WHAT_IF_SCHEMA: &str = "reconfig.what-if/1";

/// The losses that were looked at, and what each would do. Times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct WhatIfReport {
    /// [`WHAT_IF_SCHEMA`].
    pub schema: &'static str,
    pub fabric: FabricSize,
    /// Who made the tables in force.
    pub engine: &'static str,
    /// The LID mask control of end ports, from which changes by two halves follow.
    pub lmc: u8,
    pub sm: String,
    pub devices: DeviceReport,
    /// Number of elements lost at once.
    pub at_once: usize,
    /// If there were too many pairs to look at all of them: the number of elements whose pairs were looked at. They are
    /// the worst by an estimate of the loss of each alone: first those that leave pairs of end ports and LIDs without a
    /// path, by end ports cut off, then by the estimate of `worst`. Other pairs may do more harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_among: Option<usize>,
    /// Switches, cables between switches, and cables to end ports that were looked at.
    pub switches: usize,
    pub cables: usize,
    /// Whether all cables were looked at; else one of those between the same two switches, the busiest.
    pub every_cable: bool,
    pub host_cables: usize,
    /// Limit on the losses for which a change was planned. They are chosen before any is planned: those that leave
    /// pairs without a path, by end ports cut off, then by pairs times blocks of forwarding tables that lead these to
    /// what is lost. Others may do more harm. `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<usize>,
    /// Whether the independent checker and the lint have judged each planned change too. Otherwise it is proved, and
    /// not checked a second time.
    pub checked: bool,
    /// The worst first: those after which no change is proved, then by end ports cut off, then by the time that pairs
    /// are without a path, summed over pairs. Those for which no change was planned are last, by end ports cut off and
    /// by an estimate of that sum.
    pub losses: Vec<LossReport>,
    /// What a reader should know of the tables in force.
    pub notes: Vec<String>,
    /// A command that carries out the first loss of the list that a change answers, in the simulator and under the same
    /// settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Whether planning was interrupted: the losses that were left have no plan.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_interrupted: bool,
    /// The most that the table lists; none for all.
    #[serde(skip)]
    pub listed: Option<usize>,
}

/// What a loss would do.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct LossReport {
    /// The elements that are lost.
    pub dies: Vec<String>,
    /// End ports that are cut off for good.
    pub cut_off: Vec<String>,
    /// Those of them whose own switch and cable live on.
    pub cut_off_elsewhere: usize,
    /// Whether the subnet manager's own port is lost or cut off.
    pub needs_standby: bool,
    /// Pairs of an end port and a LID without a way until a change gives them one; those that are cut off do not count.
    pub pairs: u64,
    /// What is estimated of harm without a change, to order losses for which none was planned.
    #[serde(skip)]
    pub likely_harm: u128,
    /// The change that a manager makes; none if there is none that is proved, or none was to be planned.
    pub change: Option<ChangeFacts>,
    /// Why none is proved.
    pub refusal: Option<String>,
    /// Whether no host is left that could manage the subnet, so that there is no change to look for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nobody_left: bool,
    /// How long it took to find this out. It is measured, so no two runs have the same: only people are shown it.
    #[serde(skip)]
    pub took_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The change that answers a loss.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct ChangeFacts {
    pub scheme: Scheme,
    /// From the first write until all pairs that were without a way have one, as the plan estimates; finding the loss
    /// and planning precede it. Of `pairs_left` nothing is said.
    pub reconnected_ns: u64,
    /// How much of this is spent waiting, until packets have left or hosts have followed: nothing is written meanwhile.
    pub waited_ns: u64,
    /// From the first write until a pair has a way again, on average over those that were without one: until the wave
    /// has landed that gives it one.
    pub mean_outage_ns: u64,
    /// Whether some of these pairs wait until packets have left that were sent before.
    pub waits: bool,
    /// Whether a second change follows, for entries that no such pair needs: on large fabrics hosts come first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rest_follows: bool,
    /// Pairs that this change leaves without a way: the second one serves them, and `reconnected_ns` is of the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub pairs_left: u64,
    /// End ports that have to send to other LIDs on other service levels.
    pub hosts_that_move: usize,
    pub waves: usize,
    /// Writes, one SMP (a `Set`) each; what is read meanwhile is not counted.
    pub smps: usize,
    /// Why other ways were passed over.
    pub notes: Vec<String>,
}

impl LossReport {
    pub fn of(fabric: &Fabric, dies: Vec<String>, after: AfterLoss, took_ns: u64) -> LossReport {
        let facts = |change: AnsweringChange| ChangeFacts {
            scheme: change.scheme,
            reconnected_ns: change.outage.last_ns,
            waited_ns: change.outage.waited_ns,
            mean_outage_ns: change.outage.pairs_ns.div_ceil(u128::from(after.pairs.max(1))) as u64,
            waits: change.waits,
            rest_follows: change.rest_follows,
            pairs_left: change.outage.left,
            hosts_that_move: change.hosts_that_move,
            waves: change.waves,
            smps: change.writes,
            notes: change.notes,
        };
        let likely_harm = after.likely_harm();
        let (change, refusal) = match after.change {
            Some(Ok(change)) => (Some(facts(change)), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        LossReport {
            dies,
            cut_off: after.cut_off.iter().map(|&port: &PortId| fabric.describe_port(port)).collect(),
            cut_off_elsewhere: after.cut_off.len() - after.at_the_dead,
            needs_standby: after.needs_standby,
            pairs: after.pairs,
            likely_harm,
            change,
            refusal,
            nobody_left: after.nobody_left,
            took_ns,
        }
    }

    /// Whether no change was planned though one could be.
    pub(super) fn is_left_out(&self) -> bool {
        self.change.is_none() && self.refusal.is_none() && !self.nobody_left
    }

    /// The change, if it brings pairs back.
    fn reconnecting(&self) -> Option<&ChangeFacts> {
        self.change.as_ref().filter(|_| self.pairs > 0)
    }

    /// When the last of the pairs that were out is back, if there are any.
    pub(super) fn back_ns(&self) -> Option<u64> {
        self.reconnecting().map(|change| change.reconnected_ns)
    }

    /// How long they are out on average, if there are any.
    pub(super) fn mean_ns(&self) -> Option<u64> {
        self.reconnecting().map(|change| change.mean_outage_ns)
    }

    /// How long nothing is written while some of them are out, if it waits at all.
    pub(super) fn waited_ns(&self) -> Option<u64> {
        self.reconnecting().map(|change| change.waited_ns).filter(|&ns| ns > 0)
    }

    /// Why the change moves hosts, if it does: what was passed over for it.
    pub(super) fn why_hosts_move(&self) -> Option<&str> {
        let change = self.change.as_ref().filter(|change| change.hosts_that_move > 0)?;
        change.notes.iter().find(|note| note.contains("passed over"))?.lines().next()
    }

    /// A higher value is worse. The worst is a loss without a proved change: its pairs stay disconnected. Losses
    /// without a plan rank below all others: the duration of their outages is unknown, so they have no place among the
    /// others.
    fn harm(&self) -> impl Ord + use<> {
        (self.refusal.is_some(), !self.is_left_out(), self.cut_off.len(), self.out())
    }

    /// For how long pairs are out, summed over them; where no change was planned, what is estimated of that. Then how
    /// many.
    fn out(&self) -> (u128, u64) {
        let planned = self.change.as_ref().map(|change| u128::from(self.pairs) * u128::from(change.mean_outage_ns));
        (planned.unwrap_or(self.likely_harm), self.pairs)
    }
}

/// The most losses that are listed by the pairs that are out, below those that cut off more.
const LISTED_BY_PAIRS: usize = 10;

impl WhatIfReport {
    /// Puts the worst first; losses that do equal harm stay in the fabric's order.
    pub fn rank(&mut self) {
        self.losses.sort_by_cached_key(|loss| Reverse(loss.harm()));
    }

    /// The first loss by which pairs are out until a change, for which a manager remains.
    pub fn example(&self) -> Option<&LossReport> {
        let by_change = |loss: &&LossReport| loss.back_ns().is_some() && !loss.needs_standby;
        self.losses.iter().find(by_change)
    }

    /// Whether a proved change answers every loss that one was planned for.
    pub fn is_yes(&self) -> bool {
        self.refused() == 0
    }

    /// Losses after which no change is proved.
    pub(super) fn refused(&self) -> usize {
        self.losses.iter().filter(|loss| loss.refusal.is_some()).count()
    }

    /// Of the losses below the first so many, those by which most pairs are out for longest, if none above is as bad in
    /// that: losses that cut hosts off may fill the list, and need no change.
    fn longest_out_beyond(&self, most: usize) -> Vec<&LossReport> {
        let (above, below) = self.losses.split_at(most.min(self.losses.len()));
        // An estimate is no time to compare with.
        let mut below: Vec<&LossReport> = below.iter().filter(|loss| loss.pairs > 0 && !loss.is_left_out()).collect();
        below.sort_by_key(|loss| Reverse(loss.out()));
        below.truncate(LISTED_BY_PAIRS);
        let worst_above = above.iter().filter(|loss| !loss.is_left_out()).map(LossReport::out).max();
        if below.first().map(|loss| loss.out()) > worst_above { below } else { Vec::new() }
    }

    /// What planning took: `1.2 ms on average and 3.4 ms at most (switch A)`; none if nothing was planned.
    pub(super) fn planning(&self) -> Option<String> {
        let planned = || self.losses.iter().filter(|loss| loss.change.is_some() || loss.refusal.is_some());
        let longest = planned().max_by_key(|loss| loss.took_ns)?;
        let mean_ns = planned().map(|loss| loss.took_ns).sum::<u64>() / planned().count() as u64;
        let [mean, most] = [mean_ns, longest.took_ns].map(duration);
        Some(format!("{mean} on average and {most} at most ({})", longest.dies.join(" and ")))
    }

    /// Losses for which a change was planned, proved or not.
    pub(super) fn planned(&self) -> usize {
        self.losses.iter().filter(|loss| loss.change.is_some()).count() + self.refused()
    }

    /// Whether some loss has no plan though one could be made.
    pub(super) fn leaves_out(&self) -> bool {
        self.losses.iter().any(LossReport::is_left_out)
    }

    /// Losses that a change could answer: after the others no host is left that could make one.
    pub(super) fn to_answer(&self) -> usize {
        self.losses.iter().filter(|loss| !loss.nobody_left).count()
    }

    /// Whether some pairs are out while nothing is written.
    pub(super) fn waits(&self) -> bool {
        self.losses.iter().any(|loss| loss.waited_ns().is_some())
    }

    /// How the pairs were chosen, if not all are looked at.
    pub(super) fn chosen_pairs(&self) -> Option<String> {
        let elements = self.switches + self.cables + self.host_cables;
        self.pairs_among.map(|among| chosen_pairs(self.losses.len(), among, elements))
    }

    /// How those were chosen for which changes were planned, if not all were.
    pub(super) fn choice(&self) -> Option<String> {
        let planned = count(self.planned() as u64);
        (self.leaves_out() && self.planned() > 0).then(|| {
            format!(
                "changes were planned for the {planned} that an estimate puts first: those that leave pairs without a way, \
                 which alone a change can mend, then by end ports cut off, then by pairs out times blocks of forwarding \
                 tables that lead them to what is lost; some of the others may do more harm"
            )
        })
    }

    /// What the changes leave for second ones, if any does.
    pub(super) fn rest(&self) -> Option<String> {
        let partial =
            self.losses.iter().filter(|loss| loss.change.as_ref().is_some_and(|own| own.rest_follows)).count();
        (partial > 0).then(|| {
            format!(
                "{} answered as the manager does on large fabrics, hosts first: waves and Sets are those of the change that \
                 brings the pairs back, and a second one gives other entries a way",
                counted(partial as u64, "loss")
            )
        })
    }

    /// Which pairs *last back* does not speak of, if there are any.
    pub(super) fn left(&self) -> Option<String> {
        let left = |loss: &LossReport| loss.change.as_ref().map_or(0, |own| own.pairs_left);
        let losses = self.losses.iter().filter(|&loss| left(loss) > 0).count();
        let most = self.losses.iter().map(left).max().filter(|&most| most > 0)?;
        Some(format!(
            "after {} the first change serves only part of the pairs that are out: times, waves and Sets are of that \
             part, and up to {} wait for the second",
            counted(losses as u64, "loss"),
            counted(most, "pair")
        ))
    }

    /// By whom changes were judged.
    pub(super) fn judged(&self) -> &'static str {
        match self.checked {
            true => "each change is proved, and judged by the independent checker and the lint too",
            false => "each change is proved; not checked a second time, as it is before it runs (--check)",
        }
    }

    fn with_scheme(&self, scheme: Scheme) -> usize {
        let by = |loss: &&LossReport| loss.change.as_ref().is_some_and(|own| own.scheme == scheme && own.waves > 0);
        self.losses.iter().filter(by).count()
    }
}

/// How the pairs that are looked at were chosen: they are those of `among` of the `elements`.
pub fn chosen_pairs(pairs: usize, among: usize, elements: usize) -> String {
    let [pairs, among, elements] = [pairs, among, elements].map(|number| count(number as u64));
    format!(
        "{pairs} pairs are looked at: those of the {among} switches and cables, of {elements}, whose loss alone an \
         estimate puts first: those that leave pairs without a way, then by end ports cut off, then by pairs out times \
         blocks of forwarding tables that lead them to what is lost; some of the other pairs may do more harm"
    )
}

/// The table, and the answer in its last line.
pub fn what_if(report: &WhatIfReport) -> String {
    let mut text = String::new();
    head(&mut text, report);
    text.push('\n');
    tables(&mut text, report);
    text.push('\n');
    notes(&mut text, report);
    text + &answer(report)
}

/// What was asked, of which subnet.
fn head(text: &mut String, report: &WhatIfReport) {
    let FabricSize { switches, cas, links } = report.fabric;
    line(text, format_args!("fabric   {}", size_of(switches, (cas, "CA"), links)));
    line(text, format_args!("routing  {}; LMC {}; SM on {}", report.engine, report.lmc, report.sm));
    devices(text, &report.devices);
    let host_cables = match report.host_cables {
        0 => String::new(),
        cables => format!(", {} to end ports", counted(cables as u64, "cable")),
    };
    let at_once = match report.at_once {
        1 => "one at a time".to_string(),
        _ => {
            let pairs = counted(report.losses.len() as u64, "pair");
            let among = report.pairs_among.map_or(String::new(), |among| format!(" of the {among} worst alone"));
            format!("every two{among} at once, {pairs}")
        }
    };
    let [switches, cables] =
        [(report.switches, "switch"), (report.cables, "cable")].map(|(n, name)| counted(n as u64, name));
    let which = if report.every_cable { "" } else { " (of parallel ones the busiest)" };
    line(text, format_args!("lost     {switches}, {cables} between switches{which}{host_cables}: {at_once}"));
    if let Some(took) = report.planning() {
        line(text, format_args!("time     planning took {took} on this machine, and comes before the first write"));
    }
    if report.planned() > 0 {
        line(text, format_args!("judged   {}", report.judged()));
    }
}

/// The losses that are listed, by harm, and those beyond them by which most pairs are out for longest.
fn tables(text: &mut String, report: &WhatIfReport) {
    let most = report.listed.unwrap_or(usize::MAX);
    let waits = report.waits();
    let shown = rows(&report.losses.iter().take(most).collect::<Vec<_>>(), waits);
    shown.to_string().lines().for_each(|row| line(text, format_args!("{}", row.trim_end())));
    if report.losses.len() > most {
        let more = count((report.losses.len() - most) as u64);
        let which = if report.leaves_out() { "less harmful or not planned" } else { "less harmful" };
        line(text, format_args!(" … and {more} more, {which} (--all lists them)"));
    }
    let others = report.longest_out_beyond(most);
    if !others.is_empty() {
        let unlisted = count((report.losses.len() - most) as u64);
        let which = match others.len() {
            1 => "the one".to_string(),
            LISTED_BY_PAIRS => "the ten".to_string(),
            several => format!("the {several}"),
        };
        line(text, format_args!("\nof the {unlisted} not listed, {which} by which most pairs are out for longest:"));
        rows(&others, waits).to_string().lines().for_each(|row| line(text, format_args!("{}", row.trim_end())));
    }
}

/// What the tables do not say.
fn notes(text: &mut String, report: &WhatIfReport) {
    for note in report
        .notes
        .iter()
        .chain(&report.chosen_pairs())
        .chain(&report.choice())
        .chain(&report.rest())
        .chain(&report.left())
    {
        line(text, format_args!("note: {note}"));
    }
    let refused = report.losses.iter().filter_map(|loss| Some((loss.dies.join(" and "), loss.refusal.as_ref()?)));
    for (dies, why) in refused.take(3) {
        line(text, format_args!("no change is proved after the loss of {dies}: {why}"));
    }
    let moving = report.losses.iter().filter_map(|loss| Some((loss.dies.join(" and "), loss.why_hosts_move()?)));
    for (dies, why) in moving.take(3) {
        line(text, format_args!("hosts move after the loss of {dies}: {why}"));
    }
    let standby: Vec<String> =
        report.losses.iter().filter(|loss| loss.needs_standby).map(|loss| loss.dies.join(" and ")).collect();
    if !standby.is_empty() {
        line(text, format_args!("these take the subnet manager with them, and need a standby: {}", some(&standby)));
    }
    if let Some(replay) = &report.replay {
        line(text, format_args!("packet by packet: {replay}"));
    }
}

/// Losses as a table, one a row; with a column of waiting times only where something `waits`.
fn rows(losses: &[&LossReport], waits: bool) -> comfy_table::Table {
    let mut shown = table();
    let [cut_off, elsewhere, pairs, mean, last] =
        ["cut off", "elsewhere", "pairs out", "mean outage", "last back"].map(number);
    let head = [Cell::new("loss"), cut_off, elsewhere, pairs, mean, last];
    let waiting = || waits.then(|| number("of it waiting"));
    let tail = [Cell::new("scheme"), number("waves"), number("Sets")];
    shown.set_header(head.into_iter().chain(waiting()).chain(tail).collect::<Vec<_>>());
    let time = |ns: Option<u64>| number(ns.map_or("–".to_string(), duration));
    for loss in losses {
        let own = loss.change.as_ref();
        let of = |value: fn(&ChangeFacts) -> String| own.map_or("–".to_string(), value);
        let head = [
            Cell::new(loss.dies.join(" and ")),
            number(count(loss.cut_off.len() as u64)),
            number(count(loss.cut_off_elsewhere as u64)),
            number(count(loss.pairs)),
            time(loss.mean_ns()),
            time(loss.back_ns()),
        ];
        let waiting = waits.then(|| time(loss.waited_ns()));
        let tail = [
            Cell::new(scheme_name(loss)),
            number(of(|own| count(own.waves as u64))),
            number(of(|own| count(own.smps as u64))),
        ];
        shown.add_row(head.into_iter().chain(waiting).chain(tail).collect::<Vec<_>>());
    }
    shown
}

/// The scheme of the change that answers a loss, or why none is named.
pub(super) fn scheme_name(loss: &LossReport) -> &'static str {
    match &loss.change {
        Some(own) if own.waves == 0 => "none needed",
        Some(own) => own.scheme.name(),
        None if loss.refusal.is_some() => "NONE PROVED",
        None if loss.nobody_left => "no host left",
        None => "not planned",
    }
}

/// The answer, in a line.
pub(super) fn answer(report: &WhatIfReport) -> String {
    let all = report.losses.len();
    let cutting = report.losses.iter().filter(|loss| !loss.cut_off.is_empty()).count();
    let elsewhere = report.losses.iter().filter(|loss| loss.cut_off_elsewhere > 0).count();
    let mut text = match (cutting, elsewhere) {
        (0, _) => "no loss cuts off an end port".to_string(),
        (_, 0) => {
            format!(
                "{} of {} losses cut off end ports (those attached to what is lost)",
                count(cutting as u64),
                count(all as u64)
            )
        }
        _ => format!(
            "{} of {} losses cut off end ports, {} of them others than those attached to what is lost",
            count(cutting as u64),
            count(all as u64),
            count(elsewhere as u64)
        ),
    };
    let unproved = report.refused();
    let (planned, to_answer) = (report.planned(), report.to_answer());
    let others = if to_answer < all { " other" } else { "" };
    let answered = match unproved {
        0 if to_answer == 0 && all > 0 => "no host is left that could manage the subnet".to_string(),
        0 if planned == 0 && all > 0 => "no change was planned".to_string(),
        0 if planned < to_answer => {
            let (planned, all) = (count(planned as u64), counted(to_answer as u64, "loss"));
            format!("changes were planned for {planned} of {all}; each is proved")
        }
        0 => format!("a proved change answers every{others} loss"),
        _ => format!("NO PROVED CHANGE answers {} of {}", count(unproved as u64), count(planned as u64)),
    };
    let moving = match report.with_scheme(Scheme::Double) {
        0 if planned == 0 => String::new(),
        0 => ", and moves no host".to_string(),
        1 => "; one of these changes moves hosts (scheme double)".to_string(),
        moving => format!("; {} of these changes move hosts (scheme double)", count(moving as u64)),
    };
    let _ = writeln!(text, "; {answered}{}", if unproved > 0 { "" } else { &moving });
    text
}

/// A text of several lines as one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// One line for each loss, the worst first (RFC 4180). Refusals of several lines, and names, are joined by `; `.
///
/// # Errors
/// None that a buffer in memory can have.
pub fn what_if_csv(report: &WhatIfReport) -> Result<String, anyhow::Error> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record([
        "dies",
        "cut_off",
        "cut_off_elsewhere",
        "needs_standby",
        "pairs",
        "reconnected_ns",
        "waited_ns",
        "mean_outage_ns",
        "scheme",
        "waits",
        "waves",
        "smps",
        "rest_follows",
        "pairs_left",
        "refusal",
        "names_cut_off",
    ])?;
    for loss in &report.losses {
        let own = loss.change.as_ref();
        let of = |value: fn(&ChangeFacts) -> String| own.map_or(String::new(), value);
        rows.write_record([
            loss.dies.join(" and "),
            loss.cut_off.len().to_string(),
            loss.cut_off_elsewhere.to_string(),
            loss.needs_standby.to_string(),
            loss.pairs.to_string(),
            of(|own| own.reconnected_ns.to_string()),
            of(|own| own.waited_ns.to_string()),
            of(|own| own.mean_outage_ns.to_string()),
            scheme_name(loss).to_lowercase(),
            of(|own| own.waits.to_string()),
            of(|own| own.waves.to_string()),
            of(|own| own.smps.to_string()),
            of(|own| own.rest_follows.to_string()),
            of(|own| own.pairs_left.to_string()),
            loss.refusal.as_ref().map_or_else(String::new, |why| one_line(why)),
            loss.cut_off.join("; "),
        ])?;
    }
    Ok(String::from_utf8(rows.into_inner()?)?)
}
