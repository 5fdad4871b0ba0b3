//! ServiceRecords and their leases.

use crate::sa::bench::Bench;
use reconfig::sa::SaLimits;
use reconfig::wire::sa::*;
use reconfig::wire::*;

const S: u64 = 1_000_000_000;
const NAME: [u32; 3] = [ServiceRecord::SERVICE_ID, ServiceRecord::GID, ServiceRecord::P_KEY];

fn set(bench: &mut Bench, more: &[u32], record: &ServiceRecord) -> Result<ServiceRecord, u16> {
    ask(bench, Method::Set, &[&NAME, more].concat(), record)
}

fn ask(bench: &mut Bench, method: Method, mask: &[u32], record: &ServiceRecord) -> Result<ServiceRecord, u16> {
    let message = bench.ask(SaMad::request(method, ComponentMask::of(mask), record))?;
    Ok(ServiceRecord::decode(&message.data[..].try_into().unwrap()))
}

fn storage(bench: &Bench) -> ServiceRecord {
    let mut name = [0; 64];
    name[..7].copy_from_slice(b"storage");
    ServiceRecord {
        id: 0x77,
        gid: bench.directory.gid(bench.host(1)),
        p_key: 0xFFFF,
        lease_s: 60,
        name,
        ..Default::default()
    }
}

#[test]
fn a_service_is_there_until_its_lease_runs_out() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let record = storage(&bench);
    assert_eq!(set(&mut bench, &[ServiceRecord::LEASE, 6], &record), Ok(record.clone()));
    bench.now_ns = 20 * S;
    let found = bench.table(&[ServiceRecord::SERVICE_ID], &record).unwrap();
    assert_eq!(found, [ServiceRecord { lease_s: 40, ..record.clone() }]);
    let other = ServiceRecord { id: 0x78, ..record.clone() };
    assert_eq!(bench.get(&[ServiceRecord::SERVICE_ID], &other), Err(status::NO_RECORDS));
    // Renewed.
    set(&mut bench, &[ServiceRecord::LEASE], &record).unwrap();
    bench.now_ns = 79 * S;
    assert_eq!(bench.get(&[ServiceRecord::SERVICE_ID], &record).map(|found| found.lease_s), Ok(1));
    bench.now_ns = 80 * S;
    assert_eq!(bench.table(&[], &record), Ok(vec![]));
}

#[test]
fn a_service_is_deleted_by_what_names_it() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let record = storage(&bench);
    set(&mut bench, &[], &record).unwrap();
    bench.now_ns = 1_000_000 * S;
    assert_eq!(bench.get(&[], &record).map(|found| found.lease_s), Ok(ServiceRecord::FOR_EVER));
    let other = ServiceRecord { id: 1, ..record.clone() };
    assert_eq!(ask(&mut bench, Method::Delete, &NAME, &other), Err(status::NO_RECORDS));
    assert_eq!(ask(&mut bench, Method::Delete, &NAME, &record).map(|gone| gone.id), Ok(record.id));
    assert_eq!(ask(&mut bench, Method::Delete, &NAME, &record), Err(status::NO_RECORDS));
}

#[test]
fn a_key_guards_a_service() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let record = ServiceRecord { key: [7; 16], ..storage(&bench) };
    set(&mut bench, &[ServiceRecord::KEY], &record).unwrap();
    assert_eq!(bench.get(&[], &record).map(|found| found.key), Ok([0; 16]));
    let thief = ServiceRecord { key: [8; 16], ..record.clone() };
    assert_eq!(set(&mut bench, &[ServiceRecord::KEY], &thief), Err(status::DENIED));
    let mask = [&NAME[..], &[ServiceRecord::KEY]].concat();
    assert_eq!(ask(&mut bench, Method::Delete, &mask, &thief), Err(status::DENIED));
    assert_eq!(ask(&mut bench, Method::Delete, &NAME, &record), Err(status::DENIED));
    assert!(ask(&mut bench, Method::Delete, &mask, &record).is_ok());
}

#[test]
fn a_service_without_name_or_port_is_refused() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let record = storage(&bench);
    assert_eq!(ask(&mut bench, Method::Set, &NAME[..2], &record), Err(status::INSUFFICIENT_COMPONENTS));
    let nowhere = ServiceRecord { gid: Gid::default(), ..record };
    assert_eq!(set(&mut bench, &[], &nowhere), Err(status::INVALID_GID));
}

/// One port registers no more services than it leaves room for; what it deletes, or what expires, is free again.
#[test]
fn a_port_that_hoards_services_leaves_room_for_others() {
    let facts = Bench::new("ghost-cycle", 1).directory.facts().clone();
    let mut bench = Bench::over(facts, SaLimits { services: 8, ..SaLimits::default() });
    let record = storage(&bench);
    // Whosever port the record names, it counts as that of the port that registers it.
    let taken = |bench: &mut Bench, host, ids: std::ops::Range<u64>| {
        let mask = ComponentMask::of(&[&NAME[..], &[ServiceRecord::LEASE]].concat());
        let is_taken = |&id: &u64| {
            let asked = ServiceRecord { id, ..record.clone() };
            bench.ask_from(bench.host(host), SaMad::request(Method::Set, mask, &asked)).is_ok()
        };
        ids.filter(is_taken).count()
    };
    assert_eq!(taken(&mut bench, 0, 0..8), 4);
    assert_eq!(taken(&mut bench, 2, 10..18), 2);
    assert_eq!(taken(&mut bench, 0, 0..4), 4, "renewed, not taken anew");
    let first = ServiceRecord { id: 0, ..storage(&bench) };
    assert!(ask(&mut bench, Method::Delete, &NAME, &first).is_ok());
    assert_eq!(taken(&mut bench, 3, 20..28), 2);
    bench.now_ns = 60 * S;
    assert_eq!(taken(&mut bench, 3, 30..38), 4, "the leases have run out");
}
