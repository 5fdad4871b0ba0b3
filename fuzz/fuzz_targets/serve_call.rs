#![no_main]

use reconfig::serve::protocol::{Call, Connect};

reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(call) = Call::decode(data) {
        assert_eq!(Call::decode(&call.encode()).as_ref(), Some(&call));
        let connect = Connect::decode(&call.data);
        let again = Connect::decode(&connect.encode());
        assert_eq!((again.id, again.qp, again.is_sm), (connect.id, connect.qp, connect.is_sm));
    }
});
