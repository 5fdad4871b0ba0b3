//! `reconfig serve`: the switchboard by itself, and the real programs of the field in front of it. Those print `SKIPPED`
//! where they are not installed (`apt-get install opensm ibsim-utils infiniband-diags`).

mod commands;
mod diags;
mod harness;
#[path = "../support/on_path.rs"]
mod on_path;
mod opensm;
mod switchboard;
#[path = "../support/tools.rs"]
mod tools;
