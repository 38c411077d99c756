//! From a problem to the coordinates of the sweep.

use super::colour::{Colours, UNCOLOURED};
use super::image::{Image, Layout, metric, scaled};
use super::kernel::{CHUNK, Contact};
use super::lanes::LANES;
use super::laws::coulomb_parameters;
use super::parts::{BOUNDARY, Lists, Parts};
use super::system::{Colour, GROUP, Part, Run, STRIDE, Single, System};
use super::{Local, Settings};
use crate::math::cliques::CliqueFactor;
use crate::problem::{Law, Problem};

/// How a block is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cone,
    Coulomb,
    Bounds,
    Single,
}

impl Kind {
    /// Rows of a block in lanes.
    fn rows(self) -> usize {
        if self == Kind::Bounds { 1 } else { 3 }
    }
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

/// Work space, kept between problems.
#[derive(Default)]
pub(super) struct Scratch {
    layout: Layout,
    image: Image,
    /// H⁻¹ k, and q = J H⁻¹ k + w.
    v: Vec<f64>,
    q: Vec<f64>,
    /// Blocks that are not joints, and the owners of each.
    swept: Vec<usize>,
    owners: Lists,
    parts: Parts,
    inner: Colours,
    outer: Colours,
    placed: Vec<Placed>,
}

struct Builder<'a> {
    problem: &'a Problem,
    factor: &'a mut CliqueFactor,
    settings: &'a Settings,
    scratch: &'a mut Scratch,
    /// First of the dummy groups that contacts with the ground touch.
    dummy: usize,
    system: &'a mut System,
}

impl System {
    /// Takes a problem whose H is factored, in the memory at hand.
    pub(super) fn set(&mut self, problem: &Problem, factor: &mut CliqueFactor, settings: &Settings, scratch: &mut Scratch) {
        self.clear();
        scratch.layout.set(problem, factor);
        scratch.free_velocities(problem, factor);
        let dummy = scratch.layout.len;
        (self.len, self.mesh, self.meshed) = (dummy, scratch.layout.mesh, dummy - scratch.layout.mesh);
        self.compliant = problem.E.iter().any(|&e| e > 0.0);
        let mut builder = Builder { problem, factor, settings, scratch, dummy, system: self };
        let jointed = builder.joints();
        builder.place(jointed);
        let placed = std::mem::take(&mut builder.scratch.placed);
        builder.blocks(&placed);
        scratch.placed = placed;
        if !self.sliding.is_empty() {
            for by_place in [&mut self.sliding, &mut self.shift, &mut self.change] {
                by_place.resize(self.places.row.len(), 0.0);
            }
            self.shift.fill(0.0);
            self.change.fill(0.0);
        }
    }
}

impl Scratch {
    /// `q ← J H⁻¹ k + w`.
    fn free_velocities(&mut self, problem: &Problem, factor: &mut CliqueFactor) {
        self.v.clone_from(&problem.k);
        factor.solve(&mut self.v);
        self.q.clear();
        self.q.resize(problem.rows(), 0.0);
        problem.J.mul(&self.v, &mut self.q);
        self.q.iter_mut().zip(&problem.w).for_each(|(q, w)| *q += w);
    }
}

impl Builder<'_> {
    /// Appends a place of r̂ for row `row` (none: padding).
    fn append(&mut self, row: Option<usize>, s: f64) {
        let system = &mut *self.system;
        system.places.row.push(row.map_or(u32::MAX, |row| row as u32));
        system.places.scale.push(s);
        system.q.push(row.map_or(0.0, |row| self.scratch.q[row] * s));
        system.compliance.push(row.map_or(0.0, |row| self.problem.E[row] * s * s));
    }

    /// All equality rows as one block, if that is asked for and can be factored.
    fn joints(&mut self) -> bool {
        if !self.settings.joints || !self.problem.laws.contains(&Law::Equality) {
            return false;
        }
        for k in (0..self.problem.laws.len()).filter(|&k| self.problem.laws[k] == Law::Equality) {
            let image = &mut self.scratch.image;
            image.set(self.problem, k, &self.scratch.layout, self.factor);
            let (s, step) = metric(&Law::Equality, &mut image.block, self.settings);
            let s = if step > 0.0 { s[0] } else { 0.0 };
            image.read_values.iter_mut().chain(&mut image.write_values).for_each(|x| *x *= s);
            let row = self.problem.J.row_starts[k];
            let compliance = self.problem.E[row] * s * s;
            self.system.joints.push((&image.read, &image.read_values), (&image.write, &image.write_values), compliance);
            self.append(Some(row), s);
        }
        if !self.system.joints.factor(self.scratch.layout.len) {
            self.system.clear_rows();
            return false;
        }
        true
    }

    /// Stages, colours and kinds of all blocks but the joints, in the order of the sweep.
    fn place(&mut self, jointed: bool) {
        let Scratch { layout, swept, owners, parts, inner, outer, placed, .. } = &mut *self.scratch;
        let (problem, settings) = (self.problem, self.settings);
        let groups = layout.groups.len();
        let count = groups + layout.cliques.len();
        swept.clear();
        swept.extend((0..problem.laws.len()).filter(|&k| !(jointed && problem.laws[k] == Law::Equality)));
        owners.clear();
        for &k in swept.iter() {
            owners.push(problem.J.block(k).columns.iter().map(|&j| layout.owner[j as usize]));
        }
        parts.set(count, owners);
        inner.reset(count);
        outer.reset(count);
        placed.clear();
        for (i, &block) in swept.iter().enumerate() {
            let owners = owners.get(i);
            let rigid = owners.len() <= 2 && owners.iter().all(|&o| (o as usize) < groups);
            let kind = if rigid { kind(problem, block, settings) } else { Kind::Single };
            let home = owners.first().map_or(BOUNDARY, |&o| parts.of[o as usize]);
            let within = home != BOUNDARY && owners.iter().all(|&o| parts.of[o as usize] == home);
            let in_mesh = |o: &u32| (*o as usize).checked_sub(groups).is_some_and(|c| !layout.touched[c].is_empty());
            let (stage, colour) = match kind {
                _ if owners.iter().any(in_mesh) => (Stage::Serial, 0),
                Kind::Cone | Kind::Coulomb | Kind::Bounds if within => (Stage::Part(home), inner.place(owners)),
                _ => (Stage::Boundary, outer.place(owners)),
            };
            placed.push(match colour {
                UNCOLOURED => Placed { stage: Stage::Serial, colour, kind: Kind::Single, block },
                _ => Placed { stage, colour, kind, block },
            });
        }
        placed.sort_unstable();
    }

    fn blocks(&mut self, placed: &[Placed]) {
        for stage in placed.chunk_by(|a, b| a.stage == b.stage) {
            let (first, first_colour) = (self.system.places.row.len(), self.system.colours.len());
            for colour in stage.chunk_by(|a, b| a.colour == b.colour) {
                let colour = self.colour(colour);
                self.system.colours.push(colour);
            }
            let colours = first_colour..self.system.colours.len();
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
        let cone = self.lanes(of(Kind::Cone), Kind::Cone);
        let coulomb = self.lanes(of(Kind::Coulomb), Kind::Coulomb);
        let bounds = self.lanes(of(Kind::Bounds), Kind::Bounds);
        let first = self.system.singles.len();
        for placed in of(Kind::Single) {
            self.single(placed.block);
        }
        Colour { cone, coulomb, bounds, single: first..self.system.singles.len() }
    }

    /// Blocks of one kind into groups of lanes.
    fn lanes(&mut self, placed: &[Placed], kind: Kind) -> Run {
        let count = |s: &System| match kind {
            Kind::Cone => s.kinds.cone.len(),
            Kind::Coulomb => s.kinds.coulomb.len(),
            _ => s.kinds.bounds.len(),
        };
        let (first, at) = (count(self.system), self.system.places.row.len());
        for (g, four) in placed.chunks(LANES).enumerate() {
            // Parts have a dummy each, and so have the chunks of a colour of the boundary.
            let slot = match four[0].stage {
                Stage::Part(part) => part as usize,
                _ => self.scratch.parts.number + g / CHUNK,
            };
            let dummy = self.dummy + slot * STRIDE;
            self.system.len = self.system.len.max(dummy + STRIDE);
            match kind {
                Kind::Cone => self.system.kinds.cone.open(dummy as u32),
                Kind::Coulomb => self.system.kinds.coulomb.open(dummy as u32),
                _ => self.system.kinds.bounds.open(dummy as u32),
            }
            let start = self.system.places.row.len();
            for _ in 0..kind.rows() * LANES {
                self.append(None, 0.0);
            }
            for (lane, placed) in four.iter().enumerate() {
                self.lane(placed.block, lane, start, dummy as u32);
            }
        }
        Run { groups: first..count(self.system), at }
    }

    /// One block into one lane; its reactions live from `start` on, row by row of four.
    fn lane(&mut self, k: usize, lane: usize, start: usize, dummy: u32) {
        let law = self.problem.laws[k];
        let d = law.rows();
        let image = &mut self.scratch.image;
        image.set(self.problem, k, &self.scratch.layout, self.factor);
        let (s, step) = metric(&law, &mut image.block, self.settings);
        let width = image.read.len();
        let mut rows = [0.0; 3 * 2 * GROUP];
        for i in 0..d {
            for j in 0..width {
                rows[i * 2 * GROUP + j] = s[i] * image.read_values[i * width + j];
            }
        }
        let place = |o: usize| image.owners.get(o).map_or(dummy, |&o| o * STRIDE as u32);
        let places = [place(0), place(1)];
        let system = &mut *self.system;
        let first = self.problem.J.row_starts[k];
        for i in 0..d {
            let at = start + i * LANES + lane;
            system.places.row[at] = (first + i) as u32;
            system.places.scale[at] = s[i];
            system.q[at] = self.scratch.q[first + i] * s[i];
        }
        match scaled(&law, &s) {
            Law::Cone { mu, .. } => {
                system.kinds.cone.put(lane, &Contact { places, rows: &rows, parameters: &[mu, 1.0 / (1.0 + mu * mu), step] });
            }
            Law::Coulomb { mu, .. } if !self.settings.exact(&law) => {
                system.kinds.cone.put(lane, &Contact { places, rows: &rows, parameters: &[mu, 1.0 / (1.0 + mu * mu), step] });
                system.sliding.resize(system.places.row.len(), 0.0);
                system.sliding[start + lane] = mu;
            }
            Law::Coulomb { mu, .. } => {
                let parameters = coulomb_parameters(mu, &image.block);
                system.kinds.coulomb.put(lane, &Contact { places, rows: &rows, parameters: &parameters });
            }
            law => {
                let (lo, hi) = match law {
                    Law::Interval { lo, hi } => (lo, hi),
                    Law::Unilateral => (0.0, f64::INFINITY),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                system.kinds.bounds.put(lane, &Contact { places, rows: &rows[..2 * GROUP], parameters: &[lo, hi, step] });
            }
        }
    }

    fn single(&mut self, k: usize) {
        let law = self.problem.laws[k];
        let d = law.rows();
        let image = &mut self.scratch.image;
        image.set(self.problem, k, &self.scratch.layout, self.factor);
        let (s, step) = metric(&law, &mut image.block, self.settings);
        let at = self.system.places.row.len();
        for (i, &s) in s.iter().enumerate().take(d) {
            self.append(Some(self.problem.J.row_starts[k] + i), s);
        }
        let (system, image) = (&mut *self.system, &self.scratch.image);
        let mut add = |coordinates: &[u32], values: &[f64]| {
            let (c, v) = (system.coordinates.len(), system.values.len());
            system.coordinates.extend_from_slice(coordinates);
            for i in 0..d {
                system.values.extend(values[i * coordinates.len()..(i + 1) * coordinates.len()].iter().map(|x| x * s[i]));
            }
            (c..c + coordinates.len(), v)
        };
        let (read, read_values) = add(&image.read, &image.read_values);
        let (write, write_values) = if image.meshed { add(&image.write, &image.write_values) } else { (read.clone(), read_values) };
        let exact = self.settings.exact(&law) || self.settings.local == Local::Frozen;
        let law = scaled(&law, &s);
        system.singles.push(Single { law, at, read, read_values, write, write_values, step, exact, block: image.block });
    }
}

/// Lanes take stiff rows over at most two groups.
fn kind(problem: &Problem, block: usize, settings: &Settings) -> Kind {
    let stiff = problem.E[problem.J.block(block).range()].iter().all(|&e| e == 0.0);
    match problem.laws[block] {
        _ if !stiff => Kind::Single,
        law @ (Law::Cone { mu, rows: 3 } | Law::Coulomb { mu, rows: 3 }) if !settings.exact(&law) && mu > 0.0 => Kind::Cone,
        law @ Law::Coulomb { mu, rows: 3 } if settings.exact(&law) && mu > 0.0 => Kind::Coulomb,
        Law::Unilateral | Law::Interval { .. } | Law::Equality => Kind::Bounds,
        _ => Kind::Single,
    }
}
