//! The settings of a run.

use super::ScenarioError;
use super::elements::{Element, ScenarioChange};
use super::event::LaterEvent;
use crate::change::Departure;
use crate::driver::ComputeTime;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lmc, SubnetId};
use crate::plan::{Observer, Policy, Scheme};
use crate::routers::{LevelsRule, PartEnforce};
use crate::sim::{GMP_BYTES, SimConfig};
use crate::subnet::{DeviceProfile, DeviceSettings, SourceControl};
use std::path::PathBuf;

/// How a manager hears of losses and arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detection {
    /// Devices send traps, and light sweeps are the exception.
    #[default]
    Trap,
    /// Devices send none: the manager polls every switch, "at a rate dynamically computed using the subnet sweeping
    /// time and an additional factor value" (seed 001, step 1). What happens, happens right behind a sweep: the longest
    /// wait.
    Sweep {
        /// The period from the end of one sweep to the start of the next, divided by the duration of a sweep; 1 at
        /// least.
        factor: u32,
    },
}

impl Detection {
    /// With this factor a hundredth of the time goes to sweeping.
    pub const FACTOR: u32 = 99;
}

/// A manager that stands by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standby {
    /// Its node.
    pub node: NodeId,
    /// Nanoseconds from the loss of the first manager until this one begins.
    pub after_ns: u64,
}

/// One simulated change, before it is run. Times in nanoseconds of simulated time.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The subnets as captured: usually one.
    pub subnets: Subnets,
    /// The change.
    pub change: ScenarioChange,
    /// What happens after that, in a subnet alone.
    pub later: Vec<LaterEvent>,
    /// The manager that takes over when the node of the first one, or its only cable, is lost; `None` if there is none.
    pub standby: Option<Standby>,
    /// Remarks on the captures, which the report repeats.
    pub notes: Vec<String>,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// The share of packets with random destinations that go to other subnets, 0 to 1.
    pub cross: f64,
    /// The hop limit that sources set.
    pub hop_limit: u8,
    /// The direction in which router ports enforce partitions; none: both if the subnets have partitions, else off.
    pub part_enforce: Option<PartEnforce>,
    /// When the element leaves.
    pub departure: Departure,
    /// Whether a planned change is meant to cut off end ports.
    pub cut_off_meant: bool,
    /// The scheme of the change.
    pub scheme: Scheme,
    /// Whether the cheapest scheme that is proved is taken instead.
    pub auto: bool,
    /// Arming and drain observer.
    pub policy: Policy,
    /// The profile that settings below were taken from, as far as they were not given ([`Scenario::on`]).
    pub devices: DeviceProfile,
    /// How sources are moved. Fenced ones may send on both halves, and follow within the time that the fence gives
    /// them.
    pub sources: SourceControl,
    /// The least LMC: LIDs are renumbered if the capture has a smaller one.
    pub lmc: Lmc,
    /// Whether every LID is a path and no half is spare: for a fabric in which nothing changes.
    pub undivided: bool,
    /// If the engines need more lanes than `sim.data_vls`: whether that is an error instead of raising the number.
    pub vls_fixed: bool,
    /// If the engines need more LIDs: whether that is an error instead of raising the LMC.
    pub lmc_fixed: bool,
    /// Whether switches accept the optimised SL-to-VL form; none: as in the fabric.
    pub optimised_sl_to_vl: Option<bool>,
    /// The node that runs the subnet manager in the subnet that changes; none: the capture's origin, or the first host
    /// that stays. The managers of the other subnets are chosen in that way.
    pub sm: Option<NodeId>,
    /// Offered load; none: 0.3, or less if that would fill the busiest link or make the run long.
    pub load: Option<f64>,
    /// Hardware, traffic and faults; its load is overwritten by `load`.
    pub sim: SimConfig,
    /// Whether the traffic is the permutation that R serves worst ([`crate::tables::Crossings`]), whatever `sim`
    /// specifies.
    pub worst_traffic: bool,
    /// The name of the permutation that `sim` specifies, if it has one, for the report.
    pub traffic_name: Option<&'static str>,
    /// The seed of the engines, for the report.
    pub engine_seed: u64,
    /// The number of busiest links between switches to report; 0: none.
    pub hot_links: usize,
    /// Connections that hosts set up from the start of the period *before* on, by their end ports, the active side
    /// first.
    pub connections: Vec<[SubnetPort; 2]>,
    /// How the manager hears of the change; not read where it is planned.
    pub detection: Detection,
    /// Time that the manager takes to compute a new routing: before its first write or, by scheme `static`, once ports
    /// are stopped. 0: none passes.
    pub computing: ComputeTime,
    /// SMPs outstanding over all devices; none: one for each device.
    pub window: Option<usize>,
    /// Time without an answer after which a request is sent again.
    pub smp_timeout_ns: u64,
    /// How often a request is sent again before its device counts as gone.
    pub smp_retries: u32,
    /// Time after which a barrier is given up.
    pub barrier_timeout_ns: u64,
    /// Of drain observer *poll*: devices answer only once they are empty, and one that is silent for so long is asked
    /// again; none: devices answer in any case.
    pub poll_silence_ns: Option<u64>,
    /// The file in which the change is recorded before it is made, written anew; none if nowhere. Where several subnets
    /// change at once, none is.
    pub journal: Option<PathBuf>,
    /// Length of the warm-up before the period *before*.
    pub warm_up_ns: u64,
    /// Length of the period *before*.
    pub before_ns: u64,
    /// Length of the period *after*.
    pub after_ns: u64,
}

impl Scenario {
    /// The root of a fabric leaves; all other settings are the command line's defaults.
    pub fn remove_root(fabric: Fabric) -> Scenario {
        Scenario::of_one(fabric, Element::Root)
    }

    /// A change in a fabric that is a subnet by itself; all other settings are the command line's defaults.
    pub fn of_one(fabric: Fabric, change: impl Into<ScenarioChange>) -> Scenario {
        Scenario::new(Subnets::alone(fabric), change)
    }

    /// A change among subnets; all other settings are the command line's defaults.
    pub fn new(subnets: Subnets, change: impl Into<ScenarioChange>) -> Scenario {
        let profile = DeviceProfile::default().settings();
        Scenario {
            subnets,
            change: change.into(),
            later: Vec::new(),
            standby: None,
            notes: Vec::new(),
            rule: LevelsRule::default(),
            cross: 0.1,
            hop_limit: 64,
            part_enforce: None,
            departure: Departure::default(),
            cut_off_meant: false,
            scheme: Scheme::Double,
            auto: false,
            policy: Policy { observer: profile.observer, ..Policy::default() },
            devices: DeviceProfile::default(),
            sources: profile.sources,
            lmc: Lmc::masked(1),
            undivided: false,
            vls_fixed: false,
            lmc_fixed: false,
            optimised_sl_to_vl: None,
            sm: None,
            load: None,
            sim: SimConfig::default(),
            worst_traffic: false,
            traffic_name: None,
            engine_seed: 0,
            hot_links: 0,
            connections: Vec::new(),
            detection: Detection::default(),
            computing: ComputeTime::default(),
            window: profile.window,
            smp_timeout_ns: profile.smp_timeout_ns,
            smp_retries: profile.smp_retries,
            barrier_timeout_ns: profile.barrier_timeout_ns,
            poll_silence_ns: None,
            journal: None,
            warm_up_ns: 200_000,
            before_ns: 500_000,
            after_ns: 500_000,
        }
    }

    /// The scenario on devices of a profile: all that the profile settles is as it says.
    #[must_use]
    pub fn on(self, devices: DeviceProfile) -> Scenario {
        Scenario { devices, ..self }.with_device_settings(devices.settings())
    }

    /// The scenario with these settings of devices.
    #[must_use]
    pub fn with_device_settings(self, own: DeviceSettings) -> Scenario {
        let DeviceSettings {
            observer, arming, sources, window, smp_timeout_ns, smp_retries, barrier_timeout_ns, ..
        } = own;
        let sim = SimConfig {
            switch_lifetime_ns: own.switch_life_ns,
            hoq_lifetime_ns: own.hoq_life_ns,
            sma_service_ns: own.smp_time_ns,
            ..self.sim
        };
        let policy = Policy { observer, arming, ..self.policy };
        Scenario { policy, sources, sim, window, smp_timeout_ns, smp_retries, barrier_timeout_ns, ..self }
    }

    /// The settings of devices that are in force.
    pub fn device_settings(&self) -> DeviceSettings {
        DeviceSettings {
            observer: self.policy.observer,
            arming: self.policy.arming,
            sources: self.sources,
            switch_life_ns: self.sim.switch_lifetime_ns,
            hoq_life_ns: self.sim.hoq_lifetime_ns,
            smp_time_ns: self.sim.sma_service_ns,
            window: self.window,
            smp_timeout_ns: self.smp_timeout_ns,
            smp_retries: self.smp_retries,
            barrier_timeout_ns: self.barrier_timeout_ns,
        }
    }

    /// The fabric of the first subnet, as captured.
    pub fn fabric(&self) -> &Fabric {
        self.subnets.fabric(SubnetId(0))
    }

    /// Whether the scenario has one subnet and nothing between subnets, that is, no other subnet and no partitions.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.change, ScenarioChange::In { .. }) && self.is_single()
    }

    fn is_single(&self) -> bool {
        self.subnets.len() == 1 && !self.subnets.has_partitions()
    }

    /// Refuses what is not implemented. What only a single subnet supports is refused here, and nowhere else in the
    /// library.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        if let ScenarioChange::Router(router) = self.change {
            self.check_router(router)?;
        }
        let comes = matches!(&self.change, ScenarioChange::In { elements, .. } if elements.iter().any(Element::comes));
        if self.detection != Detection::Trap && self.departure == Departure::Planned && !comes {
            let why = "a planned removal is announced, so that neither traps nor sweeps detect it: omit one of the two";
            return Err(ScenarioError::Unsupported(why));
        }
        let is_steady = matches!(self.change, ScenarioChange::Nothing) && self.is_single();
        if self.undivided && !is_steady {
            let why = "a change needs a spare half of the LIDs: only one fabric in which nothing changes (--steady) can do \
                       without; omit --undivided, or add one to --lmc";
            return Err(ScenarioError::Unsupported(why));
        }
        if self.poll_silence_ns.is_some() && self.policy.observer != Observer::Poll {
            let why = "silence is an answer to polls only: choose --drain poll, or omit --poll-silence";
            return Err(ScenarioError::Unsupported(why));
        }
        let asks = self.policy.observer == Observer::Conservation || self.sim.monitor.is_some();
        if asks && self.sim.buffer_credits < GMP_BYTES.div_ceil(64) {
            let why =
                "counters are read by packets of 290 bytes, longer than an input buffer: give it 5 credits at least";
            return Err(ScenarioError::Unsupported(why));
        }
        if self.is_alone() {
            return Ok(());
        }
        let refused = [
            (
                !self.later.is_empty() || self.standby.is_some(),
                "later events and a standby manager are those of a single subnet: give the subnet's own file",
            ),
            (comes, "among several subnets nothing can be added yet: give the subnet's own file"),
            (
                self.policy.observer == Observer::Lifetime,
                "drain by lifetime relies on lifetime limits, which routers lack: choose token, poll or conservation",
            ),
            (
                self.policy.reserved_sl.is_some() || self.sim.monitor.is_some(),
                "a service level is reserved, and switches are asked, in a single subnet only: give the subnet's own file",
            ),
            (
                self.worst_traffic && !self.is_single(),
                "the worst permutation is that of a single subnet: give the subnet's own file, or choose other traffic",
            ),
        ];
        refused.into_iter().find(|(asked, _)| *asked).map_or(Ok(()), |(_, why)| Err(ScenarioError::Unsupported(why)))
    }

    /// Checks that a router has one node in each of its subnets.
    fn check_router(&self, router: usize) -> Result<(), ScenarioError> {
        let device = &self.subnets.routers()[router];
        let node = |at: SubnetPort| Some(self.subnets.fabric(at.subnet).port(at.port).node);
        let other = device.ports.iter().find(|&&at| self.subnets.router_node(router, at.subnet) != node(at));
        other.map_or(Ok(()), |at| {
            let (router, subnet) = (device.name.clone(), self.subnets.subnet(at.subnet).name.clone());
            Err(ScenarioError::SeveralNodes { router, subnet })
        })
    }

    /// What changes in one of the subnets.
    pub(super) fn elements_in(&self, id: SubnetId) -> Vec<Element> {
        match &self.change {
            ScenarioChange::In { subnet, elements } if *subnet == id => elements.clone(),
            ScenarioChange::Router(router) => {
                self.subnets.router_node(*router, id).map(Element::EndNode).into_iter().collect()
            }
            ScenarioChange::In { .. } | ScenarioChange::Nothing => Vec::new(),
        }
    }
}
