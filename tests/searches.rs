//! Tests that search for long by code of their own: they are optimised, and the rest of the suite is not.

mod model;

/// What they need of `tests/support`.
mod support {
    pub(crate) mod fabrics;
    pub(crate) mod proof;
    mod thorough;

    pub(crate) use thorough::is_thorough;
}
