//! `signorini bench islands`: many islands on one thread and on several.

use clap::Args;
use glam::DVec3;
use serde_json::{Value as Json, json};
use signorini::geometry::Shape;
use signorini::math::pose::Pose;
use signorini::scene::{Body, BodyId, Mass, Scene, State, SurfaceMaterial};
use signorini::step::{Settings, Stages, Stepper};
use std::process::ExitCode;
use std::time::Instant;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Stacks of five boxes.
    #[arg(long, default_value_t = 2000)]
    stacks: usize,
    /// Boxes of the pile in the second scene, beside half as many stacks.
    #[arg(long, default_value_t = 400)]
    pile: usize,
    /// Steps of one measurement.
    #[arg(long, default_value_t = 10)]
    steps: u64,
    /// Measurements of the same steps; the quickest counts.
    #[arg(long, default_value_t = 3)]
    repeats: u32,
    /// How many threads beside one; all cores without this.
    #[arg(long)]
    threads: Option<usize>,
    /// Prints one JSON array.
    #[arg(long)]
    json: bool,
}

/// Edge of a box, m, and the distance of two stacks.
const EDGE: f64 = 0.1;
const DISTANCE: f64 = 0.5;

/// Five boxes on each other at `at`; they slide a little, so that nothing rests.
fn stack(scene: &mut Scene, at: DVec3, boxes: usize) {
    for level in 0..boxes {
        let place = at + DVec3::Z * EDGE * (0.5 + level as f64);
        let speed = 0.1 * DVec3::new((place.x + level as f64).sin(), place.y.cos(), 0.0);
        let body = Body::rigid(
            format!("box {}", scene.bodies.len()),
            Mass::cuboid(1.0, DVec3::splat(EDGE)),
        );
        let shape = Shape::Box { half_extents: DVec3::splat(0.5 * EDGE) };
        scene.add_body_with_shape(Body { velocity: speed, ..body.at(place) }, shape);
    }
}

/// So many stacks, and a pile of so many boxes in layers that hold together.
fn scene(stacks: usize, pile: usize) -> Scene {
    let mut scene = Scene::new("islands");
    let floor = Shape::HalfSpace;
    scene.add_collider(BodyId::GROUND, floor, Pose::IDENTITY, SurfaceMaterial::default());
    let side = (stacks as f64).sqrt().ceil().max(1.0) as usize;
    for i in 0..stacks {
        let at = DISTANCE * DVec3::new((i % side) as f64, (i / side) as f64, 0.0);
        stack(&mut scene, at, 5);
    }
    let side = (pile as f64 / 5.0).sqrt().ceil().max(1.0) as usize;
    for i in 0..pile / 5 {
        let at = EDGE * DVec3::new((i % side) as f64, (i / side) as f64, 0.0);
        stack(&mut scene, at - DVec3::new(100.0, 0.0, 0.0), 5);
    }
    scene
}

/// Seconds of a step and of its solve, and the bits of the last state.
struct Measured {
    solve: f64,
    step: f64,
    hash: u64,
}

fn measure(scene: &Scene, threads: usize, arguments: &Arguments) -> Result<Measured, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|why| why.to_string())?;
    pool.install(|| {
        let mut best = Measured { solve: f64::INFINITY, step: f64::INFINITY, hash: 0 };
        let mut stepper =
            Stepper::new(scene, Settings::with_time_step(2e-3)).map_err(|why| why.to_string())?;
        stepper.clock = Some({
            let begun = Instant::now();
            Box::new(move || begun.elapsed().as_secs_f64())
        });
        // Once more than is counted: the first finds no memory of the right size.
        for repeat in 0..=arguments.repeats {
            let mut state = State::initial(scene);
            stepper.stages = Stages::default();
            for _ in 0..arguments.steps {
                stepper.step(scene, &mut state).map_err(|why| why.to_string())?;
            }
            let Stages { collide, assemble, solve, advance } = stepper.stages;
            let step = collide + assemble + solve + advance;
            if repeat > 0 {
                let steps = arguments.steps as f64;
                best.solve = best.solve.min(solve / steps);
                best.step = best.step.min(step / steps);
            }
            best.hash = state.hash();
        }
        Ok(best)
    })
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    let several = arguments.threads.unwrap_or_else(rayon::current_num_threads);
    let scenes = [
        (format!("{} stacks of five boxes", arguments.stacks), scene(arguments.stacks, 0)),
        (
            format!("{} boxes beside {} stacks", arguments.pile, arguments.stacks / 2),
            scene(arguments.stacks / 2, arguments.pile),
        ),
    ];
    let mut rows = Vec::new();
    for (name, scene) in &scenes {
        let measured = measure(scene, 1, arguments)
            .and_then(|one| Ok((one, measure(scene, several, arguments)?)));
        let (one, more) = match measured {
            Ok(both) => both,
            Err(message) => {
                eprintln!("error: {message}");
                return ExitCode::FAILURE;
            }
        };
        rows.push(json!({
            "scene": name, "threads": several,
            "solve_ms": [1e3 * one.solve, 1e3 * more.solve],
            "step_ms": [1e3 * one.step, 1e3 * more.step],
            "solve_ratio": one.solve / more.solve, "step_ratio": one.step / more.step,
            "same_bits": one.hash == more.hash,
        }));
    }
    if arguments.json {
        println!("{:#}", Json::Array(rows));
        return ExitCode::SUCCESS;
    }
    println!("{:36} {:>24} {:>24}", "scene", "solve, ms", "step, ms");
    for row in &rows {
        let number = |key: &str, i: usize| row[key][i].as_f64().unwrap_or(f64::NAN);
        let pair = |key: &str, ratio: &str| {
            let times = row[ratio].as_f64().unwrap_or(f64::NAN);
            format!("{:.1} / {:.1} = {times:.2}", number(key, 0), number(key, 1))
        };
        println!(
            "{:36} {:>24} {:>24}  {}",
            row["scene"].as_str().unwrap_or(""),
            pair("solve_ms", "solve_ratio"),
            pair("step_ms", "step_ratio"),
            if row["same_bits"] == true { "same bits" } else { "OTHER BITS" }
        );
    }
    ExitCode::SUCCESS
}
