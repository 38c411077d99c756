//! The error in joules as an independent_residual computes it: from the numbers in an output file
//! and the formulas alone.
//!
//! ```text
//!   δe_k = ½ a_k ‖ r_k − P_K(r_k − ũ_k / a_k) ‖²,   a_k the mean diagonal entry of W over the block
//!   joule = Σ δe_k + ½ ρᵀ M⁻¹ ρ,                    ρ = f + Jᵀ r − M v beyond its own rounding (8 ε Σ|terms|)
//! ```
//!
//! Nothing here calls the library's laws or its residual; matrices are dense rows or lists of
//! triplets.

use hdf5_pure::File;
use serde_json::Value;
use std::path::Path;

/// A list of (row, column, value).
type Triplets = Vec<(usize, usize, f64)>;

/// What a block of rows obeys.
#[derive(Clone, Debug)]
pub enum Rule {
    /// u = 0.
    Zero,
    /// r between bounds.
    Between(f64, f64),
    /// ‖r_t‖ ≤ mu r_n; with the shift of the true law if `shift`.
    Cone { mu: f64, shift: bool },
}

/// A stated problem and a point.
#[derive(Default)]
pub struct Case {
    /// First row, number of rows and rule of each block.
    pub blocks: Vec<(usize, usize, Rule)>,
    /// Local velocities at the point, and the sum of the absolute terms of each.
    pub u: Vec<f64>,
    terms: Vec<f64>,
    /// Reactions.
    pub r: Vec<f64>,
    /// Diagonal of W.
    pub diagonal: Vec<f64>,
    /// Energy of the momentum defect.
    pub momentum: f64,
}

/// The error, and how much of it may be rounding.
pub struct Verdict {
    /// Sum of the local errors and the momentum defect, J.
    pub joule: f64,
    /// What rounding of u (1e-13 of its terms: a few hundred operations) may change, J.
    pub rounding: f64,
}

impl Case {
    /// Judges the point.
    pub fn evaluate(&self) -> Verdict {
        let mean = |&(first, rows, _): &(usize, usize, Rule)| {
            self.diagonal[first..first + rows].iter().sum::<f64>() / rows as f64
        };
        let mut a: Vec<f64> = self.blocks.iter().map(mean).collect();
        // A block without effective mass is judged with the mean one.
        let good: Vec<f64> = a.iter().copied().filter(|a| *a > 0.0).collect();
        let common =
            if good.is_empty() { 1.0 } else { good.iter().sum::<f64>() / good.len() as f64 };
        a.iter_mut().filter(|a| **a <= 0.0).for_each(|a| *a = common);
        let mut verdict = Verdict { joule: self.momentum, rounding: 0.0 };
        for ((first, rows, rule), a) in self.blocks.iter().zip(a) {
            let range = *first..first + rows;
            let miss = residual(rule, a, &self.u[range.clone()], &self.r[range.clone()]);
            let square: f64 = miss.iter().map(|x| x * x).sum();
            verdict.joule += 0.5 * a * square;
            let noise =
                1e-13 * range.map(|i| self.terms[i] + a * self.r[i].abs()).fold(0.0, f64::max);
            verdict.rounding += noise * square.sqrt() + noise * noise / a;
        }
        verdict
    }
}

/// r − P(r − u/a); for the true law of friction the map of Alart and Curnier, normal and tangents
/// one after the other.
fn residual(rule: &Rule, a: f64, u: &[f64], r: &[f64]) -> Vec<f64> {
    let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let x: Vec<f64> = r.iter().zip(u).map(|(r, u)| r - u / a).collect();
    match *rule {
        Rule::Zero => vec![u[0] / a],
        Rule::Between(lo, hi) if x[0] > lo && x[0] < hi => vec![u[0] / a],
        Rule::Between(lo, hi) => vec![r[0] - x[0].clamp(lo, hi)],
        Rule::Cone { mu, shift: true } => {
            let (pressed, t) = (x[0].max(0.0), size(&x[1..]));
            if x[0] <= 0.0 {
                return r.to_vec();
            }
            let sticks = t <= mu * pressed;
            let tangent = |i: usize| if sticks { u[i] / a } else { r[i] - mu * pressed * x[i] / t };
            (0..r.len()).map(|i| if i == 0 { u[0] / a } else { tangent(i) }).collect()
        }
        Rule::Cone { mu, .. } => {
            let (n, t) = (x[0], size(&x[1..]));
            if t <= mu * n {
                return u.iter().map(|u| u / a).collect();
            }
            if mu * t <= -n {
                return r.to_vec();
            }
            // The foot on the ray (1, mu t/‖t‖).
            let s = (n + mu * t) / (1.0 + mu * mu);
            r.iter()
                .enumerate()
                .map(|(i, r)| if i == 0 { r - s } else { r - mu * s * x[i] / t })
                .collect()
        }
    }
}

fn numbers(file: &File, path: &str) -> Vec<f64> {
    file.dataset(path).unwrap_or_else(|e| panic!("{path}: {e}")).read_f64().unwrap()
}

fn integers(file: &File, path: &str) -> Vec<i64> {
    file.dataset(path).unwrap_or_else(|e| panic!("{path}: {e}")).read_i64().unwrap()
}

fn triplets(file: &File, path: &str) -> Triplets {
    let (p, i, x) = (
        integers(file, &format!("{path}/p")),
        integers(file, &format!("{path}/i")),
        numbers(file, &format!("{path}/x")),
    );
    let nz = integers(file, &format!("{path}/nz"))[0];
    if nz >= 0 {
        return (0..nz as usize).map(|t| (i[t] as usize, p[t] as usize, x[t])).collect();
    }
    let mut out = Vec::new();
    for outer in 0..p.len() - 1 {
        for t in p[outer] as usize..p[outer + 1] as usize {
            out.push(if nz == -1 {
                (i[t] as usize, outer, x[t])
            } else {
                (outer, i[t] as usize, x[t])
            });
        }
    }
    out
}

/// Dense Gauss elimination with row exchanges; a diagonal matrix by division.
struct Inverse {
    diagonal: Option<Vec<f64>>,
    dense: Vec<Vec<f64>>,
}

impl Inverse {
    fn new(n: usize, matrix: &Triplets) -> Inverse {
        if matrix.iter().all(|&(i, j, x)| i == j || x == 0.0) {
            let mut diagonal = vec![0.0; n];
            matrix.iter().for_each(|&(i, _, x)| diagonal[i] += x);
            return Inverse { diagonal: Some(diagonal), dense: Vec::new() };
        }
        let mut dense = vec![vec![0.0; n]; n];
        matrix.iter().for_each(|&(i, j, x)| dense[i][j] += x);
        Inverse { diagonal: None, dense }
    }

    /// M⁻¹ of these right-hand sides, each of them a column.
    fn solve(&self, mut columns: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        if let Some(diagonal) = &self.diagonal {
            columns.iter_mut().for_each(|x| x.iter_mut().zip(diagonal).for_each(|(x, d)| *x /= d));
            return columns;
        }
        let (n, mut a) = (self.dense.len(), self.dense.clone());
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
            a.swap(k, pivot);
            columns.iter_mut().for_each(|x| x.swap(k, pivot));
            let (head, tail) = a.split_at_mut(k + 1);
            for (below, row) in tail.iter_mut().enumerate() {
                let factor = row[k] / head[k][k];
                if factor != 0.0 {
                    row[k..].iter_mut().zip(&head[k][k..]).for_each(|(x, y)| *x -= factor * y);
                    columns.iter_mut().for_each(|x| x[k + 1 + below] -= factor * x[k]);
                }
            }
        }
        for x in &mut columns {
            for k in (0..n).rev() {
                let above: f64 = (k + 1..n).map(|j| a[k][j] * x[j]).sum();
                x[k] = (x[k] - above) / a[k][k];
            }
        }
        columns
    }
}

/// A problem and its solution from FCLib's form; `shift` for the true law, `eliminated` if the
/// solver saw W alone.
pub fn from_hdf5(path: &Path, shift: bool, eliminated: bool) -> Case {
    let file = File::open(path).unwrap();
    let global = file.group("fclib_global").is_ok();
    let root = if global { "fclib_global" } else { "fclib_local" };
    let d = integers(&file, &format!("{root}/spacedim"))[0] as usize;
    let mu = numbers(&file, &format!("{root}/vectors/mu"));
    let reactions = numbers(&file, "solution/r");
    let mut case = Case { r: numbers(&file, "solution/l"), ..Case::default() };
    let bilateral = case.r.len();
    case.r.extend(&reactions);
    case.blocks = (0..bilateral).map(|i| (i, 1, Rule::Zero)).collect();
    for (k, &mu) in mu.iter().enumerate() {
        let first = bilateral + k * d;
        // Without friction the normal row alone counts.
        let block = if mu == 0.0 {
            (1, Rule::Between(0.0, f64::INFINITY))
        } else {
            (d, Rule::Cone { mu, shift })
        };
        case.blocks.push((first, block.0, block.1));
    }
    if global {
        global_velocities(&file, &mut case, bilateral, eliminated);
    } else {
        local_velocities(&file, &mut case, bilateral);
    }
    case
}

fn global_velocities(file: &File, case: &mut Case, bilateral: usize, eliminated: bool) {
    let (f, v) = (numbers(file, "fclib_global/vectors/f"), numbers(file, "solution/v"));
    let (n, m) = (f.len(), case.r.len());
    let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); m];
    let mut w = Vec::new();
    if bilateral > 0 {
        w = numbers(file, "fclib_global/vectors/b");
        triplets(file, "fclib_global/G").iter().for_each(|&(i, j, x)| rows[j].push((i, x)));
    }
    w.extend(numbers(file, "fclib_global/vectors/w"));
    triplets(file, "fclib_global/H").iter().for_each(|&(i, j, x)| rows[bilateral + j].push((i, x)));
    for i in 0..m {
        case.u.push(w[i] + rows[i].iter().map(|&(j, x)| x * v[j]).sum::<f64>());
        case.terms.push(w[i].abs() + rows[i].iter().map(|&(j, x)| (x * v[j]).abs()).sum::<f64>());
    }
    let mass = triplets(file, "fclib_global/M");
    let inverse = Inverse::new(n, &mass);
    // The diagonal of W, and ρᵀ M⁻¹ ρ.
    let dense = |row: &Vec<(usize, f64)>| {
        let mut x = vec![0.0; n];
        row.iter().for_each(|&(j, a)| x[j] += a);
        x
    };
    if let Some(diagonal) = &inverse.diagonal {
        case.diagonal =
            rows.iter().map(|row| row.iter().map(|&(j, x)| x * x / diagonal[j]).sum()).collect();
    } else {
        let solved = inverse.solve(rows.iter().map(dense).collect());
        case.diagonal = rows
            .iter()
            .zip(&solved)
            .map(|(row, y)| row.iter().map(|&(j, x)| x * y[j]).sum())
            .collect();
    }
    if eliminated {
        return;
    }
    let (mut rho, mut terms) = (f.clone(), f.iter().map(|f| f.abs()).collect::<Vec<f64>>());
    let mut add = |i: usize, x: f64| {
        rho[i] += x;
        terms[i] += x.abs();
    };
    rows.iter().zip(&case.r).for_each(|(row, r)| row.iter().for_each(|&(j, x)| add(j, x * r)));
    mass.iter().for_each(|&(i, j, x)| add(i, -x * v[j]));
    for (rho, terms) in rho.iter_mut().zip(terms) {
        *rho = rho.signum() * (rho.abs() - 8.0 * f64::EPSILON * terms).max(0.0);
    }
    let solved = inverse.solve(vec![rho.clone()]);
    case.momentum = 0.5 * rho.iter().zip(&solved[0]).map(|(a, b)| a * b).sum::<f64>();
}

fn local_velocities(file: &File, case: &mut Case, bilateral: usize) {
    let mut q = Vec::new();
    let mut matrix: Triplets = Vec::new();
    if bilateral > 0 {
        q = numbers(file, "fclib_local/vectors/s");
        matrix.extend(triplets(file, "fclib_local/R"));
        for (i, j, x) in triplets(file, "fclib_local/V") {
            matrix.push((bilateral + i, j, x));
            matrix.push((j, bilateral + i, x));
        }
    }
    q.extend(numbers(file, "fclib_local/vectors/q"));
    matrix.extend(
        triplets(file, "fclib_local/W").iter().map(|&(i, j, x)| (bilateral + i, bilateral + j, x)),
    );
    reduced_velocities(case, &matrix, &q);
}

fn reduced_velocities(case: &mut Case, matrix: &Triplets, q: &[f64]) {
    case.u = q.to_vec();
    case.terms = q.iter().map(|q| q.abs()).collect();
    case.diagonal = vec![0.0; q.len()];
    for &(i, j, x) in matrix {
        case.u[i] += x * case.r[j];
        case.terms[i] += (x * case.r[j]).abs();
        if i == j {
            case.diagonal[i] += x;
        }
    }
}

/// A reduced problem and its solution from our JSON.
pub fn from_json(path: &Path) -> Case {
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let list = |value: &Value| {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let bound = |value: &Value| match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap(),
    };
    let mut case = Case { r: list(&file["solution"]["r"]), ..Case::default() };
    let mut first = 0;
    for block in file["blocks"].as_array().unwrap() {
        let law = &block["law"];
        let (rows, rule) = match law.as_str() {
            Some("equality") => (1, Rule::Zero),
            Some("unilateral") => (1, Rule::Between(0.0, f64::INFINITY)),
            _ if law.get("interval").is_some() => {
                (1, Rule::Between(bound(&law["interval"]["lo"]), bound(&law["interval"]["hi"])))
            }
            _ => {
                let shift = law.get("coulomb").is_some();
                let friction = if shift { &law["coulomb"] } else { &law["cone"] };
                (
                    friction["rows"].as_u64().unwrap() as usize,
                    Rule::Cone { mu: friction["mu"].as_f64().unwrap(), shift },
                )
            }
        };
        case.blocks.push((first, rows, rule));
        first += rows;
    }
    let (starts, columns, values) =
        (list(&file["W"]["starts"]), list(&file["W"]["columns"]), list(&file["W"]["values"]));
    let mut matrix = Vec::new();
    for i in 0..first {
        matrix.extend(
            (starts[i] as usize..starts[i + 1] as usize)
                .map(|t| (i, columns[t] as usize, values[t])),
        );
    }
    reduced_velocities(&mut case, &matrix, &list(&file["q"]));
    case
}
