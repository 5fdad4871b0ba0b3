//! List files: what is written is read, and every fault is told at its place.

use super::made;
use crate::support::bad_input::assert_refused_as_shown;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::format::{Format, WriteError};
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::{Subnet, Subnets, list};
use reconfig::ids::GidPrefix;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Files in memory, as the reader opens them.
struct Files(BTreeMap<PathBuf, String>);

impl Files {
    fn of(subnets: &Subnets, format: Format) -> Files {
        let files = list::write(subnets, "all", format).expect("a format that is read");
        Files(files.into_iter().map(|(name, text)| (Path::new("folder").join(name), text)).collect())
    }

    fn open(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    fn read(&self) -> Subnets {
        let text = &self.0[Path::new("folder/all.subnets.yaml")];
        list::read(text.as_bytes(), "folder/all.subnets.yaml", |path| self.open(path))
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }
}

const TOPOLOGIES: [&str; 4] = ["fat-tree:2,2", "ring:3,0", "random-regular:6,3,1", "waxman:5,0.7,0.5,~3"];

properties! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(
        topology in proptest::sample::select(&TOPOLOGIES[..]),
        subnets in 3u16..5,
        shape in proptest::sample::select(&JoinShape::ALL[..]),
        routers in 1u16..4,
        seed in any::<u64>(),
        json in any::<bool>(),
    ) {
        let subnets = made(topology, subnets, shape, routers, seed);
        let format = if json { Format::Json } else { Format::Ibnetdiscover };
        prop_assert_eq!(Files::of(&subnets, format).read(), subnets);
    }
}

/// Every list of bad-input is refused as the file beside it shows; `UPDATE_EXPECT=1` writes those anew.
#[test]
fn bad_lists_are_refused_with_place_line_and_expectation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subnets/bad-input");
    let is_input = |name: &str| name.ends_with(list::EXTENSION);
    assert_refused_as_shown(&folder, is_input, |name, bytes| {
        assert!(list::is_list(name, bytes));
        let read = list::read(bytes, name, |capture| std::fs::read(folder.join(capture)));
        read.map(drop).map_err(|error| (error.to_string(), error.render(false)))
    });
}

/// Reads a list whose captures are those of bad-input, which are good by themselves.
fn read(text: &str) -> Subnets {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subnets/bad-input");
    list::read(text.as_bytes(), "list", |path| std::fs::read(folder.join(path)))
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn prefixes_are_site_local_by_rank_unless_told() {
    let subnets = read(
        "subnets:\n  - {name: \"1\", fabric: a.ibnetdiscover}\n  - name: true\n    prefix: '200100000000000a'\n    \
         fabric: 'b.ibnetdiscover'\n",
    );
    let told: Vec<(&str, GidPrefix)> =
        subnets.subnets().map(|(_, subnet)| (subnet.name.as_str(), subnet.prefix)).collect();
    assert_eq!(told, [("1", GidPrefix::site_local(0)), ("true", GidPrefix(0x2001_0000_0000_000A))]);
    assert_eq!(subnets.routers().len(), 0, "two nodes, nothing in common");
}

#[test]
fn routers_named_in_the_list_are_joined_and_written_again() {
    let joined = read(
        "routers: [[0x20, '30']]\nsubnets:\n- name: a\n  fabric: a.ibnetdiscover\n- name: b\n  fabric: b.ibnetdiscover\n",
    );
    assert_eq!(joined.routers().len(), 1);
    assert_eq!(Files::of(&joined, Format::Ibnetdiscover).read(), joined);
}

#[test]
fn routers_that_the_list_parts_are_parted_again() {
    let mut subnets: Vec<Subnet> =
        made("ring:3", 2, JoinShape::Line, 2, 0).subnets().map(|(_, own)| own.clone()).collect();
    // Both captures show both routers; the second one's are made nodes of their own with the same systems.
    let text = reconfig::fabric::format::write(&subnets[1].fabric, Format::Ibnetdiscover).expect("it is written");
    let renamed = text.replace("rtguid=0x20000000200", "rtguid=0x20000000300").replace("R-0200000002", "R-0200000003");
    subnets[1].fabric = reconfig::fabric::format::read(renamed.as_bytes(), "renamed").expect("it is read");
    let by_system = Subnets::new(subnets.clone()).expect("sound");
    assert_eq!(by_system.routers().len(), 2);
    let parted = Subnets::with_routers(subnets, &[vec![by_system.routers()[0].guid]]).expect("sound");
    assert_eq!(parted.routers().len(), 1);
    for subnets in [by_system, parted] {
        assert_eq!(Files::of(&subnets, Format::Ibnetdiscover).read(), subnets);
    }
}

#[test]
fn only_what_is_read_is_written() {
    let subnets = made("ring:3", 2, JoinShape::Line, 1, 0);
    for format in [Format::Dot, Format::SubnetLst] {
        assert_eq!(list::write(&subnets, "all", format), Err(WriteError::ReadOnly(format)));
    }
}

#[test]
fn lists_are_known_by_name_or_content() {
    for (file, text, is) in [
        ("a.subnets.yaml", "", true),
        ("-", "# a comment\n\nsubnets:\n", true),
        ("-", "\u{feff}---\r\nsubnets:\r\n", true),
        ("-", "routers: []\nsubnets: []\n", true),
        ("a.yaml", "schema: x\n", false),
        ("a.ibnetdiscover", "#\n# Topology file\nvendid=0x2c9\n", false),
        ("a.json", "{ \"schema\": 1 }", false),
    ] {
        assert_eq!(list::is_list(file, text.as_bytes()), is, "{file}: {text}");
    }
}

#[test]
fn a_byte_order_mark_is_no_column() {
    for (text, place) in [("\u{feff}subnets: 3\n", (1, 10)), ("\u{feff}# x\r\nsubnets: [3]\r\n", (2, 11))] {
        let error = list::read(text.as_bytes(), "list", |_| unreachable!("no capture is named")).expect_err("a number");
        assert_eq!((error.line(), error.column()), place, "{error}");
    }
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_lists_are_refused_at_a_place(
        damages in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..6, "[-{}\\[\\]:&*!|>'\"#%@,\n\t a0]{0,3}"), 1..5),
    ) {
        let good = "subnets:\n- name: a\n  prefix: '0xfec0000000000001'\n  fabric: a.ibnetdiscover\n- &x {name: b, \
                    fabric: b.ibnetdiscover}\nrouters:\n- [0x20, 0x30]\n";
        let mut text = good.to_string();
        for (at, cut, put) in damages {
            let at = at.index(text.len() + 1);
            text.replace_range(at..(at + cut).min(text.len()), &put);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subnets/bad-input");
        if let Err(error) = list::read(text.as_bytes(), "list", |path| std::fs::read(folder.join(path))) {
            let lines = text.lines().count().max(1) + 1;
            prop_assert!((1..=lines).contains(&error.line()) && error.column() >= 1, "{}", error);
            prop_assert!(error.render(false).contains(error.file()));
        }
    }
}
