//! Writes every bundled fabric: `cargo run --example make_fixtures [DIRECTORY]`, `fixtures/topologies` by default.

use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::BUNDLED;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/topologies");
    let directory = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    for bundled in BUNDLED {
        let file = directory.join(bundled.name).with_extension("ibnetdiscover");
        std::fs::write(&file, write(&bundled.generate()?, Format::Ibnetdiscover)?)?;
        println!("{}: {}", file.display(), bundled.topology);
    }
    Ok(())
}
