#![no_main]

use reconfig::fabric::format::{Tolerance, read, read_tolerating};

// Whatever the damage: read or refused, strictly or not, in any format.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = read(data, "fuzz");
    let _ = read_tolerating(data, "fuzz", Tolerance::Repair);
});
