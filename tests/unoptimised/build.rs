//! Where the repository and the program are: Cargo says so to the tests of the program's own package only.

use std::path::Path;

fn main() {
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo names the package");
    let root = Path::new(&own).ancestors().nth(2).expect("the repository is two folders up");
    let out = std::env::var("OUT_DIR").expect("Cargo names the folder");
    // target/release/build/reconfig-unoptimised-…/out
    let built = Path::new(&out).ancestors().nth(3).expect("the folder of the profile is three folders up");
    println!("cargo::rustc-env=CARGO_MANIFEST_DIR={}", root.display());
    println!("cargo::rustc-env=CARGO_BIN_EXE_reconfig={}", built.join("reconfig").display());
    println!("cargo::rerun-if-changed=build.rs");
}
