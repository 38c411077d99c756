//! Random scenes that make sense.

use super::{Random, pick};
use std::fmt::Write;

/// Kinds of joints with one body or between two.
const KINDS: [&str; 7] =
    ["revolute", "prismatic", "spherical", "fixed", "universal", "cylindrical", "planar"];

/// A scene: bodies of all shapes that fall on a floor, joints, motors, springs, sometimes a soft
/// body; sensors and events that act upon all of them.
pub fn sensible(random: &mut Random) -> String {
    let mut text = String::from("[run]\ndt = \"2 ms\"\nt_end = \"40 ms\"\n[contact]\n");
    text += "[[body]]\nname = \"floor\"\nfixed = true\nshape = { half_space = true }\n";
    if random.below(4) == 0 {
        text += "[[soft]]\nname = \"jelly\"\ngrid = { cells = [2, 2, 2], size = [0.2, 0.2, 0.2] }\n\
            young = \"20 kPa\"\ndensity = \"1000 kg/m^3\"\nstiffness_damping = \"2 ms\"\n\
            position = [-0.5, 0, 0.11]\n";
    }
    let count = 1 + random.below(7);
    (0..count).for_each(|i| body(random, i, &mut text));
    let mut present = Names { bodies: count, ..Names::default() };
    (0..count).for_each(|i| connection(random, i, &mut text, &mut present));
    if random.below(2) == 0 {
        reactions(random, &present, &mut text);
    }
    text
}

/// What events may name.
#[derive(Default)]
struct Names {
    bodies: usize,
    joints: Vec<usize>,
    motors: Vec<usize>,
    springs: Vec<usize>,
}

fn body(random: &mut Random, i: usize, text: &mut String) {
    // None reaches another one, 0.6 m away, or the floor.
    let s = 10f64.powf(random.within(-1.3, -0.7));
    let corner = 0.8 * s;
    let shape = match random.below(6) {
        0 => format!("sphere = {s}"),
        1 => format!("box = [{s}, {}, {}]", 1.3 * s, 0.7 * s),
        2 => format!("capsule = {{ radius = {}, length = {s} }}", 0.4 * s),
        3 => format!("cylinder = {{ radius = {}, length = {s} }}", 0.5 * s),
        4 => format!("cone = {{ radius = {}, length = {s} }}", 0.5 * s),
        _ => format!(
            "hull = [[0, 0, 0], [{corner}, 0, 0], [0, {corner}, 0], [0, 0, {corner}], \
             [{corner}, {corner}, {corner}]]"
        ),
    };
    let density = 10f64.powf(random.within(1.0, 4.0));
    let (x, y, z) = (0.6 * (i % 3) as f64, 0.6 * (i / 3) as f64, random.within(0.35, 0.6));
    let [vx, vy, vz] = [0; 3].map(|_| random.within(-2.0, 2.0));
    let angle = random.within(0.0, 3.0);
    let _ = write!(
        text,
        "[[body]]\nname = \"b{i}\"\ndensity = \"{density} kg/m^3\"\nshape = {{ {shape} }}\n\
         position = [{x}, {y}, {z}]\nvelocity = [{vx}, {vy}, {}]\n\
         rotation = {{ axis = [1, {vy}, 0.3], angle = {angle} }}\n",
        vz - 4.0,
    );
}

/// A joint, perhaps with a motor, or a spring, or nothing.
fn connection(random: &mut Random, i: usize, text: &mut String, present: &mut Names) {
    match random.below(8) {
        0 | 1 => {
            let kind = *pick(random, &KINDS);
            let other = if i > 0 && random.below(2) == 0 {
                format!("a = \"b{}\"\n", i - 1)
            } else {
                String::new()
            };
            let lean = random.within(0.0, 1.0);
            let _ = write!(
                text,
                "[[joint]]\nname = \"j{i}\"\nkind = \"{kind}\"\n{other}b = \"b{i}\"\n\
                 axis = [0, 1, {lean}]\n"
            );
            present.joints.push(i);
            if kind == "revolute" && random.below(2) == 0 {
                let speed = random.within(-5.0, 5.0);
                let _ = write!(
                    text,
                    "[[motor]]\nname = \"m{i}\"\njoint = \"j{i}\"\nangular_speed = {speed}\n\
                     max_torque = 2\n"
                );
                present.motors.push(i);
            }
        }
        2 => {
            let k = 10f64.powf(random.within(1.0, 4.0));
            let _ = write!(
                text,
                "[[force]]\nname = \"s{i}\"\nspring = {{ b = \"b{i}\", stiffness = \"{k} N/m\", \
                 damping = \"1 N s/m\" }}\n"
            );
            present.springs.push(i);
        }
        _ => {}
    }
}

/// A sensor, a variable, and up to three events, each with a ball that waits for it: no two come
/// to the same place.
fn reactions(random: &mut Random, present: &Names, text: &mut String) {
    let first = random.below(present.bodies);
    let _ = write!(
        text,
        "[variables]\nseen = 0\n[[sensor]]\nname = \"height\"\nformula = \"b{first}.z\"\n"
    );
    for event in 0..1 + random.below(3) {
        let when = match random.below(4) {
            0 => format!("t > {} s", random.within(0.0, 0.03)),
            1 => format!("height < {} m", random.within(0.2, 0.6)),
            2 => format!("b{first}.contact_force > 1 N"),
            _ => "seen > 0".into(),
        };
        let actions: Vec<String> =
            (0..1 + random.below(2)).map(|_| action(random, present, event)).collect();
        let again = random.below(2) == 0;
        let _ = write!(
            text,
            "[[template]]\nname = \"ball{event}\"\ncount = 1\nmass = 0.3\n\
             shape = {{ sphere = 0.05 }}\nposition = [-1.2, {event}, 0.5]\nvelocity = [0, 0, -1]\n\
             [[event]]\nname = \"e{event}\"\nwhen = \"{when}\"\nagain = {again}\n\
             actions = [{{ set = \"seen\", value = \"seen + 1\" }}, {}]\n",
            actions.join(", ")
        );
    }
}

fn action(random: &mut Random, present: &Names, event: usize) -> String {
    let body = random.below(present.bodies);
    match random.below(7) {
        0 if !present.joints.is_empty() => {
            format!("{{ joint = \"j{}\", on = false }}", pick(random, &present.joints))
        }
        1 if !present.motors.is_empty() => {
            format!("{{ motor = \"m{}\", on = false }}", pick(random, &present.motors))
        }
        2 if !present.motors.is_empty() => {
            let (motor, target) = (pick(random, &present.motors), random.within(-3.0, 3.0));
            format!("{{ motor = \"m{motor}\", target = \"{target} rad/s\", within = \"10 ms\" }}")
        }
        3 if !present.springs.is_empty() => {
            format!("{{ force = \"s{}\", on = false }}", pick(random, &present.springs))
        }
        4 => format!("{{ contact = [\"b{body}\"], on = false }}"),
        5 => format!("{{ remove = \"b{body}\" }}"),
        _ => format!("{{ spawn = \"ball{event}\" }}"),
    }
}
