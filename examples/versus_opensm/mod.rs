//! The comparison of managers: the root of a served fabric dies under traffic, and OpenSM or `reconfig sm` reacts.
//!
//! A [`list::Case`] is a fabric with its roles, a [`side::Side`] a manager as it is started; [`trial::run`] makes one trial
//! in a folder of its own and reads what came of it from the simulator's books; [`table`] prints. Nothing here judges.
//! Every program has a socket name and folder of its own, a time limit, and is reaped. See docs/VERSUS.md.

#[path = "../process/background.rs"]
mod background;
pub mod list;
#[path = "../process/programs.rs"]
pub mod programs;
pub mod server;
pub mod side;
pub mod table;
pub mod trial;
#[path = "../process/wait_for.rs"]
mod wait_for;
