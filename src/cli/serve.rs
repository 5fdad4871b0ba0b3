//! `reconfig serve`: a simulated fabric behind ibsim's protocol.

use super::choice;
use super::input::read_fabric;
use super::outcome::{Answer, Failure};
use super::simulate::{LatchChoice, traffic as pattern};
use super::stderr::remark;
use super::{Common, FabricReading, output};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use reconfig::change::{self, CaptureSettings};
use reconfig::fabric::Fabric;
use reconfig::lid;
use reconfig::routing::UpDown;
use reconfig::serve::{Patience, ServeOptions, Server, Switchboard, protocol};
use reconfig::sim::{ArmedPort, Sim, SimConfig};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  reconfig serve --socket demo fixtures/topologies/fat-tree-4-2.ibnetdiscover
  IBSIM_SOCKNAME=demo ibsim-run opensm -o -R updn
  IBSIM_SOCKNAME=demo SIM_HOST=\"host-3 HCA-1\" ibsim-run ibnetdiscover

Clients are programs run by `ibsim-run`; IBSIM_SOCKNAME names the server, SIM_HOST the node that they run on. Commands are \
read from standard input or the control socket: Help lists them. The final counts are printed at exit, as JSON with --json.

Exit codes: 0 stopped on request, 2 wrong usage or unreadable input, 3 it could not serve.")]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md; `-` is standard input.
    fabric: PathBuf,
    /// Name by which clients find the server [default: IBSIM_SOCKNAME, else sim].
    #[arg(long, value_name = "NAME")]
    socket: Option<String>,
    /// Accept commands on this Unix socket.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Accept no commands on standard input.
    #[arg(short, long)]
    no_console: bool,
    /// Record commands and writes of forwarding tables to FILE, in the order in which they take effect.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Simulated time per unit of real time while no MAD is in flight: 0 to 1, or max, which is 1.
    #[arg(long, default_value = "0.0005")]
    speed: String,
    /// Simulated time after which an unanswered MAD is returned, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=60_000_000))]
    mad_timeout: u64,
    /// Start with a subnet that is up: LIDs as in the fabric, up*/down* tables, cabled ports ACTIVE. By default the
    /// devices have just been powered on.
    #[arg(long)]
    warm: bool,
    /// Minimum LID mask control of a subnet that is up; LIDs are renumbered if the fabric's LMC is smaller.
    #[arg(long, default_value_t = 0, requires = "warm", value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: u8,
    /// Retransmissions of an unanswered MAD before it is returned.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    mad_retries: u32,
    #[command(flatten)]
    traffic: TrafficArguments,
    #[command(flatten)]
    hardware: HardwareArguments,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
struct TrafficArguments {
    /// Offered load, as a fraction of each end port's rate.
    #[arg(long, default_value_t = 0.1)]
    load: f64,
    /// Traffic pattern: uniform, permutation, complement, reverse, shuffle, transpose, tornado, neighbour,
    /// permutation:FILE, hot-spot:RANK,SHARE or trace:FILE; `reconfig simulate --help` describes them.
    #[arg(long, default_value = "uniform")]
    traffic: String,
    /// Which LID and service level end ports use: the base LID and SL 0, or those that the SA returns when they are
    /// asked to register again.
    #[arg(long, value_enum, default_value_t = PathChoice::Base)]
    paths: PathChoice,
    /// Start the traffic at once, without waiting for the command `Traffic on`.
    #[arg(long)]
    start: bool,
    /// Packet size in bytes, headers included.
    #[arg(long, value_name = "BYTES", default_value_t = SimConfig::default().packet_bytes)]
    packet_bytes: u16,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Hardware")]
struct HardwareArguments {
    /// Data VLs in operation: 1, 2, 4, 8 or 15; fewer if a port has fewer.
    #[arg(long, default_value_t = SimConfig::default().data_vls)]
    vls: u8,
    /// Input buffer per lane, in credits of 64 bytes.
    #[arg(long, value_name = "CREDITS", default_value_t = SimConfig::default().buffer_credits)]
    buffer: u16,
    /// When a switch chooses a packet's output port and lane.
    #[arg(long, value_enum, default_value_t = LatchChoice::Arrival)]
    latch: LatchChoice,
    /// What an ARMED port does with data that is queued for sending.
    #[arg(long, value_enum, default_value_t = ArmedChoice::Discards)]
    armed: ArmedChoice,
    /// Head-of-queue lifetime limit in nanoseconds; 0: none.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    hoq_life: u64,
    /// Switch lifetime limit in nanoseconds; 0: none.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    switch_life: u64,
    /// Apply the lifetime limits that the subnet manager programs, instead of those given here.
    #[arg(long, conflicts_with_all = ["hoq_life", "switch_life"])]
    limits_as_programmed: bool,
    #[command(flatten)]
    turn_back: choice::TurnBackArguments,
    /// Time a device takes to serve one SMP, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = SimConfig::default().sma_service_ns)]
    smp_time: u64,
    /// Probability that a MAD is lost.
    #[arg(long, default_value_t = 0.0)]
    smp_loss: f64,
    /// Maximum additional delay of a MAD, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    smp_delay: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PathChoice {
    /// The base LID, SL 0.
    Base,
    /// One PathRecord for each pair of end ports.
    Records,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ArmedChoice {
    /// Discards it, as the specification says (IBA 7.2).
    Discards,
    /// Holds it until the port is ACTIVE, as the authors of the Double Scheme assume.
    Holds,
}

impl From<ArmedChoice> for ArmedPort {
    fn from(choice: ArmedChoice) -> ArmedPort {
        match choice {
            ArmedChoice::Discards => ArmedPort::Discards,
            ArmedChoice::Holds => ArmedPort::Holds,
        }
    }
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let fabric = read_fabric(&arguments.fabric, common)?;
    let options = arguments.options()?;
    let (fabric, mut sim) = match arguments.warm {
        true => arguments.warm(&fabric)?,
        false => (fabric.clone(), Sim::cold(&fabric, arguments.sim_config(&fabric)?).map_err(Failure::input)?),
    };
    sim.outlast_deadlocks();
    if arguments.traffic.start {
        sim.start();
    }
    let (agent_ns, retries) = (arguments.mad_timeout * 1_000, arguments.mad_retries);
    let patience = Patience { agent_ns, retries, ..Patience::default() };
    let mut board = Switchboard::new(fabric, sim, patience);
    if arguments.traffic.paths == PathChoice::Records {
        board.have_paths_asked();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::undone)?;
    let server = {
        let _entered = runtime.enter();
        Server::bind(board, &options).map_err(Failure::undone)?
    };
    remark(&format!("clients connect with IBSIM_SOCKNAME={}", options.name));
    output::print("ready\n")?;
    let status = runtime.block_on(server.run());
    if common.json {
        output::print_json(&status)?;
    } else {
        output::print(&crate::report::served(&status))?;
    }
    Ok(Answer::Yes)
}

impl Arguments {
    fn options(&self) -> Result<ServeOptions, Failure> {
        let named = || std::env::var("IBSIM_SOCKNAME").ok();
        Ok(ServeOptions {
            name: self.socket.clone().or_else(named).unwrap_or_else(|| protocol::DEFAULT_NAME.to_string()),
            control: self.control.clone(),
            console: !self.no_console,
            speed: speed(&self.speed)?,
            record: self.record.clone(),
        })
    }

    /// The fabric with its LIDs, and a subnet of it that is up, routed by up*/down*.
    fn warm(&self, fabric: &Fabric) -> Result<(Fabric, Sim), Failure> {
        let config = self.sim_config(fabric)?;
        let settings = CaptureSettings {
            data_vls: config.data_vls,
            optimised_sl_to_vl: None,
            lmc: choice::lmc(self.lmc)?,
            reserved_sl: None,
        };
        let fabric = settings.equip(fabric).map_err(Failure::undone)?;
        let function = settings.route(&fabric, &UpDown::default()).map_err(Failure::undone)?;
        let sm = change::manager_port(&fabric, &fabric, None).map_err(Failure::undone)?;
        let lanes = change::data_vls(&fabric);
        let mut sim = Sim::new(&fabric, SimConfig { data_vls: lanes, ..config }, sm).map_err(Failure::input)?;
        let tables = lid::bring_up(&fabric, &function, lanes);
        for (switch, block, entries) in tables.lft_blocks(&fabric) {
            sim.load_lft_block(switch, block, &entries);
        }
        Ok((fabric, sim))
    }

    fn sim_config(&self, fabric: &Fabric) -> Result<SimConfig, Failure> {
        let (traffic, hardware) = (&self.traffic, &self.hardware);
        Ok(SimConfig {
            seed: self.seed,
            data_vls: choice::data_vls(hardware.vls)?,
            buffer_credits: hardware.buffer,
            latch: hardware.latch.into(),
            armed: hardware.armed.into(),
            hoq_lifetime_ns: hardware.hoq_life,
            switch_lifetime_ns: hardware.switch_life,
            limits_as_programmed: hardware.limits_as_programmed,
            discards_turned_back: hardware.turn_back.are_discarded(),
            packet_bytes: traffic.packet_bytes,
            load: traffic.load,
            traffic: pattern(&traffic.traffic, fabric.end_ports().count())?,
            sma_service_ns: hardware.smp_time,
            smp_loss: hardware.smp_loss,
            smp_delay_ns: hardware.smp_delay,
            ..SimConfig::default()
        })
    }
}

fn speed(text: &str) -> Result<f64, Failure> {
    let number = if text == "max" { Some(1.0) } else { text.parse().ok() };
    let expected = || anyhow!("`{text}` is no speed: expected a number from 0 to 1, or max");
    number.filter(|speed| (0.0..=1.0).contains(speed)).ok_or_else(|| Failure::input(expected()))
}
