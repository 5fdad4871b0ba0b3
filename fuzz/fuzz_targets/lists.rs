#![no_main]

use reconfig::fabric::format::read_names;
use reconfig::lid::Guid2Lid;

// Whatever the damage: read or refused; LIDs that are read are written as they were read.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = read_names(data, "fuzz");
    if let Ok(lids) = Guid2Lid::read(data, "fuzz") {
        let again = Guid2Lid::read(lids.write().as_bytes(), "again").expect("what is written can be read");
        assert_eq!(again.write(), lids.write());
    }
});
