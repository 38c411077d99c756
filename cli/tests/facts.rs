//! Facts over stretches of time.

mod common;

use common::{said, signorini, text};
use std::fs;
use std::path::Path;

/// A stone thrown up with 3 m/s from 1 m above nothing.
const STONE: &str = r#"
[run]
dt = "1 ms"
t_end = "0.6 s"
[[body]]
name = "stone"
mass = 1
shape = { sphere = 0.1 }
position = [0, 0, 1]
velocity = [0, 0, 3]
"#;

fn run(name: &str, facts: &str) -> (bool, String) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("facts_{name}.toml"));
    fs::write(&file, format!("{STONE}{facts}")).unwrap();
    let run = signorini(&["run", text(&file)]);
    (run.status.success(), said(&run))
}

#[test]
fn facts_speak_of_stretches_of_time() {
    // The top is v²/2g = 0.4587 m up after 0.306 s; a step blurs heights by v dt/2 and speeds by g
    // dt.
    let (fine, said) = run(
        "hold",
        r#"
[[expect]]
body = "stone"
over = "max"
z = { is = "1 + 9/(2*9.81)", within = "2 mm" }
[[expect]]
body = "stone"
over = "min"
vz = { is = "3 - 9.81*0.6", within = "15 mm/s" }
[[expect]]
body = "stone"
during = ["0.1 s", "0.5 s"]
z = { at_least = "1.25 m" }
vx = { is = 0, within = "1 nm/s" }
[[expect]]
body = "stone"
over = "never"
z = { at_least = "1.47 m" }
"#,
    );
    assert!(fine && !said.contains("FAILS"), "{said}");
    // Each of them the other way round fails, and says the value that decides.
    for (i, (fact, value)) in [
        ("over = \"max\"\nz = { at_most = 1.4 }", "stone.z = 1.4"),
        ("during = [\"0.1 s\", \"0.5 s\"]\nz = { at_least = 1.3 }", "stone.z = 1.2"),
        ("over = \"never\"\nz = { at_least = 1.45 }", "stone.z = 1.4"),
        (
            "during = [\"0.1 s\", \"0.5 s\"]\nover = \"min\"\nvz = { at_least = 0 }",
            "stone.vz = -1.9",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (fine, said) =
            run(&format!("fail_{i}"), &format!("[[expect]]\nbody = \"stone\"\n{fact}\n"));
        assert!(!fine && said.contains("FAILS") && said.contains(value), "{fact}: {said}");
    }
    // A stretch that the run does not see to its end says nothing.
    let (_, said) = run(
        "beyond",
        "[[expect]]\nbody = \"stone\"\nduring = [\"0.1 s\", \"2 s\"]\nz = { at_least = -100 }\n",
    );
    assert!(said.contains("lies beyond the end"), "{said}");
    let (fine, said) = run(
        "wrong",
        "[[expect]]\nbody = \"stone\"\ntime = 0.1\nduring = [0.2, 0.1]\nz = { at_least = 0 }\n",
    );
    assert!(!fine && said.contains("wanted one of `time` and `during`"), "{said}");
}
