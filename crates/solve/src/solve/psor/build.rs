//! From a problem to the coordinates of the sweep.

use super::fallback::Singles;
use super::joints::Joints;
use super::metric::{metric, scaled};
use super::pack::{Filler, Slot, fill};
use super::partition::{Colours, HubBodies, Place, Subdomains, UNCOLOURED};
use super::state::Places;
use super::view::{Image, Layout, STRIDE};
use super::{Local, Settings};
use crate::math::cliques::CliqueFactor;
use crate::math::lists::Lists;
use crate::problem::{Law, Problem};
use crate::solve::parallel::WorkerGroup;
use crate::solve::parallel::passes::Cuts;
use crate::solve::simd::frames::Storage;
use crate::solve::simd::kernel::{Colour, Run};
use crate::solve::simd::schedule::{CHUNK, MAX_INTERFACE_ROUNDS, Subdomain};
use crate::solve::simd::{LANES, Lanes};
use std::ops::Range;

/// What a system is made of.
#[derive(Default)]
pub(super) struct Parts {
    /// Row of the problem for each place of r̂ (u32::MAX: padding), and the factor r = s r̂.
    pub places: Places,
    /// q̂ and Ê by place, and whether any Ê is not zero.
    pub q: Vec<f64>,
    pub compliance: Vec<f64>,
    pub compliant: bool,
    pub joints: Joints,
    pub lanes: Lanes,
    pub singles: Singles,
    /// Singles before this one belong to no colour and are swept one after the other.
    pub serial: usize,
    pub cuts: Cuts,
    /// Length of z, where the meshes begin in it, and how many of their unknowns are touched.
    pub len: usize,
    pub mesh: usize,
    pub meshed: usize,
    /// By place: the scaled mu on normal rows whose shift is lagged, else 0. Empty if there is
    /// none.
    pub sliding: Vec<f64>,
}

impl Parts {
    /// Forgets the places of r̂, and the joints.
    fn clear_rows(&mut self) {
        self.places.row.clear();
        self.places.scale.clear();
        self.q.clear();
        self.compliance.clear();
        self.sliding.clear();
        self.joints.clear();
    }
}

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
    /// Where its first owner begins in z, if that is not in the order of the problem.
    near: u32,
    block: usize,
}

/// Where in r̂ a block lies: those without a colour first, then the subdomains, each followed by
/// the interfaces that join it to later ones (who passes over a vector then meets, on the whole,
/// what he swept himself), then those with a hub body, then the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serial,
    Subdomain(Place),
    Hub,
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
    subdomains: Subdomains,
    /// Colours of each round, of blocks with hub bodies, and of the boundary.
    colours: [Colours; MAX_INTERFACE_ROUNDS + 1],
    hubs: HubBodies,
    boundary: Colours,
    /// Owners that subdomains of different rounds touch, or a subdomain and a block with a hub
    /// body, by round and subdomain.
    border: Vec<(Place, u32)>,
    placed: Vec<Placed>,
    /// What goes into each group of lanes: of cones, of Coulomb's law, of bounds.
    slots: [Vec<Slot>; 3],
}

struct Builder<'a> {
    problem: &'a Problem,
    factor: &'a mut CliqueFactor,
    settings: &'a Settings,
    scratch: &'a mut Scratch,
    /// First of the dummy groups that contacts with the ground touch.
    dummy: usize,
    parts: &'a mut Parts,
}

impl Parts {
    /// Takes a problem whose H is factored, in the memory at hand.
    pub(super) fn set(
        &mut self,
        problem: &Problem,
        factor: &mut CliqueFactor,
        settings: &Settings,
        scratch: &mut Scratch,
        workers: Option<&WorkerGroup>,
    ) {
        self.clear_rows();
        self.lanes.clear();
        self.serial = 0;
        self.cuts.r.clear();
        self.cuts.z.clear();
        scratch.layout.set(problem, factor);
        scratch.slots.iter_mut().for_each(Vec::clear);
        scratch.free_velocities(problem, factor);
        let dummy = scratch.layout.len;
        (self.len, self.mesh, self.meshed) =
            (dummy, scratch.layout.mesh, dummy - scratch.layout.mesh);
        self.singles.clear(self.mesh);
        self.lanes.draft().dummies = dummy;
        self.compliant = problem.E.iter().any(|&e| e > 0.0);
        let mut builder = Builder { problem, factor, settings, scratch, dummy, parts: self };
        let jointed = settings.joints && problem.laws.contains(&Law::Equality);
        builder.place(jointed);
        if jointed && !builder.joints() {
            builder.place(false);
        }
        let placed = std::mem::take(&mut builder.scratch.placed);
        builder.blocks(&placed);
        scratch.placed = placed;
        self.fill(problem, settings, scratch, workers);
        if !self.sliding.is_empty() {
            self.sliding.resize(self.places.row.len(), 0.0);
        }
        self.lanes.close(self.places.row.len(), self.len);
    }

    /// Puts the contacts into their lanes, on the worker threads.
    fn fill(
        &mut self,
        problem: &Problem,
        settings: &Settings,
        scratch: &mut Scratch,
        workers: Option<&WorkerGroup>,
    ) {
        let filler = Filler { problem, settings, layout: &scratch.layout, hubs: &scratch.hubs };
        let [cone, coulomb, bounds] = &mut scratch.slots;
        let kinds = &mut self.lanes.draft().kinds;
        fill(&filler, &mut kinds.cone, cone, workers);
        fill(&filler, &mut kinds.coulomb, coulomb, workers);
        fill(&filler, &mut kinds.bounds, bounds, workers);
        if kinds.cone.storage() == Storage::Frame {
            let (layout, table) = (&scratch.layout, kinds.cone.bodies(self.len));
            for (group, body) in layout.bodies.iter().enumerate() {
                table[layout.start(group as u32) as usize..][..body.len()].copy_from_slice(body);
            }
        }
        for slot in cone.iter().chain(coulomb.iter()).chain(bounds.iter()) {
            for place in slot.places(problem) {
                (self.places.row[place.at], self.places.scale[place.at]) = (place.row, place.scale);
                self.q[place.at] = scratch.q[place.row as usize] * place.scale;
            }
            for (at, mu) in slot.sliding() {
                self.sliding.resize(self.places.row.len(), 0.0);
                self.sliding[at] = mu;
            }
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
    /// Appends a place of r̂ for row `row`.
    fn append(&mut self, row: usize, s: f64) {
        let parts = &mut *self.parts;
        parts.places.row.push(row as u32);
        parts.places.scale.push(s);
        parts.q.push(self.scratch.q[row] * s);
        parts.compliance.push(self.problem.E[row] * s * s);
    }

    /// All equality rows as one block, if it can be factored.
    fn joints(&mut self) -> bool {
        for k in (0..self.problem.laws.len()).filter(|&k| self.problem.laws[k] == Law::Equality) {
            let image = &mut self.scratch.image;
            image.set(self.problem, k, &self.scratch.layout, self.factor);
            let (s, step) = metric(&Law::Equality, &mut image.block, self.settings);
            let s = if step > 0.0 { s[0] } else { 0.0 };
            image.read_values.iter_mut().chain(&mut image.write_values).for_each(|x| *x *= s);
            let row = self.problem.J.row_starts[k];
            let compliance = self.problem.E[row] * s * s;
            self.parts.joints.push(
                (&image.read, &image.read_values),
                (&image.write, &image.write_values),
                compliance,
            );
            self.append(row, s);
        }
        if !self.parts.joints.factor(self.scratch.layout.len) {
            self.parts.clear_rows();
            return false;
        }
        true
    }

    /// Stages, colours and kinds of all blocks but the joints, in the order of the sweep.
    fn place(&mut self, jointed: bool) {
        let Scratch {
            layout,
            swept,
            owners,
            subdomains,
            colours,
            hubs,
            boundary,
            border,
            placed,
            ..
        } = &mut *self.scratch;
        let (problem, settings) = (self.problem, self.settings);
        let groups = layout.groups.len();
        let count = groups + layout.cliques.len();
        swept.clear();
        swept.extend(
            (0..problem.laws.len()).filter(|&k| !(jointed && problem.laws[k] == Law::Equality)),
        );
        owners.clear();
        for &k in swept.iter() {
            owners.push(problem.J.block(k).columns.iter().map(|&j| layout.owner[j as usize]));
        }
        hubs.set(count, owners);
        subdomains.set(owners, hubs);
        layout.arrange(&subdomains.order);
        colours[..=subdomains.rounds]
            .iter_mut()
            .chain([&mut *boundary])
            .for_each(|colours| colours.reset(count));
        placed.clear();
        border.clear();
        let mut alike = [true; 2];
        for (i, &block) in swept.iter().enumerate() {
            let owners = owners.get(i);
            let rigid = owners.len() <= 2 && owners.iter().all(|&o| (o as usize) < groups);
            let kind = if rigid { kind(problem, block, settings) } else { Kind::Single };
            if let Some(alike) = alike.get_mut(kind as usize) {
                *alike = *alike && layout.rigid(&problem.J.block(block));
            }
            let in_mesh = |o: &u32| {
                (*o as usize).checked_sub(groups).is_some_and(|c| !layout.touched[c].is_empty())
            };
            let (stage, colour) = match (kind, subdomains.place(owners)) {
                _ if owners.iter().any(in_mesh) => (Stage::Serial, 0),
                (Kind::Cone | Kind::Coulomb | Kind::Bounds, _)
                    if let Some(other) = hubs.other(owners, layout) =>
                {
                    if subdomains.number > 1 {
                        border.push((Place::subdomain(subdomains.of[other as usize]), other));
                    }
                    (Stage::Hub, hubs.place(other))
                }
                (Kind::Cone | Kind::Coulomb | Kind::Bounds, Some(place)) => {
                    if place.round > 0 {
                        border.extend(owners.iter().flat_map(|&o| {
                            [(place, o), (Place::subdomain(subdomains.of[o as usize]), o)]
                        }));
                    }
                    (Stage::Subdomain(place), colours[place.round as usize].place(owners))
                }
                _ => (Stage::Boundary, boundary.place(owners)),
            };
            let near = owners
                .first()
                .map_or(0, |&o| if subdomains.number > 1 && rigid { layout.start(o) } else { 0 });
            placed.push(match colour {
                UNCOLOURED => {
                    Placed { stage: Stage::Serial, colour, kind: Kind::Single, near, block }
                }
                _ => Placed { stage, colour, kind, near, block },
            });
        }
        let [cone, coulomb] =
            alike.map(|alike| if alike { Storage::Rigid } else { Storage::Stored });
        // Beyond the cache fewer bytes are less time; within it to find the attitudes of the bodies
        // takes what the sweeps gain.
        let frames =
            || placed.iter().filter(|placed| placed.kind == Kind::Cone).map(|placed| placed.block);
        let turned =
            if cone == Storage::Rigid { layout.turn(problem, frames, settings) } else { None };
        let kinds = &mut self.parts.lanes.draft().kinds;
        kinds.cone.store(turned.unwrap_or(cone));
        kinds.coulomb.store(coulomb);
        placed.sort_unstable();
        border.sort_unstable();
        border.dedup();
    }

    fn blocks(&mut self, placed: &[Placed]) {
        for stage in placed.chunk_by(|a, b| a.stage == b.stage) {
            let first = self.parts.places.row.len();
            let first_colour = self.parts.lanes.draft().colours.len();
            for colour in stage.chunk_by(|a, b| a.colour == b.colour) {
                let colour = self.colour(colour);
                self.parts.lanes.draft().colours.push(colour);
            }
            let colours = first_colour..self.parts.lanes.draft().colours.len();
            match stage[0].stage {
                Stage::Serial => self.parts.serial = self.parts.singles.len(),
                Stage::Subdomain(place) => {
                    self.subdomain(place, colours, first..self.parts.places.row.len())
                }
                Stage::Hub => self.parts.lanes.draft().hubs = colours,
                Stage::Boundary => self.parts.lanes.draft().boundary = colours,
            }
        }
    }

    /// Appends a subdomain, or a interface, with these colours and places of r̂.
    fn subdomain(&mut self, place: Place, colours: Range<usize>, places: Range<usize>) {
        let (cuts, border) = (&mut self.parts.cuts, &self.scratch.border);
        let schedule = self.parts.lanes.draft();
        let first = border.partition_point(|b| b.0 < place);
        let shared = border[first..]
            .iter()
            .take_while(|b| b.0 == place)
            .map(|b| self.scratch.layout.start(b.1));
        let at = schedule.border.len();
        schedule.border.extend(shared);
        if place.round == 0 && !border.is_empty() {
            let Scratch { layout, subdomains, .. } = &*self.scratch;
            let group = subdomains
                .owners_from(place.first)
                .iter()
                .find(|&&o| (o as usize) < layout.groups.len());
            cuts.r.push(places.start);
            cuts.z.extend(group.map(|&group| layout.start(group) as usize));
        }
        schedule.rounds[place.round as usize].push(schedule.subdomains.len());
        schedule.subdomains.push(Subdomain { colours, places, border: at..schedule.border.len() });
    }

    fn colour(&mut self, placed: &[Placed]) -> Colour {
        let of = |kind: Kind| {
            let from = placed.partition_point(|p| p.kind < kind);
            &placed[from..from + placed[from..].partition_point(|p| p.kind == kind)]
        };
        let cone = self.lanes(of(Kind::Cone), Kind::Cone);
        let coulomb = self.lanes(of(Kind::Coulomb), Kind::Coulomb);
        let bounds = self.lanes(of(Kind::Bounds), Kind::Bounds);
        let first = self.parts.singles.len();
        for placed in of(Kind::Single) {
            self.single(placed.block);
        }
        Colour { cone, coulomb, bounds, single: first..self.parts.singles.len() }
    }

    /// Blocks of one kind into groups of lanes.
    fn lanes(&mut self, placed: &[Placed], kind: Kind) -> Run {
        let slots = self.scratch.slots[kind as usize].len();
        let at = self.parts.places.row.len();
        for (g, four) in placed.chunks(LANES).enumerate() {
            // Subdomains have a dummy each, and so have the interfaces, and the chunks of a colour
            // of the boundary, which are swept at another time.
            let slot = match four[0].stage {
                Stage::Subdomain(Place { first, round: 0, .. }) => first as usize,
                Stage::Subdomain(place) => {
                    self.scratch.subdomains.number + place.interface as usize
                }
                _ => self.scratch.subdomains.number + g / CHUNK,
            };
            let dummy = self.dummy + slot * STRIDE;
            self.parts.len = self.parts.len.max(dummy + STRIDE);
            let kinds = &mut self.parts.lanes.draft().kinds;
            match kind {
                Kind::Cone => kinds.cone.open(dummy as u32),
                Kind::Coulomb => kinds.coulomb.open(dummy as u32),
                _ => kinds.bounds.open(dummy as u32),
            }
            let start = self.parts.places.row.len();
            let hub = four[0].stage == Stage::Hub;
            self.scratch.slots[kind as usize].push(Slot::new(
                start,
                dummy as u32,
                hub,
                four.iter().map(|placed| placed.block),
            ));
            let end = start + kind.rows() * LANES;
            self.parts.places.row.resize(end, u32::MAX);
            for by_place in
                [&mut self.parts.places.scale, &mut self.parts.q, &mut self.parts.compliance]
            {
                by_place.resize(end, 0.0);
            }
        }
        Run { groups: slots..self.scratch.slots[kind as usize].len(), at }
    }

    fn single(&mut self, k: usize) {
        let law = self.problem.laws[k];
        let d = law.rows();
        let image = &mut self.scratch.image;
        image.set(self.problem, k, &self.scratch.layout, self.factor);
        let (s, step) = metric(&law, &mut image.block, self.settings);
        let at = self.parts.places.row.len();
        for (i, &s) in s.iter().enumerate().take(d) {
            self.append(self.problem.J.row_starts[k] + i, s);
        }
        let exact = self.settings.exact(&law);
        let mut law = scaled(&law, &s);
        if let (Local::Lagged, Law::Coulomb { mu, rows }) = (self.settings.local, law) {
            // Under the shift that is held, and that `update_shift` reads, the law is a cone's.
            law = Law::Cone { mu, rows };
            self.parts.sliding.resize(self.parts.places.row.len(), 0.0);
            self.parts.sliding[at] = mu;
        }
        self.parts.singles.push(&self.scratch.image, (law, at), (&s, step), exact);
    }
}

/// The largest coefficient of friction that the lanes solve: they form `mu r_n` from a difference,
/// which loses as many digits as mu has.
const LARGEST_MU_IN_LANES: f64 = 1e4;

/// Lanes take stiff rows over at most two groups.
fn kind(problem: &Problem, block: usize, settings: &Settings) -> Kind {
    let stiff = problem.E[problem.J.block(block).range()].iter().all(|&e| e == 0.0);
    match problem.laws[block] {
        _ if !stiff => Kind::Single,
        Law::Cone { mu, rows: 3 } | Law::Coulomb { mu, rows: 3 }
            if mu == 0.0 || mu > LARGEST_MU_IN_LANES =>
        {
            Kind::Single
        }
        law @ (Law::Cone { rows: 3, .. } | Law::Coulomb { rows: 3, .. })
            if !settings.exact(&law) =>
        {
            Kind::Cone
        }
        Law::Coulomb { rows: 3, .. } => Kind::Coulomb,
        Law::Unilateral | Law::Interval { .. } | Law::Equality => Kind::Bounds,
        _ => Kind::Single,
    }
}
