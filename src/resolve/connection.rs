//! The LIDs of a connection's request, within a subnet and across routers.
//!
//! A LID means nothing beyond its subnet, and the active side cannot ask for the LIDs at the other end. So a request
//! along a path that crosses routers has 0xFFFF for both LIDs, and the passive side takes them from the completion with
//! which the request came: the router's LID, by which answers go back, and its own path bits. The service level of that
//! path is taken from there too, as Linux does; the slides do not mention it. Nothing else in the three-way handshake
//! changes. Source: seed 004, *host stack today (cont.)*.

use crate::ids::{Lid, Sl};
use crate::wire::sa::PathRecord;
use crate::wire::{CmPath, ConnectRequest, Gid};

/// The adapter's report on a message that it received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The SLID of the packet: the sender's, or the last router's.
    pub slid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// By how much its DLID was above the base LID of the port.
    pub path_bits: u8,
}

/// The headers of the passive side's answer: the local and the global one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyPath {
    /// The destination in its own subnet.
    pub dlid: Lid,
    /// By which of its LIDs, above the base LID.
    pub path_bits: u8,
    /// The service level.
    pub sl: Sl,
    /// What the global header says; none within a subnet.
    pub global: Option<GlobalPath>,
    /// From whom.
    pub sgid: Gid,
    /// To whom.
    pub dgid: Gid,
}

/// What a global header says beside its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalPath {
    /// The traffic class.
    pub traffic_class: u8,
    /// The flow label.
    pub flow_label: u32,
    /// The hop limit.
    pub hop_limit: u8,
}

/// The primary path of a request along a path record: LIDs of 0xFFFF where it crosses routers (HopLimit above 1).
pub fn request_along(path: &PathRecord) -> CmPath {
    let subnet_local = path.hop_limit <= 1;
    let lid = |lid| if subnet_local { lid } else { Lid::PERMISSIVE };
    CmPath {
        local_lid: lid(path.slid),
        remote_lid: lid(path.dlid),
        local_gid: path.sgid,
        remote_gid: path.dgid,
        flow_label: path.flow_label,
        packet_rate: path.rate,
        traffic_class: path.traffic_class,
        hop_limit: path.hop_limit,
        sl: path.sl,
        subnet_local,
        // There and back: twice the life time of a packet.
        local_ack_timeout: (path.packet_life_time + 1).min(31),
    }
}

/// The request as the passive side reads it: LIDs of 0xFFFF are taken from the completion.
#[must_use]
pub fn completed(mut request: ConnectRequest, completion: Completion) -> ConnectRequest {
    let primary = &mut request.primary;
    if primary.subnet_local {
        return request;
    }
    if primary.local_lid == Lid::PERMISSIVE {
        (primary.local_lid, primary.sl) = (completion.slid, completion.sl);
    }
    if primary.remote_lid == Lid::PERMISSIVE {
        primary.remote_lid = Lid(completion.path_bits.into());
    }
    request
}

/// The way of the answer to a request that is [`completed`]. `lmc_mask` is 2^LMC − 1 of the passive side's port.
pub fn reply_path(request: &ConnectRequest, lmc_mask: u8) -> ReplyPath {
    let primary = &request.primary;
    let CmPath { traffic_class, flow_label, hop_limit, subnet_local, .. } = *primary;
    ReplyPath {
        dlid: primary.local_lid,
        path_bits: primary.remote_lid.0 as u8 & lmc_mask,
        sl: primary.sl,
        global: (!subnet_local).then_some(GlobalPath { traffic_class, flow_label, hop_limit }),
        sgid: primary.remote_gid,
        dgid: primary.local_gid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(hop_limit: u8) -> PathRecord {
        PathRecord { slid: Lid(4), dlid: Lid(9), hop_limit, packet_life_time: 18, ..PathRecord::default() }
    }

    fn request(hop_limit: u8) -> ConnectRequest {
        ConnectRequest { primary: request_along(&path(hop_limit)), ..ConnectRequest::default() }
    }

    const CAME: Completion = Completion { slid: Lid(77), sl: Sl::masked(3), path_bits: 2 };

    #[test]
    fn within_a_subnet_the_request_says_the_lids() {
        for hop_limit in [0, 1] {
            let own = completed(request(hop_limit), CAME);
            assert_eq!(
                (own.primary.local_lid, own.primary.remote_lid, own.primary.sl),
                (Lid(4), Lid(9), Sl::default())
            );
            assert_eq!(reply_path(&own, 3).global, None);
        }
    }

    #[test]
    fn across_routers_the_completion_does() {
        let sent = request(2);
        assert_eq!((sent.primary.local_lid, sent.primary.remote_lid), (Lid(0xFFFF), Lid(0xFFFF)));
        let reply = reply_path(&completed(sent, CAME), 3);
        assert_eq!((reply.dlid, reply.path_bits, reply.sl), (Lid(77), 2, Sl::masked(3)));
        // A sender that knew the LIDs beyond is taken at its word.
        let mut knows = request(2);
        (knows.primary.local_lid, knows.primary.remote_lid) = (Lid(5), Lid(6));
        let own = completed(knows.clone(), CAME);
        assert_eq!(own, knows);
    }

    #[test]
    fn the_acknowledgement_has_the_time_of_both_ways() {
        assert_eq!(request(2).primary.local_ack_timeout, 19);
    }
}
