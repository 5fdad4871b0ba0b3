//! The capabilities of devices, as a named profile: one word gives the same settings for simulating, planning and
//! making a change.
//!
//! A profile is a value of settings that can each be given by themselves; it chooses nothing at run time. `Agents` are
//! devices that a vendor has extended (docs/WIRE.md): they pass tokens on and move their hosts when notified.
//! `Standard` devices do not know `reconfig`, and hold what OpenSM programs. Deliberately omitted: the time in which a
//! manager computes, which depends on its machine.

use super::{SourceControl, Timing};
use crate::drain::Observer;
use crate::plan::{Arming, SmpRate};
use serde::{Deserialize, Serialize, Serializer};

/// A lifetime limit as OpenSM programs it, code 18: 4.096 µs × 2^18.
const OPENSM_LIFETIME_NS: u64 = 4096 << 18;

/// A named profile of devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceProfile {
    /// Agents in the devices show that lanes are empty, and hosts move when they are notified.
    #[default]
    Agents,
    /// Devices as they are: lanes run empty by age, and hosts follow when their clients have asked again.
    Standard,
}

/// The settings of a profile. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DeviceSettings {
    /// The observer of empty lanes.
    #[serde(rename = "drain")]
    pub observer: Observer,
    /// How sources are moved; fenced ones may send on both halves between changes.
    #[serde(flatten, serialize_with = "by_name")]
    #[schemars(with = "NamedSources")]
    pub sources: SourceControl,
    /// Port states while tables are installed and sources are notified. Many devices refuse to be ARMED or, ARMED,
    /// discard what they have to send, and where they hold it nothing is gained (decision 2): no profile arms.
    pub arming: Arming,
    /// How long a switch keeps a packet (SwitchInfo:LifeTimeValue); 0: for ever.
    pub switch_life_ns: u64,
    /// How long a packet may head its queue (PortInfo:HOQLife); 0: for ever.
    pub hoq_life_ns: u64,
    /// Time in which a device serves an SMP. 18.6 µs are the seed paper's.
    pub smp_time_ns: u64,
    /// SMPs under way over all devices; none: one for each device.
    pub window: Option<usize>,
    /// Time without an answer after which an SMP is sent again.
    pub smp_timeout_ns: u64,
    /// Maximum retransmissions of an SMP.
    pub smp_retries: u32,
    /// Time after which a barrier is given up.
    pub barrier_timeout_ns: u64,
}

/// How sources are moved, as reports say it.
#[derive(Serialize, schemars::JsonSchema)]
struct NamedSources {
    sources: &'static str,
    settle_ns: Option<u64>,
}

fn by_name<S: Serializer>(sources: &SourceControl, serializer: S) -> Result<S::Ok, S::Error> {
    NamedSources { sources: sources.name(), settle_ns: sources.settle_ns() }.serialize(serializer)
}

impl DeviceProfile {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            DeviceProfile::Agents => "agents",
            DeviceProfile::Standard => "standard",
        }
    }

    /// Its settings.
    pub fn settings(self) -> DeviceSettings {
        let of_manager = Timing::default();
        match self {
            DeviceProfile::Agents => DeviceSettings {
                observer: Observer::Token,
                sources: SourceControl::ByAgent,
                arming: Arming::Off,
                switch_life_ns: 0,
                hoq_life_ns: 0,
                smp_time_ns: 18_600,
                window: None,
                smp_timeout_ns: 2_000_000,
                smp_retries: 11,
                barrier_timeout_ns: 100_000_000,
            },
            DeviceProfile::Standard => DeviceSettings {
                observer: Observer::Lifetime,
                sources: SourceControl::Fenced { settle_ns: 2_000_000_000 },
                arming: Arming::Off,
                switch_life_ns: OPENSM_LIFETIME_NS,
                hoq_life_ns: OPENSM_LIFETIME_NS,
                smp_time_ns: 18_600,
                window: Some(Timing::STANDARD_WINDOW),
                smp_timeout_ns: of_manager.timeout_ns,
                smp_retries: of_manager.retries,
                barrier_timeout_ns: of_manager.barrier_ns,
            },
        }
    }

    /// The manager's time-outs and pauses that no option sets, and those of a profile in force; the window is that of
    /// the profile, or `devices`.
    pub fn timing(self, in_force: &DeviceSettings, devices: usize) -> Timing {
        let own = match self {
            // Fast answers deserve fast questions, and a copy of an SMP lives no longer than its time-out.
            DeviceProfile::Agents => Timing {
                smp_lifetime_ns: in_force.smp_timeout_ns,
                poll_first_ns: 5_000,
                poll_most_ns: 500_000,
                light_sweep_ns: Some(10_000_000),
                ..Timing::default()
            },
            DeviceProfile::Standard => Timing::default(),
        };
        Timing {
            timeout_ns: in_force.smp_timeout_ns,
            retries: in_force.smp_retries,
            window: in_force.window.unwrap_or(devices),
            barrier_ns: in_force.barrier_timeout_ns,
            ..own
        }
    }
}

impl DeviceSettings {
    /// The rate at which devices serve a manager's SMPs.
    pub fn rate(&self) -> SmpRate {
        SmpRate { smp_ns: self.smp_time_ns, window: self.window }
    }

    /// The settings that differ from those of a named profile, by the options that set them.
    pub fn unlike(&self, devices: DeviceProfile) -> Vec<&'static str> {
        let named = devices.settings();
        let settle = |sources: SourceControl| sources.settle_ns();
        let fenced = |sources: SourceControl| settle(sources).is_some();
        let moves_alike = fenced(self.sources) == fenced(named.sources);
        let pairs = [
            ("drain", self.observer != named.observer),
            ("sources", !moves_alike),
            ("settle", fenced(self.sources) && settle(self.sources) != settle(named.sources)),
            ("arming", self.arming != named.arming),
            ("switch-life", self.switch_life_ns != named.switch_life_ns),
            ("hoq-life", self.hoq_life_ns != named.hoq_life_ns),
            ("smp-time", self.smp_time_ns != named.smp_time_ns),
            ("window", self.window != named.window),
            ("smp-timeout", self.smp_timeout_ns != named.smp_timeout_ns),
            ("smp-retries", self.smp_retries != named.smp_retries),
            ("barrier-timeout", self.barrier_timeout_ns != named.barrier_timeout_ns),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_was_given_is_told_and_no_other() {
        let standard = DeviceProfile::Standard.settings();
        assert!(standard.unlike(DeviceProfile::Standard).is_empty());
        assert!(DeviceProfile::Agents.settings().unlike(DeviceProfile::Agents).is_empty());
        let by_agent = DeviceSettings { sources: SourceControl::ByAgent, ..standard };
        assert_eq!(by_agent.unlike(DeviceProfile::Standard), ["sources"]);
        let hasty = DeviceSettings { sources: SourceControl::Fenced { settle_ns: 1 }, window: Some(4), ..standard };
        assert_eq!(hasty.unlike(DeviceProfile::Standard), ["settle", "window"]);
        // Where the profile has no fence, a given one brings its time along.
        assert_eq!(DeviceProfile::Standard.settings().unlike(DeviceProfile::Agents).len(), 9);
    }
}
