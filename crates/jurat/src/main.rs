//! The `jurat` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jurat::cli::main()
}
