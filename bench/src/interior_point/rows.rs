//! The rows of the tables of this bench.

use serde::Serialize;
use signorini::problem::literature::Thesis;

#[derive(Serialize)]
pub(crate) struct Results {
    pub(crate) balls: Vec<Balls>,
    pub(crate) warm: Vec<WarmRow>,
    pub(crate) stacks: Vec<StackRow>,
    pub(crate) stored: Vec<StoredRow>,
    pub(crate) clarabel: Vec<PeerRow>,
}

#[derive(Serialize)]
pub(crate) struct Balls {
    pub(crate) spheres: usize,
    pub(crate) friction: bool,
    pub(crate) steps: usize,
    pub(crate) contacts_mean: f64,
    pub(crate) iterations_mean: f64,
    pub(crate) iterations_max: u64,
    /// Sweeps before the first factorization.
    pub(crate) sweeps_mean: f64,
    pub(crate) ms_mean: f64,
    /// Factorizations of the path alone: every tenth step.
    pub(crate) path_mean: f64,
    pub(crate) path_max: u64,
    #[serde(skip)]
    pub(crate) path_steps: usize,
    /// The largest of the thesis's four residuals over all steps.
    pub(crate) residuals: Thesis,
}

#[derive(Serialize)]
pub(crate) struct WarmRow {
    pub(crate) scene: &'static str,
    pub(crate) calls: usize,
    pub(crate) none: u64,
    pub(crate) partial: u64,
    pub(crate) full: u64,
    pub(crate) best: u64,
}

#[derive(Serialize)]
pub(crate) struct StackRow {
    pub(crate) case: String,
    pub(crate) n: usize,
    pub(crate) iterations: u64,
    /// Factorizations of the path alone, and whether it converged.
    pub(crate) path: u64,
    pub(crate) path_converged: bool,
    pub(crate) v_error: f64,
    pub(crate) converged: bool,
}

#[derive(Serialize)]
pub(crate) struct StoredRow {
    pub(crate) problem: String,
    pub(crate) factorizations: u64,
    pub(crate) converged: bool,
    pub(crate) relative: f64,
    pub(crate) v_error: f64,
    pub(crate) ms: f64,
}

#[derive(Serialize)]
pub(crate) struct PeerRow {
    pub(crate) problem: String,
    pub(crate) rows: usize,
    pub(crate) ours_ms: f64,
    pub(crate) clarabel_ms: f64,
    pub(crate) ratio: f64,
    pub(crate) ours_factorizations: u64,
    pub(crate) clarabel_iterations: u64,
    pub(crate) ours_v_error: f64,
    pub(crate) clarabel_v_error: f64,
}
