//! A machine as the text of a scene.

use super::{
    Body, Choices, Drive, Friction, Joint, JointKind, Machine, Motor, Shape, Solid, Visual,
};
use glam::{DQuat, DVec3};
use signorini_solve::math::pose::Pose;
use std::fmt::Write;

/// The text, TOML.
pub fn scene(machine: &Machine, choices: &Choices) -> String {
    let mut out = String::new();
    let prefix = choices.prefix.as_str();
    if prefix.is_empty() {
        let _ = writeln!(out, "name = {}\nabout = \"from a robot file\"", quoted(&machine.name));
    }
    if let Some(gravity) = machine.gravity {
        let _ = writeln!(out, "gravity = {}", list(&gravity.to_array()));
    }
    if machine.greater_friction {
        out.push_str("\n[contact]\nmu = \"maximum\"\n");
    }
    let (dt, loops) = (machine.dt, !machine.loops().is_empty());
    if dt.is_some() || loops {
        out.push_str("\n[run]\n");
    }
    if let Some(dt) = dt {
        let _ = writeln!(out, "dt = {dt:?}");
    }
    if loops {
        // Loops of a robot are few, its joints many: a biped takes 1500 steps/s in place of 4.
        out.push_str("coordinates = \"tree\"\n");
    }
    for (name, of) in &machine.materials {
        let _ = writeln!(out, "\n[materials.{}]", quoted(&format!("{prefix}{name}")));
        friction(&mut out, of);
    }
    let writer = Writer { machine, prefix };
    machine.bodies.iter().for_each(|body| writer.body(&mut out, body));
    machine.joints.iter().for_each(|joint| writer.joint(&mut out, joint));
    machine.motors.iter().for_each(|motor| writer.motor(&mut out, motor));
    for (name, terms) in &machine.gears {
        let terms: Vec<String> = terms.iter().map(|t| writer.term(t)).collect();
        let _ = writeln!(
            out,
            "\n[[gear]]\nname = {}\nterms = [{}]",
            writer.name(name),
            terms.join(", ")
        );
    }
    for (a, b, of) in &machine.surfaces {
        let (a, b) = (writer.name(a), writer.name(b));
        let _ = writeln!(out, "\n[[surface]]\nbetween = [{a}, {b}]");
        friction(&mut out, of);
    }
    for (a, b) in &machine.excluded {
        let _ = writeln!(
            out,
            "\n[[exclude]]\nbodies = [{}, {}]",
            writer.body_name(*a),
            writer.body_name(*b)
        );
    }
    writer.overlapping(&mut out, choices);
    out
}

fn friction(out: &mut String, of: &Friction) {
    let _ = writeln!(out, "mu = {:?}", of.mu);
    for (what, x) in [("torsion", of.torsion), ("rolling", of.rolling)] {
        if x > 0.0 {
            let _ = writeln!(out, "{what} = {x:?}");
        }
    }
}

struct Writer<'a> {
    machine: &'a Machine,
    prefix: &'a str,
}

impl Writer<'_> {
    fn name(&self, name: &str) -> String {
        quoted(&format!("{}{name}", self.prefix))
    }

    fn body_name(&self, body: usize) -> String {
        self.name(&self.machine.bodies[body].name)
    }

    /// Bodies that overlap at the beginning, or all if the robot is not to touch itself.
    fn overlapping(&self, out: &mut String, choices: &Choices) {
        let solid = |shape: &&Shape| shape.solid != Solid::HalfSpace;
        let bodies = self.machine.bodies.iter().filter(|b| b.shapes.iter().any(|s| solid(&s)));
        let names: Vec<String> = bodies.map(|b| self.name(&b.name)).collect();
        if names.len() > 1 {
            let only = if choices.self_collision { "\noverlapping = true" } else { "" };
            let _ = writeln!(out, "\n[[exclude]]\nbodies = [{}]{only}", names.join(", "));
        }
    }

    fn body(&self, out: &mut String, body: &Body) {
        let _ = write!(out, "\n[[body]]\nname = {}\n", self.name(&body.name));
        if !body.members.is_empty() {
            let _ = writeln!(out, "# with {}", body.members.join(", ").replace(['\n', '\r'], " "));
        }
        match &body.weight {
            Some(weight) => {
                let rows = weight.inertia.transpose().to_cols_array_2d().map(|row| list(&row));
                let center = list(&weight.center.to_array());
                let _ = writeln!(
                    out,
                    "mass = {:?}\ncenter = {center}\ninertia = [{}]",
                    weight.mass,
                    rows.join(", ")
                );
            }
            None => out.push_str("fixed = true\n"),
        }
        if let Some(color) = body.color {
            let _ = writeln!(out, "color = {}", colored(color));
        }
        out.push_str(&placed(&body.world, "\n"));
        if !body.shapes.is_empty() {
            let shapes: Vec<String> = body.shapes.iter().map(|s| self.shape(s)).collect();
            let _ = writeln!(out, "shape = [\n    {},\n]", shapes.join(",\n    "));
        }
        if !body.visuals.is_empty() {
            let visuals: Vec<String> = body.visuals.iter().map(visual).collect();
            let _ = writeln!(out, "visual = [\n    {},\n]", visuals.join(",\n    "));
        }
    }

    fn shape(&self, shape: &Shape) -> String {
        let mut parts = solid(&shape.solid, &shape.pose);
        if let Some(material) = &shape.material {
            parts.push(format!("material = {}", self.name(material)));
        }
        if let Some((group, touched)) = &shape.touches {
            let touched: Vec<String> = touched.iter().map(|t| quoted(t)).collect();
            parts.push(format!("group = {}, touches = [{}]", quoted(group), touched.join(", ")));
        }
        format!("{{ {} }}", parts.join(", "))
    }

    fn joint(&self, out: &mut String, joint: &Joint) {
        let name = self.name(&joint.name);
        let b = self.body_name(joint.b);
        let a = joint.a.map(|a| self.body_name(a));
        let frame = |pose: &Pose| format!("{{ {} }}", placed(pose, ", ").trim_end_matches(", "));
        let _ = write!(out, "\n[[joint]]\nname = {name}\nkind = \"{}\"\n", joint.kind.word());
        if let Some(a) = &a {
            let _ = writeln!(out, "a = {a}");
        }
        let _ = write!(
            out,
            "b = {b}\nframe_a = {}\nframe_b = {}\n",
            frame(&joint.frame_a),
            frame(&joint.frame_b)
        );
        let coordinate =
            if joint.kind == JointKind::Rope { Some("distance") } else { joint.kind.coordinate() };
        if let (Some((lo, hi)), Some(coordinate)) = (joint.limits, coordinate) {
            let _ = writeln!(out, "limits = {{ {coordinate} = {} }}", list(&[lo, hi]));
        }
        if let Some(coordinate) = joint.kind.coordinate() {
            if joint.friction > 0.0 {
                let _ = writeln!(out, "friction = {{ {coordinate} = {:?} }}", joint.friction);
            }
            if joint.armature > 0.0 {
                let _ = writeln!(out, "armature = {{ {coordinate} = {:?} }}", joint.armature);
            }
        }
        if joint.collide {
            out.push_str("collide = true\n");
        }
        self.spring(out, joint, a.as_deref());
    }

    /// The spring and damper of a joint.
    fn spring(&self, out: &mut String, joint: &Joint, a: Option<&str>) {
        let (stiffness, rest) = joint.spring.unwrap_or((0.0, joint.start));
        if stiffness == 0.0 && joint.damping == 0.0 {
            return;
        }
        let name = self.name(&format!(
            "{}_{}",
            joint.name,
            if stiffness == 0.0 { "damping" } else { "spring" }
        ));
        let world = self.machine.bodies[joint.b].world * joint.frame_b;
        let a = a.map(|a| format!("a = {a}, ")).unwrap_or_default();
        let ends = format!(
            "{a}b = {}, position = {}",
            self.body_name(joint.b),
            list(&world.position.to_array())
        );
        let (k, c) = (stiffness, joint.damping);
        let _ = match joint.kind {
            JointKind::Revolute => {
                let (axis, angle) = (list(&world.vector(DVec3::Z).to_array()), rest - joint.start);
                let figures = format!("angle = {angle:?}, stiffness = {k:?}, damping = {c:?}");
                writeln!(
                    out,
                    "\n[[force]]\nname = {name}\ntorsion = {{ {ends}, axis = {axis}, {figures} }}"
                )
            }
            // A bushing rests where it begins; a servo rests anywhere.
            JointKind::Prismatic if k > 0.0 => {
                let joint = self.name(&joint.name);
                writeln!(
                    out,
                    "\n[[motor]]\nname = {name}\njoint = {joint}\nslide = {rest:?}\nstiffness = \
                        {k:?}\ndamping = {c:?}"
                )
            }
            JointKind::Prismatic => {
                let figures = format!("stiffness = [0.0, 0.0, 0.0], damping = [0.0, 0.0, {c:?}]");
                writeln!(
                    out,
                    "\n[[force]]\nname = {name}\nbushing = {{ {ends}, rotation = {}, {figures} }}",
                    turned(world.orientation)
                )
            }
            JointKind::Spherical => {
                let figures = format!(
                    "stiffness = [0.0, 0.0, 0.0], angular_stiffness = [{k:?}, {k:?}, {k:?}]"
                );
                let figures = format!("{figures}, angular_damping = [{c:?}, {c:?}, {c:?}]");
                writeln!(out, "\n[[force]]\nname = {name}\nbushing = {{ {ends}, {figures} }}")
            }
            JointKind::Planar | JointKind::Fixed | JointKind::Rope => Ok(()),
        };
    }

    fn term(&self, (joint, factor): &(usize, f64)) -> String {
        let joint = &self.machine.joints[*joint];
        format!(
            "{{ joint = {}, {} = {factor:?} }}",
            self.name(&joint.name),
            joint.kind.coordinate().unwrap_or("angle")
        )
    }

    fn motor(&self, out: &mut String, motor: &Motor) {
        let Some((first, others)) = motor.terms.split_first() else { return };
        let joint = &self.machine.joints[first.0];
        let (position, speed, effort, most) = match joint.kind.coordinate() {
            Some("slide") => ("slide", "speed", "force", "max_force"),
            Some(_) => ("angle", "angular_speed", "torque", "max_torque"),
            None => return,
        };
        let _ = write!(
            out,
            "\n[[motor]]\nname = {}\njoint = {}\n",
            self.name(&motor.name),
            self.name(&joint.name)
        );
        let limited = |out: &mut String, limit: Option<f64>| {
            if let Some(limit) = limit.filter(|x| x.is_finite()) {
                let _ = writeln!(out, "{most} = {limit:?}");
            }
        };
        let _ = match motor.drive {
            Drive::Hold(_) => writeln!(out, "{speed} = 0.0"),
            Drive::Lock(value) => writeln!(out, "{position} = {value:?}"),
            Drive::Servo { target, stiffness, damping, .. } => {
                writeln!(
                    out,
                    "{position} = {target:?}\nstiffness = {stiffness:?}\ndamping = {damping:?}"
                )
            }
            Drive::Speed { target, damping, .. } => {
                writeln!(out, "{speed} = {target:?}\ndamping = {damping:?}")
            }
            Drive::Effort(value) => writeln!(out, "{effort} = {value:?}"),
        };
        match motor.drive {
            Drive::Hold(limit)
            | Drive::Servo { effort: limit, .. }
            | Drive::Speed { effort: limit, .. } => limited(out, limit),
            Drive::Lock(_) | Drive::Effort(_) => {}
        }
        if !others.is_empty() {
            let terms: Vec<String> = others.iter().map(|t| self.term(t)).collect();
            let _ = writeln!(out, "also = [{}]", terms.join(", "));
        }
    }
}

/// What a shape is and where.
fn solid(solid: &Solid, pose: &Pose) -> Vec<String> {
    let words = match solid {
        Solid::Box(edges) => format!("box = {}", list(&edges.to_array())),
        Solid::Cylinder(radius, length) => {
            format!("cylinder = {{ radius = {radius:?}, length = {length:?} }}")
        }
        Solid::Capsule(radius, length) => {
            format!("capsule = {{ radius = {radius:?}, length = {length:?} }}")
        }
        Solid::Sphere(radius) => format!("sphere = {radius:?}"),
        Solid::Ellipsoid(axes) => hull(&ball().map(|p| p * *axes).collect::<Vec<_>>()),
        Solid::Hull(points) => hull(points),
        Solid::HalfSpace => "half_space = true".into(),
        Solid::Mesh { file, scale, hull } => {
            let scale = if *scale == DVec3::ONE {
                String::new()
            } else {
                format!(", scale = {}", list(&scale.to_array()))
            };
            let hull = if *hull { ", hull = true" } else { "" };
            format!("mesh = {{ file = {}{scale}{hull} }}", quoted(&file.display().to_string()))
        }
    };
    let place = placed(pose, ", ");
    let mut parts = vec![words];
    if !place.is_empty() {
        parts.push(place.trim_end_matches(", ").into());
    }
    parts
}

fn visual(visual: &Visual) -> String {
    let mut parts = solid(&visual.solid, &visual.pose);
    parts.extend(visual.color.map(|color| format!("color = {}", colored(color))));
    format!("{{ {} }}", parts.join(", "))
}

fn colored([red, green, blue]: [u8; 3]) -> String {
    format!("\"#{red:02x}{green:02x}{blue:02x}\"")
}

/// Points spread evenly over the unit sphere, with the ends of the axes.
fn ball() -> impl Iterator<Item = DVec3> {
    const COUNT: usize = 122;
    let turn = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    let spiral = (0..COUNT).map(move |i| {
        let z = 1.0 - (2 * i + 1) as f64 / COUNT as f64;
        let (s, c) = (turn * i as f64).sin_cos();
        DVec3::new(c * (1.0 - z * z).sqrt(), s * (1.0 - z * z).sqrt(), z)
    });
    let ends = DVec3::AXES.into_iter().flat_map(|a| [a, -a]);
    ends.chain(spiral)
}

fn hull(points: &[DVec3]) -> String {
    format!(
        "hull = [{}]",
        points.iter().map(|p| list(&p.to_array())).collect::<Vec<_>>().join(", ")
    )
}

fn placed(pose: &Pose, end: &str) -> String {
    let mut out = String::new();
    if pose.position != DVec3::ZERO {
        let _ = write!(out, "position = {}{end}", list(&pose.position.to_array()));
    }
    if pose.orientation != DQuat::IDENTITY {
        let _ = write!(out, "rotation = {}{end}", turned(pose.orientation));
    }
    out
}

fn turned(q: DQuat) -> String {
    format!("{{ quaternion = {} }}", list(&q.to_array()))
}

fn list(numbers: &[f64]) -> String {
    // Adding zero writes −0 as 0.
    format!("[{}]", numbers.iter().map(|x| format!("{:?}", x + 0.0)).collect::<Vec<_>>().join(", "))
}

/// JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}
