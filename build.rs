//! Makes the program smaller.
//!
//! The linker folds functions of the same instructions into one (three parts in a hundred of the program), packs the
//! relocations that the loader applies (four), and merges strings of which one ends with another. Not every linker can do
//! so, and only glibc from 2.36 on loads packed relocations. So a program without content is linked and run with each
//! option first. JSON Schemas are carried compressed: three parts in a hundred.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const LINKER_OPTIONS: [&str; 3] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs", "-Wl,-O2"];
const SCHEMAS: &str = "docs/schemas";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_CFG_UNIX").is_some() && env::var("HOST") == env::var("TARGET") {
        for option in LINKER_OPTIONS.into_iter().filter(|option| is_understood(option)) {
            println!("cargo:rustc-link-arg-bin=reconfig={option}");
        }
    }
    compress_schemas().expect("docs/schemas can be read, and the build folder written");
}

/// All in one, since they have much in common: a line each, its name first, without the indentation that is made anew
/// when one is shown. No string of JSON has a line feed in it.
fn compress_schemas() -> io::Result<()> {
    println!("cargo:rerun-if-changed={SCHEMAS}");
    let mut lines = Vec::new();
    for file in fs::read_dir(SCHEMAS)? {
        let path = file?.path();
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        let text: String = fs::read_to_string(&path)?.lines().map(str::trim_start).collect();
        lines.push(format!("{name} {text}\n"));
    }
    lines.sort();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(lines.concat().as_bytes())?;
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("Cargo names the folder")).join("schemas.z"), encoder.finish()?)
}

fn is_understood(option: &str) -> bool {
    let (Some(folder), Some(rustc)) = (env::var_os("OUT_DIR"), env::var_os("RUSTC")) else { return false };
    let source = Path::new(&folder).join("empty.rs");
    let program = source.with_extension("program");
    let linked = fs::write(&source, "fn main() {}").and_then(|()| {
        Command::new(rustc).args(["-C", &format!("link-arg={option}"), "-o"]).arg(&program).arg(&source).output()
    });
    linked.is_ok_and(|linked| linked.status.success())
        && Command::new(program).output().is_ok_and(|ran| ran.status.success())
}
