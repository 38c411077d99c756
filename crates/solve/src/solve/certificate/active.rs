//! A velocity that is feasible and complementary to the reactions: one linear system over the
//! active rows.
//!
//! With `z_k = r_k − u_k/a_k`, `p = P_K(z_k)`, `t̂ = p_t/‖p_t‖`:
//!
//! | p | branch | rows of A |
//! |---|---|---|
//! | 0, or at a finite bound | open | none |
//! | inside K | stick | all rows, target 0 |
//! | on the boundary of K | slide | (1, mu t̂), target 0; (0, t̂⊥) with compliance `c = s/(mu p_n)`, s the sliding speed |
//!
//! The second row is the Newton step of the cone (δu_⊥ = −c δr_⊥): then r·û is of second order.
//! Solve
//!
//! ```text
//!   (W_A + C + τ diag W_A) y_A = target − (û_A + C r_A)
//! ```
//!
//! in rounds with one factor, which refine what τ left. Between rounds targets of blocks that still
//! lack normal velocity rise by what they lack (a slide: the curvature of the cone; all: rounding),
//! open blocks that are violated join A, and a slide that went backwards sticks.

use super::frame::{Base, Frame, Velocities, pick};
use crate::math::ldlt::{Ldlt, Ordering};
use crate::math::sparse::Csr;
use crate::problem::Law;
use crate::problem::law::tangent_norm;

/// The most rounds.
const MAX_ROUNDS: usize = 8;
/// The most that τ is raised to where the factorization fails.
const MAX_REGULARIZATION: f64 = 1e-3;

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Branch {
    Open,
    /// All rows at rest.
    Stick,
    /// Sliding against `t̂`, with the compliance of the row across it.
    Slide {
        along: [f64; 2],
        compliance: f64,
    },
    /// An open block that would be entered: û_n ≥ mu (t̂·û_t).
    Entered {
        along: [f64; 2],
    },
}

/// One row of A.
#[derive(Clone, Copy, Debug)]
struct Row {
    block: usize,
    coefficients: [f64; 3],
    compliance: f64,
    /// The row that carries the block's target: its normal velocity.
    leads: bool,
}

/// Finds the y of the module's equation, round by round; `visit` sees each of them and says whether
/// it is good enough.
pub(super) fn correct(
    frame: &Frame,
    base: &Base,
    tau: f64,
    mut visit: impl FnMut(&[f64], &Velocities) -> bool,
) {
    let m = frame.rows();
    let mut branches: Vec<Branch> = (0..frame.laws.len()).map(|k| branch(frame, base, k)).collect();
    let mut targets = vec![0.0; frame.laws.len()];
    let (mut y, mut at) = (vec![0.0; m], Velocities::default());
    let mut system: Option<System> = None;
    for round in 0..MAX_ROUNDS {
        frame.velocities(base, &y, &mut at);
        if round > 0 && visit(&y, &at) {
            return;
        }
        if adapt(frame, &at, &mut branches, &mut targets) || system.is_none() {
            system = System::of(frame, &branches, tau);
        }
        let Some(system) = &mut system else { return };
        let right: Vec<f64> =
            system.rows.iter().map(|row| row.right(frame, base, &at, &y, &targets)).collect();
        system.add_solution(frame, right, &mut y);
        if y.iter().any(|x| !x.is_finite()) {
            return;
        }
    }
    frame.velocities(base, &y, &mut at);
    visit(&y, &at);
}

/// Removes the velocities of equality rows: `y ← y − J_eᵀ-part`, with a factor of their own.
pub(super) struct Equalities {
    system: Option<System>,
}

impl Equalities {
    pub fn of(frame: &Frame) -> Equalities {
        let fixed = |law: &Law| matches!(law.recession(), Law::Equality);
        let branches: Vec<Branch> = frame
            .laws
            .iter()
            .map(|law| if fixed(law) { Branch::Stick } else { Branch::Open })
            .collect();
        let any = branches.contains(&Branch::Stick);
        Equalities { system: any.then(|| System::of(frame, &branches, 1e-10)).flatten() }
    }

    /// Three refinements.
    pub fn hold(&mut self, frame: &Frame, base: &Base, y: &mut [f64]) {
        let Some(system) = &mut self.system else { return };
        let (targets, mut at) = (vec![0.0; frame.laws.len()], Velocities::default());
        for _ in 0..3 {
            frame.velocities(base, y, &mut at);
            let right: Vec<f64> =
                system.rows.iter().map(|row| row.right(frame, base, &at, y, &targets)).collect();
            system.add_solution(frame, right, y);
        }
    }
}

fn branch(frame: &Frame, base: &Base, k: usize) -> Branch {
    let (law, a, range) = (frame.laws[k], frame.prepared.a()[k], frame.range(k));
    let (u, r) = (&base.u[range.clone()], &base.r[range.clone()]);
    let d = u.len();
    let mut p = [0.0; 3];
    (0..d).for_each(|i| p[i] = r[i] - u[i] / a);
    let z = p;
    match law {
        Law::Equality => return Branch::Stick,
        Law::Unilateral => return if z[0] > 0.0 { Branch::Stick } else { Branch::Open },
        Law::Interval { lo, hi } => {
            return if z[0] > lo && z[0] < hi { Branch::Stick } else { Branch::Open };
        }
        Law::Cone { .. } | Law::Coulomb { .. } => {}
    }
    let mu = law.friction().unwrap_or(0.0);
    law.admit(&mut p[..d]);
    if !(p[0] > 0.0) {
        return Branch::Open;
    }
    let tangent = tangent_norm(&p[..d]);
    if mu == 0.0 {
        return Branch::Slide { along: [0.0; 2], compliance: f64::INFINITY };
    }
    if tangent_norm(&z[..d]) < mu * z[0] {
        return Branch::Stick;
    }
    let along = [p[1] / tangent, p[2] / tangent];
    let speed = -(along[0] * u[1] + if d > 2 { along[1] * u[2] } else { 0.0 });
    Branch::Slide { along, compliance: speed.max(0.0) / (mu * p[0]) }
}

/// Changes branches and targets after a round; true if rows have changed.
fn adapt(frame: &Frame, at: &Velocities, branches: &mut [Branch], targets: &mut [f64]) -> bool {
    let mut changed = false;
    for (k, law) in frame.laws.iter().enumerate() {
        let range = frame.range(k);
        let (u, noise) = (pick(&at.u[range.clone()]), &at.noise[range.clone()]);
        let lack = super::frame::lack_of_block(law, &at.u[range.clone()], noise);
        let mu = law.friction().unwrap_or(0.0);
        match branches[k] {
            Branch::Open if lack > 0.0 => {
                let tangent = tangent_norm(&at.u[range.clone()]);
                let along =
                    if tangent > 0.0 { [-u[1] / tangent, -u[2] / tangent] } else { [0.0; 2] };
                branches[k] =
                    if range.len() == 1 { Branch::Stick } else { Branch::Entered { along } };
                targets[k] = 2.0 * noise[0];
                changed = true;
            }
            Branch::Slide { along, .. }
                if mu > 0.0 && -(along[0] * u[1] + along[1] * u[2]) < 0.0 =>
            {
                branches[k] = Branch::Stick;
                targets[k] = 2.0 * (1.0 + mu) * noise.iter().sum::<f64>();
                changed = true;
            }
            Branch::Open => {}
            _ if matches!(law, Law::Equality) => {}
            // A lack of û on the upper side of an interval is one of velocity downwards.
            _ if lack > 0.0 => match *law {
                Law::Interval { lo, .. } if lo == f64::NEG_INFINITY => targets[k] -= 1.5 * lack,
                _ => targets[k] += 1.5 * lack,
            },
            _ => {}
        }
    }
    changed
}

impl Row {
    /// `target − (û_A + C (r_A + y_A))`.
    fn right(
        &self,
        frame: &Frame,
        base: &Base,
        at: &Velocities,
        y: &[f64],
        targets: &[f64],
    ) -> f64 {
        let mut sum = if self.leads { targets[self.block] } else { 0.0 };
        for (i, c) in frame.range(self.block).zip(self.coefficients) {
            sum -= c * at.u[i];
            if self.compliance > 0.0 {
                sum -= self.compliance * c * (base.r[i] + y[i]);
            }
        }
        sum
    }
}

/// The rows of A and the factor of their matrix.
struct System {
    rows: Vec<Row>,
    factor: Ldlt,
}

impl System {
    fn of(frame: &Frame, branches: &[Branch], tau: f64) -> Option<System> {
        let mut rows = Vec::new();
        let mut first = vec![0u32; branches.len() + 1];
        for (k, branch) in branches.iter().enumerate() {
            let (d, mu) = (frame.range(k).len(), frame.laws[k].friction().unwrap_or(0.0));
            let mut push = |coefficients: [f64; 3], compliance: f64, leads: bool| {
                rows.push(Row { block: k, coefficients, compliance, leads });
            };
            match *branch {
                Branch::Open => {}
                Branch::Stick => {
                    for i in 0..d {
                        let mut coefficients = [0.0; 3];
                        coefficients[i] = 1.0;
                        push(coefficients, 0.0, i == 0);
                    }
                }
                Branch::Slide { along, compliance } => {
                    push([1.0, mu * along[0], mu * along[1]], 0.0, true);
                    if d == 3 && compliance.is_finite() {
                        push([0.0, -along[1], along[0]], compliance, false);
                    }
                }
                Branch::Entered { along } => push([1.0, mu * along[0], mu * along[1]], 0.0, true),
            }
            first[k + 1] = rows.len() as u32;
        }
        let lower = matrix(frame, &rows, &first);
        let mut values = Vec::new();
        let mut factor = Ldlt::analyse(&lower, Ordering::Amd);
        let (signs, mut tau) = (vec![1; rows.len()], tau);
        while tau <= MAX_REGULARIZATION.max(tau) {
            values.clone_from(&lower.values);
            for (i, row) in rows.iter().enumerate() {
                let at = lower.starts[i + 1] - 1;
                let size =
                    if values[at] > 0.0 { values[at] } else { frame.prepared.a()[row.block] };
                values[at] += tau * size + row.compliance;
            }
            if factor.factor(&values, &signs).is_ok() {
                return Some(System { rows, factor });
            }
            if tau >= MAX_REGULARIZATION {
                break;
            }
            tau *= 100.0;
        }
        None
    }

    /// `y ← y + (rows)ᵀ (matrix)⁻¹ right`.
    fn add_solution(&mut self, frame: &Frame, mut right: Vec<f64>, y: &mut [f64]) {
        if right.is_empty() {
            return;
        }
        self.factor.solve(&mut right);
        for (row, x) in self.rows.iter().zip(right) {
            for (i, c) in frame.range(row.block).zip(row.coefficients) {
                y[i] += c * x;
            }
        }
    }
}

/// The lower triangle of W_A; `first` holds the first row of each block, and its number of rows at
/// the end.
fn matrix(frame: &Frame, rows: &[Row], first: &[u32]) -> Csr {
    let m = frame.rows();
    let mut block_of = vec![0u32; m];
    for k in 0..frame.laws.len() {
        frame.range(k).for_each(|i| block_of[i] = k as u32);
    }
    let (mut image, mut touched, mut mark) =
        (vec![0.0; m], Vec::new(), vec![u32::MAX; frame.laws.len()]);
    let mut lower = Csr::empty(rows.len(), rows.len());
    for (p, row) in rows.iter().enumerate() {
        touched.clear();
        for (i, c) in frame.range(row.block).zip(row.coefficients).filter(|(_, c)| *c != 0.0) {
            let (columns, values) = frame.w().row(i);
            for (&j, &w) in columns.iter().zip(values) {
                image[j as usize] += c * w;
                let l = block_of[j as usize];
                if mark[l as usize] != p as u32 && l as usize <= row.block {
                    mark[l as usize] = p as u32;
                    touched.push(l);
                }
            }
        }
        if mark[row.block] != p as u32 {
            touched.push(row.block as u32);
        }
        touched.sort_unstable();
        for &l in &touched {
            for q in first[l as usize] as usize..(first[l as usize + 1] as usize).min(p + 1) {
                let other = &rows[q];
                let value: f64 = frame
                    .range(other.block)
                    .zip(other.coefficients)
                    .map(|(j, c)| c * image[j])
                    .sum();
                lower.columns.push(q as u32);
                lower.values.push(value);
            }
        }
        lower.starts[p + 1] = lower.columns.len();
        for i in frame.range(row.block) {
            frame.w().row(i).0.iter().for_each(|&j| image[j as usize] = 0.0);
        }
    }
    lower
}
