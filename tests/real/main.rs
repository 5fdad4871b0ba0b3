//! Real subnet managers on real ibsim, seen from outside by the tools that every administrator has: ibnetdiscover, dump_fts,
//! ibroute, smpquery, saquery, ibtracert, ibdmchk, OpenSM itself. Without these programs each test says `SKIPPED`.
//! `served` and `subnet` serve and run, `told` reads what tools print, `picture` puts it together, `agree` holds one tool against the
//! other, `judges` asks whether the routing is free of deadlock.

#[path = "../support/across.rs"]
mod across;
mod agree;
#[path = "../../examples/process/background.rs"]
mod background;
mod brings_up;
#[path = "../support/brought_up.rs"]
mod brought_up;
mod elsewhere;
mod fabrics;
mod file_engine;
mod judges;
mod lids;
mod loses_the_root;
mod opensm;
mod opensm_agrees;
mod partitions;
mod picture;
#[path = "../../examples/process/programs.rs"]
mod programs;
#[path = "../../examples/process/run.rs"]
mod run;
mod served;
mod sm;
mod started;
mod subnet;
mod survives;
mod told;
#[path = "../support/tools.rs"]
mod tools;

use programs::missing;
use tools::all_there;

/// The program under test.
fn reconfig() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_reconfig").into()
}

/// What all of it takes.
const PROGRAMS: [&str; 11] = [
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
];

/// Whether all programs are there; says so where they are not.
fn installed() -> bool {
    all_there(&missing(&PROGRAMS), "opensm, ibsim-utils, infiniband-diags, ibutils")
}
