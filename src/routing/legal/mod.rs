//! Legal paths: which turns a rule allows, how far everything is by such paths, and the ways to choose among them.
//!
//! On entry: a fabric, what is demanded, a [`TurnModel`] and a root. A [`TurnRule`] numbers the switches that the
//! root reaches; a channel leads *up* when it leads to a lower number. A path is legal when nothing of it leads up
//! after something led down. Along a legal path numbers fall, then rise, so the union of all dependencies of legal
//! paths is acyclic: order channels up by falling, then channels down by rising number of the switch that they leave.
//! On return: ways as lists of channels, legal by construction, and path sets made of them. A part of a legal path is
//! legal, and so is a legal path from which a round was cut out: hence no shortest legal path passes a switch twice.
//! Lacks on purpose: rules that no numbering of the switches expresses, and what is done with the paths (engines).

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
