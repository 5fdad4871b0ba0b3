#![no_main]

use reconfig::acm::Hosts;

// What is read has a GID for every address that it lists.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(hosts) = Hosts::read(data, "fuzz") {
        assert!(hosts.iter().all(|(address, gid)| hosts.get(address) == Some(gid)));
    }
});
