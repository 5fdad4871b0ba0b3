//! What several groups of tests need, one noun a file.

pub mod across;
pub mod bad_input;
pub mod brought_up;
pub mod browser;
pub mod bundled;
pub mod capture;
pub mod captures;
pub mod chart;
pub mod columns;
pub mod conformance;
pub mod corpus;
pub mod fabrics;
pub mod mutilated;
pub mod processor;
pub mod proof;
pub mod properties;
pub mod python;
pub mod recovery;
pub mod removal;
pub mod schema;
pub mod short;
pub mod thorough;
pub mod tools;
pub mod with_tables;

pub use thorough::is_thorough;

use proptest::test_runner::{Config, RngSeed};

/// Random cases that are the same each time, also where cargo does not say which (`.cargo/config.toml`).
pub fn seeded(config: Config) -> Config {
    let rng_seed = match config.rng_seed {
        RngSeed::Fixed(seed) => RngSeed::Fixed(seed),
        RngSeed::Random => RngSeed::Fixed(1),
    };
    Config { rng_seed, ..config }
}
