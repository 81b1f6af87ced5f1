//! Which tests and benchmarks need which service, as the manifests declare it.

use std::collections::{BTreeMap, BTreeSet};

use roomkit_test_services::Service;

use crate::error::{Error, Result};
use crate::metadata::Package;

/// The package's targets of a kind, `test` or `bench`, that need services; a declaration that names
/// nothing is an error.
pub(crate) fn needs(package: &Package, kind: &str) -> Result<BTreeMap<String, BTreeSet<Service>>> {
    let mut needs: BTreeMap<String, BTreeSet<Service>> = BTreeMap::new();
    for (name, targets) in package.services() {
        let service = Service::named(name).ok_or_else(|| {
            let known = Service::ALL.map(Service::name).join(", ");
            wrong(package, &format!("`{name}`, but the services are {known}"))
        })?;
        for target in targets {
            let is = |kind| package.targets_of(kind).any(|one| one.name == *target);
            if !is("test") && !is("bench") {
                return Err(wrong(
                    package,
                    &format!("`{target}`, but there is no such test or benchmark"),
                ));
            }
            if is(kind) {
                needs.entry(target.clone()).or_default().insert(service);
            }
        }
    }
    Ok(needs)
}

fn wrong(package: &Package, what: &str) -> Error {
    Error::problem(format!(
        "{}/Cargo.toml: [package.metadata.roomkit.services] names {what}",
        package.folder
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Package {
        Package::sample("roomkit-store-x", "crates/store/x").with("test", "services")
    }

    #[test]
    fn a_test_may_need_several_services() {
        let package = store()
            .needing("postgres", "services")
            .needing("redis", "services");
        let needed = needs(&package, "test").unwrap();
        assert_eq!(needed.len(), 1);
        assert_eq!(needed["services"], Service::ALL.into());
        assert!(needs(&store(), "test").unwrap().is_empty());
    }

    #[test]
    fn a_benchmark_is_no_test() {
        let package = store().with("bench", "store").needing("postgres", "store");
        assert!(needs(&package, "test").unwrap().is_empty());
        assert_eq!(needs(&package, "bench").unwrap().len(), 1);
    }

    #[test]
    fn a_declaration_of_nothing_is_found() {
        let error = needs(&store().needing("mysql", "services"), "test")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`mysql`") && error.contains("postgres, redis"),
            "{error}"
        );
        let error = needs(&store().needing("redis", "all"), "test")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("crates/store/x/Cargo.toml") && error.contains("`all`"),
            "{error}"
        );
    }
}
