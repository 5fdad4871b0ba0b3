//! A world brought to life: the simulated subnet under saturating traffic, a driver that changes its routing, and
//! management packets that are lost, late, doubled and in any order.

use super::world::{Built, Happening, OLD, World};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use reconfig::change::{Prepared, Recovery};
use reconfig::driver::{ChangeRecord, Driver, DriverError, Intent, Running};
use reconfig::fabric::Fabric;
use reconfig::plan::{Arming, Observer, Plan, Policy, Scheme, Sending, TurnedBack};
use reconfig::scenario::Witnessed;
use reconfig::sim::{
    ArmedPort, Halt, Latch, OutageEnd, PacketCounts, Sim, SimConfig, SimTransport, StuckPacket, Traffic,
};
use reconfig::subnet::{Manager, SourceControl, SubnetManager, Timing, WriteOrder};
use reconfig::transport::Transport;
use reconfig::vet::{self, Objection, Vetted};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub const MS: u64 = 1_000_000;

/// Simulated time after which nothing is waited for any more.
const END_NS: u64 = 600 * MS;

/// How management packets fare.
#[derive(Clone, Debug)]
pub struct Management {
    pub service_ns: u64,
    pub loss: f64,
    /// Asks again before an answer can have come, so that copies of every `Set` arrive late.
    pub impatient: bool,
    pub delay_ns: u64,
    pub window: usize,
    pub per_device: usize,
    /// The writes of each wave in an order drawn from a seed, with this many on the wire.
    pub order: Option<(u64, u16)>,
}

/// Hardware, traffic and policy.
#[derive(Clone, Debug)]
pub struct Setting {
    pub seed: u64,
    pub scheme: Scheme,
    /// Sources send on either half throughout, and the change knows it.
    pub both_halves: bool,
    pub sources: SourceControl,
    pub policy: Policy,
    pub latch: Latch,
    pub buffer_credits: u16,
    pub replies: f64,
    pub send_queue: u16,
    pub vl_weight: u16,
    pub traffic: Traffic,
    /// SwitchInfo:LifeTimeValue of every switch where packets age.
    pub life_time_value: u8,
    pub management: Management,
}

fn managements() -> impl Strategy<Value = Management> {
    (
        prop::sample::select(&[1_000u64, 4_000, 18_600][..]),
        (prop::sample::select(&[0.0, 0.0, 0.03][..]), prop::bool::weighted(0.25)),
        prop::sample::select(&[0u64, 5_000, 50_000][..]),
        prop::sample::select(&[3usize, 16, 128][..]),
        1usize..4,
        prop::option::of((any::<u64>(), 1u16..6)),
    )
        .prop_map(|(service_ns, (loss, impatient), delay_ns, window, per_device, order)| Management {
            service_ns,
            loss,
            impatient,
            delay_ns,
            window,
            per_device,
            order,
        })
}

fn traffics() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        3 => Just(Traffic::Uniform),
        1 => Just(Traffic::Permutation),
        1 => (0u32..2).prop_map(|destination| Traffic::HotSpot { destination, share: 0.2 }),
    ]
}

/// Settings for changes of one of these schemes.
pub fn settings(schemes: &'static [Scheme]) -> impl Strategy<Value = Setting> {
    let policies = (prop::sample::select(Arming::ALL), prop::sample::select(Observer::ALL));
    let policies = policies.prop_map(|(arming, observer)| Policy { arming, observer, ..Policy::default() });
    let latches = prop::sample::select(&[Latch::Arrival, Latch::Head, Latch::Grant][..]);
    let queues = (prop::sample::select(&[16u16, 24, 64][..]), 1u16..20, prop::sample::select(&[1u16, 64][..]));
    let replies = prop::sample::select(&[0.0, 0.1, 0.3][..]);
    (0u64..1_000, prop::sample::select(schemes), policies, latches, queues, replies, traffics(), managements())
        .prop_map(
            |(seed, scheme, policy, latch, (buffer_credits, send_queue, vl_weight), replies, traffic, management)| {
                Setting {
                    seed,
                    scheme,
                    both_halves: false,
                    sources: SourceControl::ByAgent,
                    policy: Policy { turned_back: TurnedBack::ALL[seed as usize % 2], ..policy },
                    latch,
                    buffer_credits,
                    replies,
                    send_queue,
                    vl_weight,
                    traffic,
                    life_time_value: 6,
                    management,
                }
            },
        )
}

/// How a change ended.
#[derive(Debug)]
pub enum End {
    Deadlock,
    Report(Box<ChangeRecord>),
    /// Nobody told the manager that anything had happened.
    Unheard,
    Error(DriverError),
    /// It never came to an end.
    Endless,
    /// The manager died.
    Killed,
}

/// Something done from outside at a time of the simulation's clock.
pub type TimedAction = (u64, Box<dyn FnOnce(&SimTransport)>);

/// A subnet that runs, and its manager.
pub struct Play {
    pub transport: SimTransport,
    pub driver: Driver<Witnessed>,
    pub built: Built,
    setting: Setting,
    dies_at_ns: u64,
}

impl Play {
    /// Brings a subnet up; its sources send as fast as they can.
    pub fn begin(world: &World, setting: &Setting, built: Built) -> Play {
        let transport = SimTransport::new(simulation(world, setting, &built));
        let running = Running {
            known: built.whole.clone(),
            routed: built.before.clone(),
            alive: built.before.clone(),
            tables: built.tables.clone(),
            layers: 1,
            ways: None,
            half: OLD,
            both_halves: setting.both_halves,
            sm: built.sm,
        };
        let intent = intent(world, setting);
        let mut manager = Manager::new(transport.clone().boxed(), timing(&setting.management), 0);
        manager.move_sources(setting.sources);
        manager.count_from_power_on();
        let driver = Driver::new(Witnessed::new(transport.clone(), manager, 0), running, intent);
        Play { transport, driver, built, setting: setting.clone(), dies_at_ns: u64::MAX }
    }

    /// Lets the subnet run, then changes it as its world says.
    pub fn change(&mut self, world: &World, actions: Vec<TimedAction>) -> End {
        self.pass(if world.slow { 400_000 } else { 40_000 });
        let until_ns = self.now_ns() + 200 * MS;
        let (switches, cables) = (self.built.switches.clone(), self.built.cables.clone());
        match world.happening {
            Happening::Come { .. } => {
                self.transport.with(|sim| switches.iter().for_each(|&node| sim.revive(node)));
                self.drive(actions, async |driver| driver.await_growth(until_ns).await)
            }
            Happening::Leave { sudden: true, .. } if !(switches.is_empty() && cables.is_empty()) => {
                self.transport.with(|sim| {
                    switches.iter().for_each(|&node| sim.kill(node));
                    cables.iter().for_each(|&cable| sim.kill(cable));
                });
                self.drive(actions, async |driver| driver.await_loss(until_ns).await)
            }
            Happening::Leave { .. } | Happening::Reroute => self.planned(self.built.after.clone(), actions),
        }
    }

    /// A change that is announced, its writes in the order asked for.
    pub fn planned(&mut self, after: Arc<Fabric>, actions: Vec<TimedAction>) -> End {
        let mut prepared = match self.driver.prepare(after) {
            Ok(prepared) => prepared,
            Err(error) => return End::Error(error),
        };
        if let Some((seed, window)) = self.setting.management.order {
            prepared = reordered(prepared, seed, window);
        }
        self.transport.with(|sim| sim.omit(&prepared.stranded));
        self.drive(actions, async |driver| driver.run(prepared).await.map(Some))
    }

    /// Sources that change the half that they send on, all at once, every few microseconds.
    pub fn switching(&self) -> Vec<TimedAction> {
        let halves = [OLD.other(), OLD].into_iter().cycle().zip(1u64..);
        let action = |(half, nth)| -> TimedAction {
            (
                self.now_ns() + nth * 7_000,
                Box::new(move |transport: &SimTransport| transport.with(|sim| sim.load_half(half))),
            )
        };
        halves.take(300).map(action).collect()
    }

    /// Routes around what was lost while the last change ended; whether there was anything.
    pub fn answer_what_is_left(&mut self, wait_ns: u64) -> bool {
        let until_ns = self.now_ns() + wait_ns;
        let lost = self.driver.running().has_lost_something();
        lost && matches!(self.drive(Vec::new(), async |driver| driver.await_loss(until_ns).await), End::Report(_))
    }

    /// A manager takes the place of one that died, and runs the recovery of what it found, `running`.
    pub fn succeed(
        &mut self,
        world: &World,
        mut running: Running,
        recovery: Recovery,
        actions: Vec<TimedAction>,
    ) -> End {
        let Recovery { prepared, first, .. } = recovery;
        first.iter().for_each(|write| running.tables.apply(&running.alive, write));
        let alive = running.alive.clone();
        let mut manager = Manager::new(self.transport.clone().boxed(), timing(&self.setting.management), 0);
        manager.move_sources(self.setting.sources);
        self.driver =
            Driver::new(Witnessed::new(self.transport.clone(), manager, 0), running, intent(world, &self.setting));
        self.dies_at_ns = u64::MAX;
        self.drive(actions, async |driver| {
            driver.subnet_mut().apply(&alive, &first, WriteOrder::Any).await?;
            driver.run(prepared).await.map(Some)
        })
    }

    /// Has the manager die at this time.
    pub fn kill_manager_at(&mut self, at_ns: u64) {
        self.dies_at_ns = at_ns;
    }

    /// Polls what the driver does; whenever it waits, the simulation goes on. A barrier that is not true is an error.
    fn drive(
        &mut self,
        mut actions: Vec<TimedAction>,
        task: impl AsyncFnOnce(&mut Driver<Witnessed>) -> Result<Option<ChangeRecord>, DriverError>,
    ) -> End {
        let dies_at_ns = self.dies_at_ns;
        if dies_at_ns < u64::MAX {
            actions.push((dies_at_ns, Box::new(|_| {})));
        }
        let transport = &self.transport;
        let mut future = pin!(task(&mut self.driver));
        let mut context = Context::from_waker(Waker::noop());
        actions.sort_by_key(|(at_ns, _)| std::cmp::Reverse(*at_ns));
        loop {
            if let Poll::Ready(ended) = future.as_mut().poll(&mut context) {
                return ended
                    .map_or_else(End::Error, |report| report.map_or(End::Unheard, |r| End::Report(Box::new(r))));
            }
            if let Some(end) = advance(transport, &mut actions) {
                return end;
            }
            if transport.with(|sim| sim.now_ns()) >= dies_at_ns {
                return End::Killed;
            }
        }
    }

    /// What was to leave as planned leaves, nobody sends any more, and every packet meets its fate.
    pub fn finish(&mut self, depart: bool) -> PacketCounts {
        self.pass(100_000);
        if depart {
            let (switches, cables) = (self.built.switches.clone(), self.built.cables.clone());
            self.transport.with(|sim| {
                switches.iter().for_each(|&node| sim.retire(node));
                cables.iter().for_each(|&cable| sim.retire(cable));
            });
            self.pass(50_000);
        }
        self.transport.with(Sim::stop_sources);
        let end_ns = self.now_ns() + 300 * MS;
        while self
            .transport
            .with(|sim| sim.deadlock().is_none() && sim.packets().in_flight > 0 && sim.now_ns() < end_ns)
        {
            self.pass(MS / 2);
        }
        self.transport.with(Sim::confirm_deadlock);
        self.transport.with(|sim| assert_outages_add_up(sim));
        self.transport.with(|sim| sim.packets())
    }

    /// The cycle of waiting packets, if there is one.
    pub fn stuck(&self) -> Option<Vec<StuckPacket>> {
        self.transport.with(|sim| sim.deadlock().map(<[_]>::to_vec))
    }

    pub fn now_ns(&self) -> u64 {
        self.transport.with(|sim| sim.now_ns())
    }

    pub fn pass(&mut self, length_ns: u64) {
        self.transport.with(|sim| sim.run(sim.now_ns() + length_ns, false));
    }
}

/// Every loss is of a pair, and no pair is back by a packet that was sent before one that it lost.
fn assert_outages_add_up(sim: &Sim) {
    let (outages, packets) = (sim.outages(), sim.packets());
    let lost = |counts: fn(&OutageEnd) -> bool| {
        outages.iter().filter(|pair| counts(&pair.end)).map(|pair| pair.lost).sum::<u64>()
    };
    // What a source holds that is cut off is stranded too, though it is not lost.
    let all = lost(|_| true);
    assert!((packets.lost()..=packets.lost() + packets.stranded).contains(&all), "{all} {packets:?}");
    assert!(lost(|end| *end != OutageEnd::CutOff) <= packets.lost(), "{packets:?}");
    for pair in &outages {
        assert!(pair.lost > 0, "{pair:?}");
        match pair.end {
            OutageEnd::Back { at_ns } => assert!(at_ns > pair.last_sent_ns && at_ns >= pair.since_ns, "{pair:?}"),
            OutageEnd::Out => assert!(packets.in_flight > 0, "nothing of it is under way: {pair:?}"),
            OutageEnd::NotSeenAgain | OutageEnd::CutOff => {}
        }
    }
}

/// Lets the simulation go on to what the driver waits for, or to the next action; how the change ends, where it ends
/// here.
fn advance(transport: &SimTransport, actions: &mut Vec<TimedAction>) -> Option<End> {
    let next_ns = actions.last().map_or(u64::MAX, |(at_ns, _)| *at_ns);
    let halt = transport.advance(next_ns.min(END_NS));
    let now_ns = transport.with(|sim| sim.now_ns());
    if now_ns >= next_ns
        && let Some((_, action)) = actions.pop()
    {
        action(transport);
    }
    match halt {
        Halt::Deadlock => Some(End::Deadlock),
        Halt::Time | Halt::Mad => (now_ns >= END_NS).then_some(End::Endless),
    }
}

fn intent(world: &World, setting: &Setting) -> Intent {
    Intent {
        engine: Arc::new(world.new),
        scheme: setting.scheme,
        auto: false,
        policy: setting.policy,
        unproved_baselines: matches!(setting.scheme, Scheme::Static | Scheme::InPlace),
    }
}

fn simulation(world: &World, setting: &Setting, built: &Built) -> Sim {
    let management = &setting.management;
    let lifetime = setting.policy.observer == Observer::Lifetime;
    let config = SimConfig {
        seed: setting.seed,
        data_vls: world.vls,
        buffer_credits: setting.buffer_credits,
        vl_weight: setting.vl_weight,
        latch: setting.latch,
        discards_turned_back: setting.policy.turned_back == TurnedBack::Discarded,
        armed: if setting.policy.arming == Arming::Discard { ArmedPort::Discards } else { ArmedPort::Holds },
        switch_lifetime_ns: if lifetime { 4096 << setting.life_time_value } else { 0 },
        load: 1.0,
        traffic: setting.traffic.clone(),
        replies: setting.replies,
        send_queue: setting.send_queue,
        sma_service_ns: management.service_ns,
        smp_loss: management.loss,
        smp_delay_ns: management.delay_ns,
        ..SimConfig::default()
    };
    let mut sim = Sim::new(&built.whole, config, built.sm).expect("the settings here can be meant");
    for (switch, block, entries) in built.tables.lft_blocks(&built.whole) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(OLD);
    let sm_lid = built.whole.port(built.sm).lid.expect("every end port has LIDs");
    sim.load_master_sm(sm_lid, OLD.sls().next().expect("a half has service levels"));
    if matches!(world.happening, Happening::Come { .. }) {
        built.switches.iter().for_each(|&node| sim.keep_away(node));
    }
    sim.count_outages();
    sim.start();
    sim
}

/// A copy of a request lives as long as it may be delayed and as an agent's queue lasts.
fn timing(management: &Management) -> Timing {
    let timeout_ns = match (management.impatient, management.loss > 0.0) {
        (true, _) => 30_000,
        (false, true) => MS / 2,
        (false, false) => 2 * MS,
    };
    Timing {
        poll_silence_ns: None,
        timeout_ns,
        // Enough that seldom a change fails for loss alone, few enough that the dead are soon given up.
        retries: if management.loss > 0.0 { 9 } else { 4 },
        window: management.window,
        per_device: management.per_device,
        smp_lifetime_ns: MS / 2,
        poll_first_ns: 10_000,
        poll_most_ns: 500_000,
        barrier_ns: 30 * MS,
        light_sweep_ns: Some(5 * MS),
    }
}

/// The same plan with the writes of every wave shuffled, proved anew: the prover's verdict does not depend on order.
fn reordered(prepared: Prepared, seed: u64, window: u16) -> Prepared {
    let mut draft = prepared.plan.plan().draft().clone();
    let mut rng = Pcg64::seed_from_u64(seed);
    for wave in &mut draft.waves {
        wave.writes.shuffle(&mut rng);
        wave.sending = Sending::Listed { window };
    }
    let proved = prepared.plan.refusal().is_none();
    let plan = match vet::vet(Plan::seal(draft)).map_err(|objected| *objected) {
        Ok(plan) => plan,
        Err((plan, Objection::Refused(refusal))) => {
            Vetted::baseline(plan, refusal).expect("a plan of scheme double stays proved")
        }
        Err((_, objection)) => panic!("{objection}"),
    };
    assert_eq!(plan.refusal().is_none(), proved, "the order of the writes changes the verdict");
    Prepared { plan: Arc::new(plan), ..prepared }
}
