//! Readers and writers of `fabric::format` against captures, random fabrics, damaged files and the field's own tools.

use crate::support::bad_input::assert_refused_as_shown;
use crate::support::captures::captures;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::format::{Format, read, read_as, read_noting, write};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortZero};
use reconfig::ids::{Guid, Lid, Lmc, PortNum};
use std::path::Path;

fn read_capture(name: &str, bytes: &[u8]) -> Fabric {
    read(bytes, name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Switches, CAs and routers together, links: aggregation nodes count as CAs.
fn counts(fabric: &Fabric) -> (usize, usize, usize) {
    let switches = fabric.switches().count();
    (switches, fabric.node_count() - switches, fabric.links().count())
}

#[test]
fn captures_have_the_counts_that_their_collection_states() {
    let expected = [
        ("ibsim/net", (2, 2, 4)),
        ("odd/ca-without-links.ibnetdiscover", (0, 1, 0)),
        ("odd/ibtopotool-1.ibnetdiscover", (2, 4, 7)),
        ("odd/self-loops-mixed-speeds.ibnetdiscover", (2, 13, 16)),
        ("opensm/credit-loop-62sw.subnet.lst", (62, 3, 172)),
        ("opensm/rhino512-after.subnet.lst", (198, 512, 2480)),
        ("opensm/rhino512-before.subnet.lst", (216, 512, 2752)),
        ("real/dgx-ndr.ibnetdiscover", (40, 582, 1114)),
        ("real/psmn-x5.ibnetdiscover", (11, 89, 159)),
        ("real/qdr-mesh-8sw.ibnetdiscover", (8, 144, 192)),
        ("real/selene-compute.ibnetdiscover", (666, 4341, 12852)),
    ];
    let captures = captures();
    let mut known = 0;
    for (name, bytes) in &captures {
        let found = counts(&read_capture(name, bytes));
        println!("{name} {found:?}");
        if let Some((_, counts)) = expected.iter().find(|(known, _)| known == name) {
            assert_eq!(found, *counts, "{name}: switches, others, links");
            known += 1;
        }
    }
    assert!(captures.is_empty() || known == expected.len(), "{known} of {} known captures", expected.len());
}

/// What the captures cannot do without an assumption, and nothing else.
#[test]
fn captures_need_only_the_assumptions_that_are_noticed() {
    for (name, bytes) in captures() {
        let reading = read_noting(&bytes, &name).expect("a capture that is read elsewhere");
        let texts: Vec<String> = reading.notices.iter().map(ToString::to_string).collect();
        let expected: &[&str] = match name.as_str() {
            "odd/ibtopotool-3.ibnetdiscover" => {
                &["line 1: a part of the fabric may be missing: the tool did not get an answer from 1 device"]
            }
            "odd/ibtopotool-1.ibnetdiscover" => &["line 26: repaired: the two ends of a link state different rates"],
            "opensm/credit-loop-62sw.subnet.lst" => &["line 1: no speed: taken as 2.5 Gb/s (344 times"],
            "opensm/rhino512-after.subnet.lst" => &["line 1: labelled `CA`, but two of its ports share a LID or GUID"],
            "opensm/rhino512-before.subnet.lst" => &["line 1: labelled `CA`, but two of its ports share a LID or GUID"],
            _ => &[],
        };
        let agree = texts.len() == expected.len() && texts.iter().zip(expected).all(|(t, start)| t.starts_with(start));
        assert!(agree, "{name}: {texts:?}");
    }
}

#[test]
fn captures_are_written_back_to_the_byte() {
    for (name, bytes) in
        captures().into_iter().filter(|(name, _)| name.starts_with("real/") || name.contains("self-loops"))
    {
        let text = String::from_utf8(bytes).expect("captures are ASCII");
        let written =
            write(&read_capture(&name, text.as_bytes()), Format::Ibnetdiscover).expect("a format that is written");
        let mut lines = text.trim_end().lines().zip(written.trim_end().lines()).enumerate();
        let differs = lines.find(|(number, (ours, theirs))| *number != 1 && ours != theirs);
        assert_eq!(differs, None, "{name}");
        assert_eq!(text.trim_end().lines().count(), written.trim_end().lines().count(), "{name}");
    }
}

#[test]
fn captures_survive_every_format_that_is_written_and_read() {
    for (name, bytes) in captures() {
        let fabric = read_capture(&name, &bytes);
        for format in [Format::Ibnetdiscover, Format::Json, Format::IbsimNet] {
            let first = write(&fabric, format).expect("a format that is written");
            assert_eq!(Format::detect(&first), format, "{name}: what is written is known again");
            let again = read(first.as_bytes(), &name).unwrap_or_else(|error| panic!("{name}\n{}", error.render(false)));
            if format != Format::IbsimNet {
                assert!(again == fabric, "{name}: {format} bears the fabric");
            }
            assert!(write(&again, format).expect("as before") == first, "{name}: the second write is the first");
        }
    }
}

/// CRLF, a byte-order mark, blanks for tabs and none at the ends of lines change nothing.
#[test]
fn other_hands_spoil_nothing() {
    for (name, bytes) in captures().into_iter().filter(|(name, _)| name != "real/selene-compute.ibnetdiscover") {
        let text = String::from_utf8(bytes).expect("captures are ASCII");
        let fabric = read_capture(&name, text.as_bytes());
        let indented = text.replace('\n', "\n  ");
        for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}"), text.replace('\t', "  "), indented] {
            assert!(read_capture(&name, other.as_bytes()) == fabric, "{name}");
        }
    }
}

/// A description of one line, as tools print it.
fn description() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,6}-[0-9]{1,2} HCA-[12] ?",
        2 => "[ -~]{0,20}",
        1 => Just("a \" lid 3 \"b\" # enhanced port 0 ".to_string()),
        1 => "[a-zé#ü\"{} =]{0,12}",
    ]
}

#[derive(Clone, Debug)]
struct NodeSeed {
    kind: NodeKind,
    ports: u8,
    description: String,
    ids: (u32, u32, Option<u64>),
    lmc: u8,
    enhanced: bool,
}

fn node_seed() -> impl Strategy<Value = NodeSeed> {
    let kind = prop_oneof![3 => Just(NodeKind::Switch), 3 => Just(NodeKind::Ca), 1 => Just(NodeKind::Router)];
    let ids = (0u32..1 << 24, 0u32..1 << 16, proptest::option::of(1u64..));
    (kind, 1u8..7, description(), ids, 0u8..4, any::<bool>()).prop_map(
        |(kind, ports, description, ids, lmc, enhanced)| NodeSeed { kind, ports, description, ids, lmc, enhanced },
    )
}

type LinkSeed = (usize, u8, usize, u8, usize, usize, u8);

/// A small fabric: `per_end` gives it what ibsim's format does not bear, an origin, data VLs.
fn fabric(per_end: bool) -> impl Strategy<Value = Fabric> {
    let link = (0..8usize, 0..8u8, 0..8usize, 0..8u8, 0..LinkWidth::ALL.len(), 0..LinkSpeed::ALL.len(), 0..5u8);
    let origin = proptest::option::of((1u64.., 1u64..));
    (proptest::collection::vec(node_seed(), 1..8), proptest::collection::vec(link, 0..14), origin)
        .prop_map(move |(nodes, links, origin)| build(&nodes, &links, if per_end { origin } else { None }, per_end))
}

fn build(nodes: &[NodeSeed], links: &[LinkSeed], origin: Option<(u64, u64)>, per_end: bool) -> Fabric {
    let mut builder = FabricBuilder::new();
    if let Some((node, port)) = origin {
        builder.origin(Guid(node), Guid(port));
    }
    for (i, seed) in nodes.iter().enumerate() {
        let guid = Guid(0x2c9_0300_0000 + 0x100 * i as u64);
        // ibsim describes a node without a description by its name.
        let description = if per_end || !seed.description.is_empty() { &seed.description } else { "plain" };
        let id = builder.node(seed.kind, guid, seed.ports, description);
        let node = builder.node_mut(id);
        (node.vendor_id, node.device_id) = (seed.ids.0, seed.ids.1);
        node.system_guid = Some(seed.ids.2.map_or(guid, Guid));
        if seed.kind == NodeKind::Switch {
            node.port_zero = if seed.enhanced { PortZero::Enhanced } else { PortZero::Base };
            name_port(&mut builder, (id, PortNum::ZERO), guid, 1 + 64 * i as u16, seed.lmc);
        }
    }
    for &(a, a_num, b, b_num, width, speed, vls) in
        links.iter().filter(|link| link.0 < nodes.len() && link.2 < nodes.len())
    {
        let ends = [(a, a_num), (b, b_num)].map(|(node, num)| (NodeId(node as u32), PortNum(num)));
        let (width, speed) = (LinkWidth::ALL[width], LinkSpeed::ALL[speed]);
        if builder.link(ends[0], ends[1], width, speed).is_err() {
            continue;
        }
        for (id, num) in ends {
            let seed = &nodes[id.index()];
            if seed.kind != NodeKind::Switch {
                let guid = Guid(builder.nodes()[id.index()].guid.0 + u64::from(num.0));
                let lid = 1 + 64 * (id.0 as u16) + 8 * u16::from(num.0);
                name_port(&mut builder, (id, num), guid, lid, seed.lmc);
            }
            if let (true, Some(port)) = (per_end, builder.port_mut(id, num)) {
                port.data_vls = [1, 2, 4, 8, 15][usize::from((vls + num.0) % 5)];
            }
        }
    }
    builder.build().expect("distinct GUIDs, LIDs apart")
}

/// A GUID and, for two nodes of three, a LID.
fn name_port(builder: &mut FabricBuilder, (id, num): (NodeId, PortNum), guid: Guid, lid: u16, lmc: u8) {
    let port = builder.port_mut(id, num).expect("a port of the node");
    port.guid = Some(guid);
    if id.0 % 3 != 2 {
        (port.lid, port.lmc) = (Some(Lid(lid)), Lmc::masked(lmc));
    }
}

properties! {
    #[test]
    fn ibnetdiscover_bears_random_fabrics(fabric in fabric(true)) {
        same_again(&fabric, Format::Ibnetdiscover)?;
    }

    #[test]
    fn json_bears_random_fabrics_whole(fabric in fabric(true), vls in 1u8..16, gone in 0u32..8) {
        let fabric = fabric.with_capabilities(vls, vls % 2 == 0);
        let gone = NodeId(gone % fabric.node_count() as u32);
        same_again(&fabric.without_nodes(&[gone]), Format::Json)?;
    }

    #[test]
    fn ibsim_net_bears_random_fabrics(fabric in fabric(false)) {
        same_again(&fabric, Format::IbsimNet)?;
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let _ = read_as(format, &bytes, "random");
        }
    }

    #[test]
    fn no_text_of_the_formats_words_makes_a_reader_panic(
        words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..40)
    ) {
        for format in Format::ALL {
            let _ = read_as(format, words.concat().as_bytes(), "random");
        }
    }
}

const WORDS: [&str; 44] = [
    "\n",
    "\n",
    "\n",
    " ",
    "\t",
    "#",
    "\"",
    "Switch",
    "Ca",
    "Hca",
    "Rt",
    "Switch 4 \"S-0000000000000001\"",
    "[1]",
    "[2]",
    "\"S-0000000000000001\"",
    "\"H-0000000000000002\"",
    "[1]",
    "(1)",
    "# \"x\" ",
    "lid 1 ",
    "lmc 0 ",
    "4xQDR",
    "lid 65535",
    "vendid=0x",
    "1",
    "switchguid=0x1",
    "caguid",
    "=",
    "+",
    "width",
    "speed",
    "extspeed",
    "module",
    "\"m\"",
    "w=",
    "s=9",
    "{ SW Ports:08 SystemGUID:1 NodeGUID:1 PortGUID:1 VenID:1 DevID:1 Rev:1 {x} LID:0001 PN:01 }",
    " PHY=4x LOG=ACT",
    "{",
    "}",
    "\u{feff}",
    "é",
    "\"schema\":\"reconfig.fabric/1\",",
    "\"nodes\":[],\"links\":[]",
];

fn same_again(fabric: &Fabric, format: Format) -> Result<(), TestCaseError> {
    let text = write(fabric, format).expect("a format that is written");
    let again = read(text.as_bytes(), "random").map_err(|error| TestCaseError::fail(error.render(false)))?;
    prop_assert_eq!(&again, fabric);
    prop_assert_eq!(write(&again, format).expect("as before"), text);
    Ok(())
}

/// One thing that happens to a file on its way.
#[derive(Clone, Debug)]
enum Damage {
    Truncate(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    DuplicateLine(prop::sample::Index),
    DropLine(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(Damage::Truncate),
        (at(), 1u8..128).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        at().prop_map(Damage::DuplicateLine),
        at().prop_map(Damage::DropLine),
        (at(), at()).prop_map(|(a, b)| Damage::SwapLines(a, b)),
    ]
}

fn damaged(bytes: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for damage in damages {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Damage::DuplicateLine(_) | Damage::DropLine(_) | Damage::SwapLines(..) => {
                let mut lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
                let count = lines.len();
                match damage {
                    Damage::DuplicateLine(at) => lines.insert(at.index(count), lines[at.index(count)]),
                    Damage::DropLine(at) => drop(lines.remove(at.index(count))),
                    Damage::SwapLines(a, b) => lines.swap(a.index(count), b.index(count)),
                    _ => {}
                }
                bytes = lines.join(&b'\n');
            }
        }
    }
    bytes
}

/// Damaged captures and damaged writings of them are read or refused with a place inside the file.
#[test]
fn damaged_captures_never_make_a_reader_panic() {
    let small = captures().into_iter().filter(|(_, bytes)| bytes.len() < 150_000);
    let mut files: Vec<(String, Vec<u8>)> = small.collect();
    for (name, bytes) in files.clone() {
        let fabric = read_capture(&name, &bytes);
        let written = [Format::Json, Format::IbsimNet].map(|f| write(&fabric, f).expect("a format that is written"));
        files.extend(written.into_iter().map(|text| (name.clone(), text.into_bytes())));
    }
    let config = ProptestConfig { cases: 40, ..ProptestConfig::default() };
    for (name, bytes) in files {
        let format = Format::detect(std::str::from_utf8(&bytes).expect("captures are ASCII"));
        proptest!(config.clone(), |(damages in proptest::collection::vec(damage(), 1..4))| {
            let bytes = damaged(&bytes, &damages);
            if let Err(error) = read_as(format, &bytes, &name) {
                let lines = bytes.split(|&b| b == b'\n').count();
                prop_assert!((1..=lines).contains(&error.line()) && error.column() >= 1, "{}", error);
                prop_assert!(error.render(false).contains(&name));
            }
        });
    }
}

/// Every file of the folder `bad-input` is refused as the file beside it shows; `UPDATE_EXPECT=1` writes those anew.
#[test]
fn bad_input_is_refused_with_place_line_and_expectation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/bad-input");
    let is_input = |name: &str| Path::new(name).extension().is_some_and(|end| end != "stderr");
    assert_refused_as_shown(&folder, is_input, |name, bytes| {
        read(bytes, name).map(drop).map_err(|error| (error.to_string(), error.render(false)))
    });
}
