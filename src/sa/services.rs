//! ServiceRecords: the services that ports offer, until their leases expire. Room is shared by the ports that register
//! them, whosever port a record names.

use crate::ids::Guid;
use crate::shares::Shares;
use crate::wire::sa::{ComponentMask, Record, SA_DATA_SIZE, ServiceRecord, selected};
use crate::wire::{Gid, status};
use std::collections::BTreeMap;

const NS_PER_S: u64 = 1_000_000_000;

/// The key of a record (section 15.2.5.14): service, port and partition.
type Name = (u64, Gid, u16);

/// A record in force.
#[derive(Clone, Debug)]
struct Registered {
    record: ServiceRecord,
    /// When its lease expires.
    ends_ns: u64,
    /// The port that registered it, and to whose share it belongs.
    by: Guid,
}

/// The records in force.
#[derive(Clone, Debug)]
pub(super) struct Services {
    records: BTreeMap<Name, Registered>,
    room: Shares<Guid>,
}

impl Services {
    /// No records, and room for so many.
    pub(super) fn new(most: usize) -> Services {
        Services { records: BTreeMap::new(), room: Shares::new(most) }
    }

    /// Adds a record by order of a port, or renews it; returns the record now in force.
    ///
    /// # Errors
    /// The status to refuse with: the record lacks service, port or partition; it exists under another service key; or
    /// the port has its share of records.
    pub(super) fn set(
        &mut self,
        mask: ComponentMask,
        asked: ServiceRecord,
        by: Guid,
        now_ns: u64,
    ) -> Result<ServiceRecord, u16> {
        self.forget(now_ns);
        if !mask.has_all(&[ServiceRecord::SERVICE_ID, ServiceRecord::GID, ServiceRecord::P_KEY]) {
            return Err(status::INSUFFICIENT_COMPONENTS);
        }
        let mut record = ServiceRecord::decode(&counted(mask, &asked));
        if !mask.has(ServiceRecord::LEASE) {
            record.lease_s = ServiceRecord::FOR_EVER;
        }
        let name = (record.id, record.gid, record.p_key);
        match self.records.get(&name) {
            Some(Registered { record: known, .. }) if known.key != [0; 16] && known.key != record.key => {
                return Err(status::DENIED);
            }
            Some(_) => {}
            None if self.room.take(by, 1) => {}
            None => return Err(status::NO_RESOURCES),
        }
        let ends_ns = match record.lease_s {
            ServiceRecord::FOR_EVER => u64::MAX,
            seconds => now_ns.saturating_add(u64::from(seconds) * NS_PER_S),
        };
        let by = self.records.get(&name).map_or(by, |known| known.by);
        self.records.insert(name, Registered { record: record.clone(), ends_ns, by });
        Ok(record)
    }

    /// Removes and returns the record that matches the request.
    ///
    /// # Errors
    /// The status to refuse with: no record matches, several do, or the service key differs.
    pub(super) fn delete(
        &mut self,
        mask: ComponentMask,
        asked: &ServiceRecord,
        now_ns: u64,
    ) -> Result<ServiceRecord, u16> {
        let without_key = mask.without(ServiceRecord::KEY).without(ServiceRecord::LEASE);
        let found = self.select(without_key, asked, now_ns);
        let [record] = &found[..] else {
            return Err(if found.is_empty() { status::NO_RECORDS } else { status::TOO_MANY_RECORDS });
        };
        let name = (record.id, record.gid, record.p_key);
        let key = if mask.has(ServiceRecord::KEY) { asked.key } else { [0; 16] };
        match self.records.get(&name) {
            Some(Registered { record: known, .. }) if known.key != [0; 16] && known.key != key => Err(status::DENIED),
            _ => {
                let removed = self.records.remove(&name);
                removed.iter().for_each(|gone| self.room.give_back(&gone.by, 1));
                Ok(removed.map_or_else(|| record.clone(), |gone| gone.record))
            }
        }
    }

    /// The records that match the request, with the seconds left of each lease, and without their keys.
    pub(super) fn select(&mut self, mask: ComponentMask, asked: &ServiceRecord, now_ns: u64) -> Vec<ServiceRecord> {
        self.forget(now_ns);
        let asked = asked.to_data();
        let in_force = self.records.values().map(|Registered { record, ends_ns, .. }| match record.lease_s {
            ServiceRecord::FOR_EVER => record.clone(),
            _ => {
                let left_s = ends_ns.saturating_sub(now_ns).div_ceil(NS_PER_S);
                ServiceRecord { lease_s: left_s.min(u64::from(ServiceRecord::FOR_EVER - 1)) as u32, ..record.clone() }
            }
        });
        let found = in_force.filter(|record| selected::<ServiceRecord>(mask, &asked, &record.to_data()));
        found.map(|record| ServiceRecord { key: [0; 16], ..record }).collect()
    }

    fn forget(&mut self, now_ns: u64) {
        self.keep(|_, known| known.ends_ns > now_ns);
    }

    /// Drops the records of ports that are gone.
    pub(super) fn retain_ports(&mut self, is_there: impl Fn(Gid) -> bool) {
        self.keep(|(_, gid, _), _| is_there(*gid));
    }

    fn keep(&mut self, stays: impl Fn(&Name, &Registered) -> bool) {
        let room = &mut self.room;
        self.records.retain(|name, known| {
            let is_kept = stays(name, known);
            if !is_kept {
                room.give_back(&known.by, 1);
            }
            is_kept
        });
    }
}

/// The fields that the mask selects, the others zero.
fn counted(mask: ComponentMask, asked: &ServiceRecord) -> [u8; SA_DATA_SIZE] {
    let (given, mut data) = (asked.to_data(), [0; SA_DATA_SIZE]);
    for (bit, component) in (0..).zip(ServiceRecord::COMPONENTS) {
        if mask.has(bit) {
            let bytes = component.offset / 8..(component.offset + component.width) / 8;
            data[bytes.clone()].copy_from_slice(&given[bytes]);
        }
    }
    data
}
