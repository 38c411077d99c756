//! The same scene in other sizes and masses: nothing but the units changes.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, dots, within};
use crate::motion::Text;

pub const CASES: &[Case] = &[Case {
    name: "units",
    group: ClosedForm,
    source: "similarity: lengths × L, masses × M, times × √L leave mu and every ratio as they are",
    cost: Quick,
    run: units,
}];

/// A ball that slides meets another one off its centre, in units of `length` m and `mass` kg: the
/// places of both, in those units. Single contacts: no load can be shared in two ways.
fn scaled(length: f64, mass: f64) -> Result<[f64; 4], String> {
    let time = length.sqrt();
    let mut text = Text::usual(1e-3 * time);
    text = text.run(&format!("tolerance = 1e-12\nvelocity_tolerance = {:?}", 1e-9 * time));
    text = text.contact(&format!(
        "recovery_speed = {:?}\nrebound_speed = {:?}",
        1.0 * time,
        1e-2 * time
    ));
    text = text.contact(&format!("prediction = {:?}", 1e-3 * length)).material(0.3, 0.2).floor();
    let l = |x: f64| format!("{:?}", x * length);
    for (name, factor, x, y, speed) in
        [("first", 2.0, 0.0, 0.0, 3.0), ("second", 1.0, 0.713, 0.02, 0.0)]
    {
        let place = format!("position = [{}, {}, {}]", l(x), l(y), l(0.1));
        let lines =
            format!("mass = {:?}\n{place}\nvelocity = [{:?}, 0, 0]", factor * mass, speed * time);
        text = text.body(name, &format!("sphere = {}", l(0.1)), &lines);
    }
    let mut motion = text.simulate()?;
    motion.until(1.0 * time)?;
    let (a, b) = (motion.at("first") / length, motion.at("second") / length);
    Ok([a.x, a.y, b.x, b.y])
}

fn units(rows: &mut Rows) -> Result<(), String> {
    let reference = scaled(1.0, 1.0)?;
    let mut points = Vec::new();
    for (length, mass) in
        [(1e-3, 1e-6), (1e-3, 1.0), (1.0, 1e-9), (1.0, 1e9), (1e3, 1e6), (1e4, 1.0)]
    {
        let found = scaled(length, mass)?;
        let error = found.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        points.push((f64::log10(length), error.max(1e-17)));
        let reason = "tolerances scaled with the units: 1e-9 of a speed in each of 1000 steps";
        rows.zero(
            &format!("{length:e} m, {mass:e} kg: largest difference"),
            "units of length",
            error,
            within(1e-6, reason),
        );
    }
    rows.figure(
        "Scaled scenes",
        ("log10 of the unit of length", "difference"),
        vec![dots("difference", points)],
    )
    .log = true;
    Ok(())
}
