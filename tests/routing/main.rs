//! Up*/down* routing and LID assignment; worst-case permutations of any routing.

#[path = "../support/fabrics.rs"]
mod fabrics;
mod up_down;
mod worst_permutation;
