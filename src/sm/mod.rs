//! The subnet manager that runs for good: brings a subnet up, keeps it routed, and answers whoever asks.

pub mod election;
pub mod lid_file;
pub mod pace;
