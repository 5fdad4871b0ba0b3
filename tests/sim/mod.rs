//! The simulated fabric from outside: what becomes of packets, and the whole subnet as managers see it.

mod agents;
mod arrivals;
mod blamed;
mod gmp;
mod loaded;
mod novice;
mod outages;
mod packets;
mod processor;
mod queueing;
mod stalls;
mod subnet;
