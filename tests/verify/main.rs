//! The prover against oracles that share nothing with it, and the certificates that it writes.

#[path = "../support/brought_up.rs"]
mod brought_up;
#[path = "../support/bundled.rs"]
mod bundled;
#[path = "../support/capture.rs"]
mod capture;
mod certificate;
#[path = "../support/corpus.rs"]
mod corpus;
#[path = "../support/fabrics.rs"]
mod fabrics;
mod prover;
#[path = "../support/removal.rs"]
mod removal;
mod transitions;
