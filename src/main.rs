//! The binary: hands its arguments to the library and its answer to the shell.

use std::process::ExitCode;

fn main() -> ExitCode {
    reconfig::cli::main()
}
