//! Symbolic preprocessing of accelerations (SymbolicQR): operations, the manipulator, the chain.

use super::{Found, Section, page};
use crate::symbolic::{chain_row, manipulator_figures, prepared};
use signorini::mechanism::{Method, Settings};
use signorini::scene::State;
use signorini_files::builtin::built_in;
use signorini_record::figure::{Figure, line};

const PAPER: &str = "SymbolicQR";

pub(super) fn sections() -> Vec<Section> {
    type Measure = fn(&mut Found, bool) -> Result<(), String>;
    let section = |name, title, measure: Measure| Section { name, paper: PAPER, title, measure };
    vec![
        section("operations", "Table 1: operations of the QR of the insulator chain", operations),
        section("manipulator", "The manipulator: size, density, operations, time", manipulator),
        section("insulator-chain", "Figure 2: y of the holder over 10 s", holder),
    ]
}

fn operations(found: &mut Found, quick: bool) -> Result<(), String> {
    let dense = [24400.0, 151_632.0, 1_058_896.0];
    let sizes: &[usize] = if quick { &[4, 8, 16] } else { &[4, 8, 16, 32, 64] };
    let mut curves = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let mut rows = Vec::new();
    for (k, &m) in sizes.iter().enumerate() {
        let row = chain_row(m)?;
        let point = |y: f64| (m as f64, y);
        curves[0].push(point(row.flops as f64));
        curves[1].push(point(row.dense_flops));
        if let Some(paper) = row.paper_flops {
            curves[2].push(point(paper as f64));
            curves[3].push(point(dense[k]));
            let pair = (row.flops as f64, Some(paper as f64));
            found
                .row("table 1", format!("m = {m}: operations by preprocessing"), "", pair)
                .note("Givens rotations, counted as published, on a matrix of the same size");
            let pair = (row.dense_flops, Some(dense[k]));
            found.row("table 1", format!("m = {m}: operations, dense"), "", pair);
        }
        rows.push(row);
    }
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let exponent =
        (last.flops as f64 / first.flops as f64).ln() / (last.m as f64 / first.m as f64).ln();
    found
        .row("table 1", "exponent of the operations over m", "", (exponent, Some(1.0)))
        .note(format!("\"linear\"; from m = {} to {}", first.m, last.m));
    let [ours, ours_dense, paper, paper_dense] = curves;
    found.figures.push(
        Figure::new(
            "Table 1: operations of the QR over the length of the chain",
            ("m", "operations"),
            vec![
                line("ours", ours),
                line("ours, dense", ours_dense),
                line("paper", paper),
                line("paper, dense", paper_dense),
            ],
        )
        .logarithmic(),
    );
    Ok(())
}

fn manipulator(found: &mut Found, _quick: bool) -> Result<(), String> {
    let m = manipulator_figures()?;
    let place = "section 'Manipulator model'";
    let mut row = |what: &str, unit, ours: f64, published: f64, note: &str| {
        found.row(place, what, unit, (ours, Some(published))).note(note);
    };
    row("A: rows", "", m.rows as f64, 42.0, "");
    row("A: columns", "", m.cols as f64, 51.0, "");
    row("A: density", "%", 100.0 * m.density, 17.6, "positions of joints are not published");
    let note = "all columns by their pattern alone, as the paper counts: three of the 42 pivots \
        vanish in numbers, and the second QR that the paper then makes is not counted";
    row("operations of R, all columns", "", m.flops as f64, 34916.0, note);
    let saved = 100.0 * (1.0 - m.independent_flops as f64 / m.dense_flops);
    let note = "by the complete R of the independent columns";
    row("operations saved against dense", "%", saved, 83.0, note);
    let note = "on another machine; 2 s, Runge-Kutta, steps of 0.01 s, not stabilised";
    row("simulation of 2 s", "s", 2.0 / m.real_time_factor, 0.52, note);
    let note = "one evaluation beside a dense twin; the paper compares whole simulations";
    row("times faster than dense", "", m.speedup_vs_dense, 5.5, note);
    found
        .row(
            place,
            "operations of R, 39 independent columns",
            "",
            (m.independent_flops as f64, None),
        )
        .note("not in the paper: R complete, nothing left for run time");
    let simulation = prepared("manipulator", &[], None)?;
    let e = &simulation.equations;
    let (numeric, symbolic): (Vec<_>, Vec<_>) =
        e.a.iter().partition(|(_, id)| e.graph.value(*id).is_some());
    let places = |list: Vec<&((u32, u32), _)>| list.into_iter().map(|x| x.0).collect::<Vec<_>>();
    found
        .row("figure 4", "symbolic entries of A", "", (symbolic.len() as f64, None))
        .note(format!("a picture without numbers; {} entries are constant", numeric.len()));
    found.drawings.push((
        "Figure 4: A of the manipulator (dark: symbolic, light: numeric, blank: zero)".into(),
        page::pattern((m.rows, m.cols), &places(symbolic), &places(numeric)),
    ));
    Ok(())
}

/// y of the holder, m = 8.
fn holder(found: &mut Found, quick: bool) -> Result<(), String> {
    let scene = built_in("insulator_chain", &[]).map_err(|f| f.to_string())?.scene;
    let body = scene.body_named("holder").ok_or("the scene has no holder")?;
    let settings = Settings { method: Method::Classical, stabilised: true, planar: true };
    let mut simulation = prepared("insulator_chain", &[], Some(settings))?;
    let mut state = State::initial(&scene);
    let mut points = Vec::new();
    let (steps, h) = (if quick { 100 } else { 10_000 }, 1e-3);
    for step in 0..=steps {
        if step % 10 == 0 {
            simulation.write(&mut state);
            points.push((simulation.time, state.pose(body).position.y));
        }
        if step < steps {
            simulation.step(h).map_err(|e| e.to_string())?;
        }
    }
    let note = "a picture without numbers; masses, lengths and the force of the line are not given";
    let ends = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.1), high.max(p.1)));
    let seconds = steps as f64 * h;
    for (what, y) in [("least", ends.0), ("largest", ends.1)] {
        let what = format!("y of the holder over {seconds} s, m = 8: {what}");
        found.row("figure 2", what, "m", (y, None)).note(note);
    }
    found.figures.push(Figure::new(
        "Figure 2: y of the holder, m = 8, wind 10 N",
        ("time, s", "y, m"),
        vec![line("y", points)],
    ));
    Ok(())
}
