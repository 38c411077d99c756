//! `signorini bench time`: how wrong steps are in time, beside what they say.
//!
//! *Estimates.* Every scene is run with `time_error = "doubling"`. Steps spread over the run are
//! taken again from the same state in 16 parts; the difference to the step that was kept is its
//! true error. The ratio of estimate and truth is printed as 5 %, median and 95 % of all smooth
//! steps, and of those with an event. What is wrong by less than the solver may leave (its velocity
//! tolerance times dt) says nothing of the scheme and is left out.
//!
//! *Schemes* (`--schemes`). Piles and walls under both schemes ([`super::schemes`]).
//!
//! *Orders* (`--orders`). Mechanisms are run with order 2, 4 and 6 at several dt: the error at the
//! end against the problems solved in a second of motion.

use super::schemes;
use clap::Args;
use serde_json::{Value as Json, json};
use signorini::scene::{Scene, State};
use signorini::step::{SchemeError, Settings, Stepper, TimeEstimate};
use signorini_files::{Overrides, builtin};
use std::process::ExitCode;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Scenes by name or path.
    scenes: Vec<String>,
    /// Steps of each run that are taken again.
    #[arg(long, default_value_t = 200)]
    steps: u64,
    /// Seconds of each run at most.
    #[arg(long, default_value_t = 2.0)]
    t_end: f64,
    /// Order 2, 4 and 6 of mechanisms beside each other, instead of the estimates.
    #[arg(long)]
    orders: bool,
    /// Piles and walls (name@seconds) under leapfrog and euler beside each other.
    #[arg(long, conflicts_with = "orders")]
    schemes: bool,
    /// Prints one JSON array.
    #[arg(long)]
    json: bool,
}

/// Parts of a step that is taken again.
const PARTS: u32 = 16;

/// Mechanisms, and scenes with contacts, that are small enough to be taken again in parts.
const STUDIED: [&str; 16] = [
    "a01_pendulum",
    "a02_four_bars",
    "a03_andrews",
    "a05_governor",
    "slider_crank",
    "manipulator",
    "insulator_chain",
    "ball",
    "brick",
    "incline",
    "cradle",
    "stack",
    "geneva",
    "cam_follower",
    "escapement",
    "ratchet",
];

/// Mechanisms for `--orders`.
const MECHANISMS: [&str; 5] =
    ["a01_pendulum", "a02_four_bars", "a03_andrews", "a05_governor", "slider_crank"];

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    let usual: &[&str] = match (arguments.orders, arguments.schemes) {
        (true, _) => &MECHANISMS,
        (_, true) => &schemes::SCENES,
        _ => &STUDIED,
    };
    let names: Vec<String> = if arguments.scenes.is_empty() {
        usual.iter().map(|name| name.to_string()).collect()
    } else {
        arguments.scenes.clone()
    };
    if !arguments.json {
        let head = if arguments.schemes {
            schemes::HEAD
        } else if arguments.orders {
            "scene              order       dt  solves/s   error at end [m]   estimates in sum [m]"
        } else {
            "scene                 dt   smooth   true [m]   [J]      estimate/true [m]       [J] \
                                 events  estimate/true [m]       impacts not seen"
        };
        println!("{head}");
    }
    let mut rows = Vec::new();
    for name in &names {
        let result = match (arguments.orders, arguments.schemes) {
            (true, _) => orders(name, arguments),
            (_, true) => schemes::compare(name, arguments.json),
            _ => study(name, arguments),
        };
        match result {
            Ok(found) => rows.extend(found),
            Err(message) => {
                eprintln!("error: {name}: {message}");
                return ExitCode::FAILURE;
            }
        }
    }
    if arguments.json {
        println!("{:#}", Json::Array(rows));
    }
    ExitCode::SUCCESS
}

/// A scene, its end, and its settings with a solver that is far more exact than the time step.
fn load(name: &str, arguments: &Arguments) -> Result<(Scene, f64, Settings), String> {
    let loaded = builtin::find(name, &[])?;
    let mut settings = loaded.settings(&Overrides::default())?;
    settings.stop.tolerance.velocity = settings.stop.tolerance.velocity.min(1e-9);
    settings.stop.tolerance.relative = settings.stop.tolerance.relative.min(1e-14);
    settings.accuracy = None;
    Ok((loaded.scene, loaded.t_end.min(arguments.t_end), settings))
}

/// One step beside the same step in parts.
struct Pair {
    said: SchemeError,
    truth: SchemeError,
}

/// The estimates of one scene.
fn study(name: &str, arguments: &Arguments) -> Result<Vec<Json>, String> {
    let (scene, t_end, settings) = load(name, arguments)?;
    let dt = settings.h;
    let doubling = Settings { time_error: TimeEstimate::Doubling, ..settings.clone() };
    let fine = Settings { h: dt / f64::from(PARTS), ..settings };
    let noise = 10.0 * fine.stop.tolerance.velocity * dt;
    let fail = |e: &dyn std::fmt::Display| e.to_string();
    let mut stepper = Stepper::new(&scene, doubling).map_err(|e| fail(&e))?;
    let mut again = Stepper::new(&scene, fine).map_err(|e| fail(&e))?;
    let (mut state, mut before) = (State::initial(&scene), State::initial(&scene));
    let total = (t_end / dt).round().max(1.0) as u64;
    let stride = total.div_ceil(arguments.steps);
    let (mut smooth, mut eventful, mut unseen, mut exact) = (Vec::new(), Vec::new(), 0, 0);
    for k in 0..total {
        before.clone_from(&state);
        let verdict = stepper.step(&scene, &mut state).map_err(|e| fail(&e))?;
        let Some(said) = verdict.scheme else { continue };
        if !k.is_multiple_of(stride) {
            continue;
        }
        let mut impact = false;
        for _ in 0..PARTS {
            impact |= again.step(&scene, &mut before).map_err(|e| fail(&e))?.impact;
        }
        unseen += u64::from(impact && !said.event);
        let pair = Pair { said, truth: stepper.apart(&scene, &state, &before) };
        if pair.truth.metre < noise {
            exact += 1;
        } else if said.event {
            eventful.push(pair);
        } else {
            smooth.push(pair);
        }
    }
    let metre = |p: &Pair| p.said.metre / p.truth.metre;
    let joule = |p: &Pair| p.said.joule / p.truth.joule;
    let row = json!({
        "scene": name, "dt": dt, "steps": smooth.len() + eventful.len() + exact, "exact": exact,
        "smooth": {"steps": smooth.len(), "metre": spread(&smooth, metre),
            "joule": spread(&smooth, joule), "true_metre": spread(&smooth, |p| p.truth.metre),
            "true_joule": spread(&smooth, |p| p.truth.joule)},
        "events": {"steps": eventful.len(), "metre": spread(&eventful, metre)},
        "impacts_not_seen": unseen,
    });
    if !arguments.json {
        println!(
            "{:18} {:8}  {:5}   {:>7}  {:>7}    {:22} {:22}  {:5}   {:22} {:8}",
            name,
            format!("{} ms", (1e6 * dt).round() / 1e3),
            smooth.len(),
            middle(&row["smooth"]["true_metre"]),
            middle(&row["smooth"]["true_joule"]),
            text(&row["smooth"]["metre"]),
            text(&row["smooth"]["joule"]),
            eventful.len(),
            text(&row["events"]["metre"]),
            unseen
        );
    }
    Ok(vec![row])
}

/// The 5 %, 50 % and 95 % points of a ratio.
fn spread(pairs: &[Pair], ratio: impl Fn(&Pair) -> f64) -> Json {
    let mut ratios: Vec<f64> = pairs.iter().map(ratio).filter(|x| x.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios.get((share * (ratios.len() as f64 - 1.0)).round() as usize);
    if ratios.is_empty() { Json::Null } else { json!([at(0.05), at(0.5), at(0.95)]) }
}

fn text(spread: &Json) -> String {
    let Some(points) = spread.as_array() else { return "-".into() };
    let points = points.iter().map(|x| format!("{:.2}", x.as_f64().unwrap_or(f64::NAN)));
    points.collect::<Vec<_>>().join(" / ")
}

/// The median.
fn middle(spread: &Json) -> String {
    spread[1].as_f64().map_or("-".into(), |x| format!("{x:.1e}"))
}

/// Orders 2, 4 and 6 of one mechanism.
fn orders(name: &str, arguments: &Arguments) -> Result<Vec<Json>, String> {
    let (scene, t_end, settings) = load(name, arguments)?;
    let go = |order: u32, dt: f64| -> Result<(State, u32, f64, Stepper), String> {
        let count = (t_end / dt).round().max(1.0);
        let stepping = Settings { order, h: t_end / count, ..settings.clone() };
        let mut stepper = Stepper::new(&scene, stepping).map_err(|e| e.to_string())?;
        let (mut state, mut solves, mut said) = (State::initial(&scene), 0, 0.0);
        for _ in 0..count as u64 {
            let verdict = stepper.step(&scene, &mut state).map_err(|e| e.to_string())?;
            solves += verdict.solves;
            said += verdict.scheme.map_or(0.0, |e| e.metre);
        }
        Ok((state, solves, said, stepper))
    };
    let (exact, ..) = go(6, settings.h / 4.0)?;
    let mut rows = Vec::new();
    for (order, dts) in [(2, [0.25, 1.0, 4.0]), (4, [1.0, 4.0, 8.0]), (6, [1.0, 4.0, 8.0])] {
        for dt in dts.map(|times| times * settings.h) {
            let (state, solves, said, stepper) = go(order, dt)?;
            let error = stepper.apart(&scene, &state, &exact).metre;
            let rate = f64::from(solves) / t_end;
            if !arguments.json {
                println!(
                    "{name:18} {order:5} {:>8}  {rate:8.0}   {error:16.1e}   {said:20.1e}",
                    format!("{} ms", 1e3 * dt)
                );
            }
            rows.push(json!({"scene": name, "order": order, "dt": dt, "solves_per_s": rate,
                "error": error, "estimates": said}));
        }
    }
    Ok(rows)
}
