//! Subnet administration: what saquery asked and OpenSM answered, component masks, and properties over any bytes.

use crate::support::properties::properties;
use crate::wire::golden::Golden;
use crate::wire::{any_mad, without};
use proptest::prelude::*;
use reconfig::ids::{Guid, Lid, PortNum};
use reconfig::wire::sa::*;
use reconfig::wire::*;

/// What our decoder makes of a block, under libibmad's names.
pub fn fields_of(kind: &str, block: &[u8]) -> Vec<(&'static str, u64)> {
    match kind {
        "SaHeader" => header_fields(&SaMad::decode(block.try_into().expect("256 bytes")).expect("class 0x03")),
        "NodeRecord" => node_record_fields(&NodeRecord::decode(block.try_into().expect("200 bytes"))),
        "PathRecord" => path_record_fields(&PathRecord::decode(block.try_into().expect("200 bytes"))),
        other => panic!("no reading of {other}"),
    }
}

fn header_fields(mad: &SaMad) -> Vec<(&'static str, u64)> {
    let Rmpp { segment, length, .. } = mad.rmpp;
    let flags = u64::from(mad.rmpp.last) << 2 | u64::from(mad.rmpp.first) << 1 | u64::from(mad.rmpp.active);
    vec![
        ("SaSMkey", mad.sm_key),
        ("SaAttrOffs", mad.attribute_offset.into()),
        ("SaCompMask", mad.component_mask.0),
        ("RmppVers", mad.rmpp.version.into()),
        ("RmppType", mad.rmpp.kind.into()),
        ("RmppResp", mad.rmpp.resp_time.into()),
        ("RmppFlags", flags),
        ("RmppStatus", mad.rmpp.status.into()),
        ("RmppData1", segment.into()),
        ("RmppSegNum", segment.into()),
        ("RmppData2", length.into()),
        ("RmppPayload", length.into()),
        ("RmppNewWin", length.into()),
    ]
}

fn node_record_fields(record: &NodeRecord) -> Vec<(&'static str, u64)> {
    let mut fields = vec![("Lid", record.lid.0.into())];
    fields.extend(crate::wire::node_info_fields(&record.info));
    fields
}

fn path_record_fields(record: &PathRecord) -> Vec<(&'static str, u64)> {
    vec![
        ("PathRecDLid", record.dlid.0.into()),
        ("PathRecSLid", record.slid.0.into()),
        ("PathRecNumPath", record.numb_path.into()),
        ("PathRecSL", record.sl.get().into()),
    ]
}

fn exchange(name: &str) -> (SaMad, SaMad) {
    let golden = Golden::read(name);
    let [request, response] = ["request", "response"].map(|section| SaMad::decode(&golden.mad(section)).unwrap());
    (request, response)
}

const EXCHANGES: [&str; 6] = [
    "saquery-class-port-info",
    "saquery-lft-record",
    "saquery-mc-member-record",
    "saquery-node-record",
    "saquery-path-record",
    "saquery-sm-info-record",
];

#[test]
fn captured_mads_survive_decode_and_encode() {
    for golden in EXCHANGES.map(Golden::read) {
        for section in ["request", "response"] {
            let mad = golden.mad(section);
            assert_eq!(SaMad::decode(&mad).unwrap().encode(), mad, "{} {section}", golden.name);
        }
    }
}

#[test]
fn requests_are_those_that_saquery_sends() {
    let all = |method, record: &PathRecord| SaMad::request(method, ComponentMask::NONE, record);
    let (asked, _) = exchange("saquery-path-record");
    assert_eq!(all(Method::GetTable, &PathRecord::default()).with_tid(asked.tid), asked);
    let (asked, _) = exchange("saquery-lft-record");
    let block = LftRecord { lid: Lid(4), ..LftRecord::default() };
    let mask = ComponentMask::of(&[LftRecord::LID]);
    assert_eq!(SaMad::request(Method::GetTable, mask, &block).with_tid(asked.tid), asked);
}

/// The values are those that saquery printed.
#[test]
fn answers_mean_what_saquery_says() {
    let (_, table) = exchange("saquery-node-record");
    let host = NodeRecord::decode(&table.data);
    assert_eq!((table.method, usize::from(table.attribute_offset) * 8), (Method::GetTableResp, NodeRecord::SIZE));
    assert_eq!(
        (host.lid, host.info.port_guid, host.description.to_string()),
        (Lid(2), Guid(0x10_0001), "HostA".into())
    );

    let (_, table) = exchange("saquery-path-record");
    let path = PathRecord::decode(&table.data);
    let switch = Gid { prefix: Gid::DEFAULT_PREFIX, guid: Guid(0x20_0000) };
    assert_eq!((path.sgid, path.dgid, path.slid, path.dlid), (switch, switch, Lid(4), Lid(4)));
    assert_eq!((path.reversible, path.numb_path, path.p_key), (true, 0, 0xFFFF));
    assert_eq!((path.mtu_selector, path.mtu, path.rate), (Selector::Exactly, 3, 3));
    assert_eq!(path.dgid.to_string(), "fe80::20:0");

    let (_, answer) = exchange("saquery-lft-record");
    let block = LftRecord::decode(&answer.data);
    assert_eq!((block.lid, block.block, &block.table.0[..5]), (Lid(4), 0, &[255, 255, 1, 1, 0][..]));

    let (_, answer) = exchange("saquery-sm-info-record");
    let manager = SmInfoRecord::decode(&answer.data);
    assert_eq!((manager.lid, manager.info.activity, manager.info.state), (Lid(2), 187, SmState::Master));

    let (_, answer) = exchange("saquery-mc-member-record");
    assert_eq!(
        (answer.attribute, 8 * usize::from(answer.attribute_offset)),
        (McMemberRecord::ID, McMemberRecord::SIZE)
    );
    let group = McMemberRecord::decode(&answer.data);
    let mgid = Gid { prefix: 0xFF12_401B_FFFF_0000, guid: Guid(0xFFFF_FFFF) };
    assert_eq!((group.mgid, group.mlid, group.q_key, group.p_key), (mgid, Lid(0xC000), 0x0B1B, 0xFFFF));
    assert_eq!(
        (group.mtu_selector, group.mtu, group.rate_selector, group.rate),
        (Selector::Exactly, 4, Selector::Exactly, 3)
    );
    assert_eq!((group.scope, group.join_state, group.sl.get()), (2, 0, 0));

    let (_, answer) = exchange("saquery-class-port-info");
    let info = ClassPortInfo::from_front(&answer.data);
    assert_eq!((info.capability_mask, info.capability_mask2, info.resp_time_value), (0x2602, 0xB5E8, 0x10));
    assert_eq!((info.redirect_qp, info.redirect_q_key), (1, GENERAL_SERVICES_Q_KEY));
}

/// Every record type, under the name of its test.
macro_rules! records {
    ($($test:ident: $record:ident, $reserved:expr, $components:literal;)+) => {
        properties! {
            $(
                #[test]
                fn $test(mad in any_mad(), other in any_mad()) {
                    let data: [u8; SA_DATA_SIZE] = mad[56..].try_into().unwrap();
                    let record = $record::decode(&data);
                    let bits: Vec<_> = $reserved.into_iter().collect();
                    prop_assert_eq!(record.encode(), without(data, &bits));
                    prop_assert_eq!($record::decode(&record.encode()), record);
                    prop_assert!($record::SIZE.is_multiple_of(8));
                    prop_assert_eq!($record::COMPONENTS.len(), $components);
                    let asked: [u8; SA_DATA_SIZE] = other[56..].try_into().unwrap();
                    masks_select_by_what_they_name::<$record>(&data, &asked)?;
                }
            )+
        }
    };
}

/// With one component's bits taken over from the record, a request for that component finds it; for the others it does
/// not.
fn masks_select_by_what_they_name<R: Record>(
    record: &[u8; SA_DATA_SIZE],
    other: &[u8; SA_DATA_SIZE],
) -> Result<(), TestCaseError> {
    let differs = |component: &Component| {
        let bits = component.offset..component.offset + component.width;
        bits.into_iter().any(|bit| (record[bit / 8] ^ other[bit / 8]) & (0x80 >> (bit % 8)) != 0)
    };
    prop_assert!(selected::<R>(ComponentMask(u64::MAX), record, record));
    prop_assert!(selected::<R>(ComponentMask::NONE, other, record));
    for (number, component) in (0..).zip(R::COMPONENTS) {
        let mask = ComponentMask::of(&[number]);
        prop_assert_eq!(selected::<R>(mask, other, record), !differs(component), "component {}", number);
        let follows =
            R::COMPONENTS.get(number as usize + 1).is_none_or(|next| next.offset >= component.offset + component.width);
        prop_assert!(follows && component.offset + component.width <= 8 * R::SIZE, "component {}", number);
    }
    Ok(())
}

records! {
    guid_info_record: GuidInfoRecord, [24..64, 576..1600], 12;
    inform_info_record: InformInfoRecord, [144..192, 352..368, 440..443, 448..456, 480..1600], 16;
    lft_record: LftRecord, [32..64, 576..1600], 4;
    link_record: LinkRecord, std::iter::once(48..1600), 4;
    mc_member_record: McMemberRecord, std::iter::once(393..1600), 18;
    node_record: NodeRecord, [16..32, 864..1600], 15;
    p_key_table_record: PKeyTableRecord, [40..64, 576..1600], 5;
    path_record: PathRecord, [353..356, 464..1600], 24;
    port_info_record: PortInfoRecord, [306..309, 448..451, 480..481, 536..539, 544..1600], 58;
    service_record: ServiceRecord, [208..224, 1408..1600], 37;
    sl_to_vl_record: SlToVlRecord, [32..64, 128..1600], 5;
    sm_info_record: SmInfoRecord, [16..32, 200..1600], 7;
    switch_info_record: SwitchInfoRecord, [16..32, 165..176, 192..1600], 22;
    vl_arbitration_record: VlArbitrationRecord,
        (0..32).map(|entry| 64 + 16 * entry..68 + 16 * entry).chain([32..64, 576..1600]), 5;
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_mad_of_administration_keeps_its_bits(mad in any_mad()) {
        if let Ok(decoded) = SaMad::decode(&mad) {
            prop_assert_eq!(decoded.encode(), without(mad, &[48..64, 144..160, 368..384]));
            prop_assert_eq!(SaMad::decode(&decoded.encode()), Ok(decoded));
        }
        prop_assert!(length_of(&mad) <= MAD_SIZE);
    }

    #[test]
    fn subscriptions_and_reports_keep_their_bits(mad in any_mad()) {
        let data: [u8; SA_DATA_SIZE] = mad[56..].try_into().unwrap();
        let info = InformInfo::decode(&data);
        prop_assert_eq!(info.encode(), without(data, &[160..176, 248..251, 256..264, 288..1600]));
        prop_assert_eq!(InformInfo::decode(&info.encode()), info);
        let report = Report::decode(&data);
        prop_assert_eq!(report.encode(), without(data, std::slice::from_ref(&(640..1600))));
        prop_assert_eq!(Report::decode(&report.encode()), report);
    }
}

#[test]
fn a_mad_is_as_long_as_its_last_segment_says() {
    let data = Rmpp { last: true, first: true, segment: 1, length: 92, ..Rmpp::of(RmppType::Data) };
    let mad = |rmpp| SaMad { rmpp, ..SaMad::request(Method::GetTableResp, ComponentMask::NONE, &LftRecord::default()) };
    assert_eq!(length_of(&mad(data).encode()), 128);
    assert_eq!(length_of(&mad(Rmpp { last: false, ..data }).encode()), MAD_SIZE);
    assert_eq!(length_of(&mad(Rmpp { length: u32::MAX >> 1, ..data }).encode()), MAD_SIZE);
    assert_eq!(length_of(&mad(Rmpp::UNUSED).encode()), MAD_SIZE);
}

#[test]
fn modifiers_are_those_of_the_specification() {
    assert_eq!(PKeyTable::modifier(PortNum(3), 2), 0x3_0002);
    assert_eq!(VlArbitrationBlock::HighFirst.modifier(PortNum(36)), 0x3_0024);
    for block in VlArbitrationBlock::ALL {
        assert_eq!(VlArbitrationBlock::decode(block.modifier(PortNum(7))), Some((block, PortNum(7))));
    }
    assert_eq!([0, 0x5_0001, 0x1_0100].map(VlArbitrationBlock::decode), [None; 3]);
    assert_eq!(MulticastForwardingTable::modifier(5, 2), 0x2000_0005);
    assert_eq!(MulticastForwardingTable::decode_modifier(0x2000_0005), Some((5, 2)));
    assert_eq!(MulticastForwardingTable::decode_modifier(0x200), None);
}

#[test]
fn ports_that_come_and_go_are_told_by_the_manager() {
    let gid = Gid { prefix: Gid::DEFAULT_PREFIX, guid: Guid(0x10_0003) };
    let notices = [true, false].map(|there| Notice::gid_in_service(there, gid, Lid(2)));
    assert_eq!(
        notices.clone().map(|notice| notice.trap()),
        [Trap::GidInService { gid }, Trap::GidOutOfService { gid }]
    );
    assert_eq!(notices.map(|notice| (notice.trap_number, notice.producer)), [(64, 4), (65, 4)]);
}
