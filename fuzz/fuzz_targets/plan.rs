#![no_main]

use reconfig::check;
use reconfig::plan::Plan;

// Whatever the damage: read or refused; what is read is judged, with a certificate that is none.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(plan) = Plan::read(text, "fuzz") {
        let _ = check::lint(&plan);
        assert!(check::certificate::check(&plan, data, b"{}").is_err());
    }
});
