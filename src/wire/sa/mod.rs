//! Subnet administration (chapter 15): the MAD of class 0x03, with its header for messages of several segments, and the
//! records it carries, one a file.
//!
//! A record is 200 bytes here, as in the data of a MAD; in a table it takes [`Record::SIZE`] of them. The component
//! mask of a request selects its fields, bit by bit: [`selected`] compares exactly those ([`Record::COMPONENTS`]).

mod component;
mod guid_info_record;
mod inform_info;
mod lft_record;
mod link_record;
mod mad;
mod mc_member_record;
mod node_record;
mod p_key_table_record;
mod path_record;
mod port_info_record;
mod report;
mod rmpp;
mod service_record;
mod sl_to_vl_record;
mod sm_info_record;
mod switch_info_record;
mod vl_arbitration_record;

pub use component::{Component, ComponentMask, Record, selected};
pub use guid_info_record::GuidInfoRecord;
pub use inform_info::{InformInfo, InformInfoRecord};
pub use lft_record::LftRecord;
pub use link_record::LinkRecord;
pub use mad::{SaAttributeId, SaMad, length_of};
pub use mc_member_record::McMemberRecord;
pub use node_record::NodeRecord;
pub use p_key_table_record::PKeyTableRecord;
pub use path_record::{PathRecord, Selector};
pub use port_info_record::PortInfoRecord;
pub use report::Report;
pub use rmpp::{Rmpp, RmppStatus, RmppType};
pub use service_record::ServiceRecord;
pub use sl_to_vl_record::SlToVlRecord;
pub use sm_info_record::SmInfoRecord;
pub use switch_info_record::SwitchInfoRecord;
pub use vl_arbitration_record::VlArbitrationRecord;

/// Bytes of data in one MAD of subnet administration.
pub const SA_DATA_SIZE: usize = 200;
