//! Real subnet managers on real ibsim, seen from outside by the tools that every administrator has: ibnetdiscover,
//! dump_fts, ibroute, smpquery, saquery, ibtracert, ibdmchk, OpenSM itself. Without these programs each test says
//! `SKIPPED`. `served` and `subnet` serve and run, `told` reads what tools print, `picture` puts it together, `agree`
//! holds one tool against the other, `judges` asks whether the routing is free of deadlock.

mod agree;
mod brings_up;
mod channels;
mod elsewhere;
mod fabrics;
mod file_engine;
mod foresees;
mod groups;
mod joins;
mod judges;
mod lids;
mod loses_the_root;
mod opensm;
mod opensm_agrees;
mod page;
mod partitions;
mod picture;
mod recovers;
mod removals;
mod scene;
mod sm;
mod subnet;
mod surroundings;
mod survives;
mod told;
mod watches;

use crate::support::tools::all_there;
use reconfig_measuring::process::programs::missing;

/// The program under test.
fn reconfig() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_reconfig").into()
}

/// What all of it takes.
const PROGRAMS: [&str; 12] = [
    "ibsim",
    "ibsim-run",
    "opensm",
    "ibnetdiscover",
    "dump_fts",
    "ibroute",
    "smpquery",
    "saquery",
    "ibtracert",
    "sminfo",
    "ibdmchk",
    "python3",
];

/// Does this with each, side by side: a subnet waits more than it works.
fn side_by_side<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| all.iter().for_each(|one| _ = scope.spawn(|| work(one))));
}

/// Whether all programs are there; says so where they are not.
fn installed() -> bool {
    all_there(&missing(&PROGRAMS), "opensm, ibsim-utils, infiniband-diags, ibutils, python3")
}
