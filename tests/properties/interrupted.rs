//! Changes that are called off, or overtaken by the next, at any moment.

use super::play::{End, MS, Play, Setting, TimedAction, settings};
use super::proved::prepared;
use super::world::{Built, Happening, World, worlds};
use super::{Tally, assert_conserved, claim};
use proptest::prelude::*;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Lid;
use reconfig::machine::{CallOff, Outcome};
use reconfig::plan::{Arming, Observer, Scheme};
use reconfig::routing::Connectivity;
use reconfig::sim::SimTransport;
use reconfig::tables::SubnetTables;

/// Planned changes whose packets nothing but the change can lose.
fn gentle() -> impl Strategy<Value = (World, Setting)> {
    (worlds(), settings(&[Scheme::Double])).prop_map(|(mut world, mut setting)| {
        if let Happening::Leave { sudden, .. } = &mut world.happening {
            *sudden = false;
        }
        if matches!(world.happening, Happening::Come { .. }) {
            world.happening = Happening::Reroute;
        }
        if setting.policy.arming == Arming::Discard {
            setting.policy.arming = Arming::Hold;
        }
        if matches!(setting.policy.observer, Observer::Lifetime | Observer::Conservation) {
            setting.policy.observer = Observer::Poll;
        }
        (world, setting)
    })
}

/// When the undisturbed change begins and ends, in nanoseconds; none where there is none.
fn span(world: &World, setting: &Setting) -> Option<(u64, u64)> {
    let built = world.build()?;
    prepared(world, setting, &built).ok()?;
    let mut play = Play::begin(world, setting, built);
    match play.change(world, Vec::new()) {
        End::Report(report) => Some((report.phases.first()?.start_ns, report.phases.last()?.end_ns)),
        _ => None,
    }
}

fn moment((start_ns, end_ns): (u64, u64), share: u8) -> u64 {
    start_ns + (end_ns - start_ns) * u64::from(share) / 256
}

/// The first entry that a switch holds otherwise than `tables` say.
fn first_other(play: &Play, tables: &SubnetTables, alive: &Fabric) -> Option<String> {
    let top = alive.max_lid()?.0;
    let all = alive.switches().flat_map(|switch| (1..=top).map(move |lid| (switch, Lid(lid))));
    let held = |switch: NodeId, lid: Lid| play.transport.with(|sim| sim.output(switch, lid));
    let other = |&(switch, lid): &(NodeId, Lid)| held(switch, lid) != tables.lfts[switch.index()].get(lid);
    all.into_iter().find(other).map(|(switch, lid)| format!("{}: LID {lid}", alive.describe_node(switch)))
}

#[test]
fn a_change_called_off_loses_nothing_and_leaves_the_tables_as_they_were() {
    let cases = (gentle(), any::<u8>());
    let (tally, cases) = claim("changes called off", 20, cases, |tally, ((world, setting), share)| {
        let Some(times) = span(&world, &setting) else { return Ok(()) };
        // At the last moment the swap is over, so every case meets both ends.
        call_off(tally, &world, &setting, moment(times, share))?;
        call_off(tally, &world, &setting, moment(times, u8::MAX))
    });
    tally.demand("called off", cases, 6);
    tally.demand("too late", cases, 2);
}

fn call_off(tally: &Tally, world: &World, setting: &Setting, at_ns: u64) -> Result<(), TestCaseError> {
    let Some(built) = world.build() else { return Ok(()) };
    let (tables, fabric) = (built.tables.clone(), built.before.clone());
    let mut play = Play::begin(world, setting, built);
    let handle = play.driver.abort_handle();
    let end = play.change(world, vec![(at_ns, Box::new(move |_| handle.abort()))]);
    let End::Report(report) = end else { return Err(TestCaseError::fail(format!("{end:?}"))) };
    let packets = play.finish(report.outcome == Outcome::Completed && world.departs());
    prop_assert_eq!(play.stuck(), None);
    assert_conserved(&packets)?;
    prop_assert_eq!((packets.lost_to_change, packets.in_flight), (0, 0), "{:?}", packets);
    match report.outcome {
        Outcome::CalledOff(CallOff::Abort) => {
            prop_assert_eq!(first_other(&play, &tables, &fabric), None);
            prop_assert_eq!(super::read_back::first_other(&mut play, &tables, &fabric), None);
            tally.count("called off");
        }
        Outcome::Completed => tally.count("too late"),
        other => return Err(TestCaseError::fail(format!("{other:?}"))),
    }
    Ok(())
}

/// What can die.
#[derive(Clone, Copy)]
enum Victim {
    Switch(NodeId),
    Cable(PortId),
}

impl Victim {
    /// A switch or a cable between switches of what is to stay, chosen by a number; none where none is bearable.
    fn of(built: &Built, number: usize) -> Option<Victim> {
        let fabric = &*built.after;
        let inner = |&port: &PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
        let cables = fabric.links().filter(|(a, b)| inner(a) && inner(b)).map(|(a, _)| Victim::Cable(a));
        let all = fabric.switches().map(Victim::Switch).chain(cables);
        let all: Vec<Victim> = all.filter(|victim| victim.is_bearable(built)).collect();
        (!all.is_empty()).then(|| all[number % all.len()])
    }

    /// Whether the manager keeps somebody to manage, and whoever it loses is cut off from everybody: of those that only
    /// what is to leave still joins, no source would learn.
    fn is_bearable(self, built: &Built) -> bool {
        let [before, after] = [&built.before, &built.after].map(|fabric| Connectivity::of(&self.without(fabric)));
        let kept = Connectivity::of(&built.after);
        let mut ends = built.after.end_ports().filter(|&port| kept.joins(port, built.sm));
        let left = built.after.end_ports().filter(|&port| after.joins(port, built.sm)).count();
        left > 1 && ends.all(|port| after.joins(port, built.sm) || !before.joins(port, built.sm))
    }

    /// Whether something stays alive that the manager cannot reach: ports there may stay ARMED, and hold what they
    /// have.
    fn makes_an_island(self, built: &Built) -> bool {
        let left = self.without(&built.before);
        let links = Connectivity::of(&left);
        let mut cabled = left.ports().filter(|(_, port)| port.peer.is_some());
        cabled.any(|(port, _)| !links.joins(port, built.sm))
    }

    fn without(self, fabric: &Fabric) -> Fabric {
        match self {
            Victim::Switch(node) => fabric.without_nodes(&[node]),
            Victim::Cable(port) => fabric.without_links(&[port]),
        }
    }

    fn kill(self, transport: &SimTransport) {
        transport.with(|sim| match self {
            Victim::Switch(node) => sim.kill(node),
            Victim::Cable(port) => sim.kill(port),
        });
    }
}

#[test]
fn a_death_at_any_moment_of_a_change_loses_nothing_to_it() {
    let cases = (gentle(), any::<u8>(), 0usize..64);
    let (tally, cases) = claim("deaths during changes", 20, cases, |tally, ((world, setting), share, number)| {
        let Some(times) = span(&world, &setting) else { return Ok(()) };
        let Some(built) = world.build() else { return Ok(()) };
        let Some(victim) = Victim::of(&built, number) else { return Ok(()) };
        let island = victim.makes_an_island(&built);
        let mut play = Play::begin(&world, &setting, built);
        let kill: TimedAction = (moment(times, share), Box::new(move |transport| victim.kill(transport)));
        let end = play.change(&world, vec![kill]);
        let End::Report(report) = end else { return Err(TestCaseError::fail(format!("{end:?}"))) };
        let again = play.answer_what_is_left(20 * MS);
        let packets = play.finish(false);
        prop_assert_eq!(play.stuck(), None);
        assert_conserved(&packets)?;
        prop_assert_eq!(packets.lost_to_change, 0, "{:?}", packets);
        prop_assert!(island || packets.in_flight == 0, "{:?}", packets);
        prop_assert_eq!(&report.outcome, &Outcome::Completed);
        tally.count(if report.restarts > 0 {
            "answered within"
        } else if again {
            "answered afterwards"
        } else {
            "not noticed"
        });
        Ok(())
    });
    tally.demand("answered within", cases, 4);
}
