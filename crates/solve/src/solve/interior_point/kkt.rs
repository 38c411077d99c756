//! The linear systems: one pattern, one analysis, many factorizations.
//!
//! ```text
//!   [  Ĥ      −Ĵqᵀ        ] [ dv ]   [ a ]        Ĵq = Qᵀ Ĵ  (each block's rows turned into its eigenbasis)
//!   [ −Ĵq   −(M̂q + D + ε) ] [ y  ] = [ b ]        D ≥ 0: a diagonal, whatever the method needs there
//! ```
//!
//! Quasi-definite: the sign of every pivot is known. ε keeps rows apart that depend on each other;
//! answers that are taken as they are (the first system, Newton steps, extreme masses) are refined
//! against the system without ε, on the path the next iteration does that. A row that takes no part
//! (`pinned`) has its off-diagonal entries set to zero and its diagonal to −1: the pattern stays.
//!
//! Unknowns that meet no row, and the rows of friction blocks, are eliminated beforehand
//! ([`crate::math::ldlt::condensed`]): minimum degree would begin with most of them. Not single
//! rows, between which a body is the better pivot (a settled frictionless pile of 280 spheres takes
//! 1.7 times as long without them), nor rows coupled to others by compliance.
//!
//! Order of elimination: as the bodies are numbered, each row right after the last that it touches,
//! if the factor stays narrow so (a chain, [`crate::math::ldlt::Envelope`]); else minimum degree;
//! where masses span more than [`EXTREME_MASS_RATIO`], light unknowns first and each row right
//! after the last unknown that it touches, without which heavy bodies on light ones lose all
//! digits; small systems of that kind are factored in twice the precision
//! ([`crate::math::double_double`]).

use super::cone::{IDENTITY_DIRECTION, Kind, rotate};
use super::scaled::{EXTREME_MASS_RATIO, Scaled};
use crate::math::ldlt::condensed::{self, Condensed, Group};
use crate::math::ldlt::{BadPivot, DoubleEnvelope, Envelope, Fronts, Ldlt, Ordering};
use crate::math::sparse::Csr;

/// Such systems are factored in twice the working precision if their factor has at most so many
/// numbers.
const MAX_DOUBLE_DOUBLE_ENTRIES: usize = 200_000;

/// The factor is narrow if its rows hold at most so many numbers, on average.
const MAX_NARROW_ROW: usize = 24;

/// The diagonal of the rows, and the bases they are turned into.
#[derive(Default)]
pub struct Diagonal {
    /// d of each block's eigenbasis (blocks; only Lorentz blocks use it).
    pub direction: Vec<[f64; 2]>,
    /// D (rows).
    pub entries: Vec<f64>,
    /// ε (rows).
    pub regular: Vec<f64>,
    /// Rows that take no part (rows).
    pub pinned: Vec<bool>,
}

impl Diagonal {
    /// Zero everywhere, no row pinned.
    pub fn reset(&mut self, blocks: usize, rows: usize) {
        self.direction.clear();
        self.direction.resize(blocks, IDENTITY_DIRECTION);
        for list in [&mut self.entries, &mut self.regular] {
            list.clear();
            list.resize(rows, 0.0);
        }
        self.pinned.clear();
        self.pinned.resize(rows, false);
    }
}

/// The factor of the system.
#[derive(Default)]
enum Factor {
    #[default]
    None,
    /// As the bodies are numbered.
    Narrow(Box<Envelope>),
    /// In the order of least fill.
    Fronts(Box<Fronts>),
    /// Light unknowns first.
    Ordered(Box<Ldlt>),
    /// Light unknowns first, in twice the precision.
    DoubleDouble(Box<DoubleEnvelope>),
}

impl Factor {
    fn solve(&mut self, x: &mut [f64]) {
        match self {
            Factor::None => {}
            Factor::Narrow(envelope) => envelope.solve(x),
            Factor::Fronts(fronts) => fronts.solve(x),
            Factor::Ordered(ldlt) => ldlt.solve(x),
            Factor::DoubleDouble(envelope) => envelope.solve(x),
        }
    }
}

/// The system and its factor.
#[derive(Default)]
pub struct Kkt {
    n: usize,
    lower: Csr,
    shift: Vec<f64>,
    pub(super) light_first: bool,
    /// What the analysis was made for: pattern, order.
    analysed: (Vec<usize>, Vec<u32>, bool),
    groups: Groups,
    condensed: Condensed,
    /// Of the pivots of the condensed system.
    signs: Vec<i8>,
    factor: Factor,
    residual: Vec<f64>,
    right: Vec<f64>,
    candidate: Vec<f64>,
    terms: Vec<f64>,
    /// Numeric factorizations so far.
    pub factorizations: u64,
}

impl Kkt {
    /// Lays out the pattern for `scaled`; the analysis is kept if the pattern is the same.
    pub fn prepare(&mut self, scaled: &Scaled) {
        self.n = scaled.n();
        let size = self.n + scaled.rows();
        self.layout(scaled);
        self.shift.clear();
        self.shift.resize(size, 0.0);
        self.light_first = scaled.mass_ratio() > EXTREME_MASS_RATIO;
        let (starts, columns, light) = &self.analysed;
        self.groups.set(scaled, self.light_first);
        let groups = &self.groups.list;
        if *light == self.light_first
            && *starts == self.lower.starts
            && *columns == self.lower.columns
            && groups == self.condensed.groups()
        {
            return;
        }
        self.analysed = (self.lower.starts.clone(), self.lower.columns.clone(), self.light_first);
        self.condensed = Condensed::of(&self.lower, groups.clone());
        self.signs.clear();
        self.signs.extend(
            self.condensed.kept.iter().map(|&i| if (i as usize) < self.n { 1 } else { -1 }),
        );
        self.analyse(scaled);
    }

    /// Chooses the order of elimination and lays out the factor.
    fn analyse(&mut self, scaled: &Scaled) {
        let lower = &self.condensed.lower;
        let mut unknowns: Vec<u32> = (0..self.n as u32).collect();
        self.factor = if self.light_first {
            unknowns
                .sort_by(|&i, &j| scaled.column[i as usize].total_cmp(&scaled.column[j as usize]));
            let order = rows_after(scaled, &unknowns);
            match DoubleEnvelope::analyse(lower, &order, MAX_DOUBLE_DOUBLE_ENTRIES) {
                Some(envelope) => Factor::DoubleDouble(Box::new(envelope)),
                None => Factor::Ordered(Box::new(Ldlt::analyse(lower, Ordering::Given(&order)))),
            }
        } else {
            let mut index = vec![u32::MAX; self.lower.rows];
            self.condensed.kept.iter().enumerate().for_each(|(c, &i)| index[i as usize] = c as u32);
            let order: Vec<u32> = rows_after(scaled, &unknowns)
                .iter()
                .map(|&i| index[i as usize])
                .filter(|&c| c != u32::MAX)
                .collect();
            match Envelope::analyse(lower, order, MAX_NARROW_ROW * lower.rows) {
                Some(envelope) => Factor::Narrow(Box::new(envelope)),
                None => {
                    let blocks = natural_blocks(scaled);
                    let blocks: Vec<u32> =
                        self.condensed.kept.iter().map(|&i| blocks[i as usize]).collect();
                    Factor::Fronts(Box::new(Fronts::analyse(lower, &blocks)))
                }
            }
        };
    }

    fn layout(&mut self, scaled: &Scaled) {
        let n = self.n;
        let mut lower = std::mem::take(&mut self.lower);
        lower.rows = n + scaled.rows();
        lower.cols = lower.rows;
        lower.columns.clear();
        lower.columns.reserve(scaled.H.columns.len() + scaled.J.values.len() + scaled.rows());
        lower.starts.clear();
        lower.starts.reserve(lower.rows + 1);
        lower.starts.push(0);
        for i in 0..n {
            lower.columns.extend(scaled.H.row(i).0.iter().take_while(|&&j| j as usize <= i));
            lower.starts.push(lower.columns.len());
        }
        let mut next = 0;
        for (k, block) in scaled.blocks.iter().enumerate() {
            let first = next;
            while next < scaled.couplings.len() && scaled.couplings[next].k == k {
                next += 1;
            }
            for i in 0..block.rows {
                lower.columns.extend_from_slice(scaled.J.block(k).columns);
                for c in &scaled.couplings[first..next] {
                    let to = scaled.blocks[c.l];
                    let take = if c.l == k { i } else { to.rows };
                    lower.columns.extend((to.first..to.first + take).map(|j| (n + j) as u32));
                }
                lower.columns.push((n + block.first + i) as u32);
                lower.starts.push(lower.columns.len());
            }
        }
        lower.values.clear();
        lower.values.resize(lower.columns.len(), 0.0);
        self.lower = lower;
    }

    /// Fills in the values and factors.
    pub fn factor(&mut self, scaled: &Scaled, diagonal: &Diagonal) -> Result<(), BadPivot> {
        self.factorizations += 1;
        self.fill(scaled, diagonal);
        self.condensed.fill(&self.lower)?;
        let (left, kept) = (&self.condensed.lower, &self.condensed.kept);
        let factored = match &mut self.factor {
            Factor::None => Ok(()),
            Factor::Narrow(envelope) => envelope.factor(&left.values, &self.signs),
            Factor::Fronts(fronts) => fronts.factor(&left.values, &self.signs),
            Factor::Ordered(ldlt) => ldlt.factor(&left.values, &self.signs),
            Factor::DoubleDouble(envelope) => {
                envelope.factor(left, &self.shift, &self.signs);
                Ok(())
            }
        };
        factored.map_err(|bad| BadPivot { unknown: kept[bad.unknown] as usize, ..bad })
    }

    fn fill(&mut self, scaled: &Scaled, diagonal: &Diagonal) {
        let n = self.n;
        let values = &mut self.lower.values;
        let mut at = 0;
        for i in 0..n {
            let (columns, entries) = scaled.H.row(i);
            for (_, x) in columns.iter().zip(entries).take_while(|(j, _)| **j as usize <= i) {
                values[at] = *x;
                at += 1;
            }
        }
        let mut next = 0;
        for (k, block) in scaled.blocks.iter().enumerate() {
            let first = next;
            while next < scaled.couplings.len() && scaled.couplings[next].k == k {
                next += 1;
            }
            let from = scaled.J.block(k);
            let starts = &self.lower.starts;
            let begin = |i: usize| starts[n + block.first + i];
            let d = &diagonal.direction[k];
            for (p, _) in from.columns.iter().enumerate() {
                let mut x = [0.0; 3];
                for (i, x) in x.iter_mut().enumerate().take(block.rows) {
                    *x = from.row(i)[p];
                }
                let y = if block.kind == Kind::Lorentz { rotate(d, &x) } else { x };
                for (i, y) in y.iter().enumerate().take(block.rows) {
                    values[begin(i) + p] = if diagonal.pinned[block.first + i] { 0.0 } else { -y };
                }
            }
            for i in 0..block.rows {
                let end = self.lower.starts[n + block.first + i + 1] - 1;
                let row = block.first + i;
                values[end] = if diagonal.pinned[row] {
                    -1.0
                } else {
                    -(diagonal.entries[row] + diagonal.regular[row])
                };
                self.shift[n + row] =
                    if diagonal.pinned[row] { 0.0 } else { diagonal.regular[row] };
            }
            let mut offset = from.columns.len();
            for c in &scaled.couplings[first..next] {
                let to = scaled.blocks[c.l];
                let turned = turn(scaled, c, &diagonal.direction);
                for (i, row) in turned.iter().enumerate().take(block.rows) {
                    let take = if c.l == k { i + 1 } else { to.rows };
                    for (j, &x) in row.iter().enumerate().take(take) {
                        let off = diagonal.pinned[block.first + i] || diagonal.pinned[to.first + j];
                        let own = c.l == k && i == j;
                        let place = if own {
                            self.lower.starts[n + block.first + i + 1] - 1
                        } else {
                            begin(i) + offset + j
                        };
                        match (own, off) {
                            (true, false) => values[place] -= x,
                            (true, true) => {}
                            (false, false) => values[place] = -x,
                            (false, true) => values[place] = 0.0,
                        }
                    }
                }
                offset += to.rows;
            }
        }
    }

    /// Solves for `right` (velocities, then rows in their eigenbases) in place; at most `refine`
    /// steps of refinement.
    pub fn solve(&mut self, right: &mut [f64], refine: usize) {
        if refine == 0 || matches!(self.factor, Factor::DoubleDouble(_)) {
            self.solve_once(right);
            return;
        }
        self.right.clear();
        self.right.extend_from_slice(right);
        self.solve_once(right);
        let mut size = self.defect(right);
        for _ in 0..refine {
            if !(size > 0.0) {
                break;
            }
            let mut residual = std::mem::take(&mut self.residual);
            self.solve_once(&mut residual);
            self.residual = residual;
            self.candidate.clear();
            self.candidate.extend(right.iter().zip(&self.residual).map(|(x, d)| x + d));
            let candidate = std::mem::take(&mut self.candidate);
            let after = self.defect(&candidate);
            let better = after < size;
            if better {
                right.copy_from_slice(&candidate);
            }
            self.candidate = candidate;
            if !(after < 0.5 * size) {
                break;
            }
            size = after;
        }
    }

    /// Back-substitution, without refinement.
    fn solve_once(&mut self, right: &mut [f64]) {
        let Kkt { condensed, lower, factor, .. } = self;
        condensed.solve(lower, right, |left| factor.solve(left));
    }

    /// `residual ← right − K x` with the matrix freed of its regularisation; returns its norm.
    /// Where masses are extreme, less the rounding of its own terms: else the noise of the largest
    /// reactions hides the rest.
    fn defect(&mut self, x: &[f64]) -> f64 {
        let (lower, out) = (&self.lower, &mut self.residual);
        out.clear();
        out.extend_from_slice(&self.right);
        for i in 0..lower.rows {
            let (columns, values) = lower.row(i);
            let (mut sum, xi) = (0.0, x[i]);
            let last = columns.len() - 1;
            for (&j, a) in columns[..last].iter().zip(values) {
                sum += a * x[j as usize];
                out[j as usize] -= a * xi;
            }
            out[i] -= sum + (values[last] + self.shift[i]) * xi;
        }
        if self.light_first {
            let terms = &mut self.terms;
            terms.clear();
            terms.extend(self.right.iter().map(|b| b.abs()));
            for i in 0..lower.rows {
                let (columns, values) = lower.row(i);
                for (&j, a) in columns.iter().zip(values) {
                    terms[i] += (a * x[j as usize]).abs();
                    terms[j as usize] += (a * x[i]).abs();
                }
            }
            for (out, terms) in out.iter_mut().zip(terms) {
                *out = out.signum() * (out.abs() - 2.0 * f64::EPSILON * *terms).max(0.0);
            }
        }
        crate::math::norm(out)
    }
}

/// The turned values of one coupling: `Q_kᵀ M Q_l`.
fn turn(scaled: &Scaled, c: &super::scaled::Coupling, directions: &[[f64; 2]]) -> [[f64; 3]; 3] {
    let (bk, bl) = (scaled.blocks[c.k], scaled.blocks[c.l]);
    let mut x = [[0.0; 3]; 3];
    for (i, row) in x.iter_mut().enumerate().take(bk.rows) {
        for (j, x) in row.iter_mut().enumerate().take(bl.rows) {
            *x = scaled.coupling_values[c.at + i * bl.rows + j];
        }
        if bl.kind == Kind::Lorentz {
            *row = rotate(&directions[c.l], row);
        }
    }
    if bk.kind == Kind::Lorentz {
        for j in 0..bl.rows {
            let column = rotate(&directions[c.k], &[x[0][j], x[1][j], x[2][j]]);
            for (row, c) in x.iter_mut().zip(column) {
                row[j] = c;
            }
        }
    }
    x
}

/// What is eliminated beforehand: unknowns that meet nothing, and the rows of friction.
#[derive(Default)]
struct Groups {
    list: Vec<Group>,
    /// Unknowns that meet something, and blocks that are coupled.
    met: Vec<bool>,
    coupled: Vec<bool>,
}

impl Groups {
    /// The groups of `scaled`; none where light unknowns go first.
    fn set(&mut self, scaled: &Scaled, light_first: bool) {
        let (n, Groups { list, met, coupled }) = (scaled.n(), self);
        list.clear();
        if light_first {
            return;
        }
        met.clear();
        met.extend((0..n).map(|i| scaled.H.row(i).0.len() > 1));
        scaled.J.columns.iter().for_each(|&j| met[j as usize] = true);
        coupled.clear();
        coupled.resize(scaled.blocks.len(), false);
        for c in &scaled.couplings {
            (coupled[c.k], coupled[c.l]) = (true, true);
        }
        list.extend((0..n).filter(|&i| !met[i]).map(|first| Group { first, rows: 1 }));
        for (k, block) in scaled.blocks.iter().enumerate() {
            let width = scaled.J.block(k).columns.len();
            if block.kind == Kind::Lorentz && !coupled[k] && (1..=condensed::WIDTH).contains(&width)
            {
                list.push(Group { first: n + block.first, rows: block.rows });
            }
        }
    }
}

/// A number for the unknowns of each body (six, in most problems) and for the rows of each block.
fn natural_blocks(scaled: &Scaled) -> Vec<u32> {
    let n = scaled.n();
    let mut out: Vec<u32> = (0..n as u32).map(|i| i / 6).collect();
    for (k, block) in scaled.blocks.iter().enumerate() {
        out.resize(n + block.first + block.rows, (n + k) as u32);
    }
    out
}

/// The unknowns in this order, each row after the last unknown that it touches.
fn rows_after(scaled: &Scaled, unknowns: &[u32]) -> Vec<u32> {
    let n = scaled.n();
    let mut place = vec![0; n];
    for (p, &i) in unknowns.iter().enumerate() {
        place[i as usize] = p;
    }
    // (after which unknown, row)
    let mut rows: Vec<(usize, u32)> = Vec::with_capacity(scaled.rows());
    for (k, block) in scaled.blocks.iter().enumerate() {
        let from = scaled.J.block(k);
        let touched =
            (0..from.columns.len()).filter(|&p| (0..block.rows).any(|i| from.row(i)[p] != 0.0));
        let last = touched.map(|p| place[from.columns[p] as usize] + 1).max().unwrap_or(0);
        rows.extend(block.range().map(|i| (last, (n + i) as u32)));
    }
    rows.sort_unstable();
    let mut order = Vec::with_capacity(n + scaled.rows());
    let mut rows = rows.into_iter().peekable();
    for (p, i) in unknowns.iter().enumerate() {
        while let Some((_, row)) = rows.next_if(|r| r.0 <= p) {
            order.push(row);
        }
        order.push(*i);
    }
    order.extend(rows.map(|r| r.1));
    order
}
