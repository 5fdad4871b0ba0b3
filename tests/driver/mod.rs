//! The driver on a simulated subnet under traffic: whole changes, and what comes and goes in a row.

mod adaptive;
mod bench;
mod changes;
mod cut_short;
mod deaf;
mod failures;
mod fence;
mod growth;
mod hosts_first;
mod liars;
mod reserved;
mod strays;
mod witness;
