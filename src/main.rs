//! The binary: hands its arguments to the library and its answer to the shell.

fn main() {}
