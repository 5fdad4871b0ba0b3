//! A simulated fabric and a driver in one run.
