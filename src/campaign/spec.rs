//! The description of a campaign, and its runs.

use super::{RunRow, fault};
use crate::change::{Departure, engine_listed};
use crate::fabric::format::{ReadError, SourceText, Span};
use crate::fabric::generate::{GenerateError, Options, Topology, generate};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lmc;
use crate::plan::{Policy, Scheme, TurnedBack, UnknownName};
use crate::routing::{Connectivity, Engine, Parameters};
use crate::scenario::{self, Element, Scenario, Unwatched};
use crate::sim::SimConfig;
use crate::subnet::DeviceProfile;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;

/// The value of `schema`.
const SCHEMA: &str = "reconfig.campaign/1";
/// The most runs of a campaign: all of them are listed in memory before the first begins.
const MOST_RUNS: u64 = 1_000_000;
/// The scheme that is chosen as the cheapest which is proved.
const AUTO: &str = "auto";

/// What is run: every combination of what is listed.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// `reconfig.campaign/1`.
    schema: String,
    /// Generators (`random-regular:16,4,2`), drawn anew with each seed, or files, beside the campaign's own.
    pub fabrics: Vec<String>,
    /// What changes.
    #[serde(default = "root")]
    pub changes: Vec<DrawnChange>,
    /// Whether the manager knows beforehand.
    #[serde(default)]
    pub planned: bool,
    /// Routing engines; a list separated by commas takes the first that can route the fabric.
    #[serde(default = "up_down")]
    pub engines: Vec<String>,
    /// `auto`, `double`, `ordered`, `static`, `in-place`.
    pub schemes: Vec<String>,
    /// Offered loads, as fractions of each end port's rate.
    #[serde(default = "usual_load")]
    pub loads: Vec<f64>,
    /// The seeds: of random fabrics, of what is drawn to change, and of traffic.
    pub seeds: Seeds,
    /// `agents` or `standard`.
    #[serde(default)]
    pub devices: DeviceProfile,
    /// Whether switches send packets back by the port that they came in by, where tables say so; by default they
    /// discard them, as hardware does.
    #[serde(default)]
    pub turn_back: bool,
    /// Data VLs: 1, 2, 4, 8 or 15; none: 4, or more if the engine needs them.
    pub vls: Option<u8>,
    /// The LID mask control; none: 1, or more if the engine needs it.
    pub lmc: Option<u8>,
    /// Traffic before the period *before*, in microseconds.
    #[serde(default = "warm_up")]
    pub warm_up_us: u64,
    /// Length of the periods *before* and *after*, in microseconds.
    #[serde(default = "around")]
    pub around_us: u64,
}

/// Consecutive seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// What is drawn to change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnChange {
    /// The root of the routing leaves.
    Root,
    /// A switch leaves, one without which all others stay connected.
    Switch,
    /// A cable between switches leaves, one without which all stay connected.
    Cable,
}

impl DrawnChange {
    /// Its name in descriptions and rows.
    pub fn name(self) -> &'static str {
        match self {
            DrawnChange::Root => "root",
            DrawnChange::Switch => "switch",
            DrawnChange::Cable => "cable",
        }
    }
}

/// What distinguishes a run from all others of a campaign.
#[derive(Clone, PartialEq, Debug)]
pub struct RunKey {
    /// Its place in the campaign, from 0.
    pub run: usize,
    /// As described.
    pub fabric: String,
    /// What changes.
    pub change: DrawnChange,
    /// As described.
    pub engine: String,
    /// As described.
    pub scheme: String,
    /// The load.
    pub load: f64,
    /// The seed.
    pub seed: u64,
}

fn root() -> Vec<DrawnChange> {
    vec![DrawnChange::Root]
}

fn up_down() -> Vec<String> {
    vec!["up-down".to_string()]
}

fn usual_load() -> Vec<f64> {
    vec![0.3]
}

fn warm_up() -> u64 {
    50
}

fn around() -> u64 {
    200
}

impl Campaign {
    /// Reads a description; `file` is its name in messages.
    ///
    /// # Errors
    /// It is no YAML of the expected form, or a value cannot be.
    pub fn read(text: &str, file: &str) -> Result<Campaign, ReadError> {
        let source = SourceText { file, text };
        if !text.contains("schema") {
            let beginning = Span { start: 0, end: 0 };
            let expected =
                format!("expected YAML that begins with `schema: {SCHEMA}` (docs/CAMPAIGNS.md has an example)");
            return Err(source.error(beginning, "this is no description of a campaign", expected));
        }
        let campaign: Campaign = serde_yaml::from_str(text).map_err(|error| fault::of_yaml(source, &error))?;
        campaign.check(source)?;
        Ok(campaign)
    }

    /// Refuses a fabric of a description, whose file is `file`.
    pub fn without_fabric(text: &str, file: &str, name: &str, why: &str) -> ReadError {
        let expected = "expected a generator (`reconfig fabric generate --help` lists them), or a file beside this one";
        fault::below(SourceText { file, text }, "fabrics", is_text(name), why.to_string(), expected)
    }

    fn check(&self, source: SourceText<'_>) -> Result<(), ReadError> {
        let wrong = |key: &str, value: &str, why: String, expected: &str| {
            Err(fault::below(source, key, is_text(value), why, expected))
        };
        if self.schema != SCHEMA {
            let why = format!("`{}` is not known here", self.schema);
            return wrong("schema", &self.schema, why, &format!("expected {SCHEMA}"));
        }
        let empty = [
            ("fabrics", self.fabrics.is_empty()),
            ("changes", self.changes.is_empty()),
            ("engines", self.engines.is_empty()),
            ("schemes", self.schemes.is_empty()),
            ("loads", self.loads.is_empty()),
        ];
        if let Some((key, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return wrong(
                key,
                "",
                "the list is empty, so there is nothing to run".to_string(),
                "expected one entry at least",
            );
        }
        let repeated = [
            ("fabrics", repeated(&self.fabrics)),
            ("changes", repeated(&self.changes.iter().map(|change| change.name()).collect::<Vec<_>>())),
            ("engines", repeated(&self.engines)),
            ("schemes", repeated(&self.schemes)),
            ("loads", repeated(&self.loads)),
        ];
        if let Some((field, Some(value))) = repeated.into_iter().find(|(_, value)| value.is_some()) {
            let why = format!("{value} is listed twice: the same runs would count as independent ones");
            return wrong(field, &value, why, "expected each entry once");
        }
        if self.seeds.count == 0 {
            return wrong("seeds", "count", "a count of 0 leaves nothing to run".to_string(), "expected 1 at least");
        }
        let lists = [self.fabrics.len(), self.changes.len(), self.engines.len(), self.loads.len(), self.schemes.len()];
        let combinations = lists.iter().fold(1, |all: u64, &own| all.saturating_mul(own as u64));
        if combinations.saturating_mul(self.seeds.count) > MOST_RUNS {
            let all = u128::from(combinations) * u128::from(self.seeds.count);
            let count = self.seeds.count;
            let why = format!("{count} for each combination of the lists make {all} runs, more than {MOST_RUNS}");
            return wrong("seeds", "count", why, "expected fewer, or several campaigns with seeds of their own");
        }
        if let Some(&load) = self.loads.iter().find(|load| !(**load > 0.0 && **load <= 1.0)) {
            // However it is written.
            let is_load = |word: &str| word.parse() == Ok(load) || !load.is_finite() && word.contains('.');
            let (why, expected) = (format!("{load} is no load"), "expected a number above 0, up to 1");
            return Err(fault::below(source, "loads", is_load, why, expected));
        }
        if self.seeds.from.checked_add(self.seeds.count).is_none() {
            return wrong("seeds", "from", "the last is beyond 64 bits".to_string(), "expected a lower one");
        }
        if let Some(vls) = self.vls.filter(|vls| ![1, 2, 4, 8, 15].contains(vls)) {
            let why = format!("{vls} data VLs: InfiniBand ports have 1, 2, 4, 8 or 15");
            return wrong("vls", &vls.to_string(), why, "expected 1, 2, 4, 8 or 15");
        }
        if let Some(lmc) = self.lmc.filter(|&lmc| lmc > 7) {
            return wrong("lmc", &lmc.to_string(), format!("{lmc} is no LMC"), "expected 0 to 7");
        }
        for scheme in &self.schemes {
            if let Err(why) = scheme_of(scheme) {
                let expected = format!("expected one of {AUTO}, {}", why.expected);
                return wrong("schemes", scheme, format!("`{scheme}` is no scheme"), &expected);
            }
        }
        for engine in &self.engines {
            if let Err(why) = engine_of(engine, 0) {
                let first = engine.split(',').next().unwrap_or_default();
                return wrong("engines", first, why, "expected an engine, or several separated by commas, in quotes");
            }
        }
        Ok(())
    }

    /// Files among the fabrics: what is no generator.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.fabrics.iter().map(String::as_str).filter(|name| name.parse::<Topology>().is_err())
    }

    /// Every run, in order: seeds change fastest, then schemes, so that schemes meet the same changes one after
    /// another.
    pub fn runs(&self) -> Vec<RunKey> {
        let mut runs = Vec::new();
        for fabric in &self.fabrics {
            for &change in &self.changes {
                for engine in &self.engines {
                    for &load in &self.loads {
                        for scheme in &self.schemes {
                            for seed in self.seeds.from..self.seeds.from + self.seeds.count {
                                runs.push(RunKey {
                                    run: runs.len(),
                                    fabric: fabric.clone(),
                                    change,
                                    engine: engine.clone(),
                                    scheme: scheme.clone(),
                                    load,
                                    seed,
                                });
                            }
                        }
                    }
                }
            }
        }
        runs
    }

    /// Carries out a run; `read` gives the fabric of a file.
    pub fn carry_out(&self, key: &RunKey, read: impl Fn(&str) -> Option<Fabric>) -> RunRow {
        match self.simulated(key, read) {
            Ok(report) => RunRow::of(key, &report),
            Err(why) => RunRow::refused(key, why),
        }
    }

    fn simulated(
        &self,
        key: &RunKey,
        read: impl Fn(&str) -> Option<Fabric>,
    ) -> Result<scenario::SimulationReport, String> {
        let fabric = match key.fabric.parse::<Topology>() {
            Ok(topology) => drawn(&topology, key.seed).map_err(|error| error.as_asked(&key.fabric).to_string())?,
            Err(_) => read(&key.fabric).ok_or_else(|| format!("no fabric was read from {}", key.fabric))?,
        };
        let element = key.change.draw(&fabric, key.seed)?;
        let engine: Arc<dyn Engine> = Arc::from(engine_of(&key.engine, key.seed)?);
        let scheme = scheme_of(&key.scheme).map_err(|error| error.to_string())?;
        let base = Scenario::of_one(fabric, element).on(self.devices);
        let turned_back = if self.turn_back { TurnedBack::Returned } else { TurnedBack::Discarded };
        let scenario = Scenario {
            departure: if self.planned { Departure::Planned } else { Departure::Sudden },
            cut_off_meant: true,
            scheme: scheme.unwrap_or(Scheme::Double),
            auto: scheme.is_none(),
            policy: Policy { turned_back, ..base.policy },
            vls_fixed: self.vls.is_some(),
            lmc: self.lmc.map_or(base.lmc, Lmc::masked),
            lmc_fixed: self.lmc.is_some(),
            load: Some(key.load),
            sim: SimConfig {
                seed: key.seed,
                data_vls: self.vls.unwrap_or(base.sim.data_vls),
                discards_turned_back: !self.turn_back,
                ..base.sim
            },
            warm_up_ns: self.warm_up_us.saturating_mul(1_000),
            before_ns: self.around_us.saturating_mul(1_000),
            after_ns: self.around_us.saturating_mul(1_000),
            ..base
        };
        scenario::run(&scenario, engine, &mut Unwatched).map_err(|error| error.to_string())
    }
}

/// The first value that a list has before.
fn repeated<T: PartialEq + fmt::Display>(list: &[T]) -> Option<String> {
    let again = list.iter().enumerate().find(|(rank, value)| list[..*rank].contains(value));
    again.map(|(_, value)| value.to_string())
}

fn drawn(topology: &Topology, seed: u64) -> Result<Fabric, GenerateError> {
    generate(topology, &Options { seed, ..Options::default() })
}

/// None for the choice among all.
fn scheme_of(name: &str) -> Result<Option<Scheme>, UnknownName> {
    if name == AUTO { Ok(None) } else { name.parse().map(Some) }
}

/// Whether a word of a description is this text, in quotes or not.
fn is_text(text: &str) -> impl Fn(&str) -> bool {
    let text = text.to_string();
    move |word| {
        let rest = word.trim_matches(['"', '\'']).strip_prefix(&text);
        !text.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    }
}

fn engine_of(names: &str, seed: u64) -> Result<Box<dyn Engine>, String> {
    let names: Vec<String> = names.split(',').map(|name| name.trim().to_string()).collect();
    engine_listed(&names, &Parameters { seed, ..Parameters::default() }).map_err(|error| error.to_string())
}

impl DrawnChange {
    /// What changes in a fabric, by a seed.
    ///
    /// # Errors
    /// There is nothing whose loss leaves the rest connected.
    fn draw(self, fabric: &Fabric, seed: u64) -> Result<Element, String> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let found = match self {
            DrawnChange::Root => return Ok(Element::Root),
            DrawnChange::Switch => {
                let mut switches: Vec<NodeId> = fabric.switches().collect();
                switches.shuffle(&mut random);
                let is_fit = |&switch: &NodeId| is_whole(&fabric.without_nodes(&[switch]));
                switches.into_iter().find(is_fit).map(Element::Switch)
            }
            DrawnChange::Cable => {
                let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
                let joins = |&(a, b): &(PortId, PortId)| is_switch(a) && is_switch(b);
                let mut cables: Vec<PortId> = fabric.links().filter(joins).map(|(a, _)| a).collect();
                cables.shuffle(&mut random);
                cables.into_iter().find(|&port| is_whole(&fabric.without_links(&[port]))).map(Element::Link)
            }
        };
        found.ok_or_else(|| format!("no {} can be lost without dividing the rest", self.name()))
    }
}

/// Whether all switches, and all end ports with a cable, are joined.
fn is_whole(fabric: &Fabric) -> bool {
    let links = Connectivity::of(fabric);
    let zero = |switch: NodeId| fabric.node(switch).first_port;
    let cabled = fabric.end_ports().filter(|&port| fabric.peer(port).is_some());
    let mut ports = fabric.switches().map(zero).chain(cabled);
    let Some(first) = ports.next() else { return false };
    ports.all(|port| links.joins(first, port))
}
