//! A named piece of work: its heading, its seconds, its outcome.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How a stage ended when it did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// It did not run, and why.
    LeftOut(String),
}

#[derive(Debug)]
struct Done {
    name: String,
    took: Duration,
    end: String,
    failed: bool,
}

/// Stages that run one after the other; one that fails does not stop the next.
#[derive(Debug)]
pub(crate) struct Stages {
    started: Instant,
    done: Vec<Done>,
}

impl Stages {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            done: Vec::new(),
        }
    }

    /// Runs a stage and keeps its seconds and how it ended.
    pub(crate) fn run(&mut self, name: &str, work: impl FnOnce() -> Result<Outcome>) {
        self.record(name, None, work);
    }

    /// The same for a stage that may take `budget` at most.
    pub(crate) fn run_within(
        &mut self,
        name: &str,
        budget: Duration,
        work: impl FnOnce() -> Result<Outcome>,
    ) {
        self.record(name, Some(budget), work);
    }

    fn record(
        &mut self,
        name: &str,
        budget: Option<Duration>,
        work: impl FnOnce() -> Result<Outcome>,
    ) {
        println!("==> {name}");
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let (end, failed) = match result.and_then(|outcome| {
            within(name, took, budget)?;
            Ok(outcome)
        }) {
            Ok(Outcome::Passed) => ("ok".to_owned(), false),
            Ok(Outcome::LeftOut(why)) => (format!("left out: {why}"), false),
            Err(error) => {
                eprintln!("error: {error}");
                ("FAILED".to_owned(), true)
            }
        };
        println!("==> {name}: {end}, {:.1} s", took.as_secs_f64());
        self.done.push(Done {
            name: name.to_owned(),
            took,
            end,
            failed,
        });
    }

    /// Prints the table; an error names every stage that failed.
    pub(crate) fn finish(self, budget: Option<Duration>) -> Result<()> {
        let total = self.started.elapsed();
        println!("\n{}", self.table(total));
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|s| s.failed)
            .map(|s| s.name.as_str())
            .collect();
        if !failed.is_empty() {
            return Err(Error::problem(format!("failed: {}", failed.join(", "))));
        }
        within("total", total, budget)
    }

    fn table(&self, total: Duration) -> String {
        let names = self.done.iter().map(|stage| stage.name.chars().count());
        let width = names.max().unwrap_or(0).max(12);
        let mut table = String::new();
        for stage in &self.done {
            let (name, took, end) = (&stage.name, stage.took.as_secs_f64(), &stage.end);
            table += &format!("{name:<width$} {took:>8.1} s  {end}\n");
        }
        table + &format!("{:<width$} {:>8.1} s", "total", total.as_secs_f64())
    }
}

fn within(name: &str, took: Duration, budget: Option<Duration>) -> Result<()> {
    match budget {
        Some(budget) if took > budget => Err(Error::problem(format!(
            "{name} took {:.0} s, over its budget of {} s",
            took.as_secs_f64(),
            budget.as_secs()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_names_what_failed_and_nothing_else() {
        let mut stages = Stages::new();
        stages.run("good", || Ok(Outcome::Passed));
        stages.run("bad", || Err(Error::problem("broken")));
        stages.run("absent", || Ok(Outcome::LeftOut("no tool".into())));
        let table = stages.table(Duration::ZERO);
        assert!(
            table.contains("absent") && table.contains("left out: no tool"),
            "{table}"
        );
        let error = stages.finish(None).unwrap_err();
        assert_eq!(error.to_string(), "failed: bad");
    }

    #[test]
    fn a_stage_over_its_budget_fails() {
        let mut stages = Stages::new();
        stages.run_within("slow", Duration::ZERO, || Ok(Outcome::Passed));
        assert!(stages.finish(None).is_err());
    }

    #[test]
    fn a_total_over_its_budget_fails() {
        assert!(Stages::new().finish(Some(Duration::ZERO)).is_err());
        assert!(Stages::new().finish(Some(Duration::from_secs(60))).is_ok());
    }
}
