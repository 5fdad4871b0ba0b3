//! A connection between hosts of two subnets, message by message: each side asks its own subnet administration or
//! answers along the way that the request came, and routers carry the messages as they carry any packet.

use crate::sa::bench::Bench;
use crate::sa::running::Across;
use crate::support::across::id;
use reconfig::fabric::PortId;
use reconfig::ids::{Half, Lid, PKey, Sl, SubnetId};
use reconfig::resolve::{Completion, GlobalPath, ReplyPath, completed, reply_path, request_along};
use reconfig::routers::{self, Arrival, Discard, Enforcement, Levels, LevelsRule, Routes, relay};
use reconfig::sa::SaLimits;
use reconfig::wire::sa::PathRecord;
use reconfig::wire::{CmMad, ConnectRequest, Grh};

/// A packet with its local header, in a subnet.
struct Packet {
    subnet: usize,
    slid: Lid,
    dlid: Lid,
    sl: Sl,
    grh: Grh,
}

/// What arrives at a host, and which one.
struct Arrived {
    subnet: SubnetId,
    port: PortId,
    completion: Completion,
    hop_limit: u8,
}

/// Carries a packet to the host that it is for.
fn carry(across: &Across, levels: Levels, mut packet: Packet) -> Result<Arrived, Discard> {
    let routes = Routes::all(&across.subnets);
    let open = Enforcement::default();
    let half = Half::of_sl(packet.sl);
    loop {
        let subnet = id(packet.subnet);
        let fabric = across.subnets.fabric(subnet);
        let port = fabric.lid_owner(packet.dlid).expect("a LID of the subnet");
        let at = reconfig::fabric::subnets::SubnetPort { subnet, port };
        let Some(router) = across.subnets.router_of(at) else {
            let base = fabric.port(port).lid.expect("a host has one");
            let path_bits = (packet.dlid.0 - base.0) as u8;
            let completion = Completion { slid: packet.slid, sl: packet.sl, path_bits };
            return Ok(Arrived { subnet, port, completion, hop_limit: packet.grh.hop_limit });
        };
        let grh = routers::Grh {
            traffic_class: packet.grh.traffic_class,
            flow_label: packet.grh.flow_label,
            hop_limit: packet.grh.hop_limit,
            source_prefix: packet.grh.sgid.prefix(),
            source_guid: packet.grh.sgid.guid,
            destination_prefix: packet.grh.dgid.prefix(),
            destination_guid: packet.grh.dgid.guid,
        };
        let target = across.subnets.by_prefix(grh.destination_prefix).expect("a subnet of this prefix");
        let level = Half::rank(packet.sl) as u8;
        let arrival = Arrival {
            grh: &grh,
            level,
            from: subnet,
            routes: &routes,
            p_key: PKey::DEFAULT,
            enforcement: &open,
            salt: router as u32,
        };
        let forwarded = relay(&arrival, routes.onward(router, target), levels, |_| &open)?;
        let next = across.subnets.fabric(forwarded.onward.out.subnet);
        let base = |port: PortId| next.port(port).lid.expect("an end port has one");
        let to = forwarded.onward.to.map_or_else(
            || next.end_ports().find(|&port| next.port(port).guid == Some(grh.destination_guid)).expect("a host"),
            |to| to.port,
        );
        packet = Packet {
            subnet: forwarded.onward.out.subnet.index(),
            slid: base(forwarded.onward.out.port),
            dlid: base(to),
            sl: half.sl_of(forwarded.level),
            grh: Grh { hop_limit: forwarded.hop_limit, ..packet.grh },
        };
    }
}

/// Sends a request from a host of the first subnet to one of the last, and the reply back.
fn set_up(across: &Across, levels: Levels) -> (ConnectRequest, Result<Arrived, Discard>) {
    let far = across.subnets.len() - 1;
    let (here, there) = (across.gid(0, 1), across.gid(far, 4));
    let mut sa = Bench::over(across.facts(0, levels), SaLimits::default());
    let asked = PathRecord { sgid: here, dgid: there, ..PathRecord::default() };
    let path: PathRecord = sa.get(&[PathRecord::SGID, PathRecord::DGID], &asked).expect("a path");
    let request = ConnectRequest { primary: request_along(&path), ..ConnectRequest::default() };
    let mad = CmMad::request(1, &request);
    let grh = Grh::along(&path, 280).expect("a path that leaves the subnet");
    let packet = Packet { subnet: 0, slid: path.slid, dlid: path.dlid, sl: path.sl, grh };
    let arrived = carry(across, levels, packet).expect("the request arrives");
    assert_eq!((arrived.subnet, arrived.port), (id(far), across.host(far, 4)));
    assert_eq!(arrived.hop_limit, 1, "the record's hop limit is the least that arrives");

    // The passive side has the bytes of the request, and its completion.
    let request = ConnectRequest::decode(&CmMad::decode(&mad.encode()).expect("a MAD").data);
    assert_eq!((request.primary.local_lid, request.primary.remote_lid), (Lid::PERMISSIVE, Lid::PERMISSIVE));
    let taken = completed(request, arrived.completion);
    let router = across.subnets.fabric(id(far)).lid_owner(taken.primary.local_lid).expect("a LID of its subnet");
    let at = reconfig::fabric::subnets::SubnetPort { subnet: id(far), port: router };
    assert!(across.subnets.router_of(at).is_some(), "by a router's LID answers go back");
    let ReplyPath { dlid, path_bits, sl, global, sgid, dgid } = reply_path(&taken, 0b11);
    let GlobalPath { traffic_class, flow_label, hop_limit } = global.expect("a global header");
    let base = across.subnets.fabric(id(far)).port(arrived.port).lid.expect("a host has one");
    let grh = Grh { traffic_class, flow_label, hop_limit, sgid, dgid, ..grh_of(&path) };
    let packet = Packet { subnet: far, slid: Lid(base.0 + u16::from(path_bits)), dlid, sl, grh };
    (taken, carry(across, levels, packet))
}

fn grh_of(path: &PathRecord) -> Grh {
    Grh::along(path, 280).expect("a path that leaves the subnet")
}

#[test]
fn the_passive_side_answers_by_the_router_that_the_request_came_from() {
    for routers in [&[&[0usize, 1][..]][..], &[&[0, 1], &[1, 2]]] {
        let across = Across::new(routers.len() + 1, 2, routers);
        let (_, reply) = set_up(&across, Levels::KEEP);
        let reply = reply.expect("the reply arrives");
        assert_eq!((reply.subnet, reply.port), (id(0), across.host(0, 1)));
    }
}

/// Levels that rise need layers for the reply too, which sets out on the level that the request arrived on.
#[test]
fn raised_levels_carry_the_reply_only_with_layers_for_both_ways() {
    let across = Across::new(2, 2, &[&[0, 1]]);
    let levels = |crossings, data_vls| Levels::new(LevelsRule::Raise, crossings, data_vls).expect("lanes enough");
    assert_eq!(set_up(&across, levels(1, 4)).1.err(), Some(Discard::Layers));
    assert!(set_up(&across, levels(2, 8)).1.is_ok());
}
