//! The independent checker: judges plans without the planner or the prover.
//!
//! On entry: a [`Plan`](crate::plan::Plan) as data, from any source. On return: [`Finding`]s, each with the violated
//! rule, the wave and the values; none for a plan without faults. The rules are those that a reader of
//! docs/PROTOCOL.md would check by eye: phases and barriers in their order, writes that their devices can take,
//! classes on their own lanes, nothing touched that is in use. Freedom from deadlock is judged by [`certificate`].
//! Shares no code with planners and prover: of `plan` it uses the data alone.

pub mod certificate;
mod lint;

pub use lint::{Finding, Rule, lint};
