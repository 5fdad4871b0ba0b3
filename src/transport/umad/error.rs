//! Errors of a port, and what to do about them.

use super::adapters::ChoiceError;
use super::library::NAME;
use crate::ids::PortNum;
use std::io;

/// Why a port could not be listed or opened.
#[derive(Debug, thiserror::Error)]
pub enum UmadError {
    /// libibumad is missing, or lacks a function.
    #[error("cannot load {NAME}: {0}; install it (Debian: apt-get install libibumad3, Red Hat: dnf install libibumad)")]
    Library(String),
    /// The kernel does not report its adapters.
    #[error("cannot list the InfiniBand adapters of this machine: {0}")]
    List(io::Error),
    /// An adapter cannot be described.
    #[error("cannot read what the kernel says of adapter `{adapter}` in /sys/class/infiniband/{adapter}: {error}")]
    Describe {
        /// Its name.
        adapter: String,
        /// Why not.
        error: io::Error,
    },
    /// No port could be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The kernel has no user MAD support.
    #[error(
        "cannot open port {port} of `{adapter}`: the kernel offers no user MADs; load its module (modprobe ib_umad)"
    )]
    NoUserMads {
        /// The adapter.
        adapter: String,
        /// Its port.
        port: PortNum,
    },
    /// Permission denied.
    #[error(
        "cannot open {device} for port {port} of `{adapter}`: permission denied; run as root, or let a udev rule give \
         the device to the service's group"
    )]
    Permission {
        /// The device.
        device: String,
        /// The adapter.
        adapter: String,
        /// Its port.
        port: PortNum,
    },
    /// Any other error.
    #[error("cannot open port {port} of `{adapter}`: {error}")]
    Open {
        /// The adapter.
        adapter: String,
        /// Its port.
        port: PortNum,
        /// Why not.
        error: io::Error,
    },
    /// Another program manages from this port.
    #[error(
        "cannot manage from port {port} of `{adapter}`: {what} is taken ({error}); is another subnet manager (OpenSM?) \
         running on this port? Stop it, or choose another port"
    )]
    Taken {
        /// The adapter.
        adapter: String,
        /// Its port.
        port: PortNum,
        /// The management class or device that is taken.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The thread cannot start.
    #[error("cannot start the thread that reads MADs: {0}")]
    Thread(io::Error),
}

impl UmadError {
    pub(super) fn library(error: libloading::Error) -> UmadError {
        UmadError::Library(error.to_string())
    }

    pub(super) fn open(adapter: &str, port: PortNum, error: io::Error) -> UmadError {
        let adapter = adapter.to_string();
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                UmadError::Permission { device: "/dev/infiniband/umad*".into(), adapter, port }
            }
            io::ErrorKind::Unsupported => UmadError::NoUserMads { adapter, port },
            _ => UmadError::Open { adapter, port, error },
        }
    }

    /// The kernel answers `invalid argument` if another agent has already registered one of the methods.
    pub(super) fn register(adapter: &str, port: PortNum, class: u8, error: io::Error) -> UmadError {
        let (adapter, what) = (adapter.to_string(), format!("management class {class:#04x}"));
        match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::ResourceBusy => {
                UmadError::Taken { adapter, port, what, error }
            }
            io::ErrorKind::PermissionDenied => UmadError::Permission { device: what, adapter, port },
            _ => UmadError::Open { adapter, port, error },
        }
    }

    pub(super) fn announce(adapter: &str, port: PortNum, device: String, error: io::Error) -> UmadError {
        let adapter = adapter.to_string();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
                UmadError::Taken { adapter, port, what: device, error }
            }
            io::ErrorKind::PermissionDenied => UmadError::Permission { device, adapter, port },
            _ => UmadError::Open { adapter, port, error },
        }
    }
}

/// Why an open port is no longer usable.
pub(super) fn gone(adapter: &str, port: PortNum, error: &io::Error) -> String {
    format!(
        "sending through {adapter} port {port} failed: {error}; the adapter, its driver or ibsim went away: start again \
         when it is back"
    )
}
