//! One trial: a fabric is served, a manager brings it up, sources send, a switch or a cable dies, the manager reacts,
//! sources stop.
//!
//! Everything is read from the server's `Status`, hence from the simulator's own counts, and alike for all managers. A
//! reaction ends when the manager's log reports it for the last time before management falls quiet; the last `Set` is
//! recorded too. The resolution of both is one look at the server, some milliseconds of real time.

use super::list::Case;
use super::server::{Counts, PATIENCE, Server};
use super::side::{Manager, Side};
use reconfig::fabric::format::{Format, write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at the server.
const LOOK: Duration = Duration::from_millis(4);
/// Simulated time under traffic before the failure, and after the reaction.
const CALM_NS: u64 = 500_000;
/// Real time without a MAD that counts as quiet.
const QUIET: Duration = Duration::from_millis(400);
/// Real time without a hop, sources off, after which what is in flight counts as stuck.
const STUCK: Duration = Duration::from_millis(500);
/// The same with age limits: at `--speed max` three times the longest that managers write, 1.07 s.
const STUCK_PAST_LIMITS: Duration = Duration::from_secs(4);
/// The same where ways are shortened afterwards, each wave so long after the last that no packet is left of before
/// that.
const PATIENCE_WITH_RENEWAL: Duration = Duration::from_secs(600);
/// What OpenSM's plugin says when all is served.
const RENEWAL: &[&str] = &["renewal waits"];
/// The period of measurement in which it dies, and the one after the reaction.
const REACTION: usize = 1;

/// What all trials share.
pub struct Setting {
    /// `reconfig`.
    pub program: PathBuf,
    pub engine: String,
    pub load: String,
    pub speed: String,
    pub seed: String,
    /// HOQLife and LifeTimeValue act as managers write them.
    pub limits: bool,
    /// Packets that are to leave by the port they came in by do so; switches of InfiniBand discard them.
    pub turn_back: bool,
}

/// The result. Counts of packets and MADs, and times, are since the death.
pub struct Outcome {
    /// OpenSM: the engines that ran before and after. Otherwise: how the change ended.
    pub how: String,
    /// Whether the manager reported that its reaction is over.
    pub ended: bool,
    pub injected: u64,
    pub delivered: u64,
    pub stranded: u64,
    pub lost_to_failure: u64,
    pub lost_to_change: u64,
    pub discarded_by_age: u64,
    /// Deadlocks before the death: of the routing by itself.
    pub deadlocks_before: u64,
    pub deadlocks: u64,
    /// Packets in the cycle of the first deadlock that stands at the end.
    pub in_the_cycle: u64,
    /// Packets that never came out once sources had stopped.
    pub stuck: u64,
    pub longest_gap_ns: u64,
    pub longest_latency_ns: u64,
    /// Until the last Set.
    pub last_set_ns: u64,
    /// Until the log reported the end, simulated and real.
    pub over_ns: u64,
    pub over_real_s: f64,
    pub gets: u64,
    pub sets: u64,
    pub fallen_behind_ns: u64,
}

/// Runs one.
pub fn run(side: Side, case: &Case, setting: &Setting, folder: &Path) -> Result<Outcome, String> {
    let file = folder.join("fabric.ibnetdiscover");
    let text = write(&case.fabric, Format::Ibnetdiscover).map_err(|error| error.to_string())?;
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let socket = format!("versus-{}-{name}", std::process::id());
    let server = Server::start(&setting.program, &file, folder, socket, &setting.options(side))?;
    let manager = Manager::start(side, setting, case, &server, folder)?;
    quiet(&server)?;
    server.command("Traffic on")?;
    let before = calm(&server)?;
    let reaction = Reaction::await_end(side, case, &server, &manager)?;
    let after = calm(&server)?;
    server.command("Traffic off")?;
    let last = emptied(&server, if setting.limits { STUCK_PAST_LIMITS } else { STUCK })?;
    Ok(outcome(side, &manager, &reaction, [&before, &after, &last]))
}

impl Setting {
    /// The defaults.
    pub fn of(program: PathBuf) -> Setting {
        let text = str::to_string;
        Setting {
            program,
            engine: text("updn"),
            load: text("0.2"),
            speed: text("0.001"),
            seed: text("1"),
            limits: false,
            turn_back: false,
        }
    }

    fn options(&self, side: Side) -> Vec<String> {
        let mut options = vec!["--load", &self.load, "--speed", &self.speed, "--seed", &self.seed];
        options.extend(["--paths", side.paths(&self.engine)]);
        if self.turn_back {
            options.push("--turn-back");
        }
        if self.limits {
            options.push("--limits-as-programmed");
        }
        options.into_iter().map(str::to_string).collect()
    }
}

/// The reaction to the death.
struct Reaction {
    ended: bool,
    last_set_ns: u64,
    over_ns: u64,
    over_real_s: f64,
    /// The counts when it was over and all was quiet.
    counts: Counts,
}

impl Reaction {
    /// Kills the victim, and waits until the manager reports that it is done and sends nothing any more.
    fn await_end(side: Side, case: &Case, server: &Server, manager: &Manager) -> Result<Reaction, String> {
        let said = manager.said(side.last_words());
        server.command("Period")?;
        let start = Instant::now();
        server.command(&case.victim.command(&case.fabric))?;
        let counts = server.counts()?;
        let start_ns = counts.now_ns() - counts.period(REACTION, "length_ns");
        let mut reaction = Reaction { ended: false, last_set_ns: 0, over_ns: 0, over_real_s: 0.0, counts };
        let (mut sent, mut sets, mut since) = (0, 0, Instant::now());
        let mut told = said;
        let renewals = manager.said(RENEWAL);
        let patience = if side == Side::Plugin { PATIENCE_WITH_RENEWAL } else { PATIENCE };
        while !(reaction.ended && since.elapsed() > QUIET && !manager.goes_on()) && start.elapsed() < patience {
            std::thread::sleep(LOOK);
            let counts = server.counts()?;
            let now_ns = counts.now_ns() - start_ns;
            // Ways that are shortened once all is served are no part of the reaction, but of the counts. A look that
            // comes late, on a busy machine, sees both at once.
            let renews = manager.said(RENEWAL) > renewals;
            if counts.mads("Set(") != sets && (!renews || sets == 0) {
                (sets, reaction.last_set_ns) = (counts.mads("Set("), now_ns);
            }
            if counts.number("/mads_sent") != sent {
                (sent, since) = (counts.number("/mads_sent"), Instant::now());
            }
            if manager.said(side.last_words()) > told {
                // Of several consecutive sweeps the last counts.
                told = manager.said(side.last_words());
                if !renews || !reaction.ended {
                    (reaction.ended, reaction.over_ns, reaction.over_real_s) =
                        (true, now_ns, start.elapsed().as_secs_f64());
                }
                since = Instant::now();
            }
            reaction.counts = counts;
        }
        reaction.ended &= !manager.goes_on();
        Ok(reaction)
    }
}

/// Waits until no MAD has been sent for a while, and no path query is outstanding.
fn quiet(server: &Server) -> Result<(), String> {
    let (start, mut since, mut sent) = (Instant::now(), Instant::now(), 0);
    while since.elapsed() < QUIET {
        let counts = server.counts()?;
        if counts.number("/mads_sent") != sent || counts.number("/paths/open") > 0 {
            (sent, since) = (counts.number("/mads_sent"), Instant::now());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("MADs are still being sent {} s after SUBNET UP", PATIENCE.as_secs()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Lets simulated time pass under traffic.
fn calm(server: &Server) -> Result<Counts, String> {
    let (start, begun) = (Instant::now(), server.counts()?.now_ns());
    loop {
        let counts = server.counts()?;
        if counts.now_ns() >= begun + CALM_NS {
            return Ok(counts);
        }
        if start.elapsed() > PATIENCE {
            return Err(format!(
                "{CALM_NS} ns did not pass in {} s: a speed this low cannot be used",
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(LOOK);
    }
}

/// Sources off: waits until nothing is in flight, or nothing moves.
fn emptied(server: &Server, stuck: Duration) -> Result<Counts, String> {
    let (mut since, mut moved) = (Instant::now(), 0);
    loop {
        let counts = server.counts()?;
        let left = counts.number("/packets/in_flight");
        if counts.number("/packet_hops") != moved {
            (moved, since) = (counts.number("/packet_hops"), Instant::now());
        }
        if left == 0 || since.elapsed() > stuck {
            return Ok(counts);
        }
        std::thread::sleep(LOOK);
    }
}

fn outcome(side: Side, manager: &Manager, reaction: &Reaction, [before, after, last]: [&Counts; 3]) -> Outcome {
    let since = |path: &str| last.number(path) - before.number(path);
    let how = if side.is_opensm() {
        let mut engines = manager.engines();
        engines.dedup();
        engines.join(" > ")
    } else {
        manager.outcome().unwrap_or_else(|| "not over".to_string())
    };
    Outcome {
        how,
        ended: reaction.ended,
        injected: since("/packets/injected"),
        delivered: since("/packets/delivered"),
        stranded: since("/packets/stranded"),
        lost_to_failure: since("/packets/lost_to_failure"),
        lost_to_change: since("/packets/lost_to_change"),
        discarded_by_age: since("/lifetime_discards"),
        deadlocks_before: before.number("/deadlocks"),
        deadlocks: since("/deadlocks"),
        in_the_cycle: last.in_the_cycle(),
        stuck: last.number("/packets/in_flight"),
        longest_gap_ns: after.period(REACTION, "longest_gap_ns"),
        longest_latency_ns: last.period(REACTION, "latency_max_ns"),
        last_set_ns: reaction.last_set_ns,
        over_ns: reaction.over_ns,
        over_real_s: reaction.over_real_s,
        gets: reaction.counts.mads("Get("),
        sets: reaction.counts.mads("Set("),
        fallen_behind_ns: last.number("/times/fallen_behind_ns") - before.number("/times/fallen_behind_ns"),
    }
}
