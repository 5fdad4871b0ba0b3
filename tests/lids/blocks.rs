//! LIDs for each port by its own LMC: enough in each half, aligned, packed, and where they were before.

use super::net::random_net;
use crate::support::properties::properties;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::{Fabric, FabricBuilder, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum};
use reconfig::lid::{
    self, Guid2Lid, Heuristic, LidError, LidRange, Needs, assign_each, assign_each_stable, realise_paths,
};

/// A switch with hosts, all with GUIDs.
fn star(hosts: u8) -> (Fabric, Vec<PortId>) {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(1), hosts, "switch");
    builder.port_mut(switch, PortNum(0)).unwrap().guid = Some(Guid(1));
    let mut nodes = Vec::new();
    for host in 1..=hosts {
        let node = builder.node(NodeKind::Ca, Guid(0x100 + u64::from(host)), 1, format!("host-{host}"));
        builder.link((switch, PortNum(host)), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
        builder.port_mut(node, PortNum(1)).unwrap().guid = Some(Guid(0x200 + u64::from(host)));
        nodes.push(node);
    }
    let fabric = builder.build().unwrap();
    let ports = nodes.iter().map(|&node| fabric.port_at(node, PortNum(1)).unwrap()).collect();
    (fabric, ports)
}

fn needs(fabric: &Fabric, ports: &[PortId], wanted: &[usize]) -> Needs {
    let mut needs = Needs::one(fabric);
    ports.iter().zip(wanted).for_each(|(&port, &wanted)| needs.raise(fabric, port, wanted).unwrap());
    needs
}

fn lids(fabric: &Fabric, ports: &[PortId]) -> Vec<(u16, u8)> {
    ports.iter().map(|&port| (fabric.port(port).lid.unwrap().0, fabric.port(port).lmc.get())).collect()
}

#[test]
fn each_port_has_the_smallest_lmc_that_does() {
    let (fabric, ports) = star(6);
    let assigned = assign_each(&fabric, &needs(&fabric, &ports, &[1, 2, 3, 4, 5, 1])).unwrap();
    // 16 LIDs from 16, 8 and 8 from 8 and 32, 4 from 4, pairs from 2 and 40; the switch takes 1.
    assert_eq!(lids(&assigned, &ports), [(2, 1), (4, 2), (8, 3), (32, 3), (16, 4), (40, 1)]);
    assert_eq!(assigned.lid_owner(Lid(1)).map(|port| assigned.port(port).num), Some(PortNum(0)));
    for (&port, wanted) in ports.iter().zip([1, 2, 3, 4, 5, 1]) {
        for half in [Half::Lower, Half::Upper] {
            assert!(assigned.half_lids(port, half).count() >= wanted);
        }
    }
    assert_eq!(assigned.max_lid(), Some(Lid(41)), "no gap behind the first range");
}

#[test]
fn one_lmc_for_all_is_numbered_as_ever() {
    let (fabric, _) = star(9);
    for lmc in 1..=7u8 {
        let mut needs = Needs::one(&fabric);
        fabric.end_ports().for_each(|port| needs.raise(&fabric, port, 1 << (lmc - 1)).unwrap());
        assert_eq!(assign_each(&fabric, &needs).unwrap(), lid::assign(&fabric, Lmc::masked(lmc)).unwrap());
    }
}

#[test]
fn who_needs_more_moves_and_nobody_else() {
    let (fabric, ports) = star(4);
    let first = assign_each(&fabric, &needs(&fabric, &ports, &[1, 2, 2, 1])).unwrap();
    let file = Guid2Lid::new().learn(&first);
    let again = needs(&fabric, &ports, &[1, 3, 1, 1]);
    for (from, kept) in [(&first, Guid2Lid::new()), (&fabric, file.clone()), (&first, file)] {
        let second = assign_each_stable(from, &again, &kept).unwrap();
        let (before, after) = (lids(&first, &ports), lids(&second, &ports));
        assert_eq!((after[0], after[2], after[3]), (before[0], before[2], before[3]), "port 3 keeps its halves, too");
        assert_eq!(after[1].1, 3, "three in each half need eight");
        assert!(again.are_met(&second));
        let learnt = Guid2Lid::new().learn(&second);
        let range = learnt.get(Guid(0x202)).unwrap();
        assert_eq!((range.first().0, range.last().0), (after[1].0, after[1].0 + 7), "both halves in one record");
        assert_eq!(assign_each_stable(&second, &again, &learnt).unwrap(), second);
    }
}

#[test]
fn what_cannot_be_given_is_refused_by_name() {
    let (fabric, ports) = star(254);
    let error = Needs::one(&fabric).raise(&fabric, ports[7], 65).unwrap_err();
    assert_eq!(error, LidError::HalfTooSmall { port: "host-8[1]".into(), needed: 65 });
    // 384 blocks of 128 fill the unicast LIDs; the first is broken by LID 0. The file holds 200 of them for others.
    let wanted = needs(&fabric, &ports, &[64; 254]);
    let text: String =
        (0..200u16).map(|i| format!("{:#x} {} {}\n\n", 0x9000 + u64::from(i), 128 * i + 1, 128 * i + 1)).collect();
    let kept = Guid2Lid::read(text.as_bytes(), "test").unwrap();
    assert!(assign_each_stable(&fabric, &wanted, &kept).is_ok(), "absent ports give way");
    let one = |host: u64, lid: u16| format!("{:#x} {lid} {lid}\n\n", 0x200 + host);
    let scattered: String = (1..=254).map(|host| one(host, 128 * (host as u16) + 1)).collect();
    let kept = Guid2Lid::read(scattered.as_bytes(), "test").unwrap();
    let mut most = needs(&fabric, &ports[1..], &[64; 253]);
    assert!(assign_each_stable(&fabric, &most, &kept).is_ok(), "a range too small for its port is given up");
    most = Needs::one(&fabric);
    most.raise(&fabric, ports[0], 64).unwrap();
    assert!(assign_each_stable(&fabric, &most, &kept).is_ok());
}

#[test]
fn a_table_that_is_too_short_is_named() {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(1), 1, "short");
    let node = builder.node(NodeKind::Ca, Guid(2), 1, "");
    builder.link((switch, PortNum(1)), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
    builder.node_mut(switch).lft_capacity = 64;
    let fabric = builder.build().unwrap();
    let port = fabric.port_at(node, PortNum(1)).unwrap();
    assert!(assign_each(&fabric, &needs(&fabric, &[port], &[16])).is_ok(), "LIDs 32 to 63 fit");
    let error = assign_each(&fabric, &needs(&fabric, &[port], &[32])).unwrap_err();
    assert!(matches!(&error, LidError::LftCapacity { switch, .. } if switch == "short"), "{error}");
}

/// A routing function of paths needs what its heuristic found, and its LIDs give just that.
#[test]
fn a_realised_function_gets_its_lids() {
    for seed in 0..10 {
        let net = random_net(10, 4, &mut Pcg64Mcg::seed_from_u64(seed));
        let function = realise_paths(&net.fabric, &net.paths, Heuristic::Best).unwrap();
        let needs = Needs::of(&net.fabric, &function).unwrap();
        let fabric = assign_each(&net.fabric, &needs).unwrap();
        assert!(needs.are_met(&fabric));
        for (rank, &port) in function.destinations().iter().enumerate() {
            let lids = fabric.half_lids(port, Half::Lower).count();
            assert_eq!(lids, function.needed(rank).next_power_of_two(), "seed {seed}");
        }
        assert!(needs.join(&Needs::one(&net.fabric)) == needs);
    }
}

properties! {
    /// Whatever each needs and whatever the file says: aligned, enough, and the same again.
    #[test]
    fn any_needs_and_any_file_give_an_assignment(
        wanted in prop::collection::vec(1usize..65, 12),
        wild in prop::collection::btree_map(0x201u64..0x210, 0u16..0x180, 0..12),
        width in 0u8..8,
    ) {
        let (fabric, ports) = star(12);
        let lids = Lmc::masked(width).lids();
        let mut kept = String::new();
        let mut slots = std::collections::BTreeSet::new();
        for (guid, slot) in wild {
            if slot > 0 && slots.insert(slot) {
                kept += &format!("{guid:#x} {} {}\n\n", slot * lids, slot * lids + lids - 1);
            }
        }
        let kept = Guid2Lid::read(kept.as_bytes(), "wild").unwrap();
        let needs = needs(&fabric, &ports, &wanted);
        let assigned = assign_each_stable(&fabric, &needs, &kept).unwrap();
        prop_assert!(needs.are_met(&assigned));
        for (guid, range) in kept.iter() {
            let Some(host) = ports.get(guid.0 as usize - 0x201).filter(|_| guid.0 < 0x20d) else { continue };
            if lids >= needs.lmc(&fabric, *host).lids() {
                let own = assigned.port(*host);
                prop_assert_eq!(LidRange::new(own.lid.unwrap(), Lid(own.lid.unwrap().0 + own.lmc.lids() - 1)), Some(range));
            }
        }
        let learnt = kept.learn(&assigned);
        prop_assert_eq!(assign_each_stable(&assigned, &needs, &learnt).unwrap(), assigned);
    }
}
