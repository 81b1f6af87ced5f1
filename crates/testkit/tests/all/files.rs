//! All conformance files pass, and a change of anything that they expect would be noticed.

use std::path::PathBuf;

use roomkit_testkit::conformance::{Summary, check_file};

use crate::setup::{conformance, json_files};

fn check(files: Vec<PathBuf>, at_least: usize) -> Summary {
    assert!(files.len() >= at_least, "{} files", files.len());
    let mut summary = Summary::default();
    let mut failed = Vec::new();
    for file in files {
        let report = check_file(&file, true);
        summary.add(&report);
        if !report.passed() {
            failed.push(report.to_string());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let changes = summary.changes.as_ref().unwrap();
    assert_eq!(changes.tried, changes.caught);
    summary
}

#[test]
fn recorded_scenarios() {
    let summary = check(json_files(&conformance().join("scenarios")), 42);
    assert!(summary.changes.unwrap().tried > 8_000);
}

#[test]
fn own_scenarios() {
    let summary = check(json_files(&conformance().join("own")), 82);
    assert!(summary.changes.unwrap().tried > 13_000);
}

#[test]
fn planner_vectors() {
    let summary = check(vec![conformance().join("planner.json")], 1);
    assert!(summary.changes.unwrap().tried > 1_000);
}

#[test]
fn a_file_is_named_as_its_scenario() {
    for folder in ["scenarios", "own"] {
        for file in json_files(&conformance().join(folder)) {
            let case = roomkit_testkit::conformance::Case::open(&file).unwrap();
            assert_eq!(file.file_stem().unwrap(), case.name(), "{}", file.display());
        }
    }
}
