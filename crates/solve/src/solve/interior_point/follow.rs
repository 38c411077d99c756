//! Along the path to the end, with Newton steps tried on the way.
//!
//! The path ([`super::path`]) leads from any interior point to a solution, an iteration at a time.
//! Once the active set stands still Newton steps end it sooner: they are tried with two weights of
//! the velocities, three times each at most.

use super::{End, InteriorPoint, MAX_ACTIVE_RATIO_ON_PATH, Point, Run, Space};
use crate::solve::PathSample;

/// Newton steps are tried from the path when its gap has fallen to this part since the last try.
const GAP_DECREASE_BEFORE_NEWTON: f64 = 1e-2;
/// See [`InteriorPoint::far`].
const FAR_FROM_PATH: f64 = 10.0;

/// Newton steps tried from the path: the weight of velocities, the gap at the last try, and how
/// many tries there were.
struct Try {
    c: f64,
    last: f64,
    count: u32,
}

impl InteriorPoint {
    /// Follows the path from `space.point` to the end.
    pub(super) fn follow(&mut self, run: &mut Run<'_>, space: &mut Space) -> End {
        let mut point = std::mem::take(&mut space.point);
        let end = self.follow_path(run, space, &mut point);
        space.point = point;
        end
    }

    fn follow_path(&mut self, run: &mut Run<'_>, space: &mut Space, point: &mut Point) -> End {
        let first_gap = point.gap(&self.scaled);
        let (mut least_gap, mut flat) = (first_gap, 0);
        let mut tries =
            [Try { c: 1.0, last: first_gap, count: 0 }, Try { c: 0.1, last: first_gap, count: 0 }];
        space.patterns.iter_mut().for_each(Vec::clear);
        loop {
            if self.used_up(run) {
                return self.leave(run, point, End::Budget);
            }
            let least = run.least;
            let step = match self.path.iterate(&self.scaled, &mut self.kkt, point) {
                Ok(step) => step,
                Err(bad) => {
                    run.notes
                        .push(format!("path: pivot {:.1e} at unknown {}", bad.pivot, bad.unknown));
                    return self.leave(run, point, End::Stuck);
                }
            };
            run.iterations += 1;
            let gap = point.gap(&self.scaled);
            if run.stop.history {
                let [r_p, r_d, alpha_p, alpha_d] = self.path.last;
                let work = self.kkt.factorizations - run.first_factorization;
                run.path.push(PathSample { work, r_p, r_d, mu: gap, alpha_p, alpha_d });
            }
            let far = self.far(run, gap);
            if !far && self.consider(run, &point.v, &point.r) {
                return End::Accepted;
            }
            let better = if far { gap < 0.9 * least_gap } else { run.least < 0.9 * least };
            flat = if better { 0 } else { flat + 1 };
            least_gap = least_gap.min(gap);
            if flat >= 25 || step < 1e-8 || !gap.is_finite() {
                return self.leave(run, point, End::Stuck);
            }
            if self.settings.path_alone {
                continue;
            }
            // 5. Newton steps once the active set has settled.
            self.newton.measure(&self.scaled, &point.v, &point.r);
            for (i, attempt) in tries.iter_mut().enumerate() {
                if attempt.count >= 3 {
                    continue;
                }
                let [a, b, before] = &mut space.patterns;
                let pattern = if i == 0 { a } else { b };
                std::mem::swap(pattern, before);
                self.newton.pattern(&self.scaled, attempt.c, &point.r, pattern);
                if *pattern == *before
                    && gap < GAP_DECREASE_BEFORE_NEWTON * attempt.last
                    && self.promising(MAX_ACTIVE_RATIO_ON_PATH, &point.v, &point.r)
                {
                    (attempt.last, attempt.count) = (gap, attempt.count + 1);
                    space.v.clone_from(&point.v);
                    space.r.clone_from(&point.r);
                    let end = self.descend(run, attempt.c, space);
                    if end != End::Stuck {
                        return end;
                    }
                    self.newton.measure(&self.scaled, &point.v, &point.r);
                }
            }
        }
    }

    /// Whether the point of this gap cannot be the answer yet. A contact's error is (μ/r)² where
    /// its μ is u·r: a gap many times the root of the tolerance is far too much, and judging it
    /// costs as much as a back-substitution.
    fn far(&self, run: &Run<'_>, gap: f64) -> bool {
        !run.stop.history
            && gap * self.scaled.degree() as f64
                > FAR_FROM_PATH * run.stop.tolerance.relative.sqrt() * self.prepared.scale()
    }

    /// The end of the path, its last point judged.
    fn leave(&mut self, run: &mut Run<'_>, point: &Point, end: End) -> End {
        if self.consider(run, &point.v, &point.r) { End::Accepted } else { end }
    }
}
