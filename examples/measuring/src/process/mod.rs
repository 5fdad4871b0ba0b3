//! Programs that we did not write: started, run to their end, waited for.

pub mod background;
pub mod programs;
pub mod run;
pub mod under_ibsim;
pub mod wait_for;
pub mod working_folder;
