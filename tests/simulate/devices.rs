//! Devices as they are: what a simulated change takes there is what `reconfig sm` takes, and waits cost nothing.
//!
//! The manager here is the one that `reconfig sm` runs, on a cold subnet whose clock is the simulation's: no process,
//! and no machine's time. `serve::devices` does the same with programs.

use super::{assert_clean, run, took_ns, watched};
use crate::support::bundled::bundled;
use crate::support::short::short;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Guid;
use reconfig::machine::Outcome;
use reconfig::plan::{Policy, Scheme, TurnedBack};
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Scenario, Watch};
use reconfig::sim::{Sim, SimConfig, SimTransport};
use reconfig::sm::election::{ElectionRules, Rank};
use reconfig::sm::{
    self, AgeLimits, Config, Context, Happening, Mailbox, ManagerOrder, RunUntil, SharedMailbox, SubnetElement,
    Takeover,
};
use reconfig::subnet::{DeviceProfile, Manager, SourceControl};
use reconfig::transport::AnyTransport;
use std::sync::Arc;
use std::task::Waker;

/// How far apart both may be, as a share of what `sm` takes.
const APART: f64 = 0.2;

/// Long after a subnet is up: the second survey is over, and the third is not due.
const QUIET_NS: u64 = 500_000_000;

/// A change on standard devices, under little traffic.
fn standard(name: &str, departure: Departure, auto: bool) -> Scenario {
    let scenario = Scenario { departure, auto, ..Scenario::remove_root(bundled(name)).on(DeviceProfile::Standard) };
    // The time-out of barriers is that of the profile.
    let barrier_timeout_ns = scenario.barrier_timeout_ns;
    Scenario { load: Some(1e-5), barrier_timeout_ns, ..short(scenario) }
}

/// `reconfig sm` with what a scenario settles, on its fabric as after a power cut.
struct Managed {
    transport: SimTransport,
    mailbox: SharedMailbox,
    scenario: Scenario,
    fabric: Fabric,
    root: NodeId,
}

impl Managed {
    fn new(scenario: &Scenario) -> Managed {
        let prepared = scenario::plan(scenario, Arc::new(UpDown::default())).unwrap_or_else(|error| panic!("{error}"));
        let draft = prepared.plan().draft();
        let leaves = |id: &NodeId| draft.before.node(*id).is_switch() && !draft.after.node(*id).present;
        let root = draft.before.nodes().map(|(id, _)| id).find(leaves).expect("the root leaves");
        // The plan's indices are the fabric's: nothing comes.
        let fabric = scenario.fabric().with_capabilities(4, false);
        let sim = SimConfig { load: 0.0, ..scenario.sim.clone() };
        let sim = Sim::cold(&fabric, sim).unwrap_or_else(|error| panic!("{error}"));
        let transport = SimTransport::attach(sim, draft.sm).unwrap_or_else(|error| panic!("{error}"));
        Managed { transport, mailbox: Mailbox::new(false), scenario: scenario.clone(), fabric, root }
    }

    fn context(&self, sm: PortId) -> Context {
        let config = Config {
            policy: self.scenario.policy,
            auto: self.scenario.auto,
            sources: self.scenario.sources,
            takeover: Takeover::Proved,
            ..Config::by(Arc::new(UpDown::default()))
        };
        let guid = Guid(self.fabric.node(self.fabric.port(sm).node).guid.0 + 1);
        Context::of(config, ElectionRules::new(Rank { priority: 0, guid }), self.mailbox.clone())
    }

    /// What the change takes: from the death, or the first write of a planned one, to its last barrier.
    fn change_ns(self) -> u64 {
        let timing = DeviceProfile::Standard.timing(&self.scenario.device_settings(), self.fabric.node_count());
        let manager = Manager::new(Box::new(self.transport.clone()) as AnyTransport, timing, 0);
        let context = self.context(PortId(0));
        let mut running = std::pin::pin!(sm::run(manager, context, RunUntil::Stopped));
        let mut polls = std::task::Context::from_waker(Waker::noop());
        let (mut due_ns, mut began_ns) = (u64::MAX, None);
        loop {
            assert!(running.as_mut().poll(&mut polls).is_pending(), "the manager ends by itself");
            let happenings: Vec<_> = self.mailbox.borrow_mut().happenings().collect();
            for (now_ns, happening) in happenings {
                match happening {
                    Happening::Up { .. } => due_ns = now_ns + QUIET_NS,
                    Happening::Changed(record) => {
                        assert_eq!(record.outcome, Outcome::Completed);
                        let (first, last) = (record.phases.first(), record.phases.last());
                        let planned = self.scenario.departure == Departure::Planned;
                        let began_ns = if planned { first.map(|phase| phase.start_ns) } else { began_ns };
                        return last.expect("phases").end_ns - began_ns.expect("it began");
                    }
                    Happening::Failed(why) => panic!("{why}"),
                    Happening::Answered(_, answer) => panic!("no change: {answer:?}"),
                    _ => {}
                }
            }
            self.transport.advance(due_ns);
            if began_ns.is_none() && self.transport.with(|sim| sim.now_ns()) >= due_ns {
                (began_ns, due_ns) = (Some(due_ns), u64::MAX);
                self.begin();
            }
        }
    }

    /// The root dies, or is ordered away.
    fn begin(&self) {
        if self.scenario.departure == Departure::Sudden {
            return self.transport.with(|sim| sim.kill(self.root));
        }
        let element = SubnetElement::Switch(self.fabric.node(self.root).description.trim().to_string());
        let order = ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: true };
        self.mailbox.borrow_mut().order(order);
    }
}

/// What the change takes by `simulate`: from the same moment to the same barrier.
fn simulated_ns(scenario: &Scenario) -> u64 {
    let report = run(scenario);
    assert_clean(&report, &report.what);
    match scenario.departure {
        Departure::Sudden => report.change_ns().expect("it was made"),
        Departure::Planned => {
            report.changes[0].phases[report.changes[0].phases.len() - 1].end_ns - report.changes[0].phases[0].start_ns
        }
    }
}

fn assert_agree(what: &str, scenario: &Scenario) {
    let (simulated, managed) = (simulated_ns(scenario), Managed::new(scenario).change_ns());
    println!("{what}: simulate {simulated} ns, sm {managed} ns");
    assert!(simulated.abs_diff(managed) as f64 <= APART * managed as f64, "{what}: {simulated} ns and {managed} ns");
}

#[test]
fn simulate_and_sm_agree_on_what_a_change_takes() {
    for name in ["fat-tree-4-2", "mesh-4x4", "ring-8"] {
        for departure in [Departure::Sudden, Departure::Planned] {
            for auto in [true, false] {
                let what = format!("{name}, {}, auto {auto}", departure.name());
                assert_agree(&what, &standard(name, departure, auto));
            }
        }
    }
}

/// Where switches send packets back, waves wait for one another by age.
#[test]
fn they_agree_where_waves_wait() {
    let base = standard("mesh-4x4", Departure::Sudden, true);
    let policy = Policy { turned_back: TurnedBack::Returned, ..base.policy };
    let scenario = Scenario { policy, sim: SimConfig { discards_turned_back: false, ..base.sim.clone() }, ..base };
    assert_agree("mesh-4x4, packets that turn back", &scenario);
}

/// Keeps the estimate with which a run begins.
#[derive(Default)]
struct Expected(u64);

impl Watch for Expected {
    fn begins(&mut self, expected_hops: u64, _load: f64) {
        self.0 = expected_hops;
    }

    fn passes(&mut self, _packet_hops: u64, _now_ns: u64) {}

    fn ends(&mut self) {}
}

/// The plan is known when a run begins, so the estimate counts how long its waves wait.
#[test]
fn an_estimate_counts_the_waits_of_the_plan() {
    let base = standard("mesh-4x4", Departure::Sudden, true);
    let policy = Policy { turned_back: TurnedBack::Returned, ..base.policy };
    let sim = SimConfig { discards_turned_back: false, ..base.sim.clone() };
    let mut expected = Expected::default();
    let report = watched(&Scenario { load: Some(5e-4), policy, sim, ..base }, &mut expected).expect("the run begins");
    assert!(report.scheme == Scheme::Ordered && report.change_ns() > Some(1_000_000_000), "{:?}", report.change_ns());
    let share = expected.0 as f64 / report.packet_hops as f64;
    assert!((0.5..2.0).contains(&share), "{} estimated, {} made", expected.0, report.packet_hops);
}

#[test]
fn what_a_manager_programs_is_what_the_profile_says() {
    let profile = DeviceProfile::Standard.settings();
    let limits = AgeLimits::default();
    assert_eq!(4096 << limits.life_time_value, profile.switch_life_ns);
    assert_eq!(4096 << limits.hoq_life, profile.hoq_life_ns);
}

#[test]
fn settings_without_a_profile_are_those_of_devices_with_agents() {
    let scenario = Scenario::remove_root(bundled("ring-8"));
    assert_eq!(
        (scenario.devices, scenario.device_settings()),
        (DeviceProfile::Agents, DeviceProfile::Agents.settings())
    );
    assert_eq!(scenario.on(DeviceProfile::Standard).device_settings(), DeviceProfile::Standard.settings());
}

/// Counts how often a run says how far it is.
#[derive(Default)]
struct Reports(u64);

impl Watch for Reports {
    fn begins(&mut self, _expected_hops: u64, _load: f64) {}

    fn passes(&mut self, _packet_hops: u64, _now_ns: u64) {
        self.0 += 1;
    }

    fn ends(&mut self) {}
}

#[test]
fn a_wait_with_nothing_under_way_costs_nothing() {
    let scenario = standard("fat-tree-4-2", Departure::Sudden, false);
    let mut reports = Reports::default();
    let report = watched(&Scenario { load: Some(0.0), ..scenario }, &mut reports).expect("the run begins");
    assert!(report.change_ns() > Some(10_000_000_000), "{:?}", report.change_ns());
    assert!(reports.0 < 10_000, "{} slices for {:?} ns", reports.0, report.change_ns());
}

/// A scenario whose fence gives hosts a millisecond, and whose switches keep packets for one.
fn hasty(name: &str) -> Scenario {
    let sources = SourceControl::Fenced { settle_ns: 1_000_000 };
    let base = standard(name, Departure::Planned, false);
    let sim = SimConfig { switch_lifetime_ns: 4096 << 8, replies: 0.3, ..base.sim.clone() };
    Scenario { sources, sim, load: Some(0.05), ..base }
}

#[test]
fn hosts_follow_behind_a_fence_and_lose_nothing() {
    for name in ["fat-tree-4-2", "torus-4x4", "ring-8"] {
        let report = run(&hasty(name));
        assert_clean(&report, name);
        assert!(took_ns(&report, "swap") >= 1_000_000, "{name}: {:?}", report.changes[0].phases);
    }
}

#[test]
fn hosts_that_never_ask_again_lose_packets_at_their_own_ports() {
    let base = hasty("fat-tree-4-2");
    let report = run(&Scenario { sim: SimConfig { sources_move: false, ..base.sim.clone() }, ..base });
    assert_eq!((report.outcome, report.scheme), (scenario::Ending::Completed, Scheme::Double), "{:?}", report.reason);
    assert!(report.packets.lost_to_change > 0, "{:?}", report.packets);
}

#[test]
fn what_was_given_is_told_beside_the_profile() {
    let scenario = Scenario { window: Some(4), ..hasty("ring-8") };
    let devices = run(&scenario).settings.devices;
    assert_eq!((devices.profile, devices.given), (DeviceProfile::Standard, vec!["settle", "switch-life", "window"]));
}
