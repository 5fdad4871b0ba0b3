//! The command line: what was typed, and what it means.
