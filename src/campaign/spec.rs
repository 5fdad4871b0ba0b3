//! The description of a campaign, and its runs.

use super::RunRow;
use crate::change::{Departure, engine_listed};
use crate::fabric::format::yaml::{self, place};
use crate::fabric::format::{ReadError, SourceText, Span};
use crate::fabric::generate::{GenerateError, Options, Topology, generate};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lmc;
use crate::plan::{Policy, Scheme, TurnedBack};
use crate::routing::{Connectivity, Engine, Parameters};
use crate::scenario::{self, Element, Scenario, Unwatched};
use crate::sim::SimConfig;
use crate::subnet::DeviceProfile;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};
use std::sync::Arc;

/// The value of `schema`.
const SCHEMA: &str = "reconfig.campaign/1";
/// What stands under the place of a fault of form.
const EXPECTED: &str = "expected a description as docs/CAMPAIGNS.md shows it";
/// The scheme that is chosen as the cheapest which is proved.
const AUTO: &str = "auto";

/// A list of which it and each value keep their places.
type PlacedList<T> = Spanned<Vec<Spanned<T>>>;

/// What is run: every combination of what is listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// `reconfig.campaign/1`.
    schema: Spanned<String>,
    /// Generators (`random-regular:16,4,2`), drawn anew with each seed, or files, beside the campaign's own.
    fabrics: PlacedList<String>,
    /// What changes.
    #[serde(default = "root")]
    changes: PlacedList<DrawnChange>,
    /// Whether the manager knows beforehand.
    #[serde(default)]
    planned: bool,
    /// Routing engines; a list separated by commas takes the first that can route the fabric.
    #[serde(default = "up_down")]
    engines: PlacedList<String>,
    /// `auto`, `double`, `ordered`, `static`, `in-place`.
    schemes: PlacedList<String>,
    /// Offered loads, as fractions of each end port's rate.
    #[serde(default = "usual_load")]
    loads: PlacedList<f64>,
    /// The seeds: of random fabrics, of what is drawn to change, and of traffic.
    seeds: Spanned<Seeds>,
    /// `agents` or `standard`.
    #[serde(default)]
    devices: DeviceProfile,
    /// Whether switches send packets back by the port that they came in by, where tables say so; by default they
    /// discard them, as hardware does.
    #[serde(default)]
    turn_back: bool,
    /// Data VLs: 1, 2, 4, 8 or 15; none: 4, or more if the engine needs them.
    vls: Option<Spanned<u8>>,
    /// The LID mask control; none: 1, or more if the engine needs it.
    lmc: Option<Spanned<u8>>,
    /// Traffic before the period *before*, in microseconds.
    #[serde(default = "warm_up")]
    warm_up_us: u64,
    /// Length of the periods *before* and *after*, in microseconds.
    #[serde(default = "around")]
    around_us: u64,
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

/// What tells a run from all others of a campaign.
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

fn root() -> PlacedList<DrawnChange> {
    by_default(DrawnChange::Root)
}

fn up_down() -> PlacedList<String> {
    by_default("up-down".to_string())
}

fn usual_load() -> PlacedList<f64> {
    by_default(0.3)
}

fn by_default<T>(value: T) -> PlacedList<T> {
    placed(vec![placed(value)])
}

/// A value that stands in no text.
fn placed<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Location::UNKNOWN, Location::UNKNOWN)
}

fn values<T>(list: &PlacedList<T>) -> impl Iterator<Item = &T> {
    list.value.iter().map(|listed| &listed.value)
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
    /// It is no YAML of the expected form, or a value cannot be: at its place.
    pub fn read(text: &str, file: &str) -> Result<Campaign, ReadError> {
        let source = SourceText { file, text: text.trim_start_matches('\u{feff}') };
        if !text.contains("schema") {
            let foreign =
                format!("it is no description of a campaign, which is YAML and begins with `schema: {SCHEMA}`");
            return Err(source.error(Span { start: 0, end: 0 }, foreign, EXPECTED));
        }
        let campaign: Campaign = yaml::read(source, EXPECTED)?;
        campaign.check(source)?;
        Ok(campaign)
    }

    fn check(&self, source: SourceText<'_>) -> Result<(), ReadError> {
        let schema = &self.schema;
        if schema.value != SCHEMA {
            let problem = format!("the schema is `{}`", schema.value);
            return Err(source.error(place(source, schema), problem, format!("expected `{SCHEMA}`")));
        }
        let lists = [
            (self.fabrics.value.is_empty(), place(source, &self.fabrics)),
            (self.changes.value.is_empty(), place(source, &self.changes)),
            (self.engines.value.is_empty(), place(source, &self.engines)),
            (self.schemes.value.is_empty(), place(source, &self.schemes)),
            (self.loads.value.is_empty(), place(source, &self.loads)),
        ];
        if let Some((_, at)) = lists.into_iter().find(|(empty, _)| *empty) {
            return Err(source.error(
                at,
                "the list is empty, so there is nothing to run",
                "expected one value at least",
            ));
        }
        let (seeds, at) = (self.seeds.value, place(source, &self.seeds));
        if seeds.count == 0 {
            return Err(source.error(at, "there is no seed, so there is nothing to run", "expected a `count` above 0"));
        }
        if seeds.from.checked_add(seeds.count).is_none() {
            return Err(source.error(at, "the last seed is beyond 64 bits", "expected fewer, or lower ones"));
        }
        if let Some(load) = self.loads.value.iter().find(|load| !(load.value > 0.0 && load.value <= 1.0)) {
            let problem = format!("the load {} is not above 0 and at most 1", load.value);
            return Err(source.error(place(source, load), problem, "expected a fraction of an end port's rate"));
        }
        if let Some(vls) = self.vls.as_ref().filter(|vls| ![1, 2, 4, 8, 15].contains(&vls.value)) {
            return Err(source.error(
                place(source, vls),
                format!("{} data VLs", vls.value),
                "expected 1, 2, 4, 8 or 15",
            ));
        }
        if let Some(lmc) = self.lmc.as_ref().filter(|lmc| lmc.value > 7) {
            return Err(source.error(place(source, lmc), format!("LMC {}", lmc.value), "expected 0 to 7"));
        }
        for scheme in &self.schemes.value {
            let refuse = |why| source.error(place(source, scheme), why, "expected a scheme");
            scheme_of(&scheme.value).map_err(refuse)?;
        }
        for engine in &self.engines.value {
            let refuse = |why| source.error(place(source, engine), why, "expected engines, separated by commas");
            engine_of(&engine.value, 0).map_err(refuse)?;
        }
        Ok(())
    }

    /// Files among the fabrics: what is no generator.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        values(&self.fabrics).map(String::as_str).filter(|name| name.parse::<Topology>().is_err())
    }

    /// Every run, in order: seeds change fastest, then schemes, so that schemes meet the same changes one after
    /// another.
    pub fn runs(&self) -> Vec<RunKey> {
        let (mut runs, seeds) = (Vec::new(), self.seeds.value);
        for fabric in values(&self.fabrics) {
            for &change in values(&self.changes) {
                for engine in values(&self.engines) {
                    for &load in values(&self.loads) {
                        for scheme in values(&self.schemes) {
                            for seed in seeds.from..seeds.from + seeds.count {
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
            Ok(topology) => drawn(&topology, key.seed).map_err(|error| error.to_string())?,
            Err(_) => read(&key.fabric).ok_or_else(|| format!("no fabric was read from {}", key.fabric))?,
        };
        let element = key.change.draw(&fabric, key.seed)?;
        let engine: Arc<dyn Engine> = Arc::from(engine_of(&key.engine, key.seed)?);
        let scheme = scheme_of(&key.scheme)?;
        let base = Scenario::of_one(fabric, element).on(self.devices);
        let turned_back = if self.turn_back { TurnedBack::Returned } else { TurnedBack::Discarded };
        let scenario = Scenario {
            departure: if self.planned { Departure::Planned } else { Departure::Sudden },
            cut_off_meant: true,
            scheme: scheme.unwrap_or(Scheme::Double),
            auto: scheme.is_none(),
            policy: Policy { turned_back, ..base.policy },
            vls_fixed: self.vls.is_some(),
            lmc: self.lmc.as_ref().map_or(base.lmc, |lmc| Lmc::masked(lmc.value)),
            lmc_fixed: self.lmc.is_some(),
            load: Some(key.load),
            sim: SimConfig {
                seed: key.seed,
                data_vls: self.vls.as_ref().map_or(base.sim.data_vls, |vls| vls.value),
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

fn drawn(topology: &Topology, seed: u64) -> Result<Fabric, GenerateError> {
    generate(topology, &Options { seed, ..Options::default() })
}

/// None for the choice among all.
fn scheme_of(name: &str) -> Result<Option<Scheme>, String> {
    if name == AUTO {
        return Ok(None);
    }
    name.parse().map(Some).map_err(|error| format!("{error}"))
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
