//! Ridges and rims of a surface: from which directions they can be touched.

use glam::DVec3;

/// A ridge or a rim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub ends: [DVec3; 2],
    /// The vertices at its ends.
    pub vertices: [u32; 2],
    /// No direction that points towards one of these can press on the edge: into its two faces.
    pub(super) inward: [DVec3; 2],
    pub name: u64,
}

impl Edge {
    /// The direction between the normals of its faces that is worth most: the best of a few, then
    /// between its neighbours by the golden section.
    pub fn best(&self, worth: impl Fn(DVec3) -> f64) -> DVec3 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let middle = -(self.inward[0] + self.inward[1]).normalize_or_zero();
        let aside = (self.ends[1] - self.ends[0]).normalize_or_zero().cross(middle);
        let half = (-self.inward[0].dot(middle)).clamp(0.0, 1.0).asin();
        let at = |share: f64| {
            let (sine, cosine) = (half * share).sin_cos();
            middle * cosine + aside * sine
        };
        let tried = (-4..=4).map(|k| (worth(at(f64::from(k) * 0.25)), f64::from(k) * 0.25));
        let (_, best) = tried.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or_default();
        let (mut low, mut high) = ((best - 0.25).max(-1.0), (best + 0.25).min(1.0));
        let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut on_left, mut on_right) = (worth(at(left)), worth(at(right)));
        // To 1e-9 of the angle: beyond, the worth is rounding.
        while high - low > 1e-9 {
            if on_left >= on_right {
                (high, right, on_right) = (right, left, on_left);
                left = high - GOLDEN * (high - low);
                on_left = worth(at(left));
            } else {
                (low, left, on_left) = (left, right, on_right);
                right = low + GOLDEN * (high - low);
                on_right = worth(at(right));
            }
        }
        // The normals of the faces themselves are the ends.
        let inner = 0.5 * (low + high);
        let best = [-1.0, 1.0, inner].map(|share| (worth(at(share)), share));
        at(best
            .into_iter()
            .reduce(|a, b| if b.0 > a.0 + 1e-15 { b } else { a })
            .unwrap_or_default()
            .1)
    }

    /// Whether the direction lies between the normals of the two faces, give or take `slant`
    /// (sine).
    pub fn sees(&self, n: DVec3, slant: f64) -> bool {
        self.inward.iter().all(|inward| inward.dot(n) <= slant)
    }
}
