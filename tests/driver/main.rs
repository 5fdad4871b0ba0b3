//! The driver on a simulated subnet under traffic: whole changes, and what comes and goes in a row.

mod bench;
#[path = "../support/bundled.rs"]
mod bundled;
mod changes;
mod growth;
#[path = "../support/with_tables.rs"]
mod with_tables;
