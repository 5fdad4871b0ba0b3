//! Which nodes are one router, and what may not be in two subnets.

use super::made;
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::{JoinError, Joined, Subnet, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{GidPrefix, Guid, PortNum, SubnetId};

/// A router's node as one capture shows it: NodeGUID, SystemImageGUID, and the number of the port that is cabled.
type Shown = (u64, Option<u64>, u8);

/// A switch with these routers at its ports.
fn subnet(rank: u16, routers: &[Shown]) -> Subnet {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(0x1000 + u64::from(rank)), 36, "switch");
    for (&(guid, system, num), port) in routers.iter().zip(1..) {
        let router = builder.node(NodeKind::Router, Guid(guid), 8, format!(" router {guid:x} "));
        builder.node_mut(router).system_guid = system.map(Guid);
        let ends = ((switch, PortNum(port)), (router, PortNum(num)));
        builder.link(ends.0, ends.1, LinkWidth::X4, LinkSpeed::Edr).expect("free ports");
    }
    Subnet {
        name: format!("net-{rank}"),
        prefix: GidPrefix::site_local(rank),
        fabric: builder.build().expect("distinct GUIDs"),
    }
}

/// GUID, name and the subnets of each router.
fn joined(shown: &[&[Shown]], named: &[&[u64]]) -> Result<Vec<(u64, String, Vec<u16>)>, JoinError> {
    let list = (0..).zip(shown).map(|(rank, routers)| subnet(rank, routers)).collect();
    let named: Vec<Vec<Guid>> = named.iter().map(|guids| guids.iter().copied().map(Guid).collect()).collect();
    let subnets = Subnets::with_routers(list, &named)?;
    let each = subnets
        .routers()
        .iter()
        .map(|router| (router.guid.0, router.name.clone(), router.ports.iter().map(|port| port.subnet.0).collect()));
    Ok(each.collect())
}

fn router(guid: u64, subnets: &[u16]) -> (u64, String, Vec<u16>) {
    (guid, format!("router {guid:x}"), subnets.to_vec())
}

#[test]
fn one_node_guid_is_one_router() {
    let shown: [&[Shown]; 3] = [&[(0xA, None, 1)], &[(0xA, None, 2), (0xB, Some(0), 1)], &[(0xB, Some(0), 2)]];
    assert_eq!(joined(&shown, &[]), Ok(vec![router(0xA, &[0, 1]), router(0xB, &[1, 2])]));
}

#[test]
fn one_system_of_a_node_a_subnet_is_one_router() {
    let shown: [&[Shown]; 3] = [&[(0xC, Some(0x50), 1)], &[(0xA, Some(0x50), 1)], &[(0xB, Some(0x60), 1)]];
    assert_eq!(joined(&shown, &[]), Ok(vec![router(0xA, &[0, 1])]));
}

/// As NVIDIA's Q3400-RA is shown: a box of four, each with its own NodeGUID and a port in each subnet.
#[test]
fn a_box_of_several_routers_stays_several() {
    let shown = |port| -> Vec<Shown> { (0..4).map(|chip| (0xA08 + 0x20 * chip, Some(0xA00), port)).collect() };
    let (first, second) = (shown(1), shown(2));
    let expected = (0..4).map(|chip| router(0xA08 + 0x20 * chip, &[0, 1])).collect();
    assert_eq!(joined(&[&first, &second], &[]), Ok(expected));
}

#[test]
fn no_guid_in_common_is_no_router_and_two_ports_of_one_subnet_are_one() {
    assert_eq!(joined(&[&[(0xA, Some(0x50), 1)], &[(0xB, None, 1)]], &[]), Ok(vec![]));
    assert_eq!(joined(&[&[(0xA, Some(0x50), 1)], &[(0xB, Some(0x51), 1)]], &[]), Ok(vec![]));
    assert_eq!(joined(&[&[(0xA, None, 1)], &[(0xB, None, 1)]], &[]), Ok(vec![]), "no system is no common one");
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(1), 4, "switch");
    let twice = builder.node(NodeKind::Router, Guid(2), 4, "twice");
    for num in [1, 2].map(PortNum) {
        builder.link((switch, num), (twice, num), LinkWidth::X4, LinkSpeed::Edr).expect("free ports");
    }
    let fabric = builder.build().expect("distinct GUIDs");
    let subnets = Subnets::new(vec![Subnet { name: "only".into(), prefix: GidPrefix::LINK_LOCAL, fabric }]);
    assert_eq!(subnets.expect("a subnet alone may be link-local").routers()[0].ports.len(), 2);
}

#[test]
fn what_is_named_is_one_router_besides() {
    let shown: [&[Shown]; 3] = [&[(0xA, None, 1)], &[(0xB, None, 1)], &[(0xB, None, 2), (0xC, None, 1)]];
    assert_eq!(joined(&shown, &[&[0xB, 0xA]]), Ok(vec![router(0xA, &[0, 1, 2])]));
    assert_eq!(joined(&shown, &[&[0xA, 0xD]]), Err(JoinError::NoRouter(Guid(0xD))));
    assert_eq!(joined(&shown, &[&[0xA, 0x1000]]), Err(JoinError::NoRouter(Guid(0x1000))), "a switch is none");
    assert_eq!(joined(&shown, &[&[0xA, 0xB], &[0xA, 0xC]]), Err(JoinError::NamedTwice(Guid(0xA))));
}

#[test]
fn what_is_named_is_that_router_whatever_its_system() {
    let shown: [&[Shown]; 2] = [&[(0xA, Some(0x50), 1)], &[(0xB, Some(0x50), 1)]];
    assert_eq!(joined(&shown, &[]), Ok(vec![router(0xA, &[0, 1])]));
    assert_eq!(joined(&shown, &[&[0xB]]), Ok(vec![]));
}

#[test]
fn what_cannot_be_joined_is_told() {
    let two = || vec![subnet(0, &[]), subnet(1, &[])];
    let refused = |change: &dyn Fn(&mut Vec<Subnet>)| {
        let mut list = two();
        change(&mut list);
        Subnets::new(list).expect_err("it is refused").to_string()
    };
    for (text, change) in [
        ("0 subnets were given", &(|list: &mut Vec<Subnet>| list.clear()) as &dyn Fn(&mut Vec<Subnet>)),
        ("two subnets are called net-0", &|list| list[1].name = "net-0".into()),
        ("net-0 and net-1 both have prefix 0xfec0000000000000", &|list| list[1].prefix = list[0].prefix),
        ("subnet net-1 has the link-local prefix", &|list| list[1].prefix = GidPrefix::LINK_LOCAL),
        ("switch 0x0000000000001000 is in subnet net-0 and in subnet net-1", &|list| {
            list[1].fabric = list[0].fabric.clone();
        }),
        ("`a:b` cannot be a subnet's name", &|list| list[1].name = "a:b".into()),
        ("`` cannot be a subnet's name", &|list| list[1].name = String::new()),
        ("`.a` cannot be a subnet's name", &|list| list[1].name = ".a".into()),
    ] {
        let told = refused(change);
        assert!(told.contains(text), "{told}");
    }
}

/// A switch and a host with these GUIDs of node and port.
fn with_host(switch: u64, host: u64, port: u64) -> Fabric {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(switch), 4, "switch");
    let host = builder.node(NodeKind::Ca, Guid(host), 2, "host");
    builder.link((switch, PortNum(1)), (host, PortNum(1)), LinkWidth::X4, LinkSpeed::Edr).expect("free ports");
    builder.port_mut(host, PortNum(1)).expect("it has two").guid = Some(Guid(port));
    builder.build().expect("distinct GUIDs")
}

#[test]
fn a_host_may_have_ports_in_two_subnets_but_no_port_may() {
    let list = |second: Fabric| {
        let net = |rank, fabric| Subnet { name: format!("net-{rank}"), prefix: GidPrefix::site_local(rank), fabric };
        vec![net(0, with_host(1, 5, 6)), net(1, second)]
    };
    assert!(Subnets::new(list(with_host(2, 5, 7))).is_ok());
    let shared = Subnets::new(list(with_host(2, 8, 6))).expect_err("one port");
    let (first, second) = ("net-0".to_string(), "net-1".to_string());
    assert_eq!(shared, JoinError::PortShared { guid: Guid(6), first, second });
}

#[test]
fn indices_side_by_side_lead_back() {
    let subnets = made("random-regular:6,3,2", 3, JoinShape::Full, 2, 7);
    let side = Joined::of(&subnets);
    assert_eq!(side.subnets(), 3);
    let (mut ports, mut nodes) = (0, 0);
    for (id, subnet) in subnets.subnets() {
        for (port, own) in subnet.fabric.ports() {
            let at = SubnetPort { subnet: id, port };
            assert_eq!((side.port(at), side.at(PortId(ports))), (PortId(ports), at));
            let whole = side.fabric.port(side.port(at));
            assert_eq!((whole.node, whole.num), (side.node(id, own.node), own.num));
            assert_eq!(whole.peer.map(|peer| side.at(peer)), own.peer.map(|port| SubnetPort { subnet: id, port }));
            ports += 1;
        }
        for (node, own) in subnet.fabric.nodes() {
            assert_eq!(side.node(id, node), NodeId(nodes));
            assert_eq!(side.fabric.node(NodeId(nodes)).guid, own.guid);
            nodes += 1;
        }
    }
    assert_eq!((ports as usize, nodes as usize), (side.fabric.port_count(), side.fabric.node_count()));
}

#[test]
fn what_is_gone_joins_nothing() {
    let subnets = made("ring:4", 2, JoinShape::Line, 2, 0);
    let fabrics = |gone: Option<PortId>| {
        let each = subnets.subnets().map(|(id, subnet)| match gone.filter(|_| id == SubnetId(1)) {
            Some(port) => subnet.fabric.without_links(&[port]),
            None => subnet.fabric.clone(),
        });
        subnets.with_fabrics(each.collect())
    };
    assert_eq!(fabrics(None), subnets);
    let lost = subnets.routers()[0].ports[1];
    let after = fabrics(Some(lost.port));
    assert_eq!((after.routers()[0].ports.len(), after.routers()[1].ports.len()), (1, 2));
    assert_eq!((subnets.router_of(lost), after.router_of(lost)), (Some(0), None));
}
