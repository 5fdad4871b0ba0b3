//! A manager dies during a change, and its successor recovers what it finds, under the same traffic and with hosts on
//! both halves. Nothing that is proved deadlocks, nothing is lost to the recovery but what it says it loses, and no
//! barrier of it is false.
//!
//! Of the schemes *static* is left out: while its ports are in INITIALIZE a manager brings the subnet up from nothing.

use super::play::{End, MS, Play, Setting, settings};
use super::proved::prepared;
use super::world::{Built, Happening, World, worlds};
use super::{Tally, assert_conserved, claim};
use proptest::prelude::*;
use reconfig::change::{Recovery, RecoveryInput, RecoveryWay, prepare_recovery};
use reconfig::driver::Running;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum, Vl};
use reconfig::machine::Outcome;
use reconfig::plan::{Arming, MovedBy, Policy, Scheme, sl_to_vl_pairs};
use reconfig::routing::{Connectivity, Demand, Engine};
use reconfig::sim::PacketCounts;
use reconfig::subnet::SourceControl;
use reconfig::tables::{NodeSlToVl, PortState, SlToVl, SubnetTables};
use reconfig::wire::vendor::ActiveHalf;
use reconfig::wire::{AttributeId, SlToVlMappingTable, SlToVlModifier};
use std::sync::Arc;

/// What the successor finds: the part of the subnet that it reaches, and what devices hold.
struct Found {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    in_use: Half,
}

impl Found {
    fn read(play: &Play, fabric: &Arc<Fabric>) -> Found {
        let mut tables = play.built.tables.clone();
        let top = fabric.max_lid().unwrap_or_default().0;
        for (node, info) in fabric.nodes().filter(|(_, node)| node.present) {
            let mut own = NodeSlToVl::Uniform(SlToVl::from_fn(|_| Vl::MANAGEMENT));
            for (input, output) in sl_to_vl_pairs(fabric, node) {
                own.set(info.num_ports, input, output, mapping(play, fabric, node, (input, output)));
            }
            tables.sl_to_vl[node.index()] = Arc::new(own);
            if info.is_switch() {
                let lft = Arc::make_mut(&mut tables.lfts[node.index()]);
                for lid in (1..=top).map(Lid) {
                    let held = play.transport.with(|sim| sim.output(node, lid));
                    lft.set(lid, held.unwrap_or(PortNum::NO_ROUTE));
                }
            }
        }
        for (id, port) in fabric.ports() {
            let up = port.peer.is_some() || port.num == PortNum::ZERO;
            tables.port_states[id.index()] = if up { PortState::Active } else { PortState::Down };
        }
        let ports: Vec<_> = fabric.end_ports().filter(|&port| fabric.peer(port).is_some()).collect();
        let is_upper = |&&port: &&PortId| {
            let data = play.transport.with(|sim| sim.attribute(port, AttributeId::ActiveHalf, 0));
            data.is_some_and(|data| ActiveHalf::decode(&data).half == Half::Upper)
        };
        let upper = ports.iter().filter(is_upper).count();
        let in_use = if upper * 2 > ports.len() { Half::Upper } else { Half::Lower };
        Found { fabric: fabric.clone(), tables, in_use }
    }

    /// Whether some end port discards what its host sends on some level: a fence that the dead manager closed.
    fn is_fenced(&self) -> bool {
        let fabric = &*self.fabric;
        fabric.end_ports().filter(|&port| fabric.peer(port).is_some()).any(|port| {
            let at = fabric.port(port);
            let held = self.tables.sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
            held.discards()
        })
    }

    /// The first device that holds other tables than these.
    fn first_other(&self, wanted: &SubnetTables) -> Option<String> {
        let fabric = &*self.fabric;
        let mut nodes = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
        nodes.find(|&node| self.differs(wanted, node)).map(|node| fabric.describe_node(node))
    }

    fn differs(&self, wanted: &SubnetTables, node: NodeId) -> bool {
        let fabric = &*self.fabric;
        let [held, lanes] = [&self.tables, wanted].map(|tables| &tables.sl_to_vl[node.index()]);
        let top = fabric.max_lid().unwrap_or_default().0;
        let leads = |tables: &SubnetTables, lid| tables.lfts[node.index()].get(Lid(lid));
        let is_switch = fabric.node(node).is_switch();
        sl_to_vl_pairs(fabric, node)
            .into_iter()
            .any(|(input, output)| held.get(input, output) != lanes.get(input, output))
            || is_switch && (1..=top).any(|lid| leads(&self.tables, lid) != leads(wanted, lid))
    }
}

fn mapping(play: &Play, fabric: &Fabric, node: NodeId, (input, output): (PortNum, PortNum)) -> SlToVl {
    // An end port has one table, whatever the modifier says.
    let is_switch = fabric.node(node).is_switch();
    let at = fabric.port_at(node, if is_switch { PortNum::ZERO } else { output }).expect("a port of this node");
    let modifier = if is_switch { SlToVlModifier::Pair { input, output }.encode() } else { 0 };
    let data = play.transport.with(|sim| sim.attribute(at, AttributeId::SlToVlMappingTable, modifier));
    SlToVl(SlToVlMappingTable::decode(&data.expect("every device has it")).0)
}

/// What is left when the manager dies, and joined with its port.
fn reached(world: &World, built: &Built) -> Arc<Fabric> {
    let fabric = if world.sudden() { &built.after } else { &built.before };
    let links = Connectivity::of(fabric);
    let apart = |id: &NodeId| !fabric.ports_of(*id).any(|port| links.joins(port, built.sm));
    let apart: Vec<NodeId> = fabric.nodes().map(|(id, _)| id).filter(apart).collect();
    Arc::new(fabric.without_nodes(&apart))
}

/// Changes that leave ports open, their sources told or behind a fence.
fn changes() -> impl Strategy<Value = (World, Setting)> {
    const SCHEMES: &[Scheme] = &[Scheme::Double, Scheme::Double, Scheme::Double, Scheme::Ordered, Scheme::InPlace];
    (worlds(), settings(SCHEMES), any::<bool>()).prop_map(|(mut world, setting, is_fenced)| {
        if matches!(world.happening, Happening::Come { .. }) {
            world.happening = Happening::Reroute;
        }
        let is_fenced = is_fenced && setting.scheme == Scheme::Double;
        let sources = if is_fenced { SourceControl::Fenced { settle_ns: MS } } else { SourceControl::ByAgent };
        let policy = Policy { arming: Arming::Off, sources: MovedBy::of_settle(sources.settle_ns()), ..setting.policy };
        (world, Setting { policy, sources, ..setting })
    })
}

/// When the change begins and ends if nobody dies; none where there is none, or where it deadlocks.
fn span(world: &World, setting: &Setting) -> Option<(u64, u64)> {
    let mut play = Play::begin(world, setting, world.build()?);
    match play.change(world, Vec::new()) {
        End::Report(report) => Some((report.phases.first()?.start_ns, report.phases.last()?.end_ns)),
        _ => None,
    }
}

fn recovery(play: &Play, world: &World, setting: &Setting, found: &Found) -> Result<Recovery, String> {
    let Found { fabric, tables, in_use } = found;
    let sm = play.built.sm;
    let demand = Demand::joined_with(fabric, sm, world.paths());
    let function = world.new.route(fabric, &demand).map_err(|error| error.to_string())?;
    let input = RecoveryInput {
        fabric: fabric.clone(),
        tables: tables.clone(),
        in_use: *in_use,
        policy: setting.policy,
        sm,
        function: Arc::new(function),
        may_close: true,
    };
    prepare_recovery(&input).map_err(|why| why.to_string())
}

fn holds(tally: &Tally, (world, setting): &(World, Setting), share: u8) -> Result<(), TestCaseError> {
    let Some(built) = world.build() else { return Ok(()) };
    let Ok(change) = prepared(world, setting, &built) else { return Ok(()) };
    let is_proved = change.plan.proof().is_some();
    let Some((start_ns, end_ns)) = span(world, setting) else { return Ok(()) };
    let mut play = Play::begin(world, setting, built);
    play.kill_manager_at(start_ns + (end_ns - start_ns) * u64::from(share) / 256);
    match play.change(world, Vec::new()) {
        End::Killed => {}
        End::Report(_) => return Ok(()),
        End::Deadlock if !is_proved => return Ok(()),
        end => return Err(TestCaseError::fail(format!("before the recovery: {end:?}"))),
    }
    // What it had sent before it died still lands.
    play.pass(2 * MS);
    if play.stuck().is_some() {
        prop_assert!(!is_proved, "a proved plan deadlocks: {:?}", play.stuck());
        return Ok(());
    }
    let found = Found::read(&play, &reached(world, &play.built));
    let mended = match recovery(&play, world, setting, &found) {
        Ok(recovery) => recovery,
        Err(why) => {
            let no_way = why.contains("without a way");
            tally.count(if no_way { "not recovered: entries alone find no way" } else { "not recovered" });
            if !no_way {
                println!("{:?} {share}: {why}", setting.scheme);
            }
            return Ok(());
        }
    };
    let (kept, way) = (mended.kept, mended.way);
    let prepared = &mended.prepared;
    let loses = prepared.plan.plan().draft().begins_with_losses;
    let last = prepared.plan.plan().tables_at(prepared.plan.plan().waves().len()).clone();
    let running = Running {
        known: found.fabric.clone(),
        routed: found.fabric.clone(),
        alive: found.fabric.clone(),
        tables: found.tables.clone(),
        layers: 1,
        ways: None,
        half: kept,
        both_halves: found.fabric.halves().len() == 2,
        sm: play.built.sm,
    };
    let before = counts(&play);
    let actions = play.switching();
    let report = match play.succeed(world, running, mended, actions) {
        End::Report(report) => report,
        // What stood there could not be proved, and nothing is claimed until the closed half is empty.
        End::Deadlock if way == RecoveryWay::CloseFirst => {
            tally.count("deadlocked as it stood");
            return Ok(());
        }
        end => return Err(TestCaseError::fail(format!("{way:?}: {end:?}, {:?}", play.stuck()))),
    };
    if let Outcome::Failed { reason, .. } = &report.outcome {
        // A round takes as long as send queues, where replies pile up (W.3).
        let is_slow = setting.replies > 0.0 && reason.contains("vacating: flush of every device");
        prop_assert!(is_slow, "{:?}: {}", way, reason);
        tally.count("slow");
        return Ok(());
    }
    prop_assert_eq!(&report.outcome, &Outcome::Completed);
    prop_assert_eq!(Found::read(&play, &found.fabric).first_other(&last), None);
    let packets = play.finish(false);
    prop_assert_eq!(play.stuck(), None);
    assert_conserved(&packets)?;
    prop_assert_eq!(packets.in_flight, 0, "{:?}", packets);
    let (_, aged) = play.transport.with(|sim| sim.limits_at_work());
    let lost = packets.lost_to_change - before.lost_to_change;
    // Where a fence stands, hosts lose what they send on a closed half until it is opened, as they did before.
    let closes = matches!(way, RecoveryWay::Close | RecoveryWay::CloseFirst);
    if !closes && !loses && !found.is_fenced() {
        tally.count("may lose nothing");
        prop_assert!(lost <= aged, "{way:?}: {lost} packets are lost to the recovery, {aged} by age");
    }
    tally.count("recovered");
    tally.count(setting.scheme.name());
    tally.count(setting.sources.name());
    tally.count(match way {
        RecoveryWay::Open => "open",
        RecoveryWay::Follow => "follow, open",
        RecoveryWay::Close => "close, follow, open",
        RecoveryWay::CloseFirst => "closed first",
    });
    Ok(())
}

fn counts(play: &Play) -> PacketCounts {
    play.transport.with(|sim| sim.packets())
}

#[test]
fn what_a_dead_manager_leaves_is_recovered_under_traffic() {
    let cases = (changes(), any::<u8>());
    let (tally, cases) =
        claim("recoveries under traffic", 60, cases, |tally, (change, share)| holds(tally, &change, share));
    tally.demand("recovered", cases, 3);
    tally.demand("may lose nothing", cases, 6);
    for scheme in [Scheme::Double, Scheme::Ordered, Scheme::InPlace] {
        tally.demand(scheme.name(), cases, 20);
    }
    for way in ["open", "follow, open"] {
        tally.demand(way, cases, 20);
    }
}
