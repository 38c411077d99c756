//! A sign of life on stderr for work that takes longer than a second; silent unless stderr is a
//! terminal.

use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shown until it is dropped.
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to wait.
    pub fn start(message: String) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { running: None };
        }
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
                .with_message(message);
            bar.enable_steady_tick(Duration::from_millis(120));
            let _ = stopped.recv();
            bar.finish_and_clear();
        });
        Progress { running: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// Lines on stderr where it is no terminal, so that a log of a long run shows that it moves: one
/// every [`TIME_BETWEEN_LINES`].
pub struct Lines {
    silent: bool,
    first: u64,
    steps: u64,
    begun: std::time::Instant,
    last: std::time::Instant,
}

/// Time between two lines.
const TIME_BETWEEN_LINES: std::time::Duration = std::time::Duration::from_secs(10);

impl Lines {
    /// For a run of `steps` steps that begins with step `first`.
    pub fn new(first: u64, steps: u64) -> Lines {
        let now = std::time::Instant::now();
        Lines {
            silent: std::io::IsTerminal::is_terminal(&std::io::stderr()),
            first,
            steps,
            begun: now,
            last: now,
        }
    }

    /// After a step; says something if it is time.
    pub fn step(&mut self, step: u64, time: f64) {
        // Looking at the clock costs more than some steps.
        if self.silent
            || (!step.is_multiple_of(16) && self.steps > 1000)
            || self.last.elapsed() < TIME_BETWEEN_LINES
        {
            return;
        }
        self.last = std::time::Instant::now();
        let rate = (step - self.first) as f64 / self.begun.elapsed().as_secs_f64();
        let left = (self.steps - step.min(self.steps)) as f64 / rate.max(1e-9);
        eprintln!(
            "t = {time:.3} s  step {step} of {}  {rate:.0} steps/s  about {left:.0} s left",
            self.steps
        );
    }
}
