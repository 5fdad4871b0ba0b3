//! partitions.conf: the P_Key tables that OpenSM gives from a file are those that we read out of it.

use super::fabrics::{SMALL, generated};
use super::installed;
use super::opensm::OpenSm;
use super::subnet::Subnet;
use reconfig::fabric::format::read;
use reconfig::fabric::subnets::partitions::{Partitions, usual_manager};
use reconfig::fabric::{Fabric, NodeKind, PortId};
use reconfig::ids::Guid;

/// The keys that smpquery shows of ports, by LID, in the order of the table.
fn shown(subnet: &Subnet, fabric: &Fabric, ports: &[PortId]) -> Vec<Vec<u16>> {
    let lid = |port: &PortId| fabric.port(*port).lid.expect("brought up").0.to_string();
    let calls: Vec<Vec<String>> =
        ports.iter().map(|port| ["smpquery", "pkeys", &lid(port)].map(str::to_string).to_vec()).collect();
    let keys = |text: &String| {
        let words = text.lines().filter(|line| line.contains(": 0x")).flat_map(str::split_whitespace);
        let keys = words.filter_map(|word| u16::from_str_radix(word.strip_prefix("0x")?, 16).ok());
        keys.filter(|key| *key != 0).collect()
    };
    subnet.tools(&calls).iter().map(keys).collect()
}

/// Where OpenSM runs, and the tools: so the capture tells who `SELF` is.
const MANAGER: &str = "host-1 HCA-1";

/// Files that use what the format has, odd corners too; `{n}` stands for the GUID of a host's port.
const FILES: [&str; 6] = [
    "A = 5 : ALL=full ;\n",
    "Default=0x7fff : ALL=full ;\n# nobody else\nStorage = 0x8030,ipoib , mtu=4: {0}=full, {1}, {2}=limi,\n  {3} = both\n, SELF=full; Storage=0x30:{1}=full\n,;\n",
    "A=0x0102, indx0: {0}=full ; B=0x0201, defmember=full : ALL_CAS ; C=1 : ALL=; Gen, foo=3 : {1}, {2} ; Gen : SELF=both ; 17: AL ;\n",
    "None : ; X=0x20 : NONE, {1}=bogus, ALL_SWITCHES=full ;\nmore,sl=2,scope=5 : ALL_C=f\nmgid=ff12:401b::16, sl=1 # a group\nS ;",
    "A : {0} ; A : {1} ; : {2} ; B=1 : {3}=full ; C=010 : ALL ; D=0x00ff: ALL=full ; E=0x01ff: ALL=full ;\n",
    "Default : {0}=full ; Z=0x7ffe,indx0,defmember=both : ALL ; Z=0x7ffe : {1} ; Default=0x7fff,indx0 : {2}=full ;\n",
];

#[test]
fn opensm_gives_every_port_the_keys_that_we_read() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let net = generated(topology, seed);
    for file in FILES {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at(MANAGER);
        let capture = || {
            let text = subnet.tool(&["ibnetdiscover"]);
            read(text.as_bytes(), "shown").unwrap_or_else(|error| panic!("{}", error.render(false)))
        };
        let hosts = |fabric: &Fabric| -> Vec<Guid> {
            let is_host = |port: &PortId| fabric.node(fabric.port(*port).node).kind == NodeKind::Ca;
            let mut guids: Vec<Guid> =
                fabric.end_ports().filter(is_host).filter_map(|port| fabric.port(port).guid).collect();
            guids.sort();
            guids
        };
        let guids = hosts(&capture());
        let text = (0..4).fold(file.to_string(), |text, n| text.replace(&format!("{{{n}}}"), &guids[n].to_string()));
        let path = subnet.folder().join("partitions.conf");
        std::fs::write(&path, &text).expect("a file in a temporary folder");
        let _manager = OpenSm::bring_up(&subnet, Some(MANAGER), &format!("partition_config_file {}\n", path.display()));
        let fabric = capture();
        let (partitions, _) =
            Partitions::read(text.as_bytes(), "ours").unwrap_or_else(|error| panic!("{}", error.render(false)));
        let tables = partitions.tables(&fabric, usual_manager(&fabric));
        let ports: Vec<PortId> = fabric.end_ports().collect();
        for (port, found) in ports.iter().zip(shown(&subnet, &fabric, &ports)) {
            let ours: Vec<u16> = tables[port.index()].iter().map(|key| key.0).collect();
            assert_eq!(ours, found, "{} by\n{text}", fabric.describe_port(*port));
        }
    }
}

/// What we refuse OpenSM does too: it falls back on the default partition for all.
#[test]
fn opensm_refuses_what_we_refuse() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let net = generated(topology, seed);
    for text in
        ["", "A=5 ALL;\n", "A=x5: ALL;\n", "A=5: 0x, ALL;\n", "A=5: ALL;\r\n", ";\n", "A=5\n: ALL;\n", "A=: ALL;\n"]
    {
        assert!(Partitions::read(text.as_bytes(), "ours").is_err(), "{text}");
        let subnet = Subnet::serve(&net.text);
        let path = subnet.folder().join("partitions.conf");
        std::fs::write(&path, text).expect("a file in a temporary folder");
        let manager = OpenSm::bring_up(&subnet, None, &format!("partition_config_file {}\n", path.display()));
        assert!(manager.says("retrying with default config"), "{text:?}");
    }
}
