//! Programs that we did not write, for tests that compare with them.

/// Whether none is missing; prints a line otherwise, and panics where `RECONFIG_TOOLS_REQUIRED` says that all are
/// there.
pub fn all_there(missing: &[String], packages: &str) -> bool {
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let required = std::env::var_os("RECONFIG_TOOLS_REQUIRED").is_some();
        assert!(!required, "{missing} not installed, and RECONFIG_TOOLS_REQUIRED is set");
        println!("SKIPPED: {missing} not installed (Debian: {packages})");
    }
    missing.is_empty()
}
