//! The table, for people and as CSV.

use super::list::Case;
use super::side::Side;
use super::trial::Outcome;

const COLUMNS: [(&str, usize); 18] = [
    ("side", 13),
    ("injected", 10),
    ("delivered", 10),
    ("stranded", 9),
    ("failure", 8),
    ("change", 8),
    ("aged", 6),
    ("dl before", 9),
    ("dl", 3),
    ("cycle", 5),
    ("stuck", 6),
    ("gap us", 8),
    ("worst us", 9),
    ("last Set ms", 11),
    ("over ms", 8),
    ("real s", 7),
    ("Get", 6),
    ("Set", 6),
];

/// The headings of the columns.
pub fn heading() -> String {
    let titles: Vec<String> = COLUMNS.iter().map(|(title, width)| format!("{title:>width$}")).collect();
    format!("{}  how it ended", titles.join(" "))
}

/// A fabric's line over those of its trials.
pub fn title(case: &Case) -> String {
    let fabric = &case.fabric;
    let (switches, hosts) = (fabric.switches().count(), fabric.nodes().filter(|(_, node)| !node.is_switch()).count());
    let victim = case.victim.name(fabric);
    format!(
        "{}: {switches} switches, {hosts} hosts; {victim} dies, and cuts {} hosts off",
        case.name,
        case.stranded_hosts()
    )
}

/// The line of a trial.
pub fn line(side: Side, outcome: &Outcome) -> String {
    let cells = cells(side, outcome);
    let padded: Vec<String> = cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!("{cell:>width$}")).collect();
    let unended = if outcome.ended { "" } else { " (not over when the patience was)" };
    let behind = outcome.fallen_behind_ns;
    let behind = if behind > 0 { format!(", {:.3} ms fallen behind", ms(behind)) } else { String::new() };
    format!("{}  {}{unended}{behind}", padded.join(" "), outcome.how)
}

/// The first line of the file.
pub fn csv_heading() -> String {
    let titles: Vec<String> = COLUMNS.iter().map(|(title, _)| title.replace(' ', "_")).collect();
    format!("fabric,victim,{},over,how,fallen_behind_ns\n", titles.join(","))
}

/// A trial's line in the file. Names hold commas.
pub fn csv(case: &Case, side: Side, outcome: &Outcome) -> String {
    let cells = cells(side, outcome).join(",");
    let victim = case.victim.name(&case.fabric).replace('"', "");
    format!("\"{}\",{victim},{cells},{},{},{}\n", case.name, outcome.ended, outcome.how, outcome.fallen_behind_ns)
}

fn cells(side: Side, outcome: &Outcome) -> Vec<String> {
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    let mut cells = vec![side.name().to_string()];
    let packets = [
        outcome.injected,
        outcome.delivered,
        outcome.stranded,
        outcome.lost_to_failure,
        outcome.lost_to_change,
        outcome.discarded_by_age,
        outcome.deadlocks_before,
        outcome.deadlocks,
        outcome.in_the_cycle,
        outcome.stuck,
    ];
    cells.extend(packets.map(|count| count.to_string()));
    cells.extend([us(outcome.longest_gap_ns), us(outcome.longest_latency_ns)]);
    cells.extend([outcome.last_set_ns, outcome.over_ns].map(|ns| format!("{:.2}", ms(ns))));
    cells.push(format!("{:.2}", outcome.over_real_s));
    cells.extend([outcome.gets, outcome.sets].map(|count| count.to_string()));
    cells
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Sums over the fabrics, by side.
#[derive(Default)]
pub struct Totals(Vec<(Side, Sum)>);

#[derive(Clone, Copy, Default)]
struct Sum {
    trials: usize,
    deadlocked_before: usize,
    deadlocked: usize,
    with_stuck: usize,
    failure: u64,
    change: u64,
    stuck: u64,
    lost_to_change: usize,
    last_set_ns: u64,
    over_ns: u64,
    gap_ns: u64,
    gets: u64,
    sets: u64,
}

impl Totals {
    pub fn add(&mut self, side: Side, outcome: &Outcome) {
        let place = self.0.iter().position(|&(known, _)| known == side).unwrap_or_else(|| {
            self.0.push((side, Sum::default()));
            self.0.len() - 1
        });
        let sum = &mut self.0[place].1;
        sum.trials += 1;
        sum.deadlocked_before += usize::from(outcome.deadlocks_before > 0);
        sum.deadlocked += usize::from(outcome.deadlocks > 0);
        sum.with_stuck += usize::from(outcome.stuck > 0);
        sum.failure += outcome.lost_to_failure;
        sum.change += outcome.lost_to_change;
        sum.stuck += outcome.stuck;
        sum.lost_to_change += usize::from(outcome.lost_to_change > 0);
        sum.last_set_ns += outcome.last_set_ns;
        sum.over_ns += outcome.over_ns;
        sum.gap_ns += outcome.longest_gap_ns;
        sum.gets += outcome.gets;
        sum.sets += outcome.sets;
    }

    /// A line for each side.
    pub fn show(&self) -> String {
        self.0.iter().map(|(side, sum)| sum.show(*side)).collect::<Vec<_>>().join("\n")
    }
}

impl Sum {
    fn show(&self, side: Side) -> String {
        let Sum { trials, deadlocked_before, deadlocked, with_stuck, .. } = self;
        let mean = |sum: u64| sum / *trials as u64;
        format!(
            "{:>13}: {trials} trials; deadlocked before the failure {deadlocked_before}, newly after it {deadlocked}, \
             packets stuck for good in {with_stuck}, {} in all; lost on average {} packets to the failure, {} to the \
             change ({} trials lost any); mean time to the last Set {:.2} ms, to the end {:.2} ms, mean of the longest gaps in \
             delivery {:.2} ms; mean Gets and Sets {}, {}",
            side.name(),
            self.stuck,
            mean(self.failure),
            mean(self.change),
            self.lost_to_change,
            ms(self.last_set_ns) / *trials as f64,
            ms(self.over_ns) / *trials as f64,
            ms(self.gap_ns) / *trials as f64,
            mean(self.gets),
            mean(self.sets),
        )
    }
}
