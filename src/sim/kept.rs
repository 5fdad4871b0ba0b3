//! Attributes that are written and read back, and do nothing here but for lists of VL arbitration: GUIDs, partitions,
//! multicast tables, lamps, adaptive routing. Until they are written they hold the values of a device whose power has
//! just come.

use super::arbitration::VlArbiter;
use super::plane::DataPlane;
use super::power_on::{GUID_ENTRIES, MULTICAST_ENTRIES, PARTITION_ENTRIES, VL_ARBITRATION_ENTRIES};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, PortMask, PortNum};
use crate::wire::{
    AttributeId, DEFAULT_P_KEY, MulticastForwardingTable, SMP_DATA_SIZE, Smp, VlArbitrationTable, status,
};
use rustc_hash::FxHashMap;

/// LedInfo, a lamp for each port.
const LED_INFO: AttributeId = AttributeId::Unknown(0x0031);

/// The blocks of VL arbitration that a device with at most 32 entries has, in the upper half of a modifier.
const LOW_PRIORITY: u32 = 1;
const HIGH_PRIORITY: u32 = 3;

/// Weight of a lane in VL arbitration before any is set, in units of 64 bytes.
const EQUAL_WEIGHT: u8 = 64;

/// A table that is only kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeptTable {
    port: PortId,
    attribute: AttributeId,
    /// The part of the modifier that names one of several.
    instance: u32,
}

impl KeptTable {
    /// Which kept table a request that came in by `port` names; none where the attribute is none of these.
    ///
    /// # Errors
    /// The status that refuses a modifier that names none.
    pub fn asked(plane: &DataPlane, port: PortId, smp: &Smp) -> Result<Option<KeptTable>, u16> {
        let (own, node) = (plane.management_port(port), plane.ports[port].node);
        let switch = plane.is_switch(node);
        // Of a CA's or router's ports the one that received is meant.
        let named = |num: u32| if switch { plane.port_named(port, num).ok_or(status::INVALID_VALUE) } else { Ok(own) };
        let (low, high) = (smp.modifier & 0xFFFF, smp.modifier >> 16);
        let (port, instance, fits) = match smp.attribute {
            AttributeId::GuidInfo => (own, smp.modifier, smp.modifier < u32::from(GUID_ENTRIES) / 8),
            AttributeId::PKeyTable => (own, low, named(high)? == own && low < u32::from(PARTITION_ENTRIES) / 32),
            AttributeId::VlArbitrationTable => (named(low)?, high, high == LOW_PRIORITY || high == HIGH_PRIORITY),
            AttributeId::MulticastForwardingTable if switch => {
                (own, smp.modifier, has_groups(plane.num_ports(node), smp.modifier))
            }
            LED_INFO => (own, 0, true),
            // It says what is written to it; packets go where entries say all the same.
            AttributeId::AdaptiveRoutingInfo if switch => (own, 0, smp.modifier == 0),
            _ => return Ok(None),
        };
        if fits { Ok(Some(KeptTable { port, attribute: smp.attribute, instance })) } else { Err(status::INVALID_VALUE) }
    }

    /// The port whose VL arbitration it says; none where it says something else.
    pub fn arbitrated(self) -> Option<PortId> {
        (self.attribute == AttributeId::VlArbitrationTable).then_some(self.port)
    }

    /// What the table holds before it is written.
    fn at_first(self, fabric: &Fabric, data_vls: u8) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        match self.attribute {
            AttributeId::GuidInfo => {
                let guid = fabric.port_guid(self.port);
                data[..8].copy_from_slice(&guid.0.to_be_bytes());
            }
            AttributeId::PKeyTable if self.instance == 0 => data[..2].copy_from_slice(&DEFAULT_P_KEY.to_be_bytes()),
            AttributeId::VlArbitrationTable if self.instance == LOW_PRIORITY => {
                let entries = data.chunks_exact_mut(2).take(VL_ARBITRATION_ENTRIES.into());
                entries.zip(0..data_vls).for_each(|(entry, vl)| entry.copy_from_slice(&[vl, EQUAL_WEIGHT]));
            }
            _ => {}
        }
        data
    }
}

/// Whether a switch of so many ports has the block of a multicast table that a modifier names.
fn has_groups(num_ports: u8, modifier: u32) -> bool {
    let ports = num_ports / MulticastForwardingTable::POSITION;
    let has = |(block, position)| block < MULTICAST_ENTRIES / MulticastForwardingTable::BLOCK && position <= ports;
    MulticastForwardingTable::decode_modifier(modifier).is_some_and(has)
}

/// The kept tables of all ports; those never written are not stored.
#[derive(Default)]
pub(super) struct KeptTables {
    written: FxHashMap<KeptTable, [u8; SMP_DATA_SIZE]>,
}

impl KeptTables {
    /// What a table holds; until it is written, what a device with so many data VLs holds at first.
    pub fn read(&self, fabric: &Fabric, data_vls: u8, table: KeptTable) -> [u8; SMP_DATA_SIZE] {
        self.written.get(&table).copied().unwrap_or_else(|| table.at_first(fabric, data_vls))
    }

    /// Writes a table; the first GUID of a port is its maker's.
    pub fn write(&mut self, fabric: &Fabric, table: KeptTable, written: &[u8; SMP_DATA_SIZE]) {
        let mut data = *written;
        match table.attribute {
            AttributeId::GuidInfo => data[..8].copy_from_slice(&fabric.port_guid(table.port).0.to_be_bytes()),
            AttributeId::VlArbitrationTable => data[2 * usize::from(VL_ARBITRATION_ENTRIES)..].fill(0),
            _ => {}
        }
        self.written.insert(table, data);
    }

    /// The output ports for a multicast LID, as the table at a switch's port 0 has them.
    pub fn multicast_outputs(&self, port: PortId, lid: Lid) -> PortMask {
        let rank = lid.0 - Lid::FIRST_MULTICAST.0;
        let (block, entry) = (rank / MulticastForwardingTable::BLOCK, rank % MulticastForwardingTable::BLOCK);
        let mut outputs = PortMask::EMPTY;
        for position in 0..MulticastForwardingTable::POSITION {
            let instance = MulticastForwardingTable::modifier(block, position);
            let part = KeptTable { port, attribute: AttributeId::MulticastForwardingTable, instance };
            let Some(data) = self.written.get(&part) else { continue };
            let mask = MulticastForwardingTable::decode(data).masks[usize::from(entry)];
            let ports = (0..16u8).filter(|bit| mask >> bit & 1 == 1);
            ports.for_each(|bit| outputs.insert(PortNum(position * MulticastForwardingTable::POSITION + bit)));
        }
        outputs
    }

    /// How a port serves its lanes by the lists that were written; none where none was.
    pub fn arbiter(&self, fabric: &Fabric, data_vls: u8, port: PortId, high_limit: u8) -> Option<VlArbiter> {
        let attribute = AttributeId::VlArbitrationTable;
        let lists = [HIGH_PRIORITY, LOW_PRIORITY].map(|instance| KeptTable { port, attribute, instance });
        let written = lists.iter().any(|list| self.written.contains_key(list));
        let [high, low] = lists.map(|list| VlArbitrationTable::decode(&self.read(fabric, data_vls, list)));
        written.then(|| VlArbiter::of(&high, &low, high_limit))
    }

    /// Forgets what some ports keep, by their indices, as when their node's power goes.
    pub fn forget(&mut self, ports: &std::ops::Range<usize>) {
        self.written.retain(|table, _| !ports.contains(&table.port.index()));
    }
}
