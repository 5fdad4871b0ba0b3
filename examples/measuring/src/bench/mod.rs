//! What every bench needs: a clock that others do not slow down, medians, and the quick mode.

pub mod clock;
pub mod median;
pub mod quick;
