//! `reconfig sm`: the subnet manager of a real subnet, through the kernel's user MAD interface.

use super::choice::{address, seconds};
use super::keys::{MKeyArguments, SmKeyArguments, hexadecimal};
use super::log::Reload;
use super::outcome::{Answer, Failure};
use super::port::PortArguments;
use super::{Common, choice, output};
use crate::report::{LivePage, live_files};
use anyhow::anyhow;
use reconfig::change;
use reconfig::driver::ForesightScope;
use reconfig::frontend::control::{Control, DEFAULT_SOCKET, OwnPort, PolicyStatus};
use reconfig::frontend::metrics::{Metrics, MetricsServer};
use reconfig::frontend::web::{PageParts, WebServer};
use reconfig::frontend::{Frontend, LiveState, StaticStatus, lid_file, prefix_file, systemd};
use reconfig::ids::{Guid, Half, Lmc};
use reconfig::journal::{Journal, JournalError};
use reconfig::lid::{self, Guid2Lid};
use reconfig::plan::Policy;
use reconfig::routing::{Engine, FALLBACK_ENGINE, MANAGER_ENGINES, Parameters};
use reconfig::sa::{PathCapacity, PathRate, Remote};
use reconfig::sm::election::{ElectionRules, Rank};
use reconfig::sm::pace::SweepPolicy;
use reconfig::sm::{
    AgeLimits, Config, Context, Happening, Mailbox, ManagerOrder, Planning, RunUntil, SharedMailbox, SmError, Takeover,
};
use reconfig::subnet::{DeviceProfile, DeviceSettings, Manager, SubnetManager as _, Timing};
use reconfig::transport::AnyTransport;
use reconfig::transport::faults::{Chances, Faulty};
use reconfig::transport::umad::{Adapter, AdapterPort, Umad, UmadOptions, UmadRole};
use reconfig::wire::{Gid, Mtu};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// How long a manager may take to stop if nothing is pending, and if it must finish a change, its retired half or a
/// recovery. The longer time is shorter than `TimeoutStopSec` of the service.
const STOP_OWING_NOTHING: Duration = Duration::from_secs(1);
const STOP_OWING: Duration = Duration::from_secs(90);
/// Interval between checks whether that time is over.
const STOP_LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs in the foreground; packaging/reconfig-sm.service runs it under systemd. Requires libibumad (Debian: libibumad3) and \
permission to open /dev/infiniband/umadN. Use `reconfig status`, `reconfig change` and `reconfig events` to control it.

Examples:
  reconfig sm --list
  reconfig sm --once --lmc 1
  reconfig sm --ca mlx5_0 --port 1 --guid2lid /var/lib/reconfig/guid2lid
  reconfig sm --subnet-prefix fec0000000000001 --prefix-routes /etc/opensm/prefix-routes.conf

Exit codes: 0 stopped on request; 2 wrong usage; 3 the port failed, a change was left unfinished or end ports closed, or with --once the subnet could not be brought up.")]
#[command(mut_arg("engine", |option| choice::by_default(option, &choice::managers_engines())))]
#[command(mut_arg("devices", |option| choice::by_default(option, "standard")))]
#[command(mut_arg("drain", |option| choice::by_default(option, "lifetime; with --devices agents token")))]
#[command(mut_arg("sources", |option| choice::by_default(option, "fence; with --devices agents told")))]
pub(super) struct Arguments {
    /// List this machine's adapters and ports and exit.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    port: PortArguments,
    /// Bring the subnet up and exit.
    #[arg(long)]
    once: bool,
    /// Routing engine, or several in order of preference: the first that can route the subnet is used.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values = MANAGER_ENGINES, hide_default_value = true, value_parser = choice::engine_names())]
    engine: Vec<String>,
    /// Do not fall back. By default, engine up-down-robust and scheme auto take over if the chosen engine or scheme
    /// yields nothing that is proved; the log and `reconfig status` report it.
    #[arg(long)]
    no_fallback: bool,
    /// How to change the routing: `auto` writes forwarding entries only, if every mixture of old and new ones is
    /// proved, and otherwise moves hosts to the other half of their LIDs; `double` always moves them.
    #[arg(long, value_name = "SCHEME", default_value = "auto", value_parser = ["auto", "double"])]
    scheme: String,
    /// While idle, prepare plans for the loss of each switch and of each cable between switches, using at most this
    /// many MiB (1024 if no number is given), so that such a loss need not wait for planning [default: only on fabrics
    /// where this takes seconds, such as a torus of 64 switches and 64 hosts, and at most 128 MiB].
    #[arg(long, value_name = "MIB", num_args = 0..=1, require_equals = true, default_missing_value = "1024", value_parser = clap::value_parser!(u32).range(1..))]
    foresee: Option<u32>,
    /// Prepare no plans for losses.
    #[arg(long, conflicts_with = "foresee")]
    no_foresee: bool,
    /// LID mask control of every end port: 2^LMC LIDs, half of them in use and half spare. With 0, a port has one LID,
    /// and only changes by forwarding entries alone are possible [default: that of a subnet that carries traffic, else
    /// 1].
    #[arg(long, value_name = "LMC", value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Maximum number of data VLs in operation; fewer if a port has fewer, but at least two [default: those of a subnet
    /// that carries traffic, else 4].
    #[arg(long, value_name = "VLS", value_parser = clap::value_parser!(u8).range(2..=15))]
    vls: Option<u8>,
    /// What to do with a subnet that carries traffic under tables that can neither be proved nor repaired with a proof:
    /// `rewrite` rewrites them in place, as any subnet manager does, without a proof; `proved` writes nothing and
    /// reports it.
    #[arg(long, value_name = "WHAT", default_value = "rewrite", value_parser = ["rewrite", "proved"])]
    takeover: String,
    /// Manage the subnet even if switches have adaptive routing, or fallback to other outputs, enabled. Proofs assume
    /// that such a switch follows its forwarding entries, and do not cover packets that it sends elsewhere.
    #[arg(long)]
    allow_adaptive: bool,
    #[command(flatten)]
    partition: choice::PartitionArguments,
    #[command(flatten)]
    reserved: choice::ReservedArguments,
    /// MTU of the IPoIB broadcast groups: 256, 512, 1024, 2048 or 4096 bytes. OpenSM's partitions.conf calls it `mtu=`
    /// (4: 2048, 5: 4096). A port with a smaller MTU cannot join.
    #[arg(long, value_name = "BYTES", default_value = "2048", requires = "reserved_sl")]
    ipoib_mtu: Mtu,
    /// Rate of the IPoIB broadcast groups, in Gb/s. OpenSM's partitions.conf calls it `rate=`. Slower ports cannot
    /// join.
    #[arg(long, value_name = "GBPS", default_value = "10", requires = "reserved_sl")]
    ipoib_rate: PathRate,
    #[command(flatten)]
    turn_back: choice::TurnBackArguments,
    /// Age limit of packets in switches, SwitchInfo:LifeTimeValue: 4.096 µs × 2^N.
    #[arg(long, value_name = "N", default_value_t = AgeLimits::default().life_time_value, value_parser = clap::value_parser!(u8).range(0..=20))]
    life_time_value: u8,
    /// HOQLife of ports between switches: 4.096 µs × 2^N.
    #[arg(long, value_name = "N", default_value_t = AgeLimits::default().hoq_life, value_parser = clap::value_parser!(u8).range(0..=31))]
    hoq_life: u8,
    /// HOQLife of switch ports that lead to end ports.
    #[arg(long, value_name = "N", default_value_t = AgeLimits::default().leaf_hoq_life, value_parser = clap::value_parser!(u8).range(0..=31))]
    leaf_hoq_life: u8,
    /// Do not ask hosts to register again with the SA (PortInfo:ClientReregister) when this manager becomes master.
    /// They then keep the paths that an earlier manager gave them, and what they registered there is lost.
    #[arg(long)]
    no_client_reregister: bool,
    /// Priority of this manager, 0 to 15; at equal priority the lower port GUID wins.
    #[arg(long, value_name = "PRIORITY", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=15))]
    priority: u8,
    #[command(flatten)]
    sm_key: SmKeyArguments,
    /// Seconds between polls of the master while on standby.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = poll_seconds)]
    standby_poll: f64,
    /// File that keeps LIDs between runs, in OpenSM's format; read at start, written when LIDs change.
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    /// Folder of the journal, which records each change before it is made, so that a restarted manager can continue it
    /// [default: $STATE_DIRECTORY, else /var/lib/reconfig for root and ~/.local/state/reconfig for others].
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Keep no journal: after a crash, the next manager repairs the subnet from the tables of its devices alone.
    #[arg(long, conflicts_with = "journal")]
    no_journal: bool,
    #[command(flatten)]
    m_key: MKeyArguments,
    /// GID prefix of the subnet, in hexadecimal [default: that of a subnet that carries traffic, else
    /// fe80000000000000].
    #[arg(long, value_name = "PREFIX", value_parser = unicast_prefix)]
    subnet_prefix: Option<u64>,
    /// OpenSM's prefix-routes file, which maps other subnets to router ports; read at start.
    #[arg(long, value_name = "FILE")]
    prefix_routes: Option<PathBuf>,
    /// HopLimit of paths found by prefix routes, whose length is unknown; OpenSM uses 255.
    #[arg(long, value_name = "HOPS", default_value_t = Remote::OPENSM_HOP_LIMIT, requires = "prefix_routes", value_parser = clap::value_parser!(u8).range(2..))]
    hop_limit: u8,
    /// Maximum number of outstanding SMPs.
    #[arg(long, value_name = "SMPS", default_value_t = Timing::STANDARD_WINDOW as u16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    window: u16,
    /// Milliseconds without an answer after which an SMP is retransmitted.
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    timeout: u32,
    /// Maximum retransmissions of an SMP.
    #[arg(long, value_name = "TIMES", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=30))]
    retries: u32,
    /// Seconds between light sweeps while the subnet is quiet; 0: none.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    sweep: f64,
    /// Control socket for `reconfig status`, `change` and `events`; not created with --once.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
    /// Serve Prometheus metrics over HTTP at this address, such as 127.0.0.1:9710 [default: off].
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Allow a --metrics address that other machines can reach.
    #[arg(long, requires = "metrics")]
    metrics_anywhere: bool,
    /// Serve a read-only page that shows the manager, the subnet and any change in progress, at this loopback address,
    /// such as 127.0.0.1:9711, for browsers on this machine [default: off].
    #[arg(long, value_name = "ADDRESS", conflicts_with = "once", value_parser = address)]
    web: Option<SocketAddr>,
    /// Log format.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    log_format: String,
    /// Pause at every barrier of a change until ordered to continue.
    #[arg(long)]
    pause_at_barriers: bool,
    /// Deliberately lose, delay and duplicate MADs, for tests: `loss=0.2,late=0.2,late-ms=300,double=0.01,seed=7`.
    #[arg(long, value_name = "FAULTS", value_parser = faults)]
    faults: Option<Faults>,
    #[command(flatten)]
    devices: choice::DeviceArguments,
}

/// Deliberate faults.
#[derive(Clone, Copy, Debug)]
struct Faults {
    chances: Chances,
    seed: u64,
}

fn faults(text: &str) -> Result<Faults, String> {
    let mut faults = Faults { chances: Chances::default(), seed: 1 };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected KEY=VALUE"))?;
        let number: f64 = value.parse().map_err(|_| format!("`{part}`: expected a number"))?;
        let chance = (0.0..1.0).contains(&number).then_some(number).ok_or(format!("`{part}`: expected 0 to below 1"));
        match key {
            "loss" => faults.chances.lost = chance?,
            "late" => faults.chances.late = chance?,
            "double" => faults.chances.doubled = chance?,
            "late-ms" => faults.chances.late_ns = (number * 1e6) as u64,
            "seed" => faults.seed = number as u64,
            _ => return Err(format!("`{key}`: expected loss, late, late-ms, double or seed")),
        }
    }
    Ok(faults)
}

pub(super) fn run(arguments: &Arguments, common: Common, reload: Reload) -> Result<Answer, Failure> {
    if arguments.list {
        return list(common);
    }
    arguments.devices.check(arguments.devices())?;
    if let Some(sl) = arguments.reserved.chosen().filter(|&sl| Half::rank(sl) == 0) {
        return Err(Failure::input(SmError::ReservedFirst { sl }));
    }
    if let (Some(sl), Some(data_vls @ ..3)) = (arguments.reserved.chosen(), arguments.vls) {
        return Err(Failure::input(SmError::NoLaneToReserve { sl, data_vls: data_vls.into() }));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::undone(anyhow!(error).context("starting the event loop")))?.block_on(async {
        let answer_ms = arguments.timeout.saturating_mul(10);
        let options = UmadOptions { answer_ms, ..arguments.port.options(UmadRole::Manager) };
        let port = Umad::open(&options).map_err(Failure::undone)?;
        let own = OwnPort {
            adapter: port.adapter().to_string(),
            port: port.port(),
            guid: port.guid(),
            priority: arguments.priority,
        };
        let devices = arguments.devices().name();
        tracing::info!(adapter = port.adapter(), port = %port.port(), devices, "managing the subnet behind this port");
        match arguments.faults {
            None => run_on(arguments, Box::new(port), own, reload).await,
            Some(Faults { chances, seed }) => {
                run_on(arguments, Box::new(Faulty::new(port, chances, chances, seed)), own, reload).await
            }
        }
    })
}

fn list(common: Common) -> Result<Answer, Failure> {
    let adapters = Umad::list().map_err(Failure::undone)?;
    if common.json {
        let rows: Vec<_> =
            adapters.iter().flat_map(|adapter| adapter.ports.iter().map(|port| port_row(adapter, port))).collect();
        output::print_json(&rows)?;
        return Ok(Answer::Yes);
    }
    let width = adapters.iter().map(|adapter| adapter.name.chars().count()).max().unwrap_or_default();
    for adapter in &adapters {
        for port in &adapter.ports {
            println!(
                "{:<width$} {:>3}  {}  {:?}/{:?}  LID {}  {}",
                adapter.name, port.number, port.guid, port.state, port.phys_state, port.lid, port.link_layer
            );
        }
    }
    Ok(Answer::Yes)
}

fn port_row(adapter: &Adapter, port: &AdapterPort) -> serde_json::Value {
    serde_json::json!({
        "adapter": adapter.name, "port": port.number.0, "port_guid": port.guid.to_string(),
        "node_guid": adapter.node_guid.to_string(), "state": format!("{:?}", port.state),
        "physical_state": format!("{:?}", port.phys_state), "lid": port.lid.0, "lmc": port.lmc,
        "sm_lid": port.sm_lid.0, "link_layer": port.link_layer,
    })
}

/// Runs the manager together with its frontend.
async fn run_on(
    arguments: &Arguments,
    transport: AnyTransport,
    port: OwnPort,
    reload: Reload,
) -> Result<Answer, Failure> {
    let mailbox = Mailbox::new(arguments.pause_at_barriers);
    let manager = Manager::new(transport, timing(arguments), arguments.m_key.chosen()?);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ns = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
    let epoch_ns = now_ns.saturating_sub(manager.now_ns());
    let context = context(arguments, port.guid, mailbox.clone(), epoch_ns)?;
    let mut frontend = Frontend::new(mailbox.clone(), static_status(arguments, port));
    frontend.counts(context.responder.clone());
    frontend.sets_log(Box::new(move |filter| reload.filter(filter)));
    let until = if arguments.once { RunUntil::Up } else { RunUntil::Stopped };
    if until == RunUntil::Stopped {
        let (control, requests) = Control::bind(&arguments.socket).map_err(Failure::undone)?;
        frontend.serves(requests, control.events());
        tokio::spawn(control.serve());
    }
    if let Some(address) = arguments.metrics {
        let metrics = Arc::new(Metrics::new());
        let server = MetricsServer::bind(address, arguments.metrics_anywhere).await.map_err(Failure::input)?;
        tokio::spawn(server.serve(metrics.clone()));
        frontend.measures(metrics);
    }
    if let Some(address) = arguments.web {
        show(address, &mut frontend).await?;
    }
    let outcome = tokio::select! {
        outcome = reconfig::sm::run(manager, context, until) => outcome,
        never = frontend.attend(log) => match never {},
        () = asked_to_end(&mailbox) => mailbox.borrow().left_behind().map_or(Ok(()), Err),
    };
    frontend.look(log);
    systemd::stopping();
    outcome.map(|()| Answer::Yes).map_err(Failure::undone)
}

/// Serves the page about the manager. A separate thread draws it while a client is connected.
async fn show(address: SocketAddr, frontend: &mut Frontend) -> Result<(), Failure> {
    let server = WebServer::bind(address).await.map_err(Failure::input)?;
    let bound = server.address().map_err(Failure::undone)?;
    tracing::info!("a page about this manager: http://{bound}/");
    let parts = watch::Sender::new(PageParts::new());
    tokio::spawn(server.serve(live_files(), parts.clone()));
    let (states, shown) = channel();
    std::thread::spawn(move || draw(&shown, &parts));
    // The thread ends with the process.
    frontend.shows(Box::new(move |state| drop(states.send(state))));
    Ok(())
}

/// Draws the latest of the states, again and again.
fn draw(states: &Receiver<LiveState>, parts: &watch::Sender<PageParts>) {
    let mut page = LivePage::default();
    while let Ok(mut state) = states.recv() {
        page.hear(SystemTime::now(), std::mem::take(&mut state.events));
        for later in states.try_iter() {
            state = later;
            page.hear(SystemTime::now(), std::mem::take(&mut state.events));
        }
        if parts.receiver_count() > 0 {
            parts.send_replace(page.draw(&state));
        }
    }
}

fn static_status(arguments: &Arguments, port: OwnPort) -> StaticStatus {
    let (devices, own) = (arguments.devices(), arguments.device_settings());
    StaticStatus {
        port,
        engine: arguments.engine.join(","),
        data_vls: arguments.vls.unwrap_or(Config::DATA_VLS),
        policy: PolicyStatus {
            devices: Some(devices),
            given: own.unlike(devices).into_iter().map(str::to_string).collect(),
            scheme: arguments.scheme.clone(),
            sources: own.sources.name().to_string(),
            observer: own.observer.to_string(),
            arming: own.arming.to_string(),
            partition: arguments.partition.chosen(),
        },
    }
}

/// Opens the journal of the manager at this port. If there is no room for it now, nothing is recorded until there is.
fn journal(arguments: &Arguments, guid: Guid, epoch_ns: u64) -> Result<Option<Journal>, Failure> {
    if arguments.no_journal {
        return Ok(None);
    }
    let folder = arguments.journal.clone().map_or_else(super::journal::default_folder, Ok)?;
    let path = folder.join(super::journal::file_name(guid));
    opened_or_given_up(Journal::open(&path, epoch_ns), &path, epoch_ns).map(Some)
}

fn opened_or_given_up(
    opened: Result<(Journal, Vec<String>), JournalError>,
    path: &Path,
    epoch_ns: u64,
) -> Result<Journal, Failure> {
    match opened {
        Ok((journal, warnings)) => {
            warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            Ok(journal)
        }
        // Hosts do not wait for a disk, even if it becomes full later.
        Err(error) if error.is_of_a_full_disk() => {
            let what = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
            let why = format!("{}: {what}", path.display());
            tracing::error!("changes are made WITHOUT A JOURNAL until it can be written: {why}");
            Ok(Journal::unopened(path, epoch_ns, why))
        }
        // A folder that does not serve is the user's choice; another manager that writes there is not.
        Err(error @ (JournalError::Locked { .. } | JournalError::Write { .. })) => Err(Failure::undone(error)),
        Err(error) => Err(Failure::input(error)),
    }
}

/// The upper half of GIDs of ports, which those of multicast groups are not (section 4.1.1).
fn unicast_prefix(text: &str) -> Result<u64, String> {
    let prefix = hexadecimal(text)?;
    match prefix == 0 || (Gid { prefix, guid: Guid(0) }).is_multicast() {
        true => Err("expected a prefix of unicast GIDs, such as fec0000000000001: not 0, and not ff…".to_string()),
        false => Ok(prefix),
    }
}

fn poll_seconds(text: &str) -> Result<f64, String> {
    let value = seconds(text)?;
    if value >= 0.1 {
        Ok(value)
    } else {
        Err("expected 0.1 to 86400 seconds: a master has to have time to answer".to_string())
    }
}

fn context(arguments: &Arguments, guid: Guid, mailbox: SharedMailbox, epoch_ns: u64) -> Result<Context, Failure> {
    let config = config(arguments)?;
    let poll_ns = (arguments.standby_poll * 1e9) as u64;
    let rules = ElectionRules {
        sm_key: arguments.sm_key.chosen()?,
        poll_ns,
        ..ElectionRules::new(Rank { priority: arguments.priority, guid })
    };
    let kept = match &arguments.guid2lid {
        Some(path) => lid_file::load(path).map_err(Failure::input)?,
        None => Guid2Lid::new(),
    };
    let kept = Rc::new(RefCell::new(kept));
    let (known, path) = (kept.clone(), arguments.guid2lid.clone());
    let mut is_stored = true;
    let sweep_ns = (arguments.sweep * 1e9) as u64;
    let most_ns = if sweep_ns == 0 { u64::MAX } else { sweep_ns };
    let default = SweepPolicy::default();
    let pace = SweepPolicy { most_ns, least_ns: default.least_ns.min(most_ns), ..default };
    let journal = journal(arguments, guid, epoch_ns)?;
    Ok(Context {
        assign: Box::new(move |fabric, lmc, held| Ok(lid::assign_beside_data(fabric, lmc, &known.borrow(), held)?)),
        keep: Box::new(move |fabric| {
            let learnt = kept.borrow().learn(fabric);
            let is_due = !is_stored || learnt != *kept.borrow();
            let stored = path.as_ref().filter(|_| is_due).map_or(Ok(()), |path| lid_file::save(path, &learnt));
            is_stored = stored.is_ok();
            *kept.borrow_mut() = learnt;
            stored.map_err(|error| error.to_string())
        }),
        pace,
        journal,
        epoch_ns,
        ..Context::of(config, rules, mailbox)
    })
}

fn config(arguments: &Arguments) -> Result<Config, Failure> {
    let engine = change::engine_listed(&arguments.engine, &Parameters::default()).map_err(Failure::input)?;
    let devices = arguments.device_settings();
    Ok(Config {
        policy: Policy {
            sources: Policy::default().sources,
            ..choice::policy(devices, arguments.partition, arguments.reserved, arguments.turn_back)
        },
        auto: arguments.scheme == "auto",
        foresee: match arguments.foresee {
            _ if arguments.no_foresee => None,
            None => Some(ForesightScope::WhereCheap),
            Some(mib) => Some(ForesightScope::UpTo(usize::try_from(u64::from(mib) << 20).unwrap_or(usize::MAX))),
        },
        sources: devices.sources,
        lmc: Lmc::masked(arguments.lmc.unwrap_or(1)),
        lmc_is_required: arguments.lmc.is_some(),
        data_vls: arguments.vls.unwrap_or(Config::DATA_VLS),
        data_vls_are_required: arguments.vls.is_some(),
        m_key: arguments.m_key.chosen()?,
        subnet_prefix: arguments.subnet_prefix.unwrap_or(Gid::DEFAULT_PREFIX),
        subnet_prefix_is_required: arguments.subnet_prefix.is_some(),
        remote: remote(arguments)?.into(),
        broadcast: PathCapacity { mtu: arguments.ipoib_mtu, rate: arguments.ipoib_rate },
        limits: AgeLimits {
            hoq_life: arguments.hoq_life,
            leaf_hoq_life: arguments.leaf_hoq_life,
            life_time_value: arguments.life_time_value,
            ..AgeLimits::default()
        },
        planning: Planning::Threaded,
        fallback: if arguments.no_fallback { None } else { Some(fallback()?) },
        allows_adaptive: arguments.allow_adaptive,
        asks_clients: !arguments.no_client_reregister,
        takeover: if arguments.takeover == "proved" { Takeover::Proved } else { Takeover::Rewrite },
        ..Config::by(Arc::from(engine))
    })
}

/// Routes every connected subnet.
fn fallback() -> Result<Arc<dyn Engine>, Failure> {
    let engine = change::engine_named(FALLBACK_ENGINE, &Parameters::default()).map_err(Failure::input)?;
    Ok(Arc::from(engine))
}

/// The routes to other subnets, for the SA.
fn remote(arguments: &Arguments) -> Result<Remote, Failure> {
    let Some(path) = &arguments.prefix_routes else { return Ok(Remote::none()) };
    let routes = prefix_file::load(path).map_err(Failure::input)?;
    if arguments.subnet_prefix.is_none_or(|prefix| prefix == Gid::DEFAULT_PREFIX) {
        tracing::warn!(
            "no router passes on what is sent to a link-local prefix: answers reach this subnet only with --subnet-prefix, or if it \
             runs under another prefix already"
        );
    }
    Ok(Remote::of_prefix_routes(&routes, arguments.hop_limit))
}

fn timing(arguments: &Arguments) -> Timing {
    let sweep_ns = (arguments.sweep * 1e9) as u64;
    Timing {
        timeout_ns: u64::from(arguments.timeout) * 1_000_000,
        retries: arguments.retries,
        window: arguments.window.into(),
        light_sweep_ns: (sweep_ns > 0).then_some(sweep_ns),
        ..Timing::default()
    }
}

/// The first signal orders the manager to stop, which it does between two operations. The second signal, or the end of
/// its time limit, stops it where it is.
async fn asked_to_end(mailbox: &SharedMailbox) {
    tokio::select! {
        () = signal_to_end() => {}
        () = obey_signals(mailbox) => {}
    }
    tracing::info!("asked to end: ends after a change under way, or at once if asked again");
    mailbox.borrow_mut().order(ManagerOrder::Stop);
    tokio::select! {
        () = signal_to_end() => tracing::warn!("asked twice to end: a change under way stays where it is"),
        () = time_is_over(mailbox) => {}
    }
}

/// Devices that do not answer must not delay the end of a manager that has nothing to finish. A manager with something
/// to finish must not wait for them for ever.
async fn time_is_over(mailbox: &SharedMailbox) {
    let asked = tokio::time::Instant::now();
    loop {
        tokio::time::sleep(STOP_LOOK).await;
        let owes = mailbox.borrow().ends_what_it_owes();
        if asked.elapsed() < if owes { STOP_OWING } else { STOP_OWING_NOTHING } {
            continue;
        }
        return match owes {
            true => tracing::warn!("what is under way has not ended in time, and stays where it is"),
            false => tracing::info!("what is under way owes nothing, and is broken off"),
        };
    }
}

/// Signals that would end a process that does not handle them, perhaps while end ports are closed. SIGHUP starts a
/// sweep, as in OpenSM. SIGUSR1, with which OpenSM reopens its log file, is ignored: this log goes to the standard
/// error.
async fn obey_signals(mailbox: &SharedMailbox) {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).expect("it may be handled");
    let mut hangs_up = listen(SignalKind::hangup());
    let mut users = [SignalKind::user_defined1(), SignalKind::user_defined2()].map(listen);
    let [one, two] = &mut users;
    loop {
        tokio::select! {
            _ = hangs_up.recv() => {
                tracing::info!("SIGHUP: sweeping");
                mailbox.borrow_mut().order(ManagerOrder::Sweep);
            }
            _ = one.recv() => tracing::info!("SIGUSR1 is ignored"),
            _ = two.recv() => tracing::info!("SIGUSR2 is ignored"),
        }
    }
}

/// Waits for SIGINT or SIGTERM.
async fn signal_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

fn log(now_ns: u64, happening: &Happening) {
    let seconds = now_ns as f64 / 1e9;
    match happening {
        Happening::HostsUp => tracing::info!(seconds, "HOSTS UP, and SL-to-VL tables follow"),
        Happening::Up { arrival, .. } => tracing::info!(seconds, ?arrival, "SUBNET UP"),
        Happening::Begun { why } => tracing::info!(seconds, "change: {why}"),
        Happening::Entered { state } => tracing::info!(seconds, state, "entered"),
        Happening::Held { barrier } => tracing::info!(seconds, barrier, "waiting to be continued"),
        Happening::Changed(record) => {
            let outcome = &record.outcome;
            let smps: u64 = record.phases.iter().map(|phase| phase.smps.total()).sum();
            tracing::info!(seconds, ?outcome, smps, "the change is over");
        }
        Happening::Failed(why) => tracing::error!(seconds, "{why}"),
        other => tracing::debug!(seconds, ?other),
    }
}

impl Arguments {
    fn devices(&self) -> DeviceProfile {
        self.devices.devices_or(DeviceProfile::Standard)
    }

    /// The manager has time-outs of its own.
    fn device_settings(&self) -> DeviceSettings {
        self.devices.settings(self.devices())
    }

    /// Whether the log is JSON.
    pub(super) fn logs_json(&self) -> bool {
        self.log_format == "json"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, ErrorKind};

    #[test]
    fn a_manager_starts_without_a_journal_where_the_disk_is_full() {
        let failed =
            |kind: ErrorKind| Err(JournalError::Write { path: "sm.journal".into(), source: io::Error::from(kind) });
        let path = Path::new("sm.journal");
        let Ok(journal) = opened_or_given_up(failed(ErrorKind::StorageFull), path, 0) else { panic!("it goes on") };
        assert!(journal.given_up().is_some_and(|why| why.starts_with("sm.journal: ")), "{:?}", journal.given_up());
        assert!(opened_or_given_up(failed(ErrorKind::PermissionDenied), path, 0).is_err());
    }
}
