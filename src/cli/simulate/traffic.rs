//! The traffic of `reconfig simulate`: who sends what to whom, on which paths, and how it is measured.

use super::super::element::find_node;
use super::super::input::read_text;
use super::super::outcome::Failure;
use super::super::permutation::{self, NAMED};
use super::change::find_in;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use reconfig::fabric::subnets::{SubnetPort, Subnets};
use reconfig::ids::Sl;
use reconfig::sim::{ArrivalProcess, Dispersal, MessageShare, Monitor, PACKET_LENGTHS, PathChoice, Spray, Traffic};

/// The permutation that the old routing serves worst: only the run can compute it.
pub(super) const WORST: &str = "worst";

#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub(super) struct TrafficArguments {
    /// Offered load, as a fraction of each end port's rate [default: 0.3, or less if that would saturate the busiest
    /// link or make the run long].
    #[arg(long, allow_negative_numbers = true, value_parser = fraction)]
    pub(super) load: Option<f64>,
    /// Traffic pattern: uniform; permutation (drawn from the seed); complement, reverse, shuffle or transpose (of the
    /// bits of the end ports' ranks), tornado (nearly halfway round) or neighbour; permutation:FILE (a destination
    /// rank, or a source and a destination rank, per line; end ports without a line are silent); worst (the permutation
    /// that the old routing serves worst; for one fabric only); hot-spot:RANK,SHARE; or trace:FILE (time in ns from the
    /// start of the warm-up, source rank, destination rank and bytes per line). FILE `-` is standard input.
    #[arg(long, default_value = "uniform")]
    pub(super) traffic: String,
    #[command(flatten)]
    pub(super) sources: SourceArguments,
    /// Every host also polls the counters of one switch after another, by packets to their LIDs on this service level,
    /// whichever half is in use.
    #[arg(long, value_name = "SL", value_parser = clap::value_parser!(u8).range(0..=15))]
    pub(super) monitor_sl: Option<u8>,
    /// Interval between a host's polls, in nanoseconds [default: 1000]
    #[arg(long, value_name = "NS", requires = "monitor_sl", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) monitor_every: Option<u64>,
    /// Fraction of packets that are requests; each is answered on the half on which it arrived.
    #[arg(long, default_value_t = 0.0)]
    pub(super) replies: f64,
    /// Packet size in bytes, headers included; a trace gives the size of each packet [default: 1024]
    #[arg(long, value_name = "BYTES")]
    pub(super) packet_bytes: Option<u16>,
    /// Packets a host queues before its application must wait; latency excludes this wait [default: 16]
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) send_queue: Option<u16>,
    /// Two hosts that set up a connection (REQ, REP and RTU), starting with the measured period; may be repeated.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], action = clap::ArgAction::Append)]
    pub(super) connect: Vec<String>,
    /// Length of the traffic before the measured period, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 200, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(super) warm_up: u64,
    /// Length of the period measured before the change, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 500, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(super) before: u64,
    /// Length of the period measured after the change, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 500, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(super) after: u64,
}

/// How sources use the paths that LMC gives them (docs/DISPERSIVE.md).
#[derive(Debug, Args)]
pub(super) struct SourceArguments {
    /// Pairs of LIDs of the half in use that sources use for a destination.
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t = PathChoiceName::Single)]
    pub(super) path_selection: PathChoiceName,
    /// Maximum number of LIDs of the half used at either end; not with --path-selection base [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(super) paths: Option<u8>,
    /// Unit after which a source advances to the next pair of LIDs (--path-selection paired or all) [default: message]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(super) spray: Option<SprayName>,
    /// Packets per message, sent back to back (in a trace, each packet is a message).
    #[arg(long, value_name = "PACKETS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) message: u16,
    /// Message sizes in bytes, each with its share of the messages, instead of --message: 256:0.9,65536:0.1 means nine
    /// short messages to each long one. Messages are cut into packets of --packet-bytes; the last one carries the rest.
    #[arg(long, value_name = "BYTES:SHARE,…", value_delimiter = ',', value_parser = message_share, conflicts_with = "message")]
    pub(super) message_mix: Vec<MessageShare>,
    /// Arrival process of a host's messages: poisson, or on-off:MESSAGES (bursts of that many on average, at link rate,
    /// separated by silences, at the same load).
    #[arg(long, value_name = "PROCESS", default_value = "poisson", value_parser = arrivals)]
    pub(super) arrivals: ArrivalProcess,
    /// Count packets that arrive out of order, within their flow and within their class (SLID, DLID, SL); implied by
    /// any of the options above.
    #[arg(long)]
    pub(super) count_order: bool,
    /// List this many of the busiest links between switches, before and after the change.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(super) hot_links: u16,
}

impl TrafficArguments {
    /// Refuses options without effect.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let given = [
            (self.load.is_some(), "--load"),
            (self.packet_bytes.is_some(), "--packet-bytes"),
            (self.sources.message > 1, "--message"),
            (!self.sources.message_mix.is_empty(), "--message-mix"),
            (self.sources.arrivals != ArrivalProcess::Poisson, "--arrivals"),
        ];
        let given = given.into_iter().find(|(given, _)| *given && self.traffic.starts_with("trace:"));
        if let Some((_, name)) = given {
            return Err(Failure::input(anyhow!(
                "{name}: a trace gives time and length of each packet, and each is a message of its own; omit it"
            )));
        }
        self.sources.check()
    }

    /// The end ports of the hosts that set up connections.
    pub(super) fn connections(&self, subnets: &Subnets) -> Result<Vec<[SubnetPort; 2]>, Failure> {
        let end = |name: &str| {
            let (subnet, node) = find_in(subnets, None, name, |fabric| find_node(fabric, name))?;
            let fabric = subnets.fabric(subnet);
            let port = fabric.ports_of(node).find(|&port| fabric.peer(port).is_some());
            let port = port.ok_or_else(|| Failure::input(anyhow!("--connect: no port of {name} is cabled")))?;
            Ok::<_, Failure>(SubnetPort { subnet, port })
        };
        self.connect.chunks(2).map(|pair| Ok([end(&pair[0])?, end(&pair[1])?])).collect()
    }

    /// The pattern among `ends` end ports.
    pub(super) fn pattern(&self, ends: usize) -> Result<Traffic, Failure> {
        if self.traffic == WORST { Ok(Traffic::default()) } else { traffic(&self.traffic, ends) }
    }

    pub(super) fn monitor(&self) -> Option<Monitor> {
        let sl = self.monitor_sl.and_then(Sl::new)?;
        Some(Monitor { sl, every_ns: self.monitor_every.unwrap_or(1000) })
    }
}

impl SourceArguments {
    pub(super) fn dispersal(&self) -> Dispersal {
        let choice = match self.path_selection {
            PathChoiceName::Single => PathChoice::Single,
            PathChoiceName::Base => PathChoice::Base,
            PathChoiceName::Paired => PathChoice::Paired,
            PathChoiceName::All => PathChoice::All,
        };
        let spray = match self.spray {
            None | Some(SprayName::Message) => Spray::Message,
            Some(SprayName::Packet) => Spray::Packet,
        };
        Dispersal { choice, paths: self.paths, spray }
    }

    /// Refuses an option about turns if none are taken, or about paths if only the first is used.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let spread = "choose --path-selection paired or all";
        let refuse =
            |what: &str, why: &str, fix: &str| Err(Failure::input(anyhow!("{what}: {why}; omit it, or {fix}")));
        match self.path_selection {
            PathChoiceName::Paired | PathChoiceName::All => Ok(()),
            PathChoiceName::Base if self.paths.is_some() => {
                refuse("--paths", "with --path-selection base every pair of end ports uses its first path", spread)
            }
            PathChoiceName::Single | PathChoiceName::Base if self.spray.is_some() => {
                refuse("--spray", "one path for each destination takes no turns", spread)
            }
            PathChoiceName::Single | PathChoiceName::Base => Ok(()),
        }
    }

    /// Refuses options whose results the table of schemes cannot show.
    pub(super) fn check_compared(&self, in_table: bool) -> Result<(), Failure> {
        let given = [(self.hot_links > 0, "--hot-links"), (self.count_order, "--count-order")];
        let name = given.into_iter().find(|(given, _)| *given && in_table).map(|(_, name)| name);
        name.map_or(Ok(()), |name| {
            Err(Failure::input(anyhow!(
                "{name}: the table of --compare does not show it; use the full reports (--json), or one scheme"
            )))
        })
    }

    /// Whether order is counted: by default if it can be lost without a change, or if messages have several packets.
    pub(super) fn counts_order(&self) -> bool {
        let whole = self.message == 1 && self.message_mix.is_empty();
        self.count_order || self.dispersal() != Dispersal::default() || !whole
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PathChoiceName {
    /// One pair per destination, throughout.
    Single,
    /// The first pair.
    Base,
    /// SLID + i with DLID + i in turn for i < 8, as the PSM library does.
    Paired,
    /// Every SLID with every DLID in turn.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SprayName {
    /// Advance after each message.
    Message,
    /// Advance after each packet.
    Packet,
}

/// Parses `--traffic` for `ends` end ports.
pub(in crate::cli) fn traffic(text: &str, ends: usize) -> Result<Traffic, Failure> {
    let unknown = || {
        let expected = "expected uniform, permutation, complement, reverse, shuffle, transpose, tornado, neighbour, permutation:FILE, \
             worst (simulate only), hot-spot:RANK,SHARE or trace:FILE";
        Failure::input(anyhow!("`{text}` is not a traffic pattern here: {expected}"))
    };
    match text.split_once(':') {
        None if text == "uniform" => Ok(Traffic::Uniform),
        None if text == "permutation" => Ok(Traffic::Permutation),
        None if NAMED.contains(&text) => permutation::named(text, ends).map(Traffic::Pairs),
        Some(("hot-spot", spot)) => {
            let (destination, share) = spot.split_once(',').ok_or_else(unknown)?;
            let share: f64 = share.parse().map_err(|_| unknown())?;
            let destination = destination.parse().map_err(|_| unknown())?;
            if (0.0..=1.0).contains(&share) { Ok(Traffic::HotSpot { destination, share }) } else { Err(unknown()) }
        }
        Some(("permutation", file)) => permutation::read(file, ends).map(Traffic::Pairs),
        Some(("trace", file)) => trace(file, ends),
        _ => Err(unknown()),
    }
}

/// Whether the number is a valid load is checked with the other settings.
fn fraction(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a fraction, such as 0.3 for 30 %".to_string())
}

fn trace(file: &str, ends: usize) -> Result<Traffic, Failure> {
    let (file, text) = read_text(file)?;
    let mut entries: Vec<(u64, u32, u32, u16)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let refuse = |why: &str| Failure::input(anyhow!("{file}:{}: {why}\n  {line}", number + 1));
        let fields: Vec<&str> = line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).collect();
        let [time, source, destination, bytes] = fields[..] else {
            return Err(refuse("expected four fields: time in ns, source rank, destination rank, bytes"));
        };
        let whole = "expected whole numbers: time in ns, source rank, destination rank, bytes";
        let entry = (time.parse(), source.parse(), destination.parse(), bytes.parse());
        let (Ok(time), Ok(source), Ok(destination), Ok(bytes)) = entry else { return Err(refuse(whole)) };
        if let Some(rank) = [source, destination].into_iter().find(|&rank| rank as usize >= ends) {
            let last = ends.saturating_sub(1);
            return Err(refuse(&format!("there is no rank {rank}: {ends} end ports send, of ranks 0 to {last}")));
        }
        if !PACKET_LENGTHS.contains(&bytes) {
            let (least, most) = (PACKET_LENGTHS.start(), PACKET_LENGTHS.end());
            return Err(refuse(&format!("a packet has {least} to {most} bytes, headers included, not {bytes}")));
        }
        if source == destination {
            return Err(refuse("a packet to its own sender: no link carries it"));
        }
        if entries.last().is_some_and(|last| last.0 > time) {
            return Err(refuse("this packet is earlier than the one before: sort the trace by time"));
        }
        entries.push((time, source, destination, bytes));
    }
    if entries.is_empty() {
        return Err(Failure::input(anyhow!(
            "{file} holds no packets: expected lines of time, source, destination, bytes"
        )));
    }
    Ok(Traffic::Trace(entries))
}

/// Parses an entry of `--message-mix`.
fn message_share(text: &str) -> Result<MessageShare, String> {
    let parts = text.split_once(':').and_then(|(bytes, share)| Some((bytes.parse().ok()?, share.parse().ok()?)));
    let (bytes, share) = parts.ok_or("expected BYTES:SHARE, such as 65536:0.1")?;
    Ok(MessageShare { bytes, share })
}

/// Parses `--arrivals`.
fn arrivals(text: &str) -> Result<ArrivalProcess, String> {
    let burst = text.strip_prefix("on-off:").and_then(|burst| burst.parse().ok());
    match (text, burst) {
        ("poisson", _) => Ok(ArrivalProcess::Poisson),
        (_, Some(burst)) => Ok(ArrivalProcess::OnOff { burst }),
        _ => Err("expected poisson, or on-off:MESSAGES with the mean number of messages of a burst".to_string()),
    }
}
