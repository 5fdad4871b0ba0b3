//! The independent checker: judges plans without the planner or the prover.
