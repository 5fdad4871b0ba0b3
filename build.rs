//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Half a megabyte of addresses to be put right at the start, most of them eight bytes after the last, become twenty
    // kilobytes. The C library reads this form since 2.36 (glibc; musl: 1.2.4), and a linker that does not know it goes on without it.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
