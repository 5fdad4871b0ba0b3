//! The port of this machine by which a command reaches its subnet.

use reconfig::ids::PortNum;
use reconfig::transport::umad::{UmadOptions, UmadRole};

/// Which port.
#[derive(Debug, clap::Args)]
pub(super) struct PortArguments {
    /// Channel adapter to use [default: the first with a suitable port].
    #[arg(long, value_name = "NAME")]
    ca: Option<String>,
    /// Port of the adapter [default: the first that is ACTIVE, else the first with a link].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=254))]
    port: Option<u8>,
}

impl PortArguments {
    /// How it is opened.
    pub(super) fn options(&self, role: UmadRole) -> UmadOptions {
        UmadOptions { adapter: self.ca.clone(), port: self.port.map(PortNum), role, ..UmadOptions::default() }
    }
}
