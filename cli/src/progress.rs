//! A sign of life on stderr for work that takes longer than a second; silent unless stderr is a terminal.

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
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(message);
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
