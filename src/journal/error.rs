//! The errors of a journal.

use super::line::LineFault;
use std::io;
use std::path::PathBuf;

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be opened or read.
    #[error(
        "reading the journal {path}: {source}; let the manager read and write there, name another folder (--journal), or do without (--no-journal)"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("the journal {path} is being written by another manager: name another folder (--journal)")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A record was not written; the action that it announces is not performed.
    #[error(
        "writing the journal {path}: {source}; nothing is done that is not recorded: free space there, or restart with another folder (--journal) or without (--no-journal)"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A record is damaged, and others follow it; or the journal is of another version.
    #[error("reading the journal {path}: {fault}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault, with its line.
        fault: LineFault,
    },
    /// The plan of a change that stands cannot be read.
    #[error("reading the plan in a journal: {0}")]
    Plan(String),
}

impl JournalError {
    /// Whether there is no room for what is to be written.
    pub fn is_of_a_full_disk(&self) -> bool {
        use io::ErrorKind as Kind;
        let (JournalError::Read { source, .. } | JournalError::Write { source, .. }) = self else { return false };
        matches!(source.kind(), Kind::StorageFull | Kind::QuotaExceeded)
    }
}
