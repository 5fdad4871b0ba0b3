//! Management datagrams (MADs) as they stand on the wire: 256 bytes in, typed values out, and back.
//!
//! Every format is a table of bit offsets, a type, then `decode` and `encode` as mirror images. `decode` of an attribute is
//! total: it takes any 64 bytes, keeps enumerants that it does not know as `Unknown(n)`, and drops only bits that the
//! specification reserves. `encode` writes reserved bits as zero and panics on a value wider than its field: such a value
//! never comes from `decode`. Only MAD headers can be refused ([`WireError`]). Nothing here sends, waits or retries.
//!
//! Spoken: SMPs (directed and LID routed), the attributes that discovery and routing need, per-SL data counters of
//! performance management, and our own [`vendor`] attributes (docs/WIRE.md). Not done: SA records and RMPP, SMInfo, GUIDInfo,
//! P_Key tables, VL arbitration, multicast tables, port error counters, congestion control.
//! Source: InfiniBand Architecture Specification, volume 1, chapters 13, 14 and 16.

mod bits;
mod directed_route;
mod header;
mod linear_forwarding_table;
mod node_description;
mod node_info;
mod notice;
mod perf;
mod port_info;
mod sl_to_vl_mapping_table;
mod smp;
mod switch_info;
pub mod vendor;

pub use directed_route::{DirectedRoute, Hop};
pub use header::{AttributeId, Method, WireError, class, class_of, status};
pub use linear_forwarding_table::LinearForwardingTable;
pub use node_description::NodeDescription;
pub use node_info::{NodeInfo, NodeType};
pub use notice::{Notice, NoticeType, Trap};
pub use perf::{PERF_DATA_SIZE, PerfAttributeId, PerfMad, PortDataSl};
pub use port_info::{Mtu, PortInfo, PortPhysState, PortState, Speed, VlCount, Width};
pub use sl_to_vl_mapping_table::{SlToVlMappingTable, SlToVlModifier};
pub use smp::{Route, Smp};
pub use switch_info::SwitchInfo;

/// Bytes of a MAD (section 13.4.2).
pub const MAD_SIZE: usize = 256;

/// Bytes of an SMP's attribute (section 14.2.1).
pub const SMP_DATA_SIZE: usize = 64;
