//! Where a machine keeps the servers' binaries, which need not be in `PATH`.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::service::Service;

/// What it takes to make a PostgreSQL server, to run it and to ask it. All of it must be in one
/// folder: what Debian has in `PATH` are wrappers of some that choose a server by themselves, and an
/// administrator may have put links to others there.
const POSTGRES: [&str; 5] = ["initdb", "pg_ctl", "postgres", "createdb", "psql"];

/// Folders that hold a folder per version of PostgreSQL, and how the names of those begin:
/// Debian, Red Hat, its own build, Homebrew.
const POSTGRES_VERSIONS: [(&str, &str); 5] = [
    ("usr/lib/postgresql", ""),
    ("usr", "pgsql-"),
    ("usr/local", "pgsql"),
    ("opt/homebrew/opt", "postgresql@"),
    ("usr/local/opt", "postgresql@"),
];

/// Where `redis-server` may be although `PATH` has it not.
const REDIS_FOLDERS: [&str; 5] = [
    "usr/bin",
    "usr/sbin",
    "usr/local/bin",
    "opt/homebrew/bin",
    "snap/bin",
];

/// What the search looks at.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The value of the service's variable.
    pub(crate) variable: Option<OsString>,
    pub(crate) path: OsString,
    pub(crate) root: PathBuf,
}

impl Machine {
    pub(crate) fn this(service: Service) -> Self {
        Self {
            variable: std::env::var_os(service.binaries_variable())
                .filter(|value| !value.is_empty()),
            path: std::env::var_os("PATH").unwrap_or_default(),
            root: PathBuf::from("/"),
        }
    }
}

pub(crate) fn find(service: Service, machine: &Machine) -> Result<PathBuf> {
    if let Some(value) = &machine.variable {
        let path = PathBuf::from(value);
        // A variable that is wrong is a mistake to be told, not a reason to take another server.
        return if fits(service, &path) {
            Ok(path)
        } else {
            Err(Error::Elsewhere { service, path })
        };
    }
    let in_path = std::env::split_paths(&machine.path);
    let candidates: Vec<PathBuf> = match service {
        Service::Postgres => in_path.chain(versions(&machine.root)).collect(),
        Service::Redis => in_path
            .chain(REDIS_FOLDERS.iter().map(|folder| machine.root.join(folder)))
            .map(|folder| folder.join("redis-server"))
            .collect(),
    };
    candidates
        .into_iter()
        .find(|candidate| candidate.is_absolute() && fits(service, candidate))
        .ok_or(Error::Missing(service))
}

fn fits(service: Service, path: &Path) -> bool {
    match service {
        Service::Postgres => POSTGRES.iter().all(|name| is_program(&path.join(name))),
        Service::Redis => is_program(path),
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The folders of the versions installed, the newest first.
fn versions(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (folder, prefix) in POSTGRES_VERSIONS {
        for entry in fs::read_dir(root.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            if let Some(version) = name.to_str().and_then(|name| name.strip_prefix(prefix)) {
                let major = version.split('.').next().unwrap_or_default();
                found.push((major.parse().unwrap_or(0), entry.path().join("bin")));
            }
        }
    }
    found.sort_by_key(|(version, _)| Reverse(*version));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    /// Files below the root that can be run, and a `PATH` of folders below it.
    fn machine(programs: &[&str], path: &[&str]) -> (Folder, Machine) {
        let root = Folder::new("find").unwrap();
        for program in programs {
            let file = root.path().join(program);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let machine = Machine {
            variable: None,
            path: std::env::join_paths(path.iter().map(|p| root.path().join(p))).unwrap(),
            root: root.path().to_owned(),
        };
        (root, machine)
    }

    fn postgres(folder: &str) -> Vec<String> {
        POSTGRES
            .iter()
            .map(|name| format!("{folder}/{name}"))
            .collect()
    }

    fn with_postgres(folders: &[&str], path: &[&str]) -> (Folder, Machine) {
        let programs: Vec<String> = folders.iter().flat_map(|folder| postgres(folder)).collect();
        machine(
            &programs.iter().map(String::as_str).collect::<Vec<_>>(),
            path,
        )
    }

    #[test]
    fn the_newest_postgres_outside_path_is_found() {
        let (root, machine) = with_postgres(
            &[
                "usr/lib/postgresql/9.6/bin",
                "usr/lib/postgresql/15/bin",
                "usr/pgsql-13/bin",
            ],
            &["usr/bin"],
        );
        assert_eq!(
            find(Service::Postgres, &machine).unwrap(),
            root.path().join("usr/lib/postgresql/15/bin")
        );
    }

    #[test]
    fn path_comes_before_the_usual_folders() {
        let (root, machine) = with_postgres(
            &["usr/lib/postgresql/15/bin", "opt/pg/bin"],
            &["usr/bin", "opt/pg/bin"],
        );
        assert_eq!(
            find(Service::Postgres, &machine).unwrap(),
            root.path().join("opt/pg/bin")
        );
    }

    #[test]
    fn wrappers_and_half_an_installation_are_not_taken() {
        for programs in [
            &["usr/bin/psql", "usr/bin/createdb"][..],
            &["usr/bin/initdb", "usr/bin/pg_ctl", "usr/bin/postgres"][..],
        ] {
            let (_root, machine) = machine(programs, &["usr/bin"]);
            assert!(matches!(
                find(Service::Postgres, &machine),
                Err(Error::Missing(Service::Postgres))
            ));
        }
    }

    #[test]
    fn redis_is_found_in_path_and_outside() {
        let (root, machine) = machine(
            &["opt/redis/redis-server", "usr/bin/redis-server"],
            &["opt/redis"],
        );
        assert_eq!(
            find(Service::Redis, &machine).unwrap(),
            root.path().join("opt/redis/redis-server")
        );
        let outside = Machine {
            path: OsString::new(),
            ..machine
        };
        assert_eq!(
            find(Service::Redis, &outside).unwrap(),
            root.path().join("usr/bin/redis-server")
        );
    }

    #[test]
    fn what_cannot_be_run_is_not_a_server() {
        let (root, machine) = machine(&["usr/bin/redis-server"], &["usr/bin"]);
        let file = root.path().join("usr/bin/redis-server");
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = find(Service::Redis, &machine).unwrap_err().to_string();
        assert!(
            error.contains("apt-get install redis-server") && error.contains("REDIS_URL"),
            "{error}"
        );
    }

    #[test]
    fn the_variable_decides_and_a_wrong_one_is_told() {
        let (root, mut machine) =
            with_postgres(&["usr/lib/postgresql/15/bin", "own/bin"], &["usr/bin"]);
        machine.variable = Some(root.path().join("own/bin").into());
        assert_eq!(
            find(Service::Postgres, &machine).unwrap(),
            root.path().join("own/bin")
        );
        machine.variable = Some(root.path().join("nowhere").into());
        let error = find(Service::Postgres, &machine).unwrap_err().to_string();
        assert!(
            error.starts_with("ROOMKIT_TEST_PG_BIN is") && error.contains("initdb"),
            "{error}"
        );
    }
}
