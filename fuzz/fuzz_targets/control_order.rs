#![no_main]

use reconfig::frontend::control::ControlOrder;

// Whatever comes on the control socket: an order or none. An order that is written is read as the same.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(order) = serde_json::from_slice::<ControlOrder>(data) {
        let text = serde_json::to_string(&order).expect("orders consist of texts");
        assert_eq!(format!("{:?}", serde_json::from_str::<ControlOrder>(&text).expect("it is one")), format!("{order:?}"));
    }
});
