//! The simulated fabric: a deterministic discrete-event model at packet level.
