#![no_main]

use reconfig::serve::protocol::Packet;

reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(packet) = Packet::decode(data) {
        assert_eq!(Packet::decode(&packet.encode()), Some(packet));
    }
});
