use signorini::problem::files::{Input, json};
use signorini::problem::*;
use signorini::solve::psor::*;
use signorini::solve::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut all = Vec::new();
    for f in &args[1..] {
        let text = std::fs::read(f).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let stored = json::read(serde_json::to_string(&value["problem"]).unwrap().as_bytes()).unwrap();
        let Input::Problem(p) = stored.input else { panic!() };
        let guess = stored.guess.unwrap_or(Solution { v: vec![0.0; p.n()], r: vec![0.0; p.rows()] });
        all.push((p, guess));
    }
    let depths: Vec<usize> = std::env::var("DEPTH").map(|d| d.split(',').map(|x| x.parse().unwrap()).collect()).unwrap_or(vec![5]);
    for threads in std::env::var("THREADS").map(|t| vec![t.parse().unwrap()]).unwrap_or(vec![1, 2]) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for &depth in &depths {
            let tolerance = Tolerance { relative: 1e-4, velocity: 1.0, bound: Some(1e6) };
            let stop = Stop { tolerance, work: Some(std::env::var("WORK").map_or(3000, |x| x.parse().unwrap())), ..Stop::default() };
            let mut s = Settings { stop, ..Settings::default() };
            if depth != 5 {
                s.local = Local::Frozen;
                s.acceleration = Acceleration::Subspace { depth };
            }
            let mut psor = Psor::new(s);
            let (mut best, mut work) = (f64::INFINITY, Vec::new());
            for _ in 0..std::env::var("REPS").map_or(5, |x| x.parse().unwrap()) {
                work.clear();
                let mut ms = 0.0;
                for (p, g) in &all {
                    let mut x = g.clone();
                    let t = Instant::now();
                    let report = pool.install(|| psor.solve(p, &mut x).unwrap());
                    ms += t.elapsed().as_secs_f64() * 1e3;
                    work.push(report.work);
                }
                best = f64::min(best, ms);
            }
            let sum: u64 = work.iter().sum();
            println!(
                "threads {threads} depth {depth}: {:.2} ms per solve, {:.1} us per sweep, sweeps {work:?}",
                best / all.len() as f64,
                1e3 * best / sum as f64
            );
        }
    }
}
