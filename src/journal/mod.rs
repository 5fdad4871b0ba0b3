//! Decide, record, act; replay.
