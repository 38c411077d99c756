//! A run is recorded once; report, pictures, plots and exported files come from that record, and a
//! damaged one is named.

use glam::{DVec3, Vec3};
use serde_json::Value as Json;
use signorini_record::glb;
use signorini_record::picture::{self, raster::Image};
use signorini_record::record::frame::{self, DROP_VELOCITY};
use signorini_record::record::head::{Scalar, Soft};
use signorini_record::record::{
    Damage, Frame, Head, MAGIC, MAX_FILE_BYTES, Record, words, write_chunk,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for each test, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("signorini-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn signorini(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signorini"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Runs a scene with `--out out`; returns that folder.
fn recorded(folder: &Folder, scene: &str, t_end: &str) -> PathBuf {
    let output = signorini(&folder.0, &["run", scene, "--t-end", t_end, "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.file("out")
}

#[test]
fn the_record_says_what_the_tables_say_and_changes_nothing() {
    let folder = Folder::new("tables");
    let out = recorded(&folder, "balls_64", "0.6");
    let mut record = Record::open(&out).expect("a whole record");
    let run: Json =
        serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(record.steps.len() as u64, run["steps"].as_u64().unwrap());
    assert_eq!(record.tail.as_ref().unwrap()["hash"], run["hash"]);
    let worst = record.steps.iter().map(|s| s.joule).fold(0.0, f32::max);
    // Single precision has 2⁻²⁴ of a number.
    assert!((f64::from(worst) / run["error"]["worst_joule"].as_f64().unwrap() - 1.0).abs() < 1e-7);
    // Every row of the table of bodies is a body of a frame, to half a unit of length.
    let unit = record.head.quantum;
    let mut compared = 0;
    for line in fs::read_to_string(out.join("bodies.csv")).unwrap().lines().skip(1).step_by(97) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let frame = record.nearest(number(0)).unwrap();
        let moment = record.moment(frame).unwrap();
        let body = record.head.bodies.iter().position(|b| b.name == cells[1]).unwrap();
        assert_eq!(moment.time, number(0));
        assert!(
            (moment.poses[body].position - DVec3::new(number(2), number(3), number(4)))
                .abs()
                .max_element()
                <= 0.501 * unit
        );
        let speed = DVec3::new(number(9), number(10), number(11)).length();
        assert!((moment.velocities[body].length() - speed).abs() <= speed / 1000.0);
        compared += 1;
    }
    assert!(compared > 10);
    // What carries the balls in the end is the floor: the forces of the last frame hold the weight
    // of all.
    let last = record.moment(record.times().len() - 1).unwrap();
    assert!(
        !last.touches.is_empty()
            && last.touches.iter().all(|t| (t.normal.length() - 1.0).abs() < 0.02)
    );
    let bare = signorini(&folder.0, &["run", "balls_64", "--t-end", "0.6", "--json"]);
    let bare: Json = serde_json::from_slice(&bare.stdout).unwrap();
    assert_eq!(bare["hash"], run["hash"], "recording must not change the run");
}

#[test]
fn a_report_is_the_page_with_the_record_in_it() {
    let folder = Folder::new("report");
    let output = signorini(&folder.0, &["run", "ball", "--t-end", "0.2", "--report"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("report: ball.html (") && said.contains(" MB)"), "{said}");
    let page = fs::read_to_string(folder.file("ball.html")).unwrap();
    assert!(page.contains("<title>ball · Signorini</title>") && !page.contains("@@SIGNORINI"));
    // "signrec1" in base64.
    assert!(page.contains("c2lnbnJlYz"), "the record is in it");
    // Nothing is loaded from anywhere.
    assert!(
        !page.contains("src=\"http")
            && !page.contains("href=\"http")
            && !page.contains("<link rel=\"stylesheet\"")
    );
    let output =
        signorini(&folder.0, &["run", "ball", "--t-end", "0.2", "--out", "out", "--report"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("report.html"));
    let output = signorini(&folder.0, &["export", "out", "-o", "again.html"]);
    assert!(output.status.success() && folder.file("again.html").exists());
}

#[test]
fn runs_of_other_integrators_are_recorded_too() {
    for (name, words) in [
        ("a03_andrews", vec!["--t-end", "0.01"]),
        ("slider_crank", vec!["--kinematic", "--t-end", "0.2"]),
    ] {
        let folder = Folder::new(name);
        let output = signorini(&folder.0, &[vec!["run", name, "--out", "out"], words].concat());
        let out = folder.file("out");
        let mut record = Record::open(&out)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
        let run: Json =
            serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
        assert_eq!(record.steps.len() as u64, run["steps"].as_u64().unwrap(), "{name}");
        assert_eq!(record.tail.as_ref().unwrap()["hash"], run["hash"], "{name}");
        // It moves, and nothing that a joint holds leaves the room that the camera looks at.
        let [low, high] = record.head.bounds.map(DVec3::from_array);
        let (first, last) =
            (record.moment(0).unwrap(), record.moment(record.times().len() - 1).unwrap());
        let moved = first
            .poses
            .iter()
            .zip(&last.poses)
            .map(|(a, b)| a.position.distance(b.position))
            .fold(0.0, f64::max);
        assert!(moved > 1e-3 * low.distance(high), "{name} moved by {moved}");
        assert!(
            record.head.moving.iter().all(|&b| last.poses[b as usize].position.clamp(low, high)
                == last.poses[b as usize].position)
        );
        for file in ["a.png", "a.glb"] {
            let verb = if file == "a.png" { "picture" } else { "export" };
            let output = signorini(&folder.0, &[verb, "out", "-o", file]);
            assert!(
                output.status.success() && folder.file(file).exists(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let output =
            signorini(&folder.0, &["picture", "out", "--plot", "energy", "-o", "energy.svg"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The mean colour of the pixels around a place of the world.
fn color_at(image: &Image, record: &Record, point: DVec3) -> Vec3 {
    let camera = picture::camera(
        &record.head,
        image.width as f64 / image.height as f64,
        &picture::View::default(),
    );
    let forward = (camera.target - camera.eye).normalize();
    let right = forward.cross(camera.up).normalize();
    let seen = point - camera.eye;
    let focus = 0.5 * image.height as f64 / 19f64.to_radians().tan() / seen.dot(forward);
    let x = 0.5 * image.width as f64 + focus * seen.dot(right);
    let y = 0.5 * image.height as f64 - focus * seen.dot(right.cross(forward));
    let mut sum = Vec3::ZERO;
    for (dx, dy) in (-2..=2).flat_map(|dx| (-2..=2).map(move |dy| (dx, dy))) {
        let [r, g, b] =
            image.pixels[(y as i64 + dy) as usize * image.width + (x as i64 + dx) as usize];
        sum += Vec3::new(f32::from(r), f32::from(g), f32::from(b)) / 255.0;
    }
    sum / 25.0
}

#[test]
fn a_picture_shows_things_where_they_are() {
    let folder = Folder::new("picture");
    let out = recorded(&folder, "wall", "0.5");
    let mut record = Record::open(&out).unwrap();
    let body = |record: &Record, name: &str| {
        record.head.bodies.iter().position(|b| b.name == name).unwrap()
    };
    // Brightness aside, a pixel has the colour of the body that is there.
    let like = |a: Vec3, b: Vec3| a.normalize().dot(b.normalize()) > 0.99;
    let mut at = Vec::new();
    for time in [0.0, 0.25, 0.5] {
        let image = picture::of_folder(&out, time, (640, 400)).unwrap();
        let moment = record.moment(record.nearest(time).unwrap()).unwrap();
        let ball = body(&record, "ball");
        let place = moment.poses[ball].position;
        assert!(
            like(color_at(&image, &record, place), picture::color(&record.head.bodies[ball].color)),
            "the ball at t = {time}"
        );
        let brick = body(&record, "brick_0_5");
        let top = moment.poses[brick].position + DVec3::new(0.0, 0.0, 0.035);
        assert!(
            like(color_at(&image, &record, top), picture::color(&record.head.bodies[brick].color)),
            "a brick at t = {time}"
        );
        at.push((image, place));
    }
    // Where the ball was there is none later.
    assert!(!like(color_at(&at[2].0, &record, at[0].1), color_at(&at[0].0, &record, at[0].1)));
    let output = signorini(
        &folder.0,
        &["picture", "out", "--t", "0.25", "--size", "640x400", "-o", "x.png"],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let decoder = png::Decoder::new(std::io::Cursor::new(fs::read(folder.file("x.png")).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels, at[1].0.pixels.as_flattened(), "the file holds the picture");
    // Without a time, the last moment.
    let output = signorini(&folder.0, &["picture", "out", "--size", "640x400", "-o", "last.png"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("t = 0.5000 s"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let known = record.steps.iter().filter(|step| step.scheme_joule.is_finite()).count();
    plots_and_animation(&folder, record.steps.len(), known);
}

fn plots_and_animation(folder: &Folder, steps: usize, known: usize) {
    let run = |arguments: &[&str]| {
        let output = signorini(&folder.0, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    run(&["picture", "out", "--plot", "error", "-o", "error.svg"]);
    let svg = fs::read_to_string(folder.file("error.svg")).unwrap();
    let dots = svg.matches("<circle").count();
    assert_eq!(dots, steps + known, "a dot for each step, and for each known error in time");
    assert!(svg.contains("error of each step") && svg.contains("time, s"));
    run(&["picture", "out", "--plot", "iterations", "-o", "work.svg"]);
    assert_eq!(
        fs::read_to_string(folder.file("work.svg")).unwrap().matches("<circle").count(),
        steps
    );
    run(&["picture", "out", "--plot", "energy", "-o", "energy.png"]);
    assert!(fs::read(folder.file("energy.png")).unwrap().starts_with(b"\x89PNG"));
    run(&["picture", "out", "--size", "160x100", "--fps", "10", "-o", "x.gif"]);
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(fs::File::open(folder.file("x.gif")).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        frames.push(frame.buffer.to_vec());
    }
    assert_eq!(frames.len(), 6, "half a second, ten pictures a second, both ends");
    assert_ne!(frames[0], frames[5]);
    let output = signorini(&folder.0, &["picture", "out", "-o", "x.bmp"]);
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("ends with .png or .gif")
    );
}

#[test]
fn a_glb_is_valid_and_moves_what_moves() {
    let folder = Folder::new("glb");
    let out = recorded(&folder, "slider_crank", "0.5");
    let mut record = Record::open(&out).unwrap();
    let bytes = glb::of(&mut record).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    assert_eq!(&bytes[16..20], b"JSON");
    let text = &bytes[20..20 + word(12)];
    let document: Json = serde_json::from_slice(text).unwrap();
    let buffer = &bytes[20 + text.len() + 8..];
    assert_eq!(document["buffers"][0]["byteLength"], buffer.len());
    let list = |name: &str| document[name].as_array().unwrap().clone();
    for accessor in list("accessors") {
        let view = &document["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let width = match accessor["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC3" => 3,
            _ => 4,
        };
        assert_eq!(
            accessor["count"].as_u64().unwrap() * width * 4,
            view["byteLength"].as_u64().unwrap()
        );
        assert!(
            view["byteOffset"].as_u64().unwrap() + view["byteLength"].as_u64().unwrap()
                <= buffer.len() as u64
        );
    }
    let channels = document["animations"][0]["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 2 * record.head.moving.len());
    let crank = channels
        .iter()
        .find(|c| list("nodes")[c["target"]["node"].as_u64().unwrap() as usize]["name"] == "crank");
    assert!(crank.is_some(), "the crank turns");
}

#[test]
fn a_damaged_record_is_named_and_never_believed() {
    let folder = Folder::new("damage");
    let out = recorded(&folder, "ball", "0.1");
    let bytes = fs::read(out.join("record.bin")).unwrap();
    let read = |bytes: Vec<u8>| Record::from_bytes(bytes, "record.bin");
    // Whatever is wrong with a byte, nothing panics, and what can be opened can be drawn.
    let (mut refused, mut read_on) = (0, 0);
    for at in (0..bytes.len()).step_by((bytes.len() / 400).max(1)) {
        let mut broken = bytes.clone();
        broken[at] ^= 0x55;
        match read(broken) {
            Err(damage) => {
                assert!(damage.to_string().contains("record.bin"));
                refused += 1;
            }
            Ok(mut record) => {
                (0..record.times().len()).for_each(|i| drop(record.moment(i)));
                read_on += 1;
            }
        }
    }
    assert!(
        refused > 10 * read_on.max(1),
        "checksums guard the chunks: {refused} refused, {read_on} read"
    );
    // A file that ends early is a run that goes on, or broke off: what is whole counts.
    for share in [0.3, 0.6, 0.9] {
        let cut = bytes[..(share * bytes.len() as f64) as usize].to_vec();
        assert!(read(cut).map_or_else(|e| matches!(e, Damage::Chunk { .. }), |r| r.tail.is_none()));
    }
    assert!(matches!(read(MAGIC.to_vec()), Err(Damage::Chunk { .. })));
    assert!(matches!(read(b"PK\x03\x04 something else".to_vec()), Err(Damage::Foreign { .. })));
    // A chunk that promises 4 GB is not believed.
    let mut huge = MAGIC.to_vec();
    huge.extend(b"HEAD\xff\xff\xff\xff\x10\0\0\0");
    huge.extend([0; 16]);
    assert!(matches!(read(huge), Err(Damage::Chunk { .. })));
    messages(&folder, &bytes);
}

/// A record of a bar of eight nodes that bends, with a number on each node, and no other body.
fn bending() -> Vec<u8> {
    let corners = |bent: f64| {
        (0..8).map(move |i| {
            DVec3::new(
                f64::from(i % 2),
                0.2 * f64::from(i / 2 % 2),
                0.2 * f64::from(i / 4) - bent * f64::from(i % 2),
            )
        })
    };
    let faces =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = faces.iter().flat_map(|[a, b, c, d]| [*a, *b, *c, *a, *c, *d]).collect();
    let scalar = Some(Scalar { name: "stress".into(), unit: "Pa".into() });
    let head = Head {
        format: 2,
        name: "bar".into(),
        quantum: 1e-6,
        up: [0.0, 0.0, 1.0],
        bounds: [[0.0; 3], [1.0, 0.2, 0.2]],
        soft: vec![Soft {
            name: "bar".into(),
            color: "#5c86b2".into(),
            nodes: 8,
            triangles,
            scalar,
        }],
        ..Head::default()
    };
    let frame = |k: u32| {
        let nodes: Vec<DVec3> = corners(0.1 * f64::from(k)).collect();
        let places =
            (0..3).flat_map(|axis| nodes.iter().map(move |p| words::length(p[axis], 1e-6)));
        let scalars = (0..8).map(|i| words::float(f64::from(i * k), DROP_VELOCITY));
        Frame {
            time: 0.1 * f64::from(k),
            step: k,
            soft: places.chain(scalars).collect(),
            ..Frame::default()
        }
    };
    let mut bytes = MAGIC.to_vec();
    write_chunk(&mut bytes, b"HEAD", &serde_json::to_vec(&head).unwrap()).unwrap();
    write_chunk(&mut bytes, b"FRAM", &frame::encode(&(0..4).map(frame).collect::<Vec<_>>(), None))
        .unwrap();
    bytes
}

#[test]
fn a_soft_body_is_recorded_drawn_and_exported() {
    let mut record = Record::from_bytes(bending(), "bar").unwrap();
    let (first, last) = (record.moment(0).unwrap(), record.moment(3).unwrap());
    assert!(
        (last.soft[0].0[1] - DVec3::new(1.0, 0.0, -0.3)).length() < 1e-5,
        "the free end went down by 0.3"
    );
    assert_eq!((first.soft[0].1[7], last.soft[0].1[7]), (0.0, 21.0));
    let drawn = picture::scene(&record.head, &last, 1.0);
    assert_eq!(drawn.len(), 12);
    let paints: Vec<String> = drawn.iter().map(|t| format!("{:?}", t.paint)).collect();
    assert!(paints.iter().any(|p| *p != paints[0]), "coloured by the number on its nodes");
    let bytes = glb::of(&mut record).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let document: Json = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    assert_eq!(document["meshes"][0]["primitives"][0]["targets"].as_array().unwrap().len(), 3);
    assert_eq!(document["animations"][0]["channels"][0]["target"]["path"], "weights");
}

/// What the commands say of such folders.
fn messages(folder: &Folder, bytes: &[u8]) {
    let says = |arguments: &[&str], words: &str| {
        let output = signorini(&folder.0, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{arguments:?}: {said}");
    };
    says(&["picture", "nowhere", "-o", "x.png"], "no record.bin there");
    says(&["view", "nowhere"], "no such folder");
    fs::create_dir_all(folder.file("bad")).unwrap();
    fs::write(folder.file("bad/record.bin"), b"not a record").unwrap();
    says(&["picture", "bad", "-o", "x.png"], "not a record of a run");
    let mut broken = bytes.to_vec();
    let middle = broken.len() / 2;
    broken[middle] ^= 0xff;
    fs::write(folder.file("bad/record.bin"), &broken).unwrap();
    says(&["export", "bad", "-o", "x.glb"], "damaged at byte");
    // A hole of a terabyte takes no room on the disk, and none in memory.
    fs::File::create(folder.file("bad/record.bin")).unwrap().set_len(MAX_FILE_BYTES << 12).unwrap();
    says(&["picture", "bad", "-o", "x.png"], "but a record has at most 256 MB");
}
