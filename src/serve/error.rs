//! Why a server could not begin or go on.

use std::io;
use std::path::PathBuf;

/// Why a server could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its name is taken.
    #[error("binding the socket `{name}:ctl`: {source}; another server has this name, so choose another by --socket")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// Its control socket cannot be.
    #[error("binding the control socket {path}: {source}; remove what is there, or choose another path by --control")]
    Control {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing can be recorded.
    #[error("recording to {path}: {source}; name a file that can be written by --record")]
    Record {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Signals cannot be taken.
    #[error("watching for signals: {0}")]
    Signals(io::Error),
}
