//! After warm-up a step allocates nothing: free bodies, springs, mechanisms, and piles small and
//! large. What warms up is the room for so many bodies, contacts and joints, and the analysis of a
//! pattern of contacts that was not met before.
#![allow(unsafe_code)]

mod common;

use common::{cuboid, floor};
use glam::DVec3;
use signorini_mechanics::assemble::{Assembly, Scheme, StepInput};
use signorini_mechanics::geometry::World;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::problem::test_problems::{self, ProblemWithSolution};
use signorini_solve::problem::{Law, Solution, Tolerance};
use signorini_solve::solve::{Method, Status, StoppingCriteria};
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

/// Counts the allocations of the thread that asks.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

#[test]
fn a_step_of_free_bodies_and_springs_allocates_nothing() {
    let mut scene = Scene::new("springs");
    let mut last = BodyId::GROUND;
    for i in 0..6 {
        let id = scene.add_body(
            Body::rigid(format!("mass {i}"), Mass::cuboid(1.0, DVec3::new(0.1, 0.2, 0.3)))
                .at(DVec3::X * i as f64),
        );
        let spring = Spring {
            a: last,
            b: id,
            point_a: DVec3::ZERO,
            point_b: DVec3::Y * 0.1,
            length: 0.5,
            stiffness: 100.0,
            damping: 1.0,
        };
        scene.add_force(format!("spring {i}"), ForceKind::Spring(spring));
        last = id;
    }
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..3 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let count = allocations(|| {
        for _ in 0..10 {
            stepper.step(&scene, &mut state).unwrap();
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn finding_contacts_and_assembling_allocates_nothing() {
    let mut scene = floor("boxes", 0.5, 0.0);
    for i in 0..20 {
        cuboid(
            &mut scene,
            &format!("box {i}"),
            1.0,
            DVec3::splat(0.2),
            DVec3::new(0.2 * (i % 5) as f64, 0.0, 0.1 + 0.2 * (i / 5) as f64),
        );
    }
    let layout = Layout::of(&scene);
    let mut world = World::new(&scene.colliders).unwrap();
    let (mut now, mut contacts, mut assembly) =
        (StepInput::default(), Vec::new(), Assembly::new(&scene, &layout));
    let state = State::initial(&scene);
    // On a thread of the pool: handing work to a pool from outside allocates now and then.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let counts = pool.install(|| {
        let mut counts = (0, 0);
        for round in 0..20 {
            now.set(&scene, &layout, &state, 1e-3);
            let collide = allocations(|| world.collide(&now.poses, 1e-3, &mut contacts));
            let assemble = allocations(|| {
                assembly.assemble(&scene, &layout, &now, &Scheme::default(), &contacts)
            });
            if round >= 10 {
                counts = (counts.0 + collide, counts.1 + assemble);
            }
        }
        counts
    });
    assert!(contacts.len() > 60);
    assert_eq!(counts, (0, 0), "collide, assemble");
}

#[test]
fn a_second_solve_allocates_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut seen = [0; 5];
    for ProblemWithSolution { problem, .. } in
        test_problems::all().into_iter().filter(|known| !known.problem.laws.is_empty())
    {
        let laws = &problem.laws;
        let joints = laws.iter().all(|law| *law == Law::Equality);
        let smooth = laws.iter().all(|law| law.friction().is_none());
        for (m, method) in
            [Method::Psor, Method::Newton, Method::InteriorPoint, Method::Pivot, Method::Direct]
                .into_iter()
                .enumerate()
        {
            // `pivot` makes pyramids of friction cones, in new memory.
            if (method == Method::Direct && !joints) || (method == Method::Pivot && !smooth) {
                continue;
            }
            let (count, converged) = pool.install(|| {
                let mut solver = method.build(StoppingCriteria::default());
                let mut solution = Solution::zero(problem.n(), problem.rows());
                for _ in 0..2 {
                    solution.reset(problem.n(), problem.rows());
                    solver.solve(&problem, &mut solution).unwrap();
                }
                solution.reset(problem.n(), problem.rows());
                let mut report = None;
                let count = allocations(|| report = Some(solver.solve(&problem, &mut solution)));
                (count, report.unwrap().unwrap().status == Status::Converged)
            });
            // What a method fails at it says in words.
            assert!(count == 0 || !converged, "{} by {}: {count}", problem.name, method.name());
            seen[m] += usize::from(converged);
        }
    }
    assert!(
        seen[0] > 10 && seen[1] > 10 && seen[2] > 5 && seen[3] > 3 && seen[4] > 0,
        "solved by each method: {seen:?}"
    );
}

/// Allocations of ten steps after `warm` ones; the methods that solved islands.
fn steps(scene: &Scene, warm: usize) -> (usize, Vec<Method>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut stepper = Stepper::new(scene, Settings::with_time_step(1e-3)).unwrap();
        let mut state = State::initial(scene);
        let mut run = |steps: usize| {
            for _ in 0..steps {
                assert!(stepper.step(scene, &mut state).unwrap().accepted);
            }
        };
        run(warm);
        let count = allocations(|| run(10));
        (count, stepper.methods().iter().filter_map(|(method, _)| *method).collect())
    })
}

#[test]
fn a_step_of_small_piles_and_mechanisms_allocates_nothing() {
    // Stacks of three boxes, sliding over the floor: `newton`.
    let stacks = |mu: f64| {
        let mut scene = floor("stacks", mu, 0.0);
        for i in 0..12 {
            let place = DVec3::new(0.5 * (i / 3) as f64, 0.0, 0.1 + 0.2 * (i % 3) as f64);
            cuboid(&mut scene, &format!("box {i}"), 1.0, DVec3::splat(0.2), place);
            scene.bodies.last_mut().unwrap().velocity = DVec3::new(0.5, 0.1, 0.0);
        }
        scene
    };
    let (count, methods) = steps(&stacks(0.3), 20);
    assert_eq!(count, 0, "with friction");
    assert!(methods.contains(&Method::Newton), "{methods:?}");
    // The same without friction: `pivot`.
    let (count, methods) = steps(&stacks(0.0), 5);
    assert_eq!(count, 0, "without friction");
    assert!(methods.contains(&Method::Pivot), "{methods:?}");
    // Four bars in a plane, whose four hinges have three rows too many, swinging: `direct`.
    let mut scene = Scene::new("four bars");
    let corners = [DVec3::ZERO, DVec3::X, DVec3::new(1.5, 0.0, 1.0), DVec3::new(0.2, 0.0, 1.5)];
    let mut last = BodyId::GROUND;
    for i in 0..4 {
        let middle = 0.5 * (corners[i] + corners[(i + 1) % 4]);
        let next = match i {
            3 => BodyId::GROUND,
            _ => scene.add_body(
                Body::rigid(format!("bar {i}"), Mass::cuboid(1.0, DVec3::new(1.0, 0.1, 0.2)))
                    .at(middle),
            ),
        };
        scene.add_joint(
            format!("hinge {i}"),
            JointKind::Revolute,
            (last, next),
            frame(corners[i], DVec3::Y),
        );
        last = next;
    }
    let (count, methods) = steps(&scene, 5);
    assert_eq!(count, 0, "a mechanism");
    assert!(methods.contains(&Method::Direct), "{methods:?}");
}

#[test]
fn a_step_of_piles_allocates_nothing() {
    // Two piles far from each other, so that each is cut out, and swept, in the memory at hand.
    let mut scene = floor("boxes", 0.5, 0.0);
    for i in 0..120 {
        let (pile, column, layer) = (i / 60, i % 15, i % 60 / 15);
        let place = DVec3::new(0.2 * column as f64, 50.0 * pile as f64, 0.1 + 0.2 * layer as f64);
        cuboid(&mut scene, &format!("box {i}"), 1.0, DVec3::splat(0.2), place);
    }
    let mut settings = Settings::with_time_step(1e-3);
    settings.stop.tolerance =
        Tolerance { relative: 1e-4, velocity: 1e-2, bound: Some(1.0), velocity_relative: 0.0 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let count = pool.install(|| {
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let mut run = |steps: usize| {
            for _ in 0..steps {
                let verdict = stepper.step(&scene, &mut state).unwrap();
                assert!(verdict.rows > 1200, "two large islands: {} rows", verdict.rows);
            }
        };
        run(20);
        allocations(|| run(10))
    });
    assert_eq!(count, 0);
}
