//! Engines that give paths under a turn rule: every pair joined, every path legal, as short as legal paths are, and no
//! cycle in the dependencies of all of them together.

#[path = "../support/fabrics.rs"]
mod fabrics;

#[path = "../support/captures.rs"]
mod captures;
mod choice;
#[path = "../support/corpus.rs"]
mod corpus;
mod explicit;
mod faults;
mod legal;
mod oracle;
mod program;
mod real;
