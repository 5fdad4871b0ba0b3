//! The file to which a journal is written.

use super::JournalError;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The number of attempts, and the pause between them, to take a lock that another process holds.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The target of a journal's writes: a file, or a test's substitute.
pub trait JournalFile {
    /// Appends bytes, and returns once they are on disk.
    ///
    /// # Errors
    /// Some of the bytes, or none, may then be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to this length.
    ///
    /// # Errors
    /// Its length is then unknown.
    fn cut(&mut self, len: u64) -> io::Result<()>;

    /// Whether the file has been unlinked: what is written to it is lost.
    fn is_removed(&self) -> bool {
        false
    }

    /// Gives the file another name, and begins one with this content under its own.
    ///
    /// # Errors
    /// The disk refuses; the file then is as before, and still the one that is written.
    fn renew(&mut self, path: &Path, kept: &Path, content: &[u8]) -> Result<(), JournalError>;
}

/// A file with the lock of its one writer. The lock ends with the process.
pub(super) struct LockedFile(File);

/// Opens a journal, or makes it and its folder.
pub(super) fn open(path: &Path) -> Result<LockedFile, JournalError> {
    let failed = |source| JournalError::Read { path: path.into(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
    let mut tries = 0..LOCK_TRIES;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // A process that was killed lets go of its files a little later.
            Err(TryLockError::WouldBlock) if tries.next().is_some() => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked { path: path.into() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
    // A new file is there after a crash only if its name is.
    sync_folder(path).map_err(failed)?;
    Ok(LockedFile(file))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

impl LockedFile {
    pub(super) fn content(&mut self, path: &Path) -> Result<Vec<u8>, JournalError> {
        let mut bytes = Vec::new();
        let read = self.0.read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|source| JournalError::Read { path: path.into(), source })
    }
}

impl JournalFile for LockedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_removed() {
            return Err(io::Error::other("the file was removed"));
        }
        self.0.write_all(bytes)?;
        self.0.sync_data()
    }

    fn is_removed(&self) -> bool {
        self.0.metadata().is_ok_and(|file| file.nlink() == 0)
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)?;
        self.0.sync_data()
    }

    fn renew(&mut self, path: &Path, kept: &Path, content: &[u8]) -> Result<(), JournalError> {
        let beside = path.with_added_extension("new");
        match begin_beside(&beside, content).and_then(|file| replace(path, kept, &beside).map(|()| file)) {
            Ok(file) => {
                *self = LockedFile(file);
                Ok(())
            }
            Err(source) => {
                // A half-written file is of no use.
                let _ = fs::remove_file(&beside);
                Err(JournalError::Write { path: path.into(), source })
            }
        }
    }
}

/// A new file with this content on disk, and its lock.
fn begin_beside(path: &Path, content: &[u8]) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().read(true).append(true).create_new(true).open(path)?;
    file.lock()?;
    file.write_all(content)?;
    file.sync_all()?;
    Ok(file)
}

/// Puts a file in the place of another one, which is kept under a second name. At no moment is there none.
fn replace(path: &Path, kept: &Path, beside: &Path) -> io::Result<()> {
    match fs::remove_file(kept) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::hard_link(path, kept)?,
    }
    fs::rename(beside, path)?;
    sync_folder(path)
}
