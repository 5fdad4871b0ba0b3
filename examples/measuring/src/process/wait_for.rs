//! External programs that report when they are ready.

use super::background::{Background, lossy};
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which a file is searched for a word.
const POLL: Duration = Duration::from_millis(2);

/// Waits until the file holds the word: an error where the program ends before it, or the limit passes.
pub fn wait_for(program: &mut Background, word: &str, file: &Path, limit: Duration) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let ended = program.child.try_wait().map_err(|error| error.to_string())?;
        if lossy(file).is_ok_and(|text| text.contains(word)) {
            return Ok(());
        }
        if let Some(status) = ended {
            return Err(format!("it ended ({status}) before `{word}` stood in {}", file.display()));
        }
        if start.elapsed() > limit {
            return Err(format!("no `{word}` in {} after {} s", file.display(), limit.as_secs()));
        }
        std::thread::sleep(POLL);
    }
}
