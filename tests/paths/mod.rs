//! Engines that give paths under a turn rule: every pair joined, every path legal, as short as legal paths are, and no
//! cycle in the dependencies of all of them together.

mod choice;
mod explicit;
mod faults;
mod legal;
mod oracle;
mod program;
mod real;
