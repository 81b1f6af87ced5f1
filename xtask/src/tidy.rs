//! The habits that a machine can check: module docs, file size, leftovers, what each crate carries.

use std::fs;
use std::path::{Path, PathBuf};

use crate::api_docs;
use crate::command::root;
use crate::error::{Error, Result, no_problems};
use crate::metadata::{self, Package};
use crate::stage::Outcome;

/// A longer file holds more than one idea.
const MOST_LINES: usize = 600;

const README_AS_DOCS: &str = "#![doc = include_str!(\"../README.md\")]";

/// Code that must not be left behind. Written in halves, so that this file passes its own check.
const LEFTOVERS: [&str; 3] = [
    concat!("todo", "!("),
    concat!("dbg", "!("),
    concat!("#[", "ignore"),
];

/// Paths that exist on one machine only.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/tmp", "/wt")];

/// Names under which nothing of ours is found; `.git` is a file in a linked work tree.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

pub(crate) fn run() -> Result<Outcome> {
    let mut problems = Vec::new();
    for path in files(&root())? {
        // What is not UTF-8 is media, not text.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let name = path
            .strip_prefix(root())
            .unwrap_or(&path)
            .display()
            .to_string();
        problems.extend(check_text(&name, &text));
        if name.ends_with(".rs") {
            problems.extend(check_rust(&name, &text));
            problems.extend(api_docs::check(&name, &text));
        }
    }
    for package in metadata::read()?.packages {
        let folder = root().join(&package.folder);
        let manifest = folder.join("Cargo.toml");
        let manifest_text = fs::read_to_string(&manifest).map_err(Error::io(&manifest))?;
        let library = package.library().map(fs::read_to_string).transpose();
        let library = library.map_err(Error::io(&folder))?;
        let has_readme = folder.join("README.md").is_file();
        problems.extend(check_crate(
            &package,
            &manifest_text,
            has_readme,
            library.as_deref(),
        ));
    }
    no_problems(problems)?;
    Ok(Outcome::Passed)
}

/// Every file below the folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let kind = entry.file_type().map_err(Error::io(&entry.path()))?;
        if SKIPPED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_file() {
            found.push(entry.path());
        } else if kind.is_dir() {
            found.extend(files(&entry.path())?);
        }
    }
    found.sort();
    Ok(found)
}

/// Findings in a text file of any kind.
fn check_text(name: &str, text: &str) -> Vec<String> {
    numbered(text)
        .flat_map(|(number, line)| {
            MACHINE_PATHS
                .iter()
                .filter(move |path| line.contains(*path))
                .map(move |path| format!("{name}:{number}: names a machine's path, `{path}`"))
        })
        .collect()
}

/// Findings in a Rust file.
fn check_rust(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let documented = text.starts_with("//! ") || text.starts_with(README_AS_DOCS);
    if !documented && !name.ends_with("build.rs") {
        problems.push(format!(
            "{name}:1: the first line must be a `//! ` that says what it owns"
        ));
    }
    let lines = text.lines().count();
    if lines > MOST_LINES {
        problems.push(format!(
            "{name}: {lines} lines; split it, {MOST_LINES} is the most"
        ));
    }
    for (number, line) in numbered(text).filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for leftover in LEFTOVERS.iter().filter(|leftover| line.contains(*leftover)) {
            problems.push(format!("{name}:{number}: `{leftover}` is left behind"));
        }
    }
    problems
}

/// Findings about what a package carries besides its code.
fn check_crate(
    package: &Package,
    manifest: &str,
    has_readme: bool,
    library: Option<&str>,
) -> Vec<String> {
    let mut missing = Vec::new();
    if !inherits_lints(manifest) {
        missing.push("`[lints] workspace = true` in Cargo.toml");
    }
    if package.is_published() {
        for (field, name) in [
            (&package.description, "`description` in Cargo.toml"),
            (&package.license, "`license` in Cargo.toml"),
            (&package.repository, "`repository` in Cargo.toml"),
        ] {
            if field.as_ref().is_none_or(|text| text.trim().is_empty()) {
                missing.push(name);
            }
        }
        if !has_readme {
            missing.push("README.md");
        }
        if library.is_some_and(|text| !text.lines().any(|line| line == README_AS_DOCS)) {
            missing.push("the README as the docs of lib.rs, `#![doc = include_str!(..)]`");
        }
    }
    missing
        .iter()
        .map(|what| format!("{}: lacks {what}", package.folder))
        .collect()
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(|line| line.replace(' ', ""));
    lines.any(|line| line == "[lints]") && lines.next().as_deref() == Some("workspace=true")
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[package]\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_tidy_file_has_no_findings() {
        assert_eq!(check_rust("a.rs", "//! Owns a.\n\nfn a() {}\n"), [""; 0]);
        assert_eq!(
            check_rust("lib.rs", &format!("{README_AS_DOCS}\n\nmod a;\n")),
            [""; 0]
        );
        assert_eq!(check_rust("build.rs", "fn main() {}\n"), [""; 0]);
    }

    #[test]
    fn a_file_without_module_doc_is_found() {
        for text in [
            "",
            "\n//! Late.\n",
            "// Not a doc.\n",
            "//!\n",
            "use std::fs;\n",
        ] {
            assert_eq!(check_rust("a.rs", text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let text = |lines| format!("//! Long.\n{}", "\n".repeat(lines - 1));
        assert!(check_rust("a.rs", &text(MOST_LINES)).is_empty());
        assert_eq!(check_rust("a.rs", &text(MOST_LINES + 1)).len(), 1);
    }

    #[test]
    fn leftovers_are_found_in_code_and_not_in_comments() {
        for leftover in LEFTOVERS {
            let problems = check_rust("a.rs", &format!("//! A.\n    {leftover}"));
            assert_eq!(problems, [format!("a.rs:2: `{leftover}` is left behind")]);
            assert!(check_rust("a.rs", &format!("//! A.\n    // {leftover}")).is_empty());
        }
    }

    #[test]
    fn machine_paths_are_found_anywhere() {
        for path in MACHINE_PATHS {
            let problems = check_text("a.md", &format!("fine\nsee {path}x"));
            assert_eq!(
                problems,
                [format!("a.md:2: names a machine's path, `{path}`")]
            );
        }
        assert!(check_text("a.md", "see /tmp/x and https://example.org/works").is_empty());
    }

    #[test]
    fn a_complete_crate_has_no_findings() {
        let package = Package::sample("roomkit-core", "crates/core");
        assert!(check_crate(&package, LINTS, true, Some(README_AS_DOCS)).is_empty());
        assert!(check_crate(&package, LINTS, true, None).is_empty());
    }

    #[test]
    fn everything_a_crate_lacks_is_found() {
        let mut package = Package::sample("roomkit-core", "crates/core");
        package.description = None;
        package.license = Some(" ".into());
        package.repository = None;
        let problems = check_crate(&package, "[package]", false, Some("//! Own docs."));
        assert_eq!(problems.len(), 6, "{problems:#?}");
    }

    #[test]
    fn lints_must_be_inherited_in_their_table() {
        assert!(inherits_lints(LINTS));
        assert!(!inherits_lints("[package]\nworkspace = true\n[lints]\n"));
        assert!(!inherits_lints("[lints]\nworkspace = false\n"));
    }

    #[test]
    fn a_tool_needs_no_readme_but_the_lints() {
        let mut package = Package::sample("xtask", "xtask");
        package.publish = Some(Vec::new());
        assert!(check_crate(&package, LINTS, false, None).is_empty());
        assert_eq!(check_crate(&package, "", false, None).len(), 1);
    }
}
