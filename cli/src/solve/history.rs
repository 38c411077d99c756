//! The table of `--history`: the error over the work.

use super::Arguments;
use signorini::solve::Report;
use std::path::PathBuf;

/// The table of `--history`.
pub(super) struct History {
    path: Option<PathBuf>,
    several: bool,
    text: String,
}

impl History {
    pub(super) fn new(arguments: &Arguments) -> History {
        let several = arguments.files.len() > 1 || arguments.solver.0.len() > 1;
        let head = if several {
            "problem,solver,work,joule,best,wall_s\n"
        } else {
            "work,joule,best,wall_s\n"
        };
        History { path: arguments.history.clone(), several, text: head.into() }
    }

    pub(super) fn add(&mut self, problem: &str, solver: &str, report: &Report) {
        for s in &report.history {
            if self.several {
                self.text += &format!("\"{}\",{},", problem.replace('"', "\"\""), solver);
            }
            self.text += &format!("{},{:e},{:e},{:e}\n", s.work, s.joule, s.best, s.wall);
        }
    }

    pub(super) fn write(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        signorini::whole::write_whole(path, self.text.as_bytes())
            .map_err(|e| format!("{}: {e}", path.display()))
    }
}
