//! One element and the patch test.

use super::*;

#[test]
fn the_element_against_central_differences() {
    let lame = Lame { lambda: 3.0, mu: 2.0 };
    let rest = [DVec3::ZERO, DVec3::X, DVec3::new(0.2, 1.1, 0.0), DVec3::new(0.3, 0.1, 0.9)];
    let element = Tetrahedron::new(rest);
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 2.1);
    for k in 0..20 {
        // Stretched in all directions, so that no coefficient of the rotation's derivative is cut
        // off.
        let x: [DVec3; 4] =
            std::array::from_fn(|a| turn * (rest[a] * 1.4 + 0.12 * shaken(4 * k + a)));
        let warp = element.warp(x, lame);
        let found = warp.forces(element.volume);
        // Differences of step 1e-5: third derivatives of order 10 leave 1e-9, rounding 1e-10.
        let t = 1e-5;
        for b in 0..4 {
            for j in 0..3 {
                let moved = |s: f64| {
                    let mut y = x;
                    y[b][j] += s;
                    element.warp(y, lame)
                };
                let (plus, minus) = (moved(t), moved(-t));
                let slope = (plus.energy - minus.energy) / (2.0 * t);
                assert!(
                    (slope + found[b][j]).abs() < 1e-8,
                    "force {b} {j}: {slope} {}",
                    -found[b][j]
                );
                let (fp, fm) = (plus.forces(element.volume), minus.forces(element.volume));
                for a in 0..4 {
                    let column = warp.stiffness(a, b, element.volume, lame).col(j);
                    let slope = (fp[a] - fm[a]) / (2.0 * t);
                    assert!(
                        (slope + column).length() < 1e-7,
                        "stiffness {a} {b} {j}: {slope} {column}"
                    );
                }
            }
        }
        // The product with the stiffness is the product with its blocks.
        let v: [DVec3; 4] = std::array::from_fn(|a| shaken(100 + 4 * k + a));
        let product = warp.stiffness_times(&v, element.volume, lame);
        for a in 0..4 {
            let sum: DVec3 =
                (0..4).map(|b| warp.stiffness(a, b, element.volume, lame) * v[b]).sum();
            assert!((sum - product[a]).length() < 1e-13);
        }
    }
}

#[test]
fn the_stiffness_is_never_negative() {
    let lame = Lame { lambda: 3.0, mu: 2.0 };
    let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let element = Tetrahedron::new(rest);
    for k in 0..200 {
        // Crushed, inverted, torn apart.
        let x: [DVec3; 4] =
            std::array::from_fn(|a| rest[a] * (0.3 * (k as f64).sin()) + 0.5 * shaken(4 * k + a));
        let warp = element.warp(x, lame);
        let v: [DVec3; 4] = std::array::from_fn(|a| shaken(7 * k + a));
        let product = warp.stiffness_times(&v, element.volume, lame);
        let quadratic: f64 = (0..4).map(|a| v[a].dot(product[a])).sum();
        assert!(quadratic > -1e-12, "{k}: {quadratic}");
        let sum: DVec3 = warp.forces(element.volume).iter().sum();
        let moment: DVec3 =
            warp.forces(element.volume).iter().zip(x).map(|(f, x)| x.cross(*f)).sum();
        // Rounding of forces of order 10.
        assert!(sum.length() < 1e-13 && moment.length() < 1e-13, "{k}: {sum} {moment}");
    }
}

#[test]
fn the_patch_test_is_exact_to_rounding() {
    // A uniform strain of an irregular mesh is in equilibrium: inner nodes feel no force, whatever
    // the rotation.
    let mut mesh = Tetrahedra::block([3, 3, 3], DVec3::splat(0.3));
    let inner: Vec<u32> = (0..64)
        .filter(|&n| mesh.nodes[n as usize].to_array().iter().all(|x| *x > 0.05 && *x < 0.25))
        .collect();
    assert_eq!(inner.len(), 8);
    for &n in &inner {
        mesh.nodes[n as usize] += 0.02 * shaken(n as usize);
    }
    mesh.check().unwrap();
    let mut scene = empty("patch");
    scene.add_soft("block", Soft::new(mesh, rubber()), None);
    let layout = Layout::of(&scene);
    let mut state = State::initial(&scene);
    let turn = DMat3::from_axis_angle(DVec3::new(1.0, 1.0, 0.3).normalize(), 1.2);
    let strain = DMat3::from_cols(
        DVec3::new(1.02, 0.004, 0.0),
        DVec3::new(0.004, 0.99, -0.003),
        DVec3::new(0.0, -0.003, 1.01),
    );
    for (n, x) in scene.softs[0].mesh.nodes.clone().iter().enumerate() {
        state.set_node(&layout, n, turn * strain * *x + DVec3::new(1.0, -2.0, 0.5));
    }
    let found = forces(&scene, &state);
    let surface = largest(&found);
    for &n in &inner {
        // Stress · area times a few roundings, of coordinates that lie 2 m away from a mesh of 0.1
        // m.
        let force = largest(&found[3 * n as usize..3 * n as usize + 3]);
        assert!(
            force < 1e-12 * surface.max(1.0) * 100.0 && force < 1e-8,
            "node {n}: {force} of {surface}"
        );
    }
    assert!(surface > 100.0, "the strain does press on the boundary: {surface} N");
}

#[test]
fn a_rotation_by_a_right_angle_makes_no_force() {
    let mut scene = empty("turned");
    scene.add_soft(
        "block",
        Soft::new(Tetrahedra::block([3, 2, 2], DVec3::new(0.3, 0.2, 0.2)), rubber()),
        None,
    );
    let layout = Layout::of(&scene);
    let mut state = State::initial(&scene);
    for (axis, angle) in
        [(DVec3::Y, 90.0f64), (DVec3::Z, 90.0), (DVec3::new(1.0, 1.0, 1.0).normalize(), 179.0)]
    {
        let turn = DQuat::from_axis_angle(axis, angle.to_radians());
        for (n, x) in scene.softs[0].mesh.nodes.clone().iter().enumerate() {
            state.set_node(&layout, n, turn * *x);
        }
        // Young's modulus times area is 4e5 N: 1e-14 of it.
        assert!(
            largest(&forces(&scene, &state)) < 1e-8,
            "{axis} {angle}: {}",
            largest(&forces(&scene, &state))
        );
    }
}
