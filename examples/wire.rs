//! The layer `wire`: a directed-route SMP as it goes over the wire, its answer, and both read back:
//! `cargo run --example wire`.

use reconfig::ids::{Guid, PortNum};
use reconfig::wire::{AttributeId, MAD_SIZE, Method, NodeInfo, NodeType, Smp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Out of the sender's port 1, then of the first switch's port 7: which node is there?
    let path = [PortNum(1), PortNum(7)];
    let request = Smp::directed(&path, Method::Get, AttributeId::NodeInfo, 0, [0; 64])?.with_tid(0x1234);
    println!("Get(NodeInfo) along {path:?}:");
    dump(&request.encode());

    let found = NodeInfo {
        node_type: NodeType::Switch,
        node_guid: Guid(0x0002_c903_0000_1234),
        num_ports: 36,
        local_port: PortNum(4),
        ..NodeInfo::decode(&[0; 64])
    };
    let answer = request.response(found.encode());
    println!("\nits answer:");
    dump(&answer.encode());

    let read = Smp::decode(&answer.encode())?;
    let info = NodeInfo::decode(&read.data);
    println!("\nread back: {:?} of transaction {:#x}:", read.method, read.tid);
    println!("  {:?} {}, {} ports, reached by {}", info.node_type, info.node_guid, info.num_ports, info.local_port);
    Ok(())
}

/// Rows of sixteen bytes; rows of zeros are omitted.
fn dump(bytes: &[u8; MAD_SIZE]) {
    for (row, chunk) in bytes.chunks(16).enumerate().filter(|(_, chunk)| chunk.iter().any(|&byte| byte != 0)) {
        let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("  {:3}  {}", row * 16, hex.join(" "));
    }
}
