//! Reads `state-machines/*.yaml` and draws them.
