//! Management datagrams (MADs) as they stand on the wire: 256 bytes in, typed values out, and back.
//!
//! Every format is one declaration (`format`): for each field its name, type, first bit and width, from which the type,
//! `decode` and `encode` are made. `decode` of an attribute is total: it takes any 64 bytes, keeps enumerants that it
//! does not know as `Unknown(n)`, and drops only bits that the specification reserves. `encode` writes reserved bits as
//! zero and panics on a value wider than its field: such a value never comes from `decode`. Only MAD headers can be
//! refused ([`WireError`]). Nothing here sends, waits or retries.
//!
//! Spoken: SMPs (directed and LID routed), the attributes that discovery and routing need, counters of performance
//! management, the records of subnet administration ([`sa`]), our own [`vendor`] attributes (docs/WIRE.md), and of
//! packets with data the header that routers go by ([`Grh`]), and of communication management the request
//! ([`ConnectRequest`]). Not done: random forwarding tables, MultiPathRecord, congestion control, the
//! other messages of communication management. Source: InfiniBand Architecture Specification, volume 1, chapters 12 to
//! 16.

mod bits;
mod class_port_info;
mod connect_request;
mod directed_route;
mod format;
mod gid;
mod grh;
mod guid_info;
mod header;
mod linear_forwarding_table;
mod multicast_forwarding_table;
mod node_description;
mod node_info;
mod notice;
mod p_key_table;
mod perf;
mod port_counters;
mod port_info;
pub mod sa;
mod sl_to_vl_mapping_table;
mod sm_info;
mod smp;
mod switch_info;
pub mod vendor;
mod vl_arbitration_table;

pub use class_port_info::{CLASS_PORT_INFO_SIZE, ClassPortInfo, GENERAL_SERVICES_Q_KEY};
pub use connect_request::{CM_DATA_SIZE, CmAttributeId, CmMad, CmPath, ConnectRequest};
pub use directed_route::{DirectedRoute, SmpAction};
pub use gid::{Gid, GidError};
pub use grh::Grh;
pub use guid_info::GuidInfo;
pub use header::{AttributeId, Method, WireError, class, class_of, status};
pub use linear_forwarding_table::LinearForwardingTable;
pub use multicast_forwarding_table::MulticastForwardingTable;
pub use node_description::NodeDescription;
pub use node_info::{NodeInfo, NodeType};
pub use notice::{Notice, NoticeType, Trap};
pub use p_key_table::{DEFAULT_P_KEY, PKeyTable};
pub use perf::{PERF_DATA_SIZE, PerfAttributeId, PerfMad, PortDataSl};
pub use port_counters::{PortCounters, PortCountersExtended};
pub use port_info::{Mtu, PortInfo, PortPhysState, PortState, VlCount, Width, capability};
pub use sl_to_vl_mapping_table::{SlToVlMappingTable, SlToVlModifier};
pub use sm_info::{SmControl, SmInfo, SmState};
pub use smp::{Route, Smp};
pub use switch_info::SwitchInfo;
pub use vl_arbitration_table::{VlArbitrationBlock, VlArbitrationEntry, VlArbitrationTable};

/// Bytes of a MAD (section 13.4.2).
pub const MAD_SIZE: usize = 256;

/// Bytes of a global route header (section 8.3).
pub const GRH_SIZE: usize = 40;

/// Bytes of an SMP's attribute (section 14.2.1).
pub const SMP_DATA_SIZE: usize = 64;
