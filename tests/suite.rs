//! All tests that cross modules, in one binary: it links once, and tests that wait for other programs do so side by side.
//!
//! A module a topic. `cargo test --release --test suite simulate::` runs one of them; docs/TESTING.md says what each holds.

mod across;
mod agreement;
mod audit;
mod campaign;
mod cli;
mod control;
mod crashes;
mod dispersive;
mod driver;
mod election;
mod engines;
mod forged;
mod formats;
mod generate;
mod layers;
mod lids;
mod lifecycle;
mod model;
mod mutations;
mod names;
mod pages;
mod paths;
mod plan;
mod properties;
mod real;
mod repair;
mod reproduce;
mod route;
mod routing;
mod sa;
mod schemas;
mod serve;
mod sick;
mod sim;
mod simulate;
mod subnet;
mod subnets;
mod subnets_run;
mod support;
mod transcripts;
mod umad;
mod verify;
mod what_if;
mod wire;
