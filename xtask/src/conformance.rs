//! `cargo xtask conformance`: the recorded scenarios, and proof that their checker can fail.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::command::{cargo, root, run as execute};
use crate::error::{Error, Result};
use crate::metadata;

const RUNNER: &str = "roomkit-testkit";

/// Runs the files named, or all that the repository keeps.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let named: Vec<PathBuf> = Args::names(arguments)?.iter().map(PathBuf::from).collect();
    let files = if named.is_empty() {
        kept(&root().join("tests/conformance"))?
    } else {
        // Cargo starts in the root; the contributor may stand elsewhere.
        named
            .iter()
            .map(fs::canonicalize)
            .collect::<std::io::Result<_>>()
            .map_err(|source| Error::Io {
                path: named.first().cloned().unwrap_or_default(),
                source,
            })?
    };
    if !metadata::read()?
        .packages
        .iter()
        .any(|package| package.name == RUNNER)
    {
        return Err(Error::problem(format!(
            "the workspace has no {RUNNER} to run them with"
        )));
    }
    for options in [&[][..], &["--self-check"]] {
        let mut command = cargo(["run", "--quiet", "--package", RUNNER]);
        command
            .args(["--bin", "roomkit-conformance", "--"])
            .args(options)
            .args(&files);
        execute(&mut command)?;
    }
    Ok(())
}

/// The planner's cases, the recorded scenarios and the project's own, each group sorted.
fn kept(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = json_files(&folder.join("scenarios"))?;
    if files.is_empty() {
        let place = folder.join("scenarios");
        return Err(Error::problem(format!(
            "no scenario is kept in {}",
            place.display()
        )));
    }
    let planner = folder.join("planner.json");
    fs::metadata(&planner).map_err(Error::io(&planner))?;
    files.push(planner);
    let own = folder.join("own");
    if own.is_dir() {
        files.extend(json_files(&own)?);
    }
    Ok(files)
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_kept_is_found_and_what_is_missing_is_an_error() {
        let folder = Scratch::new("conformance");
        assert!(kept(&folder).is_err(), "no folder of scenarios");
        fs::create_dir_all(folder.join("scenarios")).unwrap();
        fs::write(folder.join("planner.json"), "{}").unwrap();
        assert!(
            kept(&folder)
                .unwrap_err()
                .to_string()
                .contains("no scenario is kept")
        );
        for name in ["b.json", "a.json", "notes.md"] {
            fs::write(folder.join("scenarios").join(name), "{}").unwrap();
        }
        fs::create_dir(folder.join("own")).unwrap();
        fs::write(folder.join("own/c.json"), "{}").unwrap();
        let names: Vec<_> = kept(&folder)
            .unwrap()
            .iter()
            .map(|path| path.strip_prefix(&*folder).unwrap().display().to_string())
            .collect();
        assert_eq!(
            names,
            [
                "scenarios/a.json",
                "scenarios/b.json",
                "planner.json",
                "own/c.json"
            ]
        );
        fs::remove_file(folder.join("planner.json")).unwrap();
        assert!(kept(&folder).is_err(), "no planner cases");
    }
}
