#![no_main]

use reconfig::serve::protocol::SimDatagram;

reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(packet) = SimDatagram::decode(data) {
        assert_eq!(SimDatagram::decode(&packet.encode()), Some(packet));
    }
});
