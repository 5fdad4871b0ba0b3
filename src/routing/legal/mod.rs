//! Legal paths: the turns that a rule allows, distances by such paths, and ways to choose among them.
//!
//! On entry: a fabric, a demand, a [`TurnModel`] and a root. A [`TurnRule`] numbers the switches that the root reaches;
//! a channel leads *up* if it leads to a lower number. A path is legal if no channel leads up after one that led down.
//! Along a legal path numbers fall, then rise, so the union of all dependencies of legal paths is acyclic: order up
//! channels by descending, then down channels by ascending number of the switch that they leave. On return: ways as
//! lists of channels, legal by construction, and path sets made of them. A part of a legal path is legal, and so is a
//! legal path from which a loop was cut; hence no shortest legal path passes a switch twice. Deliberately omitted:
//! rules that no numbering of the switches expresses, and the use of the paths (engines).

mod ahead;
mod channels;
mod path_problem;
mod rule;
mod switches;
mod tree;
mod ways;
mod yen;

pub use rule::{TurnModel, TurnRule, random_root};

use ahead::Ahead;
pub(super) use channels::{ChannelPath, Channels, OrientedChannel};
pub(super) use path_problem::PathProblem;
pub(super) use tree::Tree;
pub(super) use ways::{Lightest, RandomWays};
pub(super) use yen::Alternatives;
