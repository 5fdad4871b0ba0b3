//! Repairs, judged by a walk of every class through every mixture that shares nothing with the planner
//! (`reconfig_measuring::waves`): losses, arrivals and departures on drawn fabrics, engines of one layer and of
//! several, lanes by hop. By the prover of plans as far as it can; and that the judge refuses what is wrong.

mod claims;
mod drawn;
mod parted;
mod proved;
mod subject;
