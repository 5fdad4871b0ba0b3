//! The wire against bytes that others made: MADs captured from ibsim, smpquery and OpenSM, and libibmad's reading of
//! the same bytes (fixtures/mads); and properties over any bytes at all.

mod connect;
mod golden;
mod grh;
mod sa;

use crate::support::properties::properties;
use golden::Golden;
use proptest::prelude::*;
use reconfig::ids::{Half, Lid, PortNum, Sl, VlSet};
use reconfig::link::LinkSpeed;
use reconfig::wire::vendor::{ActiveHalf, AdaptiveRoutingInfo, DrainArcs, DrainToken, Flush, LaneStatus, PortMask};
use reconfig::wire::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// What our decoder makes of a block, under libibmad's names.
fn fields_of<const N: usize>(kind: &str, block: &[u8; N]) -> BTreeMap<String, u64> {
    let attribute = || <[u8; SMP_DATA_SIZE]>::try_from(&block[..]).expect("an attribute of an SMP");
    let fields = match kind {
        "NodeInfo" => node_info_fields(&NodeInfo::decode(&attribute())),
        "SwitchInfo" => switch_info_fields(&SwitchInfo::decode(&attribute())),
        "PortInfo" => port_info_fields(&PortInfo::decode(&attribute())),
        "Notice" => notice_fields(&Notice::decode(&attribute())),
        "PortXmitDataSl" => data_sl_fields(&PortDataSl::decode(block[..].try_into().expect("192 bytes"))),
        "SmInfo" => sm_info_fields(&SmInfo::decode(&attribute())),
        "ClassPortInfo" => class_port_info_fields(&ClassPortInfo::decode(block[..].try_into().expect("72 bytes"))),
        "PortCounters" => counters_fields(&PortCounters::decode(block[..].try_into().expect("192 bytes"))),
        "PortCountersExtended" => {
            extended_counters_fields(&PortCountersExtended::decode(block[..].try_into().expect("192 bytes")))
        }
        "SaHeader" | "NodeRecord" | "PathRecord" => sa::fields_of(kind, block),
        "SmpHeader" => header_fields(&Smp::decode(block[..].try_into().expect("256 bytes")).expect("a valid SMP")),
        other => panic!("no reading of {other}"),
    };
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

type Fields = Vec<(&'static str, u64)>;

fn node_info_fields(info: &NodeInfo) -> Fields {
    vec![
        ("BaseVers", info.base_version.into()),
        ("ClassVers", info.class_version.into()),
        ("NodeType", info.node_type.into()),
        ("NumPorts", info.num_ports.into()),
        ("SystemGuid", info.system_guid.0),
        ("Guid", info.node_guid.0),
        ("PortGuid", info.port_guid.0),
        ("PartCap", info.partition_cap.into()),
        ("DevId", info.device_id.into()),
        ("Revision", info.revision.into()),
        ("LocalPort", info.local_port.0.into()),
        ("VendorId", info.vendor_id.into()),
    ]
}

fn switch_info_fields(info: &SwitchInfo) -> Fields {
    vec![
        ("LinearFdbCap", info.linear_fdb_cap.into()),
        ("RandomFdbCap", info.random_fdb_cap.into()),
        ("McastFdbCap", info.multicast_fdb_cap.into()),
        ("LinearFdbTop", info.linear_fdb_top.0.into()),
        ("DefPort", info.default_port.0.into()),
        ("DefMcastPrimPort", info.default_multicast_primary_port.0.into()),
        ("DefMcastNotPrimPort", info.default_multicast_not_primary_port.0.into()),
        ("LifeTime", info.life_time_value.into()),
        ("StateChange", info.port_state_change.into()),
        ("OptSLtoVLMapping", info.optimised_sl_to_vl_programming.into()),
        ("LidsPerPort", info.lids_per_port.into()),
        ("PartEnforceCap", info.partition_enforcement_cap.into()),
        ("InboundPartEnf", info.inbound_enforcement_cap.into()),
        ("OutboundPartEnf", info.outbound_enforcement_cap.into()),
        ("FilterRawInbound", info.filter_raw_inbound_cap.into()),
        ("FilterRawOutbound", info.filter_raw_outbound_cap.into()),
        ("EnhancedPort0", info.enhanced_port0.into()),
        ("MulticastFDBTop", info.multicast_fdb_top.0.into()),
    ]
}

fn port_info_fields(info: &PortInfo) -> Fields {
    let mut fields = port_info_link_fields(info);
    fields.extend(port_info_lane_fields(info));
    fields
}

fn port_info_link_fields(info: &PortInfo) -> Fields {
    vec![
        ("Mkey", info.m_key),
        ("GidPrefix", info.gid_prefix),
        ("Lid", info.lid.0.into()),
        ("SMLid", info.master_sm_lid.0.into()),
        ("CapMask", info.capability_mask.into()),
        ("DiagCode", info.diag_code.into()),
        ("MkeyLeasePeriod", info.m_key_lease_period.into()),
        ("LocalPort", info.local_port_num.0.into()),
        ("LinkWidthEnabled", info.link_width_enabled.into()),
        ("LinkWidthSupported", info.link_width_supported.into()),
        ("LinkWidthActive", info.link_width_active.into()),
        ("LinkSpeedSupported", info.link_speed_supported.into()),
        ("LinkState", info.port_state.into()),
        ("PhysLinkState", info.port_phys_state.into()),
        ("LinkDownDefState", info.link_down_default_state.into()),
        ("ProtectBits", info.m_key_protect_bits.into()),
        ("LMC", info.lmc.get().into()),
        ("LinkSpeedActive", info.link_speed_active.into()),
        ("LinkSpeedEnabled", info.link_speed_enabled.into()),
        ("LinkSpeedExtActive", info.link_speed_ext_active.into()),
        ("LinkSpeedExtSupported", info.link_speed_ext_supported.into()),
        ("LinkSpeedExtEnabled", info.link_speed_ext_enabled.into()),
        ("NeighborMTU", info.neighbour_mtu.into()),
        ("SMSL", info.master_sm_sl.get().into()),
        ("MtuCap", info.mtu_cap.into()),
    ]
}

fn port_info_lane_fields(info: &PortInfo) -> Fields {
    vec![
        ("VLCap", info.vl_cap.into()),
        ("InitType", info.init_type.into()),
        ("VLHighLimit", info.vl_high_limit.into()),
        ("VLArbHighCap", info.vl_arbitration_high_cap.into()),
        ("VLArbLowCap", info.vl_arbitration_low_cap.into()),
        ("InitReply", info.init_type_reply.into()),
        ("VLStallCount", info.vl_stall_count.into()),
        ("HoqLife", info.hoq_life.into()),
        ("OperVLs", info.operational_vls.into()),
        ("PartEnforceInb", info.partition_enforcement_inbound.into()),
        ("PartEnforceOutb", info.partition_enforcement_outbound.into()),
        ("FilterRawInb", info.filter_raw_inbound.into()),
        ("FilterRawOutb", info.filter_raw_outbound.into()),
        ("MkeyViolations", info.m_key_violations.into()),
        ("PkeyViolations", info.p_key_violations.into()),
        ("QkeyViolations", info.q_key_violations.into()),
        ("GuidCap", info.guid_cap.into()),
        ("ClientReregister", info.client_reregister.into()),
        ("McastPkeyTrapSuppressionEnabled", info.multicast_p_key_trap_suppression.into()),
        ("SubnetTimeout", info.subnet_timeout.into()),
        ("RespTimeVal", info.resp_time_value.into()),
        ("LocalPhysErr", info.local_phy_errors.into()),
        ("OverrunErr", info.overrun_errors.into()),
        ("MaxCreditHint", info.max_credit_hint.into()),
        ("RoundTrip", info.link_round_trip_latency.into()),
        ("CapabilityMask2", info.capability_mask2.into()),
    ]
}

fn notice_fields(notice: &Notice) -> Fields {
    let as_trap = |trap_number| Notice { generic: true, trap_number, ..notice.clone() }.trap();
    let Trap::LinkStateChanged { lid: link_lid } = as_trap(128) else { panic!("trap 128") };
    let Trap::EndPortChanged { lid: port_lid, capability_mask } = as_trap(144) else { panic!("trap 144") };
    vec![
        ("NoticeIsGeneric", notice.generic.into()),
        ("NoticeType", notice.notice_type.into()),
        ("NoticeProducerType", notice.producer.into()),
        ("NoticeTrapNumber", notice.trap_number.into()),
        ("NoticeIssuerLID", notice.issuer_lid.0.into()),
        ("NoticeToggle", notice.toggle.into()),
        ("NoticeCount", notice.count.into()),
        ("NoticeDataLID", link_lid.0.into()),
        ("NoticeDataTrap144LID", port_lid.0.into()),
        ("NoticeDataTrap144CapMask", capability_mask.into()),
    ]
}

fn data_sl_fields(data: &PortDataSl) -> Fields {
    const NAMES: [&str; 16] = [
        "XmtDataSL0",
        "XmtDataSL1",
        "XmtDataSL2",
        "XmtDataSL3",
        "XmtDataSL4",
        "XmtDataSL5",
        "XmtDataSL6",
        "XmtDataSL7",
        "XmtDataSL8",
        "XmtDataSL9",
        "XmtDataSL10",
        "XmtDataSL11",
        "XmtDataSL12",
        "XmtDataSL13",
        "XmtDataSL14",
        "XmtDataSL15",
    ];
    let counters = NAMES.into_iter().zip(data.counters.map(u64::from));
    [("PortSelect", data.port.0.into()), ("CounterSelect", data.counter_select.into())]
        .into_iter()
        .chain(counters)
        .collect()
}

fn sm_info_fields(info: &SmInfo) -> Fields {
    vec![
        ("SmInfoGuid", info.guid.0),
        ("SmInfoKey", info.sm_key),
        ("SmActivity", info.activity.into()),
        ("SmPriority", info.priority.into()),
        ("SmState", info.state.into()),
    ]
}

fn class_port_info_fields(info: &ClassPortInfo) -> Fields {
    vec![
        ("BaseVersion", info.base_version.into()),
        ("ClassVersion", info.class_version.into()),
        ("CapabilityMask", info.capability_mask.into()),
        ("CapabilityMask2", info.capability_mask2.into()),
        ("RespTimeVal", info.resp_time_value.into()),
        ("RedirectTC", info.redirect_traffic_class.into()),
        ("RedirectSL", info.redirect_sl.get().into()),
        ("RedirectFL", info.redirect_flow_label.into()),
        ("RedirectLID", info.redirect_lid.0.into()),
        ("RedirectPKey", info.redirect_p_key.into()),
        ("RedirectQP", info.redirect_qp.into()),
        ("RedirectQKey", info.redirect_q_key.into()),
        ("TrapTC", info.trap_traffic_class.into()),
        ("TrapSL", info.trap_sl.get().into()),
        ("TrapFL", info.trap_flow_label.into()),
        ("TrapLID", info.trap_lid.0.into()),
        ("TrapPKey", info.trap_p_key.into()),
        ("TrapHL", info.trap_hop_limit.into()),
        ("TrapQP", info.trap_qp.into()),
        ("TrapQKey", info.trap_q_key.into()),
    ]
}

fn counters_fields(counters: &PortCounters) -> Fields {
    vec![
        ("PortSelect", counters.port.0.into()),
        ("CounterSelect", counters.counter_select.into()),
        ("SymbolErrorCounter", counters.symbol_errors.into()),
        ("LinkErrorRecoveryCounter", counters.link_error_recoveries.into()),
        ("LinkDownedCounter", counters.link_downed.into()),
        ("PortRcvErrors", counters.rcv_errors.into()),
        ("PortRcvRemotePhysicalErrors", counters.rcv_remote_physical_errors.into()),
        ("PortRcvSwitchRelayErrors", counters.rcv_switch_relay_errors.into()),
        ("PortXmitDiscards", counters.xmit_discards.into()),
        ("PortXmitConstraintErrors", counters.xmit_constraint_errors.into()),
        ("PortRcvConstraintErrors", counters.rcv_constraint_errors.into()),
        ("CounterSelect2", counters.counter_select2.into()),
        ("LocalLinkIntegrityErrors", counters.local_link_integrity_errors.into()),
        ("ExcessiveBufferOverrunErrors", counters.excessive_buffer_overruns.into()),
        ("VL15Dropped", counters.vl15_dropped.into()),
        ("PortXmitData", counters.xmit_data.into()),
        ("PortRcvData", counters.rcv_data.into()),
        ("PortXmitPkts", counters.xmit_packets.into()),
        ("PortRcvPkts", counters.rcv_packets.into()),
        ("PortXmitWait", counters.xmit_wait.into()),
    ]
}

fn extended_counters_fields(counters: &PortCountersExtended) -> Fields {
    vec![
        ("PortSelect", counters.port.0.into()),
        ("CounterSelect", counters.counter_select.into()),
        ("CounterSelect2", counters.counter_select2.into()),
        ("PortXmitData", counters.xmit_data),
        ("PortRcvData", counters.rcv_data),
        ("PortXmitPkts", counters.xmit_packets),
        ("PortRcvPkts", counters.rcv_packets),
        ("PortUnicastXmitPkts", counters.unicast_xmit_packets),
        ("PortUnicastRcvPkts", counters.unicast_rcv_packets),
        ("PortMulticastXmitPkts", counters.multicast_xmit_packets),
        ("PortMulticastRcvPkts", counters.multicast_rcv_packets),
        ("SymbolErrorCounter", counters.symbol_errors),
        ("LinkErrorRecoveryCounter", counters.link_error_recoveries),
        ("LinkDownedCounter", counters.link_downed),
        ("PortRcvErrors", counters.rcv_errors),
        ("PortRcvRemotePhysicalErrors", counters.rcv_remote_physical_errors),
        ("PortRcvSwitchRelayErrors", counters.rcv_switch_relay_errors),
        ("PortXmitDiscards", counters.xmit_discards),
        ("PortXmitConstraintErrors", counters.xmit_constraint_errors),
        ("PortRcvConstraintErrors", counters.rcv_constraint_errors),
        ("LocalLinkIntegrityErrors", counters.local_link_integrity_errors),
        ("ExcessiveBufferOverrunErrors", counters.excessive_buffer_overruns),
        ("VL15Dropped", counters.vl15_dropped),
        ("PortXmitWait", counters.xmit_wait),
        ("QP1Dropped", counters.qp1_dropped),
    ]
}

fn header_fields(smp: &Smp) -> Fields {
    let Route::Directed(route) = &smp.route else { panic!("a directed route") };
    let method: u64 = smp.method.into();
    vec![
        ("MadMethod", method & 0x7F),
        ("MadIsResponse", method >> 7),
        ("MadClassVersion", 1),
        ("MadMgmtClass", class::SUBNET_DIRECTED.into()),
        ("MadBaseVersion", 1),
        ("DrSmpHopCnt", route.hop_count.into()),
        ("DrSmpHopPtr", route.hop_pointer.into()),
        ("DrSmpStatus", smp.status.into()),
        ("DrSmpDirection", route.returning.into()),
        ("MadTRID", smp.tid),
        ("MadAttr", smp.attribute.into()),
        ("MadModifier", smp.modifier.into()),
        ("MadMkey", smp.m_key),
        ("DrSmpDLID", route.dr_dlid.0.into()),
        ("DrSmpSLID", route.dr_slid.0.into()),
    ]
}

/// Each field that libibmad knows, read by both from the same random bytes.
#[test]
fn random_blocks_read_as_libibmad_reads_them() {
    fn agree<const N: usize>(kind: &str) {
        let golden = Golden::read(&format!("libibmad-{kind}"));
        let pairs: Vec<_> = golden.blocks::<N>("block").into_iter().zip(golden.fields()).collect();
        assert_eq!(pairs.len(), 4, "{kind}");
        pairs.iter().for_each(|(block, fields)| assert_eq!(&fields_of(kind, block), fields, "{kind}"));
    }
    ["NodeInfo", "SwitchInfo", "PortInfo", "Notice", "SmInfo"].into_iter().for_each(agree::<SMP_DATA_SIZE>);
    ["PortXmitDataSl", "PortCounters", "PortCountersExtended"].into_iter().for_each(agree::<PERF_DATA_SIZE>);
    agree::<CLASS_PORT_INFO_SIZE>("ClassPortInfo");
    ["SmpHeader", "SaHeader"].into_iter().for_each(agree::<MAD_SIZE>);
    ["NodeRecord", "PathRecord"].into_iter().for_each(agree::<{ reconfig::wire::sa::SA_DATA_SIZE }>);
}

const EXCHANGES: [&str; 14] = [
    "lft-block",
    "node-description",
    "node-info-host",
    "node-info-switch",
    "port-info-host",
    "port-info-lid-routed",
    "port-info-port-0",
    "port-info-switch",
    "sl-to-vl-get",
    "sl-to-vl-set",
    "smpquery-node-info",
    "switch-info",
    "trap-128",
    "trap-144",
];

#[test]
fn captured_mads_survive_decode_and_encode() {
    for golden in EXCHANGES.map(Golden::read) {
        for section in ["request", "response"] {
            for mad in golden.blocks::<MAD_SIZE>(section) {
                let smp = Smp::decode(&mad).unwrap_or_else(|fault| panic!("{}: {fault}", golden.name));
                assert_eq!(smp.encode(), without(mad, &reserved_of_smp(&mad)), "{} {section}", golden.name);
            }
        }
    }
}

#[test]
fn captured_attributes_read_as_libibmad_reads_them() {
    let kinds = [
        ("node-info-switch", "NodeInfo"),
        ("node-info-host", "NodeInfo"),
        ("switch-info", "SwitchInfo"),
        ("port-info-switch", "PortInfo"),
        ("port-info-port-0", "PortInfo"),
        ("port-info-host", "PortInfo"),
        ("port-info-lid-routed", "PortInfo"),
    ];
    for (name, kind) in kinds {
        let golden = Golden::read(name);
        let data = Smp::decode(&golden.mad("response")).unwrap().data;
        assert_eq!(vec![fields_of(kind, &data)], golden.fields(), "{name}");
    }
}

/// What OpenSM programmed into the host behind LID 8 of fixtures/mads/subnet.net.
#[test]
fn a_captured_port_means_what_smpquery_says() {
    let port = PortInfo::decode(&Smp::decode(&Golden::read("port-info-host").mad("response")).unwrap().data);
    assert_eq!((port.lid, port.lmc.lids(), port.master_sm_lid), (Lid(8), 2, Lid(2)));
    assert_eq!((port.port_state, port.port_phys_state), (PortState::Active, PortPhysState::LinkUp));
    assert_eq!((port.link_width_active, port.speed()), (Width::X4, Some(LinkSpeed::Sdr)));
    assert_eq!(
        (port.neighbour_mtu.bytes(), port.operational_vls.lanes(), port.vl_stall_count),
        (Some(2048), Some(8), 7)
    );
}

#[test]
fn a_captured_table_routes_and_maps() {
    let data = |name| Smp::decode(&Golden::read(name).mad("response")).unwrap().data;
    let lft = LinearForwardingTable::decode(&data("lft-block"));
    assert_eq!(lft.0[..10], [255, 1, 3, 3, 0, 1, 4, 4, 1, 1]);
    let table = SlToVlMappingTable::decode(&data("sl-to-vl-get"));
    assert!(Sl::all().all(|sl| table.get(sl).get() == sl.get() % 4));
    assert_eq!(NodeDescription::decode(&data("node-description")).to_string(), "HostC");
}

#[test]
fn captured_traps_are_the_ones_built_here() {
    let captured = |name| Smp::decode(&Golden::read(name).mad("request")).unwrap();
    let (down, changed) = (captured("trap-128"), captured("trap-144"));
    assert_eq!((down.method, down.attribute), (Method::Trap, AttributeId::Notice));
    assert_eq!(Notice::decode(&down.data), Notice::link_state_changed(Lid(1)));
    let expected = Notice::end_port_changed(NodeType::ChannelAdapter, Lid(2), 0x0050_C04A);
    assert_eq!(Notice::decode(&changed.data), expected);
    for (name, kind) in [("trap-128", "Notice"), ("trap-144", "Notice")] {
        assert_eq!(vec![fields_of(kind, &captured(name).data)], Golden::read(name).fields());
    }
}

/// smpquery's request, built here; walked through the subnet, it must come out as ibsim answered it.
#[test]
fn a_request_is_the_one_that_smpquery_sends_and_its_answer_the_one_that_ibsim_gives() {
    let golden = Golden::read("smpquery-node-info");
    let path = [1, 1, 2, 36].map(PortNum);
    let asked = Smp::decode(&golden.mad("request")).unwrap();
    let built = Smp::directed(&path, Method::Get, NodeInfo::ID, 0, [0; SMP_DATA_SIZE]).unwrap().with_tid(asked.tid);
    assert_eq!(built.encode(), golden.mad("request"));

    let Route::Directed(mut route) = built.route.clone() else { panic!("a directed route") };
    assert_eq!(route.advance(None), SmpAction::Forward(path[0]));
    let arrivals = [3, 1, 1, 2].map(PortNum);
    let hops: Vec<SmpAction> = arrivals.iter().map(|&arrival| route.advance(Some(arrival))).collect();
    assert_eq!(
        hops,
        [SmpAction::Forward(path[1]), SmpAction::Forward(path[2]), SmpAction::Forward(path[3]), SmpAction::Deliver]
    );

    let answered = Smp::decode(&golden.mad("response")).unwrap();
    let answer = Smp { route: Route::Directed(route.clone()), ..built }.response(answered.data);
    assert_eq!(
        (answer.method, answer.attribute, answer.status),
        (answered.method, answered.attribute, answered.status)
    );
    let Route::Directed(captured) = answered.route else { panic!("a directed route") };
    assert_eq!(captured.return_path[1..=4], route.return_path[1..=4]);
    assert!(captured.returning);
}

#[test]
fn a_performance_request_is_the_one_that_perfquery_sends() {
    let golden = Golden::read("perfquery-xmit-data-sl").mad("request");
    let asked = PerfMad::decode(&golden).unwrap();
    let data = PortDataSl { counter_select: 0, ..PortDataSl::all(PortNum(2)) }.encode();
    assert_eq!(PerfMad::new(Method::Get, PerfAttributeId::PortXmitDataSl, data).with_tid(asked.tid).encode(), golden);

    let answered = Golden::read("perfquery-class-port-info");
    let [request, response] = ["request", "response"].map(|section| PerfMad::decode(&answered.mad(section)).unwrap());
    assert_eq!((request.attribute, response.method), (PerfAttributeId::ClassPortInfo, Method::GetResp));
    let info = ClassPortInfo::from_front(&response.data);
    assert_eq!((info.base_version, info.class_version, info.capability_mask, info.resp_time_value), (1, 1, 0x1200, 18));
    assert_eq!(request.response(response.data).with_tid(response.tid), response);
}

#[test]
fn answers_keep_transaction_and_attribute_and_refusals_say_why() {
    let key = 0x00FF_00FF_00FF_00FF;
    let ask = Smp { m_key: key, ..Smp::lid_routed(Method::Set, PortInfo::ID, 3, [7; SMP_DATA_SIZE]).with_tid(42) };
    let refusal = ask.refusal(status::INVALID_VALUE);
    assert_eq!((refusal.method, refusal.tid, refusal.modifier, refusal.status), (Method::GetResp, 42, 3, 0x1C));
    assert_eq!((refusal.m_key, refusal.data), (0, ask.data));
    assert_eq!(Smp::decode(&refusal.encode()), Ok(refusal));
    let asked = [Method::Get, Method::Set, Method::Trap, Method::Report, Method::GetTable, Method::Delete];
    let answers: Vec<Method> = asked.into_iter().chain([Method::Unknown(0x42)]).map(Method::answer).collect();
    assert_eq!(
        answers.iter().map(|&method| u8::from(method)).collect::<Vec<_>>(),
        [0x81, 0x81, 7, 0x86, 0x92, 0x95, 0x81]
    );
    assert!(answers.iter().all(|answer| answer.is_answer()) && !Method::Send.is_answer());
}

#[test]
fn headers_that_cannot_be_read_are_refused_with_what_was_found() {
    let smp = Smp::directed(&[PortNum(1)], Method::Get, NodeInfo::ID, 0, [0; SMP_DATA_SIZE]).unwrap().encode();
    let with = |at: usize, byte: u8| {
        let mut bytes = smp;
        bytes[at] = byte;
        bytes
    };
    assert_eq!(Smp::decode(&with(0, 2)), Err(WireError::Version { class: 0x81, base: 2, version: 1 }));
    assert_eq!(Smp::decode(&with(1, 3)), Err(WireError::Class { expected: "0x01 or 0x81", found: 3 }));
    assert_eq!(Smp::decode(&with(6, 3)), Err(WireError::Hops { pointer: 3, count: 1 }));
    assert_eq!(Smp::decode(&with(7, 64)), Err(WireError::Hops { pointer: 0, count: 64 }));
    assert_eq!(PerfMad::decode(&smp), Err(WireError::Class { expected: "0x04", found: 0x81 }));
}

#[test]
fn speeds_are_read_from_whichever_field_tells_them() {
    let mut port = PortInfo::default();
    assert_eq!(port.speed(), None);
    for speed in [LinkSpeed::Sdr, LinkSpeed::Qdr, LinkSpeed::Fdr, LinkSpeed::Ndr, LinkSpeed::Xdr] {
        port.set_speed(speed);
        assert_eq!(PortInfo::decode(&port.encode()).speed(), Some(speed));
    }
    assert_eq!((port.link_speed_supported, port.link_speed_ext_supported, port.link_speed_ext2_supported), (7, 15, 1));
    port.link_speed_ext2_active = 3;
    assert_eq!(port.speed(), None);
}

#[test]
fn lanes_are_counted_down_to_what_the_field_can_say() {
    let counts = [0, 1, 2, 3, 4, 7, 8, 14, 15].map(|lanes| VlCount::at_most(lanes).and_then(VlCount::lanes));
    assert_eq!(counts, [None, Some(1), Some(2), Some(2), Some(4), Some(4), Some(8), Some(8), Some(15)]);
}

/// The layouts of docs/WIRE.md, byte for byte.
#[test]
fn vendor_attributes_stand_where_the_document_says() {
    let head = |data: [u8; SMP_DATA_SIZE], len: usize| data[..len].to_vec();
    assert_eq!(head(ActiveHalf { half: Half::Upper, settled: true }.encode(), 3), [1, 1, 0]);
    assert_eq!(head(ActiveHalf { half: Half::Lower, settled: true }.encode(), 3), [0, 1, 0]);
    assert_eq!(head(AdaptiveRoutingInfo { fallback: false, enabled: true }.encode(), 5), [0, 0, 0, 1, 0]);
    assert_eq!(head(AdaptiveRoutingInfo { fallback: true, enabled: false }.encode(), 5), [0, 0, 0, 0x10, 0]);
    let inputs_done: PortMask = [PortNum(1), PortNum(9)].into_iter().collect();
    let token = DrainToken { round: 0x0102_0304, lanes: VlSet(0x000C), complete: true, inputs_done };
    assert_eq!(head(token.encode(), 12), [1, 2, 3, 4, 0, 0x0C, 1, 0, 0x02, 0x02, 0, 0]);
    let flush = Flush { round: 7, lanes: VlSet(0x8001), flushed: true, aside: VlSet(0x0102) };
    assert_eq!(head(flush.encode(), 10), [0, 0, 0, 7, 0x80, 0x01, 1, 0, 0x01, 0x02]);
    let status = LaneStatus { drained_outputs: inputs_done, empty_inputs: [PortNum(255)].into_iter().collect() };
    assert_eq!((status.encode()[0], status.encode()[1], status.encode()[63]), (2, 2, 0x80));
    assert_eq!(LaneStatus::lanes(LaneStatus::modifier(VlSet(0x000C))), VlSet(0x000C));
    let silent = LaneStatus::silent_modifier(VlSet(0x000C));
    assert_eq!((silent, LaneStatus::lanes(silent)), (0x0001_000C, VlSet(0x000C)));
    assert!(LaneStatus::wants_silence(silent) && !LaneStatus::wants_silence(LaneStatus::modifier(VlSet(0xFFFF))));
}

/// `bytes` with these bits cleared.
fn without<const N: usize>(mut bytes: [u8; N], reserved: &[Range<usize>]) -> [u8; N] {
    reserved.iter().cloned().flatten().for_each(|bit| bytes[bit / 8] &= !(0x80 >> (bit % 8)));
    bytes
}

/// Bits of a decodable SMP that `encode` writes as zero.
fn reserved_of_smp(mad: &[u8; MAD_SIZE]) -> Vec<Range<usize>> {
    let both = vec![144..160, 288..512];
    let lid_routed = [32..33, 48..64, 256..288, 1024..2048];
    if class_of(mad) == class::SUBNET_LID { [both, lid_routed.to_vec()].concat() } else { both }
}

/// A property of one attribute: decode, encode and decode again lose nothing but the reserved bits named here.
macro_rules! attribute_keeps_its_bits {
    ($($test:ident: $attribute:ident, $reserved:expr;)+) => {
        properties! {
            $(
                #[test]
                fn $test(low in any::<[u8; 32]>(), high in any::<[u8; 32]>()) {
                    let mut data = [0; SMP_DATA_SIZE];
                    data[..32].copy_from_slice(&low);
                    data[32..].copy_from_slice(&high);
                    let value = $attribute::decode(&data);
                    prop_assert_eq!(value.encode(), without(data, &$reserved.into_iter().collect::<Vec<_>>()));
                    prop_assert_eq!($attribute::decode(&value.encode()), value);
                }
            )+
        }
    };
}

attribute_keeps_its_bits! {
    node_info_keeps_its_bits: NodeInfo, std::iter::once(320..512);
    node_description_keeps_its_bits: NodeDescription, [];
    switch_info_keeps_its_bits: SwitchInfo, [133..144, 160..512];
    port_info_keeps_its_bits: PortInfo, [274..277, 416..419, 448..449, 504..507];
    sl_to_vl_mapping_table_keeps_its_bits: SlToVlMappingTable, std::iter::once(64..512);
    linear_forwarding_table_keeps_its_bits: LinearForwardingTable, [];
    notice_keeps_its_bits: Notice, [];
    guid_info_keeps_its_bits: GuidInfo, [];
    p_key_table_keeps_its_bits: PKeyTable, [];
    vl_arbitration_table_keeps_its_bits: VlArbitrationTable, (0..32).map(|entry| 16 * entry..16 * entry + 4);
    multicast_forwarding_table_keeps_its_bits: MulticastForwardingTable, [];
    sm_info_keeps_its_bits: SmInfo, std::iter::once(168..512);
    active_half_keeps_its_bits: ActiveHalf, [0..7, 8..15, 16..512];
    adaptive_routing_info_keeps_its_bits: AdaptiveRoutingInfo, [0..27, 28..31, 32..512];
    drain_arcs_keeps_its_bits: DrainArcs, [];
    drain_token_keeps_its_bits: DrainToken, [48..55, 56..64, 320..512];
    flush_keeps_its_bits: Flush, [48..55, 56..64, 80..512];
    lane_status_keeps_its_bits: LaneStatus, [];
}

/// Random MADs, half of them with a header that one of the decoders takes.
fn any_mad() -> impl Strategy<Value = [u8; MAD_SIZE]> {
    let head = prop_oneof![any::<[u8; 8]>(), plausible_head()];
    (head, prop::collection::vec(any::<u8>(), MAD_SIZE - 8)).prop_map(|(head, body)| {
        let mut mad = [0; MAD_SIZE];
        mad[..8].copy_from_slice(&head);
        mad[8..].copy_from_slice(&body);
        mad
    })
}

fn plausible_head() -> impl Strategy<Value = [u8; 8]> {
    let classes = [class::SUBNET_LID, class::SUBNET_DIRECTED, class::PERFORMANCE].map(|class| (class, 1));
    let class = prop::sample::select([&classes[..], &[(class::SUBNET_ADMINISTRATION, 2)]].concat());
    (class, any::<[u8; 3]>(), 0u8..66, 0u8..65).prop_map(|((class, version), [method, high, low], pointer, count)| {
        [1, class, version, method, high, low, pointer, count]
    })
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_smp_keeps_its_bits(mad in any_mad()) {
        if let Ok(smp) = Smp::decode(&mad) {
            prop_assert_eq!(smp.encode(), without(mad, &reserved_of_smp(&mad)));
            prop_assert_eq!(Smp::decode(&smp.encode()), Ok(smp));
        }
    }

    #[test]
    fn any_performance_mad_keeps_its_bits(mad in any_mad()) {
        if let Ok(perf) = PerfMad::decode(&mad) {
            prop_assert_eq!(perf.encode(), without(mad, &[48..64, 144..160, 192..512]));
            prop_assert_eq!(PerfMad::decode(&perf.encode()), Ok(perf));
        }
    }

    #[test]
    fn counters_by_service_level_keep_their_bits(mad in any_mad()) {
        let data: [u8; PERF_DATA_SIZE] = mad[64..].try_into().unwrap();
        let counters = PortDataSl::decode(&data);
        prop_assert_eq!(counters.encode(), without(data, &[0..8, 544..1536]));
        prop_assert_eq!(PortDataSl::decode(&counters.encode()), counters);
    }

    #[test]
    fn counters_of_ports_keep_their_bits(mad in any_mad()) {
        let data: [u8; PERF_DATA_SIZE] = mad[64..].try_into().unwrap();
        let counters = PortCounters::decode(&data);
        prop_assert_eq!(counters.encode(), without(data, &[0..8, 352..1536]));
        prop_assert_eq!(PortCounters::decode(&counters.encode()), counters);
        let counters = PortCountersExtended::decode(&data);
        prop_assert_eq!(counters.encode(), without(data, &[0..8, 1472..1536]));
        prop_assert_eq!(PortCountersExtended::decode(&counters.encode()), counters);
    }

    #[test]
    fn class_port_info_keeps_its_bits(mad in any_mad()) {
        let data: [u8; CLASS_PORT_INFO_SIZE] = mad[..CLASS_PORT_INFO_SIZE].try_into().unwrap();
        let info = ClassPortInfo::decode(&data);
        prop_assert_eq!(info.encode(), without(data, std::slice::from_ref(&(256..264))));
        prop_assert_eq!(ClassPortInfo::decode(&info.encode()), info);
    }
}

#[test]
fn a_counter_that_stopped_counts_no_more() {
    let mut counters = PortDataSl::all(PortNum(2));
    counters.counters[9] = u32::MAX;
    counters.counters[10] = 5;
    let counted = [9, 10].map(|sl| counters.counted(Sl::new(sl).unwrap()));
    assert_eq!(counted, [None, Some(5)]);
    assert_eq!(counters.encode()[..4], [0, 2, 0xFF, 0xFF]);
}
