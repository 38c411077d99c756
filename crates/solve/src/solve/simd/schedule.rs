//! Who sweeps what, in which order: the subdomains of a round, or the chunks of a colour, on the
//! worker threads.
//!
//! Subdomains of one round, and chunks of one colour, touch different groups of unknowns and have
//! different places in r̂: that is what makes it sound for threads to write to z and r̂ at the same
//! time. [`Lanes::close`] checks that every place exists, and in debug builds that no two threads
//! write the same one ([`Schedule::verify`]). Sums are added in the order of subdomains and chunks,
//! whoever swept them.

use super::LANES;
#[cfg(target_arch = "x86_64")]
use super::f64x4::{Avx2, F64x4};
use super::kernel::{Colour, Groups, Kinds, Run};
use super::laws::Local;
use crate::solve::parallel::WorkerGroup;
use crate::solve::parallel::passes::MAX_DIFFERENCES;
use std::ops::Range;

/// Groups of lanes per chunk, the unit of parallel work.
pub(crate) const CHUNK: usize = 32;

/// Rounds of interfaces at most.
pub(crate) const MAX_INTERFACE_ROUNDS: usize = 4;

/// Blocks whose owners are together: swept by one thread, colour by colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Subdomain {
    /// Its colours, in [`Schedule::colours`].
    pub colours: Range<usize>,
    /// Its places in r̂.
    pub places: Range<usize>,
    /// Groups of unknowns that subdomains of other rounds, or blocks with a hub body, touch too, in
    /// [`Schedule::border`].
    pub border: Range<usize>,
}

/// The groups of lanes and the order of the sweep, in the making.
#[derive(Default)]
pub(crate) struct Schedule {
    pub kinds: Kinds,
    pub colours: Vec<Colour>,
    /// Subdomains and their interfaces, in the order of r̂, and which of them are swept in each
    /// round: those of one round touch different unknowns.
    pub subdomains: Vec<Subdomain>,
    pub rounds: [Vec<usize>; MAX_INTERFACE_ROUNDS + 1],
    /// Where in z the borders of subdomains are.
    pub border: Vec<u32>,
    /// Colours of the blocks with a hub body, and then of those that are in no subdomain and no
    /// interface.
    pub hubs: Range<usize>,
    pub boundary: Range<usize>,
    /// Where in z the groups begin that lanes without a second body write zeros to.
    pub dummies: usize,
}

impl Schedule {
    fn clear(&mut self) {
        self.kinds.clear();
        self.colours.clear();
        self.subdomains.clear();
        self.rounds.iter_mut().for_each(Vec::clear);
        self.border.clear();
        (self.hubs, self.boundary, self.dummies) = (0..0, 0..0, 0);
    }

    /// Finds two threads that write the same place at the same time, or two lanes of a colour with
    /// the same body; `r` and `z` are the lengths of the vectors, `writers` is work space.
    pub(crate) fn verify(
        &self,
        writers: &mut Writers,
        (r, z): (usize, usize),
    ) -> Result<(), String> {
        writers.begin(z);
        for (i, colour) in self.colours.iter().enumerate() {
            // Contacts of a hub share it, on one thread.
            if self.hubs.contains(&i) {
                continue;
            }
            writers.time += 1;
            for (lane, place) in self.kinds.touched(colour).enumerate() {
                if place < self.dummies && !writers.write(place, lane / 2) {
                    return Err(format!("colour {i}: two contacts have the body at {place}"));
                }
            }
        }
        for (round, units) in self.rounds.iter().enumerate() {
            writers.time += 1;
            for (unit, &subdomain) in units.iter().enumerate() {
                let colours = &self.colours[self.subdomains[subdomain].colours.clone()];
                for place in colours.iter().flat_map(|colour| self.kinds.touched(colour)) {
                    if !writers.write(place, unit) {
                        return Err(format!("round {round}: two subdomains touch place {place}"));
                    }
                }
            }
        }
        for i in self.boundary.clone() {
            for touched in self.kinds.touched_by_kind(&self.colours[i]) {
                writers.time += 1;
                // Two places of four lanes for each group.
                for (lane, place) in touched.enumerate() {
                    if !writers.write(place, lane / (2 * LANES * CHUNK)) {
                        return Err(format!("colour {i}: two chunks touch place {place}"));
                    }
                }
            }
        }
        let mut end = 0;
        for subdomain in &self.subdomains {
            if subdomain.places.start < end || subdomain.places.end > r {
                return Err(format!("the places {:?} are another's too", subdomain.places));
            }
            end = subdomain.places.end;
        }
        Ok(())
    }
}

/// Who wrote each place last, and when.
#[derive(Default)]
pub(crate) struct Writers {
    last: Vec<(u32, usize)>,
    time: u32,
}

impl Writers {
    /// Nobody has written any of `z` places.
    fn begin(&mut self, z: usize) {
        self.last.clear();
        self.last.resize(z, (0, 0));
        self.time = 0;
    }

    /// False if somebody else has written this place at the present time.
    fn write(&mut self, place: usize, who: usize) -> bool {
        let before = std::mem::replace(&mut self.last[place], (self.time, who));
        before.0 != self.time || before.1 == who
    }
}

/// Groups of lanes with their schedule, checked: what every sweep relies on.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(super) schedule: Schedule,
    /// The lengths of r̂ and z it was checked for; none while it is in the making.
    pub(super) lengths: Option<(usize, usize)>,
    sums: Vec<f64>,
    /// Work space of the check in debug builds.
    writers: Writers,
    /// What an update of the lagged shift changes, subdomain by subdomain; work space.
    pub(super) changes: Vec<Change>,
}

/// Vectors that an update of the lagged shift may be asked for: a point, and the differences that
/// led to it.
pub(crate) const MAX_DIRECTIONS: usize = MAX_DIFFERENCES + 1;

/// What an update has changed: the energy of the change, and its products with the vectors asked
/// for.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// ½ Σ (s⁺ − s)², J.
    pub energy: f64,
    pub along: [f64; MAX_DIRECTIONS],
}

impl Change {
    pub(crate) const NONE: Change = Change { energy: 0.0, along: [0.0; MAX_DIRECTIONS] };

    pub(crate) fn add(&mut self, other: &Change) {
        self.energy += other.energy;
        self.along.iter_mut().zip(&other.along).for_each(|(sum, x)| *sum += x);
    }

    /// Adds the change of the shift at one place.
    pub(crate) fn add_one(&mut self, change: f64, at: usize, along: &[&[f64]]) {
        self.energy += 0.5 * change * change;
        self.along.iter_mut().zip(along).for_each(|(sum, d)| *sum += change * d[at]);
    }
}

/// A point that is swept: velocities, reactions, and where reactions are written as well.
pub(crate) struct Point<'a> {
    pub z: &'a mut [f64],
    pub r: &'a mut [f64],
    pub kept: &'a mut [f64],
}

/// What a sweep reads: q̂, and who sweeps subdomains and chunks (one thread without workers).
#[derive(Clone, Copy)]
pub(crate) struct Sweep<'a> {
    pub q: &'a [f64],
    pub workers: Option<&'a WorkerGroup>,
}

/// The start of a vector that several threads write, each at places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared(*mut f64);

// SAFETY: who uses it sees to it that threads touch different places: units of one schedule do.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(super) fn of(vector: &mut [f64]) -> Shared {
        Shared(vector.as_mut_ptr())
    }

    pub(super) fn start(self) -> *mut f64 {
        self.0
    }

    /// # Safety
    /// The vector has these places, and nobody else holds them.
    unsafe fn part<'a>(self, places: &Range<usize>) -> &'a mut [f64] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(places.start), places.len()) }
    }
}

impl Lanes {
    /// Empty, in the memory at hand.
    pub(crate) fn clear(&mut self) {
        self.draft().clear();
    }

    /// What is still to be checked.
    pub(crate) fn draft(&mut self) -> &mut Schedule {
        self.lengths = None;
        &mut self.schedule
    }

    /// Checks it for vectors of these lengths; sweeps are possible from now on.
    ///
    /// # Panics
    /// Where a place does not exist; in debug builds also where threads would write the same one.
    pub(crate) fn close(&mut self, r: usize, z: usize) {
        let Schedule { kinds, colours, subdomains, rounds, border, hubs, boundary, .. } =
            &self.schedule;
        assert!(kinds.within(z) && border.iter().all(|&p| (p as usize) < z), "places within z");
        assert!(hubs.end.max(boundary.end) <= colours.len(), "colours exist");
        assert!(colours.iter().all(|colour| kinds.holds(colour, r)), "places within r");
        let whole = |s: &Subdomain| {
            let inside = |places: Range<usize>| {
                places.is_empty() || places.start >= s.places.start && places.end <= s.places.end
            };
            s.places.end <= r
                && s.border.end <= border.len()
                && colours[s.colours.clone()].iter().flat_map(Kinds::places).all(inside)
        };
        assert!(subdomains.iter().all(whole), "subdomains are whole");
        assert!(rounds.iter().flatten().all(|&s| s < subdomains.len()), "subdomains exist");
        if cfg!(any(debug_assertions, test)) {
            assert_eq!(self.schedule.verify(&mut self.writers, (r, z)), Ok(()));
        }
        self.lengths = Some((r, z));
    }

    /// The schedule, checked for vectors of these lengths.
    fn checked(&self, point: &Point<'_>, sweep: &Sweep<'_>) -> &Schedule {
        let r = point.r.len();
        assert_eq!(self.lengths, Some((r, point.z.len())), "checked for these vectors");
        assert!(point.kept.len() == r && sweep.q.len() == r, "a place for each reaction");
        &self.schedule
    }

    /// How contacts of friction cones are stored.
    #[cfg(test)]
    pub(crate) fn storage(&self) -> super::frames::Storage {
        self.schedule.kinds.cone.storage()
    }

    /// Number of rounds of subdomains.
    pub(crate) fn rounds(&self) -> usize {
        self.schedule.rounds.len()
    }

    /// The colours of blocks with a hub body, and of those in no subdomain.
    pub(crate) fn loose(&self) -> [Range<usize>; 2] {
        [self.schedule.hubs.clone(), self.schedule.boundary.clone()]
    }

    /// The single blocks of a colour.
    pub(crate) fn singles(&self, colour: usize) -> Range<usize> {
        self.schedule.colours[colour].single.clone()
    }

    /// Adds to `z` what the reactions `r` move.
    pub(crate) fn spread(&self, r: &[f64], z: &mut [f64]) {
        for colour in &self.schedule.colours {
            self.schedule.kinds.spread(colour, r, z);
        }
    }

    /// Sweeps the subdomains of a round; returns Σ‖Δ‖², added in the order of the subdomains.
    pub(crate) fn sweep_round(
        &mut self,
        round: usize,
        point: &mut Point<'_>,
        sweep: Sweep<'_>,
    ) -> f64 {
        let mut sums = std::mem::take(&mut self.sums);
        let schedule = self.checked(point, &sweep);
        let round = &schedule.rounds[round];
        let (z, r, kept) = (Shared::of(point.z), Shared::of(point.r), Shared::of(point.kept));
        let run = |p: usize| -> f64 {
            let subdomain = &schedule.subdomains[round[p]];
            // SAFETY: within r (checked), and the places of subdomains do not overlap.
            let [r, kept] = [r, kept].map(|to| unsafe { to.part(&subdomain.places) });
            if sweep.workers.is_some() {
                // What another thread may have written comes all at once, not line by line when it
                // is needed.
                schedule.border[subdomain.border.clone()]
                    .iter()
                    .for_each(|&place| fetch(z.start().wrapping_add(place as usize)));
            }
            let colours = &schedule.colours[subdomain.colours.clone()];
            let first = subdomain.places.start;
            // SAFETY: every place is within z (checked); subdomains touch different places.
            colours
                .iter()
                .map(|colour| unsafe {
                    schedule.kinds.sweep(colour, first, (sweep.q, r, kept), z.start())
                })
                .sum()
        };
        let sum = in_order(round.len(), run, sweep.workers, &mut sums);
        self.sums = sums;
        sum
    }

    /// Sweeps the lanes of one colour on this thread.
    pub(crate) fn sweep_alone(
        &mut self,
        colour: usize,
        point: &mut Point<'_>,
        sweep: Sweep<'_>,
    ) -> f64 {
        let schedule = self.checked(point, &sweep);
        let (colour, vectors) =
            (&schedule.colours[colour], (sweep.q, &mut *point.r, &mut *point.kept));
        // SAFETY: every place is within z (checked); no other thread is at work.
        unsafe { schedule.kinds.sweep(colour, 0, vectors, point.z.as_mut_ptr()) }
    }

    /// Sweeps the lanes of one colour of the boundary, chunk by chunk.
    pub(crate) fn sweep_colour(
        &mut self,
        colour: usize,
        point: &mut Point<'_>,
        sweep: Sweep<'_>,
    ) -> f64 {
        let mut sums = std::mem::take(&mut self.sums);
        let schedule = self.checked(point, &sweep);
        let (kinds, colour) = (&schedule.kinds, &schedule.colours[colour]);
        let sum = chunks(&kinds.cone, &colour.cone, point, sweep, &mut sums)
            + chunks(&kinds.coulomb, &colour.coulomb, point, sweep, &mut sums)
            + chunks(&kinds.bounds, &colour.bounds, point, sweep, &mut sums);
        self.sums = sums;
        sum
    }
}

fn chunks<L: Local + Sync>(
    groups: &Groups<L>,
    run: &Run,
    point: &mut Point<'_>,
    sweep: Sweep<'_>,
    sums: &mut Vec<f64>,
) -> f64 {
    let size = CHUNK * L::ROWS * LANES;
    let range = run.places(L::ROWS);
    let (q, end) = (&sweep.q[range.clone()], range.len());
    let (r, kept) = (Shared::of(&mut point.r[range.clone()]), Shared::of(&mut point.kept[range]));
    let z = Shared::of(point.z);
    let run = |c: usize| {
        let mine = c * size..end.min((c + 1) * size);
        // SAFETY: within r and `kept`, and chunks do not overlap.
        let [r, kept] = [r, kept].map(|to| unsafe { to.part(&mine) });
        // SAFETY: every place is within z (checked); chunks of one colour touch different places.
        unsafe { groups.sweep(run.groups.start + c * CHUNK, &q[mine], (r, kept), z.start()) }
    };
    in_order(end.div_ceil(size), run, sweep.workers, sums)
}

/// `Σ f(i)`, each on some thread, added in order.
fn in_order(
    count: usize,
    f: impl Fn(usize) -> f64 + Send + Sync,
    workers: Option<&WorkerGroup>,
    sums: &mut Vec<f64>,
) -> f64 {
    match workers {
        Some(workers) if count > 1 => {
            sums.clear();
            sums.resize(count, 0.0);
            workers.chunks((sums, &mut [(); 0]), (1, 1), |i, sum, _| sum[0] = f(i));
            sums.iter().sum()
        }
        _ => (0..count).map(f).sum(),
    }
}

/// Asks for the cache line of `from`.
#[inline(always)]
fn fetch(from: *const f64) {
    #[cfg(target_arch = "x86_64")]
    Avx2::prefetch(from);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two colours of one group of lanes each, whose contacts have these first bodies and the
    /// dummies of their colour as second ones.
    fn draft(bodies: [[u32; LANES]; 2]) -> Lanes {
        let mut lanes = Lanes::default();
        let draft = lanes.draft();
        draft.dummies = 100;
        for (g, bodies) in bodies.into_iter().enumerate() {
            let dummy = 100 + 8 * g as u32;
            draft.kinds.cone.open(dummy);
            for (lane, body) in bodies.into_iter().enumerate() {
                draft.kinds.cone.place(g, lane, [body, dummy]);
            }
            let cone = Run { groups: g..g + 1, at: 12 * g };
            draft.colours.push(Colour { cone, ..Colour::default() });
        }
        lanes
    }

    /// The colours of [`draft`] as two subdomains of one round.
    fn subdomains(bodies: [[u32; LANES]; 2], places: [Range<usize>; 2]) -> Lanes {
        let mut lanes = draft(bodies);
        let draft = lanes.draft();
        for (s, places) in places.into_iter().enumerate() {
            draft.subdomains.push(Subdomain { colours: s..s + 1, places, border: 0..0 });
        }
        draft.rounds[0] = vec![0, 1];
        lanes
    }

    #[test]
    fn threads_that_would_write_the_same_place_are_found() {
        let (first, second) = ([0, 8, 16, 24], [32, 40, 48, 56]);
        let verdict = |lanes: &mut Lanes| lanes.draft().verify(&mut Writers::default(), (24, 116));
        assert_eq!(verdict(&mut subdomains([first, second], [0..12, 12..24])), Ok(()));
        let shared = verdict(&mut subdomains([first, [32, 8, 48, 56]], [0..12, 12..24]));
        assert!(shared.unwrap_err().starts_with("round 0: two subdomains touch place 8"));
        let twice = verdict(&mut subdomains([first, [32, 40, 48, 40]], [0..12, 12..24]));
        assert!(twice.unwrap_err().starts_with("colour 1: two contacts have the body at 40"));
        let reactions = verdict(&mut subdomains([first, second], [0..12, 11..24]));
        assert!(reactions.unwrap_err().starts_with("the places 11..24"));
        // A body of two rounds is swept at two times; a hub by one thread.
        let mut rounds = subdomains([first, [32, 8, 48, 56]], [0..12, 12..24]);
        rounds.draft().rounds[0] = vec![0];
        rounds.draft().rounds[1] = vec![1];
        assert_eq!(verdict(&mut rounds), Ok(()));
        let mut hub = draft([first, [8; LANES]]);
        (hub.draft().hubs, hub.draft().boundary) = (1..2, 0..1);
        assert_eq!(verdict(&mut hub), Ok(()));
    }

    #[test]
    fn chunks_of_one_colour_have_places_of_their_own() {
        let mut lanes = Lanes::default();
        let draft = lanes.draft();
        draft.dummies = 8 * LANES * 2 * CHUNK;
        for g in 0..2 * CHUNK {
            draft.kinds.cone.open((draft.dummies + 8 * (g / CHUNK)) as u32);
            for lane in 0..LANES {
                let dummy = (draft.dummies + 8 * (g / CHUNK)) as u32;
                draft.kinds.cone.place(g, lane, [8 * (g * LANES + lane) as u32, dummy]);
            }
        }
        let cone = Run { groups: 0..2 * CHUNK, at: 0 };
        draft.colours.push(Colour { cone, ..Colour::default() });
        draft.boundary = 0..1;
        let (r, z) = (2 * CHUNK * 12, draft.dummies + 16);
        assert_eq!(draft.verify(&mut Writers::default(), (r, z)), Ok(()));
        // The dummy of the other chunk.
        let dummy = draft.dummies as u32;
        draft.kinds.cone.place(CHUNK, 0, [8 * (CHUNK * LANES) as u32, dummy]);
        assert!(
            draft
                .verify(&mut Writers::default(), (r, z))
                .unwrap_err()
                .starts_with("colour 0: two chunks")
        );
    }

    #[test]
    #[should_panic(expected = "places within z")]
    fn places_outside_are_refused() {
        draft([[0, 8, 16, 24], [32, 40, 48, 56]]).close(24, 110);
    }

    #[test]
    #[should_panic(expected = "checked for these vectors")]
    fn what_is_not_checked_is_not_swept() {
        let mut lanes = draft([[0, 8, 16, 24], [32, 40, 48, 56]]);
        lanes.close(24, 116);
        let (mut z, mut r, mut kept) = (vec![0.0; 115], vec![0.0; 24], vec![0.0; 24]);
        let mut point = Point { z: &mut z, r: &mut r, kept: &mut kept };
        lanes.sweep_alone(0, &mut point, Sweep { q: &[0.0; 24], workers: None });
    }
}
