//! The conformance runner: scenarios, turn files and planner vectors against this implementation.
//!
//! A scenario is a JSON file: a kit, what happens to it, and under `expect` the trace that this leaves;
//! `tests/conformance/FORMAT.md` of the repository describes it. A scenario runs through the public API
//! of `roomkit-core` alone, on a runtime of its own with paused time, so that retries, rate limits and
//! timeouts take none. A turn file is the same for a room that runs its agents in turns. The binary `roomkit-conformance` is this module on the command line.
//!
//! ```
//! use roomkit_testkit::conformance::Case;
//!
//! let file = r#"{"extract_mentions": [{"text": "ask @bob", "mentions": ["bob"]}]}"#;
//! let case = Case::parse("mentions", file)?;
//! assert!(case.check().passed());
//! # Ok::<(), roomkit_testkit::conformance::ConformanceError>(())
//! ```

mod answers;
mod build;
mod clock;
mod compare;
mod content;
mod ephemeral;
mod error;
mod events;
mod frames;
mod hooks;
mod identity;
mod normal;
mod people;
mod pieces;
mod planner;
mod report;
mod run;
mod scenario;
mod self_check;
mod shape;
mod sources;
mod strict;
mod trace;
mod traces;
mod turns;
mod webhook;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use roomkit_core::telemetry::TelemetryProvider;
use serde_json::Value;

pub use self::compare::Difference;
pub use self::error::ConformanceError;
pub use self::report::{FileReport, Summary};
pub use self::self_check::Tally;

use self::planner::Vectors;
use self::scenario::Scenario;
use self::self_check::Expectation;
use self::turns::TurnFile;

/// A conformance file that was read: a scenario, a turn file, or vectors of the planner.
#[derive(Debug, Clone)]
pub struct Case {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Scenario(Box<Scenario>),
    Planner(Vectors),
    Turns(Box<TurnFile>),
}

impl Case {
    /// Reads a file. Where it has no name of its own, its name without the extension is used.
    ///
    /// # Errors
    /// [`ConformanceError::Unreadable`], [`ConformanceError::Malformed`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ConformanceError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| ConformanceError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Self::parse(&name.to_string_lossy(), &text)
    }

    /// Reads the text of a file; `name` is used where it has no name of its own.
    ///
    /// # Errors
    /// [`ConformanceError::Malformed`]: it is not JSON, or has a key that the format does not know.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConformanceError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| ConformanceError::malformed(error.to_string()))?;
        if planner::is_planner(&value) {
            return Ok(Self {
                name: name.to_owned(),
                kind: Kind::Planner(Vectors::read(value)?),
            });
        }
        if turns::is_turns(&value) {
            let file = Box::new(TurnFile::read(value)?);
            return Ok(Self {
                name: file.name.clone().unwrap_or_else(|| name.to_owned()),
                kind: Kind::Turns(file),
            });
        }
        let scenario = Box::new(Scenario::read(value)?);
        Ok(Self {
            name: scenario.name.clone().unwrap_or_else(|| name.to_owned()),
            kind: Kind::Scenario(scenario),
        })
    }

    /// The scenario's name, else the file's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file expects.
    #[must_use]
    pub fn expected(&self) -> Value {
        match &self.kind {
            Kind::Scenario(scenario) => scenario.expect.clone(),
            Kind::Planner(vectors) => vectors.expected(),
            Kind::Turns(file) => file.expected(),
        }
    }

    /// Runs the case and returns what was left, in the form of what is expected.
    ///
    /// It makes a runtime of its own, so it must not be called from within one.
    ///
    /// # Errors
    /// Where the case could not be set up or did not come to its end.
    pub fn run(&self) -> Result<Value, ConformanceError> {
        match &self.kind {
            Kind::Scenario(scenario) => run::run(scenario, None),
            Kind::Planner(vectors) => vectors.run(),
            Kind::Turns(file) => file.run(),
        }
    }

    /// As [`run`](Self::run), with somebody who looks on at a scenario's kit, which must change nothing:
    /// every stage of the pipeline is another then, inside of a span. Of the other kinds of cases this
    /// is `run`.
    ///
    /// # Errors
    /// As those of [`run`](Self::run).
    pub fn run_with_telemetry(
        &self,
        provider: Arc<dyn TelemetryProvider>,
    ) -> Result<Value, ConformanceError> {
        match &self.kind {
            Kind::Scenario(scenario) => run::run(scenario, Some(provider)),
            Kind::Planner(_) | Kind::Turns(_) => self.run(),
        }
    }

    /// Where a trace differs from an expectation of this case.
    #[must_use]
    pub fn compare(&self, expected: &Value, trace: &Value) -> Vec<Difference> {
        match &self.kind {
            Kind::Scenario(_) => compare::traces(expected, trace),
            Kind::Planner(_) | Kind::Turns(_) => compare::values(expected, trace),
        }
    }

    /// Runs the case once and compares. As [`run`](Self::run), not to be called within a runtime.
    #[must_use]
    pub fn check(&self) -> FileReport {
        let mut report = FileReport::new(&self.name);
        match self.run() {
            Err(error) => report.problems.push(error.to_string()),
            Ok(trace) => {
                let differences = self.compare(&self.expected(), &trace);
                let lines = differences.iter().map(Difference::to_string);
                report.problems.extend(lines);
                report.trace = Some(trace);
            }
        }
        report
    }

    /// As [`check`](Self::check); where that passes, it is also checked that a change of anything in the
    /// expectation would have been noticed.
    #[must_use]
    pub fn self_check(&self) -> FileReport {
        let mut report = self.check();
        let Some(trace) = report.trace.as_ref().filter(|_| report.passed()) else {
            return report;
        };
        let tally = match &self.kind {
            Kind::Scenario(scenario) => {
                let trace = normal::trace(trace);
                self_check::check(&scenario.expect, Expectation::Trace, |changed| {
                    shape::check_expect(changed).is_err()
                        || !compare::values(&normal::trace(changed), &trace).is_empty()
                })
            }
            Kind::Planner(_) | Kind::Turns(_) => {
                self_check::check(&self.expected(), Expectation::Exact, |changed| {
                    !compare::values(changed, trace).is_empty()
                })
            }
        };
        report.problems.extend_from_slice(&tally.missed);
        report.changes = Some(tally);
        report
    }
}

/// Checks a file, with the check of the checker where `self_check` asks for it. A file that cannot be
/// read or is malformed has failed. Not to be called within a runtime.
#[must_use]
pub fn check_file(path: impl AsRef<Path>, self_check: bool) -> FileReport {
    let path = path.as_ref();
    match Case::open(path) {
        Ok(case) if self_check => case.self_check(),
        Ok(case) => case.check(),
        Err(error) => {
            let mut report = FileReport::new(path.display().to_string());
            report.problems.push(error.to_string());
            report
        }
    }
}
