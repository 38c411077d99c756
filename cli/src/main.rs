//! `signorini`: simulate machines whose parts touch, and know how wrong it is.

fn main() -> std::process::ExitCode {
    signorini_cli::command::main(std::env::args_os())
}
