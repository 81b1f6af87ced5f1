//! `docs/observability.md` shows the names that the code has, and no others.

use roomkit_core::telemetry::{METRICS, MetricKind, SpanName};

const PAGE: &str = include_str!("../../../../../docs/observability.md");

/// The rows of the table below a heading, cell by cell, without the marks of code.
fn table(heading: &str) -> Vec<Vec<String>> {
    let start = PAGE.find(&format!("## {heading}\n")).unwrap();
    PAGE[start..]
        .lines()
        .skip_while(|line| !line.starts_with("| ---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().replace('`', "")).collect()
        })
        .collect()
}

#[test]
fn spans_and_their_fields_are_those_of_the_code() {
    let documented: Vec<_> = table("Spans")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone(), row[3].clone()))
        .collect();
    let known: Vec<_> = SpanName::ALL
        .iter()
        .map(|name| {
            (
                name.as_str().to_owned(),
                name.level().to_string(),
                name.fields().join(", "),
            )
        })
        .collect();
    assert_eq!(documented, known);
}

#[test]
fn every_field_is_explained() {
    let mut explained: Vec<_> = table("Fields")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let mut used: Vec<_> = SpanName::ALL
        .iter()
        .flat_map(|name| name.fields().iter().copied())
        .collect();
    used.sort_unstable();
    used.dedup();
    explained.sort();
    assert_eq!(explained, used);
}

#[test]
fn metrics_are_those_of_the_code() {
    let documented: Vec<_> = table("Metrics")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone(), row[2].clone()))
        .collect();
    let known: Vec<_> = METRICS
        .iter()
        .map(|(name, kind, unit)| {
            let kind = match kind {
                MetricKind::Counter => "counter",
                MetricKind::Histogram => "histogram",
                _ => "unknown",
            };
            ((*name).to_owned(), kind.to_owned(), (*unit).to_owned())
        })
        .collect();
    assert_eq!(documented, known);
}

/// Each line that can be logged with words in it is one that the page names.
#[test]
fn levels_are_those_of_the_specification() {
    let levels: Vec<_> = table("Logs")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(levels, ["DEBUG", "INFO", "WARN", "ERROR"]);
}
