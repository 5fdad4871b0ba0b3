//! Compiles the shim against OpenSM's own headers, and exports the one symbol that OpenSM looks up.

use std::path::Path;

/// Where Debian's libopensm-dev has them; RECONFIG_OPENSM_INCLUDE names another place.
const INCLUDE: &str = "/usr/include/infiniband";

fn main() {
    println!("cargo:rerun-if-changed=shim");
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
