//! Positions at the end of a step: joints closed exactly, trees that rest left to the bit.

use super::{Forest, displacement, from_origin};
use crate::assemble::{Assembly, StepInput};
use crate::math::cliques::CliqueFactor;
use crate::scene::{Scene, State};
use glam::DVec3;

/// Most steps of Newton's method for the positions.
const MAX_RETRACTION_STEPS: usize = 20;
/// What a further step must change of the rates, relative to the largest.
const RETRACTION_TOLERANCE: f64 = 1e-9;
/// What the last step may change at most for its result to count.
const MAX_RETRACTION_CHANGE: f64 = 1e-6;
/// Changes of coordinates, m or rad, that are rounding of positions; and those that are no reason
/// to call the result wrong, however slow the motion is.
const RETRACTION_ROUNDING: f64 = 1e-15;
const NEGLIGIBLE_RETRACTION: f64 = 1e-9;

impl Forest {
    /// Leapfrog: the rates of the positions, so that bodies move by their velocities v as far as
    /// their joints let them,
    ///
    /// ```text
    ///   Tᵀ H ((x⁺ − x)/h − v) = 0,      v ← (x⁺ − x)/h
    /// ```
    ///
    /// by Newton's method with the tangent of the beginning. What v changes by is reaction of
    /// joints: momentum is kept, and the scheme is that of bodies with exact joints (Ryckaert1977),
    /// whatever was predicted. `factor` is that of H in coordinates; `fine` asks for rates to
    /// rounding, those of turns too where shifts are much faster. Afterwards [`Forest::followed`]
    /// says whether the method converged.
    pub fn retract(
        &mut self,
        scene: &Scene,
        (assembly, now): (&Assembly, &StepInput),
        factor: &mut CliqueFactor,
        (v, fine): (&mut [f64], bool),
    ) {
        self.rates.clone_from(&self.solution.v);
        self.find_rest(now, v);
        let largest = self.rates[..self.units.len()].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut last = f64::INFINITY;
        for _ in 0..MAX_RETRACTION_STEPS {
            self.lead(scene, now);
            self.balance.clear();
            self.balance.resize(self.owner.len(), 0.0);
            for (l, link) in self.links.iter().enumerate() {
                let chord = self.chord(l, now.h);
                (chord.linear - DVec3::from_slice(&v[link.at..]))
                    .write_to_slice(&mut self.balance[link.at..]);
                (chord.angular - DVec3::from_slice(&v[link.at + 3..]))
                    .write_to_slice(&mut self.balance[link.at + 3..]);
            }
            self.work.clear();
            self.work.resize(self.owner.len(), 0.0);
            assembly.problem.H.mul(&self.balance, &mut self.work);
            let mut change = std::mem::take(&mut self.change);
            self.transposed(now, &mut change);
            change[self.units.len()..].fill(0.0);
            factor.solve(&mut change);
            let trees = 0..self.units.len();
            self.rates[trees.clone()]
                .iter_mut()
                .zip(&change[trees.clone()])
                .for_each(|(rate, change)| *rate -= change);
            let most = change[trees].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            self.change = change;
            // Not a number is not small.
            let moved = now.h * most;
            self.lost =
                !(most <= MAX_RETRACTION_CHANGE * largest || moved <= NEGLIGIBLE_RETRACTION);
            let enough = if fine {
                // No further: what is left is rounding.
                most == 0.0 || most >= last
            } else {
                most <= RETRACTION_TOLERANCE * largest || moved <= RETRACTION_ROUNDING
            };
            if enough {
                break;
            }
            last = most;
        }
        self.lead(scene, now);
        for (l, link) in self.links.iter().enumerate() {
            let chord = self.chord(l, now.h);
            chord.linear.write_to_slice(&mut v[link.at..]);
            chord.angular.write_to_slice(&mut v[link.at + 3..]);
        }
    }

    /// Trees that rest stay where they are to the bit: places that are found anew from coordinates
    /// differ by rounding, and what moves by rounding does not rest.
    fn find_rest(&mut self, now: &StepInput, v: &mut [f64]) {
        let Forest { links, rates, roots, rests, .. } = self;
        roots.clear();
        rests.clear();
        rests.resize(links.len(), true);
        for (l, link) in links.iter().enumerate() {
            roots.push(link.parent.map_or(l as u32, |p| roots[p as usize]));
            let still = rates[link.columns()].iter().all(|rate| *rate == 0.0);
            let base = link.base.index();
            let carried = link.joint.is_none() || link.parent.is_some();
            rests[roots[l] as usize] &= still && (carried || now.ahead[base] == now.poses[base]);
        }
        for (l, link) in links.iter().enumerate() {
            rests[l] = rests[roots[l] as usize];
            if rests[l] {
                v[link.at..link.at + 6].fill(0.0);
            }
        }
    }

    /// Where the rates lead to within the step, seen from where each tree begins, into `self.ends`.
    pub(super) fn lead(&mut self, scene: &Scene, now: &StepInput) {
        self.ends.clear();
        for (l, link) in self.links.iter().enumerate() {
            let delta: [f64; 6] = std::array::from_fn(|i| {
                if i < link.count { now.h * self.rates[link.first + i] } else { 0.0 }
            });
            let end = match (link.joint, link.parent) {
                _ if self.rests[l] => self.starts[l],
                (None, _) => self.starts[l]
                    .advanced(DVec3::from_slice(&delta), DVec3::from_slice(&delta[3..])),
                (Some(_), Some(p)) => self.pose_of(scene, l, &self.ends[p as usize], &delta),
                (Some(_), None) => {
                    let base = from_origin(&now.ahead[link.base.index()], self.origins[l]);
                    self.pose_of(scene, l, &base, &delta)
                }
            };
            self.ends.push(end);
        }
    }

    /// Coordinates go on with the solved rates; `back(at)`: by which time the jump of the unknowns
    /// from `at` on is set back. Roots that float and bases are at their places already.
    pub fn place(
        &self,
        scene: &Scene,
        now: &StepInput,
        state: &mut State,
        mut back: impl FnMut(usize) -> f64,
    ) {
        for (l, link) in self.links.iter().enumerate() {
            if link.joint.is_none() {
                continue;
            }
            let time = back(link.at);
            let delta: [f64; displacement::MAX_JOINT_COORDINATES] = std::array::from_fn(|i| {
                if i >= link.count {
                    return 0.0;
                }
                let rate = if now.lag.is_some() {
                    self.rates[link.first + i]
                } else {
                    self.solution.v[link.first + i]
                };
                now.h * rate
                    - if time > 0.0 { time * (rate - self.expected[link.first + i]) } else { 0.0 }
            });
            let base = state.pose(link.base);
            let stays = base == now.poses[link.base.index()] && delta.iter().all(|x| *x == 0.0);
            let pose = match stays {
                true => now.poses[link.body.index()],
                false => self.pose_of(scene, l, &base, &delta),
            };
            state.set_pose(link.body, &pose);
        }
    }
}
