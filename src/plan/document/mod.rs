//! Plans as files, schema `reconfig.plan/2`: one JSON object that holds everything a checker needs.
//!
//! Devices are named by GUID, ports by node GUID and number, so that a file can be read beside a running subnet. The
//! fabric before the change, with what has come to it, is there whole (schema `reconfig.fabric/1`), the other three
//! as what they lack. Forwarding entries are hexadecimal, two digits a LID; SL-to-VL tables one digit a service
//! level, lanes of SL 0 first; port masks two digits a byte, port 0 the lowest bit of the first. On return from
//! reading every name is of the fabric and every number in range; whether the plan is any good is for `check` and
//! `verify` to say. Write, then read: the same plan.

mod hex;
mod layout;
mod reading;
mod rows;
mod writing;

use super::{FabricDigest, Plan};
use crate::fabric::format::ReadError;

/// What the field `schema` says.
const SCHEMA: &str = "reconfig.plan/2";

/// Why a file is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanReadError {
    /// No JSON, or not of this form; the message holds line and column.
    #[error("reading a plan: {0}")]
    Json(#[from] serde_json::Error),
    /// Another schema.
    #[error("reading a plan: its schema is `{found}`, expected `{SCHEMA}`")]
    Schema {
        /// What the file says.
        found: String,
    },
    /// The fabric in it cannot be read.
    #[error("reading the fabric of a plan: {0}")]
    Fabric(#[from] ReadError),
    /// The fabric in it is another than the one planned for.
    #[error("reading a plan: it is for the fabric with digest {wanted}, the fabric in it has {found}: it was edited")]
    Digest {
        /// What the plan says.
        wanted: FabricDigest,
        /// What the fabric in it gives.
        found: FabricDigest,
    },
    /// A name or a number that the fabric does not have.
    #[error("reading {place} of a plan: {fault}")]
    Fault {
        /// Which part.
        place: String,
        /// What is wrong there.
        fault: String,
    },
}

impl Plan {
    /// The plan as a file.
    pub fn to_json(&self) -> String {
        writing::text(self)
    }

    /// A plan from a file.
    ///
    /// # Errors
    /// What [`PlanReadError`] lists.
    pub fn from_json(text: &str) -> Result<Plan, PlanReadError> {
        Plan::read(text, "plan")
    }

    /// A plan from the text of a file of this name.
    ///
    /// # Errors
    /// What [`PlanReadError`] lists.
    pub fn read(text: &str, file: &str) -> Result<Plan, PlanReadError> {
        reading::plan(text, file)
    }
}
