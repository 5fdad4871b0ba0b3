//! Temporary.
mod sim;
mod simulate;
mod support;
mod what_if;
