//! The check that dependencies point one way and packages are named after their folders.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{cargo, output};
use crate::error::{Result, no_problems};
use crate::layout::{Place, package_name, place};
use crate::metadata::{self, Dependency, Kind, Package};
use crate::stage::Outcome;

/// What would tie the core to a web framework, an HTTP client or a database.
const FOREIGN_TO_CORE: [&str; 20] = [
    "actix-web",
    "async-nats",
    "axum",
    "curl",
    "diesel",
    "hyper",
    "hyper-util",
    "isahc",
    "libsqlite3-sys",
    "mongodb",
    "redis",
    "reqwest",
    "rusqlite",
    "sqlx",
    "sqlx-core",
    "tokio-postgres",
    "tokio-tungstenite",
    "tonic",
    "tungstenite",
    "ureq",
];

pub(crate) fn run() -> Result<Outcome> {
    let mut problems = check(&metadata::read()?.packages);
    // The tree of the core alone: features that other crates switch on do not count against it.
    let tree = output(&mut cargo([
        "tree",
        "--package=roomkit-core",
        "--edges=no-dev",
        "--all-features",
        "--prefix=none",
        "--format={p}",
    ]))?;
    problems.extend(foreign_to_core(&tree));
    no_problems(problems)?;
    Ok(Outcome::Passed)
}

/// Findings about names, places and dependencies between the workspace's packages.
fn check(packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    let places: BTreeMap<&str, Place> = packages
        .iter()
        .filter_map(|p| Some((p.name.as_str(), place(&p.folder)?)))
        .collect();
    for package in packages {
        problems.extend(check_name(package));
        let Some(&from) = places.get(package.name.as_str()) else {
            continue;
        };
        for dependency in &package.dependencies {
            let Some(&to) = places.get(dependency.name.as_str()) else {
                continue;
            };
            if !may_depend(from, to, dependency.kind) {
                problems.push(format!(
                    "{}: may not depend on {} ({from:?} on {to:?}); dependencies point \
                     vendor -> family core -> roomkit-core",
                    package.name, dependency.name
                ));
            } else if names_unpublished(package, dependency, packages) {
                problems.push(format!(
                    "{}: the dependency {} is never published; as a dev-dependency by `path` alone \
                     it is left out of the package",
                    package.name, dependency.name
                ));
            }
            if is_versioned_cycle(package, dependency, packages) {
                problems.push(format!(
                    "{}: the dev-dependency {} depends on it in turn; name it by `path` alone, or \
                     neither can be published first",
                    package.name, dependency.name
                ));
            }
        }
    }
    problems
}

fn check_name(package: &Package) -> Option<String> {
    let Some(place) = place(&package.folder) else {
        return Some(format!(
            "{}: the crate map has no such folder",
            package.folder
        ));
    };
    if matches!(place, Place::Tool | Place::ToolPart | Place::TestServices)
        && package.is_published()
    {
        return Some(format!("{}: needs `publish = false`", package.folder));
    }
    let name = package_name(&package.folder)?;
    (name != package.name).then(|| {
        format!(
            "{}: the package must be called {name}, not {}",
            package.folder, package.name
        )
    })
}

fn may_depend(from: Place, to: Place, kind: Option<Kind>) -> bool {
    use Place::{App, Core, Facade, FamilyCore, TestServices, Testkit, Tool, ToolPart, Vendor};
    // The READMEs show a crate through the facade, and every crate may run the testkit's suites, on
    // servers of its own.
    if kind == Some(Kind::Dev) && matches!(to, Testkit | Facade | TestServices) {
        return true;
    }
    match from {
        Core | TestServices => false,
        FamilyCore | Vendor | Testkit => matches!(to, Core | FamilyCore),
        Facade => matches!(to, Core | FamilyCore | Vendor | Testkit),
        App => !matches!(to, Tool | ToolPart | TestServices),
        ToolPart => to == ToolPart,
        Tool => to != Tool,
    }
}

/// Whether a package that is published could not be packed for want of this dependency.
fn names_unpublished(package: &Package, dependency: &Dependency, packages: &[Package]) -> bool {
    let unpublished = packages
        .iter()
        .any(|p| p.name == dependency.name && !p.is_published());
    let is_dropped = dependency.kind == Some(Kind::Dev) && dependency.req == "*";
    package.is_published() && unpublished && !is_dropped
}

/// Whether this is a dev-dependency with a version on something that needs the package itself.
fn is_versioned_cycle(package: &Package, dependency: &Dependency, packages: &[Package]) -> bool {
    dependency.kind == Some(Kind::Dev)
        && dependency.req != "*"
        && reaches(
            &dependency.name,
            &package.name,
            packages,
            &mut BTreeSet::new(),
        )
}

fn reaches<'a>(
    from: &'a str,
    to: &str,
    packages: &'a [Package],
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    if from == to {
        return true;
    }
    let Some(package) = packages.iter().find(|p| p.name == from) else {
        return false;
    };
    seen.insert(from)
        && package
            .dependencies
            .iter()
            .filter(|d| d.kind != Some(Kind::Dev))
            .any(|d| reaches(&d.name, to, packages, seen))
}

/// Findings in the output of `cargo tree`: a package a line, its name first.
fn foreign_to_core(tree: &str) -> Vec<String> {
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    if !names.contains("roomkit-core") {
        return vec![format!("`cargo tree` does not show roomkit-core: {tree}")];
    }
    FOREIGN_TO_CORE
        .iter()
        .filter(|name| names.contains(*name))
        .map(|name| format!("roomkit-core: {name} is in its dependency tree"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core() -> Package {
        Package::sample("roomkit-core", "crates/core")
    }

    fn family() -> Package {
        Package::sample("roomkit-sms", "crates/sms/core").on("roomkit-core", None)
    }

    fn vendor() -> Package {
        Package::sample("roomkit-sms-twilio", "crates/sms/twilio").on("roomkit-sms", None)
    }

    fn testkit() -> Package {
        Package::sample("roomkit-testkit", "crates/testkit")
            .on("roomkit-core", None)
            .on("roomkit-sms", None)
    }

    /// The one finding of a bad sample.
    fn finding(packages: &[Package]) -> String {
        let problems = check(packages);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.concat()
    }

    #[test]
    fn this_workspace_is_clean() {
        let problems = check(&metadata::read().unwrap().packages);
        assert!(problems.is_empty(), "{problems:#?}");
    }

    #[test]
    fn the_map_as_drawn_is_clean() {
        let facade = Package::sample("roomkit", "crates/roomkit").on("roomkit-sms-twilio", None);
        let server = Package::sample("roomkit-server", "crates/gateway/server").on("roomkit", None);
        let packages = [
            core()
                .on("serde", None)
                .on_path("roomkit-testkit", Some(Kind::Dev)),
            family(),
            vendor().on("roomkit-testkit", Some(Kind::Dev)),
            testkit(),
            facade,
            server,
        ];
        assert_eq!(check(&packages), [""; 0]);
    }

    #[test]
    fn the_core_depends_on_nothing_here() {
        for kind in [None, Some(Kind::Build)] {
            let text = finding(&[core().on_path("roomkit-sms", kind), family()]);
            assert!(
                text.starts_with("roomkit-core: may not depend on roomkit-sms"),
                "{text}"
            );
        }
        let text = finding(&[core().on_path("roomkit-testkit", None), testkit()]);
        assert!(text.contains("roomkit-testkit"), "{text}");
    }

    #[test]
    fn only_what_is_on_top_takes_vendors() {
        let other = || Package::sample("roomkit-sms-sinch", "crates/sms/sinch");
        for kind in [None, Some(Kind::Dev), Some(Kind::Build)] {
            finding(&[vendor().on("roomkit-sms-sinch", kind), other()]);
            finding(&[family().on("roomkit-sms-sinch", kind), other()]);
            finding(&[testkit().on("roomkit-sms-sinch", kind), other()]);
        }
    }

    #[test]
    fn the_testkit_is_for_tests() {
        finding(&[vendor().on("roomkit-testkit", None), testkit()]);
        finding(&[
            vendor().on("roomkit", None),
            Package::sample("roomkit", "crates/roomkit"),
        ]);
    }

    #[test]
    fn nothing_depends_on_a_tool() {
        let mut tool = Package::sample("xtask", "xtask");
        assert!(check_name(&tool).unwrap().contains("publish = false"));
        tool.publish = Some(Vec::new());
        finding(&[vendor().on("xtask", None), tool]);
    }

    #[test]
    fn servers_are_for_tests_and_never_published() {
        let mut servers = Package::sample("roomkit-test-services", "tests/services");
        assert!(check_name(&servers).unwrap().contains("publish = false"));
        servers.publish = Some(Vec::new());
        let mut tool = Package::sample("xtask", "xtask").on_path("roomkit-test-services", None);
        tool.publish = Some(Vec::new());
        let dev = core().on_path("roomkit-test-services", Some(Kind::Dev));
        let mut packages = [dev, servers, tool];
        assert_eq!(check(&packages), [""; 0]);
        packages[0] = core().on("roomkit-test-services", Some(Kind::Dev));
        let text = finding(&packages);
        assert!(
            text.contains("never published") && text.contains("by `path` alone"),
            "{text}"
        );
        packages[0] = core().on_path("roomkit-test-services", None);
        let text = check(&packages).concat();
        assert!(text.contains("may not depend"), "{text}");
    }

    #[test]
    fn a_dev_cycle_must_not_name_a_version() {
        let kind = Some(Kind::Dev);
        let text = finding(&[core().on("roomkit-testkit", kind), testkit(), family()]);
        assert!(text.contains("by `path` alone"), "{text}");
        assert!(check(&[core().on_path("roomkit-testkit", kind), testkit(), family()]).is_empty());
    }

    #[test]
    fn a_wrong_name_or_folder_is_found() {
        let text = finding(&[Package::sample("roomkit-twilio", "crates/sms/twilio")]);
        assert!(text.contains("must be called roomkit-sms-twilio"), "{text}");
        let text = finding(&[Package::sample("roomkit-fax", "crates/fax")]);
        assert!(text.contains("no such folder"), "{text}");
    }

    #[test]
    fn foreign_crates_are_found_at_any_depth() {
        let tree = "roomkit-core v0.1.0 (/x)\nserde v1.0.0\nhyper v1.0.0 (*)\nhyperx v1.0.0";
        assert_eq!(
            foreign_to_core(tree),
            ["roomkit-core: hyper is in its dependency tree"]
        );
        assert_eq!(
            foreign_to_core("roomkit-core v0.1.0\nserde v1.0.0"),
            [""; 0]
        );
        assert_eq!(
            foreign_to_core("").len(),
            1,
            "a tree of nothing proves nothing"
        );
    }
}
