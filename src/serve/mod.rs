//! ibsim's datagram protocol in front of the simulated fabric, so that OpenSM and infiniband-diags run on it.

mod clients;
mod console;
mod pace;
pub mod protocol;
mod waits;
