//! Seed 003, dispersive routing: what sources gain from several paths, from how many, and at what cost in packet order.
//!
//! The manual of the PSM library gives no figures, but a claim: "not much gain in performance beyond utilizing a small
//! set of multiple paths". Table *gain* answers it; the others are its data. Each fabric is routed with LMC 1 to 4, so
//! that a half has 1, 2, 4 or 8 LIDs, and runs under four patterns: `worst`, the permutation that serves these sources
//! worst; `single-worst`, the one that is worst for a single path of the same tables; `uniform`; and `hot-spot`, a
//! twentieth of all packets to one end port. Table *claim* is the manual's own experiment: LMC 3, eight paths, in a
//! fabric that never changes and therefore keeps no half spare, with intervals of confidence over seeds.

use super::parallel::in_order;
use super::table::{Cell, ResultTable, mean};
use super::{ReproduceError, StudyRequest};
use crate::change::{self, LmcWish, RouteInput, Routed};
use crate::fabric::Fabric;
use crate::fabric::generate::{Options, Topology, generate};
use crate::fabric::summary::counted;
use crate::ids::Lmc;
use crate::intervals::Estimate;
use crate::scenario::{SteadyReport, selection, steady};
use crate::sim::{Dispersal, PathChoice, SimConfig, Spray, Traffic};
use crate::tables::{Crossings, Selection};

pub(super) const TABLES: [&str; 10] = [
    "claim",
    "fat-tree-worst",
    "fat-tree-single-worst",
    "fat-tree-uniform",
    "fat-tree-hot-spot",
    "regular-worst",
    "regular-single-worst",
    "regular-uniform",
    "regular-hot-spot",
    "gain",
];

const GAIN: &str = "gain";
const CLAIM: &str = "claim";
const COLUMNS: [&str; 8] =
    ["bound %", "slowest %", "accepted %", "late %", "late mess. %", "p50 µs", "p99 µs", "busiest %"];
const GAIN_COLUMNS: [&str; 8] =
    ["base %", "single %", "2 paths %", "4 paths %", "8 paths %", "all pairs %", "of gain by 2", "of gain by 4"];

/// Fabrics, by the first word of the tables' names, with their engines.
const FABRICS: [(&str, &str, &[&str]); 2] = [
    ("fat-tree", "fat-tree:8,2", &["fat-tree", "min-hop", "up-down"]),
    ("regular", "random-regular:16,6,4", &["up-down", "dfsssp"]),
];

/// Paths of the rows of table *claim*, at LMC 3 without a spare half.
const CLAIM_PATHS: [u8; 4] = [1, 2, 4, 8];
const CLAIM_LMC: u8 = 3;
/// Runs of each row of table *claim*, at least, each with another seed.
const CLAIM_RUNS: usize = 8;
const CLAIM_COLUMNS: [&str; 10] =
    ["1 path %", "± 1", "2 paths %", "± 2", "4 paths %", "± 4", "8 paths %", "± 8", "8 over 4 %", "± gain"];

/// Lanes of every run: an engine may need a virtual layer for each.
const DATA_VLS: u8 = 8;
/// Packets of a message.
const MESSAGE: u16 = 8;
/// The loads at which throughput and latency are measured.
const FULL: f64 = 1.0;
const MODERATE: f64 = 0.3;
/// Warm-up and measured time in nanoseconds.
const TIMES: (u64, u64) = (40_000, 100_000);
/// The share of packets that go to one end port in a hot spot.
const HOT_SHARE: f64 = 0.05;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Worst,
    SingleWorst,
    Uniform,
    HotSpot,
    Permutation,
}

impl Pattern {
    const ALL: [Pattern; 4] = [Pattern::Worst, Pattern::SingleWorst, Pattern::Uniform, Pattern::HotSpot];
    const CLAIM: [Pattern; 3] = [Pattern::Uniform, Pattern::Permutation, Pattern::Worst];

    fn name(self) -> &'static str {
        match self {
            Pattern::Worst => "worst",
            Pattern::SingleWorst => "single-worst",
            Pattern::Uniform => "uniform",
            Pattern::HotSpot => "hot-spot",
            Pattern::Permutation => "permutation",
        }
    }
}

/// The settings of the sources in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Setting {
    lmc: u8,
    choice: PathChoice,
    paths: Option<u8>,
    spray: Spray,
    /// Whether the sources use all LIDs, none being spare.
    undivided: bool,
}

impl Setting {
    /// The rows of each engine: all policies with each LMC, then fewer paths and single packets with the most.
    fn all() -> Vec<Setting> {
        let choices = [PathChoice::Base, PathChoice::Single, PathChoice::Paired, PathChoice::All];
        let whole = (1..=4).flat_map(|lmc| {
            choices.map(|choice| Setting { lmc, choice, paths: None, spray: Spray::Message, undivided: false })
        });
        let most = Setting { lmc: 4, choice: PathChoice::Paired, paths: None, spray: Spray::Message, undivided: false };
        let fewer = [1, 2, 4].map(|paths| Setting { paths: Some(paths), ..most });
        whole.chain(fewer).chain([Setting { spray: Spray::Packet, ..most }]).collect()
    }

    fn name(self, engine: &str) -> String {
        let choice = match self.choice {
            PathChoice::Base => "base",
            PathChoice::Single => "single",
            PathChoice::Paired => "paired",
            PathChoice::All => "all",
        };
        let paths = self.paths.map(|paths| format!(" {paths} of 8")).unwrap_or_default();
        let spray = if self.spray == Spray::Packet { " packets" } else { "" };
        format!("{engine} LMC {} {choice}{paths}{spray}", self.lmc)
    }

    fn dispersal(self) -> Dispersal {
        Dispersal { choice: self.choice, paths: self.paths, spray: self.spray }
    }
}

/// The names of a table's rows.
pub(super) fn rows(table: &str) -> Vec<String> {
    let gain = |(kind, _, engines): (&str, _, &[&str])| -> Vec<String> {
        let row = |pattern: Pattern| engines.iter().map(move |engine| gain_row(kind, engine, pattern));
        Pattern::ALL.into_iter().flat_map(row).collect()
    };
    if table == CLAIM {
        let row = |(kind, _, engines): (&'static str, _, &'static [&'static str])| {
            let of = move |pattern: Pattern| engines.iter().map(move |engine| gain_row(kind, engine, pattern));
            Pattern::CLAIM.into_iter().flat_map(of)
        };
        return FABRICS.into_iter().flat_map(row).collect();
    }
    if table == GAIN {
        return FABRICS.into_iter().flat_map(gain).collect();
    }
    let own = FABRICS.into_iter().filter(|(kind, ..)| table.starts_with(kind));
    let names = |engine: &&str| Setting::all().into_iter().map(|setting| setting.name(engine)).collect::<Vec<_>>();
    own.flat_map(|(_, _, engines)| engines.iter().flat_map(names)).collect()
}

/// The name of a row of the table of gains.
fn gain_row(kind: &str, engine: &str, pattern: Pattern) -> String {
    format!("{kind} {engine} {}", pattern.name())
}

pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let mut tables = Vec::new();
    if request.wants(CLAIM) {
        tables.push(claim(request, progress)?);
    }
    let mut gain = ResultTable::new(
        "seed-003 gain",
        "Accepted at full load (worst: by the slowest flow), LMC 4, and what more paths add",
        "what",
        &GAIN_COLUMNS,
    );
    for (kind, topology, engines) in FABRICS {
        for pattern in Pattern::ALL {
            let name = format!("{kind}-{}", pattern.name());
            if !request.wants(&name) && !request.wants(GAIN) {
                continue;
            }
            let title = format!(
                "{topology}: {} traffic by sources and paths, at full load; latency and the busiest link at load {MODERATE}",
                pattern.name()
            );
            let mut table = ResultTable::new(format!("seed-003 {name}"), title, "sources", &COLUMNS);
            for engine in engines {
                let rows = measure(request, Case { topology, engine, pattern }, &name, progress)?;
                if request.wants(GAIN) {
                    gain.push(gain_row(kind, engine, pattern), gains(pattern, &rows));
                }
                for (setting, figures) in
                    rows.into_iter().filter(|(setting, _)| request.wants_row(&setting.name(engine)))
                {
                    table.push(setting.name(engine), figures.cells());
                }
            }
            tables.extend(request.wants(&name).then_some(table));
        }
    }
    gain.rows.retain(|row| request.wants_row(&row.name));
    tables.extend(request.wants(GAIN).then_some(gain));
    Ok(tables)
}

/// The manual's experiment: LMC 3, eight paths, nothing spare, since the fabric never changes. Means over seeds, each
/// with its interval of 95 % confidence; of permutations what the slowest flow gets.
fn claim(request: &StudyRequest, progress: &mut dyn FnMut(&str)) -> Result<ResultTable, ReproduceError> {
    let runs = request.fabrics.max(CLAIM_RUNS);
    let title = format!(
        "Accepted at full load by paths, LMC 3 without a spare half (permutations: the slowest flow), {runs} seeds"
    );
    let mut table = ResultTable::new("seed-003 claim", title, "what", &CLAIM_COLUMNS);
    for (kind, topology, engines) in FABRICS {
        for (pattern, engine) in
            Pattern::CLAIM.into_iter().flat_map(|pattern| engines.iter().map(move |at| (pattern, at)))
        {
            let name = gain_row(kind, engine, pattern);
            if !request.wants_row(&name) {
                continue;
            }
            progress(&format!("{topology}, {engine}, {} traffic, LMC 3 undivided, {runs} seeds", pattern.name()));
            let case = Case { topology, engine, pattern };
            let measured = in_order(CLAIM_PATHS.len() * runs, request.threads, |at| {
                accepted(case, CLAIM_PATHS[at / runs], request.seed + (at % runs) as u64)
            })?;
            let of = |at: usize| &measured[at * runs..(at + 1) * runs];
            // The same seed has the same fabric and the same random destinations, so differences are of pairs.
            let more = of(3).iter().zip(of(2)).map(|(eight, four)| eight - four);
            let estimates = (0..CLAIM_PATHS.len()).map(|at| Estimate::of(of(at).iter().copied()));
            let estimates: Vec<Estimate> = estimates.chain([Estimate::of(more)]).collect();
            let percent = |share: Option<f64>| Cell::open(None, 100.0 * share.unwrap_or(f64::NAN), 1);
            let cells = estimates.iter().flat_map(|one| [percent(one.mean), percent(one.half_width)]);
            table.push(name, cells.collect());
        }
    }
    Ok(table)
}

/// What sources get that use so many paths, at full load.
fn accepted(case: Case<'_>, paths: u8, seed: u64) -> Result<f64, ReproduceError> {
    let Case { topology, engine, pattern } = case;
    let setting = Setting {
        lmc: CLAIM_LMC,
        choice: PathChoice::Paired,
        paths: Some(paths),
        spray: Spray::Message,
        undivided: true,
    };
    let failed = |why: String| ReproduceError::Run { what: format!("{topology}, {engine}, {paths} paths"), why };
    let fabric = drawn(topology, seed)?;
    let routed = routed(&fabric, engine, setting).map_err(failed)?;
    let (traffic, _) = traffic(&routed, setting, pattern).map_err(failed)?;
    let config = SimConfig {
        seed: seed + 1,
        load: FULL,
        traffic,
        dispersal: setting.dispersal(),
        undivided: true,
        message_packets: MESSAGE,
        ..SimConfig::default()
    };
    match steady(&routed, &config, TIMES) {
        Ok(report) if report.deadlocked => Err(failed("packets wait for each other in a circle".to_string())),
        Ok(report) if pattern == Pattern::Uniform => Ok(report.throughput),
        Ok(report) => Ok(report.slowest),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// What the rows of a table that share an engine have in common.
#[derive(Clone, Copy)]
struct Case<'a> {
    topology: &'a str,
    engine: &'a str,
    pattern: Pattern,
}

/// The rows of one engine on one kind of fabric under one pattern, as far as the request wants them.
fn measure(
    request: &StudyRequest,
    case: Case<'_>,
    table: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<(Setting, Figures)>, ReproduceError> {
    let Case { topology, engine, pattern } = case;
    let mut settings = Setting::all();
    settings.retain(|setting| {
        let gains = request.wants(GAIN) && setting.lmc == 4;
        gains || request.wants(table) && request.wants_row(&setting.name(engine))
    });
    let count = settings.len();
    if count == 0 {
        return Ok(Vec::new());
    }
    progress(&format!(
        "{topology}, {engine}, {} traffic, {count} rows, {}",
        pattern.name(),
        counted(request.fabrics, "fabric")
    ));
    let measured = in_order(count * request.fabrics, request.threads, |at| {
        let seed = request.seed + (at / count) as u64;
        Figures::of(case, settings[at % count], seed)
    })?;
    let row = |at: usize| Figures::mean(measured.iter().skip(at).step_by(count));
    Ok(settings.iter().enumerate().map(|(at, &setting)| (setting, row(at))).collect())
}

/// The figures of one row on one fabric, or their means over several.
#[derive(Clone, Copy, Default)]
struct Figures {
    /// The highest throughput that the permutation permits; 1 for other patterns.
    bound: f64,
    /// At full load: by the end port that got least, by all; late packets, late messages.
    slowest: f64,
    accepted: f64,
    late: f64,
    late_messages: f64,
    /// At the moderate load: latency in µs, load of the busiest link.
    p50: f64,
    p99: f64,
    busiest: f64,
}

impl Figures {
    fn of(case: Case<'_>, setting: Setting, seed: u64) -> Result<Figures, ReproduceError> {
        let Case { topology, engine, pattern } = case;
        let failed = |why: String| ReproduceError::Run { what: format!("{topology}, {}", setting.name(engine)), why };
        let fabric = drawn(topology, seed)?;
        let routed = routed(&fabric, engine, setting).map_err(failed)?;
        let (traffic, bound) = traffic(&routed, setting, pattern).map_err(failed)?;
        let run = |load| {
            let config = SimConfig {
                seed,
                load,
                traffic: traffic.clone(),
                dispersal: setting.dispersal(),
                message_packets: MESSAGE,
                count_order: true,
                ..SimConfig::default()
            };
            match steady(&routed, &config, TIMES) {
                Ok(report) if report.deadlocked => Err(failed("packets wait for each other in a circle".to_string())),
                other => other.map_err(|error| failed(error.to_string())),
            }
        };
        Ok(Figures::from(&run(FULL)?, &run(MODERATE)?, bound))
    }

    fn from(full: &SteadyReport, moderate: &SteadyReport, bound: f64) -> Figures {
        let share = |late: u64, all: u64| late as f64 / all.max(1) as f64;
        Figures {
            bound,
            slowest: full.slowest,
            accepted: full.throughput,
            late: share(full.order.late_packets, full.order.packets),
            late_messages: share(full.order.late_messages, full.order.messages),
            p50: moderate.latency_ns.p50 as f64 / 1e3,
            p99: moderate.latency_ns.p99 as f64 / 1e3,
            busiest: moderate.links.most,
        }
    }

    fn mean<'a>(all: impl Iterator<Item = &'a Figures> + Clone) -> Figures {
        let of = |figure: fn(&Figures) -> f64| mean(all.clone().map(figure));
        Figures {
            bound: of(|one| one.bound),
            slowest: of(|one| one.slowest),
            accepted: of(|one| one.accepted),
            late: of(|one| one.late),
            late_messages: of(|one| one.late_messages),
            p50: of(|one| one.p50),
            p99: of(|one| one.p99),
            busiest: of(|one| one.busiest),
        }
    }

    fn cells(self) -> Vec<Cell> {
        let percent = |share: f64| Cell::open(None, 100.0 * share, 1);
        let micros = |time| Cell::open(None, time, 2);
        let Figures { bound, slowest, accepted, late, late_messages, p50, p99, busiest } = self;
        let shares = [bound, slowest, accepted, late, late_messages].map(percent);
        shares.into_iter().chain([micros(p50), micros(p99), percent(busiest)]).collect()
    }
}

fn drawn(topology: &str, seed: u64) -> Result<Fabric, ReproduceError> {
    let shape: Topology = topology.parse()?;
    Ok(generate(&shape, &Options { seed, ..Options::default() })?)
}

fn routed(fabric: &Fabric, engine: &str, setting: Setting) -> Result<Routed, String> {
    let engine = change::engine_named(engine, &Default::default()).map_err(|error| error.to_string())?;
    let lmc = Lmc::masked(setting.lmc);
    let lmc = if setting.undivided { LmcWish::Undivided(lmc) } else { LmcWish::Least(lmc) };
    change::route(RouteInput { fabric, engine: &*engine, data_vls: DATA_VLS, lmc }).map_err(|error| error.to_string())
}

/// The traffic, and the largest part of it that the tables permit with these sources.
fn traffic(routed: &Routed, setting: Setting, pattern: Pattern) -> Result<(Traffic, f64), String> {
    let own = selection(setting.dispersal());
    let worst_for = match pattern {
        Pattern::Uniform => return Ok((Traffic::Uniform, 1.0)),
        Pattern::HotSpot => return Ok((Traffic::HotSpot { destination: 0, share: HOT_SHARE }, 1.0)),
        Pattern::Permutation => return Ok((Traffic::Permutation, 1.0)),
        Pattern::Worst => own,
        Pattern::SingleWorst => Selection::Single,
    };
    let crossings = |selection| Crossings::of(&routed.fabric, &routed.function, selection);
    let worst = crossings(worst_for).worst().ok_or("no two end ports send over a channel between switches")?;
    let load = crossings(own).busiest_under(&worst.permutation).map_or(0.0, |(_, load)| load);
    Ok((Traffic::Pairs(worst.permutation), 1.0 / load.max(1.0)))
}

/// Accepted traffic with LMC 4, for permutations that of the slowest flow, by sources; and how much of the gain of
/// eight paths over a single one two and four paths achieve.
fn gains(pattern: Pattern, rows: &[(Setting, Figures)]) -> Vec<Cell> {
    let of = |figures: &Figures| match pattern {
        Pattern::Worst | Pattern::SingleWorst | Pattern::Permutation => figures.slowest,
        Pattern::Uniform | Pattern::HotSpot => figures.accepted,
    };
    let accepted = |choice, paths| {
        let wanted = Setting { lmc: 4, choice, paths, spray: Spray::Message, undivided: false };
        rows.iter().find(|&&(setting, _)| setting == wanted).map_or(f64::NAN, |(_, figures)| of(figures))
    };
    let single = accepted(PathChoice::Single, None);
    let [two, four, eight] = [Some(2), Some(4), None].map(|paths| accepted(PathChoice::Paired, paths));
    let gain = |with: f64| if eight - single > 0.005 { (with - single) / (eight - single) } else { 0.0 };
    let shares = [accepted(PathChoice::Base, None), single, two, four, eight, accepted(PathChoice::All, None)];
    let shares = shares.into_iter().map(|share| Cell::open(None, 100.0 * share, 1));
    shares.chain([gain(two), gain(four)].map(|part| Cell::open(None, part, 2))).collect()
}
