//! Plans as files, schema `reconfig.plan/2`: one JSON object that holds everything a checker needs.
//!
//! Devices are named by GUID, ports by node GUID and number, so that a file can be compared with a running subnet. The
//! fabric before the change, newcomers included, is there whole (schema `reconfig.fabric/1`); the other three are lists
//! of what they lack. Forwarding entries are hexadecimal, two digits for each LID; SL-to-VL tables have one digit for
//! each service level, from SL 0; port masks have two digits for each byte, port 0 the lowest bit of the first. On
//! return from reading, every name exists in the fabric and every number is in range; whether the plan is sound is for
//! `check` and `verify` to judge. Reading what was written gives the same plan.

mod hex;
mod layout;
mod reading;
mod rows;
mod writing;

use super::{FabricDigest, Plan};
use crate::fabric::format::ReadError;

/// The value of the field `schema`.
const SCHEMA: &str = "reconfig.plan/2";

/// Why a file is not a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanReadError {
    /// Not JSON, or not of this form; the message gives line and column.
    #[error("reading a plan: {0}")]
    Json(#[from] serde_json::Error),
    /// Another schema.
    #[error("reading a plan: its schema is `{found}`, expected `{SCHEMA}`")]
    Schema {
        /// The schema in the file.
        found: String,
    },
    /// Its fabric cannot be read.
    #[error("reading the fabric of a plan: {0}")]
    Fabric(#[from] ReadError),
    /// Its fabric is not the one that the plan was made for.
    #[error(
        "reading a plan: it is for the fabric with digest {wanted}, but the fabric in it has {found}: it was edited"
    )]
    Digest {
        /// The plan's digest.
        wanted: FabricDigest,
        /// The digest of the fabric in the file.
        found: FabricDigest,
    },
    /// A name or a number that the fabric does not have.
    #[error("reading {place} of a plan: {fault}")]
    Fault {
        /// The part of the plan.
        place: String,
        /// The fault.
        fault: String,
    },
}

impl Plan {
    /// The plan as the text of a file.
    pub fn to_json(&self) -> String {
        writing::text(self)
    }

    /// Parses a plan.
    ///
    /// # Errors
    /// Those of [`PlanReadError`].
    pub fn from_json(text: &str) -> Result<Plan, PlanReadError> {
        Plan::read(text, "plan")
    }

    /// Parses a plan from a file of this name.
    ///
    /// # Errors
    /// Those of [`PlanReadError`].
    pub fn read(text: &str, file: &str) -> Result<Plan, PlanReadError> {
        reading::plan(text, file)
    }
}
