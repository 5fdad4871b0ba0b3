//! The header of the reliable multi-packet protocol (section 13.6.2): bytes 24–35 of a MAD of subnet administration.

use crate::wire::bits::{Bits, bits, wire_enum};

mod field {
    use super::{Bits, bits};

    pub const VERSION: Bits = bits(192, 8);
    pub const TYPE: Bits = bits(200, 8);
    pub const RESP_TIME: Bits = bits(208, 5);
    pub const LAST: Bits = bits(213, 1);
    pub const FIRST: Bits = bits(214, 1);
    pub const ACTIVE: Bits = bits(215, 1);
    pub const STATUS: Bits = bits(216, 8);
    pub const SEGMENT: Bits = bits(224, 32);
    pub const LENGTH: Bits = bits(256, 32);
}

wire_enum! {
    /// What a packet of the protocol is.
    RmppType: u8 {
        /// None of it: the MAD stands alone.
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
        /// A type that nobody defined.
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

/// The header. All zeroes: the MAD stands alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rmpp {
    /// 1 where the protocol is in use.
    pub version: u8,
    /// What the packet is.
    pub kind: RmppType,
    /// The sender answers within 4.096 µs × 2^n; 31 where it does not say. 5 bits.
    pub resp_time: u8,
    /// The last segment.
    pub last: bool,
    /// The first segment.
    pub first: bool,
    /// The protocol is in use.
    pub active: bool,
    /// Why, in Stop and Abort.
    pub status: RmppStatus,
    /// Data and Ack: the number of the segment, from 1.
    pub segment: u32,
    /// Data: bytes behind this header, in the first segment of the whole message (0: not known), in the last of it alone.
    /// Ack: the last segment that may be sent.
    pub length: u32,
}

impl Rmpp {
    /// The only version.
    pub const VERSION: u8 = 1;
    /// RRespTime of who does not say.
    pub const NO_RESP_TIME: u8 = 31;
    /// Bytes behind this header in a MAD: 20 of the class's header, 200 of data.
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

    pub(super) fn read(bytes: &[u8]) -> Rmpp {
        Rmpp {
            version: field::VERSION.get_u8(bytes),
            kind: field::TYPE.get_u8(bytes).into(),
            resp_time: field::RESP_TIME.get_u8(bytes),
            last: field::LAST.get_flag(bytes),
            first: field::FIRST.get_flag(bytes),
            active: field::ACTIVE.get_flag(bytes),
            status: field::STATUS.get_u8(bytes).into(),
            segment: field::SEGMENT.get_u32(bytes),
            length: field::LENGTH.get_u32(bytes),
        }
    }

    pub(super) fn write(&self, bytes: &mut [u8]) {
        field::VERSION.put(bytes, self.version);
        field::TYPE.put(bytes, self.kind);
        field::RESP_TIME.put(bytes, self.resp_time);
        field::LAST.put(bytes, self.last);
        field::FIRST.put(bytes, self.first);
        field::ACTIVE.put(bytes, self.active);
        field::STATUS.put(bytes, self.status);
        field::SEGMENT.put(bytes, self.segment);
        field::LENGTH.put(bytes, self.length);
    }
}
