//! From a problem to the coordinates of the sweep.

use super::Settings;
use super::colour::{Colours, UNCOLOURED};
use super::image::{Image, Layout, layout, metric, scaled};
use super::joints::Joints;
use super::kernel::{CHUNK, Contact, LANES};
use super::parts::{BOUNDARY, parts};
use super::system::{Colour, GROUP, Part, STRIDE, Single, System};
use crate::math::cliques::CliqueFactor;
use crate::problem::{Law, Problem};

/// How a block is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Frictional,
    Normal,
    Single,
}

/// Where and how a block is swept; sorted, the order of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    stage: Stage,
    colour: u32,
    kind: Kind,
    block: usize,
}

/// Blocks without a colour first, then the parts, then what lies between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serial,
    Part(u32),
    Boundary,
}

struct Builder<'a> {
    problem: &'a Problem,
    factor: &'a mut CliqueFactor,
    settings: &'a Settings,
    layout: Layout,
    image: Image,
    /// q = J H⁻¹ k + w.
    q: Vec<f64>,
    /// First of the dummy groups that contacts with the ground touch.
    dummy: usize,
    /// Number of dummies that parts use.
    dummies: usize,
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
        let mut builder = Builder { problem, factor, settings, layout, image: Image::default(), q, dummy, dummies: 1, system };
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

    /// Stages, colours and kinds of all blocks but the joints, in the order of the sweep.
    fn place(&mut self, jointed: bool) -> Vec<Placed> {
        let groups = self.layout.groups.len();
        let count = groups + self.layout.cliques.len();
        let swept: Vec<usize> = (0..self.problem.laws.len()).filter(|&k| !(jointed && self.problem.laws[k] == Law::Equality)).collect();
        let owners: Vec<Vec<u32>> = swept.iter().map(|&k| self.owners(k)).collect();
        let (part, number) = parts(count, &owners);
        self.dummies = number;
        let (mut inner, mut outer) = (Colours::new(count), Colours::new(count));
        let mut placed = Vec::new();
        for (&block, owners) in swept.iter().zip(&owners) {
            let kind = self.kind(block, owners);
            let home = owners.first().map_or(BOUNDARY, |&o| part[o as usize]);
            let within = home != BOUNDARY && owners.iter().all(|&o| part[o as usize] == home);
            let in_mesh = |o: &u32| (*o as usize).checked_sub(groups).is_some_and(|c| !self.layout.touched[c].is_empty());
            let (mut stage, colour) = match kind {
                _ if owners.iter().any(in_mesh) => (Stage::Serial, 0),
                Kind::Frictional | Kind::Normal if within => (Stage::Part(home), inner.place(owners)),
                _ => (Stage::Boundary, outer.place(owners)),
            };
            let kind = if colour == UNCOLOURED { Kind::Single } else { kind };
            if colour == UNCOLOURED {
                stage = Stage::Serial;
            }
            placed.push(Placed { stage, colour, kind, block });
        }
        placed.sort_unstable();
        placed
    }

    fn owners(&self, block: usize) -> Vec<u32> {
        let mut owners: Vec<u32> = self.problem.J.block(block).columns.iter().map(|&j| self.layout.owner[j as usize]).collect();
        owners.dedup();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Lanes take stiff rows over at most two groups.
    fn kind(&self, block: usize, owners: &[u32]) -> Kind {
        let rigid = owners.len() <= 2 && owners.iter().all(|&o| (o as usize) < self.layout.groups.len());
        let stiff = self.problem.E[self.problem.J.block(block).range()].iter().all(|&e| e == 0.0);
        match self.problem.laws[block] {
            _ if !rigid || !stiff => Kind::Single,
            Law::Cone { mu, rows: 3 } if !self.system.exact && mu > 0.0 => Kind::Frictional,
            Law::Unilateral | Law::Interval { .. } | Law::Equality => Kind::Normal,
            _ => Kind::Single,
        }
    }

    fn blocks(&mut self, placed: &[Placed]) {
        for stage in placed.chunk_by(|a, b| a.stage == b.stage) {
            let first = self.system.places.row.len();
            let mut colours = Vec::new();
            for colour in stage.chunk_by(|a, b| a.colour == b.colour) {
                colours.push(self.colour(colour));
            }
            match stage[0].stage {
                Stage::Serial => self.system.serial = self.system.singles.len(),
                Stage::Part(_) => self.system.parts.push(Part { colours, places: first..self.system.places.row.len() }),
                Stage::Boundary => self.system.boundary = colours,
            }
        }
    }

    fn colour(&mut self, placed: &[Placed]) -> Colour {
        let of = |kind: Kind| {
            let from = placed.partition_point(|p| p.kind < kind);
            &placed[from..from + placed[from..].partition_point(|p| p.kind == kind)]
        };
        let mut out = Colour { frictional_at: self.system.places.row.len(), ..Colour::default() };
        out.frictional = self.lanes(of(Kind::Frictional), 3);
        out.normal_at = self.system.places.row.len();
        out.normal = self.lanes(of(Kind::Normal), 1);
        let first = self.system.singles.len();
        for placed in of(Kind::Single) {
            self.single(placed.block);
        }
        out.single = first..self.system.singles.len();
        out
    }

    /// Blocks of `d` rows into groups of lanes.
    fn lanes(&mut self, placed: &[Placed], d: usize) -> std::ops::Range<usize> {
        let count = |s: &System| if d == 3 { s.frictional.places.len() } else { s.normal.places.len() };
        let first = count(&self.system);
        for (g, four) in placed.chunks(LANES).enumerate() {
            // Parts have a dummy each, and so have the chunks of a colour of the boundary.
            let slot = match four[0].stage {
                Stage::Part(part) => part as usize,
                _ => self.dummies + g / CHUNK,
            };
            let dummy = self.dummy + slot * STRIDE;
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
    #[allow(clippy::needless_range_loop)] // rows keep their index
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

    #[allow(clippy::needless_range_loop)] // rows keep their index
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
