//! `reconfig serve`: the switchboard by itself, and the real programs of the field in front of it. Those print
//! `SKIPPED` where they are not installed (`apt-get install opensm ibsim-utils infiniband-diags`).

mod commands;
mod devices;
mod diags;
mod handover;
mod harness;
mod joins;
mod managers;
mod opensm;
mod switchboard;
