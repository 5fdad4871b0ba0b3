//! The management of `reconfig simulate`: which node manages, how it learns of a change, and what happens to MADs.

use super::super::element::find_node;
use super::super::outcome::Failure;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use reconfig::scenario::{ComputeTime, Detection, Scenario, Standby};
use reconfig::sim::{AttributeTime, SimConfig};
use reconfig::wire::AttributeId;

#[derive(Debug, Args)]
#[command(next_help_heading = "Management")]
pub(super) struct ManagementArguments {
    /// Node that runs the subnet manager [default: the node that made the capture, or the first host that stays].
    #[arg(long, value_name = "NODE")]
    pub(super) sm: Option<String>,
    /// Node that runs a standby manager. It takes over if the manager's node or its only cable is lost, and relies only
    /// on what it reads from devices.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["adversary", "accounting"])]
    pub(super) standby: Option<String>,
    /// Delay from that loss to the takeover, in microseconds; models the standby's polling (40 s with OpenSM's
    /// defaults) [default: 1000]
    #[arg(long, value_name = "US", requires = "standby", value_parser = clap::value_parser!(u64).range(..=600_000_000))]
    pub(super) standby_after: Option<u64>,
    /// SMPs outstanding over all devices [default: one per device; with --devices standard 16]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) window: Option<u32>,
    /// Time a device takes to serve one SMP, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = SimConfig::default().sma_service_ns)]
    pub(super) smp_time: u64,
    /// Service time of one attribute, in nanoseconds, such as LinearForwardingTable=40000; may be repeated.
    #[arg(long, value_name = "ATTRIBUTE=NS", value_parser = attribute_time, action = clap::ArgAction::Append)]
    pub(super) smp_time_of: Vec<AttributeTime>,
    /// Time a switch's processor takes to forward a directed-route SMP, in nanoseconds; it forwards one at a time, and
    /// serves SMPs as well. 0: hardware forwards them at once.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    pub(super) smi_processor: u64,
    /// VL 15 buffer: SMPs received on one port that may wait for a device's processor; further ones are dropped. 0:
    /// unlimited.
    #[arg(long, value_name = "SMPS", default_value_t = 0)]
    pub(super) vl15_buffer: u16,
    /// How the manager learns of the change: by traps, or by polling the switches (light sweeps; devices then send no
    /// traps, and each event occurs just after a sweep, the worst case).
    #[arg(long, value_enum, value_name = "WAY", default_value_t = DetectionChoice::Trap)]
    pub(super) detect: DetectionChoice,
    /// Interval between light sweeps, as a multiple of the duration of a sweep (--detect sweep) [default: 99]
    #[arg(long, value_name = "FACTOR", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) sweep_factor: Option<u32>,
    /// Time the manager takes to compute a new routing, in microseconds: before its first write or, with scheme static,
    /// once ports are stopped. `scaled` uses the measured time per switch and LID owner
    #[arg(long, value_name = "US|scaled", default_value = "0", value_parser = compute_time)]
    pub(super) compute_time: ComputeTime,
    /// Time without an answer after which a request is retransmitted, in microseconds [default: 2000; with --devices
    /// standard 200000]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(1..=60_000_000))]
    pub(super) smp_timeout: Option<u64>,
    /// Retransmissions of a request before its device counts as gone [default: 11; with --devices standard 3]
    #[arg(long, value_name = "COUNT")]
    pub(super) smp_retries: Option<u32>,
    /// Probability that a MAD is lost.
    #[arg(long, default_value_t = 0.0)]
    pub(super) smp_loss: f64,
    /// Probability that a MAD is delivered a second time, later.
    #[arg(long, default_value_t = 0.0)]
    pub(super) smp_duplicates: f64,
    /// Maximum additional delay of a MAD, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    pub(super) smp_delay: u64,
    /// Simulated time after which the manager gives up a barrier, in milliseconds [default: 100; with --devices
    /// standard 60000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(super) barrier_timeout: Option<u64>,
    /// With --drain poll, devices answer only once they are empty. The manager asks again after this time without an
    /// answer, in microseconds, and a pause; both double each time [default: devices answer at once]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(1..=60_000_000))]
    pub(super) poll_silence: Option<u64>,
}

impl ManagementArguments {
    /// The standby manager, if there is one.
    pub(super) fn standby(&self, scenario: &Scenario) -> Result<Option<Standby>, Failure> {
        let Some(name) = &self.standby else { return Ok(None) };
        let node = find_node(scenario.fabric(), name)?;
        Ok(Some(Standby { node, after_ns: self.standby_after.unwrap_or(1_000) * 1_000 }))
    }

    pub(super) fn detection(&self) -> Result<Detection, Failure> {
        match (self.detect, self.sweep_factor) {
            (DetectionChoice::Trap, None) => Ok(Detection::Trap),
            (DetectionChoice::Trap, Some(_)) => Err(Failure::input(anyhow!(
                "--sweep-factor: traps report the change at once; choose --detect sweep, or omit it"
            ))),
            (DetectionChoice::Sweep, factor) => Ok(Detection::Sweep { factor: factor.unwrap_or(Detection::FACTOR) }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DetectionChoice {
    /// Switches report that a link changed.
    Trap,
    /// The manager polls each switch for its SwitchInfo.
    Sweep,
}

/// Parses an entry of `--smp-time-of`.
fn attribute_time(text: &str) -> Result<AttributeTime, String> {
    let (name, time) = text.split_once('=').ok_or("expected ATTRIBUTE=NS, such as LinearForwardingTable=40000")?;
    let service_ns = time.parse().map_err(|_| format!("{time:?} is no number of nanoseconds"))?;
    let served = AttributeId::ALL.iter().find(|attribute| format!("{attribute:?}").eq_ignore_ascii_case(name));
    let attribute = u16::from(*served.ok_or_else(|| {
        let names: Vec<String> = AttributeId::ALL.iter().map(|attribute| format!("{attribute:?}")).collect();
        format!("no attribute is called {name:?}; there are {}", names.join(", "))
    })?);
    Ok(AttributeTime { attribute, service_ns })
}

/// Microseconds, or `scaled`.
fn compute_time(text: &str) -> Result<ComputeTime, String> {
    const MOST_US: u64 = 60_000_000;
    match (text, text.parse()) {
        ("scaled", _) => Ok(ComputeTime::Scaled),
        (_, Ok(us @ ..=MOST_US)) => Ok(ComputeTime::Given(us * 1_000)),
        _ => Err(format!("expected microseconds, {MOST_US} at most, or `scaled`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_compute_is_given_or_scaled() {
        assert_eq!(compute_time("0"), Ok(ComputeTime::Given(0)));
        assert_eq!(compute_time("60000000"), Ok(ComputeTime::Given(60_000_000_000)));
        assert_eq!(compute_time("scaled"), Ok(ComputeTime::Scaled));
        for bad in ["", "-1", "60000001", "measured"] {
            assert!(compute_time(bad).is_err(), "{bad}");
        }
    }
}
