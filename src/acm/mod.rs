//! From a host name or an IP address to a GID to paths: the cache of a host, in the manner of ibacm.
//!
//! [`Hosts`] reads ibacm's file of addresses. [`Resolver`] holds what is known and decides what is asked: a pure state
//! machine, with the time as an argument and without I/O. It answers a destination with every path that subnet
//! administration gave, so that sources with several LIDs can spread over them, or with the one [`Query`] to send, or that
//! it waits, or that there is none. Each destination has one query under way at most. What a reconfiguration or another
//! event of the port makes void is flushed, and answers to what was asked before are not learnt.
//! Lacks on purpose: ibacm's own multicast protocol for addresses (they come from a file, or from whoever knows the
//! neighbour's hardware address), preloaded routes (`route_preload`), its sockets.
//! Source: the slides of seed 004; rdma-core, `ibacm`: facts of its files and defaults.

mod hosts;
mod resolver;

pub use hosts::{Address, AddressError, Hosts};
pub use resolver::{Answer, Destination, Event, Learnt, Query, Resolver, Timing, Turn, Unknown};
