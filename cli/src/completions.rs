//! `signorini completions` and `signorini man`: what a shell and `man` know of the command line,
//! made from the description that `--help` prints.

use clap::Command;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `signorini completions`.
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// Arguments of `signorini man`.
#[derive(clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct Man {
    /// The folder that the pages are written to, one for each subcommand; without it the first page
    /// is printed.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const COMPLETIONS_EXAMPLES: &str = "Examples:
  signorini completions bash > ~/.local/share/bash-completion/completions/signorini
  signorini completions zsh > ~/.zfunc/_signorini
  signorini completions fish > ~/.config/fish/completions/signorini.fish";

const MAN_EXAMPLES: &str = "Examples:
  signorini man | man -l -
  signorini man --out ~/.local/share/man/man1";

/// Prints the completions of a shell.
pub fn completions(arguments: &Completions, mut command: Command) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "signorini", &mut text);
    print(&text)
}

/// Prints the manual page, or writes all of them.
pub fn man(arguments: &Man, command: Command) -> ExitCode {
    let Some(folder) = &arguments.out else {
        let mut text = Vec::new();
        return match clap_mangen::Man::new(command).render(&mut text) {
            Ok(()) => print(&text),
            Err(e) => wrong(&e.to_string()),
        };
    };
    match pages(folder, command) {
        Ok(count) => {
            println!("{count} pages written to {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(e) => wrong(&format!("cannot write to {}: {e}", folder.display())),
    }
}

/// Writes `signorini.1` and a page `signorini-NAME.1` for each subcommand; how many.
fn pages(folder: &Path, mut command: Command) -> io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    command.build();
    let subcommands: Vec<Command> =
        command.get_subcommands().filter(|c| c.get_name() != "help").cloned().collect();
    for sub in &subcommands {
        page(folder, &format!("signorini-{}", sub.get_name()), sub.clone())?;
    }
    page(folder, "signorini", command)?;
    Ok(subcommands.len() + 1)
}

fn page(folder: &Path, name: &str, command: Command) -> io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    signorini::whole::write_whole(&folder.join(format!("{name}.1")), &text)
}

fn print(text: &[u8]) -> ExitCode {
    match io::stdout().write_all(text) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => wrong(&e.to_string()),
        _ => ExitCode::SUCCESS,
    }
}

fn wrong(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}
