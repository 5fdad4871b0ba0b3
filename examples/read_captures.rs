//! What is read of a folder of files, and what is not: one row a file; of the bundled fabrics without one.
//! `cargo run --release --example read_captures -- FOLDER`

use reconfig::fabric::format::{Format, read_noting};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fixtures/topologies".to_string());
    println!("| file | read as | switches / others / links | said |\n|---|---|---|---|");
    for file in files_below(Path::new(&folder))? {
        let name = file.strip_prefix(&folder)?.display().to_string();
        let bytes = std::fs::read(&file)?;
        match read_noting(&bytes, &name) {
            Err(error) => println!("| {name} | refused | | {}: {} |", error.problem(), error.expected()),
            Ok(reading) => {
                let (fabric, switches) = (&reading.fabric, reading.fabric.switches().count());
                let mut said: Vec<String> = reading.notices.iter().map(ToString::to_string).collect();
                said.extend(reading.incomplete.map(|missing| format!("INCOMPLETE: {missing}")));
                let (others, links) = (fabric.node_count() - switches, fabric.links().count());
                let format = Format::detect(&String::from_utf8_lossy(&bytes));
                println!("| {name} | {format} | {switches} / {others} / {links} | {} |", said.join("; "));
            }
        }
    }
    Ok(())
}

/// Every file in a folder and in those below it, by name.
fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}
