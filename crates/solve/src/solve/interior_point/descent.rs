//! Semismooth Newton steps while the merit falls.

use super::{End, InteriorPoint, Run, SMALL_CONE_COUNT, Space};

/// The most Newton steps in a row.
const MAX_NEWTON_STEPS_IN_A_ROW: u64 = 8;
/// Rises of the merit that are borne where masses are extreme.
const MAX_MERIT_RISES_OF_EXTREME_MASSES: u64 = 8;
/// A Newton step must lower the merit to this part.
const MERIT_DECREASE: f64 = 0.3;

impl InteriorPoint {
    /// Whether Newton steps are worth trying from here: few cones, or not too many active rows per
    /// unknown.
    pub(super) fn promising(&mut self, max_active_ratio: f64, v: &[f64], r: &[f64]) -> bool {
        self.scaled.degree() <= SMALL_CONE_COUNT
            || self.newton.active_ratio(&self.scaled, v, r) < max_active_ratio
    }

    /// Newton steps from `space.v` and `space.r` while they pay, counted.
    pub(super) fn descend(&mut self, run: &mut Run<'_>, c: f64, space: &mut Space) -> End {
        let before = self.kkt.factorizations;
        let end = self.newton_steps(run, c, space);
        run.newton += self.kkt.factorizations - before;
        end
    }

    /// Newton steps while they pay; leaves the last point that did.
    fn newton_steps(&mut self, run: &mut Run<'_>, c: f64, space: &mut Space) -> End {
        let Space { v, r, step_v, step_r, .. } = space;
        let mut least = self.newton.merit(&self.scaled, v, r);
        step_v.clone_from(v);
        step_r.clone_from(r);
        let (mut merit, mut rises) = (least, 0);
        let steps = if self.kkt.light_first {
            MAX_NEWTON_STEPS_IN_A_ROW + MAX_MERIT_RISES_OF_EXTREME_MASSES
        } else {
            MAX_NEWTON_STEPS_IN_A_ROW
        };
        for _ in 0..steps {
            if self.used_up(run) {
                return End::Budget;
            }
            if self.newton.step(&self.scaled, &mut self.kkt, c, step_v, step_r).is_err() {
                return End::Stuck;
            }
            run.iterations += 1;
            if self.consider(run, step_v, step_r) {
                return End::Accepted;
            }
            let next = self.newton.merit(&self.scaled, step_v, step_r);
            if !(next <= MERIT_DECREASE * merit) {
                // Under extreme masses the merit must first rise: to stop the light body at the
                // bottom shows each heavier one above that it falls. Then only rising again and
                // again ends it.
                rises += 1;
                if !self.kkt.light_first || rises > MAX_MERIT_RISES_OF_EXTREME_MASSES {
                    return End::Stuck;
                }
            }
            merit = next;
            if merit < least {
                least = merit;
                v.copy_from_slice(step_v);
                r.copy_from_slice(step_r);
            }
        }
        End::Stuck
    }
}
