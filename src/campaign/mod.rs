//! Many runs of the simulator by one description: fabrics × changes × engines × schemes × loads × seeds.
//!
//! On entry: a [`Campaign`], read from YAML. On return: its [runs](Campaign::runs) in an order of their own, a
//! [`RunRow`] for each that is carried out, and [`summaries`] of rows, with confidence intervals. A run is a function
//! of its key: in whatever order, by however many processes runs are carried out, the same rows come of it, so a
//! campaign can be divided, killed and resumed. A run that cannot begin (an engine that does not suit the fabric, a
//! plan that is refused) is a row that says why. Deliberately omitted: files, threads and schedulers (`cli`).

mod fault;
mod row;
mod spec;
mod summary;

pub use crate::intervals::{Estimate, Share};
pub use row::RunRow;
pub use spec::{Campaign, DrawnChange, RunKey, Seeds};
pub use summary::{SchemeSummary, pooled, summaries};
