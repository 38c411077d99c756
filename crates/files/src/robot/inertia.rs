//! Inertias that a distribution of mass can have.
//!
//! An inertia I belongs to second moments `S = ½ tr(I) E − I`, the integral of x xᵀ over the mass:
//! it must not be negative in any direction. The nearest such inertia (in the norm of the entries
//! of S) has the same principal axes and the negative moments set to zero. A little more than zero
//! is kept, so that the body can turn about every axis and is not smaller than a tenth of a ball of
//! water of its mass: a file that gives a kilogram the inertia 1e-20 did not mean it.

use glam::{DMat3, DVec3};
use signorini_mechanics::scene::Mass;

/// The least second moment kept, as a share of the greatest.
const MIN_MOMENT_RATIO: f64 = 1e-4;
/// The least second moment kept, as a share of that of a ball of water of the same mass.
const MIN_MOMENT_OF_WATER_BALL: f64 = 1e-2;

/// The nearest inertia that a body can have; none if it has one already.
pub fn repaired(mass: f64, inertia: DMat3) -> Option<DMat3> {
    Mass { mass, inertia }.fault()?;
    let symmetric = (inertia + inertia.transpose()) * 0.5;
    let trace = symmetric.x_axis.x + symmetric.y_axis.y + symmetric.z_axis.z;
    let (moments, axes) = eigen(DMat3::from_diagonal(DVec3::splat(0.5 * trace)) - symmetric);
    let greatest = moments.max_element();
    let ball = 0.2 * mass * water_ball(mass).powi(2);
    let moments = if greatest > 0.0 && greatest.is_finite() {
        moments
            .max(DVec3::splat((MIN_MOMENT_RATIO * greatest).max(MIN_MOMENT_OF_WATER_BALL * ball)))
    } else {
        // Nothing to go by: a ball as dense as water.
        DVec3::splat(ball)
    };
    let turned = axes * DMat3::from_diagonal(moments) * axes.transpose();
    Some(
        DMat3::from_diagonal(DVec3::splat(moments.element_sum()))
            - (turned + turned.transpose()) * 0.5,
    )
}

/// Radius of a ball of water of this mass, m.
pub fn water_ball(mass: f64) -> f64 {
    (0.75 * mass.max(0.0) / (std::f64::consts::PI * 1000.0)).cbrt()
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations.
pub fn eigen(matrix: DMat3) -> (DVec3, DMat3) {
    let (mut m, mut axes) = (matrix, DMat3::IDENTITY);
    for _ in 0..50 {
        let (xy, xz, yz) = (m.y_axis.x, m.z_axis.x, m.z_axis.y);
        let off = xy.abs().max(xz.abs()).max(yz.abs());
        let size = m.x_axis.x.abs() + m.y_axis.y.abs() + m.z_axis.z.abs();
        if !(off > 1e-16 * size) {
            break;
        }
        let (p, q) = if xy.abs() == off {
            (0, 1)
        } else if xz.abs() == off {
            (0, 2)
        } else {
            (1, 2)
        };
        let (app, aqq, apq) = (m.col(p)[p], m.col(q)[q], m.col(q)[p]);
        let angle = 0.5 * (2.0 * apq).atan2(app - aqq);
        let (s, c) = angle.sin_cos();
        let mut turn = DMat3::IDENTITY;
        turn.col_mut(p)[p] = c;
        turn.col_mut(p)[q] = s;
        turn.col_mut(q)[p] = -s;
        turn.col_mut(q)[q] = c;
        m = turn.transpose() * m * turn;
        axes *= turn;
    }
    (DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z), axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_diagonalise() {
        let m = DMat3::from_cols(
            DVec3::new(2.0, -0.3, 0.7),
            DVec3::new(-0.3, 1.0, 0.2),
            DVec3::new(0.7, 0.2, -0.5),
        );
        let (values, axes) = eigen(m);
        let back = axes * DMat3::from_diagonal(values) * axes.transpose();
        // A handful of roundings.
        assert!((back - m).to_cols_array().iter().all(|x| x.abs() < 1e-14), "{back}");
    }

    #[test]
    fn a_repaired_inertia_is_one_and_a_good_one_stays() {
        assert_eq!(repaired(1.0, DMat3::from_diagonal(DVec3::new(0.1, 0.2, 0.25))), None);
        for wrong in [
            DMat3::ZERO,
            DMat3::from_diagonal(DVec3::new(0.1, 0.1, 0.3)),
            DMat3::from_diagonal(DVec3::new(0.1, 0.1, -0.3)),
            DMat3::from_diagonal(DVec3::new(0.0, 1.0, 1.0)),
            DMat3::from_cols(
                DVec3::new(1.0, 5.0, 0.0),
                DVec3::new(5.0, 1.0, 0.0),
                DVec3::new(0.0, 0.0, 1.0),
            ),
        ] {
            let better = repaired(2.0, wrong).unwrap();
            assert_eq!(Mass { mass: 2.0, inertia: better }.fault(), None, "{wrong} → {better}");
        }
        // A kilogram is larger than nothing: a tenth of the radius of a ball of water, 6 cm, is
        // left.
        let better = repaired(1.0, DMat3::from_diagonal(DVec3::new(1e-20, 1e-20, 5e-20))).unwrap();
        assert!(better.x_axis.x > 1e-5 && better.x_axis.x < 1e-4, "{better}");
        // The nearest one: axes and the moments that are possible stay.
        let better = repaired(1.0, DMat3::from_diagonal(DVec3::new(0.1, 0.1, 0.3))).unwrap();
        let wanted = DVec3::new(0.15, 0.15, 0.3);
        assert!(
            (DVec3::new(better.x_axis.x, better.y_axis.y, better.z_axis.z) - wanted).length()
                < 1e-4,
            "{better}"
        );
    }
}
