//! Random small fabrics with everything that makes discovery hard.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId, PortZero};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;

const WIDTHS: [LinkWidth; 4] = [LinkWidth::X1, LinkWidth::X2, LinkWidth::X4, LinkWidth::X12];
/// Those that PortInfo can tell: FDR10 is a maker's own.
const SPEEDS: [LinkSpeed; 5] = [LinkSpeed::Sdr, LinkSpeed::Qdr, LinkSpeed::Fdr, LinkSpeed::Hdr, LinkSpeed::Xdr];

/// A connected fabric: switches in a random tree with more cables among them (parallel ones and cables from a switch to
/// itself included), CAs and a router of one or two ports. The port returned is a CA's.
pub fn random(seed: u64, switches: u32) -> (Fabric, PortId) {
    let mut random = Pcg32::seed_from_u64(seed);
    let mut builder = FabricBuilder::new();
    let mut free: Vec<Vec<u8>> = Vec::new();
    let mut nodes = Vec::new();
    // GUIDs fall, so that the order of discovery is not the order of GUIDs.
    let guid = |i: u32| Guid(0x9000_0000_0000_0000 - u64::from(i) * 0x100);
    for i in 0..switches {
        let radix = random.random_range(10..=40);
        let id = builder.node(NodeKind::Switch, guid(i), radix, format!("switch {i} "));
        complete(&mut builder, id, &mut random);
        nodes.push(id);
        free.push((1..=radix).collect());
    }
    for i in 1..switches as usize {
        let open: Vec<usize> = (0..i).filter(|&parent| free[parent].len() > 5).collect();
        let parent = open[random.random_range(0..open.len())];
        cable(&mut builder, &mut random, (&nodes, &mut free), (i, parent));
    }
    for _ in 0..switches {
        let ends = (random.random_range(0..nodes.len()), random.random_range(0..nodes.len()));
        cable(&mut builder, &mut random, (&nodes, &mut free), ends);
    }
    let mut sm = None;
    for i in 0..2 * switches {
        let kind = if i == 3 { NodeKind::Router } else { NodeKind::Ca };
        let ports = random.random_range(1..=2);
        let id = builder.node(kind, guid(1000 + i), ports, format!("host {i}"));
        complete(&mut builder, id, &mut random);
        for num in 1..=ports {
            let open: Vec<usize> = (0..nodes.len()).filter(|&switch| !free[switch].is_empty()).collect();
            let switch = open[random.random_range(0..open.len())];
            if let Some(at) = take(&mut free[switch], &mut random) {
                link(&mut builder, &mut random, (id, num), (nodes[switch], at));
                sm.get_or_insert((id, num));
            }
        }
    }
    let fabric = lid::assign(&builder.build().expect("a sound fabric"), Lmc::masked(1)).expect("LIDs enough");
    let (node, num) = sm.expect("a host");
    let port = fabric.port_at(node, PortNum(num)).expect("its port");
    (fabric, port)
}

fn complete(builder: &mut FabricBuilder, id: NodeId, random: &mut Pcg32) {
    let node = builder.node_mut(id);
    let (guid, ports, switch) = (node.guid, node.num_ports, node.is_switch());
    node.system_guid = random.random_bool(0.5).then_some(Guid(guid.0 + 0x80));
    node.vendor_id = 0x00_02_C9;
    node.device_id = random.random_range(0..0x1_0000);
    if switch {
        node.optimised_sl_to_vl = random.random_bool(0.5);
        node.lft_capacity = random.random_range(0x8000..0xC000);
        node.port_zero = if random.random_bool(0.3) { PortZero::Enhanced } else { PortZero::Base };
    }
    for num in if switch { 0..=0 } else { 1..=ports } {
        if let Some(port) = builder.port_mut(id, PortNum(num)) {
            port.guid = Some(Guid(guid.0 + u64::from(num)));
        }
    }
}

fn cable(
    builder: &mut FabricBuilder,
    random: &mut Pcg32,
    (nodes, free): (&[NodeId], &mut [Vec<u8>]),
    (a, b): (usize, usize),
) {
    // Ports stay free for hosts: four a switch.
    if free[a].len() < 6 || free[b].len() < 6 {
        return;
    }
    if let (Some(a_num), Some(b_num)) = (take(&mut free[a], random), take(&mut free[b], random)) {
        link(builder, random, (nodes[a], a_num), (nodes[b], b_num));
    }
}

fn take(free: &mut Vec<u8>, random: &mut Pcg32) -> Option<u8> {
    let at = (!free.is_empty()).then(|| random.random_range(0..free.len()))?;
    Some(free.swap_remove(at))
}

fn link(builder: &mut FabricBuilder, random: &mut Pcg32, (a, a_num): (NodeId, u8), (b, b_num): (NodeId, u8)) {
    let width = WIDTHS[random.random_range(0..WIDTHS.len())];
    let speed = SPEEDS[random.random_range(0..SPEEDS.len())];
    let (a, b) = ((a, PortNum(a_num)), (b, PortNum(b_num)));
    builder.link(a, b, width, speed).expect("both ports are free");
    let lanes = [1, 2, 4, 8, 15][random.random_range(0..5)];
    for (node, num) in [a, b] {
        builder.port_mut(node, num).expect("cabled just now").data_vls = lanes;
    }
}

/// All that a sweep can find, in words, independent of indices.
pub fn portrait(fabric: &Fabric) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, node) in fabric.nodes() {
        let guid = node.guid;
        lines.push(format!(
            "{guid} {:?} {:?} {:?} {:#x} {:#x} {} {:?} {} {}",
            node.kind,
            node.description,
            node.system_guid,
            node.vendor_id,
            node.device_id,
            node.num_ports,
            node.port_zero,
            if node.is_switch() { node.lft_capacity } else { 0 },
            node.optimised_sl_to_vl,
        ));
        for port in fabric.ports_of(id).map(|port| fabric.port(port)) {
            let Some(peer) = port.peer.or((port.num == PortNum::ZERO && node.is_switch()).then_some(PortId(0))) else {
                continue;
            };
            let peer = fabric.port(peer);
            let link = if port.peer.is_some() {
                format!("{} {} {} {}", fabric.node(peer.node).guid, peer.num, port.width, port.speed)
            } else {
                String::new()
            };
            let (num, lid, lmc, lanes) = (port.num, port.lid, port.lmc, port.data_vls);
            lines.push(format!("{guid} {num} {:?} {lid:?} {lmc} {lanes} {link}", port.guid));
        }
    }
    lines.sort();
    lines
}

/// The lines that only one of two portraits has.
pub fn difference(a: &Fabric, b: &Fabric) -> Vec<String> {
    let (a, b) = (portrait(a), portrait(b));
    let only = |some: &[String], others: &[String], sign| -> Vec<String> {
        some.iter().filter(|line| !others.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only(&a, &b, '-'), only(&b, &a, '+')].concat()
}
