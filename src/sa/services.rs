//! ServiceRecords: the services that ports offer, until their leases expire.

use crate::wire::sa::{ComponentMask, Record, SA_DATA_SIZE, ServiceRecord, selected};
use crate::wire::{Gid, status};
use std::collections::BTreeMap;

const NS_PER_S: u64 = 1_000_000_000;

/// The key of a record (section 15.2.5.14): service, port and partition.
type Name = (u64, Gid, u16);

/// The records in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    /// Each with the time at which its lease expires.
    records: BTreeMap<Name, (ServiceRecord, u64)>,
}

impl Services {
    /// Adds a record, or renews it; returns the record now in force.
    ///
    /// # Errors
    /// The status to refuse with: the record lacks service, port or partition; it exists under another service key; or
    /// there are `most` records already.
    pub(super) fn set(
        &mut self,
        mask: ComponentMask,
        asked: ServiceRecord,
        most: usize,
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
            Some((known, _)) if known.key != [0; 16] && known.key != record.key => return Err(status::DENIED),
            None if self.records.len() >= most => return Err(status::NO_RESOURCES),
            _ => {}
        }
        let ends_ns = match record.lease_s {
            ServiceRecord::FOR_EVER => u64::MAX,
            seconds => now_ns.saturating_add(u64::from(seconds) * NS_PER_S),
        };
        self.records.insert(name, (record.clone(), ends_ns));
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
            Some((known, _)) if known.key != [0; 16] && known.key != key => Err(status::DENIED),
            _ => Ok(self.records.remove(&name).map_or_else(|| record.clone(), |(record, _)| record)),
        }
    }

    /// The records that match the request, with the seconds left of each lease, and without their keys.
    pub(super) fn select(&mut self, mask: ComponentMask, asked: &ServiceRecord, now_ns: u64) -> Vec<ServiceRecord> {
        self.forget(now_ns);
        let asked = asked.to_data();
        let in_force = self.records.values().map(|(record, ends_ns)| match record.lease_s {
            ServiceRecord::FOR_EVER => record.clone(),
            _ => {
                let left_s = ends_ns.saturating_sub(now_ns).div_ceil(NS_PER_S);
                ServiceRecord { lease_s: left_s.min(u64::from(ServiceRecord::FOR_EVER - 1)) as u32, ..record.clone() }
            }
        });
        let found = in_force.filter(|record| selected::<ServiceRecord>(mask, &asked, &record.to_data()));
        found.map(|record| ServiceRecord { key: [0; 16], ..record }).collect()
    }

    /// Drops expired records.
    fn forget(&mut self, now_ns: u64) {
        self.records.retain(|_, (_, ends_ns)| *ends_ns > now_ns);
    }

    /// Drops the records of ports that are gone.
    pub(super) fn retain_ports(&mut self, is_there: impl Fn(Gid) -> bool) {
        self.records.retain(|(_, gid, _), _| is_there(*gid));
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
