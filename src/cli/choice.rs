//! Options that several commands share.

use super::input::{read_dump, read_lfts_of};
use super::outcome::Failure;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, ValueEnum};
use reconfig::change::{self, AbsentRows, BringUpError, CaptureSettings, ChangeError, absent_rows};
use reconfig::fabric::Fabric;
use reconfig::ids::{Lmc, Sl};
use reconfig::plan::{Arming, LanePartition, MovedBy, Observer, Policy, Scheme, SmpRate, TurnedBack, UnknownName};
use reconfig::routers::{LevelsRule, PartEnforce};
use reconfig::routing::{ENGINES, Engine, FirstOf, Imported, MANAGER_ENGINES, Parameters};
use reconfig::scenario::Engines;
use reconfig::sim::SimConfig;
use reconfig::subnet::{DeviceProfile, DeviceSettings, SourceControl};
use reconfig::tables::dump::{Lfts, read_fdbs, read_path_sls};
use reconfig::verify::Refusal;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::slice;
use std::str::FromStr;
use std::sync::Arc;

/// The engines that compute routing functions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Routing")]
pub(super) struct EngineArguments {
    /// Routing engine, or several in order of preference: the first that can route the fabric is used. `reconfig route
    /// --list` describes them
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', value_parser = engine_names())]
    engine: Vec<String>,
    /// Engine for the routing after the change, if other than --engine.
    #[arg(long, value_name = "ENGINE", value_parser = engine_names())]
    to_engine: Option<String>,
    /// Seed for engines that make random choices.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) engine_seed: u64,
}

/// An option shared by several commands, with this command's own default in its help.
pub(super) fn by_default(option: Arg, default: &str) -> Arg {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    option.help(format!("{help} [default: {default}]"))
}

/// The engines' names as possible values of an option.
pub(super) fn engine_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ENGINES.iter().map(|entry| entry.name))
}

impl EngineArguments {
    fn listed(&self, names: &[String]) -> Result<Arc<dyn Engine>, Failure> {
        let parameters = Parameters { seed: self.engine_seed, ..Parameters::default() };
        let engine = change::engine_listed(names, &parameters).map_err(Failure::input)?;
        Ok(Arc::from(engine))
    }

    /// The name of the engine before the change, for reports; `own` is the command's default.
    pub(super) fn name_or(&self, own: &'static str) -> &'static str {
        match &self.engine[..] {
            [] => own,
            [named] => ENGINES.iter().map(|entry| entry.name).find(|name| name == named).unwrap_or(own),
            _ => FirstOf::NAME,
        }
    }

    /// The engine before the change, and the one after it; `own` names the command's default engines.
    pub(super) fn engines_or(&self, own: &[&str]) -> Result<Engines, Failure> {
        let own: Vec<String> = own.iter().map(ToString::to_string).collect();
        let before = self.listed(if self.engine.is_empty() { &own } else { &self.engine })?;
        let after = self.to_engine.as_ref().map(|name| self.listed(slice::from_ref(name))).transpose()?;
        Ok(Engines { after: after.unwrap_or_else(|| before.clone()), before })
    }
}

/// A scheme, or the choice among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SchemeChoice {
    /// The cheapest that is proved.
    Auto,
    Only(Scheme),
}

impl SchemeChoice {
    /// The named scheme, else the one that always works.
    pub(super) fn scheme(self) -> Scheme {
        match self {
            SchemeChoice::Auto => Scheme::Double,
            SchemeChoice::Only(scheme) => scheme,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            SchemeChoice::Auto => AUTO,
            SchemeChoice::Only(scheme) => scheme.name(),
        }
    }

    pub(super) fn is_auto(self) -> bool {
        self == SchemeChoice::Auto
    }
}

impl fmt::Display for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchemeChoice {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<SchemeChoice, UnknownName> {
        if text == AUTO {
            return Ok(SchemeChoice::Auto);
        }
        let scheme = text.parse().map_err(|unknown: UnknownName| UnknownName {
            expected: format!("{AUTO}, {}", unknown.expected),
            ..unknown
        });
        scheme.map(SchemeChoice::Only)
    }
}

/// The name of the choice.
const AUTO: &str = "auto";

/// What devices do by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DevicesChoice {
    /// Agents in devices pass drain tokens on, and move hosts when notified.
    Agents,
    /// Devices as shipped: packets age out of lanes, and hosts query the SA again.
    Standard,
}

/// How sources are moved to the other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SourcesChoice {
    /// By standard means: clients are asked to query the SA again, then a fence closes.
    Fence,
    /// By the vendor attribute ActiveHalf.
    Told,
}

/// The engines of a subnet manager, as a user lists them.
pub(super) fn managers_engines() -> String {
    MANAGER_ENGINES.join(",")
}

/// The rate at which SMPs are served.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct RateArguments {
    /// Time a device takes to serve one SMP, in nanoseconds; used for the expected durations.
    #[arg(long, value_name = "NS", default_value_t = SimConfig::default().sma_service_ns)]
    smp_time: u64,
    /// SMPs outstanding over all devices; used for the expected durations
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

impl RateArguments {
    /// The rate if no profile of devices is chosen.
    pub(super) fn rate(self) -> SmpRate {
        SmpRate { smp_ns: self.smp_time, window: self.window.map(|window| window as usize) }
    }

    /// The settings of a profile, at this rate.
    pub(super) fn over(self, settings: DeviceSettings) -> DeviceSettings {
        let SmpRate { smp_ns, window } = self.rate();
        DeviceSettings { smp_time_ns: smp_ns, window: window.or(settings.window), ..settings }
    }
}

/// The profile of devices, and the options that override it.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Devices")]
pub(super) struct DeviceArguments {
    /// What devices are capable of; other defaults depend on it
    #[arg(long, value_enum, value_name = "PROFILE")]
    devices: Option<DevicesChoice>,
    /// Observer that proves the old lanes empty: token, poll, conservation, or lifetime, which needs only age limits in
    /// switches
    #[arg(long, value_name = "OBSERVER")]
    drain: Option<Observer>,
    /// Port state while tables are installed and sources are notified: hold (the paper's), hold-each (switch by
    /// switch), discard (the specification's) or off [default: off]
    #[arg(long, value_name = "ARMING")]
    arming: Option<Arming>,
    /// How sources are moved to the other half
    #[arg(long, value_enum, value_name = "HOW")]
    sources: Option<SourcesChoice>,
    /// Seconds clients are given to query the SA again before the fence closes [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    settle: Option<f64>,
}

impl DeviceArguments {
    /// The chosen profile, else the command's default.
    pub(super) fn devices_or(&self, own: DeviceProfile) -> DeviceProfile {
        match self.devices {
            None => own,
            Some(DevicesChoice::Agents) => DeviceProfile::Agents,
            Some(DevicesChoice::Standard) => DeviceProfile::Standard,
        }
    }

    /// The settings of a profile, with the options that override them.
    pub(super) fn settings(&self, devices: DeviceProfile) -> DeviceSettings {
        DeviceSettings {
            observer: self.observer(devices),
            sources: self.sources(devices),
            arming: self.arming(devices),
            ..devices.settings()
        }
    }

    /// The observer, on devices of a profile.
    pub(super) fn observer(&self, devices: DeviceProfile) -> Observer {
        self.drain.unwrap_or(devices.settings().observer)
    }

    /// Port states while tables are installed, on devices of a profile.
    pub(super) fn arming(&self, devices: DeviceProfile) -> Arming {
        self.arming.unwrap_or(devices.settings().arming)
    }

    /// How sources are moved, on devices of a profile.
    pub(super) fn sources(&self, devices: DeviceProfile) -> SourceControl {
        let fence = || DeviceProfile::Standard.settings().sources.settle_ns().unwrap_or_default();
        let fenced = || SourceControl::Fenced { settle_ns: self.settle.map_or_else(fence, |s| (s * 1e9) as u64) };
        match self.sources {
            Some(SourcesChoice::Fence) => fenced(),
            Some(SourcesChoice::Told) => SourceControl::ByAgent,
            None if devices.settings().sources == SourceControl::ByAgent => SourceControl::ByAgent,
            None => fenced(),
        }
    }

    /// Refuses a time for hosts that are notified at once.
    pub(super) fn check(&self, devices: DeviceProfile) -> Result<(), Failure> {
        if self.settle.is_some() && self.sources(devices) == SourceControl::ByAgent {
            let why = "--settle: sources that are told move at once; omit it, or choose --sources fence or --devices standard";
            return Err(Failure::input(anyhow!(why)));
        }
        Ok(())
    }
}

/// What plans are made by, on devices with these settings.
pub(super) fn policy(
    settings: DeviceSettings,
    partition: PartitionArguments,
    reserved: ReservedArguments,
    turn_back: TurnBackArguments,
) -> Policy {
    Policy {
        arming: settings.arming,
        observer: settings.observer,
        sources: MovedBy::of_settle(settings.sources.settle_ns()),
        partition: partition.chosen(),
        turned_back: turn_back.chosen(),
        reserved_sl: reserved.chosen(),
    }
}

/// How the fabric before is brought up: the LMC and the data VLs as given, else the least that a change by two halves
/// needs, and the simulator's.
///
/// # Errors
/// A number that InfiniBand does not have.
pub(super) fn capture_settings(
    lmc_given: Option<u8>,
    vls_given: Option<u8>,
    reserved: ReservedArguments,
) -> Result<CaptureSettings, Failure> {
    Ok(CaptureSettings {
        data_vls: data_vls(vls_given.unwrap_or(SimConfig::default().data_vls))?,
        optimised_sl_to_vl: None,
        lmc: lmc(lmc_given.unwrap_or(1))?,
        reserved_sl: reserved.chosen(),
    })
}

/// Parses a number of seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    if (0.0..=86_400.0).contains(&value) { Ok(value) } else { Err("expected 0 to 86400 seconds".to_string()) }
}

/// Parses an address to listen at.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:9711 or [::1]:9711".to_string())
}

/// When the halves have lanes of their own.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct PartitionArguments {
    /// Give each half its own lanes between changes too. No change then moves a service level to another lane, and
    /// packets of one SLID, DLID and SL stay in order; each half has only half of the lanes.
    #[arg(long)]
    standing_partition: bool,
}

impl PartitionArguments {
    pub(super) fn chosen(self) -> LanePartition {
        if self.standing_partition { LanePartition::Standing } else { LanePartition::Temporary }
    }
}

/// A service level that no change moves.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ReservedArguments {
    /// Keep this service level out of both halves, alone on the last data VL, for multicast and for management to and
    /// from switches. No change moves it, and no barrier waits for it. The first level of a half cannot be reserved.
    #[arg(long, value_name = "SL", value_parser = clap::value_parser!(u8).range(0..=15))]
    reserved_sl: Option<u8>,
}

impl ReservedArguments {
    pub(super) fn chosen(self) -> Option<Sl> {
        self.reserved_sl.and_then(Sl::new)
    }
}

/// What sources and routers do with packets that go from subnet to subnet.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CrossingArguments {
    /// What routers do with service levels: raise (by one layer at each crossing, which prevents cycles through
    /// routers), turn (raise only where routes turn, which prevents them too) or keep [default: raise]
    #[arg(long, value_name = "RULE")]
    router_sl: Option<LevelsRule>,
    /// Hop limit that sources set [default: 64]
    #[arg(long, value_name = "COUNT")]
    hop_limit: Option<u8>,
    /// Direction in which router ports enforce partitions: both, in, out or off [default: both if the list names
    /// partitions, else off]
    #[arg(long, value_name = "WAY")]
    pub(super) part_enforce: Option<PartEnforce>,
}

impl CrossingArguments {
    /// Which of these options were given, by name: they are meaningless for one fabric.
    pub(super) fn given(self) -> [(bool, &'static str); 3] {
        [
            (self.router_sl.is_some(), "--router-sl"),
            (self.hop_limit.is_some(), "--hop-limit"),
            (self.part_enforce.is_some(), "--part-enforce"),
        ]
    }

    pub(super) fn rule(self) -> LevelsRule {
        self.router_sl.unwrap_or_default()
    }

    pub(super) fn hop_limit(self) -> u8 {
        self.hop_limit.unwrap_or(64)
    }
}

/// What switches do with packets routed back to their ingress port.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct TurnBackArguments {
    /// Switches send a packet back through its ingress port if its route says so. By default they discard it, as
    /// InfiniBand requires (PortRcvSwitchRelayErrors), and plans may rely on that.
    #[arg(long)]
    turn_back: bool,
}

impl TurnBackArguments {
    pub(super) fn chosen(self) -> TurnedBack {
        if self.turn_back { TurnedBack::Returned } else { TurnedBack::Discarded }
    }

    pub(super) fn are_discarded(self) -> bool {
        !self.turn_back
    }
}

/// The heading of these options in help; later options do not belong to it.
const FROM: &str = "Tables in force, instead of an engine";
const TO: &str = "New tables, instead of an engine";

/// Tables that a running subnet already has.
#[derive(Clone, Debug, Args)]
pub(super) struct FromArguments {
    /// Read the routing in force from forwarding tables in the format of OpenSM's opensm.fdbs; the fabric must have
    /// LIDs.
    #[arg(long, value_name = "FILE", conflicts_with = "from_lfts", help_heading = FROM)]
    from_fdbs: Option<PathBuf>,
    /// Read it from forwarding tables in the format of OpenSM's opensm-lfts.dump, dump_fts, dump_lfts.sh or ibroute.
    /// FILE may be a folder; repeat the option if each switch has its own file.
    #[arg(long, value_name = "FILE", help_heading = FROM)]
    from_lfts: Vec<PathBuf>,
    /// Service levels of paths, in the formats that `reconfig audit` reads.
    #[arg(long, value_name = "FILE", help_heading = FROM)]
    from_path_sl: Option<PathBuf>,
}

impl FromArguments {
    /// Whether an option names a file.
    pub(super) fn is_given(&self) -> bool {
        self.from_fdbs.is_some() || !self.from_lfts.is_empty() || self.from_path_sl.is_some()
    }

    /// The engines, of which these tables, if there are any, take the place of the one before.
    pub(super) fn engines(&self, fabric: &Fabric, named: Engines) -> Result<Engines, Failure> {
        Ok(match self.read(fabric)? {
            Some((running, _)) => Engines { before: Arc::new(running), ..named },
            None => named,
        })
    }

    /// What is to be asked of a change from these tables that cannot be made, if they do not suit the fabric; else
    /// nothing.
    pub(super) fn doubt(&self, error: &ChangeError) -> &'static str {
        match error {
            ChangeError::Old(Refusal::BlackHole(_) | Refusal::Loop(_) | Refusal::WrongArrival(_))
                if self.is_given() =>
            {
                "; are both files of the same moment?"
            }
            _ => "",
        }
    }

    /// The tables of these files, read for the fabric that they run on, and what they lack, which reports of changes
    /// say in a note; none if no file is named.
    pub(super) fn read(&self, fabric: &Fabric) -> Result<Option<(Imported, Option<AbsentRows>)>, Failure> {
        let Some(tables) = read_tables(self.from_fdbs.as_ref(), &self.from_lfts, fabric)? else {
            return match self.from_path_sl {
                Some(_) => Err(Failure::input(anyhow!("--from-path-sl requires --from-fdbs or --from-lfts"))),
                None => Ok(None),
            };
        };
        let levels = self.from_path_sl.as_ref().map(|file| read_dump(file, fabric, read_path_sls)).transpose()?;
        let absent = absent_rows(fabric, &tables.tables);
        Ok(Some((Imported::new(fabric, &tables.tables, levels), absent)))
    }
}

/// Forwarding tables to install by a change.
#[derive(Clone, Debug, Args)]
pub(super) struct ToArguments {
    /// Change to these forwarding tables, in the format of OpenSM's opensm.fdbs, for the LIDs of the fabric before.
    /// Requires --scheme double, in-place or static: the others keep every route that still works.
    #[arg(long, value_name = "FILE", group = "what", conflicts_with_all = ["to_lfts", "to_engine"], help_heading = TO)]
    to_fdbs: Option<PathBuf>,
    /// Change to these forwarding tables, in the formats of --from-lfts.
    #[arg(long, value_name = "FILE", group = "what", conflicts_with = "to_engine", help_heading = TO)]
    to_lfts: Vec<PathBuf>,
}

impl ToArguments {
    /// Whether an option names a file.
    pub(super) fn is_given(&self) -> bool {
        self.to_fdbs.is_some() || !self.to_lfts.is_empty()
    }

    /// The tables of these files, read for the fabric that they are to run on, which has the LIDs before; `renumbered`
    /// says which ports have others after. None if no file is named.
    pub(super) fn read(
        &self,
        scheme: SchemeChoice,
        after: &Fabric,
        renumbered: Option<&str>,
    ) -> Result<Option<Imported>, Failure> {
        let refused = |why: &str| Err(Failure::input(anyhow!("--to-fdbs, --to-lfts: {why}")));
        if !self.is_given() {
            return Ok(None);
        }
        if scheme.is_auto() || scheme.scheme() == Scheme::Ordered {
            return refused(
                "schemes auto and ordered keep ways that still lead somewhere, and may end with other tables: choose double, \
                 in-place or static",
            );
        }
        if let Some(moved) = renumbered {
            return refused(&format!("{moved}: those tables are for others"));
        }
        let tables = read_tables(self.to_fdbs.as_ref(), &self.to_lfts, after)?;
        Ok(tables.map(|tables| Imported::new(after, &tables.tables, None)))
    }
}

/// The tables of every switch; none if no file is named.
fn read_tables(fdbs: Option<&PathBuf>, lfts: &[PathBuf], fabric: &Fabric) -> Result<Option<Lfts>, Failure> {
    let tables = match (fdbs, lfts) {
        (Some(file), _) => read_dump(file, fabric, read_fdbs)?,
        (None, [_, ..]) => read_lfts_of(lfts, fabric)?,
        (None, []) => return Ok(None),
    };
    match tables.describe_missing(fabric) {
        Some(missing) => Err(Failure::input(anyhow!("{missing}: name the tables of every switch"))),
        None => Ok(Some(tables)),
    }
}

/// Form of SL-to-VL tables that switches accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SlToVlChoice {
    /// One table for each pair of input and output ports.
    Plain,
    /// One SMP sets all tables.
    Optimised,
}

/// The count of `--vls`, checked.
pub(super) fn data_vls(vls: u8) -> Result<u8, Failure> {
    if [1, 2, 4, 8, 15].contains(&vls) {
        return Ok(vls);
    }
    Err(Failure::input(anyhow!("{vls} data VLs: InfiniBand ports have 1, 2, 4, 8 or 15")))
}

/// Classifies a failure to route a fabric.
pub(super) fn unrouted(error: BringUpError) -> Failure {
    match error {
        BringUpError::NoSwitch | BringUpError::Fit(_) => Failure::input(error),
        _ => Failure::undone(error),
    }
}

/// The value of `--lmc`, checked.
pub(super) fn lmc(lmc: u8) -> Result<Lmc, Failure> {
    Lmc::new(lmc).ok_or_else(|| Failure::input(anyhow!("LMC {lmc}: expected 0 to 7")))
}
