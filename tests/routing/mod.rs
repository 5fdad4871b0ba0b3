//! Up*/down* routing and LID assignment; worst-case permutations of any routing.

mod up_down;
mod worst_permutation;
