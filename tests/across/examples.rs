//! Wholes made by hand.
