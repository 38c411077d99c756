//! Pictures and animations of a recorded run, without a display.

pub mod animate;
pub mod raster;
pub mod text;

use crate::record::head::{Look, Soft, pose};
use crate::record::read::Moment;
use crate::record::{Head, Record};
use glam::{DVec3, Vec3};
use raster::{Camera, Image, Paint, Triangle};
use signorini_mechanics::geometry::Shape;
use signorini_solve::math::pose::Pose;
use std::path::Path;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawing {
    /// Arrows for the forces in contacts.
    pub forces: bool,
    /// Pixels across and down.
    pub size: (usize, usize),
    /// Pictures per second of an animation.
    pub fps: u32,
    /// How many times slower than real time an animation runs.
    pub slower: f64,
    /// Bars between the bodies of every contact, as thick as its force is strong: force chains.
    pub chains: bool,
    /// Where the camera stands and looks.
    pub view: View,
}

/// Where the camera stands and looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// From which side it looks, a direction of any length; from the front, a little from the right
    /// and above, without one.
    pub from: Option<DVec3>,
    /// At which point, m; the middle of the scene without one.
    pub at: Option<DVec3>,
    /// How many times nearer than the whole scene needs.
    pub zoom: f64,
}

impl Default for View {
    fn default() -> View {
        View { from: None, at: None, zoom: 1.0 }
    }
}

impl Default for Drawing {
    fn default() -> Drawing {
        Drawing {
            forces: false,
            size: (1280, 800),
            fps: 20,
            slower: 1.0,
            chains: false,
            view: View::default(),
        }
    }
}

/// The frame nearest to a time; the last one if none is given.
pub fn moment(record: &mut Record, time: Option<f64>) -> Result<Moment, String> {
    let last = record.times().len().checked_sub(1);
    let place = time.map_or(last, |t| record.nearest(t)).ok_or("the record holds no frames yet")?;
    record.moment(place).map_err(|e| e.to_string())
}

/// One moment as a picture with its name and time.
pub fn picture(head: &Head, moment: &Moment, drawing: &Drawing) -> Image {
    let (width, height) = drawing.size;
    let camera = camera(head, width as f64 / height as f64, &drawing.view);
    let mut triangles = scene(head, moment, camera.size);
    if drawing.chains {
        // Bodies are looked through.
        for triangle in &mut triangles {
            if let Paint::Solid(color) = triangle.paint {
                triangle.paint = Paint::Glass(color);
            }
        }
        chains(head, moment, camera.size, &mut triangles);
    }
    if drawing.forces {
        arrows(moment, camera.size, &mut triangles);
    }
    let mut image = raster::render(&triangles, &camera, width, height);
    let letters = (height as f32 / 36.0).clamp(11.0, 26.0);
    let caption = format!("{}   t = {:.3} s", head.name, moment.time);
    text::write(&mut image, &caption, letters, [letters, height as f32 - 0.8 * letters], INK);
    let scales = head.soft.iter().zip(&moment.soft).filter(|(_, (_, scalars))| !scalars.is_empty());
    for (k, (soft, (_, scalars))) in scales.enumerate() {
        scale(&mut image, soft, scalars, (letters, k));
    }
    image
}

/// The colour of letters.
const INK: [u8; 3] = [70, 78, 90];

/// What the colours of a soft body mean, at the lower right; the k-th line from below.
fn scale(image: &mut Image, soft: &Soft, scalars: &[f64], (letters, k): (f32, usize)) {
    let (name, unit) =
        soft.scalar.as_ref().map_or(("", ""), |s| (s.name.as_str(), s.unit.as_str()));
    let ends = span(scalars).map(|x| with_prefix(x, unit));
    let [y, bar] = [image.height as f32 - (0.8 + 1.6 * k as f32) * letters, 6.0 * letters];
    let mut x = image.width as f32 - letters - text::width(&ends[1], letters);
    text::write(image, &ends[1], letters, [x, y], INK);
    x -= bar + 0.5 * letters;
    for i in 0..bar as i64 {
        let color = (viridis(i as f32 / bar) * 255.0).to_array().map(|c| c as u8);
        for j in 0..(0.6 * letters) as i64 {
            text::blend(image, [x as i64 + i, y as i64 - j], color, 1.0);
        }
    }
    let before = format!("{name} of {}  {}", soft.name, ends[0]);
    x -= 0.5 * letters + text::width(&before, letters);
    text::write(image, &before, letters, [x, y], INK);
}

/// A number with a unit and the prefix that suits it.
fn with_prefix(x: f64, unit: &str) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m")];
    match prefixes.iter().find(|(factor, _)| x.abs() >= *factor) {
        Some((factor, prefix)) => format!("{:.3} {prefix}{unit}", x / factor),
        None if x == 0.0 => format!("0 {unit}"),
        None => format!("{x:.2e} {unit}"),
    }
}

/// Least and greatest.
fn span(scalars: &[f64]) -> [f64; 2] {
    scalars.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], x| [l.min(*x), h.max(*x)])
}

/// Where the camera stands: as near as all corners of the room are seen, with a margin; without a
/// view as the page's at the beginning.
pub fn camera(head: &Head, aspect: f64, view: &View) -> Camera {
    let [low, high] = head.bounds.map(DVec3::from_array);
    let (target, size, up) =
        (0.5 * (low + high), (high - low).length().max(1e-6), DVec3::from_array(head.up));
    let side =
        if up.y.abs() > 0.9 { DVec3::new(0.55, 0.0, 1.0) } else { DVec3::new(0.55, -1.0, 0.0) };
    let from = view.from.unwrap_or(side + 0.42 * up).normalize_or(DVec3::X);
    // Straight from above or below, any side is right.
    let right = up.cross(from).try_normalize().unwrap_or_else(|| from.any_orthonormal_vector());
    let up = if up.cross(from).length() < 1e-6 { from.cross(right) } else { up };
    let (above, half) = (from.cross(right), 0.5 * (high - low));
    let slope = 0.85 * (0.5 * raster::FIELD_OF_VIEW).tan();
    let mut far = 0.5 * size;
    for corner in 0..8 {
        let sign = |axis: u32| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
        let p = half * DVec3::new(sign(0), sign(1), sign(2));
        let off = (p.dot(right).abs() / aspect).max(p.dot(above).abs());
        far = far.max(p.dot(from) + off / slope);
    }
    let target = view.at.unwrap_or(target);
    Camera { eye: target + from * far / view.zoom.max(1e-3), target, up, size }
}

/// All triangles of a moment.
pub fn scene(head: &Head, moment: &Moment, size: f64) -> Vec<Triangle> {
    let normals: Vec<Vec<DVec3>> = head.meshes.iter().map(|m| m.normals()).collect();
    let mut out = Vec::new();
    for shape in head.shapes.iter().filter(|s| moment.there[s.body as usize]) {
        let mesh = &head.meshes[shape.mesh as usize];
        let place = moment.poses[shape.body as usize] * pose(&shape.pose);
        let color = color(shape.color.as_ref().unwrap_or(&head.bodies[shape.body as usize].color));
        let paint = match shape.look {
            Look::Solid => Paint::Solid(color),
            Look::Glass => Paint::Glass(Vec3::new(0.36, 0.5, 0.65)),
            Look::Ground => Paint::Ground(square(size) as f32),
            Look::Hidden => continue,
        };
        stamp(
            &mut out,
            mesh,
            &normals[shape.mesh as usize],
            (&place, DVec3::from_array(shape.scale)),
            paint,
        );
    }
    for (soft, (nodes, scalars)) in head.soft.iter().zip(&moment.soft) {
        soft_triangles(&mut out, soft, nodes, scalars);
    }
    out
}

/// Adds a mesh at a place, stretched.
fn stamp(
    out: &mut Vec<Triangle>,
    mesh: &crate::record::mesh::Mesh,
    normals: &[DVec3],
    (place, scale): (&Pose, DVec3),
    paint: Paint,
) {
    let points: Vec<Vec3> =
        (0..normals.len()).map(|i| place.point(mesh.position(i) * scale).as_vec3()).collect();
    // Normals stretch the other way round.
    let normals: Vec<Vec3> =
        normals.iter().map(|n| place.vector((*n / scale).normalize_or_zero()).as_vec3()).collect();
    out.extend(mesh.triangles.chunks_exact(3).map(|t| {
        let t = [t[0] as usize, t[1] as usize, t[2] as usize];
        Triangle { points: t.map(|i| points[i]), normals: t.map(|i| normals[i]), paint }
    }));
}

fn soft_triangles(out: &mut Vec<Triangle>, soft: &Soft, nodes: &[DVec3], scalars: &[f64]) {
    let mut normals = vec![DVec3::ZERO; nodes.len()];
    for t in soft.triangles.chunks_exact(3) {
        let [a, b, c] = [t[0], t[1], t[2]].map(|i| nodes[i as usize]);
        t.iter().for_each(|&i| normals[i as usize] += (b - a).cross(c - a));
    }
    let [low, high] = span(scalars);
    let plain = color(&soft.color);
    for t in soft.triangles.chunks_exact(3) {
        let t = [t[0] as usize, t[1] as usize, t[2] as usize];
        let mean = |of: &[f64]| t.iter().map(|&i| of[i]).sum::<f64>() / 3.0;
        let paint = if scalars.is_empty() {
            plain
        } else {
            viridis(((mean(scalars) - low) / (high - low).max(f64::MIN_POSITIVE)) as f32)
        };
        let normals = t.map(|i| normals[i].normalize_or_zero().as_vec3());
        out.push(Triangle {
            points: t.map(|i| nodes[i].as_vec3()),
            normals,
            paint: Paint::Solid(paint),
        });
    }
}

/// Contact forces as arrows on the second bodies; the longest is a fifth of the scene.
fn arrows(moment: &Moment, size: f64, out: &mut Vec<Triangle>) {
    let strongest = moment.touches.iter().map(|t| t.force.length()).fold(0.0, f64::max);
    let mesh = crate::record::mesh::arrow();
    let normals = mesh.normals();
    for touch in moment.touches.iter().filter(|t| t.force.length() > 0.01 * strongest) {
        let length = 0.2 * size * touch.force.length() / strongest;
        let turn = glam::DQuat::from_rotation_arc(DVec3::Z, touch.force.normalize());
        let scale = DVec3::new(0.2 * size, 0.2 * size, length);
        stamp(
            out,
            &mesh,
            &normals,
            (&Pose { position: touch.point, orientation: turn }, scale),
            Paint::Solid(Vec3::new(0.82, 0.29, 0.36)),
        );
    }
}

/// Force chains: a bar from each contact to the middle of either body that moves, as thick as the
/// root of its force.
fn chains(head: &Head, moment: &Moment, size: f64, out: &mut Vec<Triangle>) {
    let strongest = moment.touches.iter().map(|t| t.force.length()).fold(0.0, f64::max);
    let mesh =
        crate::record::mesh::triangles(&Shape::Cylinder { radius: 1.0, half_length: 0.5 }, 0);
    let normals = mesh.normals();
    for touch in moment.touches.iter().filter(|t| t.force.length() > 1e-3 * strongest) {
        let radius = 0.012 * size * (touch.force.length() / strongest).sqrt();
        for body in
            touch.bodies.map(|b| b as usize).into_iter().filter(|b| head.bodies[*b].kind == "rigid")
        {
            let way = moment.poses[body].position - touch.point;
            let Some(along) = way.try_normalize() else { continue };
            let orientation = glam::DQuat::from_rotation_arc(DVec3::Z, along);
            let place = Pose { position: touch.point + 0.5 * way, orientation };
            stamp(
                out,
                &mesh,
                &normals,
                (&place, DVec3::new(radius, radius, 0.5 * way.length())),
                Paint::Solid(Vec3::new(0.75, 0.16, 0.22)),
            );
        }
    }
}

/// The side of a square of the grid: a round number near an eighth of the scene, m.
pub fn square(size: f64) -> f64 {
    let base = 10f64.powf((size / 8.0).log10().floor());
    let lead = size / 8.0 / base;
    base * [(1.5, 1.0), (3.5, 2.0), (7.5, 5.0)]
        .iter()
        .find(|(most, _)| lead < *most)
        .map_or(10.0, |(_, round)| *round)
}

/// `#rrggbb`; grey if it is something else.
pub fn color(text: &str) -> Vec3 {
    let part = |i: usize| text.get(i..i + 2).and_then(|h| u8::from_str_radix(h, 16).ok());
    match (part(1), part(3), part(5)) {
        (Some(r), Some(g), Some(b)) => Vec3::new(f32::from(r), f32::from(g), f32::from(b)) / 255.0,
        _ => Vec3::splat(0.6),
    }
}

/// Viridis: what a printer and most eyes keep in order.
fn viridis(share: f32) -> Vec3 {
    const STOPS: [&str; 6] = ["#440154", "#3e4a89", "#26828e", "#35b779", "#b4de2c", "#fde725"];
    let x = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let i = (x as usize).min(STOPS.len() - 2);
    color(STOPS[i]).lerp(color(STOPS[i + 1]), x - i as f32)
}

/// An image as the bytes of a PNG file.
pub fn png(image: &Image) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(image.pixels.as_flattened()).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// What a picture of a folder costs and shows, for tests.
pub fn of_folder(folder: &Path, time: f64, size: (usize, usize)) -> Result<Image, String> {
    let mut record = Record::open(folder).map_err(|e| e.to_string())?;
    let at = moment(&mut record, Some(time))?;
    Ok(picture(&record.head, &at, &Drawing { size, ..Drawing::default() }))
}
