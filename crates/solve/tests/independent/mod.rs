//! An independent residual: problems as dense matrices in double-double arithmetic, laws from their
//! definition. It shares no code with the library.
#![allow(dead_code)]

pub mod conditions;
pub mod random;

use signorini_solve::problem::{Law, Problem};

/// A number of 32 digits, the sum of two doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dd(pub f64, pub f64);

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd(x, 0.0)
    }
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

impl std::ops::Add for Dd {
    type Output = Dd;
    fn add(self, o: Dd) -> Dd {
        let (s, e) = two_sum(self.0, o.0);
        let (t, f) = two_sum(self.1, o.1);
        let (s, e) = two_sum(s, e + t);
        let (s, e) = two_sum(s, e + f);
        Dd(s, e)
    }
}

impl std::ops::Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd(-self.0, -self.1)
    }
}

impl std::ops::Sub for Dd {
    type Output = Dd;
    fn sub(self, o: Dd) -> Dd {
        self + -o
    }
}

impl std::ops::Mul for Dd {
    type Output = Dd;
    fn mul(self, o: Dd) -> Dd {
        let p = self.0 * o.0;
        let e = self.0.mul_add(o.0, -p) + self.0 * o.1 + self.1 * o.0;
        let (s, e) = two_sum(p, e);
        Dd(s, e)
    }
}

impl std::ops::Div for Dd {
    type Output = Dd;
    fn div(self, o: Dd) -> Dd {
        let a = self.0 / o.0;
        let rest = self - o * a.into();
        let b = rest.0 / o.0;
        let rest = rest - o * b.into();
        Dd::from(a) + Dd::from(b) + Dd::from(rest.0 / o.0)
    }
}

impl Dd {
    pub fn abs(self) -> Dd {
        if self.0 < 0.0 { -self } else { self }
    }

    pub fn sqrt(self) -> Dd {
        if self.0 <= 0.0 {
            return Dd::default();
        }
        let x = Dd::from(self.0.sqrt());
        // One step of Newton from 16 digits.
        (x + self / x) * 0.5.into()
    }

    pub fn value(self) -> f64 {
        self.0 + self.1
    }
}

pub fn dot(a: &[Dd], b: &[Dd]) -> Dd {
    a.iter().zip(b).fold(Dd::default(), |s, (x, y)| s + *x * *y)
}

/// The problem as dense matrices.
pub struct Dense {
    pub n: usize,
    pub m: usize,
    h: Vec<Vec<Dd>>,
    lower: Vec<Vec<Dd>>,
    pub j: Vec<Vec<Dd>>,
    k: Vec<Dd>,
    pub e: Vec<Dd>,
    pub w: Vec<Dd>,
    /// First row and law of each block.
    pub blocks: Vec<(usize, Law)>,
}

impl Dense {
    pub fn of(problem: &Problem) -> Dense {
        let (n, m) = (problem.n(), problem.rows());
        let mut h = vec![vec![Dd::default(); n]; n];
        for (i, row) in h.iter_mut().enumerate() {
            let (columns, values) = problem.H.row(i);
            columns.iter().zip(values).for_each(|(&j, &x)| row[j as usize] = x.into());
        }
        let mut j = vec![vec![Dd::default(); n]; m];
        let mut blocks = Vec::new();
        for (block, law) in problem.J.blocks().zip(&problem.laws) {
            blocks.push((block.first, *law));
            for i in 0..block.rows {
                block
                    .columns
                    .iter()
                    .zip(block.row(i))
                    .for_each(|(&c, &x)| j[block.first + i][c as usize] = x.into());
            }
        }
        let lift = |x: &[f64]| x.iter().map(|&x| Dd::from(x)).collect::<Vec<_>>();
        let lower = cholesky(&h);
        Dense {
            n,
            m,
            h,
            lower,
            j,
            k: lift(&problem.k),
            e: lift(&problem.E),
            w: lift(&problem.w),
            blocks,
        }
    }

    /// `H⁻¹ b`.
    pub fn solve(&self, b: &[Dd]) -> Vec<Dd> {
        let (n, l) = (self.n, &self.lower);
        let mut x = b.to_vec();
        for i in 0..n {
            for p in 0..i {
                x[i] = x[i] - l[i][p] * x[p];
            }
            x[i] = x[i] / l[i][i];
        }
        for i in (0..n).rev() {
            for p in i + 1..n {
                x[i] = x[i] - l[p][i] * x[p];
            }
            x[i] = x[i] / l[i][i];
        }
        x
    }

    /// `L⁻¹ b` with H = L Lᵀ, in doubles.
    pub fn whiten(&self, b: &[Dd]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in 0..self.n {
            for p in 0..i {
                x[i] = x[i] - self.lower[i][p] * x[p];
            }
            x[i] = x[i] / self.lower[i][i];
        }
        x.into_iter().map(Dd::value).collect()
    }

    /// `Jᵀ s`.
    pub fn force(&self, s: &[Dd]) -> Vec<Dd> {
        let mut f = vec![Dd::default(); self.n];
        for (row, s) in self.j.iter().zip(s) {
            f.iter_mut().zip(row).for_each(|(f, a)| *f = *f + *a * *s);
        }
        f
    }

    /// `v(s) = H⁻¹(k + Jᵀ s)`.
    pub fn velocity(&self, s: &[Dd]) -> Vec<Dd> {
        let b: Vec<Dd> = self.force(s).iter().zip(&self.k).map(|(a, b)| *a + *b).collect();
        self.solve(&b)
    }

    /// `J v + E s + w`.
    pub fn local(&self, v: &[Dd], s: &[Dd]) -> Vec<Dd> {
        (0..self.m).map(|i| dot(&self.j[i], v) + self.e[i] * s[i] + self.w[i]).collect()
    }

    /// Σ|terms| of the same.
    pub fn terms(&self, v: &[Dd], s: &[Dd]) -> Vec<f64> {
        let size = |i: usize| (0..self.n).map(|c| (self.j[i][c].0 * v[c].0).abs()).sum::<f64>();
        (0..self.m).map(|i| size(i) + (self.e[i].0 * s[i].0).abs() + self.w[i].0.abs()).collect()
    }

    /// `½‖a − b‖²_H`.
    pub fn apart(&self, a: &[Dd], b: &[Dd]) -> f64 {
        let d: Vec<Dd> = a.iter().zip(b).map(|(a, b)| *a - *b).collect();
        let hd: Vec<Dd> = self.h.iter().map(|row| dot(row, &d)).collect();
        (0.5 * dot(&d, &hd).value()).max(0.0)
    }
}

fn cholesky(h: &[Vec<Dd>]) -> Vec<Vec<Dd>> {
    let n = h.len();
    let mut l = vec![vec![Dd::default(); n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut s = h[i][j];
            for p in 0..j {
                s = s - l[i][p] * l[j][p];
            }
            l[i][j] = if i == j { s.sqrt() } else { s / l[j][j] };
        }
    }
    l
}

/// How far r is outside K, relative to its size.
pub fn outside(law: &Law, r: &[f64]) -> f64 {
    match *law {
        Law::Equality => 0.0,
        Law::Unilateral => (-r[0]).max(0.0),
        Law::Interval { lo, hi } => (lo - r[0]).max(r[0] - hi).max(0.0),
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
            let t: Dd =
                r[1..].iter().fold(Dd::default(), |s, &x| s + Dd::from(x) * x.into()).sqrt();
            (t - Dd::from(mu) * r[0].into()).value().max(-r[0]).max(0.0)
        }
    }
}

/// How far û is outside K* (intervals: where a bound is infinite), in normal velocity; and
/// `r·û + φ(û)`.
pub fn dual(law: &Law, u: &[Dd], r: &[f64]) -> (f64, Dd) {
    let product = u.iter().zip(r).fold(Dd::default(), |s, (u, &r)| s + *u * r.into());
    match *law {
        Law::Equality => (u[0].abs().value(), Dd::default()),
        Law::Unilateral => ((-u[0]).value().max(0.0), product),
        Law::Interval { lo, hi } => {
            let bound = if u[0].0 > 0.0 { lo } else { hi };
            if bound.is_infinite() {
                (u[0].abs().value(), Dd::default())
            } else {
                (0.0, product - u[0] * bound.into())
            }
        }
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
            let t = u[1..].iter().fold(Dd::default(), |s, x| s + *x * *x).sqrt();
            ((Dd::from(mu) * t - u[0]).value().max(0.0), product)
        }
    }
}
