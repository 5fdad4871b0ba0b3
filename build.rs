//! Makes the program smaller, in two ways.
//!
//! The linker folds functions of the same instructions into one: three parts in a hundred of the program. Only some
//! linkers can, LLVM's among them, which Rust takes on x86-64 Linux: so a program without content is linked so first.
//! JSON Schemas are carried without their indentation, which `reconfig schema` gives back: one part in a hundred.

use std::io;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const FOLD: &str = "-Wl,--icf=all";
const SCHEMAS: &str = "docs/schemas";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_CFG_UNIX").is_some() && env::var("HOST") == env::var("TARGET") && is_understood() {
        println!("cargo:rustc-link-arg-bin=reconfig={FOLD}");
    }
    squeeze_schemas().expect("docs/schemas can be read, and the build folder written");
}

fn squeeze_schemas() -> io::Result<()> {
    println!("cargo:rerun-if-changed={SCHEMAS}");
    let folder = env::var_os("OUT_DIR").expect("Cargo names the folder");
    for file in fs::read_dir(SCHEMAS)? {
        let file = file?;
        let lines: Vec<String> =
            fs::read_to_string(file.path())?.lines().map(|line| line.trim_start().into()).collect();
        fs::write(Path::new(&folder).join(file.file_name()), lines.join("\n"))?;
    }
    Ok(())
}

fn is_understood() -> bool {
    let (Some(folder), Some(rustc)) = (env::var_os("OUT_DIR"), env::var_os("RUSTC")) else { return false };
    let source = Path::new(&folder).join("empty.rs");
    let linked = fs::write(&source, "fn main() {}").and_then(|()| {
        let mut command = Command::new(rustc);
        command.args(["-C", &format!("link-arg={FOLD}"), "-o"]).arg(source.with_extension("program")).arg(&source);
        command.output()
    });
    linked.is_ok_and(|linked| linked.status.success())
}
