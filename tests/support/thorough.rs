//! How long tests search.

/// Whether tests run their long forms (docs/TESTING.md).
pub fn is_thorough() -> bool {
    std::env::var_os("RECONFIG_THOROUGH").is_some_and(|value| value == "1")
}
