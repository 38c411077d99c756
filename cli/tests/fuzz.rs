//! Damaged and hostile files for every loader, in this process, and random scenes that make sense.
//!
//! Inputs are good files, changed: bytes, numbers, lines and ranges, or spliced from two of them.
//! No loader may panic, take more than 256 MB, or longer than ten seconds of the processor; what it
//! says of a file is one of its own messages. The input that took longest is kept in the folder of
//! finds, named LOADER-slowest. `./check` runs this for some
//! seconds, `./check --fuzz MINUTES` as long as one likes, `./check --fuzz-count N` with N inputs
//! for each loader. What was once found is kept in `tests/fuzz`, named LOADER-WHAT, and tried
//! first.
//!
//! | variable | meaning |
//! |---|---|
//! | `SIGNORINI_FUZZ` | seconds for all loaders together |
//! | `SIGNORINI_FUZZ_COUNT` | inputs per loader, in place of seconds |
//! | `SIGNORINI_FUZZ_ONLY` | names of loaders, separated by commas |
//! | `SIGNORINI_FUZZ_LOG` | file to which a line per loader is added |
//! | `SIGNORINI_FUZZ_TRACE` | every input is written down first, so that an abort can be examined |
//! | `SIGNORINI_SEED` | other inputs |
#![allow(unsafe_code)]

mod damage;

use damage::scenes::sensible;
use damage::seeds::{MSH, OBJ, SMALL_MJCF, URDF, VTK, binary_vtk, cases, recorded, stl, vtus};
use damage::{Random, change};
use signorini::problem::files::{json, siconos};
use signorini::problem::test_problems;
use signorini::scene::State;
use signorini::step::Stepper;
use signorini_cli::run::checkpoint::Checkpoint;
use signorini_cli::run::{Options, settings};
use signorini_files::builtin::{SCENES, built_in};
use signorini_files::{fclib, mesh, scenefile, step_snapshot, surface};
use signorini_record::record::Record;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts the bytes in use.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The most that a loader may take, bytes.
const MAX_LOADER_BYTES: usize = 256 << 20;
/// The longest that a loader may take, of the processor: other programs may share the machine.
const MAX_TIME_PER_INPUT: Duration = Duration::from_secs(10);
/// What takes longer is kept.
const SLOW_INPUT: Duration = Duration::from_millis(500);

/// How long this thread has run, where the system tells it; else the time since `begun`.
fn processor_time(begun: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

fn count(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Layout) -> *mut u8 {
        count(memory.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(memory) }
    }

    unsafe fn alloc_zeroed(&self, memory: Layout) -> *mut u8 {
        count(memory.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(memory) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, memory: Layout, size: usize) -> *mut u8 {
        // Both copies may exist for a moment.
        count(size);
        NOW.fetch_sub(memory.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, memory, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Layout) {
        NOW.fetch_sub(memory.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: they count the same bytes, and one of them silences panics.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A robot of another format, with all kinds of joints, geoms and actuators.
const MJCF: &str = include_str!("common/machine.xml");

/// A loader: its name, what reads bytes, good files.
struct Loader {
    name: &'static str,
    read: Box<dyn Fn(&[u8])>,
    seeds: Vec<Vec<u8>>,
}

fn loader(name: &'static str, seeds: Vec<Vec<u8>>, read: impl Fn(&[u8]) + 'static) -> Loader {
    assert!(!seeds.is_empty(), "{name} has no good files");
    Loader { name, read: Box::new(read), seeds }
}

/// A scene under a name, and no other file.
fn scene(name: &'static str) -> impl Fn(&[u8]) {
    move |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let library = |asked: &str| {
            if asked == name { Ok(text.clone()) } else { Err("no such file".to_string()) }
        };
        match scenefile::load_from(name, &library, &[]) {
            // What is read must be fit to be looked at.
            Ok(loaded) => drop(loaded.scene.check()),
            Err(faults) => drop(faults.to_string()),
        }
    }
}

fn loaders() -> Vec<Loader> {
    // Small ones: many inputs a second.
    let small = |name: &str| {
        built_in(name, &[]).is_ok_and(|l| l.scene.bodies.len() < 40 && l.scene.softs.is_empty())
    };
    let scenes =
        SCENES.iter().filter(|(name, _)| small(name)).map(|(_, text)| text.as_bytes().to_vec());
    let tomls: Vec<Vec<u8>> = scenes.chain(cases("scenes.txt")).collect();
    let robots = [vec![URDF.as_bytes().to_vec()], cases("robots.txt")].concat();
    let problems: Vec<Vec<u8>> = test_problems::all()
        .into_iter()
        .take(20)
        .map(|known| {
            json::write(&signorini::problem::files::Input::Problem(known.problem), None, None)
                .into_bytes()
        })
        .collect();
    let hdf5: Vec<Vec<u8>> = problems
        .iter()
        .filter_map(|bytes| {
            let stored = json::read(bytes).ok()?;
            let (n, m) = match &stored.input {
                signorini::problem::files::Input::Problem(p) => (p.n(), p.rows()),
                _ => return None,
            };
            fclib::bytes(&stored, &signorini::problem::Solution::zero(n, m)).ok()
        })
        .take(2)
        .collect();
    let (record, kept, checkpoint) = recorded();
    let brick = built_in("brick", &[]).unwrap();
    let siconos =
        b"3 2\n6 0\n1.0 0 0 0 0 0\n0 1.0 0 0 0 0\n0 0 1.0 0 0 0\n0 0 0 1.0 0 0\n0 0 0 0 1.0 0\n0 0 \
            0 0 0 1.0\n-1 0 0 -1 0 0\n0.5 0.5\n";
    let json_scene = br#"{"run": {"t_end": "10 ms"}, "body": [{"name": "a", "mass": 1,
    "shape": {"sphere": 0.1}}]}"#;
    let machines = SMALL_MJCF.iter().chain(&[MJCF]).map(|text| text.as_bytes().to_vec()).collect();
    let mut list = vec![
        loader("scene", tomls, scene("a.toml")),
        loader("json", vec![json_scene.to_vec()], scene("a.json")),
        loader("urdf", robots, scene("a.urdf")),
        loader("mjcf", machines, scene("a.xml")),
        loader(
            "stl",
            vec![
                stl(),
                b"solid x\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 \
                    0\nendloop\nendfacet\nendsolid x\n"
                    .to_vec(),
            ],
            |b| drop(surface::parse(b, "stl")),
        ),
        loader("obj", vec![OBJ.into()], |b| drop(surface::parse(b, "obj"))),
        loader("msh", vec![MSH.into()], |b| drop(mesh::msh::read(b).map(|m| m.checked(None)))),
        loader("vtu", vtus(), |b| drop(mesh::vtu::read(b).map(|m| m.checked(None)))),
        loader("vtk", vec![VTK.into(), binary_vtk()], |b| {
            drop(mesh::legacy::read(b).map(|m| m.checked(None)))
        }),
        loader("problem", problems, |b| drop(json::read(b))),
        loader("siconos", vec![siconos.to_vec()], |b| drop(siconos::read_any(b, "x"))),
        loader("snapshot", vec![kept], |b| drop(step_snapshot::read(b))),
        loader("checkpoint", vec![checkpoint], move |b| {
            drop(
                Checkpoint::from_bytes(b, Path::new("x"))
                    .and_then(|c| c.fits(&brick, Path::new("x"))),
            );
        }),
        loader("record", vec![record], |b| {
            if let Ok(mut record) = Record::from_bytes(b.to_vec(), "x") {
                (0..record.times().len().min(4)).for_each(|i| drop(record.moment(i)));
            }
        }),
    ];
    if !hdf5.is_empty() {
        list.push(loader("fclib", hdf5, |b| drop(fclib::read_bytes(b.to_vec(), "x"))));
    }
    list
}

/// The most that the inputs of a loader took.
#[derive(Default)]
struct Most {
    /// Memory, bytes.
    memory: usize,
    /// Time of one input.
    time: Duration,
}

/// Tries an input; why it is a find.
fn tried(loader: &Loader, bytes: &[u8], most: &mut Most, trace: Option<&Path>) -> Option<String> {
    if let Some(path) = trace {
        std::fs::write(path, bytes).unwrap();
    }
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let begun = Instant::now();
    let started = processor_time(begun);
    let ended = catch_unwind(AssertUnwindSafe(|| (loader.read)(bytes)));
    let took = processor_time(begun).saturating_sub(started);
    let memory = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    most.memory = most.memory.max(memory);
    if took > most.time && took > SLOW_INPUT {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        std::fs::write(place.join(format!("{}-slowest", loader.name)), bytes).unwrap();
    }
    most.time = most.time.max(took);
    match ended {
        Err(why) => {
            let words = why
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| why.downcast_ref::<&str>().map(|s| s.to_string()));
            Some(format!("panics: {}", words.unwrap_or_default()))
        }
        Ok(()) if memory > MAX_LOADER_BYTES => Some(format!("takes {} MB", memory >> 20)),
        Ok(()) if took > MAX_TIME_PER_INPUT => Some(format!("takes {took:?}")),
        Ok(()) => None,
    }
}

/// A variable that holds a number.
fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().map(|s| s.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

fn seconds() -> f64 {
    variable("SIGNORINI_FUZZ").unwrap_or(10.0)
}

fn seed() -> u64 {
    variable("SIGNORINI_SEED").unwrap_or(1)
}

#[test]
fn no_loader_panics_or_takes_all_memory_whatever_it_is_given() {
    let _turn = TURN.lock();
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&place).unwrap();
    let trace = std::env::var_os("SIGNORINI_FUZZ_TRACE").map(|_| place.join("last"));
    let list = loaders();
    let only = std::env::var("SIGNORINI_FUZZ_ONLY").ok();
    if let Some(names) = &only {
        let known = |name: &str| list.iter().any(|l| l.name == name);
        names.split(',').for_each(|name| assert!(known(name), "{name} names no loader"));
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut finds: Vec<String> = Vec::new();
    // What was found before.
    let mut kept: Vec<PathBuf> = std::fs::read_dir(&found)
        .map(|d| d.map(|e| e.unwrap().path()).collect())
        .unwrap_or_default();
    kept.sort();
    for path in kept {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let loader = list
            .iter()
            .find(|l| name.starts_with(&format!("{}-", l.name)))
            .unwrap_or_else(|| panic!("{name} names no loader"));
        let bytes = std::fs::read(&path).unwrap();
        finds.extend(
            tried(loader, &bytes, &mut Most::default(), trace.as_deref())
                .map(|why| format!("{name}: {why}")),
        );
    }
    for loader in &list {
        for (i, bytes) in loader.seeds.iter().enumerate() {
            finds.extend(
                tried(loader, bytes, &mut Most::default(), trace.as_deref())
                    .map(|why| format!("{} good file {i}: {why}", loader.name)),
            );
        }
    }
    // All loaders in turn, for the same time or with the same number of inputs.
    let goal: Option<u64> = variable("SIGNORINI_FUZZ_COUNT");
    let share = Duration::from_secs_f64(seconds() / list.len() as f64);
    for (k, loader) in list.iter().enumerate() {
        if only.as_ref().is_some_and(|names| !names.split(',').any(|n| n == loader.name)) {
            continue;
        }
        let mut random = Random::new(seed().wrapping_mul(0x1000_0000_01b3) ^ k as u64);
        let (begun, mut count, mut here) = (Instant::now(), 0u64, 0);
        let mut most = Most::default();
        while goal.map_or(begun.elapsed() < share, |goal| count < goal) && here < 5 {
            let bytes = change(&mut random, &loader.seeds);
            count += 1;
            if let Some(why) = tried(loader, &bytes, &mut most, trace.as_deref()) {
                here += 1;
                let path = place.join(format!("{}-{}-{count}", loader.name, seed()));
                std::fs::write(&path, &bytes).unwrap();
                finds.push(format!("{} {why}: {}", loader.name, path.display()));
            }
        }
        let line = format!(
            "| {:10} | {count:8} | {here} | {:5.1} | {:6.0} | {:5.2} |",
            loader.name,
            most.memory as f64 / (1 << 20) as f64,
            begun.elapsed().as_secs_f64(),
            most.time.as_secs_f64(),
        );
        println!("{line}");
        if let Some(log) = std::env::var_os("SIGNORINI_FUZZ_LOG") {
            let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
            writeln!(log, "{line}").unwrap();
        }
    }
    std::panic::set_hook(usual);
    assert!(finds.is_empty(), "{}", finds.join("\n"));
}

#[test]
fn the_largest_scenes_that_are_accepted_take_no_more_than_the_limit() {
    let _turn = TURN.lock();
    let body = "[[repeat.body]]\nname = \"b{i}\"\nmass = 1\nshape = { sphere = 0.1 }\n";
    let placed = "[[repeat.body]]\nname = \"b{i}\"\ndensity = 500\nshape = { box = [1, 1, 1] }\n\
        position = [\"2*i\", 0, \"3*i\"]\nrotation = { axis = [1, 0, 0], angle = \"i\" }\n";
    let hinge = "[[repeat.joint]]\nname = \"j{i}\"\nkind = \"revolute\"\nb = \"b{i}\"\n\
        axis = [0, 1, 0]\n[[repeat.motor]]\nname = \"m{i}\"\njoint = \"j{i}\"\n\
        angular_speed = 1\n";
    let spring = "[[repeat.force]]\nname = \"s{i}\"\nspring = { b = \"b{i}\", stiffness = 1 }\n";
    let fact = "[[repeat.expect]]\nbody = \"b{i}\"\nz = { at_least = 0 }\n";
    let shapes = "[[repeat.body]]\nname = \"b{i}\"\nmass = 1\nshape = [{ sphere = 0.1 }, \
        { box = [1, 1, 1], position = [1, 0, 0] }, { sphere = 0.2, position = [0, 1, 0] }]\n";
    let within = "[[repeat.repeat]]\ncount = 10\nindex = \"j\"\n";
    // A hundred thousand bodies, each with its place, are no damage.
    let at = "position = [0, 0, 0.5]\n";
    let grid = format!("[[repeat]]\ncount = [50, 50, 40]\nstep = [1, 1, 1]\n{body}{at}");
    assert!(scenefile::load_from("a.toml", &|_: &str| Ok(grid.clone()), &[]).is_ok());
    for block in [
        String::new(),
        body.into(),
        placed.into(),
        shapes.into(),
        format!("{body}{hinge}"),
        format!("{body}{spring}{fact}"),
        within.into(),
    ] {
        let text = |count: usize| format!("[[repeat]]\ncount = {count}\n{block}");
        let load = |count: usize| {
            let library = |_: &str| Ok(text(count));
            scenefile::load_from("a.toml", &library, &[]).map_err(|faults| faults.to_string())
        };
        // The refusal says how large a copy is, and what the limit is.
        let said = load(1_000_000).err().expect("a million copies are too many");
        let number = |before: &str| -> usize {
            let rest = said.split_once(before).unwrap_or_else(|| panic!("{said}")).1;
            rest.split_once(' ').unwrap().0.parse().unwrap()
        };
        let most = 1_000_000 * number("wanted at most ") / number("copies of ");
        assert!(load(most + 1).is_err());
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        drop(load(most).unwrap_or_else(|why| panic!("{why}\n{block}")));
        let memory = PEAK.load(Ordering::Relaxed) - before;
        println!("{most} copies take {} MB:\n{block}", memory >> 20);
        assert!(memory <= MAX_LOADER_BYTES, "{most} copies take {} MB:\n{block}", memory >> 20);
        // The estimate is not far above: what fits is not refused.
        assert!(
            memory > MAX_LOADER_BYTES / 4,
            "{most} copies take only {} MB:\n{block}",
            memory >> 20
        );
    }
    // Bodies of templates are built before they are needed.
    let load = |count: usize| {
        let text = format!(
            "[[template]]\nname = \"t\"\ncount = {count}\nmass = 1\nshape = {{ sphere = 1 }}\n"
        );
        let library = |_: &str| Ok(text.clone());
        scenefile::load_from("a.toml", &library, &[]).map_err(|faults| faults.to_string())
    };
    let said = load(1_000_000_000).err().expect("a milliard bodies are too many");
    assert!(said.contains("found 1000000000 bodies"), "{said}");
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    assert!(load(20_001).is_err());
    drop(load(20_000).unwrap_or_else(|why| panic!("{why}")));
    assert!(PEAK.load(Ordering::Relaxed) - before <= MAX_LOADER_BYTES);
}

#[test]
fn random_scenes_are_accepted_or_say_why_and_no_energy_comes_from_nowhere() {
    let _turn = TURN.lock();
    let mut random = Random::new(seed() ^ 0x5ce0e);
    let (begun, share) = (Instant::now(), Duration::from_secs_f64(0.5 * seconds()));
    let (mut scenes, mut steps, mut refused, mut worst) = (0, 0, 0, 0.0f64);
    while begun.elapsed() < share {
        let text = sensible(&mut random);
        let library = |_: &str| Ok(text.clone());
        let loaded = scenefile::load_from("random.toml", &library, &[])
            .unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        let mut stepper =
            Stepper::new(&loaded.scene, settings(&loaded, &Options::default()).unwrap())
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut state = State::initial(&loaded.scene);
        scenes += 1;
        for _ in 0..20 {
            let verdict = match stepper.step(&loaded.scene, &mut state) {
                Ok(verdict) => verdict,
                Err(why) => {
                    assert!(!why.to_string().is_empty());
                    refused += 1;
                    break;
                }
            };
            steps += 1;
            state.fits(&loaded.scene).unwrap_or_else(|why| panic!("{why}\n{text}"));
            let energy = &verdict.energy;
            let missing = energy.residual().abs() / energy.throughput().max(1e-12);
            worst = worst.max(missing);
            // The ledger is an identity: what it misses is the rounding of sums over a few dozen
            // rows.
            assert!(
                missing < 1e-6,
                "step {} misses {:.3e} J of {:.3e} J\n{text}",
                state.steps,
                energy.residual(),
                energy.throughput()
            );
            if !verdict.accepted {
                let reasons = verdict.reasons(&loaded.scene).join("; ");
                assert!(!reasons.is_empty(), "a refusal without a reason\n{text}");
                if refused < 3 {
                    println!("step {}: {reasons}\n{text}", state.steps);
                }
                refused += 1;
            }
        }
    }
    println!("{scenes} scenes, {steps} steps, {refused} not accepted, ledger within {worst:.1e}");
    // A step in a thousand may be hard; more is a fault of a method.
    assert!(refused * 1000 <= steps.max(1000), "{refused} of {steps} steps were not accepted");
}
