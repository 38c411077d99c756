//! Grains and slopes: impacts of one grain with the floor, Newton's grid of slopes.

use crate::case::{Case, Cost::*, Group::Published, Rows, dots, line, relative, within};
use crate::motion::{G, Scheme::*, Text};

pub const CASES: &[Case] = &[
    Case {
        name: "chung-ooi",
        group: Published,
        source: "Chung & Ooi 2011, test 4: grain against a wall, e 0.98, mu 0.092, 5–85°; rigid \
            theory",
        cost: Quick,
        run: grain,
    },
    Case {
        name: "friction-ramp",
        group: Published,
        source: "newton, test_rigid_friction_ramp.py: mu × angle, margin 2° there, 0.01° here",
        cost: Quick,
        run: ramp,
    },
];

fn grain(rows: &mut Rows) -> Result<(), String> {
    let (radius, v, e, mu, h) = (2.5e-3, 3.9, 0.98, 0.092, 1e-4);
    let mut points = (Vec::new(), Vec::new());
    for degrees in [5.0, 20.0, 30.0, 35.0, 45.0, 60.0, 85.0] {
        let angle = f64::to_radians(degrees);
        let text = Text::new(Leapfrog, h)
            .gravity([0.0; 3])
            .material(mu, e)
            .contact("rebound_speed = \"1 mm/s\"")
            .floor();
        let lines = format!(
            "position = [0, 0, {:?}]\nvelocity = [{:?}, 0, {:?}]",
            radius + 1e-9,
            v * angle.sin(),
            -v * angle.cos()
        );
        let mut motion = text.body("grain", &format!("sphere = {radius:?}"), &lines).simulate()?;
        motion.until(5e-3)?;
        // Slides throughout if the grip that stops it is more than mu times the normal impulse.
        let slides = angle.tan() > 3.5 * mu * (1.0 + e);
        let tangential = if slides { 1.0 - mu * (1.0 + e) / angle.tan() } else { 5.0 / 7.0 };
        let spin = if slides {
            2.5 * mu * (1.0 + e) * v * angle.cos() / radius
        } else {
            5.0 / 7.0 * v * angle.sin() / radius
        };
        let found = motion.velocity("grain");
        points.0.push((degrees, motion.spin("grain").y));
        points.1.push((degrees, spin));
        let reason = "friction acts in the middle of the gap, which begins at 1e-9 m: gap/(2 r) = \
            2e-7 of the lever";
        rows.row(
            &format!("{degrees}°: tangential restitution"),
            "",
            (found.x / (v * angle.sin()), tangential),
            relative(4e-7, reason),
        );
        rows.row(
            &format!("{degrees}°: spin"),
            "rad/s",
            (motion.spin("grain").y, spin),
            relative(4e-7, reason),
        );
        rows.row(
            &format!("{degrees}°: normal restitution"),
            "",
            (found.z / (v * angle.cos()), e),
            within(1e-8, "1e-9 m/s of the solver"),
        );
    }
    let curves = vec![line("rigid theory", points.1), dots("simulated", points.0)];
    rows.figure("Grain against a wall", ("incidence, degrees", "spin, rad/s"), curves);
    Ok(())
}

/// All of mu ∈ {.1 … 1} and angles {3° … 40°}: rest or slide as tan θ says.
fn ramp(rows: &mut Rows) -> Result<(), String> {
    let mut wrong = 0;
    for mu in [0.1, 0.3, 0.5, 0.7, 1.0] {
        let limit = f64::atan(mu).to_degrees();
        for degrees in [3.0, 10.0, 20.0, 30.0, 40.0, limit - 0.01, limit + 0.01] {
            let angle = f64::to_radians(degrees);
            let text = Text::usual(2e-3)
                .gravity([G * angle.sin(), 0.0, -G * angle.cos()])
                .material(mu, 0.0)
                .floor();
            let mut motion = text
                .body("block", "box = [0.2, 0.2, 0.1]", "position = [0, 0, 0.05]")
                .simulate()?;
            motion.until(0.5)?;
            let exact = 0.125 * G * (angle.sin() - mu * angle.cos()).max(0.0);
            let allowed = if exact > 0.0 { 250.0 * 1e-6 * 0.25 } else { 2e-6 };
            wrong += usize::from((motion.at("block").x - exact).abs() > allowed);
        }
    }
    let reason = "none: each of 35 slopes within 2 µm of rest (1e-6 m/s at four corners for 0.5 s) \
        or 63 µm of ½ a t² (1e-6 m/s in each of 250 steps)";
    rows.zero(
        "wrong of 35 slopes (25 of the grid, 10 at ± 0.01° of the limit)",
        "",
        wrong as f64,
        within(0.0, reason),
    );
    Ok(())
}
