//! The prover against oracles that share nothing with it, and the certificates that it writes.

mod answers;
mod base;
mod certificate;
mod prover;
mod transitions;
