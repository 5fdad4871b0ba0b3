#![no_main]

use reconfig::journal::{JournalRecord, decode};

// Whatever the damage: read or refused. A journal that is read begins with `opened`, and its plans are read or refused,
// too.
reconfig_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok((entries, _)) = decode(data) else { return };
    assert!(entries.first().is_none_or(|entry| matches!(entry.record, JournalRecord::Opened { .. })));
    for entry in entries {
        if let JournalRecord::Begun(begun) = entry.record {
            let _ = begun.plan();
        }
    }
});
