//! From a problem to the coordinates of the sweep.

use super::colour::{Colours, UNCOLOURED};
use super::image::{Image, Layout, layout, metric, scaled};
use super::joints::Joints;
use super::kernel::{CHUNK, Contact, LANES};
use super::system::{Colour, GROUP, STRIDE, Single, System};
use super::Settings;
use crate::math::cliques::CliqueFactor;
use crate::problem::{Law, Problem};

/// How a block is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Frictional,
    Normal,
    Single,
}

/// A block, its colour and its kind.
struct Placed {
    colour: u32,
    kind: Kind,
    block: usize,
}

struct Builder<'a> {
    problem: &'a Problem,
    factor: &'a mut CliqueFactor,
    settings: &'a Settings,
    layout: Layout,
    image: Image,
    /// q = J H⁻¹ k + w.
    q: Vec<f64>,
    /// First of the dummy groups that contacts with the ground touch, one per chunk of a colour.
    dummy: usize,
    system: System,
}

impl System {
    /// Takes a problem whose H is factored.
    pub(super) fn new(problem: &Problem, factor: &mut CliqueFactor, settings: &Settings) -> System {
        let layout = layout(problem, factor);
        let exact = settings.exact(&problem.laws);
        let compliant = problem.E.iter().any(|&e| e > 0.0);
        let parallel = settings.parallel && rayon::current_num_threads() > 1;
        let meshed = layout.len - layout.mesh;
        let system = System { len: layout.len, mesh: layout.mesh, meshed, parallel, exact, compliant, ..System::default() };
        let q = free_velocities(problem, factor);
        let dummy = layout.len;
        let mut builder = Builder { problem, factor, settings, layout, image: Image::default(), q, dummy, system };
        let jointed = builder.joints();
        let placed = builder.place(jointed);
        builder.blocks(&placed);
        builder.system
    }
}

/// `J H⁻¹ k + w`.
fn free_velocities(problem: &Problem, factor: &mut CliqueFactor) -> Vec<f64> {
    let mut v = problem.k.clone();
    factor.solve(&mut v);
    let mut q = vec![0.0; problem.rows()];
    problem.local_velocities(&v, &vec![0.0; problem.rows()], &mut q);
    q
}

impl Builder<'_> {
    /// Appends a place of r̂ for row `row` (none: padding).
    fn append(&mut self, row: Option<usize>, s: f64) {
        let system = &mut self.system;
        system.places.row.push(row.map_or(u32::MAX, |row| row as u32));
        system.places.scale.push(s);
        system.q.push(row.map_or(0.0, |row| self.q[row] * s));
        system.compliance.push(row.map_or(0.0, |row| self.problem.E[row] * s * s));
    }

    /// All equality rows as one block, if that is asked for and can be factored.
    fn joints(&mut self) -> bool {
        if !self.settings.joints || !self.problem.laws.contains(&Law::Equality) {
            return false;
        }
        let mut joints = Joints::default();
        let mut rows = Vec::new();
        for k in 0..self.problem.laws.len() {
            if self.problem.laws[k] != Law::Equality {
                continue;
            }
            self.image.set(self.problem, k, &self.layout, self.factor);
            let (s, step) = metric(&Law::Equality, &mut self.image.block, self.settings);
            let s = if step > 0.0 { s[0] } else { 0.0 };
            let image = &mut self.image;
            image.read_values.iter_mut().chain(&mut image.write_values).for_each(|x| *x *= s);
            let row = self.problem.J.row_starts[k];
            joints.push((&image.read, &image.read_values), (&image.write, &image.write_values), self.problem.E[row] * s * s);
            rows.push((row, s));
        }
        if !joints.factor(self.layout.len) {
            return false;
        }
        for (row, s) in rows {
            self.append(Some(row), s);
        }
        self.system.joints = joints;
        true
    }

    /// Colours and kinds: serial blocks first, then colour by colour, each in the order of the problem.
    fn place(&mut self, jointed: bool) -> Vec<Placed> {
        let groups = self.layout.groups.len();
        let mut colours = Colours::new(groups + self.layout.cliques.len());
        let mut placed = Vec::new();
        let mut owners: Vec<u32> = Vec::new();
        for (block, law) in self.problem.laws.iter().enumerate() {
            if jointed && *law == Law::Equality {
                continue;
            }
            let rows = self.problem.J.block(block);
            owners.clear();
            owners.extend(rows.columns.iter().map(|&j| self.layout.owner[j as usize]));
            owners.sort_unstable();
            owners.dedup();
            let in_mesh = |o: &u32| (*o as usize).checked_sub(groups).is_some_and(|c| !self.layout.touched[c].is_empty());
            let colour = if owners.iter().any(in_mesh) { UNCOLOURED } else { colours.place(&owners) };
            let rigid = owners.len() <= 2 && owners.iter().all(|&o| (o as usize) < groups);
            let stiff = self.problem.E[rows.range()].iter().all(|&e| e == 0.0);
            let laned = rigid && stiff && colour != UNCOLOURED;
            let kind = match *law {
                Law::Cone { mu, rows: 3 } if laned && !self.system.exact && mu > 0.0 => Kind::Frictional,
                Law::Unilateral | Law::Interval { .. } | Law::Equality if laned => Kind::Normal,
                _ => Kind::Single,
            };
            placed.push(Placed { colour, kind, block });
        }
        placed.sort_by_key(|p| (p.colour.wrapping_add(1), p.kind, p.block));
        placed
    }

    fn blocks(&mut self, placed: &[Placed]) {
        let mut at = 0;
        while at < placed.len() {
            let colour = placed[at].colour;
            let end = at + placed[at..].partition_point(|p| p.colour == colour);
            let of = |kind: Kind| {
                let from = at + placed[at..end].partition_point(|p| p.kind < kind);
                &placed[from..from + placed[from..end].partition_point(|p| p.kind == kind)]
            };
            let mut out = Colour::default();
            out.frictional_at = self.system.places.row.len();
            out.frictional = self.lanes(of(Kind::Frictional), 3);
            out.normal_at = self.system.places.row.len();
            out.normal = self.lanes(of(Kind::Normal), 1);
            let first = self.system.singles.len();
            for placed in of(Kind::Single) {
                self.single(placed.block);
            }
            out.single = first..self.system.singles.len();
            if colour == UNCOLOURED {
                self.system.serial = self.system.singles.len();
            } else {
                self.system.colours.push(out);
            }
            at = end;
        }
    }

    /// Blocks of `d` rows into groups of lanes.
    fn lanes(&mut self, placed: &[Placed], d: usize) -> std::ops::Range<usize> {
        let count = |s: &System| if d == 3 { s.frictional.places.len() } else { s.normal.places.len() };
        let first = count(&self.system);
        for (g, four) in placed.chunks(LANES).enumerate() {
            let dummy = self.dummy + g / CHUNK * STRIDE;
            self.system.len = self.system.len.max(dummy + STRIDE);
            if d == 3 {
                self.system.frictional.open(dummy as u32);
            } else {
                self.system.normal.open(dummy as u32);
            }
            let start = self.system.places.row.len();
            for _ in 0..d * LANES {
                self.append(None, 0.0);
            }
            for (lane, placed) in four.iter().enumerate() {
                self.lane(placed.block, lane, start, dummy as u32);
            }
        }
        first..count(&self.system)
    }

    /// One block into one lane; its reactions live from `start` on, row by row of four.
    fn lane(&mut self, k: usize, lane: usize, start: usize, dummy: u32) {
        let law = self.problem.laws[k];
        let d = law.rows();
        self.image.set(self.problem, k, &self.layout, self.factor);
        let (s, step) = metric(&law, &mut self.image.block, self.settings);
        let width = self.image.read.len();
        let mut rows = [0.0; 3 * 2 * GROUP];
        for i in 0..d {
            for j in 0..width {
                rows[i * 2 * GROUP + j] = s[i] * self.image.read_values[i * width + j];
            }
        }
        let place = |o: usize| self.image.owners.get(o).map_or(dummy, |&o| o * STRIDE as u32);
        let places = [place(0), place(1)];
        let system = &mut self.system;
        let first = self.problem.J.row_starts[k];
        for i in 0..d {
            let at = start + i * LANES + lane;
            system.places.row[at] = (first + i) as u32;
            system.places.scale[at] = s[i];
            system.q[at] = self.q[first + i] * s[i];
        }
        match scaled(&law, &s) {
            Law::Cone { mu, .. } => {
                system.frictional.put(lane, &Contact { places, rows: &rows, parameters: [mu, 1.0 / (1.0 + mu * mu), step] });
            }
            law => {
                let (lo, hi) = match law {
                    Law::Interval { lo, hi } => (lo, hi),
                    Law::Unilateral => (0.0, f64::INFINITY),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                system.normal.put(lane, &Contact { places, rows: &rows[..2 * GROUP], parameters: [lo, hi, step] });
            }
        }
    }

    fn single(&mut self, k: usize) {
        let law = self.problem.laws[k];
        let d = law.rows();
        self.image.set(self.problem, k, &self.layout, self.factor);
        let (s, step) = metric(&law, &mut self.image.block, self.settings);
        let at = self.system.places.row.len();
        for (i, &s) in s.iter().enumerate().take(d) {
            self.append(Some(self.problem.J.row_starts[k] + i), s);
        }
        let mut add = |coordinates: &[u32], values: &[f64]| {
            let (c, v) = (self.system.coordinates.len(), self.system.values.len());
            self.system.coordinates.extend_from_slice(coordinates);
            for i in 0..d {
                self.system.values.extend(values[i * coordinates.len()..(i + 1) * coordinates.len()].iter().map(|x| x * s[i]));
            }
            (c..c + coordinates.len(), v)
        };
        let (read, read_values) = add(&self.image.read, &self.image.read_values);
        let (write, write_values) =
            if self.image.meshed { add(&self.image.write, &self.image.write_values) } else { (read.clone(), read_values) };
        let law = scaled(&law, &s);
        self.system.singles.push(Single { law, at, read, read_values, write, write_values, step, block: self.image.block });
    }
}
