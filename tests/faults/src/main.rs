//! Prints the table of faults, a figure for each part of a kit; see the README.

use std::process::ExitCode;

use roomkit_faults::probe::{Fault, Part};
use roomkit_faults::{Make, Twist, scenes, table};
use serde_json::{Map, json};

fn main() -> ExitCode {
    let report = table::prove(scenes::all(), Twist::None);
    for part in Part::ALL {
        let faults = report.cells.get(&part);
        let count = |fault: Fault| faults.and_then(|it| it.get(&fault)).copied().unwrap_or(0);
        let counts = Fault::ALL.map(|fault| (fault.name().to_owned(), json!(count(fault))));
        let mut figure = Map::from_iter([("proof".to_owned(), json!("faults"))]);
        figure.insert("part".to_owned(), json!(part.name()));
        figure.extend(counts);
        let cells: usize = Fault::ALL.into_iter().map(count).sum();
        figure.insert("cells".to_owned(), json!(cells));
        println!("{}", serde_json::Value::Object(figure));
    }
    println!(
        "{}",
        json!({
            "proof": "faults", "part": "all", "scenes": report.scenes, "cells": report.len(),
            "violations": report.violations.len(),
        })
    );
    // Once more with a telemetry provider, where something passes through stages that have spans.
    let watched = scenes::all().into_iter();
    let watched = watched.filter(|scene| scene.goes_through_stages());
    let watched = table::prove(watched.collect(), Make::WATCHED);
    println!(
        "{}",
        json!({
            "proof": "faults", "part": "watched", "scenes": watched.scenes, "cells": watched.len(),
            "spans": watched.spans, "violations": watched.violations.len(),
        })
    );
    let violations: Vec<_> = report
        .violations
        .iter()
        .chain(&watched.violations)
        .collect();
    for violation in &violations {
        eprintln!("{violation}");
    }
    if violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
