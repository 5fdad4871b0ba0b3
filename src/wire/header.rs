//! The common header of all MADs: base version, class, class version, method, status, transaction, attribute (section
//! 13.4).

use super::MAD_SIZE;
use super::format::{Field, wire_enum};

/// The only base version, and the class version of subnet and performance management.
pub(super) const VERSION: u8 = 1;

/// Management classes (section 13.4.4).
pub mod class {
    /// Subnet management, LID routed.
    pub const SUBNET_LID: u8 = 0x01;
    /// Subnet management, directed route.
    pub const SUBNET_DIRECTED: u8 = 0x81;
    /// Subnet administration.
    pub const SUBNET_ADMINISTRATION: u8 = 0x03;
    /// Performance management.
    pub const PERFORMANCE: u8 = 0x04;
    /// Communication management.
    pub const COMMUNICATION: u8 = 0x07;
}

/// Status codes of answers (section 13.4.7). Zero is success; the low two bits are flags, bits 2–4 a reason.
pub mod status {
    /// Done.
    pub const SUCCESS: u16 = 0x0000;
    /// Busy: repeat the request later.
    pub const BUSY: u16 = 0x0001;
    /// Base or class version not supported.
    pub const BAD_VERSION: u16 = 0x0004;
    /// Method not supported.
    pub const UNSUPPORTED_METHOD: u16 = 0x0008;
    /// Method and attribute do not go together.
    pub const UNSUPPORTED_METHOD_ATTRIBUTE: u16 = 0x000C;
    /// A field of attribute or modifier is invalid.
    pub const INVALID_VALUE: u16 = 0x001C;
    /// Subnet administration (section 15.2.2): no resources for the request.
    pub const NO_RESOURCES: u16 = 0x0100;
    /// Subnet administration: the request makes no sense.
    pub const REQUEST_INVALID: u16 = 0x0200;
    /// Subnet administration: a Get found nothing.
    pub const NO_RECORDS: u16 = 0x0300;
    /// Subnet administration: a Get found more than one.
    pub const TOO_MANY_RECORDS: u16 = 0x0400;
    /// Subnet administration: no port has the GID.
    pub const INVALID_GID: u16 = 0x0500;
    /// Subnet administration: the request omits a component that it must have.
    pub const INSUFFICIENT_COMPONENTS: u16 = 0x0600;
    /// Subnet administration: the requester is not allowed to.
    pub const DENIED: u16 = 0x0700;
}

wire_enum! {
    /// The method of a MAD (section 13.4.5). The highest bit marks answers, [`Method::TrapRepress`] excepted.
    Method: u8 {
        /// Reads an attribute.
        Get = 0x01,
        /// Writes an attribute; answered like a Get.
        Set = 0x02,
        /// A datagram without an answer.
        Send = 0x03,
        /// A notice that is repeated until repressed.
        Trap = 0x05,
        /// A report to a manager.
        Report = 0x06,
        /// Answers a Trap.
        TrapRepress = 0x07,
        /// Reads every record that fits (subnet administration).
        GetTable = 0x12,
        /// Deletes a record (subnet administration).
        Delete = 0x15,
        /// Answers Get and Set.
        GetResp = 0x81,
        /// Answers Report.
        ReportResp = 0x86,
        /// Answers GetTable.
        GetTableResp = 0x92,
        /// Answers Delete.
        DeleteResp = 0x95,
    }
}

impl Method {
    /// Returns whether this MAD answers another, and so must never be answered itself.
    pub fn is_answer(self) -> bool {
        self == Method::TrapRepress || u8::from(self) & 0x80 != 0
    }

    /// The method of the answer. Methods that a device does not know are refused by a GetResp with a status.
    pub fn answer(self) -> Method {
        match self {
            Method::Trap => Method::TrapRepress,
            Method::Report => Method::ReportResp,
            Method::GetTable => Method::GetTableResp,
            Method::Delete => Method::DeleteResp,
            _ => Method::GetResp,
        }
    }
}

wire_enum! {
    /// Attributes of subnet management (section 14.2.5); those from 0xFFE0 on are ours, but for the last
    /// (docs/WIRE.md).
    AttributeId: u16 {
        /// ClassPortInfo.
        ClassPortInfo = 0x0001,
        /// [`Notice`](super::Notice).
        Notice = 0x0002,
        /// [`NodeDescription`](super::NodeDescription).
        NodeDescription = 0x0010,
        /// [`NodeInfo`](super::NodeInfo).
        NodeInfo = 0x0011,
        /// [`SwitchInfo`](super::SwitchInfo).
        SwitchInfo = 0x0012,
        /// [`GuidInfo`](super::GuidInfo).
        GuidInfo = 0x0014,
        /// [`PortInfo`](super::PortInfo).
        PortInfo = 0x0015,
        /// [`PKeyTable`](super::PKeyTable).
        PKeyTable = 0x0016,
        /// [`SlToVlMappingTable`](super::SlToVlMappingTable).
        SlToVlMappingTable = 0x0017,
        /// [`VlArbitrationTable`](super::VlArbitrationTable).
        VlArbitrationTable = 0x0018,
        /// [`LinearForwardingTable`](super::LinearForwardingTable).
        LinearForwardingTable = 0x0019,
        /// [`MulticastForwardingTable`](super::MulticastForwardingTable).
        MulticastForwardingTable = 0x001B,
        /// [`SmInfo`](super::SmInfo).
        SmInfo = 0x0020,
        /// [`vendor::ActiveHalf`](super::vendor::ActiveHalf).
        ActiveHalf = 0xFFE0,
        /// [`vendor::DrainArcs`](super::vendor::DrainArcs).
        DrainArcs = 0xFFE1,
        /// [`vendor::DrainToken`](super::vendor::DrainToken).
        DrainToken = 0xFFE2,
        /// [`vendor::Flush`](super::vendor::Flush).
        Flush = 0xFFE3,
        /// [`vendor::LaneStatus`](super::vendor::LaneStatus).
        LaneStatus = 0xFFE4,
        /// [`vendor::AdaptiveRoutingInfo`](super::vendor::AdaptiveRoutingInfo).
        AdaptiveRoutingInfo = 0xFF20,
    }
}

/// Why 256 bytes are no MAD of the class asked for, or a path no directed route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another management class.
    #[error("decoding a MAD of class {expected}: its class is {found:#04x}; sort MADs by class first")]
    Class {
        /// The classes that would have done.
        expected: &'static str,
        /// The class found.
        found: u8,
    },
    /// An undefined version.
    #[error(
        "decoding a MAD of class {class:#04x}: base version {base}, class version {version}; known are base version 1 \
         and class version 1, of subnet administration (0x03) class version 2"
    )]
    Version {
        /// The management class.
        class: u8,
        /// Its base version.
        base: u8,
        /// Its class version.
        version: u8,
    },
    /// A directed route outside its 64-byte path (section 14.2.2 discards such packets).
    #[error(
        "decoding a directed route: hop pointer {pointer} of {count} hops; at most 63 hops, the pointer one beyond"
    )]
    Hops {
        /// The hop pointer.
        pointer: u8,
        /// The hop count.
        count: u8,
    },
    /// A path that no SMP can hold.
    #[error("building a directed route of {0} hops: an SMP holds 63 at most; enter the subnet nearer to the node")]
    PathTooLong(usize),
}

/// The management class of a MAD, by which to choose how to decode it.
pub fn class_of(bytes: &[u8; MAD_SIZE]) -> u8 {
    bytes[1]
}

/// The version of a class.
fn version_of(class: u8) -> u8 {
    if matches!(class, class::SUBNET_ADMINISTRATION | class::COMMUNICATION) { 2 } else { VERSION }
}

/// Reads a MAD whose class was found to be the right one.
///
/// # Errors
/// Versions other than those of its class.
pub(super) fn decode_mad<M: Field>(bytes: &[u8; MAD_SIZE]) -> Result<M, WireError> {
    let [base, class, version, ..] = *bytes;
    match (base, version) == (VERSION, version_of(class)) {
        true => Ok(M::read(bytes, 0, 8 * MAD_SIZE)),
        false => Err(WireError::Version { class, base, version }),
    }
}

/// Writes a MAD of a class.
pub(super) fn encode_mad(class: u8, mad: &impl Field) -> [u8; MAD_SIZE] {
    let mut bytes = [0; MAD_SIZE];
    bytes[..3].copy_from_slice(&[VERSION, class, version_of(class)]);
    mad.write(&mut bytes, 0, 8 * MAD_SIZE);
    bytes
}
