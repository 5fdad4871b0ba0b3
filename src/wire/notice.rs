//! Notice (section 13.4.8.2), the body of traps: something changed at a node, or near it.

use super::format::{Field, attribute, wire_enum};
use super::{Gid, NodeType};
use crate::ids::Lid;

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

attribute! {
    /// Notice.
    Notice {
        /// Defined by the specification, not by the maker.
        generic: bool = 0, 1;
        /// Its severity.
        notice_type: NoticeType = 1, 7;
        /// Generic: the [`NodeType`] of its maker, or [`Notice::CLASS_MANAGER`]; else the vendor. 24 bits.
        producer: u32 = 8, 24;
        /// Generic: what happened; else the device.
        trap_number: u16 = 32, 16;
        /// LID of the port that issued it.
        issuer_lid: Lid = 48, 16;
        /// Changes with each new notice of a queue.
        toggle: bool = 64, 1;
        /// Notices in the queue, 15 bits; 0 in traps.
        count: u16 = 65, 15;
        /// The details of each trap.
        data_details: [u8; 54] = 80, 432;
    }
}

/// The fields of each trap's data details (section 14.2.5.1): first bit and width.
mod details {
    /// That of traps 64 to 67.
    pub const TRAP_64_GID: (usize, usize) = (48, 128);
    pub const TRAP_128_LID: (usize, usize) = (0, 16);
    pub const TRAP_144_LID: (usize, usize) = (16, 16);
    pub const TRAP_144_CAPABILITY_MASK: (usize, usize) = (48, 32);
}

/// The meaning of a notice, as far as it is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// Trap 64: an end port came into service. The SM makes it.
    GidInService {
        /// The end port.
        gid: Gid,
    },
    /// Trap 65: an end port left service. The SM makes it.
    GidOutOfService {
        /// The end port.
        gid: Gid,
    },
    /// Trap 66: a multicast group came into being. The SM makes it.
    GroupMade {
        /// The group.
        mgid: Gid,
    },
    /// Trap 67: a multicast group ended. The SM makes it.
    GroupEnded {
        /// The group.
        mgid: Gid,
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
    /// The `producer` of generic notices that a class's manager makes, which is no node.
    pub const CLASS_MANAGER: u32 = 4;

    /// Trap 64 (in service) or 65 (out of service) of the SM at the port with LID `issuer`.
    pub fn gid_in_service(in_service: bool, gid: Gid, issuer: Lid) -> Notice {
        Notice::about_gid(if in_service { 64 } else { 65 }, gid, issuer)
    }

    /// Trap 66 (a group has its first full member) or 67 (it has lost its last) of the SM at the port with LID
    /// `issuer`.
    pub fn group(is_there: bool, mgid: Gid, issuer: Lid) -> Notice {
        Notice::about_gid(if is_there { 66 } else { 67 }, mgid, issuer)
    }

    fn about_gid(number: u16, gid: Gid, issuer: Lid) -> Notice {
        let mut notice = Notice::generic(NoticeType::SubnetManagement, NodeType::Switch, number, issuer);
        notice.producer = Notice::CLASS_MANAGER;
        notice.set_detail(details::TRAP_64_GID, gid);
        notice
    }

    /// Trap 128 of a switch: a port of its changed state.
    pub fn link_state_changed(switch: Lid) -> Notice {
        let mut notice = Notice::generic(NoticeType::Urgent, NodeType::Switch, 128, switch);
        notice.set_detail(details::TRAP_128_LID, switch);
        notice
    }

    /// Trap 144 of an end port: its capability mask or description changed.
    pub fn end_port_changed(producer: NodeType, lid: Lid, capability_mask: u32) -> Notice {
        let mut notice = Notice::generic(NoticeType::Informational, producer, 144, lid);
        notice.set_detail(details::TRAP_144_LID, lid);
        notice.set_detail(details::TRAP_144_CAPABILITY_MASK, capability_mask);
        notice
    }

    fn generic(notice_type: NoticeType, producer: NodeType, trap_number: u16, issuer_lid: Lid) -> Notice {
        Notice {
            generic: true,
            notice_type,
            producer: u8::from(producer).into(),
            trap_number,
            issuer_lid,
            ..Notice::default()
        }
    }

    /// The meaning of the notice.
    pub fn trap(&self) -> Trap {
        match self.trap_number {
            _ if !self.generic => Trap::Vendor,
            64 => Trap::GidInService { gid: self.detail(details::TRAP_64_GID) },
            65 => Trap::GidOutOfService { gid: self.detail(details::TRAP_64_GID) },
            66 => Trap::GroupMade { mgid: self.detail(details::TRAP_64_GID) },
            67 => Trap::GroupEnded { mgid: self.detail(details::TRAP_64_GID) },
            128 => Trap::LinkStateChanged { lid: self.detail(details::TRAP_128_LID) },
            144 => Trap::EndPortChanged {
                lid: self.detail(details::TRAP_144_LID),
                capability_mask: self.detail(details::TRAP_144_CAPABILITY_MASK),
            },
            other => Trap::Other(other),
        }
    }

    fn detail<T: Field>(&self, (offset, width): (usize, usize)) -> T {
        T::read(&self.data_details, offset, width)
    }

    fn set_detail(&mut self, (offset, width): (usize, usize), value: impl Field) {
        value.write(&mut self.data_details, offset, width);
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
