//! Partitions of a list's subnets: what is read of `partitions.conf`, what is told, and who shares a partition with
//! whom.

use super::made;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::partitions::{KeyTables, Partitions, usual_manager};
use reconfig::fabric::subnets::{SubnetPort, Subnets, list};
use reconfig::fabric::{NodeKind, PortId};
use reconfig::ids::{PKey, SubnetId};
use std::path::Path;

fn read(text: &str) -> Partitions {
    read_noting(text).0
}

/// What is read, and the lines and words of what is noted.
fn read_noting(text: &str) -> (Partitions, Vec<String>) {
    let (partitions, notices) =
        Partitions::read(text.as_bytes(), "test").unwrap_or_else(|error| panic!("{}", error.render(false)));
    (partitions, notices.iter().map(ToString::to_string).collect())
}

fn fixture(name: &str) -> Subnets {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/subnets/{name}.subnets.yaml"));
    let bytes = std::fs::read(&file).expect("the fixture is there");
    list::read(&bytes, file.to_str().expect("UTF-8"), |path| std::fs::read(path))
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn tables(subnets: &Subnets) -> KeyTables {
    let managers: Vec<_> = subnets.subnets().map(|(_, subnet)| usual_manager(&subnet.fabric)).collect();
    KeyTables::of(subnets, &managers)
}

fn hosts(subnets: &Subnets) -> Vec<SubnetPort> {
    let own = |(subnet, _)| subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port });
    subnets.subnets().flat_map(own).collect()
}

#[test]
fn the_bundled_partitions_hold_what_they_say() {
    let subnets = fixture("partitions");
    for (id, subnet) in subnets.subnets() {
        let own = subnets.partitions(id).expect("a file");
        let (again, notices) = read_noting(own.text());
        assert_eq!((&again, notices, own.strangers(&subnet.fabric)), (own, vec![], vec![]));
        let told: Vec<(String, usize, usize, usize)> = own
            .membership(&subnet.fabric, usual_manager(&subnet.fabric))
            .into_iter()
            .map(|own| (own.name, own.full_hosts, own.limited_hosts, own.full_routers))
            .collect();
        let expected = [("Default", 1, 31, 2), ("Red", 14, 0, 2), ("Blue", 14, 0, 2), ("Storage", 4, 28, 2)];
        assert_eq!(told, expected.map(|(name, full, limited, routers)| (name.to_string(), full, limited, routers)));
    }
    let (keys, all) = (tables(&subnets), hosts(&subnets));
    // Hosts 1 to 14 of each subnet are red, the next 14 blue, the last four storage; the first is the manager.
    let shared = |from: usize, to: usize| keys.shared(all[from], all[to]).map(|key| key.0);
    assert_eq!(shared(1, 2), Some(0x8010));
    assert_eq!(shared(1, 32 + 2), Some(0x8010), "across");
    assert_eq!(shared(1, 20), None);
    assert_eq!(shared(20, 21), Some(0x8020));
    assert_eq!((shared(1, 30), shared(30, 1)), (Some(0x0030), Some(0x8030)), "as the sender has it");
    assert_eq!((shared(1, 0), shared(32, 1)), (Some(0x7FFF), Some(0xFFFF)), "everybody speaks with the managers");
}

#[test]
fn a_subnet_without_a_file_has_everybody_in_the_default_partition() {
    let subnets = fixture("two-subnets");
    assert!(!subnets.has_partitions());
    let (keys, all) = (tables(&subnets), hosts(&subnets));
    assert!(all.iter().all(|&at| keys.keys(at) == [PKey::DEFAULT]));
    let mixed = subnets.with_partitions(vec![Some(read("A=5 : ALL=full ;")), None]);
    let keys = tables(&mixed);
    assert_eq!(keys.shared(all[1], all[33]), Some(PKey(0x7FFF)), "limited there, full here");
    assert_eq!(keys.shared(all[1], all[2]), Some(PKey(0x8005)));
}

/// What OpenSM's documentation shows of the format, with names and numbers of our own.
#[test]
fn everything_that_the_format_has_is_read() {
    let text = "# who is in what\nDefault = 0x7fff,ipoib, rate=7,mtu=5 ,sl=0 : ALL, SELF = full ;\n\nlab, ipoib : 0xa1=full, 0xb2=limi,\n\
                0xc3 ;\npair = 0x300 : SELF=full ; pair=0x300 : ALL=limited ;\nio=0x80,defmember=full: 161, 162;   # decimal ones\n\
                Default=0x7fff:\n  mgid=ff12:401b::0707,sl=1 # IPv4\n  mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2,TClass=1,FlowLabel=2,scope=5\n\
                  ALL_SWITCHES=both, ALL_ROUTERS ;\nlast , indx0 : NONE";
    let (partitions, notices) = read_noting(text);
    assert_eq!(notices, Vec::<String>::new());
    let told: Vec<(&str, u16)> = partitions.list().iter().map(|own| (own.name.as_str(), own.key.0)).collect();
    assert_eq!(told, [("Default", 0x7FFF), ("lab", 1), ("pair", 0x300), ("io", 0x80), ("last", 2)]);
    assert_eq!(partitions.text(), text);
}

#[test]
fn what_opensm_reads_otherwise_than_people_do_is_noted() {
    for (text, note) in [
        ("A=5, vlan=3 : ALL ;", "line 1: no flag of a partition is called `vlan`: OpenSM passes over it"),
        ("A=5, defmember=most : ALL ;", "line 1: `defmember=most` is no `defmember`: OpenSM passes over it"),
        ("A=5 :\nALL=Full ;", "line 2: `Full` is no membership: OpenSM takes `limited`"),
        ("A=5 : ALL= ;", "line 1: no membership follows the `=`: OpenSM takes `full`"),
        ("A=5 : mgid=fe80::1 ;", "line 1: `fe80::1` is no multicast GID: OpenSM makes no such group"),
        ("A=5 : mgid=ff12::1, ALL ;", "line 1: no flag of a multicast group is called `ALL`: OpenSM passes over it"),
        (
            "A : ALL ;\nB=1 : SELF ;",
            "line 2: `A` names no P_Key and was given 0x0001, so OpenSM makes both one partition",
        ),
    ] {
        assert_eq!(read_noting(text).1, [note], "{text}");
    }
    let subnets = fixture("two-subnets");
    let (_, subnet) = subnets.subnets().next().expect("two");
    let strangers = read("A=5 : 0x0200000a01000001, 0x77 ;").strangers(&subnet.fabric);
    let told: Vec<String> = strangers.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["line 1: no port of the capture has GUID 0x0000000000000077: this line adds no member"]);
}

#[test]
fn partitions_stay_with_subnets_whose_fabrics_change() {
    let subnets = fixture("partitions");
    let fabrics = subnets.subnets().map(|(_, subnet)| subnet.fabric.clone()).collect();
    assert_eq!(subnets.with_fabrics(fabrics), subnets);
}

/// Who is a member of a partition of ours by chance: nobody's port, limited or full.
fn drawn(subnets: &Subnets, id: SubnetId, draws: &[u8]) -> String {
    let fabric = subnets.fabric(id);
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let member = |(rank, port): (usize, &PortId)| {
        let guid = fabric.port(*port).guid.expect("generated");
        match draws[rank % draws.len()] % 3 {
            0 => None,
            1 => Some(format!("{guid}")),
            _ => Some(format!("{guid}=full")),
        }
    };
    let members: Vec<String> = ports.iter().enumerate().filter_map(member).collect();
    format!("Own=0x11 : {} ;\n", members.join(",\n  "))
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two members of one partition share its key unless both are limited; others share the default one where one is a
    /// manager.
    #[test]
    fn members_share_a_key_unless_both_are_limited(draws in proptest::collection::vec(any::<u8>(), 5..13)) {
        let subnets = made("ring:4,2", 2, JoinShape::Line, 1, 1);
        let files = subnets.subnets().map(|(id, _)| Some(read(&drawn(&subnets, id, &draws)))).collect();
        let subnets = subnets.with_partitions(files);
        let keys = tables(&subnets);
        let kind = |at: SubnetPort| draws[subnets.fabric(at.subnet).end_ports().position(|port| port == at.port).expect("there") % draws.len()] % 3;
        let is_manager = |at: SubnetPort| usual_manager(subnets.fabric(at.subnet)) == Some(at.port);
        for from in hosts(&subnets) {
            for to in hosts(&subnets).into_iter().filter(|&to| to != from) {
                let expected = if is_manager(from) {
                    Some(0xFFFF)
                } else if is_manager(to) {
                    Some(0x7FFF)
                } else if kind(from) > 0 && kind(to) > 0 && kind(from) + kind(to) > 2 {
                    Some(if kind(from) == 2 { 0x8011 } else { 0x0011 })
                } else {
                    None
                };
                prop_assert_eq!(keys.shared(from, to).map(|key| key.0), expected);
            }
        }
    }

    /// No text brings the reader down, and what it refuses it refuses at a place.
    #[test]
    fn damaged_files_are_read_or_refused_at_a_place(
        damages in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..6, "[-=:;,#\n\r\t a0fäxALS]{0,3}"), 1..6),
    ) {
        let mut text = "Default=0x7fff,ipoib : ALL, SELF=full ;\nA = 5, indx0 :\n 0x21=full, # one\n mgid=ff12::1, sl=1\n ALL_CAS=both ;\n".to_string();
        for (at, cut, put) in damages {
            let border = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let at = at.index(text.len() + 1);
            text.replace_range(border(at)..border(at + cut), &put);
        }
        match Partitions::read(text.as_bytes(), "damaged") {
            Ok((partitions, _)) => {
                prop_assert_eq!(partitions.text(), &text);
                let keys: std::collections::BTreeSet<u16> = partitions.list().iter().map(|own| own.key.0).collect();
                prop_assert_eq!(keys.len(), partitions.list().len());
                prop_assert!(keys.iter().all(|key| (1..0x8000).contains(key)));
            }
            Err(error) => {
                let lines = text.lines().count().max(1) + 1;
                prop_assert!((1..=lines).contains(&error.line()) && error.column() >= 1, "{}", error);
            }
        }
    }
}

#[test]
fn the_manager_is_where_the_capture_was_made() {
    for (_, subnet) in fixture("two-subnets").subnets() {
        let port = usual_manager(&subnet.fabric).expect("a host");
        let held = subnet.fabric.port(port);
        assert_eq!((Some(subnet.fabric.node(held.node).guid), held.guid), {
            let origin = subnet.fabric.origin().expect("told");
            (Some(origin.0), Some(origin.1))
        });
        assert_eq!(subnet.fabric.node(held.node).kind, NodeKind::Ca);
    }
}
