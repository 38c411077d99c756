//! `signorini bench collide`: refit, traversal and narrow phase for a packing of spheres, and for
//! boxes.

use signorini::geometry::{Collider, Shape, World};
use signorini::math::pose::Pose;
use signorini::math::random::Random;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `bench collide`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Number of bodies.
    #[arg(long, default_value_t = 5000)]
    bodies: usize,
    /// Steps to measure; the best of them is shown.
    #[arg(long, default_value_t = 50)]
    steps: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What one packing took.
#[derive(serde::Serialize)]
struct Row {
    shape: &'static str,
    bodies: usize,
    pairs: usize,
    contacts: usize,
    refit_ms: f64,
    traverse_ms: f64,
    narrow_ms: f64,
    total_ms: f64,
    threads: usize,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    let shapes = [
        Shape::Sphere { radius: 0.5 },
        Shape::Box { half_extents: glam::DVec3::splat(0.5) },
        Shape::Capsule { radius: 0.25, half_length: 0.25 },
    ];
    let rows: Vec<Row> = shapes.iter().map(|shape| measure(shape, arguments)).collect();
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("plain numbers"));
    } else {
        println!(
            "{:8} {:>7} {:>8} {:>9} {:>9} {:>12} {:>10} {:>9}",
            "shape",
            "bodies",
            "pairs",
            "contacts",
            "refit ms",
            "traverse ms",
            "narrow ms",
            "total ms"
        );
        for row in &rows {
            println!(
                "{:8} {:>7} {:>8} {:>9} {:>9.3} {:>12.3} {:>10.3} {:>9.3}",
                row.shape,
                row.bodies,
                row.pairs,
                row.contacts,
                row.refit_ms,
                row.traverse_ms,
                row.narrow_ms,
                row.total_ms
            );
        }
    }
    ExitCode::SUCCESS
}

/// Bodies on a cubic grid at touching distance, jittered anew before each step.
fn measure(shape: &Shape, arguments: &Arguments) -> Row {
    let side = (arguments.bodies as f64).cbrt().ceil() as usize;
    let place = |i: usize| {
        glam::DVec3::new((i % side) as f64, (i / side % side) as f64, (i / side / side) as f64)
    };
    let colliders: Vec<Collider> =
        (0..arguments.bodies).map(|body| Collider::new(body as u32, shape.clone())).collect();
    let mut world = World::new(&colliders).expect("plain shapes");
    let mut random = Random::seeded(1);
    let mut row = Row {
        shape: shape.name(),
        bodies: arguments.bodies,
        pairs: 0,
        contacts: 0,
        refit_ms: f64::INFINITY,
        traverse_ms: f64::INFINITY,
        narrow_ms: f64::INFINITY,
        total_ms: f64::INFINITY,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut contacts = vec![];
    for _ in 0..arguments.steps.max(1) {
        let poses: Vec<Pose> = (0..arguments.bodies)
            .map(|i| Pose::turned(place(i) + random.vector() * 0.01, random.vector() * 0.02))
            .collect();
        let start = Instant::now();
        world.update(&poses, 0.01);
        let refit = start.elapsed();
        row.pairs = world.find_pairs();
        let traverse = start.elapsed();
        world.touch(&mut contacts);
        let total = start.elapsed();
        row.contacts = contacts.len();
        let best =
            |best: &mut f64, time: std::time::Duration| *best = best.min(time.as_secs_f64() * 1e3);
        best(&mut row.refit_ms, refit);
        best(&mut row.traverse_ms, traverse - refit);
        best(&mut row.narrow_ms, total - traverse);
        best(&mut row.total_ms, total);
    }
    row
}
