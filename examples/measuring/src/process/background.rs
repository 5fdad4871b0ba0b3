//! Other programs beside this one: started, and reaped whatever happens.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A program that runs beside this one; dropping the value ends it.
pub struct Background {
    pub child: Child,
}

impl Background {
    pub fn start(command: &mut Command, printed: &Path, said: &Path) -> io::Result<Background> {
        command.stdin(Stdio::null()).stdout(File::create(printed)?).stderr(File::create(said)?);
        Ok(Background { child: command.spawn()? })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: a program that ended is not killed, and is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text file: names in it may be anything.
pub fn lossy(file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(file)?).into_owned())
}
