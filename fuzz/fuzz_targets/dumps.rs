#![no_main]

use reconfig::fabric::Fabric;
use reconfig::fabric::generate::BUNDLED;
use reconfig::tables::dump::{read_fdbs, read_lfts, read_path_sls, read_sl_to_vl};
use std::sync::LazyLock;

static FABRIC: LazyLock<Fabric> = LazyLock::new(|| BUNDLED[0].generate().expect("bundled fabrics can be generated"));

// Whatever the damage: read or refused.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = read_lfts(data, "fuzz", &FABRIC);
    let _ = read_fdbs(data, "fuzz", &FABRIC);
    let _ = read_sl_to_vl(data, "fuzz", &FABRIC);
    let _ = read_path_sls(data, "fuzz", &FABRIC);
});
