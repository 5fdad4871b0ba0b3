//! ServiceRecords and their leases.

use crate::sa::bench::Bench;
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
