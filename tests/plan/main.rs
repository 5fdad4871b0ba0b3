//! Plans: of every scheme on every bundled fabric, as the machine carries them out, and by the commands `plan` and `check`.

#[path = "../support/brought_up.rs"]
mod brought_up;
#[path = "../support/bundled.rs"]
mod bundled;
#[path = "../support/capture.rs"]
mod capture;
#[path = "../support/chart.rs"]
mod chart;
mod command;
#[path = "../support/conformance.rs"]
mod conformance;
#[path = "../support/corpus.rs"]
mod corpus;
mod machine;
mod plans;
#[path = "../support/proof.rs"]
mod proof;
#[path = "../support/removal.rs"]
mod removal;
