//! The rows of the tables of this bench.

use serde::Serialize;
use signorini::problem::literature::Thesis;

#[derive(Serialize)]
pub(super) struct Results {
    pub(super) balls: Vec<Balls>,
    pub(super) warm: Vec<WarmRow>,
    pub(super) stacks: Vec<StackRow>,
    pub(super) stored: Vec<StoredRow>,
    pub(super) clarabel: Vec<PeerRow>,
}

#[derive(Serialize)]
pub(super) struct Balls {
    pub(super) spheres: usize,
    pub(super) friction: bool,
    pub(super) steps: usize,
    pub(super) contacts_mean: f64,
    pub(super) iterations_mean: f64,
    pub(super) iterations_max: u64,
    /// Sweeps before the first factorization.
    pub(super) sweeps_mean: f64,
    pub(super) ms_mean: f64,
    /// Factorizations without sweeps, by Newton steps and the path: every tenth step.
    pub(super) path_mean: f64,
    pub(super) path_max: u64,
    #[serde(skip)]
    pub(super) path_steps: usize,
    /// The largest of the thesis's four residuals over all steps.
    pub(super) residuals: Thesis,
}

#[derive(Serialize)]
pub(super) struct WarmRow {
    pub(super) scene: &'static str,
    pub(super) calls: usize,
    pub(super) none: u64,
    pub(super) partial: u64,
    pub(super) full: u64,
    pub(super) best: u64,
}

#[derive(Serialize)]
pub(super) struct StackRow {
    pub(super) case: String,
    pub(super) n: usize,
    pub(super) iterations: u64,
    pub(super) v_error: f64,
    pub(super) converged: bool,
}

#[derive(Serialize)]
pub(super) struct StoredRow {
    pub(super) problem: String,
    pub(super) factorizations: u64,
    pub(super) converged: bool,
    pub(super) relative: f64,
    pub(super) v_error: f64,
    pub(super) ms: f64,
}

#[derive(Serialize)]
pub(super) struct PeerRow {
    pub(super) problem: String,
    pub(super) rows: usize,
    pub(super) ours_ms: f64,
    pub(super) clarabel_ms: f64,
    pub(super) ratio: f64,
    pub(super) ours_factorizations: u64,
    pub(super) clarabel_iterations: u64,
    pub(super) ours_v_error: f64,
    pub(super) clarabel_v_error: f64,
}
