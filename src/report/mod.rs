//! What people see of a run.
