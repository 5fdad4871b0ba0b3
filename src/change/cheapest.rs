//! The cheapest scheme that is proved: `ordered`, which asks nothing of hosts, or `double`, which always works.

use super::unserved::unserved;
use super::{ChangeError, ChangeInput, Groundwork, Outset, PlannedChange, Prepared, refused, repairing};
use crate::fabric::summary::counted;
use crate::plan::{Barrier, Observer, Phase, Plan, PlanSize, Scheme, SmpRate, Wave};
use crate::routing::RouteError;
use crate::verify::Scope;
use crate::vet::PlanVerdict;

/// SMPs that a device serves, one after another, in a round of flushes: the order, and a question whether it is done.
const ROUND: u64 = 2;
/// Time that a device takes for an SMP: the rate at which waiting times become SMPs.
const SMP_NS: u64 = 20_000;
/// Time counted in SMPs, each device serving one after another.
const ONE_EACH: SmpRate = SmpRate { smp_ns: 1, window: None };
/// The SMPs served while a switch lifetime passes: 1.07 s, as OpenSM programs it, of some [`SMP_NS`] each.
const LIFETIME: u64 = 50_000;

/// How long devices and hosts take, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// To serve SMPs.
    pub smps: SmpRate,
    /// The longest that a switch keeps a packet.
    pub lifetime_ns: u64,
    /// Until sources have followed behind a fence; none if agents notify them.
    pub settle_ns: Option<u64>,
}

/// Prepares the cheapest change that is proved. It takes the full re-route in one wave if that is smaller than a
/// repair. Otherwise it takes scheme `ordered`, if that is proved. Exception: after a loss it takes `double` if pairs
/// of a switch and a LID are then without a path for less time in total. Sources follow the swap of `double` within
/// `settle_ns`, or at once if that is 0. The notes of the plan say why the other scheme was passed over. Where the
/// engine has no routing for what is left, the repair goes without its guide. The scheme of the input is not read.
///
/// # Errors
/// What [`ChangeError`] lists; where each scheme fails for a reason of its own, both reasons.
pub fn prepare_cheapest(input: ChangeInput<'_>, settle_ns: u64) -> Result<Prepared, ChangeError> {
    cheapest(input, settle_ns)
}

/// The same by other judges.
///
/// # Errors
/// As for [`prepare_cheapest`].
pub(super) fn cheapest<V: PlanVerdict>(input: ChangeInput<'_>, settle_ns: u64) -> Result<Prepared<V>, ChangeError> {
    let ground = match Groundwork::of(&input) {
        Err(ChangeError::Route(why)) => return unguided(&input, why),
        ground => ground?,
    };
    // What `double` would write is soon counted. Neither its writes nor the order in which its lanes run empty are
    // found before they are needed.
    let (ordered, double) = rayon::join(|| ground.planned(Scheme::Ordered), || ground.size_of_double());
    let noted = |whole: PlannedChange| {
        let why = double.as_ref().map_or_else(ChangeError::to_string, |double| dearer(*double, &whole.plan));
        noting(whole, Scheme::Double, &why)
    };
    let ordered = match ground.in_one_wave(ordered, noted) {
        Ok(whole) => return Ok(whole),
        Err(ordered) => *ordered,
    };
    let without_double = |ordered, why: ChangeError| {
        let ordered = noting(ordered, Scheme::Double, &why.to_string());
        ground.vetted(ordered, refused).map_err(|ordered| neither(ordered, why))
    };
    let (ordered, double) = match (ordered, double) {
        (Ok(ordered), Ok(double)) => (ordered, double),
        (Ok(ordered), Err(why)) => return without_double(ordered, why),
        (Err(ordered), _) => return by_double(&ground, ordered),
    };
    if !has_lost(&ordered.plan) || !keeps_hosts_waiting(&ordered.plan) {
        let why = dearer(double, &ordered.plan);
        // What is proved is not given up for what is not.
        return ground
            .vetted(noting(ordered, Scheme::Double, &why), refused)
            .or_else(|ordered| by_double(&ground, ordered));
    }
    let outline = match ground.outlined() {
        Ok(outline) => outline,
        Err(why) => return without_double(ordered, why),
    };
    let weighed = weigh(&ordered.plan, &outline, settle_ns);
    if weighed.taken == Scheme::Ordered {
        let ordered = noting(ordered, Scheme::Double, &weighed.why);
        return ground.vetted(ordered, refused).or_else(|ordered| by_double(&ground, ordered));
    }
    let double = match ground.planned(Scheme::Double) {
        Ok(double) => double,
        Err(why) => return without_double(ordered, why),
    };
    ground.vetted(noting(double, Scheme::Ordered, &weighed.why), refused).or_else(|double| {
        let ordered = noting(ordered, Scheme::Double, &double.to_string());
        ground.vetted(ordered, refused).map_err(|ordered| neither(ordered, double))
    })
}

/// The repair of every row where there is no full re-route.
fn unguided<V: PlanVerdict>(input: &ChangeInput<'_>, why: RouteError) -> Result<Prepared<V>, ChangeError> {
    let repaired = || {
        let outset = Outset::of(input)?;
        let scope = Scope { stranded: outset.stranded.clone(), ..input.scope() };
        let change = outset.unguided(repairing::unguided(&outset)?, &outset.after, &scope)?;
        noting(change, Scheme::Double, &why.to_string()).vet(input.base, refused)
    };
    repaired().map_err(|ordered: ChangeError| neither(ordered, why.clone().into()))
}

/// The change by `double`, where there is a reason against `ordered`.
fn by_double<V: PlanVerdict>(ground: &Groundwork<'_>, ordered: ChangeError) -> Result<Prepared<V>, ChangeError> {
    let double = match ground.planned(Scheme::Double) {
        Ok(double) => noting(double, Scheme::Ordered, &ordered.to_string()),
        Err(double) => return Err(neither(ordered, double)),
    };
    ground.vetted(double, refused).map_err(|double| neither(ordered, double))
}

fn neither(ordered: ChangeError, double: ChangeError) -> ChangeError {
    ChangeError::NoScheme { ordered: Box::new(ordered), double: Box::new(double) }
}

/// The change, with a note on why another scheme was not taken. A reason of several lines names a cycle: it is kept.
fn noting(change: PlannedChange, passed_over: Scheme, why: &str) -> PlannedChange {
    change.noted(&format!("scheme {passed_over}"), why)
}

/// The scheme to take, and why the other is passed over.
struct Weighed {
    taken: Scheme,
    why: String,
}

/// Weighs waves that wait for one another.
fn weigh(ordered: &Plan, double: &Plan, settle_ns: u64) -> Weighed {
    let (own, other) = (weight(ordered, settle_ns), weight(double, settle_ns));
    let [own_time, other_time] = [own, other].map(pair_time);
    // How long an SMP takes depends on the devices; the times are those of usual ones.
    let each = "an SMP counted as 20 µs";
    if other < own {
        let why = format!(
            "its waves wait for one another, and pairs of a host and a LID are without a way for longer: {own_time}, summed \
             over all pairs, by scheme double {other_time} ({each})"
        );
        return Weighed { taken: Scheme::Double, why };
    }
    let why = format!(
        "pairs of a host and a LID are without a way for longer, or as long: {other_time}, summed over all pairs, by scheme \
         ordered {own_time} ({each})"
    );
    Weighed { taken: Scheme::Ordered, why }
}

/// A sum over pairs that is counted in SMPs of [`SMP_NS`], as a time.
fn pair_time(smps: u64) -> String {
    let seconds = smps as f64 * SMP_NS as f64 / 1e9;
    if seconds < 1.0 { format!("{:.3} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// Why a change by `double` is passed over where one by `ordered` waits for nothing.
fn dearer(double: PlanSize, ordered: &Plan) -> String {
    format!("it takes {}, and moves every host; scheme ordered {}", size(double), size(ordered.size()))
}

/// What a plan writes, in words.
pub(super) fn size(plan: PlanSize) -> String {
    if plan.writes == 0 {
        return "no write".to_string();
    }
    format!("{} in {}", counted(plan.writes, "write"), counted(plan.waves, "wave"))
}

/// Whether something died.
fn has_lost(plan: &Plan) -> bool {
    let (before, surviving) = (&plan.draft().before, &plan.draft().surviving);
    before.ports().any(|(port, info)| info.peer.is_some() && surviving.peer(port).is_none())
}

/// Whether a wave waits until what was sent before has left, and hosts are without a way meanwhile. A switch on which
/// none of their ways crosses any more, as above the cable that died, may wait for its own.
pub(super) fn keeps_hosts_waiting(plan: &Plan) -> bool {
    let waves = plan.waves();
    let waits = |index: usize| index + 1 < waves.len() && waves[index].vacating_rounds().is_some();
    (0..waves.len()).any(|index| waits(index) && unserved(plan, &plan.tables_at(index + 1).lfts) > 0)
}

/// How long pairs of a switch with hosts and a LID in use have no way, summed over pairs and weighted with the switch's
/// hosts: by the SMPs that are served one after another until the last rewrite or the swap has landed, and meanwhile
/// until sources have followed the swap.
fn weight(plan: &Plan, settle_ns: u64) -> u64 {
    let serves = |wave: &Wave| matches!(wave.phase, Phase::Rewrite | Phase::Swap);
    let last = plan.waves().iter().rposition(serves).map_or(0, |last| last + 1);
    let unserved: Vec<u64> = (0..=last).map(|index| unserved(plan, &plan.tables_at(index).lfts)).collect();
    let settle = settle_ns / SMP_NS;
    let waits = |wave: &Wave| wave.barriers.iter().map(|barrier| wait(*barrier, plan, settle)).sum::<u64>();
    let lasts = |(index, wave): (usize, &Wave)| {
        // While it waits for its barriers its writes have landed. After the last one only those wait who have yet to
        // ask for their new paths: the fence does not close before all have had their time (P3.8), and it is unknown
        // when each asks, so all of it counts.
        let waited = match (index + 1 < last, wave.phase) {
            (true, _) => waits(wave) * unserved[index + 1],
            (false, Phase::Swap) => settle * unserved[index],
            (false, _) => 0,
        };
        plan.cost(wave, ONE_EACH).expected_ns * unserved[index] + waited
    };
    plan.waves()[..last].iter().enumerate().map(lasts).sum()
}

/// How long pairs of a host and a LID are without a way, from the first write of a plan on, by its own reckoning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlannedOutage {
    /// Nanoseconds until the last pair that the plan serves has a way again.
    pub last_ns: u64,
    /// How many of these are spent waiting, until packets have left or sources have followed: nothing is written.
    pub waited_ns: u64,
    /// Nanoseconds summed over pairs. A pair counts until the wave has landed that gives it a way.
    pub pairs_ns: u128,
    /// Pairs that the plan leaves without a way, for another change: they count in `pairs_ns` until it has ended, and
    /// not in `last_ns`.
    pub left: u64,
}

impl std::ops::Add for PlannedOutage {
    type Output = PlannedOutage;

    /// One change after another.
    fn add(self, then: PlannedOutage) -> PlannedOutage {
        PlannedOutage {
            last_ns: self.last_ns + then.last_ns,
            waited_ns: self.waited_ns + then.waited_ns,
            pairs_ns: self.pairs_ns + then.pairs_ns,
            left: then.left,
        }
    }
}

/// How long pairs are without a way while a plan runs.
pub(super) fn outage(plan: &Plan, pace: Pace) -> PlannedOutage {
    let serves = |wave: &Wave| matches!(wave.phase, Phase::Rewrite | Phase::Swap);
    let last = plan.waves().iter().rposition(serves).map_or(0, |last| last + 1);
    let mut left = unserved(plan, &plan.tables_at(0).lfts);
    let mut outage = PlannedOutage::default();
    for (index, wave) in plan.waves()[..last].iter().enumerate() {
        if left == 0 {
            break;
        }
        let written_ns = plan.cost(wave, pace.smps).expected_ns;
        let before = std::mem::replace(&mut left, unserved(plan, &plan.tables_at(index + 1).lfts));
        // Nobody knows when a source follows a swap, so all of them count until the time is over.
        let waiting = if wave.phase == Phase::Swap { before } else { left };
        let waited_ns = if waiting > 0 { plan.waits_ns(wave, pace.lifetime_ns, pace.settle_ns) } else { 0 };
        outage.last_ns += written_ns + waited_ns;
        outage.waited_ns += waited_ns;
        outage.pairs_ns += u128::from(before) * u128::from(written_ns) + u128::from(waiting) * u128::from(waited_ns);
    }
    // By two halves all hosts move to LIDs that the new tables lead.
    outage.left = if plan.scheme() == Scheme::Ordered { left } else { 0 };
    outage
}

/// Pairs of a host and a LID without a way when a plan begins, and how many of them have one at its end.
pub fn served(plan: &Plan) -> (u64, u64) {
    let unserved = |at: usize| unserved(plan, &plan.tables_at(at).lfts);
    let (before, after) = (unserved(0), unserved(plan.waves().len()));
    (before, before.saturating_sub(after))
}

/// SMPs served one after another while a barrier is waited for; `settle`, while sources settle behind a fence.
fn wait(barrier: Barrier, plan: &Plan, settle: u64) -> u64 {
    match (barrier, plan.policy().observer) {
        (Barrier::Vacated(rounds), Observer::Lifetime) => u64::from(rounds) * LIFETIME,
        (Barrier::Vacated(rounds), _) => u64::from(rounds) * ROUND,
        // Behind a fence, strays of the spare half have a whole way before them (F.6), and what end ports had mapped
        // before it closed has its time to leave them.
        (Barrier::Flushed(_), Observer::Lifetime) => settle + (2 + u64::from(plan.longest_way())) * LIFETIME,
        (Barrier::Flushed(_), Observer::Token | Observer::Poll | Observer::Conservation) => ROUND,
        (Barrier::Acknowledged | Barrier::SourcesMoved | Barrier::Drained(_), _) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::engine_named;
    use crate::fabric::generate::{Options, generate};
    use crate::fabric::{Fabric, PortId};
    use crate::ids::{Half, Lid, Lmc, PortNum, Sl, Vl};
    use crate::lid;
    use crate::plan::{Arming, LanePartition, Policy};
    use crate::routing::{Demand, Engine, Parameters, UpDown};
    use crate::tables::{PathLayers, SlToVl, SubnetTables};
    use crate::verify::{Cycle, Dependency, EntryAge, NamedDevice, PortLane, Refusal};
    use std::sync::Arc;

    fn dependency(switch: &str) -> Dependency {
        let lane = PortLane { port: PortNum(1), vl: Vl::default() };
        Dependency {
            switch: NamedDevice { name: switch.to_string(), guid: crate::ids::Guid(1) },
            input: lane,
            output: lane,
            lid: Lid(1),
            sl: Sl::default(),
            entry: EntryAge::Old,
            mapping: EntryAge::Unchanged,
            latched: None,
        }
    }

    /// What can wait for what is the evidence; a note without it says that something is wrong, and not what.
    #[test]
    fn a_note_on_a_refusal_keeps_the_cycle() {
        let plain = generate(&"ring:4".parse().unwrap(), &Options::default()).unwrap();
        let fabric = Arc::new(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap());
        let engine = UpDown::default();
        let function = engine.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        let input = ChangeInput {
            before: fabric.clone(),
            surviving: fabric.clone(),
            after: fabric.clone(),
            tables: lid::bring_up(&fabric, &function, 4),
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves: false,
            engine: &engine,
            scheme: Scheme::Double,
            policy: Policy::default(),
            sm: fabric.end_ports().next().unwrap(),
            base: None,
        };
        let ground = Groundwork::of(&input).unwrap();
        let dependencies = ["leaf-7", "spine-9"].map(dependency).to_vec();
        let why =
            ChangeError::New(Refusal::Deadlock(Cycle { wave: "rewrite".to_string(), dependencies, shortest: true }));
        let change = noting(ground.planned(Scheme::Double).unwrap(), Scheme::Ordered, &why.to_string());
        let [note] = &change.plan.draft().notes[..] else { panic!("{:?}", change.plan.draft().notes) };
        assert!(["leaf-7", "spine-9"].iter().all(|switch| note.contains(switch)), "{note}");
        let read = Plan::from_json(&change.plan.to_json()).unwrap();
        assert_eq!(read.draft().notes, change.plan.draft().notes);
    }

    /// A fabric, routed, with what a change begins with.
    struct Standing {
        fabric: Arc<Fabric>,
        engine: Box<dyn Engine>,
        tables: SubnetTables,
        layers: u8,
        ways: Option<Arc<PathLayers>>,
    }

    impl Standing {
        fn of(topology: &str, engine: &str, data_vls: u8) -> Standing {
            let plain = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
            let plain = plain.with_capabilities(data_vls, engine != "fat-tree");
            let fabric = Arc::new(lid::assign(&plain, Lmc::masked(1)).unwrap());
            let engine = engine_named(engine, &Parameters::default()).unwrap();
            let sm = fabric.end_ports().next().unwrap();
            let demand = Demand::joined_with(&fabric, sm, 1).within(data_vls / 2);
            let function = engine.route(&fabric, &demand).unwrap();
            let tables = lid::bring_up(&fabric, &function, data_vls);
            Standing { layers: function.layers(), ways: function.path_layers().cloned(), fabric, engine, tables }
        }

        fn input(&self, left: Fabric, policy: Policy) -> ChangeInput<'_> {
            let left = Arc::new(left);
            ChangeInput {
                before: self.fabric.clone(),
                surviving: left.clone(),
                after: left,
                tables: self.tables.clone(),
                layers: self.layers,
                ways: self.ways.clone(),
                old: Half::Lower,
                both_halves: false,
                engine: &*self.engine,
                scheme: Scheme::Double,
                policy,
                sm: self.fabric.end_ports().next().unwrap(),
                base: None,
            }
        }
    }

    /// What is counted is what the plan writes: after losses and joins, whatever the policy, and where tables are held
    /// pair by pair.
    #[test]
    fn what_double_writes_is_counted_without_its_writes() {
        let (mut counted, mut refused, mut joins) = (0, 0, 0);
        for (topology, engine) in [("fat-tree:4,3", "fat-tree"), ("torus:4x4,1", "up-down"), ("ring:6,2", "up-down")] {
            for data_vls in [1, 4] {
                let standing = Standing::of(topology, engine, data_vls.max(2));
                let fabric = &*standing.fabric;
                let ends: Vec<PortId> = fabric.links().map(|(end, _)| end).collect();
                let switch = fabric.switches().last().unwrap();
                let policies = [
                    Policy::default(),
                    Policy { arming: Arming::Hold, ..Policy::default() },
                    Policy { arming: Arming::HoldEach, ..Policy::default() },
                    Policy { partition: LanePartition::Standing, ..Policy::default() },
                ];
                for (at, policy) in policies.into_iter().enumerate() {
                    let lost = |left| standing.input(left, policy);
                    let mut held = lost(fabric.without_links(&[ends[at]]));
                    for node in [fabric.switches().next().unwrap(), switch] {
                        let pairs = Arc::make_mut(&mut held.tables.sl_to_vl[node.index()]);
                        let ports = fabric.node(node).num_ports;
                        pairs.set(ports, PortNum(1), PortNum(2), SlToVl::from_fn(|_| Vl::default()));
                    }
                    let joined = ChangeInput {
                        before: Arc::new(fabric.without_links(&[ends[at + 3]])),
                        surviving: standing.fabric.clone(),
                        after: standing.fabric.clone(),
                        ..lost(fabric.clone())
                    };
                    let inputs = [
                        lost(fabric.without_links(&[ends[ends.len() - 1 - at]])),
                        lost(fabric.without_nodes(&[switch])),
                        held,
                        joined,
                    ];
                    for input in inputs {
                        let Ok(ground) = Groundwork::of(&input) else { continue };
                        match (ground.size_of_double(), ground.outlined()) {
                            (Ok(size), Ok(plan)) => {
                                assert_eq!(size, plan.size(), "{topology}, {policy:?}");
                                counted += 1;
                                joins += usize::from(*input.before != *standing.fabric);
                            }
                            (Err(one), Err(other)) => {
                                assert_eq!(one.to_string(), other.to_string());
                                refused += 1;
                            }
                            (one, other) => panic!("{topology}, {policy:?}: {:?}, {:?}", one.is_ok(), other.is_ok()),
                        }
                    }
                }
            }
        }
        assert!(counted > 60 && joins > 5, "{counted} counted, {refused} refused, {joins} joins");
    }

    /// Pairs that the first change does not serve are counted as left for the second, and as long as it lasts.
    #[test]
    fn pairs_that_a_part_leaves_are_counted() {
        let standing = Standing::of("dragonfly:2,4,2", "nue", 4);
        let pace = Pace { smps: ONE_EACH, lifetime_ns: 1, settle_ns: Some(0) };
        let (fabric, mut parts, mut wholes) = (&standing.fabric, 0, 0);
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        for (cable, _) in fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)) {
            let input = standing.input(fabric.without_links(&[cable]), Policy::default());
            let Some(part) = super::super::prepare_partly(&input) else { continue };
            let plan = part.plan.plan();
            let (out, served) = served(plan);
            let outage = outage(plan, pace);
            assert_eq!(outage.left, out - served);
            assert!(outage.pairs_ns >= u128::from(outage.left) * u128::from(outage.last_ns), "{outage:?}");
            (parts, wholes) = (parts + usize::from(outage.left > 0), wholes + usize::from(outage.left == 0));
        }
        assert!(parts > 0 && wholes > 0, "{parts} serve a part, {wholes} all");
    }
}
