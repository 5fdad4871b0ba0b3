//! Attributes that are written and read back, and do nothing here: GUIDs, partitions, VL arbitration, multicast tables,
//! lamps. Until somebody writes them they hold what a device holds whose power has just come.

use super::Sim;
use super::power_on::{GUID_ENTRIES, MULTICAST_ENTRIES, PARTITION_ENTRIES, VL_ARBITRATION_ENTRIES};
use crate::fabric::{NodeId, PortId};
use crate::wire::{SMP_DATA_SIZE, Smp, status};

/// GUIDInfo; the modifier is the block of 8.
const GUID_INFO: u16 = 0x0014;
/// P_KeyTable; the modifier is the block of 32, at a switch with the port in its upper half.
const P_KEY_TABLE: u16 = 0x0016;
/// VLArbitrationTable; the modifier is the port, in its upper half one of four half-tables, 1 to 4.
const VL_ARBITRATION: u16 = 0x0018;
/// MulticastForwardingTable; the modifier is the block of 32 LIDs, in its upper 4 bits the block of 16 ports.
const MULTICAST_FORWARDING: u16 = 0x001B;
/// LedInfo.
const LED_INFO: u16 = 0x0031;

/// Half-tables of VL arbitration of which a device with at most 32 entries has any: low and high priority.
const LOW: u32 = 1;
const HIGH: u32 = 3;

/// Weight of a lane in VL arbitration that nobody set, in units of 64 bytes.
const EQUAL_WEIGHT: u8 = 64;

/// Whose table a request names, and which; none where the attribute is none of these.
type Subject = Option<(u32, u16, u32)>;

impl Sim {
    /// Which kept table a request that came in by `port` names.
    ///
    /// # Errors
    /// The status that refuses a modifier that names none.
    pub(super) fn kept_table(&self, port: u32, smp: &Smp) -> Result<Subject, u16> {
        let (attribute, modifier) = (u16::from(smp.attribute), smp.modifier);
        let (own, node) = (self.management_port(port), self.net.ports[port as usize].node);
        let (low, high) = (modifier & 0xFFFF, modifier >> 16);
        let (subject, fits) = match attribute {
            GUID_INFO => (own, modifier < u32::from(GUID_ENTRIES) / 8),
            P_KEY_TABLE => {
                let subject = if self.is_switch(node) { self.port_asked(port, high)? } else { own };
                (subject, subject == own && low < u32::from(PARTITION_ENTRIES) / 32)
            }
            VL_ARBITRATION => {
                let subject = if self.is_switch(node) { self.port_asked(port, low)? } else { own };
                (subject, high == LOW || high == HIGH)
            }
            MULTICAST_FORWARDING if self.is_switch(node) => {
                let groups = u32::from(self.net.num_ports(node)) / 16;
                (own, modifier & 0x0FFF_FFFF < u32::from(MULTICAST_ENTRIES) / 32 && modifier >> 28 <= groups)
            }
            LED_INFO => (own, true),
            _ => return Ok(None),
        };
        // The part of the modifier that names a port is told by the port already.
        let instance = if attribute == VL_ARBITRATION { high } else { modifier };
        if fits { Ok(Some((subject, attribute, instance))) } else { Err(status::INVALID_VALUE) }
    }

    /// What a kept table holds.
    pub(super) fn read_kept(&self, key: (u32, u16, u32)) -> [u8; SMP_DATA_SIZE] {
        self.devices.kept.get(&key).copied().unwrap_or_else(|| self.kept_at_first(key))
    }

    /// Writes a kept table; the first GUID of a port is its maker's.
    pub(super) fn write_kept(&mut self, key: (u32, u16, u32), told: &[u8; SMP_DATA_SIZE]) {
        let mut data = *told;
        match key.1 {
            GUID_INFO => data[..8].copy_from_slice(&self.kept_at_first(key)[..8]),
            VL_ARBITRATION => data[2 * usize::from(VL_ARBITRATION_ENTRIES)..].fill(0),
            _ => {}
        }
        self.devices.kept.insert(key, data);
    }

    fn kept_at_first(&self, (port, attribute, instance): (u32, u16, u32)) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        match attribute {
            GUID_INFO => {
                let held = self.fabric.port(PortId(port));
                let guid = held.guid.unwrap_or(self.fabric.node(held.node).guid);
                data[..8].copy_from_slice(&guid.0.to_be_bytes());
            }
            P_KEY_TABLE => data[..2].fill(0xFF),
            VL_ARBITRATION if instance == LOW => {
                let entries = data.chunks_exact_mut(2).take(VL_ARBITRATION_ENTRIES.into());
                let lanes = self.net.data_vls;
                entries.zip(0..lanes).for_each(|(entry, vl)| entry.copy_from_slice(&[vl, EQUAL_WEIGHT]));
            }
            _ => {}
        }
        data
    }

    /// Forgets what the ports of a node keep, as when its power goes.
    pub(super) fn forget_kept(&mut self, node: NodeId) {
        let range = self.fabric.port_range(node);
        self.devices.kept.retain(|key, _| !range.contains(&(key.0 as usize)));
    }
}
