//! Writes every bundled fabric: `cargo run --example make_fixtures [DIRECTORY]`, `fixtures` by default.

use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{BUNDLED, BUNDLED_SUBNETS};
use reconfig::fabric::subnets::list;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let directory = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    let (topologies, subnets) = (directory.join("topologies"), directory.join("subnets"));
    std::fs::create_dir_all(&topologies)?;
    std::fs::create_dir_all(&subnets)?;
    for bundled in BUNDLED {
        let file = topologies.join(bundled.name).with_extension("ibnetdiscover");
        std::fs::write(&file, write(&bundled.generate()?, Format::Ibnetdiscover)?)?;
        println!("{}: {}", file.display(), bundled.topology);
    }
    for bundled in BUNDLED_SUBNETS {
        for (name, text) in list::write(&bundled.generate()?, bundled.name, Format::Ibnetdiscover)? {
            std::fs::write(subnets.join(name), text)?;
        }
        println!("{}: {} × {}", subnets.join(bundled.name).display(), bundled.subnets, bundled.topology);
    }
    Ok(())
}
