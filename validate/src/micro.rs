//! Scenes from public issues of other engines, with the exact answer.

use crate::case::{Case, Cost, Cost::*, Group::Issue, Rows, dots, within};
use crate::motion::{G, Motion, Text, xyz};
use signorini::prelude::*;

/// The cases.
pub fn cases() -> Vec<Case> {
    type Run = fn(&mut Rows) -> Result<(), String>;
    let case = |name, source, cost: Cost, run: Run| Case { name, group: Issue, source, cost, run };
    vec![
        case(
            "pinched-capsule",
            "mujoco#3328: 45 g capsule between pads of mu 0.7, 12–60 N; must not creep",
            Quick,
            pinched,
        ),
        case(
            "pinched-sheet",
            "newton#3943: thin sheet pinched with mu up to 64; must not creep",
            Quick,
            sheet,
        ),
        case(
            "launched-cube",
            "genesis#3115: cube at 6 m/s, mu 0.5, slides v²/(2 mu g) and does not lift",
            Quick,
            launched,
        ),
        case(
            "pressed-cube",
            "genesis#2872: 1 kg cube pressed on a wall with 20 N, mu 1; must not creep",
            Quick,
            pressed,
        ),
        case("heavy-box", "dart#3442: heavy on light, 100:1 and more; must not sink", Quick, heavy),
        case("card-house", "dart#3377: card house of 4 levels; stands", Normal, |rows| {
            card_house(rows, 4)
        }),
        case("card-house-2", "dart#3377: card house of 2 levels; stands", Quick, |rows| {
            card_house(rows, 2)
        }),
        case("arch-25", "dart#3377: arch of 25 stones; stands", Normal, arch),
    ]
}

/// A capsule held by two pads that are pressed together.
fn pinched(rows: &mut Rows) -> Result<(), String> {
    let (mut points, time) = (Vec::new(), 2.0);
    for force in [12.0, 30.0, 60.0] {
        let mut text = Text::usual(2e-3).material(0.7, 0.0);
        let turned = "rotation = { axis = [0, 1, 0], angle = \"90 deg\" }";
        text = text.body(
            "capsule",
            &format!("capsule = {{ radius = 0.004, length = 0.03 }}, {turned}"),
            "mass = 0.045",
        );
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            let lines = format!("mass = 0.1\nposition = [0, {:?}, 0]", side * 0.009);
            text = text.body(name, "box = [0.02, 0.01, 0.02]", &lines);
            text = text.add(&format!(
                "[[joint]]\nname = \"{name}\"\nkind = \"prismatic\"\nb = \
                \"{name}\"\naxis = [0, 1, 0]"
            ));
            text = text.add(&format!(
                "[[motor]]\nname = \"{name}\"\njoint = \"{name}\"\nforce = {:?}",
                -side * force
            ));
        }
        let mut motion = text.simulate()?;
        motion.until(time)?;
        let creep = motion.at("capsule").length() / time;
        points.push((force, creep.max(1e-17)));
        let row = rows.zero(
            &format!("{force} N: creep"),
            "m/s",
            creep,
            within(1e-6, "tolerance of every run, 1e-6 m/s"),
        );
        if force == 12.0 {
            row.others(&[
                ("MuJoCo default", 1.5e-3),
                ("MuJoCo impratio 10", 1.55e-4),
                ("MuJoCo noslip 10", 1.4e-6),
            ]);
        }
    }
    rows.figure("Pinched capsule", ("force, N", "creep, m/s"), vec![dots("creep", points)]).log =
        true;
    Ok(())
}

fn sheet(rows: &mut Rows) -> Result<(), String> {
    for mu in [0.5, 8.0, 64.0] {
        let mut text = Text::usual(2e-3).material(mu, 0.0);
        text =
            text.body("sheet", "box = [0.1, 0.001, 0.1]", "mass = 0.02\nposition = [0, 0, -0.03]");
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            text = text.body(
                name,
                "box = [0.02, 0.01, 0.02]",
                &format!("mass = 0.1\nposition = [0, {:?}, 0]", side * 0.0055),
            );
            text = text.add(&format!(
                "[[joint]]\nname = \"{name}\"\nkind = \"prismatic\"\nb = \
                \"{name}\"\naxis = [0, 1, 0]"
            ));
            text = text.add(&format!(
                "[[motor]]\nname = \"{name}\"\njoint = \"{name}\"\nforce = {:?}",
                -side * 5.0
            ));
        }
        let mut motion = text.simulate()?;
        motion.until(1.0)?;
        let creep = (motion.at("sheet") + 0.03 * DVec3::Z).length();
        rows.zero(
            &format!("mu {mu}: creep"),
            "m/s",
            creep,
            within(1e-6, "tolerance of every run, 1e-6 m/s"),
        );
    }
    Ok(())
}

fn launched(rows: &mut Rows) -> Result<(), String> {
    let (v, mu, h) = (6.0, 0.5, 2e-3);
    let text = Text::usual(h).material(mu, 0.0).floor();
    let text = text.body(
        "cube",
        "box = [0.1, 0.1, 0.1]",
        &format!("position = [0, 0, 0.05]\nvelocity = [{v:?}, 0, 0]"),
    );
    let mut motion = text.simulate()?;
    let play = text.play(2.0).seen(u64::MAX);
    let (mut lift, mut stopped) = (0.0f64, f64::NAN);
    motion.watch(2.0, |m| {
        lift = lift.max((m.at("cube").z - 0.05).abs());
        if stopped.is_nan() && m.velocity("cube").x < 1e-5 {
            stopped = m.time();
        }
    })?;
    let reason = "the kink at the stop, mu g h²/8, and 1e-6 m/s for 2 s";
    rows.row(
        "way",
        "m",
        (motion.at("cube").x, v * v / (2.0 * mu * G)),
        within(mu * G * h * h / 8.0 + 2e-6, reason),
    );
    rows.peers(vec![play.clone()], |t| t[0].end("cube").position.x);
    rows.row("stops", "s", (stopped, v / (mu * G)), within(h, "one step"));
    rows.zero("lift", "m", lift, within(2e-6, "1e-6 m/s for 2 s"))
        .others(&[("Genesis, as reported", 0.3 + 0.018)]);
    rows.peers(vec![play], |t| {
        t[0].moments().map(|m| (m.body("cube").position.z - 0.05).abs()).fold(0.0, f64::max)
    });
    Ok(())
}

fn pressed(rows: &mut Rows) -> Result<(), String> {
    let text = Text::usual(2e-3).material(1.0, 0.0);
    let wall = "fixed = true\nrotation = { axis = [0, 1, 0], angle = \"90 deg\" }";
    let text = text.body("wall", "half_space = true", wall);
    let text = text.body("cube", "box = [0.1, 0.1, 0.1]", "mass = 1\nposition = [0.05, 0, 1]");
    let push = "[[force]]\nname = \"push\"\napplied = { body = \"cube\", force = [-20, 0, 0] }";
    let text = text.add(push);
    let mut motion = text.simulate()?;
    motion.until(5.0)?;
    let creep = (motion.at("cube") - DVec3::new(0.05, 0.0, 1.0)).length() / 5.0;
    rows.zero("creep", "m/s", creep, within(1e-6, "tolerance of every run"))
        .others(&[("Genesis Newton, as reported", 4.5e-3)]);
    rows.peers(vec![text.play(5.0)], |t| {
        (t[0].end("cube").position - DVec3::new(0.05, 0.0, 1.0)).length() / 5.0
    });
    Ok(())
}

fn heavy(rows: &mut Rows) -> Result<(), String> {
    for ratio in [1e2, 1e4, 1e6] {
        let text = Text::usual(2e-3).material(0.5, 0.0).floor();
        let text = text.body("light", "box = [0.2, 0.2, 0.2]", "mass = 1\nposition = [0, 0, 0.1]");
        let text = text.body(
            "heavy",
            "box = [0.2, 0.2, 0.2]",
            &format!("mass = {ratio:?}\nposition = [0, 0, 0.3]"),
        );
        let mut motion = text.simulate()?;
        motion.until(0.5)?;
        let sunk = 0.3 - motion.at("heavy").z;
        let reason = "faces yield at the velocity tolerance: 1e-6 m/s for 0.5 s at most";
        rows.zero(&format!("1:{ratio:e}: sinks in 0.5 s"), "m", sunk, within(5e-7, reason));
        rows.peers(vec![text.play(0.5)], |t| 0.3 - t[0].end("heavy").position.z);
    }
    Ok(())
}

/// Cards as boxes: pairs that lean on each other, a flat one under each level but the first.
fn cards(levels: usize) -> Text {
    let (length, thick, depth, lean): (f64, f64, f64, f64) = (0.09, 0.002, 0.06, 0.35);
    let (half, across) = (0.5 * length, 0.5 * thick);
    let mut text = Text::usual(1e-3).material(0.9, 0.0).floor();
    // A leaning card stands on an edge; two of them touch with their upper edges.
    let rise = length * lean.cos() + thick * lean.sin();
    let shape = format!("box = [{thick:?}, {depth:?}, {length:?}]");
    let foot = half * lean.sin() + across * lean.cos();
    let pitch = 2.0 * (length * lean.sin() + thick * lean.cos()) + 4.0 * thick;
    let level_height = rise + thick;
    for level in 0..levels {
        let pairs = levels - level;
        let base = level as f64 * level_height;
        for k in 0..pairs {
            let x = (k as f64 - 0.5 * (pairs - 1) as f64) * pitch;
            for (side, name) in [(-1.0, "l"), (1.0, "r")] {
                let at = DVec3::new(x + side * foot, 0.0, base + 0.5 * rise);
                let lines = format!(
                    "position = {}\nrotation = {{ axis = [0, 1, 0], angle = {:?} }}",
                    xyz(at),
                    -side * lean
                );
                text = text.body(&format!("{name}_{level}_{k}"), &shape, &lines);
            }
        }
        if pairs > 1 {
            let flat = format!("box = [{:?}, {depth:?}, {thick:?}]", (pairs as f64 - 0.4) * pitch);
            let at = DVec3::new(0.0, 0.0, base + rise + across);
            text = text.body(&format!("flat_{level}"), &flat, &format!("position = {}", xyz(at)));
        }
    }
    text
}

fn card_house(rows: &mut Rows, levels: usize) -> Result<(), String> {
    let text = cards(levels);
    let mut motion = text.simulate()?;
    let names: Vec<String> =
        motion.sim.scene().bodies.iter().map(|b| b.name.clone()).skip(2).collect();
    let start: Vec<DVec3> = names.iter().map(|n| motion.at(n)).collect();
    motion.until(2.0)?;
    let moved =
        names.iter().zip(&start).map(|(n, p)| motion.at(n).distance(*p)).fold(0.0, f64::max);
    let row = rows.zero(
        &format!("{levels} levels, {} cards: largest way in 2 s", names.len()),
        "m",
        moved,
        within(1e-5, "1e-6 m/s for 2 s, five times"),
    );
    row.note("cards 2 mm thick, lean 0.35 rad, mu 0.9");
    rows.peers(vec![text.play(2.0)], move |tracks| {
        let ends = tracks[0].last().bodies.iter().zip(&start);
        ends.map(|(card, start)| card.position.distance(*start)).fold(0.0, f64::max)
    });
    Ok(())
}

fn arch(rows: &mut Rows) -> Result<(), String> {
    let mut motion = Motion::load("arch", &["stones=25", "thickness=0.12*radius"])?;
    let place = |m: &Motion| m.sim.body("stone_12").map(|b| b.center_of_mass()).unwrap_or_default();
    let start = place(&motion);
    motion.until(2.0)?;
    let moved = place(&motion).distance(start);
    rows.zero(
        "way of the crown in 2 s, t/R 0.12",
        "m",
        moved,
        within(1e-5, "1e-6 m/s for 2 s, five times"),
    );
    Ok(())
}
