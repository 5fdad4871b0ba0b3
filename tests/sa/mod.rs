//! Subnet administration: its answers from bundled fabrics, its multi-packet protocol over a bad channel, and both
//! beside OpenSM's on the same fabric.

mod answers;
mod bench;
mod beside_opensm;
mod connection;
mod groups;
mod remote;
mod rmpp;
mod running;
mod services;
mod subscriptions;
