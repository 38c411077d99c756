//! Other solvers on the same problems, in the same run.

use signorini::problem::Problem;

/// Seconds that this thread was computing: what others do on the machine does not count. Where the
/// system does not tell, seconds on the wall.
pub struct Clock {
    computing: Option<f64>,
    wall: std::time::Instant,
}

impl Clock {
    /// Now.
    pub fn start() -> Clock {
        Clock { computing: computing(), wall: std::time::Instant::now() }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        match (self.computing, computing()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// The last result of a task, and the mean seconds of as many runs as make the clock's grain (some
/// ms) small.
pub fn repeated<T>(mut task: impl FnMut() -> T) -> (T, f64) {
    let clock = Clock::start();
    for runs in 1.. {
        let result = task();
        let seconds = clock.seconds();
        if seconds > 0.1 || runs == 50 {
            return (result, seconds / f64::from(runs));
        }
    }
    unreachable!("the fiftieth run returns")
}

fn computing() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// A peer's answer to a problem.
pub struct Answer {
    /// Velocities, m/s.
    pub v: Vec<f64>,
    /// Iterations.
    pub iterations: u64,
    /// Seconds, set-up included.
    pub seconds: f64,
}

/// Clarabel on `min ½vᵀHv − kᵀv, Jv + w ∈ K*`, to this tolerance; `None` without the feature
/// `bench-peers`, or for laws outside K*.
#[cfg(not(feature = "peers"))]
pub fn clarabel(_problem: &Problem, _tolerance: f64) -> Option<Answer> {
    None
}

/// Clarabel on `min ½vᵀHv − kᵀv, Jv + w ∈ K*`, to this tolerance; `None` for laws outside K*.
#[cfg(feature = "peers")]
pub fn clarabel(problem: &Problem, tolerance: f64) -> Option<Answer> {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
    use signorini::math::sparse::Csr;
    use signorini::problem::Law;

    // Upper triangle of H by columns is its lower triangle by rows.
    let n = problem.n();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let (columns, entries) = problem.H.row(i);
        for (&j, &x) in columns.iter().zip(entries).take_while(|(j, _)| **j as usize <= i) {
            rows.push(j as usize);
            values.push(x);
        }
        starts.push(rows.len());
    }
    let hessian = CscMatrix::new(n, n, starts, rows, values);
    let (mut triplets, mut b, mut cones) = (Vec::new(), Vec::new(), Vec::new());
    for (k, law) in problem.laws.iter().enumerate() {
        let (cone, mu) = match *law {
            Law::Equality => (SupportedConeT::ZeroConeT(1), 1.0),
            Law::Unilateral => (SupportedConeT::NonnegativeConeT(1), 1.0),
            Law::Cone { mu, rows } if mu > 0.0 => {
                (SupportedConeT::SecondOrderConeT(rows as usize), mu)
            }
            _ => return None,
        };
        cones.push(cone);
        let block = problem.J.block(k);
        for i in 0..block.rows {
            let scale = if i == 0 { 1.0 / mu } else { 1.0 };
            for (&j, x) in block.columns.iter().zip(block.row(i)).filter(|(_, x)| **x != 0.0) {
                triplets.push((j, b.len() as u32, -scale * x));
            }
            b.push(scale * problem.w[block.first + i]);
        }
    }
    // Rows by columns of A are the rows of its transposed.
    let transposed = Csr::from_triplets(n, b.len(), &triplets);
    let rows = transposed.columns.iter().map(|&c| c as usize).collect();
    let a = CscMatrix::new(b.len(), n, transposed.starts, rows, transposed.values);
    let q: Vec<f64> = problem.k.iter().map(|k| -k).collect();
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: tolerance,
        tol_gap_rel: tolerance,
        tol_feas: tolerance,
        ..DefaultSettings::default()
    };
    let (solver, seconds) = repeated(|| {
        let mut solver = DefaultSolver::new(&hessian, &q, &a, &b, &cones, settings.clone()).ok()?;
        solver.solve();
        Some(solver)
    });
    let solver = solver?;
    Some(Answer {
        v: solver.solution.x.clone(),
        iterations: u64::from(solver.solution.iterations),
        seconds,
    })
}
