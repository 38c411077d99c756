use signorini::scene::State;
use signorini::step::Stepper;
use signorini_cli::run::{Options, clock, settings};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let loaded = signorini_cli::demo::find(&a[1], &[]).unwrap();
    let solver = a.get(2).cloned();
    let n: u64 = a[3].parse().unwrap();
    let every: u64 = a[4].parse().unwrap();
    let options = Options { solver, ..Options::default() };
    let s = settings(&loaded, &options).unwrap();
    let mut st = Stepper::new(&loaded.scene, s).unwrap();
    st.clock = Some(clock());
    let mut state = State::initial(&loaded.scene);
    let mut last = st.stages;
    for i in 0..n {
        let v = match st.step(&loaded.scene, &mut state) {
            Ok(v) => v,
            Err(e) => {
                println!("{e}");
                return;
            }
        };
        let d = st.stages;
        if i % every == 0 {
            println!(
                "{i:5} t {:.3} contacts {:5} rows {:5} work {:6} {:?} rel {:.1e} bound {:.1e} vel {:.1e} pen {:.1} mm  collide {:.2} asm {:.2} solve {:.2} adv {:.2} ms {:?} {}",
                v.time,
                v.contacts,
                v.rows,
                v.work,
                v.status,
                v.error.relative(),
                v.error.bound / v.error.scale,
                v.error.velocity,
                v.penetration * 1e3,
                1e3 * (d.collide - last.collide),
                1e3 * (d.assemble - last.assemble),
                1e3 * (d.solve - last.solve),
                1e3 * (d.advance - last.advance),
                v.solver,
                v.substeps
            );
        }
        last = d;
    }
    println!("total {:?}", st.stages);
}
