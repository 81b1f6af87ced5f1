//! Which tests need which service, as the manifests declare it.

use std::collections::{BTreeMap, BTreeSet};

use roomkit_test_services::Service;

use crate::error::{Error, Result};
use crate::metadata::Package;

/// The package's test targets that need services; a declaration that names nothing is an error.
pub(crate) fn needs(package: &Package) -> Result<BTreeMap<String, BTreeSet<Service>>> {
    let mut needs: BTreeMap<String, BTreeSet<Service>> = BTreeMap::new();
    for (name, tests) in package.services() {
        let service = Service::named(name).ok_or_else(|| {
            let known = Service::ALL.map(Service::name).join(", ");
            wrong(package, &format!("`{name}`, but the services are {known}"))
        })?;
        for test in tests {
            if !package
                .targets_of("test")
                .any(|target| target.name == *test)
            {
                return Err(wrong(
                    package,
                    &format!("the test `{test}`, but there is no such target"),
                ));
            }
            needs.entry(test.clone()).or_default().insert(service);
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
        let needed = needs(&package).unwrap();
        assert_eq!(needed.len(), 1);
        assert_eq!(needed["services"], Service::ALL.into());
        assert!(needs(&store()).unwrap().is_empty());
    }

    #[test]
    fn a_declaration_of_nothing_is_found() {
        let error = needs(&store().needing("mysql", "services"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`mysql`") && error.contains("postgres, redis"),
            "{error}"
        );
        let error = needs(&store().needing("redis", "all"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("crates/store/x/Cargo.toml") && error.contains("`all`"),
            "{error}"
        );
    }
}
