//! Other programs: started, given a time limit, and reaped whatever happens.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a program is asked whether it ended, or a file whether it holds a word.
pub const POLL: Duration = Duration::from_millis(2);

/// How a program ended.
pub struct Ended {
    /// What it printed.
    pub output: String,
    /// What it said on standard error.
    pub errors: String,
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// `exit code 3`, `signal 11` or `stopped after 60 s`.
    pub how: String,
    /// From start to end on the wall.
    pub seconds: f64,
}

/// Runs a program to its end, or ends it at the limit. Its output passes through files, so that no pipe fills up.
pub fn run(command: &mut Command, folder: &Path, name: &str, limit: Duration) -> io::Result<Ended> {
    let (printed, said) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
    let start = Instant::now();
    let mut program = Background::start(command, &printed, &said)?;
    let status = loop {
        if let Some(status) = program.child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            break None;
        }
        std::thread::sleep(POLL);
    };
    let seconds = start.elapsed().as_secs_f64();
    drop(program);
    let how = match status.map(|status| (status.code(), status.signal())) {
        None => format!("stopped after {} s", limit.as_secs()),
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, signal)) => format!("signal {}", signal.unwrap_or_default()),
    };
    let code = status.and_then(|status| status.code());
    Ok(Ended { output: lossy(&printed)?, errors: lossy(&said)?, code, how, seconds })
}

/// A program that runs beside this one; it ends with the value.
pub struct Background {
    child: Child,
}

impl Background {
    pub fn start(command: &mut Command, printed: &Path, said: &Path) -> io::Result<Background> {
        command.stdin(Stdio::null()).stdout(File::create(printed)?).stderr(File::create(said)?);
        Ok(Background { child: command.spawn()? })
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until the file holds the word: an error where the program ends before it, or the limit passes.
    pub fn wait_for(&mut self, word: &str, file: &Path, limit: Duration) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
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
}

impl Drop for Background {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: a program that ended is not killed, and is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Which of these programs are not installed.
pub fn missing(programs: &[&str]) -> Vec<String> {
    let found = |name: &str| folders().any(|folder| folder.join(name).is_file());
    programs.iter().filter(|name| !found(name)).map(ToString::to_string).collect()
}

/// Where programs are looked for: Debian keeps opensm where only root looks.
fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect::<Vec<_>>().into_iter()
}

/// A text file: names in it may be anything.
pub fn lossy(file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(file)?).into_owned())
}
