//! The global route header against headers that Linux built, and GIDs as people write them.

use crate::support::properties::properties;
use crate::wire::golden::Golden;
use proptest::prelude::*;
use reconfig::ids::Guid;
use reconfig::wire::sa::PathRecord;
use reconfig::wire::{GRH_SIZE, Gid, Grh};
use std::collections::BTreeMap;

fn fields(grh: &Grh) -> BTreeMap<String, u64> {
    let fields: [(&str, u64); 10] = [
        ("Version", grh.version.into()),
        ("TClass", grh.traffic_class.into()),
        ("FlowLabel", grh.flow_label.into()),
        ("PayLen", grh.payload_length.into()),
        ("NxtHdr", grh.next_header.into()),
        ("HopLmt", grh.hop_limit.into()),
        ("SgidPrefix", grh.sgid.prefix),
        ("SgidGuid", grh.sgid.guid.0),
        ("DgidPrefix", grh.dgid.prefix),
        ("DgidGuid", grh.dgid.guid.0),
    ];
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// The kernel's headers of IPv6, with the values that it was asked to put in.
#[test]
fn global_route_headers_read_as_linux_wrote_them() {
    let golden = Golden::read("grh");
    let pairs: Vec<_> = golden.blocks::<GRH_SIZE>("block").into_iter().zip(golden.fields()).collect();
    assert_eq!(pairs.len(), 3);
    for (block, told) in &pairs {
        assert_eq!(&fields(&Grh::decode(block)), told);
        assert_eq!(&Grh::decode(block).encode(), block);
    }
}

#[test]
fn a_path_beyond_the_subnet_has_a_global_header_and_one_within_has_none() {
    let golden = Grh::decode(&Golden::read("grh").blocks("block")[1]);
    let path = PathRecord {
        sgid: golden.sgid,
        dgid: golden.dgid,
        traffic_class: 0xA5,
        flow_label: 0x12345,
        hop_limit: 2,
        ..PathRecord::default()
    };
    assert_eq!(Grh::along(&path, 4124), Some(golden));
    for hop_limit in [0, 1] {
        assert_eq!(Grh::along(&PathRecord { hop_limit, ..path.clone() }, 4124), None);
    }
}

#[test]
fn gids_are_written_and_read_as_ipv6_has_them() {
    let gid = Gid { prefix: 0xFEC0_0000_0000_0002, guid: Guid(0x0008_F104_039A_0169) };
    assert_eq!((gid.to_string(), gid.to_string().parse()), ("fec0::2:8:f104:39a:169".to_string(), Ok(gid)));
    assert!("192.168.1.3".parse::<Gid>().unwrap_err().to_string().contains("expected 128 bits"));
    let scope = |text: &str| text.parse::<Gid>().map(|gid| (gid.leaves_its_subnet(), gid.is_multicast()));
    assert_eq!(scope("fe80::1"), Ok((false, false)));
    assert_eq!(scope("febf::1"), Ok((false, false)));
    assert_eq!(scope("fec0::1"), Ok((true, false)));
    assert_eq!(scope("ff12::1"), Ok((true, true)));
}

properties! {
    #[test]
    fn no_bit_of_a_global_route_header_is_reserved(low in any::<[u8; 32]>(), high in any::<[u8; 8]>()) {
        let mut data = [0; GRH_SIZE];
        data[..32].copy_from_slice(&low);
        data[32..].copy_from_slice(&high);
        prop_assert_eq!(Grh::decode(&data).encode(), data);
    }
}
