#![allow(unsafe_code)]
use glam::DVec3;
use signorini::scene::*;
use signorini::step::{Settings, Stepper};
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
struct Counting;
thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static SITES: RefCell<HashMap<String, usize>> = RefCell::new(HashMap::new());
}
fn note() {
    let on = ON.try_with(|c| c.replace(false)).unwrap_or(false);
    if on {
        let b = std::backtrace::Backtrace::force_capture().to_string();
        // lines: "  N: name\n at file"
        let mut names = vec![];
        let mut lines = b.lines().peekable();
        while let Some(l) = lines.next() {
            let t = l.trim();
            if let Some((_, name)) = t.split_once(": ") {
                let at = lines.peek().map(|s| s.trim().to_string()).unwrap_or_default();
                if (name.contains("signorini") || at.contains("engine/src")) && !name.contains("allocs") {
                    let at = at.rsplit("engine/src/").next().unwrap_or("").to_string();
                    names.push(format!("{} [{}]", name.split("::").skip(1).collect::<Vec<_>>().join("::"), at));
                }
            }
            if names.len() >= 3 {
                break;
            }
        }
        let key = names.join(" < ");
        SITES.with(|s| *s.borrow_mut().entry(key).or_insert(0) += 1);
        ON.with(|c| c.set(true));
    }
}
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, m: Memory) -> *mut u8 {
        note();
        unsafe { System.alloc(m) }
    }
    unsafe fn dealloc(&self, p: *mut u8, m: Memory) {
        unsafe { System.dealloc(p, m) }
    }
    unsafe fn realloc(&self, p: *mut u8, m: Memory, n: usize) -> *mut u8 {
        note();
        unsafe { System.realloc(p, m, n) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;
fn main() {
    let _ = DVec3::ZERO;
    let path = std::env::args().nth(1).unwrap();
    let steps: usize = std::env::args().nth(2).map_or(10, |s| s.parse().unwrap());
    let warm: usize = std::env::args().nth(3).map_or(20, |s| s.parse().unwrap());
    let show: usize = std::env::args().nth(4).map_or(60, |s| s.parse().unwrap());
    let (scene, settings) = load(&path);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        for _ in 0..warm {
            stepper.step(&scene, &mut state).unwrap();
        }
        ON.with(|c| c.set(true));
        for _ in 0..steps {
            stepper.step(&scene, &mut state).unwrap();
        }
        ON.with(|c| c.set(false));
        SITES.with(|s| {
            let mut v: Vec<_> = s.borrow().iter().map(|(k, n)| (*n, k.clone())).collect();
            v.sort_by(|a, b| b.cmp(a));
            println!("{} total {}, sites {}", path, v.iter().map(|x| x.0).sum::<usize>(), v.len());
            for (n, k) in v.iter().take(show) {
                println!("{n:6} {k}");
            }
        });
    });
}
fn load(path: &str) -> (Scene, Settings) {
    let loaded = signorini_cli::demo::find(path, &[]).unwrap();
    let solver = std::env::var("SOLVER").ok();
    let settings = signorini_cli::run::settings(&loaded, &signorini_cli::run::Options { solver, ..Default::default() }).unwrap();
    (loaded.scene, settings)
}
