//! The choice among a server that is given, one to be started, one to be installed, and none.

use std::collections::BTreeSet;
use std::path::PathBuf;

use roomkit_test_services::{Error as ServiceError, Service};

use crate::error::{Error, Result};

/// Where a service comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The address that the contributor has set.
    Given(String),
    /// The binaries of this machine.
    Found,
}

/// What installs the distribution's packages of these names.
pub(super) type Installer = Box<dyn Fn(&[&str]) -> Result<()>>;

/// Decides for each service, and installs what is missing where that is possible.
pub(super) fn resolve(
    wanted: &BTreeSet<Service>,
    url: impl Fn(Service) -> Option<String>,
    find: impl Fn(Service) -> roomkit_test_services::Result<PathBuf>,
    installer: Option<Installer>,
) -> Result<Vec<(Service, Source)>> {
    let given = |service| url(service).filter(|url| !url.trim().is_empty());
    let without_url = || {
        wanted
            .iter()
            .copied()
            .filter(|service| given(*service).is_none())
    };
    let missing = missing(without_url(), &find)?;
    if !missing.is_empty() {
        let Some(install) = installer else {
            return Err(nowhere(&missing));
        };
        let packages: Vec<&str> = missing.iter().map(|service| service.package()).collect();
        install(&packages)?;
        let still = self::missing(without_url(), &find)?;
        if !still.is_empty() {
            return Err(nowhere(&still));
        }
    }
    let source = |service| given(service).map_or(Source::Found, Source::Given);
    Ok(wanted
        .iter()
        .map(|service| (*service, source(*service)))
        .collect())
}

fn missing(
    services: impl Iterator<Item = Service>,
    find: impl Fn(Service) -> roomkit_test_services::Result<PathBuf>,
) -> Result<Vec<Service>> {
    let mut missing = Vec::new();
    for service in services {
        match find(service) {
            Ok(_) => {}
            Err(ServiceError::Missing(service)) => missing.push(service),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(missing)
}

fn nowhere(missing: &[Service]) -> Error {
    let mut lines: Vec<String> = missing
        .iter()
        .map(|service| format!("missing: {}", service.how_to_get()))
        .collect();
    let packages: Vec<&str> = missing.iter().map(|service| service.package()).collect();
    lines.push(format!(
        "`apt-get install {}` gets it all; `cargo xtask test --no-services` runs what needs no server",
        packages.join(" ")
    ));
    Error::Problems(lines)
}

/// An address as it may be printed: no password, and nothing behind the path, where one may be too.
pub(super) fn without_password(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return "an address that is no URL".to_owned();
    };
    let Some((user, place)) = rest.rsplit_once('@') else {
        return url.to_owned();
    };
    match user.split(':').next() {
        Some(name) if !name.is_empty() => format!("{scheme}://{name}@{place}"),
        _ => format!("{scheme}://{place}"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A machine where `there` is installed, and `installs` can be.
    fn on_machine(
        there: &[Service],
        urls: &[(Service, &str)],
        installs: Option<&[Service]>,
    ) -> (Result<Vec<(Service, Source)>>, Vec<String>) {
        let installed = Rc::new(RefCell::new(there.to_vec()));
        let asked = Rc::new(RefCell::new(Vec::new()));
        let installer = installs.map(|services| {
            let (services, installed, asked) =
                (services.to_vec(), installed.clone(), asked.clone());
            let install = move |packages: &[&str]| {
                asked
                    .borrow_mut()
                    .extend(packages.iter().map(ToString::to_string));
                installed.borrow_mut().extend(&services);
                Ok(())
            };
            Box::new(install) as Installer
        });
        let result = resolve(
            &Service::ALL.into(),
            |service| {
                let url = urls.iter().find(|(of, _)| *of == service);
                url.map(|(_, url)| (*url).to_owned())
            },
            |service| {
                let there = installed.borrow().contains(&service);
                there
                    .then(PathBuf::new)
                    .ok_or(ServiceError::Missing(service))
            },
            installer,
        );
        let asked = asked.borrow().clone();
        (result, asked)
    }

    #[test]
    fn an_address_comes_first_and_binaries_second() {
        let urls = [(Service::Postgres, "postgres://db/x")];
        let (sources, asked) = on_machine(&Service::ALL, &urls, Some(&[]));
        assert_eq!(
            sources.unwrap(),
            [
                (Service::Postgres, Source::Given("postgres://db/x".into())),
                (Service::Redis, Source::Found),
            ]
        );
        assert!(asked.is_empty(), "{asked:?}");
    }

    #[test]
    fn an_empty_address_is_none() {
        let urls = [(Service::Postgres, ""), (Service::Redis, " ")];
        let (sources, _) = on_machine(&Service::ALL, &urls, None);
        assert!(
            sources
                .unwrap()
                .iter()
                .all(|(_, source)| *source == Source::Found)
        );
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        let (sources, asked) = on_machine(&[Service::Postgres], &[], Some(&[Service::Redis]));
        assert_eq!(sources.unwrap().len(), 2);
        assert_eq!(asked, ["redis-server"]);
    }

    #[test]
    fn what_cannot_be_installed_is_named_with_its_package() {
        let (sources, _) = on_machine(&[], &[], None);
        let text = sources.unwrap_err().to_string();
        for words in [
            "missing: PostgreSQL",
            "missing: Redis",
            "apt-get install postgresql redis-server",
            "DATABASE_URL",
            "REDIS_URL",
            "--no-services",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let (sources, asked) = on_machine(&[Service::Postgres], &[], Some(&[]));
        let text = sources.unwrap_err().to_string();
        assert!(
            text.contains("missing: Redis") && !text.contains("PostgreSQL"),
            "{text}"
        );
        assert_eq!(
            asked,
            ["redis-server"],
            "an installation that brings nothing is no success"
        );
    }

    #[test]
    fn a_wrong_variable_is_an_error_and_nothing_is_installed() {
        let elsewhere = |service| {
            Err(ServiceError::Elsewhere {
                service,
                path: PathBuf::from("/nowhere"),
            })
        };
        let install: Installer = Box::new(|_| panic!("nothing is missing"));
        let error = resolve(&Service::ALL.into(), |_| None, elsewhere, Some(install)).unwrap_err();
        assert!(error.to_string().contains("ROOMKIT_TEST_PG_BIN"), "{error}");
    }

    #[test]
    fn nothing_wanted_needs_nothing() {
        let find = |service| Err(ServiceError::Missing(service));
        assert_eq!(resolve(&BTreeSet::new(), |_| None, find, None).unwrap(), []);
    }

    #[test]
    fn no_password_is_printed() {
        for (url, shown) in [
            (
                "postgres://bob:secret@db:5432/x?password=secret",
                "postgres://bob@db:5432/x",
            ),
            ("postgres://bob:se@cret@db/x", "postgres://bob@db/x"),
            ("redis://:secret@cache/0#secret", "redis://cache/0"),
            ("redis://cache/0", "redis://cache/0"),
            ("host=db password=secret", "an address that is no URL"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
