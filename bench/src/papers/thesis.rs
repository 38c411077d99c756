//! Chapter 5 of the thesis on interior points (Mangoni2018): warm starts, balls, bending, stacks.

use super::{Found, Section};
use crate::bending::{Bench, Contacts, LARGEST_STEP};
use crate::interior_point::{self, TABLE_5_3, residuals, stack_row};
use crate::spheres::stack;
use signorini::problem::Problem;
use signorini::problem::literature::Thesis;
use signorini_record::figure::{Figure, dots, line};

const PAPER: &str = "Mangoni2018";
/// The thesis stops when residuals are below this, and the complementarity below ten times this.
const THESIS_RESIDUAL_LIMIT: f64 = 1e-10;

pub(super) fn sections() -> Vec<Section> {
    type Measure = fn(&mut Found, bool) -> Result<(), String>;
    let section = |name, title, measure: Measure| Section { name, paper: PAPER, title, measure };
    vec![
        section("warm-starts", "Table 5.1: iterations with three warm starts", warm_starts),
        section("balls", "Table 5.3 and figure 5.2: balls in a cylindrical container", balls),
        section("stacks", "Section 5.3.3 and figure 5.6: stacked spheres", stacks),
        section("bending", "Section 5.3.2 and figure 5.4: three-point bending", bending),
    ]
}

fn warm_starts(found: &mut Found, _quick: bool) -> Result<(), String> {
    let published = [[935.0, 927.0, 747.0], [720.0, 515.0, 90.0], [499.0, 370.0, 81.0]];
    let notes = [
        "the thesis does not say how many balls: here the 64 of table 5.3, 884 contacts",
        "the thesis gives neither height nor step of the fall: from 35 mm here, 10 ms",
        "the thesis gives neither size nor step: 0.2 x 0.1 x 0.05 m here, from 25 mm, 10 ms",
    ];
    for (k, row) in interior_point::warm().into_iter().enumerate() {
        let kinds = [("none", row.none), ("partial", row.partial), ("full", row.full)];
        for ((kind, ours), published) in kinds.into_iter().zip(published[k]) {
            let what = format!("{}, {} calls, warm start {kind}", row.scene, row.calls);
            found.row("table 5.1", what, "", (ours as f64, Some(published))).note(notes[k]);
        }
        let what = format!("{}, {} calls, as it is used", row.scene, row.calls);
        found
            .row("table 5.1", what, "", (row.best as f64, None))
            .note("not in the thesis: guess tried as the answer, sweeps, Newton steps, the path");
    }
    Ok(())
}

fn balls(found: &mut Found, quick: bool) -> Result<(), String> {
    let mut iterations = Vec::new();
    let mut published = Vec::new();
    for (spheres, contacts, thesis) in TABLE_5_3.into_iter().take(if quick { 1 } else { 4 }) {
        eprintln!("... {spheres} balls, 50 steps");
        let ([smooth, _], [last, _]) = interior_point::balls(spheres, false);
        let what = format!("{spheres} balls: contacts");
        found
            .row("table 5.3", what, "", (smooth.contacts_mean, Some(contacts as f64)))
            .note("the nearest pairs, as many as published: the thesis does not say which touch");
        let what = format!("{spheres} balls: iterations per step, path alone");
        found
            .row("table 5.3", what, "", (smooth.path_mean, Some(thesis)))
            .note("mean over every tenth of 50 steps; the thesis: over all 50");
        let what = format!("{spheres} balls: factorizations per step, as it is used");
        found
            .row("table 5.3", what, "", (smooth.iterations_mean, None))
            .note(format!("not in the thesis: after {:.0} sweeps", smooth.sweeps_mean));
        iterations.push((spheres as f64, smooth.path_mean));
        published.push((spheres as f64, thesis));
        if spheres <= 280 {
            convergence(found, "figure 5.2", &format!("{spheres} balls, step 50"), &last);
        }
    }
    found.figures.push(Figure::new(
        "Table 5.3: iterations per step over the number of balls",
        ("balls", "iterations"),
        vec![dots("ours, path alone", iterations), dots("thesis", published)],
    ));
    Ok(())
}

/// Residuals over iterations: a row and a plot.
fn convergence(found: &mut Found, place: &'static str, what: &str, problem: &Problem) {
    let history = residuals(problem);
    let met = |t: &Thesis| {
        t.rp_eq < THESIS_RESIDUAL_LIMIT
            && t.rp_ineq < THESIS_RESIDUAL_LIMIT
            && t.rd < THESIS_RESIDUAL_LIMIT
            && t.mu.abs() < 10.0 * THESIS_RESIDUAL_LIMIT
    };
    let first = history.iter().find(|(_, t)| met(t)).or(history.last());
    let needed = first.map_or(f64::NAN, |(work, _)| *work as f64);
    let unmet = if first.is_some_and(|(_, t)| met(t)) {
        ""
    } else {
        "; they are not all met here, where forces are large and the limits absolute"
    };
    found
        .row(
            place,
            format!("{what}: factorizations until the thesis's four limits are met"),
            "",
            (needed, None),
        )
        .note(format!("the curve is a picture without numbers in the text{unmet}"));
    let curve = |name: &str, value: fn(&Thesis) -> f64| {
        line(name, history.iter().map(|(work, t)| (*work as f64, value(t).abs())).collect())
    };
    found.figures.push(
        Figure::new(
            &format!("{place}: {what}, residuals over iterations"),
            ("factorizations of the path", "residuals as the thesis defines them"),
            vec![
                curve("r_p/n", |t| t.rp_ineq.max(t.rp_eq)),
                curve("r_d/n", |t| t.rd),
                curve("mu", |t| t.mu),
            ],
        )
        .logarithmic(),
    );
}

fn stacks(found: &mut Found, quick: bool) -> Result<(), String> {
    let counts: &[usize] = if quick { &[5, 15] } else { &[2, 5, 10, 15, 20, 30, 50, 100] };
    let mut curves = Vec::new();
    for (name, mass) in [("1e2 kg", 1e2), ("1e6 kg", 1e6), ("1e12 kg", 1e12)] {
        let mut points = Vec::new();
        for &n in counts {
            let row = stack_row(name.into(), &vec![mass; n]);
            points.push((n as f64, row.path as f64));
            if [5, 50].contains(&n) {
                let what = format!("{n} spheres of {name}: iterations, path alone");
                found.row("figure 5.6", what, "", (row.path as f64, None)).note(
                    "a picture without numbers; the text: iterations change with the weight, not \
                        with the number of spheres",
                );
            }
        }
        curves.push(line(name, points));
    }
    let ratio = |n: usize| (0..n as i32).map(|j| 10f64.powi(j)).collect::<Vec<f64>>();
    let mut points = Vec::new();
    let (mut alone, mut used) = (0, 0);
    for n in 2..=if quick { 8 } else { 26 } {
        let row = stack_row("10^n kg".into(), &ratio(n));
        if row.path_converged {
            points.push((n as f64, row.path as f64));
            alone = if alone + 1 == n || n == 2 { n } else { alone };
        }
        used = if row.converged && (used + 1 == n || n == 2) { n } else { used };
    }
    let most = if quick { " (no more than 8 tried)" } else { " (no more than 26 tried)" };
    let note = format!("error in joules and velocities accepted{most}");
    let what = "spheres, each ten times heavier than the one below: most that are solved";
    found
        .row("section 5.3.3", format!("{what}, path alone"), "", (alone as f64, Some(15.0)))
        .note(note.clone());
    found
        .row("section 5.3.3", format!("{what}, as it is used"), "", (used as f64, Some(15.0)))
        .note(note);
    if !quick {
        convergence(found, "figure 5.6", "15 spheres of 10^n kg", &stack(&ratio(15)));
        convergence(found, "figure 5.6", "15 spheres of 100 kg", &stack(&[100.0; 15]));
    }
    curves.push(line("10^n kg", points));
    found.figures.push(Figure::new(
        "Figure 5.6: iterations of the path alone over the number of spheres",
        ("spheres", "iterations"),
        curves,
    ));
    Ok(())
}

fn bending(found: &mut Found, quick: bool) -> Result<(), String> {
    let bench = Bench::new(0.05, 0.0005)?;
    let say = |text: String| eprintln!("... {text}");
    let limit = format!("no step longer than {LARGEST_STEP} s was tried");
    let beam = "the beam's sizes are not published: 1.3 x 0.6 x 0.15 m here";
    if !quick {
        let rigid = bench.longest(Contacts::Rigid, 3, &say)?;
        found
            .row("section 5.3.2", "largest stable step, rigid contacts", "s", (rigid, Some(0.06)))
            .note(format!("{beam}; {limit}"));
        let implicit = bench.longest(Contacts::ImplicitSprings, 2, &say)?;
        let what = "largest stable step, penalty springs, implicit";
        found.row("section 5.3.2", what, "s", (implicit, Some(0.005))).note(
            "the stiffness is not published: as stiff as an overlap of 0.5 mm at 0.1 m asks for",
        );
    }
    let steps = bench.counted.iterations.len();
    let mean = bench.counted.work as f64 / steps.max(1) as f64;
    found
        .row("figure 5.4", "iterations per step at 0.05 s, as it is used", "", (mean, None))
        .note(format!("a picture without numbers in the text; {beam}"));
    let points = bench.counted.iterations.iter().enumerate();
    found.figures.push(Figure::new(
        "Three-point bending: iterations of each step of 0.05 s",
        ("step", "iterations"),
        vec![dots("iterations", points.map(|(i, w)| ((i + 1) as f64, *w as f64)).collect())],
    ));
    if !quick {
        convergence(found, "figure 5.4", "bending, last step of 0.05 s", &bench.counted.last);
    }
    Ok(())
}
