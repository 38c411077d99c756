//! Explicit Runge–Kutta: the classical method of order 4, and the pair of order 5(4) of
//! (Dormand1980) with step control.
//!
//! ```text
//!   kᵢ = f(t + cᵢh, y + h Σⱼ aᵢⱼ kⱼ),   y⁺ = y + h Σ bᵢ kᵢ,   error = h Σ (bᵢ − b̂ᵢ) kᵢ
//! ```

use serde::{Deserialize, Serialize};

/// Which method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// Order 4, fixed steps.
    #[default]
    Classical,
    /// Order 5(4), steps chosen so that the error of each stays below this, relative to `0.1 + |y|`
    /// (SI units).
    DormandPrince {
        /// Largest error of a step.
        tolerance: f64,
    },
}

/// Coefficients.
struct Tableau {
    a: &'static [&'static [f64]],
    b: &'static [f64],
    c: &'static [f64],
    /// b − b̂.
    error: &'static [f64],
}

const CLASSICAL: Tableau = Tableau {
    a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    c: &[0.0, 0.5, 0.5, 1.0],
    error: &[],
};

const DORMAND_PRINCE: Tableau = Tableau {
    a: &[
        &[],
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    b: &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    c: &[0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
    error: &[
        71.0 / 57600.0,
        0.0,
        -71.0 / 16695.0,
        71.0 / 1920.0,
        -17253.0 / 339200.0,
        22.0 / 525.0,
        -1.0 / 40.0,
    ],
};

/// Memory of a method.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    k: Vec<Vec<f64>>,
    y: Vec<f64>,
    /// Steps tried and refused by the error control.
    pub refused: u64,
}

impl Stages {
    /// One step of length h from y at t; the estimated error relative to the tolerance, zero for
    /// the classical method.
    pub fn step(
        &mut self,
        method: Method,
        (t, h): (f64, f64),
        y: &mut [f64],
        f: &mut dyn FnMut(f64, &[f64], &mut [f64]),
    ) -> f64 {
        let (tableau, tolerance) = match method {
            Method::Classical => (&CLASSICAL, 0.0),
            Method::DormandPrince { tolerance } => (&DORMAND_PRINCE, tolerance),
        };
        self.k.resize(tableau.b.len(), Vec::new());
        for i in 0..tableau.b.len() {
            self.y.clear();
            self.y.extend_from_slice(y);
            for (k, &a) in self.k.iter().zip(tableau.a[i]).filter(|(_, a)| **a != 0.0) {
                self.y.iter_mut().zip(k).for_each(|(y, k)| *y += h * a * k);
            }
            self.k[i].resize(y.len(), 0.0);
            f(t + tableau.c[i] * h, &self.y, &mut self.k[i]);
        }
        let mut worst = 0.0f64;
        if !tableau.error.is_empty() {
            for (p, y) in y.iter().enumerate() {
                let error: f64 =
                    h * self.k.iter().zip(tableau.error).map(|(k, e)| e * k[p]).sum::<f64>();
                let relative = error.abs() / (tolerance * (0.1 + y.abs()));
                worst = if relative.is_finite() { worst.max(relative) } else { f64::INFINITY };
            }
        }
        if worst <= 1.0 {
            for (k, &b) in self.k.iter().zip(tableau.b) {
                y.iter_mut().zip(k).for_each(|(y, k)| *y += h * b * k);
            }
        } else {
            self.refused += 1;
        }
        worst
    }
}

/// The next step of an adaptive method after an error relative to the tolerance.
pub fn next_step(h: f64, error: f64) -> f64 {
    // Between a fifth and five times the last one, a little on the safe side.
    h * (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0)
}
