//! Makes a soak and prints what it came to; see the README.

use std::process::ExitCode;

use roomkit_soak::options::Options;
use roomkit_soak::run::{Report, soak};
use serde_json::json;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Ok(seconds) = std::env::var("ROOMKIT_SECONDS") {
        arguments.splice(0..0, ["--seconds".to_owned(), seconds]);
    }
    let report = match Options::parse(&arguments).and_then(soak) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    print(&report);
    let verdict = report.verdict();
    for problem in &verdict {
        eprintln!("{problem}");
    }
    if verdict.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
fn print(report: &Report) {
    let megabytes = |bytes: u64| (bytes as f64 / 1024.0 / 102.4).round() / 10.0;
    let rounded = |number: f64| (number * 100.0).round() / 100.0;
    println!(
        "{}",
        json!({
            "proof": "soak", "seed": report.options.seed, "rooms": report.options.rooms,
            "tasks": report.options.tasks, "seconds": report.seconds.round(),
            "operations": report.operations, "warm_up": report.warm_up,
            "per_second": (report.operations as f64 / report.seconds).round(),
            "rooms_made": report.rooms_made, "events": report.events,
            "deliveries": report.deliveries, "comparisons": report.comparisons,
            "first_quarter_mb": report.resident.map(|(first, _)| megabytes(first)),
            "last_quarter_mb": report.resident.map(|(_, last)| megabytes(last)),
            "growth_percent": report.growth().map(rounded),
            "tasks_left": report.tasks_left, "violations": report.violations,
        })
    );
    println!(
        "{}",
        json!({ "proof": "soak", "by_operation": report.by_operation })
    );
}
