//! Notice (section 13.4.8.2), the body of traps: something changed at a node, or near it.

use super::bits::wire_enum;
use super::format::Field;
use super::{AttributeId, Gid, NodeType, SMP_DATA_SIZE};
use crate::ids::Lid;

mod field {
    use crate::wire::bits::{Bits, bits};
    use std::ops::Range;

    pub const GENERIC: Bits = bits(0, 1);
    pub const NOTICE_TYPE: Bits = bits(1, 7);
    pub const PRODUCER: Bits = bits(8, 24);
    pub const TRAP_NUMBER: Bits = bits(32, 16);
    pub const ISSUER_LID: Bits = bits(48, 16);
    pub const TOGGLE: Bits = bits(64, 1);
    pub const COUNT: Bits = bits(65, 15);
    pub const DATA_DETAILS: Range<usize> = 10..64;
}

/// Offsets within the data details (section 14.2.5.1).
mod details {
    use crate::wire::bits::{Bits, bits};

    /// First bit and width.
    pub const TRAP_64_GID: (usize, usize) = (48, 128);
    pub const TRAP_128_LID: Bits = bits(0, 16);
    pub const TRAP_144_LID: Bits = bits(16, 16);
    pub const TRAP_144_CAPABILITY_MASK: Bits = bits(48, 32);
}

wire_enum! {
    /// Notice:Type, 7 bits.
    NoticeType: u8 {
        /// Fatal.
        Fatal = 0,
        /// Urgent.
        Urgent = 1,
        /// Security.
        Security = 2,
        /// Subnet management.
        SubnetManagement = 3,
        /// Informational.
        Informational = 4,
        /// An empty notice.
        Empty = 0x7F,
    }
}

/// Notice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Defined by the specification, not by the maker.
    pub generic: bool,
    /// How grave it is.
    pub notice_type: NoticeType,
    /// Generic: the [`NodeType`] of its maker, or [`Notice::CLASS_MANAGER`]; else the vendor. 24 bits.
    pub producer: u32,
    /// Generic: what happened; else the device.
    pub trap_number: u16,
    /// Who says so.
    pub issuer_lid: Lid,
    /// Changes with each new notice of a queue.
    pub toggle: bool,
    /// Notices in the queue, 15 bits; 0 in traps.
    pub count: u16,
    /// What each trap adds.
    pub data_details: [u8; 54],
}

/// What a notice says, as far as it is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// Trap 64: an end port is there that was not. Made by the SM.
    GidInService {
        /// The end port.
        gid: Gid,
    },
    /// Trap 65: an end port is gone. Made by the SM.
    GidOutOfService {
        /// The end port.
        gid: Gid,
    },
    /// Trap 128: the state of a link changed at this switch.
    LinkStateChanged {
        /// The switch.
        lid: Lid,
    },
    /// Trap 144: capabilities or description of this end port changed.
    EndPortChanged {
        /// The end port.
        lid: Lid,
        /// Its new capability mask.
        capability_mask: u32,
    },
    /// Another generic trap.
    Other(u16),
    /// A trap of the device's maker.
    Vendor,
}

impl Notice {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::Notice;
    /// The `producer` of generic notices that a class's manager makes, which is no node.
    pub const CLASS_MANAGER: u32 = 4;

    /// Trap 64 (in service) or 65 (out of service) of the SM whose port has `issuer`.
    pub fn gid_in_service(in_service: bool, gid: Gid, issuer: Lid) -> Notice {
        let number = if in_service { 64 } else { 65 };
        let mut notice = Notice::generic(NoticeType::SubnetManagement, NodeType::Switch, number, issuer);
        notice.producer = Notice::CLASS_MANAGER;
        gid.write(&mut notice.data_details, details::TRAP_64_GID.0, details::TRAP_64_GID.1);
        notice
    }

    /// Trap 128 of a switch: a port of its changed state.
    pub fn link_state_changed(switch: Lid) -> Notice {
        let mut notice = Notice::generic(NoticeType::Urgent, NodeType::Switch, 128, switch);
        details::TRAP_128_LID.put(&mut notice.data_details, switch.0);
        notice
    }

    /// Trap 144 of an end port: its capability mask or description changed.
    pub fn end_port_changed(producer: NodeType, lid: Lid, capability_mask: u32) -> Notice {
        let mut notice = Notice::generic(NoticeType::Informational, producer, 144, lid);
        details::TRAP_144_LID.put(&mut notice.data_details, lid.0);
        details::TRAP_144_CAPABILITY_MASK.put(&mut notice.data_details, capability_mask);
        notice
    }

    fn generic(notice_type: NoticeType, producer: NodeType, trap_number: u16, issuer_lid: Lid) -> Notice {
        Notice {
            generic: true,
            notice_type,
            producer: u8::from(producer).into(),
            trap_number,
            issuer_lid,
            toggle: false,
            count: 0,
            data_details: [0; 54],
        }
    }

    /// What the notice says.
    pub fn trap(&self) -> Trap {
        let data = &self.data_details;
        let gid = || Gid::read(data, details::TRAP_64_GID.0, details::TRAP_64_GID.1);
        match self.trap_number {
            _ if !self.generic => Trap::Vendor,
            64 => Trap::GidInService { gid: gid() },
            65 => Trap::GidOutOfService { gid: gid() },
            128 => Trap::LinkStateChanged { lid: Lid(details::TRAP_128_LID.get_u16(data)) },
            144 => Trap::EndPortChanged {
                lid: Lid(details::TRAP_144_LID.get_u16(data)),
                capability_mask: details::TRAP_144_CAPABILITY_MASK.get_u32(data),
            },
            other => Trap::Other(other),
        }
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> Notice {
        let mut data_details = [0; 54];
        data_details.copy_from_slice(&data[field::DATA_DETAILS]);
        Notice {
            generic: field::GENERIC.get_flag(data),
            notice_type: field::NOTICE_TYPE.get_u8(data).into(),
            producer: field::PRODUCER.get_u32(data),
            trap_number: field::TRAP_NUMBER.get_u16(data),
            issuer_lid: Lid(field::ISSUER_LID.get_u16(data)),
            toggle: field::TOGGLE.get_flag(data),
            count: field::COUNT.get_u16(data),
            data_details,
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::GENERIC.put(&mut data, self.generic);
        field::NOTICE_TYPE.put(&mut data, self.notice_type);
        field::PRODUCER.put(&mut data, self.producer);
        field::TRAP_NUMBER.put(&mut data, self.trap_number);
        field::ISSUER_LID.put(&mut data, self.issuer_lid.0);
        field::TOGGLE.put(&mut data, self.toggle);
        field::COUNT.put(&mut data, self.count);
        data[field::DATA_DETAILS].copy_from_slice(&self.data_details);
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traps_that_are_made_here_read_back() {
        let down = Notice::link_state_changed(Lid(17));
        assert_eq!(Notice::decode(&down.encode()).trap(), Trap::LinkStateChanged { lid: Lid(17) });
        let changed = Notice::end_port_changed(NodeType::ChannelAdapter, Lid(9), 0x0251_086A);
        let expected = Trap::EndPortChanged { lid: Lid(9), capability_mask: 0x0251_086A };
        assert_eq!(Notice::decode(&changed.encode()).trap(), expected);
    }

    #[test]
    fn trap_numbers_of_a_maker_are_not_taken_for_ours() {
        let notice = Notice { generic: false, ..Notice::link_state_changed(Lid(17)) };
        assert_eq!(notice.trap(), Trap::Vendor);
    }
}
