//! The interpreter of our scripts.

use super::tools::all_there;
use std::process::Command;
use std::sync::LazyLock;

/// The program behind `python3`; none, visibly, where there is none. What a version manager puts in its place on the
/// path takes longer to start than the interpreter, and tests start it a hundred times.
pub fn python() -> Option<&'static str> {
    static PROGRAM: LazyLock<Option<String>> = LazyLock::new(|| {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
        let path = String::from_utf8(asked.stdout).ok()?.trim().to_string();
        Some(path).filter(|path| !path.is_empty())
    });
    let program = PROGRAM.as_deref();
    let missing = program.is_none().then(|| "python3".to_string());
    all_there(missing.as_slice(), "python3");
    program
}
