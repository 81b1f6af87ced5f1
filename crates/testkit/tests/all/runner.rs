//! The binary: what it prints, and the code it leaves with.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::setup::{conformance, json_files};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run<I: IntoIterator<Item: AsRef<OsStr>>>(arguments: I) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roomkit-conformance"));
    let output = command.args(arguments).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file with this text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn quickstart() -> PathBuf {
    conformance().join("scenarios/quickstart.json")
}

#[test]
fn all_that_passes_is_ok() {
    let ran = run(json_files(&conformance().join("scenarios")));
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.starts_with("ok access_read_only_source\n"));
    assert!(ran.out.ends_with("\n42 passed, 0 failed\n"), "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn a_difference_fails_and_is_shown() {
    let text = std::fs::read_to_string(quickstart()).unwrap();
    let wrong = file(
        "wrong.json",
        &text.replace("\"status\": \"active\"", "\"status\": \"paused\""),
    );
    let ran = run([quickstart(), wrong]);
    assert_eq!(ran.code, 1);
    let expected = "ok quickstart\nFAILED quickstart\n  \
        rooms.r.status: expected \"paused\", got \"active\"\n1 passed, 1 failed\n";
    assert_eq!(ran.out, expected);
}

#[test]
fn bad_files_have_failed() {
    for (name, text) in [
        ("malformed.json", "{"),
        ("unknown.json", r#"{"expect": {}, "setp": []}"#),
    ] {
        let path = file(name, text);
        let ran = run([&path]);
        assert_eq!(ran.code, 1);
        assert!(
            ran.out
                .starts_with(&format!("FAILED {}\n  malformed: ", path.display())),
            "{}",
            ran.out
        );
        assert!(ran.out.ends_with("\n0 passed, 1 failed\n"), "{}", ran.out);
    }
    let ran = run(["nowhere.json"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out
            .starts_with("FAILED nowhere.json\n  cannot read nowhere.json: "),
        "{}",
        ran.out
    );
}

#[test]
fn a_trace_is_json_and_the_verdict_is_elsewhere() {
    let ran = run([OsStr::new("--trace"), quickstart().as_os_str()]);
    assert_eq!(ran.code, 0);
    let trace: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(trace["heard"]["bot"], serde_json::json!([3]));
    assert_eq!(ran.err, "ok quickstart\n1 passed, 0 failed\n");
}

#[test]
fn the_self_check_says_what_it_tried() {
    let ran = run([OsStr::new("--self-check"), quickstart().as_os_str()]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let lines: Vec<_> = ran.out.lines().collect();
    let [file, all, end] = lines[..] else {
        panic!("{}", ran.out)
    };
    let tried = all.strip_suffix(" exempt").unwrap();
    assert!(
        file.starts_with("ok quickstart: ") && file.contains(tried),
        "{file}"
    );
    let numbers: Vec<usize> = all
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(numbers[0] > 150 && numbers[0] == numbers[1], "{all}");
    assert_eq!(end, "1 passed, 0 failed");
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let none: [&str; 0] = [];
    assert_eq!(run(none).code, 2);
    let ran = run(["--verbose", "x.json"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with("unknown option --verbose\nusage: "),
        "{}",
        ran.err
    );
    let help = run(["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.out.starts_with("usage: roomkit-conformance "));
    let named_like_an_option = run(["--", "--trace"]);
    assert_eq!(named_like_an_option.code, 1);
    assert!(named_like_an_option.out.starts_with("FAILED --trace\n"));
}
