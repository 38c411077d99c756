//! Completions and manual pages name every subcommand.

mod common;

fn signorini(arguments: &[&str]) -> String {
    let output = common::signorini(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The subcommands that `--help` lists.
fn subcommands() -> Vec<String> {
    let help = signorini(&["--help"]);
    let list = help
        .split("Commands:\n")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next())
        .expect("a list of commands");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .map(String::from)
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_shell_completes_every_subcommand() {
    let names = subcommands();
    assert!(names.len() > 10 && names.iter().any(|name| name == "run"), "{names:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = signorini(&["completions", shell]);
        for name in &names {
            assert!(text.contains(name.as_str()), "{shell} does not know {name}");
        }
        assert!(text.contains("keep-worst"), "{shell} does not know the options of run");
    }
}

#[test]
fn every_subcommand_has_its_manual_page() {
    assert!(signorini(&["man"]).contains(".TH signorini 1"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    signorini(&["man", "--out", folder.to_str().unwrap()]);
    for name in subcommands() {
        let page = std::fs::read_to_string(folder.join(format!("signorini-{name}.1")))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.contains(&format!(".TH signorini-{name} 1")), "{name}: {page}");
    }
}

#[test]
fn a_wrong_shell_or_folder_is_one_message() {
    let wrong = common::signorini(&["completions", "dos"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && said.contains("'dos'") && said.contains("bash"), "{said}");
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man-file");
    std::fs::write(&place, "").unwrap();
    let wrong = common::signorini(&["man", "--out", place.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("error: cannot write to"));
}
