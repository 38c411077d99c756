//! A small software renderer: triangles with depth, one sun with a shadow map, glass, four samples
//! per pixel. No display, no GPU.
//!
//! ```text
//!   1. project every triangle; cut what is behind the camera
//!   2. sort triangles into bands of rows; each band is drawn by itself (rayon), opaque first, glass over it
//!   3. shade where the depth test passes: sky + sun · shadow; on the ground a grid that fades with distance
//!   4. average the samples
//! ```
//!
//! Cost: one pass over triangles and one over covered samples; 430,000 triangles at 1280 × 800 take
//! about half a second on two cores. (The crates that were looked at either draw in 2D, or are
//! pipelines without shadows and bands: they would save step 2 alone.)

use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Samples along each side of a pixel.
pub const SAMPLES: usize = 2;
/// Rows of samples of a band.
const SAMPLE_ROWS_PER_BAND: usize = 32;
/// Samples along each side of the shadow map.
const SHADOW_MAP_SAMPLES: usize = 2048;

/// What a triangle is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paint {
    /// A matt surface of this colour (linear).
    Solid(Vec3),
    /// One looks through it.
    Glass(Vec3),
    /// The floor: a grid of squares of this side, m.
    Ground(f32),
}

/// A triangle of the world.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// Corners, m.
    pub points: [Vec3; 3],
    /// Unit normals there.
    pub normals: [Vec3; 3],
    /// What it is made of.
    pub paint: Paint,
}

/// Where one looks from.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// The eye, m.
    pub eye: DVec3,
    /// What one looks at, m.
    pub target: DVec3,
    /// Unit vector that is up in the picture and in the world.
    pub up: DVec3,
    /// The size of the scene, m: shadows reach as far.
    pub size: f64,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Red, green, blue of every pixel, row by row.
    pub pixels: Vec<[u8; 3]>,
}

/// The angle that a picture shows from top to bottom.
pub const FIELD_OF_VIEW: f64 = 38.0 * std::f64::consts::PI / 180.0;

/// A corner on the screen: place in samples, and what is interpolated with perspective.
#[derive(Clone, Copy, Default)]
struct Corner {
    x: f32,
    y: f32,
    /// One over the depth.
    w: f32,
    point: Vec3,
    normal: Vec3,
}

struct Flat {
    corners: [Corner; 3],
    paint: Paint,
}

/// Axes of a camera or of the sun.
#[derive(Clone, Copy)]
struct Axes {
    origin: Vec3,
    right: Vec3,
    up: Vec3,
    forward: Vec3,
}

impl Axes {
    fn new(from: DVec3, to: DVec3, up: DVec3) -> Axes {
        let forward = (to - from).normalize_or(DVec3::NEG_Z);
        let right =
            forward.cross(up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        Axes {
            origin: from.as_vec3(),
            right: right.as_vec3(),
            up: right.cross(forward).as_vec3(),
            forward: forward.as_vec3(),
        }
    }

    fn of(&self, point: Vec3) -> Vec3 {
        let d = point - self.origin;
        Vec3::new(d.dot(self.right), d.dot(self.up), d.dot(self.forward))
    }
}

/// Draws triangles.
pub fn render(triangles: &[Triangle], camera: &Camera, width: usize, height: usize) -> Image {
    let (columns, rows) = (width * SAMPLES, height * SAMPLES);
    let sun = Sun::new(triangles, camera);
    let view = Axes::new(camera.eye, camera.target, camera.up);
    let near = 0.002 * camera.size as f32;
    // Half of 38 degrees, as on the page.
    let focus = 0.5 * rows as f32 / (0.5 * FIELD_OF_VIEW as f32).tan();
    let flats: Vec<Flat> = triangles
        .par_iter()
        .flat_map_iter(|t| project(t, &view, near, focus, [columns as f32, rows as f32]))
        .collect();
    let mut bins: Vec<Vec<u32>> = vec![Vec::new(); rows.div_ceil(SAMPLE_ROWS_PER_BAND)];
    for (i, flat) in flats.iter().enumerate() {
        let [low, high] = span(&flat.corners, |c| c.y, rows);
        (low / SAMPLE_ROWS_PER_BAND..high.div_ceil(SAMPLE_ROWS_PER_BAND))
            .for_each(|band| bins[band].push(i as u32));
    }
    let shade = Shade {
        sun: &sun,
        eye: view.origin,
        size: camera.size as f32,
        target: camera.target.as_vec3(),
        focus,
    };
    let mut samples = vec![Vec3::ZERO; columns * rows];
    samples.par_chunks_mut(columns * SAMPLE_ROWS_PER_BAND).zip(&bins).enumerate().for_each(
        |(band, (out, bin))| {
            let first = band * SAMPLE_ROWS_PER_BAND;
            for (k, sample) in out.iter_mut().enumerate() {
                *sample = sky((first + k / columns) as f32 / rows as f32);
            }
            let mut depth = vec![0f32; out.len()];
            for pass in [false, true] {
                for flat in bin
                    .iter()
                    .map(|&i| &flats[i as usize])
                    .filter(|f| matches!(f.paint, Paint::Glass(_)) == pass)
                {
                    draw(flat, columns, first, out, &mut depth, &shade);
                }
            }
        },
    );
    average(&samples, width, height)
}

/// The background: light, a little darker below.
fn sky(share: f32) -> Vec3 {
    Vec3::new(0.93, 0.945, 0.965).lerp(Vec3::new(0.80, 0.825, 0.855), share)
}

/// First and last (exclusive) sample that a triangle may cover along an axis.
fn span(corners: &[Corner; 3], at: impl Fn(&Corner) -> f32, most: usize) -> [usize; 2] {
    let low = corners.iter().map(&at).fold(f32::INFINITY, f32::min);
    let high = corners.iter().map(&at).fold(f32::NEG_INFINITY, f32::max);
    // Casts of what is not a number give zero.
    [(low.floor().max(0.0) as usize).min(most), (high.ceil().max(0.0) as usize + 1).min(most)]
}

/// The triangle on the screen: none, one, or two if the near plane cuts a corner off.
fn project(triangle: &Triangle, view: &Axes, near: f32, focus: f32, size: [f32; 2]) -> Vec<Flat> {
    let seen = triangle.points.map(|p| view.of(p));
    if !seen.iter().all(|p| p.is_finite()) {
        return Vec::new();
    }
    let mut polygon: Vec<(Vec3, Vec3, Vec3)> = Vec::with_capacity(4);
    for i in 0..3 {
        let j = (i + 1) % 3;
        let (a, b) = (
            (seen[i], triangle.points[i], triangle.normals[i]),
            (seen[j], triangle.points[j], triangle.normals[j]),
        );
        if a.0.z >= near {
            polygon.push(a);
        }
        if (a.0.z >= near) != (b.0.z >= near) {
            let s = (near - a.0.z) / (b.0.z - a.0.z);
            polygon.push((a.0.lerp(b.0, s), a.1.lerp(b.1, s), a.2.lerp(b.2, s)));
        }
    }
    let corner = |(seen, point, normal): (Vec3, Vec3, Vec3)| {
        let w = 1.0 / seen.z.max(near);
        Corner {
            x: 0.5 * size[0] + focus * seen.x * w,
            y: 0.5 * size[1] - focus * seen.y * w,
            w,
            point,
            normal,
        }
    };
    let corners: Vec<Corner> = polygon.into_iter().map(corner).collect();
    (2..corners.len())
        .map(|i| Flat { corners: [corners[0], corners[i - 1], corners[i]], paint: triangle.paint })
        .collect()
}

/// Twice the signed area of a triangle.
fn area(a: &Corner, b: &Corner, x: f32, y: f32) -> f32 {
    (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)
}

/// Calls `each` with the place and the weights of the corners at every sample that a triangle
/// covers.
fn cover(
    corners: &[Corner; 3],
    columns: usize,
    rows: [usize; 2],
    mut each: impl FnMut(usize, usize, Vec3),
) {
    let [a, b, c] = corners;
    let whole = area(a, b, c.x, c.y);
    if whole == 0.0 || !whole.is_finite() {
        return;
    }
    let [low, high] = span(corners, |c| c.y, rows[1]);
    let [left, right] = span(corners, |c| c.x, columns);
    for row in low.max(rows[0])..high {
        for column in left..right {
            let (x, y) = (column as f32 + 0.5, row as f32 + 0.5);
            let weights = Vec3::new(area(b, c, x, y), area(c, a, x, y), area(a, b, x, y)) / whole;
            if weights.min_element() >= 0.0 {
                each(row, column, weights);
            }
        }
    }
}

fn draw(
    flat: &Flat,
    columns: usize,
    first: usize,
    out: &mut [Vec3],
    depth: &mut [f32],
    shade: &Shade<'_>,
) {
    let [a, b, c] = &flat.corners;
    let glass = matches!(flat.paint, Paint::Glass(_));
    let rows = out.len() / columns;
    cover(&flat.corners, columns, [first, first + rows], |row, column, weights| {
        let at = (row - first) * columns + column;
        let w = weights.dot(Vec3::new(a.w, b.w, c.w));
        if w <= depth[at] {
            return;
        }
        let share = weights * Vec3::new(a.w, b.w, c.w) / w;
        let point = a.point * share.x + b.point * share.y + c.point * share.z;
        let normal = a.normal * share.x + b.normal * share.y + c.normal * share.z;
        let (color, opacity) = shade.color(point, normal.normalize_or_zero(), flat.paint, w);
        out[at] = out[at].lerp(color, opacity);
        if !glass {
            depth[at] = w;
        }
    });
}

/// What decides the colour of a point.
struct Shade<'a> {
    sun: &'a Sun,
    eye: Vec3,
    target: Vec3,
    size: f32,
    focus: f32,
}

impl Shade<'_> {
    /// Colour and opacity.
    fn color(&self, point: Vec3, normal: Vec3, paint: Paint, w: f32) -> (Vec3, f32) {
        // Both sides of a surface are lit.
        let normal = if normal.dot(self.eye - point) < 0.0 { -normal } else { normal };
        match paint {
            Paint::Glass(color) => (color, 0.13),
            Paint::Solid(color) => {
                let light = 0.48
                    + 0.16 * normal.dot(self.sun.up)
                    + 0.62
                        * normal.dot(self.sun.direction).max(0.0)
                        * self.sun.shines(point, normal);
                (color * light, 1.0)
            }
            Paint::Ground(side) => {
                let light = 0.78 + 0.22 * self.sun.shines(point, normal);
                // A line is as wide as a pixel at least, and fainter if it should be thinner.
                let sample = 1.0 / (w * self.focus);
                let across = self.sun.plane(point) / side;
                let distance = (across - across.round()).abs() * side;
                let near = distance.x.min(distance.y);
                let line = (1.2 - near / sample.max(0.0015 * self.size)).clamp(0.0, 1.0)
                    * (0.1 * side / sample).min(1.0);
                let color = Vec3::new(0.875, 0.89, 0.91) * light * (1.0 - 0.13 * line);
                let away = (point - self.target).length() / self.size;
                (color, ((2.6 - away) / 1.6).clamp(0.0, 1.0))
            }
        }
    }
}

/// The sun, and what it sees.
struct Sun {
    axes: Axes,
    direction: Vec3,
    up: Vec3,
    along: Vec3,
    across: Vec3,
    reach: f32,
    /// Depth of what is nearest to the sun.
    map: Vec<f32>,
}

impl Sun {
    fn new(triangles: &[Triangle], camera: &Camera) -> Sun {
        let along = (camera.target - camera.eye)
            .reject_from(camera.up)
            .normalize_or(camera.up.any_orthonormal_vector());
        let across = along.cross(camera.up);
        let direction = (camera.up * 1.5 + across * -0.75 - along * 0.55).normalize();
        let axes = Axes::new(camera.target + direction * 3.0 * camera.size, camera.target, along);
        let (x, y) = camera.up.any_orthonormal_pair();
        // Lines of the grid along the axes of the world, if there are such on the floor.
        let (x, y) = if camera.up.z.abs() > 0.999 { (DVec3::X, DVec3::Y) } else { (x, y) };
        let mut sun = Sun {
            axes,
            direction: direction.as_vec3(),
            up: camera.up.as_vec3(),
            along: x.as_vec3(),
            across: y.as_vec3(),
            reach: 1.1 * camera.size as f32,
            map: vec![f32::INFINITY; SHADOW_MAP_SAMPLES * SHADOW_MAP_SAMPLES],
        };
        for triangle in triangles.iter().filter(|t| matches!(t.paint, Paint::Solid(_))) {
            let corners = triangle.points.map(|p| sun.place(p));
            let map = &mut sun.map;
            cover(&corners, SHADOW_MAP_SAMPLES, [0, SHADOW_MAP_SAMPLES], |row, column, weights| {
                let depth = weights.dot(Vec3::new(corners[0].w, corners[1].w, corners[2].w));
                let nearest = &mut map[row * SHADOW_MAP_SAMPLES + column];
                *nearest = nearest.min(depth);
            });
        }
        sun
    }

    fn place(&self, point: Vec3) -> Corner {
        let seen = self.axes.of(point);
        let at = |x: f32| (0.5 + 0.5 * x / self.reach) * SHADOW_MAP_SAMPLES as f32;
        Corner { x: at(seen.x), y: at(seen.y), w: seen.z, ..Corner::default() }
    }

    /// Coordinates on the floor.
    fn plane(&self, point: Vec3) -> Vec3 {
        Vec3::new(point.dot(self.along), point.dot(self.across), 0.0)
    }

    /// How much of the sun a point sees: the mean over nine samples of the map.
    fn shines(&self, point: Vec3, normal: Vec3) -> f32 {
        let Corner { x, y, w, .. } = self.place(point + normal * (0.004 * self.reach));
        let mut seen = 0;
        for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
            let (column, row) = (x + 1.5 * dx as f32, y + 1.5 * dy as f32);
            let inside = column >= 0.0
                && row >= 0.0
                && (column as usize) < SHADOW_MAP_SAMPLES
                && (row as usize) < SHADOW_MAP_SAMPLES;
            seen += u32::from(
                !inside
                    || w <= self.map[row as usize * SHADOW_MAP_SAMPLES + column as usize]
                        + 0.003 * self.reach,
            );
        }
        seen as f32 / 9.0
    }
}

fn average(samples: &[Vec3], width: usize, height: usize) -> Image {
    let columns = width * SAMPLES;
    let mut pixels = Vec::with_capacity(width * height);
    for row in 0..height {
        for column in 0..width {
            let mut sum = Vec3::ZERO;
            for k in 0..SAMPLES * SAMPLES {
                sum += samples
                    [(row * SAMPLES + k / SAMPLES) * columns + column * SAMPLES + k % SAMPLES];
            }
            pixels.push(
                (sum / (SAMPLES * SAMPLES) as f32 * 255.0).to_array().map(|x| x.round() as u8),
            );
        }
    }
    Image { width, height, pixels }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera { eye: DVec3::new(0.0, -5.0, 0.0), target: DVec3::ZERO, up: DVec3::Z, size: 2.0 }
    }

    fn square(y: f32, half: f32, paint: Paint) -> [Triangle; 2] {
        let p = [(-half, -half), (half, -half), (half, half), (-half, half)]
            .map(|(x, z)| Vec3::new(x, y, z));
        let normals = [Vec3::NEG_Y; 3];
        [[0, 1, 2], [0, 2, 3]].map(|t: [usize; 3]| Triangle {
            points: t.map(|i| p[i]),
            normals,
            paint,
        })
    }

    #[test]
    fn the_nearer_thing_hides_the_farther_whatever_their_order() {
        let (red, green) = (Paint::Solid(Vec3::X), Paint::Solid(Vec3::Y));
        let mut list = [square(0.0, 0.5, red), square(1.0, 1.5, green)].concat();
        for _ in 0..2 {
            let image = render(&list, &camera(), 64, 64);
            let [r, g, _] = image.pixels[32 * 64 + 32];
            assert!(r > 80 && g < 20, "the red square lies before the green one");
            // Half a unit at distance 5: 0.5/5 over tan 19°, of 32 pixels: 9.3. Beyond it, the
            // green square.
            let [r, g, _] = image.pixels[32 * 64 + 32 + 11];
            assert!(g > 60 && r < 20);
            let edge = (0..32).take_while(|i| image.pixels[32 * 64 + 32 + i][0] > 80).count();
            assert!((9..=10).contains(&edge), "the square ends after {edge} pixels");
            list.reverse();
        }
    }

    #[test]
    fn what_is_behind_the_camera_or_not_a_number_is_not_drawn() {
        let background = render(&[], &camera(), 32, 32);
        let behind = square(-6.0, 0.5, Paint::Solid(Vec3::X));
        let mut broken = square(0.0, 0.5, Paint::Solid(Vec3::X));
        broken.iter_mut().for_each(|t| t.points[0].x = f32::NAN);
        assert_eq!(render(&behind, &camera(), 32, 32), background);
        assert_eq!(render(&broken, &camera(), 32, 32), background);
        // A triangle through the camera is cut, not folded over.
        let through = Triangle {
            points: [
                Vec3::new(-0.1, -20.0, -0.2),
                Vec3::new(0.1, -20.0, -0.2),
                Vec3::new(0.0, 20.0, -0.2),
            ],
            normals: [Vec3::Z; 3],
            paint: Paint::Solid(Vec3::X),
        };
        let image = render(&[through], &camera(), 32, 32);
        let reds = |rows: std::ops::Range<usize>| {
            image.pixels[32 * rows.start..32 * rows.end].iter().filter(|p| p[1] < 100).count()
        };
        assert!(reds(0..16) == 0 && reds(16..32) > 20, "below the eye only");
    }

    #[test]
    fn things_throw_shadows() {
        let floor = square(0.0, 3.0, Paint::Ground(1.0)).map(|t| Triangle {
            points: t.points.map(|p| Vec3::new(p.x, p.z, -0.5)),
            normals: [Vec3::Z; 3],
            paint: t.paint,
        });
        let roof = square(0.0, 0.6, Paint::Solid(Vec3::ONE)).map(|t| Triangle {
            points: t.points.map(|p| Vec3::new(p.x, p.z, 0.6)),
            normals: [Vec3::Z; 3],
            paint: t.paint,
        });
        let above = Camera { eye: DVec3::new(0.0, -4.0, 2.5), ..camera() };
        let sum = |list: &[Triangle]| {
            render(list, &above, 64, 64).pixels.iter().map(|p| u64::from(p[1])).sum::<u64>()
        };
        let both = [floor, roof].concat();
        let unlit: Vec<Triangle> = floor
            .iter()
            .copied()
            .chain(roof.map(|t| Triangle { paint: Paint::Glass(Vec3::ONE), ..t }))
            .collect();
        assert!(sum(&both) < sum(&unlit), "glass throws none");
    }
}
