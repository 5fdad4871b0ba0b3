#![no_main]

use reconfig::fabric::subnets::partitions::Partitions;

// Whatever the damage: read or refused, and each partition has a key of its own.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok((partitions, _)) = Partitions::read(data, "fuzz") {
        let mut keys: Vec<u16> = partitions.list().iter().map(|own| own.key.0).collect();
        keys.sort();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]) && keys.iter().all(|key| (1..0x8000).contains(key)));
    }
});
