//! `signorini check SCENE`: the model doctor. Says what looks wrong before the first step, and what
//! to do about it.

use crate::builtin;
use crate::robot_options::RobotOptions;
use clap::Args;
use serde_json::{Value as Json, json};
use signorini::analyse::{Finding, Mechanism, Mobility, Severity, examine};
use signorini::assemble::Source;
use signorini::scene::Scene;
use std::process::ExitCode;

/// The most mechanisms that are listed for a person.
const MAX_MECHANISMS_SHOWN: usize = 12;

/// Findings of one kind that are all printed for a person, and how many are if there are more.
const MAX_FINDINGS_OF_KIND: usize = 5;
const FINDINGS_SHOWN_OF_MANY: usize = 3;

/// What to examine.
#[derive(Args)]
pub struct Arguments {
    /// A scene file (TOML, JSON), a robot file (URDF, MJCF), or the name of a built-in scene.
    scene: String,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    /// Another value for a parameter of the scene: name=value. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    robot: RobotOptions,
}

/// Examines a scene: exit code 0 without errors (warnings or not), 1 with errors, 2 if the scene
/// cannot be read.
pub fn run(arguments: &Arguments) -> ExitCode {
    let loaded = match builtin::find_robot(
        &arguments.scene,
        &arguments.set,
        arguments.robot.choices().as_ref(),
    ) {
        Ok(loaded) => loaded,
        Err(message) => {
            if arguments.json {
                println!("{:#}", json!({"readable": false, "message": message}));
            }
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    loaded.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let (mobility, findings) = examine(&loaded.scene, loaded.dt);
    if arguments.json {
        println!("{:#}", to_json(&loaded.scene, &mobility, &findings));
    } else {
        print!("{}", text(&loaded.scene, &mobility, &findings));
    }
    if findings.iter().any(|f| f.severity == Severity::Error) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The report for a person.
pub fn text(scene: &Scene, mobility: &Mobility, findings: &[Finding]) -> String {
    let moving = mobility.unknowns / 6;
    let mut out = format!(
        "{}: {moving} moving {}, {} {}, {} {}\n",
        scene.name,
        plural(moving, "body", "bodies"),
        scene.joints.len(),
        plural(scene.joints.len(), "joint", "joints"),
        mobility.freedoms,
        plural(mobility.freedoms, "degree of freedom", "degrees of freedom"),
    );
    for m in mobility.mechanisms.iter().take(MAX_MECHANISMS_SHOWN) {
        out += &format!("  {}\n", mechanism(scene, m));
    }
    if mobility.mechanisms.len() > MAX_MECHANISMS_SHOWN {
        out += &format!(
            "  and {} more mechanisms (--json lists all)\n",
            mobility.mechanisms.len() - MAX_MECHANISMS_SHOWN
        );
    }
    if mobility.free_bodies > 0 {
        out += &format!(
            "  {} free {} with 6 each\n",
            mobility.free_bodies,
            plural(mobility.free_bodies, "body", "bodies")
        );
    }
    out += &grouped(findings);
    let count = |s: Severity| findings.iter().filter(|f| f.severity == s).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    out + &match (errors, warnings) {
        (0, 0) => "nothing wrong was found\n".to_string(),
        _ => format!(
            "{errors} {}, {warnings} {}\n",
            plural(errors, "error", "errors"),
            plural(warnings, "warning", "warnings")
        ),
    }
}

/// The findings; of many of one kind the first few, which are the worst, and how many more there
/// are.
fn grouped(findings: &[Finding]) -> String {
    let mut groups: Vec<((Severity, &str), Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let key = (finding.severity, finding.kind);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, list)) => list.push(finding),
            None => groups.push((key, vec![finding])),
        }
    }
    let mut out = String::new();
    for ((severity, kind), list) in groups {
        let word = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let many = list.len() > MAX_FINDINGS_OF_KIND;
        for f in list.iter().take(if many { FINDINGS_SHOWN_OF_MANY } else { MAX_FINDINGS_OF_KIND })
        {
            out += &format!("{word} [{kind}] {}: {}\n    -> {}\n", f.subject, f.found, f.advice);
        }
        if many {
            out += &format!(
                "{word} [{kind}] {} in all: {} more of this kind (--json lists all)\n",
                list.len(),
                list.len() - FINDINGS_SHOWN_OF_MANY
            );
        }
    }
    out
}

fn plural(n: usize, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

fn mechanism(scene: &Scene, m: &Mechanism) -> String {
    let names: Vec<&str> =
        m.bodies.iter().take(4).map(|b| scene.bodies[b.index()].name.as_str()).collect();
    let more = if m.bodies.len() > 4 {
        format!(" and {} more", m.bodies.len() - 4)
    } else {
        String::new()
    };
    let redundant = m.rows - m.rank;
    let mut text = format!(
        "{}{more}: {} free, {} of {} rows independent",
        names.join(", "),
        m.freedoms,
        m.rank,
        m.rows
    );
    if redundant > 0 {
        text += &format!(", {redundant} redundant");
    }
    if m.uncounted {
        text += " at most: too many joints meet in one body to look for redundant rows";
    }
    if m.driven > 0 {
        text += &format!(", {} driven", m.driven);
    }
    text
}

fn to_json(scene: &Scene, mobility: &Mobility, findings: &[Finding]) -> Json {
    let name = |s: &Source| match s {
        Source::Joint(id, _) => scene.joints[id.index()].name.clone(),
        other => other.name(scene),
    };
    let mechanisms: Vec<Json> = mobility
        .mechanisms
        .iter()
        .map(|m| {
            json!({
                "bodies": m.bodies.iter().map(|b| &scene.bodies[b.index()].name).collect::<Vec<_>>(),
                "members": m.members.iter().map(name).collect::<Vec<_>>(),
                "rows": m.rows, "rank": m.rank, "freedoms": m.freedoms,
                "uncounted": m.uncounted,
                "freedoms_nearby": m.nearby, "driven": m.driven,
                "redundant": m.redundant.iter().map(|r| json!({"name": name(&r.source),
                "rows": r.count, "of": r.of})).collect::<Vec<_>>(),
                "involved": m.involved.iter().map(name).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "readable": true, "scene": scene.name, "unknowns": mobility.unknowns,
        "freedoms": mobility.freedoms, "driven": mobility.driven,
        "free_bodies": mobility.free_bodies, "mechanisms": mechanisms, "findings": findings,
    })
}
