//! All conformance files pass, and a change of anything that they expect would be noticed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use roomkit_core::telemetry::{Metric, SpanEnd, TelemetryProvider};
use roomkit_testkit::conformance::{Case, Summary, check_file};

use crate::setup::{conformance, json_files};

/// How many scenarios of its own the project has, at least.
const OWN: usize = 198;

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
    let summary = check(json_files(&conformance().join("own")), OWN);
    assert!(summary.changes.unwrap().tried > 44_000);
}

/// Counts the spans that ended, as a provider that looks on.
#[derive(Debug, Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl TelemetryProvider for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn end_span(&self, _span: &SpanEnd) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn record_metric(&self, _metric: &Metric) {}
}

/// With a telemetry provider every stage of the pipeline is another, inside of a span; what comes of a
/// scenario is the same.
#[test]
fn scenarios_that_are_watched_leave_the_same_trace() {
    let (counter, mut scenarios) = (Counter::default(), 0);
    for folder in ["own", "scenarios"] {
        for file in json_files(&conformance().join(folder)) {
            let case = Case::open(&file).unwrap();
            let trace = case.run_with_telemetry(Arc::new(counter.clone())).unwrap();
            let differences = case.compare(&case.expected(), &trace);
            assert!(
                differences.is_empty(),
                "{}: {differences:?}",
                file.display()
            );
            scenarios += 1;
        }
    }
    // Told of in a thread of each kit, the last of which may not have ended.
    let spans = counter.0.load(Ordering::Relaxed);
    println!("{scenarios} scenarios, {spans} spans");
    assert!(
        scenarios > 150 && spans > scenarios * 2,
        "{scenarios}: {spans}"
    );
}

/// What a stream looks like does not depend on who happens to run first.
#[test]
fn streams_leave_one_trace() {
    let files = json_files(&conformance().join("own"));
    let is_stream = |file: &&PathBuf| file.to_string_lossy().contains("stream_");
    let mut streams = 0;
    for file in files.iter().filter(is_stream) {
        let case = Case::open(file).unwrap();
        let trace = case.run().unwrap();
        assert!(trace.get("frames").is_some(), "{}", file.display());
        for _ in 0..5 {
            assert_eq!(case.run().unwrap(), trace, "{}", file.display());
        }
        streams += 1;
    }
    assert!(streams >= 19, "{streams} files");
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
            let case = Case::open(&file).unwrap();
            assert_eq!(file.file_stem().unwrap(), case.name(), "{}", file.display());
        }
    }
}
