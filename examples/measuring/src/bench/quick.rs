//! The quick mode of all benches.

/// Whether `RECONFIG_BENCH_QUICK` asks for a few seconds in all: figures are then rough.
pub fn quick() -> bool {
    std::env::var_os("RECONFIG_BENCH_QUICK").is_some_and(|value| value != "0")
}
