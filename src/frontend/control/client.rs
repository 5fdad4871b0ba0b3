//! The client side of the control socket: blocking, for commands and scripts.

use super::message::{ControlEvent, ControlOrder, Reply};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why the manager could not be queried.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No manager listens.
    #[error("no manager answers at {}: {error}; is `reconfig sm` running, and with this --socket?", path.display())]
    Nobody {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The socket may not be opened.
    #[error("the control socket {} may be opened only by the user that runs the manager, and by root", path.display())]
    Permission {
        /// The socket.
        path: PathBuf,
    },
    /// The connection broke.
    #[error("communicating with the manager at {}: {error}", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It accepts connections, and does not answer.
    #[error("the manager at {} has not answered for {} s: it is stopped, or its host is overloaded", path.display(), patience.as_secs())]
    Silent {
        /// The socket.
        path: PathBuf,
        /// How long the answer was waited for.
        patience: Duration,
    },
    /// The reply cannot be parsed.
    #[error("the manager at {} answered `{line}`: {error}; are manager and command of the same version?", path.display())]
    Unreadable {
        /// The socket.
        path: PathBuf,
        /// The reply.
        line: String,
        /// The parser's error.
        error: serde_json::Error,
    },
    /// The connection ended before the answer.
    #[error("the manager at {} ended before it answered", path.display())]
    Ended {
        /// The socket.
        path: PathBuf,
    },
}

/// A connection to a running manager.
#[derive(Debug)]
pub struct ControlClient {
    path: PathBuf,
    reader: BufReader<UnixStream>,
    patience: Option<Duration>,
}

impl ControlClient {
    /// Connects. With `patience`, an answer that takes longer is an error.
    ///
    /// # Errors
    /// No manager listens there, or the socket may not be opened.
    pub fn connect(path: &Path, patience: Option<Duration>) -> Result<ControlClient, ClientError> {
        let path = path.to_path_buf();
        let stream = match UnixStream::connect(&path) {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(ClientError::Permission { path });
            }
            Err(error) => return Err(ClientError::Nobody { path, error }),
        };
        let mut client = ControlClient { path, reader: BufReader::new(stream), patience: None };
        client.wait_for(patience)?;
        Ok(client)
    }

    /// From now on an answer that takes longer than `patience` is an error; without it none is.
    ///
    /// # Errors
    /// The connection broke.
    pub fn wait_for(&mut self, patience: Option<Duration>) -> Result<(), ClientError> {
        self.patience = patience;
        let set = self.reader.get_ref().set_read_timeout(patience);
        set.map_err(|error| ClientError::Broken { path: self.path.clone(), error })
    }

    /// Sends an order and waits for its answer; `on_event` is called for each event until then.
    ///
    /// # Errors
    /// The connection broke or the answer cannot be parsed. A refusal is an answer, not an error.
    pub fn ask(&mut self, order: &ControlOrder, mut on_event: impl FnMut(ControlEvent)) -> Result<Reply, ClientError> {
        self.give(order)?;
        loop {
            match self.next()? {
                Some(Reply::Event(event)) => on_event(event),
                Some(reply) => return Ok(reply),
                None => return Err(ClientError::Ended { path: self.path.clone() }),
            }
        }
    }

    /// Listens to events, the `last` before it first, until `on_event` returns false or the manager ends. Only the
    /// first answer, that it is heard, is waited for no longer than [`ControlClient::wait_for`] says.
    ///
    /// # Errors
    /// As for [`ControlClient::ask`].
    pub fn listen(&mut self, last: u32, mut on_event: impl FnMut(ControlEvent) -> bool) -> Result<(), ClientError> {
        self.give(&ControlOrder::Events { last })?;
        let mut reply = self.next()?;
        self.wait_for(None)?;
        while let Some(heard) = reply {
            if let Reply::Event(event) = heard
                && !on_event(event)
            {
                break;
            }
            reply = self.next()?;
        }
        Ok(())
    }

    fn give(&mut self, order: &ControlOrder) -> Result<(), ClientError> {
        let broken = |error| ClientError::Broken { path: self.path.clone(), error };
        let line = serde_json::to_string(order).map_err(|error| broken(error.into()))? + "\n";
        self.reader.get_ref().write_all(line.as_bytes()).map_err(broken)
    }

    /// The next reply; none if the connection ended.
    fn next(&mut self) -> Result<Option<Reply>, ClientError> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => Ok(None),
            Ok(_) => match serde_json::from_str(&line) {
                Ok(reply) => Ok(Some(reply)),
                Err(error) => {
                    Err(ClientError::Unreadable { path: self.path.clone(), line: line.trim().to_string(), error })
                }
            },
            Err(error) => Err(match (error.kind(), self.patience) {
                (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, Some(patience)) => {
                    ClientError::Silent { path: self.path.clone(), patience }
                }
                _ => ClientError::Broken { path: self.path.clone(), error },
            }),
        }
    }
}
