//! ClassPortInfo (section 13.4.8.1): the capabilities of a manager or agent of a class, and the target to which it
//! redirects requests. Reserved: byte 32.

use super::Gid;
use super::format::wire_format;
use crate::ids::{Lid, Sl};

/// Bytes of ClassPortInfo: more than an SMP carries.
pub const CLASS_PORT_INFO_SIZE: usize = 72;

/// The queue key of queue pair 1 (section 10.2.4.3).
pub const GENERAL_SERVICES_Q_KEY: u32 = 0x8001_0000;

wire_format! {
    /// ClassPortInfo.
    ClassPortInfo: CLASS_PORT_INFO_SIZE; {
        /// Version of MADs in general: 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// Capabilities of the agent; bits from 8 on are class-specific.
        capability_mask: u16 = 16, 16;
        /// Further capabilities, 27 bits.
        capability_mask2: u32 = 32, 27;
        /// It answers within 4.096 µs × 2^n; 5 bits.
        resp_time_value: u8 = 59, 5;
        /// The target to which requests are redirected; zero where they are not.
        redirect_gid: Gid = 64, 128;
        /// Traffic class towards it.
        redirect_traffic_class: u8 = 192, 8;
        /// Service level towards it.
        redirect_sl: Sl = 200, 4;
        /// Flow label towards it.
        redirect_flow_label: u32 = 204, 20;
        /// Its LID; zero where requests are not redirected.
        redirect_lid: Lid = 224, 16;
        /// Its partition.
        redirect_p_key: u16 = 240, 16;
        /// Its queue pair, 24 bits.
        redirect_qp: u32 = 264, 24;
        /// Its queue key.
        redirect_q_key: u32 = 288, 32;
        /// The port that receives the class's traps.
        trap_gid: Gid = 320, 128;
        /// Traffic class towards it.
        trap_traffic_class: u8 = 448, 8;
        /// Service level towards it.
        trap_sl: Sl = 456, 4;
        /// Flow label towards it.
        trap_flow_label: u32 = 460, 20;
        /// Its LID.
        trap_lid: Lid = 480, 16;
        /// Its partition.
        trap_p_key: u16 = 496, 16;
        /// Hops to it.
        trap_hop_limit: u8 = 512, 8;
        /// Its queue pair, 24 bits.
        trap_qp: u32 = 520, 24;
        /// Its queue key.
        trap_q_key: u32 = 544, 32;
    }
}

impl ClassPortInfo {
    /// The answer of an agent with `capability_mask` that redirects nothing.
    pub fn new(class_version: u8, capability_mask: u16, capability_mask2: u32, resp_time_value: u8) -> ClassPortInfo {
        ClassPortInfo {
            base_version: 1,
            class_version,
            capability_mask,
            capability_mask2,
            resp_time_value,
            ..ClassPortInfo::default()
        }
    }

    /// Reads it from the front of a longer attribute.
    pub fn from_front(data: &[u8]) -> ClassPortInfo {
        let mut own = [0; CLASS_PORT_INFO_SIZE];
        own.copy_from_slice(&data[..CLASS_PORT_INFO_SIZE]);
        ClassPortInfo::decode(&own)
    }
}
