//! Many subnets that change at once, and cycles that only a mixture of ways has.

use crate::across::plans::{double, parts, scope};
use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};
use reconfig::fabric::subnets::{Subnet, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, FabricBuilder, NodeKind};
use reconfig::ids::{GidPrefix, Guid, Lmc, PortNum, SubnetId};
use reconfig::lid;
use reconfig::routers::{Levels, LevelsRule, Routes};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::tables::SubnetTables;
use reconfig::verify::Scope;
use reconfig::verify::across::{
    AcrossCycle, AcrossRefusal, Link, ProvedAcross, Whole, prove_across, prove_across_within,
};
use reconfig::vet::Vetted;
use std::collections::BTreeSet;
use std::sync::Arc;

const DATA_VLS: u8 = 4;

/// Subnets with LIDs for two halves, routed.
struct Running {
    subnets: Subnets,
    tables: Vec<SubnetTables>,
}

fn running(subnets: Subnets) -> Running {
    let assigned = |subnet: &Subnet| lid::assign(&subnet.fabric, Lmc::masked(1)).expect("LIDs suffice");
    let subnets = subnets.with_fabrics(subnets.subnets().map(|(_, subnet)| assigned(subnet)).collect());
    let tables = |subnet: &Subnet| {
        let function = UpDown::default().route(&subnet.fabric, &Demand::all(&subnet.fabric, 1)).expect("connected");
        lid::bring_up(&subnet.fabric, &function, DATA_VLS)
    };
    let tables = subnets.subnets().map(|(_, subnet)| tables(subnet)).collect();
    Running { subnets, tables }
}

impl Running {
    /// Plans of scheme `double` by which a router leaves all its subnets; none where it has no port.
    fn without(&self, router: usize) -> Vec<Option<Arc<Vetted>>> {
        let plan = |((id, subnet), tables): ((SubnetId, &Subnet), &SubnetTables)| {
            let after = subnet.fabric.without_nodes(&[self.subnets.router_node(router, id)?]);
            Some(double((&subnet.fabric, after), false, tables, self.subnets.hosts(id).next()?))
        };
        self.subnets.subnets().zip(&self.tables).map(plan).collect()
    }

    /// The ways without a router.
    fn routes_without(&self, router: usize) -> Routes {
        let leaving = &self.subnets.routers()[router].ports;
        Routes::new(&self.subnets, |at: SubnetPort| !leaving.contains(&at))
    }

    fn whole<'a>(
        &'a self,
        plans: &'a [Option<Arc<Vetted>>],
        scope: &'a Scope,
        routes: &[&'a Routes],
        levels: Levels,
    ) -> Whole<'a> {
        let parts = parts(&self.subnets, &self.tables, plans, scope);
        Whole { subnets: &self.subnets, parts, routes: routes.to_vec(), levels }
    }

    fn prove(
        &self,
        plans: &[Option<Arc<Vetted>>],
        routes: &[&Routes],
        levels: Levels,
    ) -> Result<ProvedAcross, AcrossRefusal> {
        prove_across(&self.whole(plans, &scope(), routes, levels))
    }
}

/// Rings with two routers that have a port in each.
fn hub(subnets: u16) -> Running {
    let topology = "ring:3".parse().expect("a topology");
    let asked = JoinedTopology { topology, subnets, shape: JoinShape::Hub, routers: 2 };
    running(joined(&asked, &Options::default()).expect("so many subnets"))
}

#[test]
fn a_hub_router_leaves_64_subnets() {
    let hub = hub(64);
    let (plans, before, after) = (hub.without(0), Routes::all(&hub.subnets), hub.routes_without(0));
    assert!(plans.iter().all(Option::is_some));
    let levels = Levels::new(LevelsRule::Raise, 1, DATA_VLS).expect("two layers on four lanes");
    let proof = hub.prove(&plans, &[&before, &after], levels).expect("raised levels");
    let found = proof.statistics();
    assert_eq!((found.subnets, found.moments, proof.searches()), (64, usize::MAX, 1));
    assert!(found.couplings > 0 && found.passages >= 64 * 63 * 2, "{found:?}");
}

#[test]
fn kept_levels_of_many_changing_subnets_are_refused_with_the_first_moment() {
    let hub = hub(64);
    let (plans, before, after) = (hub.without(0), Routes::all(&hub.subnets), hub.routes_without(0));
    match hub.prove(&plans, &[&before, &after], Levels::KEEP) {
        Err(AcrossRefusal::Deadlock(cycle)) => assert!(cycle.moment.iter().all(|at| at.wave == "steady"), "{cycle}"),
        other => panic!("two routers close a ring, not {other:?}"),
    }
}

#[test]
fn a_search_beyond_its_budget_proves_nothing() {
    let hub = hub(3);
    let (plans, before, after) = (hub.without(0), Routes::all(&hub.subnets), hub.routes_without(0));
    let levels = Levels::new(LevelsRule::Raise, 1, DATA_VLS).expect("two layers on four lanes");
    let scope = scope();
    let whole = hub.whole(&plans, &scope, &[&before, &after], levels);
    let found = prove_across_within(&whole, 1_000_000).expect("few edges").statistics();
    assert_eq!(found.moments, 6 * 6 * 6);
    let refusal = prove_across_within(&whole, 10).expect_err("more edges than ten");
    assert_eq!(refusal, AcrossRefusal::TooManyMoments { changing: 3, searches: 1 });
    assert!(refusal.to_string().contains("change fewer at a time"), "{refusal}");
}

/// A switch with a host, and a port for each router.
fn star(rank: usize, routers: &[(usize, u8)]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let base = 0x1_0000 * (rank as u64 + 1);
    let switch = builder.node(NodeKind::Switch, Guid(base), 8, format!("sw-{rank}"));
    let host = builder.node(NodeKind::Ca, Guid(base + 1), 1, format!("host-{rank}"));
    builder.link((switch, PortNum(1)), (host, PortNum(1)), Default::default(), Default::default()).expect("free ports");
    for (place, &(router, port)) in (2..).zip(routers) {
        let node = builder.node(NodeKind::Router, Guid(0xF000 + router as u64), 4, format!("router-{router}"));
        let (at, to) = ((switch, PortNum(place)), (node, PortNum(port)));
        builder.link(at, to, Default::default(), Default::default()).expect("free ports");
    }
    builder.build().expect("a fabric").with_data_vls(DATA_VLS)
}

/// Stars by name, joined by routers: of each the subnets.
fn stars(names: &str, routers: &[&str]) -> Running {
    let subnet = |(rank, name): (usize, char)| {
        let place = |joined: &str| joined.chars().position(|own| own == name);
        let ports = routers.iter().enumerate().filter_map(|(router, joined)| Some((router, place(joined)? as u8 + 1)));
        let fabric = star(rank, &ports.collect::<Vec<_>>());
        Subnet { name: name.to_string(), prefix: GidPrefix::site_local(rank as u16 + 1), fabric }
    };
    running(Subnets::new(names.chars().enumerate().map(subnet).collect()).expect("subnets"))
}

/// The first router leaves. Packets from a for d came by the second and those for f by the third; once it has left, the
/// second sends those for d back to the third, and the third those for f back to the second.
///
/// ```text
///   h ─ b ─┐               ┌─ e ─ g        before: a–b–d and a–e–f, through the router in the middle
///   │   │ router-1   router-2 │   │        after:  a–e–g–d and a–b–h–f
///   │   │      └── a ──┘      │   │
///   f ──┴────── router-0 ─────┴── d
/// ```
fn detours() -> Running {
    stars("abdefgh", &["bdef", "ab", "ae", "eg", "gd", "bh", "hf"])
}

#[test]
fn a_cycle_of_ways_before_and_after_is_found() {
    let stars = detours();
    let (before, after) = (Routes::all(&stars.subnets), stars.routes_without(0));
    let steady = vec![None; stars.subnets.len()];
    for alone in [&before, &after] {
        let proof = stars.prove(&steady, &[alone], Levels::KEEP).expect("no cycle of one kind of ways");
        assert_eq!(proof.searches(), 1);
    }
    check_turns(stars.prove(&steady, &[&before, &after], Levels::KEEP));
    // While the router leaves it is the same.
    check_turns(stars.prove(&stars.without(0), &[&before, &after], Levels::KEEP));
}

/// The cycle leads through the second router and the third, in and out by their ports in a.
fn check_turns(verdict: Result<ProvedAcross, AcrossRefusal>) {
    let cycle = match verdict {
        Err(AcrossRefusal::Deadlock(cycle)) => cycle,
        other => panic!("a cycle, not {other:?}"),
    };
    assert_eq!((cycle.links.len(), crossed(&cycle)), (4, BTreeSet::from(["router-1", "router-2"])), "{cycle}");
    let turns = |link: &Link| match link {
        Link::Through(crossing) => crossing.input.subnet == "a" && crossing.output.subnet == "a",
        Link::Inside { subnet, .. } => subnet == "a",
    };
    assert!(cycle.links.iter().all(turns), "{cycle}");
}

fn crossed(cycle: &AcrossCycle) -> BTreeSet<&str> {
    cycle
        .links
        .iter()
        .filter_map(|link| match link {
            Link::Through(crossing) => Some(crossing.router.as_str()),
            Link::Inside { .. } => None,
        })
        .collect()
}
