//! Proof across subnets, held to an oracle that follows packets one by one from host to host.

mod examples;
mod oracle;
mod random;
