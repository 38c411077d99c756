//! Many colliders: the tree, threads, groups and lost bodies.

use super::*;

fn heap(count: usize) -> (Vec<Collider>, Vec<Pose>) {
    let mut numbers = Random::seeded(7);
    let mut random = move || numbers.unit();
    let side = (count as f64).cbrt();
    let compound = vec![
        (Pose::at(DVec3::X * 0.3), sphere(0.4)),
        (Pose::at(DVec3::X * -0.3), cuboid(0.3, 0.3, 0.3)),
    ];
    let mut make = |body: usize| {
        let shape = match body % 6 {
            0 | 1 => sphere(0.3 + 0.3 * random()),
            2 => cuboid(0.3, 0.4, 0.5),
            3 => capsule(0.3, 0.4),
            4 => Shape::Compound { parts: compound.clone() },
            _ => hull(0.4, 0.3, 0.4),
        };
        let mut vector = |scale: f64| v(random(), random(), random()) * scale;
        let pose = Pose::turned(vector(side), vector(3.0));
        (Collider { fixed: body.is_multiple_of(17), ..Collider::new(body as u32, shape) }, pose)
    };
    (0..count).map(&mut make).unzip()
}

#[test]
fn the_tree_finds_what_trying_all_pairs_finds() {
    let (colliders, mut poses) = heap(60);
    let mut world = World::new(&colliders).unwrap();
    for step in 0..3 {
        let (mut contacts, mut all) = (vec![], vec![]);
        world.collide(&poses, 0.02, &mut contacts);
        for i in 0..colliders.len() {
            for j in i + 1..colliders.len() {
                let mut pair = vec![];
                World::new(&[colliders[i].clone(), colliders[j].clone()])
                    .unwrap()
                    .collide(&poses, 0.02, &mut pair);
                all.extend(
                    pair.into_iter()
                        .map(|contact| Contact { colliders: (i as u32, j as u32), ..contact }),
                );
            }
        }
        assert!(
            contacts.len() > 50 && contacts == all,
            "step {step}: {} against {}",
            contacts.len(),
            all.len()
        );
        for (i, pose) in poses.iter_mut().enumerate().filter(|(i, _)| i % 17 != 0) {
            *pose = pose.advanced(v(0.1, -0.2, 0.05) * (i % 5) as f64, v(0.1, 0.2, 0.0));
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (colliders, poses) = heap(2000);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut contacts = vec![];
        pool.install(|| World::new(&colliders).unwrap().collide(&poses, 0.02, &mut contacts));
        contacts
    };
    let one = run(1);
    assert!(one.len() > 3000 && one == run(3));
    assert!(
        one.windows(2)
            .all(|pair| (pair[0].colliders, pair[0].key) < (pair[1].colliders, pair[1].key))
    );
}

#[test]
fn groups_exclusions_and_fixed_bodies_are_respected() {
    let ball = |body: u32, groups: Groups, fixed: bool| Collider {
        groups,
        fixed,
        ..Collider::new(body, sphere(1.0))
    };
    let count = |colliders: [Collider; 3], excluded: &[(u32, u32)]| {
        let mut world = World::new(&colliders).unwrap();
        world.exclude(excluded.iter().copied());
        let mut contacts = vec![];
        world.collide(&[Pose::IDENTITY; 4], 0.0, &mut contacts);
        contacts.len()
    };
    let all = Groups::ALL;
    assert_eq!(count([ball(0, all, false), ball(1, all, false), ball(2, all, true)], &[]), 3);
    assert_eq!(count([ball(0, all, false), ball(1, all, true), ball(2, all, true)], &[]), 2);
    assert_eq!(count([ball(0, all, false), ball(0, all, false), ball(2, all, true)], &[]), 2);
    assert_eq!(
        count([ball(0, all, false), ball(1, all, false), ball(2, all, true)], &[(1, 0), (2, 3)]),
        2
    );
    let (red, blue) = (Groups { membership: 1, filter: 2 }, Groups { membership: 2, filter: 1 });
    assert_eq!(count([ball(0, red, false), ball(1, red, false), ball(2, blue, false)], &[]), 2);
}

#[test]
fn a_lost_body_touches_nothing_and_harms_nobody() {
    let (colliders, mut poses) = heap(30);
    poses[3].position.x = f64::NAN;
    let mut world = World::new(&colliders).unwrap();
    let mut contacts = vec![];
    world.collide(&poses, 0.02, &mut contacts);
    assert!(!contacts.is_empty());
    assert!(contacts.iter().all(|contact| contact.colliders.0 != 3
        && contact.colliders.1 != 3
        && contact.gap.is_finite()));
    poses[3].position.x = 1.0;
    world.collide(&poses, 0.02, &mut contacts);
    let mut fresh = vec![];
    World::new(&colliders).unwrap().collide(&poses, 0.02, &mut fresh);
    assert_eq!(contacts, fresh);
}
