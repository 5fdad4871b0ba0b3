//! Compiles the shim against OpenSM's own headers and beside the structures of Rust, and exports the one symbol that
//! OpenSM looks up.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[path = "src/plain.rs"]
mod plain;

/// Where Debian's libopensm-dev has them; RECONFIG_OPENSM_INCLUDE names another place.
const INCLUDE: &str = "/usr/include/infiniband";

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=src/plain.rs");
    println!("cargo:rerun-if-env-changed=RECONFIG_OPENSM_INCLUDE");
    let include = std::env::var("RECONFIG_OPENSM_INCLUDE").unwrap_or_else(|_| INCLUDE.to_string());
    let header = Path::new(&include).join("opensm/osm_event_plugin.h");
    if !header.is_file() {
        eprintln!(
            "{} is not there: the plugin is compiled against the headers of the OpenSM that will load it. On Debian: \
             apt-get install libopensm-dev libibmad-dev libibumad-dev. Elsewhere name the folder that holds \
             opensm/osm_event_plugin.h with RECONFIG_OPENSM_INCLUDE.",
            header.display()
        );
        std::process::exit(1);
    }
    println!("cargo:rerun-if-changed={}", header.display());
    cc::Build::new()
        .files(["shim/shim.c", "shim/hops.c", "shim/multicast.c"])
        .file(comparison())
        .include("shim")
        .include(&include)
        // Its headers compare signed with unsigned and leave parameters unused.
        .flag_if_supported("-Wno-sign-compare")
        .flag_if_supported("-Wno-unused-parameter")
        .compile("reconfig_shim");
    // A library of Rust exports what Rust defines; this symbol is of C, because its type is OpenSM's.
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={folder}/shim/exports.map");
    // The tests use the rest of the library; nothing in them calls what OpenSM alone defines.
    println!("cargo:rustc-link-arg-tests=-Wl,--unresolved-symbols=ignore-all,-z,lazy");
}

/// C that compiles only where its structures are those of Rust.
fn comparison() -> PathBuf {
    // Sizes here are those of the machine that builds.
    let pointer = std::env::var("CARGO_CFG_TARGET_POINTER_WIDTH").expect("cargo sets it");
    assert_eq!(pointer, usize::BITS.to_string(), "the plugin is built on a machine of the width that it runs on");
    let mut text = "#include <stddef.h>\n#include \"shim.h\"\n".to_string();
    for (name, value) in plain::CONSTANTS {
        let _ = writeln!(text, "_Static_assert({name} == {value}, \"{name} is another number in plain.rs\");");
    }
    let all = [
        plain::PlainPort::LAYOUT,
        plain::PlainNode::LAYOUT,
        plain::PlainFabric::LAYOUT,
        plain::PlainTree::LAYOUT,
        plain::PlainMember::LAYOUT,
    ];
    for (name, size, fields) in all {
        let _ =
            writeln!(text, "_Static_assert(sizeof(struct {name}) == {size}, \"{name} has another size in plain.rs\");");
        for (field, offset, size) in fields {
            let own = format!("((struct {name} *)0)->{field}");
            let _ = writeln!(
                text,
                "_Static_assert(offsetof(struct {name}, {field}) == {offset} && sizeof({own}) == {size}, \
                 \"{name}.{field} is elsewhere, or another, in plain.rs\");"
            );
        }
    }
    let file = Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join("layout.c");
    std::fs::write(&file, text).expect("cargo's folder can be written to");
    file
}
