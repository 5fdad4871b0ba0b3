//! Attributes that are written and read back, and do nothing here: GUIDs, partitions, VL arbitration, multicast tables,
//! lamps. Until they are written they hold the values of a device whose power has just come.

use super::Sim;
use super::power_on::{GUID_ENTRIES, MULTICAST_ENTRIES, PARTITION_ENTRIES, VL_ARBITRATION_ENTRIES};
use crate::fabric::{NodeId, PortId};
use crate::wire::{AttributeId, DEFAULT_P_KEY, MulticastForwardingTable, SMP_DATA_SIZE, Smp, status};

/// LedInfo, a lamp for each port.
const LED_INFO: AttributeId = AttributeId::Unknown(0x0031);

/// The blocks of VL arbitration that a device with at most 32 entries has, in the upper half of a modifier.
const LOW_PRIORITY: u32 = 1;
const HIGH_PRIORITY: u32 = 3;

/// Weight of a lane in VL arbitration before any is set, in units of 64 bytes.
const EQUAL_WEIGHT: u8 = 64;

/// Whose table a request names, and which; none where the attribute is none of these.
type Subject = Option<(PortId, u16, u32)>;

impl Sim {
    /// Which kept table a request that came in by `port` names.
    ///
    /// # Errors
    /// The status that refuses a modifier that names none.
    pub(super) fn kept_table(&self, port: PortId, smp: &Smp) -> Result<Subject, u16> {
        let (own, node) = (self.plane.management_port(port), self.plane.ports[port].node);
        let switch = self.plane.is_switch(node);
        // Of a CA's or router's ports the one that received is meant.
        let named = |num: u32| if switch { self.port_asked(port, num) } else { Ok(own) };
        let (low, high) = (smp.modifier & 0xFFFF, smp.modifier >> 16);
        let (subject, instance, fits) = match smp.attribute {
            AttributeId::GuidInfo => (own, smp.modifier, smp.modifier < u32::from(GUID_ENTRIES) / 8),
            AttributeId::PKeyTable => (own, low, named(high)? == own && low < u32::from(PARTITION_ENTRIES) / 32),
            AttributeId::VlArbitrationTable => (named(low)?, high, high == LOW_PRIORITY || high == HIGH_PRIORITY),
            AttributeId::MulticastForwardingTable if switch => (own, smp.modifier, self.has_groups(node, smp.modifier)),
            LED_INFO => (own, 0, true),
            _ => return Ok(None),
        };
        if fits { Ok(Some((subject, smp.attribute.into(), instance))) } else { Err(status::INVALID_VALUE) }
    }

    /// Whether a switch has the block of a multicast table that a modifier names.
    fn has_groups(&self, node: NodeId, modifier: u32) -> bool {
        let ports = self.plane.num_ports(node) / MulticastForwardingTable::POSITION;
        let has = |(block, position)| block < MULTICAST_ENTRIES / MulticastForwardingTable::BLOCK && position <= ports;
        MulticastForwardingTable::decode_modifier(modifier).is_some_and(has)
    }

    /// What a kept table holds.
    pub(super) fn read_kept(&self, key: (PortId, u16, u32)) -> [u8; SMP_DATA_SIZE] {
        self.devices.kept.get(&key).copied().unwrap_or_else(|| self.kept_at_first(key))
    }

    /// Writes a kept table; the first GUID of a port is its maker's.
    pub(super) fn write_kept(&mut self, key: (PortId, u16, u32), told: &[u8; SMP_DATA_SIZE]) {
        let mut data = *told;
        match AttributeId::from(key.1) {
            AttributeId::GuidInfo => data[..8].copy_from_slice(&self.kept_at_first(key)[..8]),
            AttributeId::VlArbitrationTable => data[2 * usize::from(VL_ARBITRATION_ENTRIES)..].fill(0),
            _ => {}
        }
        self.devices.kept.insert(key, data);
    }

    fn kept_at_first(&self, (port, attribute, instance): (PortId, u16, u32)) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        match AttributeId::from(attribute) {
            AttributeId::GuidInfo => {
                let guid = self.fabric.port_guid(port);
                data[..8].copy_from_slice(&guid.0.to_be_bytes());
            }
            AttributeId::PKeyTable => data[..2].copy_from_slice(&DEFAULT_P_KEY.to_be_bytes()),
            AttributeId::VlArbitrationTable if instance == LOW_PRIORITY => {
                let entries = data.chunks_exact_mut(2).take(VL_ARBITRATION_ENTRIES.into());
                let lanes = self.plane.data_vls;
                entries.zip(0..lanes).for_each(|(entry, vl)| entry.copy_from_slice(&[vl, EQUAL_WEIGHT]));
            }
            _ => {}
        }
        data
    }

    /// Forgets what the ports of a node keep, as when its power goes.
    pub(super) fn forget_kept(&mut self, node: NodeId) {
        let range = self.fabric.port_range(node);
        self.devices.kept.retain(|key, _| !range.contains(&key.0.index()));
    }
}
