//! Joins change, machine and subnet into one future.
