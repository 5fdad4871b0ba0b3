//! The command `reconfig`, as it was built beside this example.

use std::path::PathBuf;

/// Where it is.
///
/// # Errors
/// It was not built; the message says how.
pub fn reconfig() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    // Examples are in a folder of their own, beside the binaries of the same profile.
    let folder = own.parent().and_then(|examples| examples.parent());
    let program = folder.map(|folder| folder.join("reconfig").with_extension(std::env::consts::EXE_EXTENSION));
    program.filter(|program| program.is_file()).ok_or_else(|| {
        let own = own.display();
        format!("`reconfig` is not beside {own}: build it first (cargo build --release)")
    })
}
