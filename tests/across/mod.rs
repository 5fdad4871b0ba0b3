//! Proof across subnets, held to an oracle that follows packets one by one from host to host.

mod command;
mod examples;
mod many;
mod oracle;
mod paths;
mod plans;
mod random;
