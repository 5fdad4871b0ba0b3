//! A routing engine that OpenSM loads: what it writes is such that every mixture of old and new forwarding entries is
//! proved free of deadlock and loops, whatever order it writes them in. docs/OPENSM.md tells how it is used.
//!
//! `decision` decides, run after run, over values alone; `sight` makes those values of what OpenSM knows, `plans`
//! plans, `answer` is what comes of a run, `handover` hands a plan over wave by wave, `parts` a wave part by part where
//! it must be, `memory` compares with the last run, `ahead` proves what is in force while OpenSM is idle, `worker`
//! keeps `evidence` and `metrics`, `levels` gives out service levels where that is wanted, `multicast` judges and
//! builds trees, which `watch` looks after. `ffi` alone touches C, and the shim (`shim/shim.c`) alone touches OpenSM's
//! structures.

#![deny(unsafe_code)]

pub mod ahead;
pub mod answer;
pub mod config;
pub mod decision;
pub mod evidence;
// A program of its own has nothing that the shim could call.
#[cfg(not(test))]
#[allow(unsafe_code)]
mod ffi;
pub mod handover;
pub mod levels;
pub mod memory;
pub mod metrics;
pub mod multicast;
pub mod parts;
#[cfg(not(test))]
mod plain;
pub mod plans;
pub mod sight;
pub mod watch;
pub mod worker;
