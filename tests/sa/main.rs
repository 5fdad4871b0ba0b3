//! Subnet administration: its answers from bundled fabrics, its multi-packet protocol over a bad channel, and both beside
//! OpenSM's on the same fabric.

#[path = "../support/across.rs"]
mod across;
mod answers;
mod bench;
mod beside_opensm;
#[path = "../support/brought_up.rs"]
mod brought_up;
#[path = "../support/bundled.rs"]
mod bundled;
#[path = "../support/on_path.rs"]
mod on_path;
mod remote;
mod rmpp;
mod running;
mod services;
mod subscriptions;
#[path = "../support/tools.rs"]
mod tools;
