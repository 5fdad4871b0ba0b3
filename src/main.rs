//! The binary: the command line ([`cli`]) and what people see of results ([`report`]), on top of the library's public
//! interface. No other program depends on either, so an edit here rebuilds no test but those that run the command.

mod cli;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
