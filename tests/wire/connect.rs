//! The request of communication management, byte by byte, as table 106 of the specification lays it out.

use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::ids::{Guid, Lid, Sl};
use reconfig::wire::*;

fn gid(prefix: u64, guid: u64) -> Gid {
    Gid { prefix, guid: Guid(guid) }
}

fn request() -> ConnectRequest {
    let primary = CmPath {
        local_lid: Lid::PERMISSIVE,
        remote_lid: Lid::PERMISSIVE,
        local_gid: gid(0xFEC0_0000_0000_0001, 0x0002_C903_00A1_B2C1),
        remote_gid: gid(0xFEC0_0000_0000_0002, 0x0008_F104_039A_0169),
        flow_label: 0x12345,
        packet_rate: 0x2A,
        traffic_class: 0xA5,
        hop_limit: 2,
        sl: Sl::masked(9),
        subnet_local: false,
        local_ack_timeout: 19,
    };
    ConnectRequest {
        local_comm_id: 0x0102_0304,
        service_id: 0x1112_1314_1516_1718,
        local_ca_guid: Guid(0x2122_2324_2526_2728),
        local_q_key: 0x3132_3334,
        local_qpn: 0x41_4243,
        responder_resources: 0x44,
        local_eecn: 0x51_5253,
        initiator_depth: 0x54,
        remote_eecn: 0x61_6263,
        remote_cm_response_timeout: 20,
        transport_service_type: 1,
        end_to_end_flow_control: true,
        starting_psn: 0x71_7273,
        local_cm_response_timeout: 21,
        retry_count: 7,
        p_key: 0x8001,
        path_mtu: 5,
        rdc_exists: false,
        rnr_retry_count: 6,
        max_cm_retries: 15,
        srq: true,
        extended_transport_type: 2,
        alternate: CmPath { local_lid: Lid(0x0A0B), subnet_local: true, ..primary.clone() },
        primary,
        private_data: std::array::from_fn(|at| at as u8),
    }
}

#[test]
fn every_field_stands_at_its_byte() {
    let path = "fec0000000000001 0002c90300a1b2c1 fec0000000000002 0008f104039a0169 1234502a a5 02";
    let wanted = [
        "01020304 00000000 1112131415161718 2122232425262728 00000000 31323334",
        // QPN and resources; contexts and depth; 20·8 + 1·2 + 1; PSN, 21·8 + 7.
        "414243 44 515253 54 616263 a3 717273 af",
        // P_Key; MTU 5·16 + 6; 15·16 + 8 + 2.
        "8001 56 fa",
        &format!("ffff ffff {path} 90 98"),
        &format!("0a0b ffff {path} 98 98"),
    ];
    let digits: String = wanted.concat().split_whitespace().collect();
    let bytes: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits")).collect();
    assert_eq!(bytes.len(), 140);
    let encoded = request().encode();
    assert_eq!(encoded[..140], bytes[..]);
    assert!(encoded[140..].iter().copied().eq(0..92));
    assert_eq!(ConnectRequest::decode(&encoded), request());
}

#[test]
fn the_mad_is_of_class_7_version_2() {
    let bytes = CmMad::request(0x1234, &request()).encode();
    assert_eq!(bytes[..4], [1, 7, 2, 3]);
    assert_eq!((bytes[16], bytes[17], &bytes[24..]), (0, 0x10, &request().encode()[..]));
    let read = CmMad::decode(&bytes).expect("a MAD");
    assert_eq!((read.tid, read.attribute), (0x1234, CmAttributeId::ConnectRequest));
    let with = |at: usize, value: u8| {
        let mut other = bytes;
        other[at] = value;
        CmMad::decode(&other)
    };
    assert!(matches!(with(1, 3), Err(WireError::Class { found: 3, .. })));
    assert!(matches!(with(2, 1), Err(WireError::Version { version: 1, .. })));
}

properties! {
    #[test]
    fn any_request_keeps_what_is_not_reserved(bytes in prop::collection::vec(any::<u8>(), CM_DATA_SIZE)) {
        let data: [u8; CM_DATA_SIZE] = bytes.try_into().expect("as many");
        let kept = ConnectRequest::decode(&data).encode();
        let mut wanted = data;
        wanted[4..8].fill(0);
        wanted[24..28].fill(0);
        for path in [52, 96] {
            // Behind the flow label six bits, behind the service level and the time-out three each.
            wanted[path + 38] &= 0xF0;
            wanted[path + 39] &= 0x3F;
            wanted[path + 42] &= 0xF8;
            wanted[path + 43] &= 0xF8;
        }
        prop_assert_eq!(kept, wanted);
    }
}
