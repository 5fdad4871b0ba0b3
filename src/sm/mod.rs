//! The subnet manager that runs for good: brings a subnet up, keeps it routed, and answers whoever asks.

pub mod control;
