//! The server without sockets: calls and MADs in, answers out, a simulated subnet in between.

use crate::serve::harness::bundled;
use reconfig::fabric::{Fabric, format};
use reconfig::ids::{Lid, PortNum, Sl};
use reconfig::serve::protocol::{CALL_DATA_SIZE, Call, CallKind, Connect, SimDatagram, TIMED_OUT};
use reconfig::serve::{ClientChange, ConsoleCommand, Patience, ServeStatus, Switchboard, carry_out};
use reconfig::sim::{Sim, SimConfig};
use reconfig::wire::{AttributeId, MAD_SIZE, Method, NodeInfo, PortInfo, Smp};

fn fabric() -> Fabric {
    let file = bundled("ring-8");
    format::read(&std::fs::read(&file).unwrap(), "ring-8").unwrap()
}

fn board() -> Switchboard {
    let sim = Sim::cold(&fabric(), SimConfig { seed: 7, ..SimConfig::default() }).unwrap();
    Switchboard::new(fabric(), sim, Patience { agent_ns: 200_000, retries: 0, client_ns: 1_000_000 })
}

fn connect(board: &mut Switchboard, process: u32, node: &str, is_sm: bool) -> Option<u32> {
    let data = Connect { id: process, qp: 0, is_sm, node: node.into() }.encode();
    let called = board.call(&Call { client: 0, kind: CallKind::Connect, length: 44, data });
    let answer = Connect::decode(&called.answer.data);
    match called.change {
        Some(ClientChange::Opened { client, process: opened }) => {
            assert_eq!((client, opened), (answer.id, process));
            Some(client)
        }
        _ => {
            assert_eq!(called.answer.kind, CallKind::Error);
            None
        }
    }
}

fn ask(board: &mut Switchboard, client: u32, kind: CallKind) -> Call {
    board.call(&Call { client, kind, length: 64, data: [0; CALL_DATA_SIZE] }).answer
}

fn packet(dlid: Lid, qp: u32, mad: [u8; MAD_SIZE]) -> SimDatagram {
    let slid = if dlid == Lid::PERMISSIVE { dlid } else { Lid(0) };
    SimDatagram { dlid, slid, dqp: qp, sqp: qp, status: 0, length: 256, mad: Box::new(mad) }
}

/// A request for NodeInfo along a path.
fn node_info(path: &[u8], tid: u64) -> SimDatagram {
    let path: Vec<PortNum> = path.iter().map(|&num| PortNum(num)).collect();
    let smp = Smp::directed(&path, Method::Get, AttributeId::NodeInfo, 0, [0; 64]).unwrap();
    packet(Lid::PERMISSIVE, 0, smp.with_tid(tid).encode())
}

/// Lets time pass until something is there for a client, or nothing is under way.
fn run(board: &mut Switchboard) -> Vec<(u32, SimDatagram)> {
    let mut came = Vec::new();
    while let Some(until) = board.under_way_until() {
        board.run(until, 0);
        came.extend(board.outgoing());
    }
    came
}

#[test]
fn a_client_is_told_of_the_node_that_it_named() {
    let mut board = board();
    let client = connect(&mut board, 100, "host-5 HCA-1", false).unwrap();
    let info = NodeInfo::decode(&ask(&mut board, client, CallKind::NodeInfo).data);
    assert_eq!((info.port_guid.0, info.local_port), (0x0200_0007_0100_0401, PortNum(1)));
    assert_eq!(ask(&mut board, client, CallKind::Guid).data[..8], info.node_guid.0.to_be_bytes());
    assert_eq!(ask(&mut board, client, CallKind::Unknown(77)).kind, CallKind::Error);
    assert_eq!(ask(&mut board, client + 1, CallKind::NodeInfo).kind, CallKind::Error, "nobody has that ID");
}

#[test]
fn nodes_go_by_description_guid_and_port() {
    let mut board = board();
    let host = |name: &str, board: &mut Switchboard| {
        let client = connect(board, 100, name, false)?;
        Some(board.clients().get(client).unwrap().port)
    };
    let first = host("", &mut board).unwrap();
    assert_eq!(host("host-1 HCA-1", &mut board), Some(first));
    assert_eq!(host("H-0200000701000000", &mut board), Some(first));
    assert_eq!(host("0x200000701000000", &mut board), Some(first));
    assert_eq!(host("host-1 HCA-1:1", &mut board), Some(first));
    let switch = host("switch-3", &mut board).unwrap();
    assert_eq!(board.fabric().port(switch).num, PortNum::ZERO);
    assert_eq!(host("switch-3:1", &mut board), None, "nobody is at an external port of a switch");
    assert_eq!(host("host-99", &mut board), None);
}

#[test]
fn answers_come_to_who_asked_with_the_transaction_that_it_gave() {
    let mut board = board();
    let one = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
    let two = connect(&mut board, 101, "host-1 HCA-1", false).unwrap();
    board.packet(one, node_info(&[], 0x0001_0000_0005), 0);
    board.packet(two, node_info(&[1], 0x0003_0000_0005), 0);
    let came = run(&mut board);
    assert_eq!(came.len(), 2);
    for (client, packet) in came {
        let smp = Smp::decode(&packet.mad).unwrap();
        let ports = NodeInfo::decode(&smp.data).num_ports;
        let (agent, expected) = if client == one { (1, 1) } else { (3, 8) };
        assert_eq!((smp.method, smp.tid >> 32 & 0xFFFF, smp.tid as u32), (Method::GetResp, agent, 5));
        assert_eq!((ports, packet.status, packet.slid), (expected, 0, Lid::PERMISSIVE));
    }
}

#[test]
fn what_nobody_answers_comes_back_when_its_time_is_up() {
    let mut board = board();
    let client = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
    let asked = node_info(&[1, 8], 9);
    board.packet(client, asked.clone(), 0);
    let came = run(&mut board);
    let [(back, packet)] = &came[..] else { panic!("{came:?}") };
    assert_eq!((*back, packet.status, &packet.mad[24..]), (client, TIMED_OUT, &asked.mad[24..]));
    assert_eq!(board.sim().now_ns(), 200_000);
    assert_eq!(board.open_requests(), 0);
}

#[test]
fn what_is_lost_is_sent_again_as_often_as_told() {
    let lossy = SimConfig { seed: 3, smp_loss: 0.5, ..SimConfig::default() };
    let answered = |retries| {
        let sim = Sim::cold(&fabric(), lossy.clone()).unwrap();
        let mut board = Switchboard::new(fabric(), sim, Patience { agent_ns: 200_000, retries, client_ns: 0 });
        let client = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
        let mut asked = |tid| {
            board.packet(client, node_info(&[1], tid), 0);
            run(&mut board)
        };
        (0..100).flat_map(&mut asked).filter(|(_, packet)| packet.status == 0).count()
    };
    let (once, often) = (answered(0), answered(30));
    assert!((10..40).contains(&once), "{once} of 100 were answered where one in four is");
    assert_eq!(often, 100);
}

#[test]
fn a_manager_is_asked_and_answers_and_its_silence_is_told_by_real_time() {
    let mut board = board();
    let manager = connect(&mut board, 100, "host-1 HCA-1", true).unwrap();
    let tool = connect(&mut board, 101, "host-1 HCA-1", false).unwrap();
    assert_eq!(connect(&mut board, 102, "host-1 HCA-1", true), None, "one manager at a port");

    let sm_info = Smp::directed(&[], Method::Get, AttributeId::from(0x20), 0, [0; 64]).unwrap().with_tid(7);
    board.packet(tool, packet(Lid::PERMISSIVE, 0, sm_info.encode()), 0);
    let came = run(&mut board);
    let [(asked, request)] = &came[..] else { panic!("{came:?}") };
    assert_eq!(*asked, manager);
    let answer = Smp::decode(&request.mad).unwrap().response([3; 64]);
    board.packet(manager, packet(Lid::PERMISSIVE, 0, answer.encode()), 0);
    let came = run(&mut board);
    let [(told, answer)] = &came[..] else { panic!("{came:?}") };
    assert_eq!((*told, Smp::decode(&answer.mad).unwrap().data), (tool, [3; 64]));

    board.packet(tool, packet(Lid::PERMISSIVE, 0, sm_info.with_tid(8).encode()), 0);
    assert_eq!(run(&mut board).len(), 1);
    board.settle(999_999);
    assert!(board.outgoing().is_empty());
    board.settle(1_000_000);
    let came = board.outgoing();
    assert_eq!(came.iter().map(|(client, packet)| (*client, packet.status)).collect::<Vec<_>>(), [(tool, TIMED_OUT)]);
}

#[test]
fn who_is_gone_gets_nothing_and_its_id_is_free() {
    let mut board = board();
    let client = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
    board.packet(client, node_info(&[], 5), 0);
    let called = board.call(&Call { client, kind: CallKind::Disconnect, length: 0, data: [0; CALL_DATA_SIZE] });
    assert_eq!(called.change, Some(ClientChange::Closed(client)));
    assert_eq!(connect(&mut board, 101, "host-1 HCA-1", false), Some(client));
    board.run(1_000_000, 0);
    assert!(board.outgoing().is_empty(), "the answer was for somebody else");
}

#[test]
fn a_manager_shows_in_the_capability_mask_until_it_is_gone() {
    let mut board = board();
    let tool = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
    let is_sm = |board: &mut Switchboard| ask(board, tool, CallKind::PortInfo).data[23] & 2 != 0;
    assert!(!is_sm(&mut board));
    let mut data = [0; CALL_DATA_SIZE];
    data[0] = 1;
    board.call(&Call { client: tool, kind: CallKind::SetIsSm, length: 4, data });
    assert!(is_sm(&mut board));
    data[0] = 0;
    board.call(&Call { client: tool, kind: CallKind::SetIsSm, length: 4, data });
    assert!(!is_sm(&mut board));
    let manager = connect(&mut board, 101, "host-1 HCA-1", true).unwrap();
    assert!(is_sm(&mut board));
    board.disconnect(manager);
    assert!(!is_sm(&mut board));
}

/// One sequence of MADs at one sequence of simulated times: the same answers, and the same events to the last.
#[test]
fn the_same_mads_at_the_same_times_come_to_the_same() {
    let conversation = |seed_of_real_time: u64| {
        let mut board = board();
        let client = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
        board.sim_mut().start();
        let mut answers = Vec::new();
        for round in 0..40 {
            board.packet(client, node_info(&[1, 3, 3][..1 + round % 3], round as u64), seed_of_real_time);
            answers.extend(run(&mut board));
            if round == 20 {
                let unlink = ConsoleCommand::read("Unlink switch-2[3]").unwrap().unwrap();
                carry_out(&mut board, &unlink).unwrap();
            }
            let now_ns = board.sim().now_ns();
            board.run(now_ns + 3_000, seed_of_real_time);
        }
        (answers, board.sim().trace_hash())
    };
    assert_eq!(conversation(1), conversation(999));
}

#[test]
fn counts_are_json() {
    let mut board = board();
    let client = connect(&mut board, 100, "host-1 HCA-1", false).unwrap();
    board.packet(client, node_info(&[], 5), 0);
    run(&mut board);
    let status = ServeStatus::of(&board, reconfig::serve::Pacer::new(0.5).times());
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(json["schema"], "reconfig.serve/1");
    assert_eq!(json["mads"]["Get(NodeInfo)"], 1);
    assert_eq!(json["clients"][0]["process"], 100);
    assert_eq!(json["packets"]["injected"], 0);
}

/// A manager's own trap travels to another, and what represses it finds back, whatever libumad2sim put into its number.
#[test]
fn a_trap_of_a_client_is_repressed_by_another() {
    let mut board = board();
    let (sender, manager) =
        (connect(&mut board, 100, "host-1 HCA-1", true), connect(&mut board, 101, "host-2 HCA-1", true));
    let (sender, manager) = (sender.unwrap(), manager.unwrap());
    give_lids(&mut board, manager);
    let trap = Smp::lid_routed(Method::Trap, AttributeId::Notice, 0, [0; 64]).with_tid(0x0002_0000_0009);
    board.packet(sender, packet(Lid(2), 0, trap.encode()), 0);
    let came = run(&mut board);
    let [(told, told_trap)] = &came[..] else { panic!("{came:?}") };
    assert_eq!((*told, told_trap.slid), (manager, Lid(1)));
    assert_eq!(board.open_requests(), 1, "a manager may take its time");
    let number = Smp::decode(&told_trap.mad).unwrap().tid;
    let repress =
        Smp::lid_routed(Method::TrapRepress, AttributeId::Notice, 0, [0; 64]).with_tid(number & 0xFFFF_FFFF | 7 << 32);
    board.packet(manager, packet(Lid(1), 0, repress.encode()), 0);
    let came = run(&mut board);
    let [(told, repressed)] = &came[..] else { panic!("{came:?}") };
    assert_eq!((*told, Smp::decode(&repressed.mad).unwrap().tid), (sender, number));
    assert_eq!(board.open_requests(), 0);
}

/// Simulated time stands nearly still beside the manager's, which may lose a trap, or what represses it.
#[test]
fn a_trap_that_nobody_represses_is_repeated_every_second_of_real_time() {
    let mut board = board();
    let manager = connect(&mut board, 101, "host-2 HCA-1", true).unwrap();
    give_lids(&mut board, manager);
    board.sim_mut().load_master_sm(Lid(2), Sl::masked(0));
    let host = board.fabric().nodes().find(|(_, node)| node.description == "host-1 HCA-1").unwrap().0;
    board.sim_mut().kill(host);
    let mut heard = |real_ns: u64| {
        board.run(board.sim().now_ns() + 20_000, real_ns);
        let traps = |mad: &[u8; MAD_SIZE]| Smp::decode(mad).is_ok_and(|smp| smp.method == Method::Trap);
        let traps = board.outgoing().into_iter().filter(|(_, datagram)| traps(&datagram.mad));
        traps.count()
    };
    let counts =
        [0, 900_000_000, 1_000_000_000, 1_900_000_000, 2_000_000_000].map(|real_ns| heard(real_ns) + heard(real_ns));
    assert_eq!(counts, [1, 0, 1, 0, 1]);
}

/// LIDs 1 and 2 for host-1 and host-2, and the ways between them over their switch: ports 1 and 2 of it are theirs.
fn give_lids(board: &mut Switchboard, manager: u32) {
    let set = |attribute, modifier, data: [u8; 64], path: &[u8]| {
        let path: Vec<PortNum> = path.iter().map(|&num| PortNum(num)).collect();
        let smp = Smp::directed(&path, Method::Set, attribute, modifier, data).unwrap();
        packet(Lid::PERMISSIVE, 0, smp.with_tid(77).encode())
    };
    for (path, lid) in [(&[][..], 2), (&[1, 1], 1)] {
        let asked = Smp::directed(
            &path.iter().map(|&num| PortNum(num)).collect::<Vec<_>>(),
            Method::Get,
            AttributeId::PortInfo,
            0,
            [0; 64],
        );
        board.packet(manager, packet(Lid::PERMISSIVE, 0, asked.unwrap().encode()), 0);
        let mut info = PortInfo::decode(&Smp::decode(&run(board)[0].1.mad).unwrap().data);
        (info.lid, info.port_state) = (Lid(lid), 0.into());
        board.packet(manager, set(AttributeId::PortInfo, 0, info.encode(), path), 0);
        assert_eq!(Smp::decode(&run(board)[0].1.mad).unwrap().status, 0);
    }
    let mut entries = [255; 64];
    (entries[1], entries[2]) = (1, 2);
    board.packet(manager, set(AttributeId::LinearForwardingTable, 0, entries, &[1]), 0);
    assert_eq!(Smp::decode(&run(board)[0].1.mad).unwrap().status, 0);
}
