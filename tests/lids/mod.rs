//! LID assignment from paths: renaming, heuristics, the optimum, and LIDs for each port by its own LMC.

mod blocks;
mod colouring;
mod heuristics;
mod net;
mod renaming;
mod tables;
