//! Communication management (chapter 12): its MAD, and the request that begins a connection (REQ, section 12.6.5).
//!
//! Of the other messages only the MAD's header is known here; their 232 bytes are kept. Reserved, and written as zero:
//! bytes 6–7 and 18–19 of the MAD; bytes 4–7 and 24–27 of the request, and bits 108–113 of each path.

use super::format::{BitLayout, check_spans, layout, wire_enum, wire_format};
use super::header::{Method, WireError, class, class_of, decode_mad, encode_mad};
use super::{Gid, MAD_SIZE};
use crate::ids::{Guid, Lid, Sl};

/// Bytes of a message of communication management.
pub const CM_DATA_SIZE: usize = 232;

wire_enum! {
    /// Messages of communication management (section 12.6).
    CmAttributeId: u16 {
        /// REQ, as [`ConnectRequest`].
        ConnectRequest = 0x0010,
        /// MRA.
        MessageReceived = 0x0011,
        /// REJ.
        Reject = 0x0012,
        /// REP.
        ConnectReply = 0x0013,
        /// RTU.
        ReadyToUse = 0x0014,
    }
}

layout! {
    /// A MAD of communication management (class 0x07). It travels on data lanes to QP 1, and between subnets after a
    /// global route header.
    CmMad {
        /// Send.
        method: Method = 24, 8;
        /// Zero.
        status: u16 = 32, 16;
        /// Names the exchange.
        tid: u64 = 64, 64;
        /// The message carried in `data`.
        attribute: CmAttributeId = 128, 16;
        /// Unused.
        modifier: u32 = 160, 32;
        /// The message, for its own type to decode.
        data: [u8; CM_DATA_SIZE] = 192, 1856;
    }
}

const _: () = check_spans(CmMad::SPANS, MAD_SIZE);

impl CmMad {
    /// The MAD that carries a request.
    pub fn request(tid: u64, request: &ConnectRequest) -> CmMad {
        let (method, attribute) = (Method::Send, CmAttributeId::ConnectRequest);
        CmMad { method, status: 0, tid, attribute, modifier: 0, data: request.encode() }
    }

    /// Reads a MAD of class 0x07. Fails on another class or version.
    pub fn decode(bytes: &[u8; MAD_SIZE]) -> Result<CmMad, WireError> {
        match class_of(bytes) {
            class::COMMUNICATION => decode_mad(bytes),
            found => Err(WireError::Class { expected: "0x07", found }),
        }
    }

    /// Writes the MAD.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        encode_mad(class::COMMUNICATION, self)
    }
}

layout! {
    /// A path as a request states it, seen from the side that sends the request; 44 bytes.
    CmPath {
        /// LID of the sender's port; [`Lid::PERMISSIVE`] where it means nothing to the receiver.
        local_lid: Lid = 0, 16;
        /// LID of the receiver's port; likewise.
        remote_lid: Lid = 16, 16;
        /// GID of the sender's port.
        local_gid: Gid = 32, 128;
        /// GID of the receiver's port.
        remote_gid: Gid = 160, 128;
        /// Flow label of the global header, 20 bits.
        flow_label: u32 = 288, 20;
        /// The most packets per time, 6 bits, numbered as rates of paths.
        packet_rate: u8 = 314, 6;
        /// Traffic class of the global header.
        traffic_class: u8 = 320, 8;
        /// Hop limit of the global header.
        hop_limit: u8 = 328, 8;
        /// Service level.
        sl: Sl = 336, 4;
        /// The path stays within one subnet.
        subnet_local: bool = 340, 1;
        /// An acknowledgement comes within 4.096 µs × 2^n; 5 bits.
        local_ack_timeout: u8 = 344, 5;
    }
}

wire_format! {
    /// A request for a connection.
    ConnectRequest: CM_DATA_SIZE; {
        /// The sender's name of the exchange.
        local_comm_id: u32 = 0, 32;
        /// The service.
        service_id: u64 = 64, 64;
        /// NodeGUID of the sender's adapter.
        local_ca_guid: Guid = 128, 64;
        /// Q_Key of the sender's queue pair, for datagrams.
        local_q_key: u32 = 224, 32;
        /// The sender's queue pair, 24 bits.
        local_qpn: u32 = 256, 24;
        /// Outstanding RDMA reads and atomics that the sender serves.
        responder_resources: u8 = 280, 8;
        /// The sender's end-to-end context, 24 bits.
        local_eecn: u32 = 288, 24;
        /// Outstanding RDMA reads and atomics that the sender issues.
        initiator_depth: u8 = 312, 8;
        /// The receiver's end-to-end context, 24 bits.
        remote_eecn: u32 = 320, 24;
        /// The receiver answers within 4.096 µs × 2^n; 5 bits.
        remote_cm_response_timeout: u8 = 344, 5;
        /// 0 reliable connection, 1 unreliable, 2 reliable datagram; 2 bits.
        transport_service_type: u8 = 349, 2;
        /// The sender has end-to-end flow control.
        end_to_end_flow_control: bool = 351, 1;
        /// The first packet's number, 24 bits.
        starting_psn: u32 = 352, 24;
        /// The sender answers within 4.096 µs × 2^n; 5 bits.
        local_cm_response_timeout: u8 = 376, 5;
        /// Retries of the transport; 3 bits.
        retry_count: u8 = 381, 3;
        /// The partition.
        p_key: u16 = 384, 16;
        /// Path MTU, numbered as [`Mtu`](super::Mtu); 4 bits.
        path_mtu: u8 = 400, 4;
        /// A reliable datagram channel exists.
        rdc_exists: bool = 404, 1;
        /// Retries where the receiver is not ready; 3 bits.
        rnr_retry_count: u8 = 405, 3;
        /// Retries of this message; 4 bits.
        max_cm_retries: u8 = 408, 4;
        /// The sender has a shared receive queue.
        srq: bool = 412, 1;
        /// Types beyond the two bits above; 3 bits.
        extended_transport_type: u8 = 413, 3;
        /// The path.
        primary: CmPath = 416, 352;
        /// The path to migrate to; all zeroes: none.
        alternate: CmPath = 768, 352;
        /// The application's.
        private_data: [u8; 92] = 1120, 736;
    }
}

const _: () = check_spans(CmPath::SPANS, 44);
