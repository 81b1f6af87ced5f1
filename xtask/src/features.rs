//! The check that every package, and each of its features, builds without the others.
//!
//! A build of the whole workspace unifies features and hides what a crate forgot to ask for.

use crate::command::{cargo, run as execute};
use crate::error::{Result, no_problems};
use crate::metadata::{self, Package};
use crate::stage::Outcome;

pub(crate) fn run() -> Result<Outcome> {
    let mut problems = Vec::new();
    for selection in selections(&metadata::read()?.packages) {
        println!("{}", selection.join(" "));
        let mut command = cargo(["clippy", "--quiet", "--no-default-features"]);
        command.args(&selection).args(["--", "--deny=warnings"]);
        if let Err(error) = execute(&mut command) {
            problems.push(error.to_string());
        }
    }
    no_problems(problems)?;
    Ok(Outcome::Passed)
}

/// The cargo options of each build.
fn selections(packages: &[Package]) -> Vec<Vec<String>> {
    let mut selections = Vec::new();
    for package in packages
        .iter()
        .filter(|p| p.is_published() || !p.features.is_empty())
    {
        let option = format!("--package={}", package.name);
        selections.push(vec![option.clone()]);
        for feature in package.features.keys() {
            selections.push(vec![option.clone(), format!("--features={feature}")]);
        }
    }
    selections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_built_alone_and_so_is_none() {
        let mut facade = Package::sample("roomkit", "crates/roomkit");
        facade
            .features
            .insert("default".into(), vec!["sqlite".into()]);
        facade.features.insert("sqlite".into(), Vec::new());
        let mut tool = Package::sample("xtask", "xtask");
        tool.publish = Some(Vec::new());
        let core = Package::sample("roomkit-core", "crates/core");
        let lines: Vec<String> = selections(&[core, facade, tool])
            .iter()
            .map(|s| s.join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "--package=roomkit-core",
                "--package=roomkit",
                "--package=roomkit --features=default",
                "--package=roomkit --features=sqlite",
            ]
        );
    }
}
