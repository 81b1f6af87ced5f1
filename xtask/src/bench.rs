//! `cargo xtask bench`: the benchmarks, and their figures as files.

use std::collections::BTreeSet;

use roomkit_test_services::Service;

use crate::args::Args;
use crate::command::{cargo, root};
use crate::error::{Error, Result};
use crate::figures;
use crate::metadata::{self, Package};
use crate::services::{Services, needs};

/// Runs all benchmarks, or those of the packages or with the names given.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wanted = Args::names(arguments)?;
    let packages = metadata::read()?.packages;
    let selected = select(&packages, &wanted)?;
    let services = Services::start(&needed_by(&packages, &selected)?)?;
    for bench in selected {
        let path = format!("benches/results/{}.{}.jsonl", bench.package, bench.name);
        let mut command = cargo(["bench", "--package", &bench.package, "--bench", &bench.name]);
        services.tell(&mut command);
        figures::record(&mut command, &root().join(path))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Bench {
    package: String,
    name: String,
}

impl Bench {
    /// `core` and `roomkit-core` select every bench of the package, `pipeline` the one so called.
    fn answers_to(&self, wanted: &str) -> bool {
        let short = self
            .package
            .strip_prefix("roomkit-")
            .unwrap_or(&self.package);
        [&self.name, &self.package, short].contains(&wanted)
    }
}

fn select(packages: &[Package], wanted: &[String]) -> Result<Vec<Bench>> {
    let all: Vec<Bench> = packages
        .iter()
        .flat_map(|package| {
            package.targets_of("bench").map(|target| Bench {
                package: package.name.clone(),
                name: target.name.clone(),
            })
        })
        .collect();
    let unknown = wanted
        .iter()
        .find(|name| !all.iter().any(|bench| bench.answers_to(name)));
    if unknown.is_some() || all.is_empty() {
        let asked = unknown
            .map(|name| format!("there is no benchmark `{name}`; "))
            .unwrap_or_default();
        return Err(Error::Usage(format!(
            "{asked}known benchmarks: {}",
            list(&all)
        )));
    }
    let selected = |bench: &Bench| wanted.is_empty() || wanted.iter().any(|w| bench.answers_to(w));
    Ok(all.into_iter().filter(selected).collect())
}

/// The services that these benchmarks need.
fn needed_by(packages: &[Package], benches: &[Bench]) -> Result<BTreeSet<Service>> {
    let mut all = BTreeSet::new();
    for package in packages {
        for (name, services) in needs(package, "bench")? {
            let is_selected = |bench: &Bench| bench.package == package.name && bench.name == name;
            if benches.iter().any(is_selected) {
                all.extend(services);
            }
        }
    }
    Ok(all)
}

fn list(benches: &[Bench]) -> String {
    if benches.is_empty() {
        return "none".into();
    }
    let names: Vec<String> = benches
        .iter()
        .map(|b| format!("{} {}", b.package, b.name))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, benches: &[&str]) -> Package {
        let package = Package::sample(name, "crates/x");
        benches
            .iter()
            .fold(package, |package, bench| package.with("bench", bench))
    }

    fn names(wanted: &[&str]) -> Result<Vec<String>> {
        let packages = [
            package("roomkit-core", &["pipeline", "planner"]),
            package("roomkit-websocket", &["fanout"]),
        ];
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        Ok(select(&packages, &wanted)?
            .into_iter()
            .map(|bench| bench.name)
            .collect())
    }

    #[test]
    fn benches_are_chosen_by_package_or_name() {
        assert_eq!(names(&[]).unwrap(), ["pipeline", "planner", "fanout"]);
        assert_eq!(names(&["core"]).unwrap(), ["pipeline", "planner"]);
        assert_eq!(
            names(&["roomkit-websocket", "planner"]).unwrap(),
            ["planner", "fanout"]
        );
    }

    #[test]
    fn an_unknown_or_absent_bench_is_an_error_that_names_the_known() {
        let error = names(&["core", "speed"]).unwrap_err().to_string();
        assert!(
            error.contains("`speed`") && error.contains("roomkit-websocket fanout"),
            "{error}"
        );
        let error = select(&[package("roomkit-core", &[])], &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("known benchmarks: none"), "{error}");
    }
}
