//! Golden bytes of libumad2sim 0.10 (`smpquery` under `ibsim-run`) and of ibsim 0.10, little-endian machines.
#![cfg(target_endian = "little")]

use super::*;
use proptest::prelude::*;

/// Bytes as two hexadecimal digits each, zeroes after them.
fn padded<const N: usize>(hex: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(hex.split_whitespace()) {
        *byte = u8::from_str_radix(digits, 16).unwrap();
    }
    bytes
}

#[test]
fn a_client_connects_as_libumad2sim_does() {
    let bytes: [u8; CALL_SIZE] =
        padded("ef be ad de 00 00 00 00 01 00 00 00 2c 00 00 00 ea 71 00 00 00 00 00 00 00 00 00 00 48 63 61 32");
    let call = Call::decode(&bytes).unwrap();
    assert_eq!((call.client, call.kind, call.length), (0, CallKind::Connect, 44));
    let asked = Connect::decode(&call.data);
    assert_eq!(asked, Connect { id: 29_162, qp: 0, is_sm: false, node: "Hca2".into() });
    assert_eq!(call.encode(), bytes);

    let answer = call.answer(&Connect { id: 0, ..asked }.encode());
    let golden: [u8; CALL_SIZE] =
        padded("ef be ad de 00 00 00 00 01 00 00 00 2c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 48 63 61 32");
    assert_eq!(answer.encode(), golden);
}

#[test]
fn a_vendor_is_told_as_ibsim_tells_it() {
    let asked = Call::decode(&padded::<CALL_SIZE>("ef be ad de 00 00 00 00 04 00 00 00 18")).unwrap();
    assert_eq!(asked.kind, CallKind::Vendor);
    let answer = asked.answer(&Vendor { vendor: 0, device: 0, hardware: 0xA1, firmware: 1 }.encode());
    let golden: [u8; CALL_SIZE] =
        padded("ef be ad de 00 00 00 00 04 00 00 00 18 00 00 00 00 00 00 00 00 00 00 00 a1 00 00 00 00 00 00 00 01");
    assert_eq!(answer.encode(), golden);
}

#[test]
fn other_kinds_have_their_numbers() {
    let kind = |hex: &str| Call::decode(&padded::<CALL_SIZE>(hex)).map(|call| (call.kind, call.length));
    assert_eq!(kind("ef be ad de 00 00 00 00 07 00 00 00 40"), Some((CallKind::NodeInfo, 64)));
    assert_eq!(kind("ef be ad de 00 00 00 00 08 00 00 00 40"), Some((CallKind::PortInfo, 64)));
    assert_eq!(kind("ef be ad de 00 00 00 00 0a 00 00 00 40"), Some((CallKind::PKeys, 64)));
    assert_eq!(kind("ef be ad de 00 00 00 00 02"), Some((CallKind::Disconnect, 0)));
    assert_eq!(kind("ef be ad df 00 00 00 00 02"), None, "no call begins so");
}

#[test]
fn a_directed_request_is_read_and_its_answer_written() {
    let bytes: [u8; PACKET_SIZE] = padded(
        "ff ff 00 00 ff ff 00 00 00 00 00 00 00 00 00 00 00 00 00 00 20 7f 00 00 00 00 00 00 00 00 01 00 01 81 01 01 \
         00 00 00 00 00 00 00 01 06 d1 de e8 00 11 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ff ff ff ff",
    );
    let packet = SimDatagram::decode(&bytes).unwrap();
    assert_eq!((packet.dlid, packet.slid, packet.length), (Lid::PERMISSIVE, Lid::PERMISSIVE, 256));
    assert_eq!((packet.dqp, packet.sqp, packet.status), (0, 0, 0));
    assert_eq!(crate::wire::class_of(&packet.mad), 0x81);
    let mut written = packet.encode();
    written[20..24].copy_from_slice(&bytes[20..24]);
    assert_eq!(written, bytes);
}

#[test]
fn a_request_that_nobody_answered_comes_back_as_from_ibsim() {
    let bytes: [u8; PACKET_SIZE] = padded(
        "00 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 01 01 01 01",
    );
    let packet = SimDatagram::decode(&bytes).unwrap();
    assert_eq!((packet.dlid, packet.slid), (Lid(3), Lid(0)));
    let back = SimDatagram { status: TIMED_OUT, ..packet }.encode();
    assert_eq!(back[16..20], [0, 0, 0, 0x6E]);
    assert_eq!(back[..16], bytes[..16]);
}

#[test]
fn names_end_in_a_zero_byte() {
    let name = |address: io::Result<SocketAddr>| address.unwrap().as_abstract_name().unwrap().to_vec();
    assert_eq!(name(control_address("sim")), b"sim:ctl\0");
    assert_eq!(name(server_address("sim", 3)), b"sim:out3\0");
    assert_eq!(name(client_address("h4cap", 29_162)), b"h4cap:in29162\0");
}

#[test]
fn other_lengths_are_nothing() {
    assert_eq!(Call::decode(&[0; CALL_SIZE - 1]), None);
    assert_eq!(SimDatagram::decode(&[0; PACKET_SIZE + 1]), None);
}

proptest! {
    #[test]
    fn calls_read_back(client: u32, kind: u32, length: u32, data: [u8; 32]) {
        let call = Call { client, kind: kind.into(), length, data: [0; CALL_DATA_SIZE] }.answer(&data);
        prop_assert_eq!(Call::decode(&call.encode()), Some(call));
    }

    #[test]
    fn packets_read_back(dlid: u16, slid: u16, dqp: u32, sqp: u32, status: u32, length: u64, byte: u8) {
        let mad = Box::new([byte; MAD_SIZE]);
        let packet = SimDatagram { dlid: Lid(dlid), slid: Lid(slid), dqp, sqp, status, length, mad };
        prop_assert_eq!(SimDatagram::decode(&packet.encode()), Some(packet));
    }

    #[test]
    fn names_of_nodes_are_cut(node in "[a-z]{0,40}") {
        let connect = Connect { id: 7, qp: 0, is_sm: true, node: node.clone() };
        let read = Connect::decode(&connect.encode());
        prop_assert_eq!(read.node, node[..node.len().min(31)].to_string());
        prop_assert!(read.is_sm);
    }
}
