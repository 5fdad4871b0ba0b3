//! Optional programs beside `reconfig`: OpenSM, ibsim, the tools of infiniband-diags and ibdmchk, started and reaped,
//! and the comparisons that are made with them.
//!
//! The tests use this library; its binaries measure and search, and no test builds them (`cargo run --release -p
//! reconfig-measuring --bin NAME`). Deliberately omitted: anything that judges `reconfig`: tests do.

pub mod agreement;
pub mod bench;
pub mod process;
pub mod served;
pub mod started;
pub mod waves;
