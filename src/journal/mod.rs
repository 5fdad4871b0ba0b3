//! Decide, record, act; replay. Not built yet: the machine is ready for it, since the events it took, replayed from
//! `steady` and followed by `Resume`, put the open question again (`tests/machine.rs` shows it).
