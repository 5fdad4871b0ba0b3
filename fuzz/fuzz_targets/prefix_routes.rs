#![no_main]

use reconfig::sa::{PrefixRoutes, Remote};

// What is read makes rules, one a line.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(routes) = PrefixRoutes::read(data, "fuzz") {
        let remote = Remote::of_prefix_routes(&routes, Remote::OPENSM_HOP_LIMIT);
        assert_eq!(remote.rules().len(), routes.iter().len());
    }
});
