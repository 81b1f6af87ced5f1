//! `cargo xtask ci`: what has to be green before a change lands.

use std::time::Duration;

use crate::args::Args;
use crate::error::{Error, Result};
use crate::stage::{Outcome, Stages};
use crate::{conformance, lint, test};

/// From a clean checkout, on two cores.
const TEST_BUDGET: Duration = Duration::from_secs(45 * 60);
const TOTAL_BUDGET: Duration = Duration::from_secs(80 * 60);

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !Args::names(arguments)?.is_empty() {
        return Err(Error::Usage("ci takes no arguments".into()));
    }
    let passed = |()| Outcome::Passed;
    let mut stages = Stages::new();
    stages.run("lint", || lint::run(&[]).map(passed));
    stages.run("conformance", || conformance::run(&[]).map(passed));
    stages.run_within("test", TEST_BUDGET, || test::run(&[]).map(passed));
    stages.finish(Some(TOTAL_BUDGET))
}
