//! The header of the reliable multi-packet protocol (section 13.6.2): bytes 24–35 of a MAD of subnet administration.

use crate::wire::format::{BitLayout, check_spans, layout, wire_enum};

wire_enum! {
    /// The type of a packet of the protocol.
    RmppType: u8 {
        /// Not of the protocol: a single MAD.
        Unused = 0,
        /// A segment of a message.
        Data = 1,
        /// Segments arrived.
        Ack = 2,
        /// The receiver wants no more.
        Stop = 3,
        /// Something was wrong.
        Abort = 4,
    }
}

wire_enum! {
    /// Why a transfer was stopped or aborted.
    RmppStatus: u8 {
        /// Nothing wrong.
        Normal = 0,
        /// Stop: no room.
        ResourcesExhausted = 1,
        /// The transfer took longer than it may.
        TooLong = 118,
        /// The last segment and the length do not agree.
        InconsistentLast = 119,
        /// The first segment is not marked first, or another is.
        InconsistentFirst = 120,
        /// An undefined type.
        BadType = 121,
        /// An Ack gave a smaller window than one before.
        WindowTooSmall = 122,
        /// An Ack of a segment that was not sent.
        SegmentTooBig = 123,
        /// A status that does not go with the type.
        IllegalStatus = 124,
        /// Another version of the protocol.
        UnsupportedVersion = 125,
        /// Nothing was heard after all retries.
        TooManyRetries = 126,
        /// Something else.
        Unspecified = 127,
    }
}

layout! {
    /// The header. All zeroes: a single MAD.
    #[derive(Copy)]
    Rmpp {
        /// 1 where the protocol is in use.
        version: u8 = 0, 8;
        /// The type of the packet.
        kind: RmppType = 8, 8;
        /// The sender answers within 4.096 µs × 2^n; 31 where it does not say. 5 bits.
        resp_time: u8 = 16, 5;
        /// The last segment.
        last: bool = 21, 1;
        /// The first segment.
        first: bool = 22, 1;
        /// The protocol is in use.
        active: bool = 23, 1;
        /// Why, in Stop and Abort.
        status: RmppStatus = 24, 8;
        /// Data and Ack: the number of the segment, from 1.
        segment: u32 = 32, 32;
        /// Data: the number of bytes that follow this header, in the first segment for the whole message (0: not
        /// known), in the last for that segment alone. Ack: the last segment that may be sent.
        length: u32 = 64, 32;
    }
}

const _: () = check_spans(Rmpp::SPANS, 12);

impl Rmpp {
    /// The only version.
    pub const VERSION: u8 = 1;
    /// RRespTime of a sender that specifies none.
    pub const NO_RESP_TIME: u8 = 31;
    /// Bytes after this header in a MAD: 20 of the class's header, 200 of data.
    pub const SEGMENT_SIZE: u32 = 220;

    /// No part of a longer message.
    pub const UNUSED: Rmpp = Rmpp {
        version: 0,
        kind: RmppType::Unused,
        resp_time: 0,
        last: false,
        first: false,
        active: false,
        status: RmppStatus::Normal,
        segment: 0,
        length: 0,
    };

    /// A packet of this type, with the rest zero.
    pub fn of(kind: RmppType) -> Rmpp {
        Rmpp { version: Rmpp::VERSION, kind, resp_time: Rmpp::NO_RESP_TIME, active: true, ..Rmpp::UNUSED }
    }
}
