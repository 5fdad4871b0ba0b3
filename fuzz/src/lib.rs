//! The property that every fuzz target of the wire holds a format to: what decodes encodes to bytes that decode to the
//! same.

pub use libfuzzer_sys;

/// A target for an attribute, which decodes from any bytes of its length.
#[macro_export]
macro_rules! attribute {
    ($attribute:ty) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            if let Ok(data) = data.try_into() {
                let value = <$attribute>::decode(data);
                assert_eq!(<$attribute>::decode(&value.encode()), value);
            }
        });
    };
}

/// A target for a class of MADs, which refuses what is not of its class.
#[macro_export]
macro_rules! mad {
    ($mad:ty) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            if let Ok(data) = data.try_into()
                && let Ok(mad) = <$mad>::decode(data)
            {
                assert_eq!(<$mad>::decode(&mad.encode()), Ok(mad));
            }
        });
    };
}
