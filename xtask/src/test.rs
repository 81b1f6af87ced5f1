//! `cargo xtask test`: every test of the workspace, after a look at what they need.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use roomkit_test_services::Service;

use crate::args::Args;
use crate::command::{SCALE_VARIABLE, answers, cargo, output, run as execute};
use crate::error::{Error, Result, no_problems};
use crate::metadata::{self, Package};
use crate::services::{Services, needs};
use crate::stage::{Outcome, Stages};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let args = Args::parse(arguments, &["--scale", "-p", "--no-services"])?;
    if let Some(name) = args.names.first() {
        return Err(Error::Usage(format!(
            "test takes no `{name}`; `cargo test {name}` filters"
        )));
    }
    let packages = metadata::read()?.packages;
    let plan = plan(&packages, &args)?;
    no_problems(missing(&packages)?)?;
    let services = Services::start(&plan.services)?;
    let mut stages = Stages::new();
    for (name, arguments) in &plan.commands {
        stages.run(name, || {
            let mut command = cargo(arguments);
            services.tell(&mut command);
            if let Some(scale) = args.scale {
                command.env(SCALE_VARIABLE, scale.to_string());
            }
            execute(&mut command).map(|()| Outcome::Passed)
        });
    }
    for (name, why) in plan.left_out {
        stages.run(&name, || Ok(Outcome::LeftOut(why)));
    }
    stages.finish(None)
}

/// What a run comes to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    services: BTreeSet<Service>,
    /// A name and cargo's arguments.
    commands: Vec<(String, Vec<String>)>,
    /// A test and the reason.
    left_out: Vec<(String, String)>,
}

fn plan(packages: &[Package], args: &Args) -> Result<Plan> {
    // A name that cargo would take for several packages must not hide what they need.
    if let Some(unknown) = args
        .packages
        .iter()
        .find(|name| !packages.iter().any(|package| package.name == **name))
    {
        return Err(Error::Usage(format!("there is no package `{unknown}`")));
    }
    let is_selected =
        |name: &String| args.packages.is_empty() || args.packages.iter().any(|p| p == name);
    let mut plan = Plan::default();
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    for package in packages.iter().filter(|package| is_selected(&package.name)) {
        let needs = needs(package, "test")?;
        if needs.is_empty() || !args.no_services {
            plan.services.extend(needs.into_values().flatten());
            whole.push(package);
        } else {
            parts.push((package, needs));
        }
    }
    let mut command = vec!["test".to_owned()];
    if args.packages.is_empty() {
        command.push("--workspace".into());
        command.extend(
            parts
                .iter()
                .map(|(part, _)| format!("--exclude={}", part.name)),
        );
    } else {
        command.extend(
            whole
                .iter()
                .map(|package| format!("--package={}", package.name)),
        );
    }
    // Without a selection cargo would test everything.
    if !whole.is_empty() {
        plan.commands.push(("test".into(), command));
    }
    for (package, needs) in parts {
        plan.commands.extend(rest(package, &needs));
        plan.left_out
            .extend(needs.into_iter().map(|(test, services)| {
                let services: Vec<&str> = services.into_iter().map(Service::name).collect();
                (
                    format!("{} {test}", package.name),
                    format!("needs {}", services.join(" and ")),
                )
            }));
    }
    Ok(plan)
}

/// The commands for what is left of a package without the tests that need services. Cargo has no
/// option to leave a target out, so all others are named; documentation goes with no other target.
fn rest(
    package: &Package,
    needs: &BTreeMap<String, BTreeSet<Service>>,
) -> Vec<(String, Vec<String>)> {
    let mut targets = Vec::new();
    let mut documentation = false;
    for target in package
        .targets
        .iter()
        .filter(|target| target.required_features.is_empty())
    {
        documentation |= target.doctest;
        match target.kind.first().map_or("", String::as_str) {
            // Examples are at least built.
            "example" => targets.push(format!("--example={}", target.name)),
            _ if !target.test => {}
            "test" if needs.contains_key(&target.name) => {}
            kind @ ("bin" | "bench" | "test") => targets.push(format!("--{kind}={}", target.name)),
            "custom-build" => {}
            _ => targets.push("--lib".into()),
        }
    }
    let command = |options: Vec<String>| {
        let mut command = vec!["test".to_owned(), format!("--package={}", package.name)];
        command.extend(options);
        command
    };
    let mut commands = Vec::new();
    if !targets.is_empty() {
        commands.push((package.name.clone(), command(targets)));
    }
    if documentation {
        commands.push((
            format!("{} doc", package.name),
            command(vec!["--doc".into()]),
        ));
    }
    commands
}

/// What the tests need and this machine lacks.
fn missing(packages: &[Package]) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    let have = output(Command::new("rustc").arg("--version"))?;
    for package in packages {
        missing.extend(too_old(
            &have,
            package.rust_version.as_deref(),
            &package.name,
        ));
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !answers(Command::new(&compiler).arg("--version")) {
        missing.push(format!(
            "missing: a C compiler, `{compiler}` (Debian: apt-get install gcc)"
        ));
    }
    Ok(missing)
}

fn too_old(rustc: &str, needed: Option<&str>, package: &str) -> Option<String> {
    let needed = needed?;
    let have = rustc.split_whitespace().nth(1).unwrap_or_default();
    (numbers(have) < numbers(needed))
        .then(|| format!("missing: rustc {needed} or newer for {package}; this is {rustc}"))
}

/// `1.95.0-nightly` as `[1, 95, 0]`.
fn numbers(version: &str) -> Vec<u32> {
    let release = version.split('-').next().unwrap_or_default();
    release
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_compiler_is_named() {
        for old in [
            "rustc 1.94.1 (abc 2026-01-01)",
            "rustc 1.9.0",
            "rustc 0.95.0",
            "nonsense",
            "",
        ] {
            assert!(too_old(old, Some("1.95"), "x").is_some(), "{old}");
        }
        for good in [
            "rustc 1.95.0 (abc)",
            "rustc 1.100.0",
            "rustc 2.0.0",
            "rustc 1.96.0-nightly",
        ] {
            assert_eq!(too_old(good, Some("1.95"), "x"), None, "{good}");
        }
        assert_eq!(too_old("rustc 1.1.0", None, "x"), None);
    }

    #[test]
    fn a_name_is_not_taken_for_a_filter() {
        assert!(run(&["turns".into()]).is_err());
    }

    fn packages() -> Vec<Package> {
        let store = Package::sample("roomkit-store-x", "crates/store/x")
            .with("lib", "roomkit_store_x")
            .with("bin", "migrate")
            .with("example", "show")
            .with("test", "all")
            .with("test", "services")
            .needing("postgres", "services");
        let servers = Package::sample("servers", "tests/services")
            .with("test", "services")
            .needing("postgres", "services")
            .needing("redis", "services");
        vec![
            Package::sample("roomkit-core", "crates/core").with("lib", "x"),
            store,
            servers,
        ]
    }

    fn planned(line: &str) -> Plan {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let args = Args::parse(&words, &["-p", "--no-services"]).unwrap();
        plan(&packages(), &args).unwrap()
    }

    fn lines(plan: &Plan) -> Vec<String> {
        plan.commands
            .iter()
            .map(|(_, words)| words.join(" "))
            .collect()
    }

    #[test]
    fn services_are_those_of_the_packages_selected_and_nothing_is_left_out() {
        for (line, services, command) in [
            ("", &Service::ALL[..], "test --workspace"),
            ("-p roomkit-core", &[], "test --package=roomkit-core"),
            (
                "-p roomkit-core -p roomkit-store-x",
                &[Service::Postgres],
                "test --package=roomkit-core --package=roomkit-store-x",
            ),
        ] {
            let plan = planned(line);
            assert_eq!(plan.services, services.iter().copied().collect(), "{line}");
            assert_eq!(lines(&plan), [command]);
            assert!(plan.left_out.is_empty());
        }
    }

    #[test]
    fn without_services_the_rest_runs_and_what_is_left_out_is_named() {
        let plan = planned("--no-services");
        assert!(plan.services.is_empty());
        assert_eq!(
            lines(&plan),
            [
                "test --workspace --exclude=roomkit-store-x --exclude=servers",
                "test --package=roomkit-store-x --lib --bin=migrate --example=show --test=all",
                "test --package=roomkit-store-x --doc",
            ]
        );
        assert_eq!(
            plan.left_out,
            [
                ("roomkit-store-x services".into(), "needs postgres".into()),
                ("servers services".into(), "needs postgres and redis".into()),
            ]
        );
        let plan = planned("--no-services -p servers");
        assert_eq!(lines(&plan), [""; 0], "not the whole workspace");
        assert_eq!(plan.left_out.len(), 1);
    }

    #[test]
    fn a_pattern_of_packages_is_refused() {
        let args = Args {
            packages: vec!["roomkit-store-*".into()],
            ..Args::default()
        };
        assert!(plan(&packages(), &args).is_err());
    }

    #[test]
    fn ci_leaves_nothing_out() {
        let script = std::fs::read_to_string(crate::command::root().join(".ci/run")).unwrap();
        assert!(
            script
                .lines()
                .any(|line| line == "stage test cargo xtask test")
        );
        assert!(!script.contains("--no-services"));
    }
}
