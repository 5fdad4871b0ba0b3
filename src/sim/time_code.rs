//! Times as PortInfo and SwitchInfo code them: n for 4.096 µs × 2^n.

/// A lifetime limit as HOQLife and LifeTimeValue code it: the least n with 4.096 µs × 2^n not below it; 20 for none.
pub fn limit_code(limit_ns: u64) -> u8 {
    match limit_ns {
        0 => 20,
        limit => (0..20).find(|n| 4096 << n >= limit).unwrap_or(20),
    }
}

/// The limit that a code stands for, in nanoseconds; none from 20 on.
#[inline]
pub fn coded_limit_ns(code: u8) -> Option<u64> {
    (code < 20).then(|| 4096 << code)
}
