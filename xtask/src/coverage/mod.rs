//! `cargo xtask coverage`: the lines of the core that its own tests reach, and whether it is said why the
//! others are not.

mod lines;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use self::lines::{File, read};
use self::tools::Tools;
use crate::args::Args;
use crate::command::{cargo, output, root, run as execute};
use crate::error::{Error, Result, no_problems};

/// What is measured, and by whose tests.
const PACKAGE: &str = "roomkit-core";
const SOURCE: &str = "crates/core/src/";

/// Says of each file why some of its lines are not reached.
const PAGE: &str = "docs/coverage.md";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let args = Args::parse(arguments, &["--lines"])?;
    if let Some(name) = args.names.first() {
        return Err(Error::Usage(format!("coverage takes no `{name}`")));
    }
    let tools = Tools::find()?;
    let folder = target_folder()?.join("coverage");
    let raw = folder.join("raw");
    if raw.exists() {
        fs::remove_dir_all(&raw).map_err(Error::io(&raw))?;
    }
    let programs = build(&tools.host, &folder)?;
    for program in &programs {
        let mut command = Command::new(program);
        command
            .current_dir(root().join("crates/core"))
            .env("LLVM_PROFILE_FILE", raw.join("%m-%p.profraw"))
            .stdout(Stdio::null());
        execute(&mut command)?;
    }
    let mut files = read(&tools.lines(&folder, &raw, &programs)?);
    files.retain_mut(|file| {
        let name = file
            .name
            .rsplit_once(SOURCE)
            .map(|(_, name)| name.to_owned());
        name.map(|name| file.name = name).is_some()
    });
    if files.is_empty() {
        return Err(Error::problem(format!("no line of {SOURCE} was measured")));
    }
    print!("{}", table(&files, args.lines));
    let page = root().join(PAGE);
    let text = fs::read_to_string(&page).map_err(Error::io(&page))?;
    no_problems(unnamed(&files, &text))
}

/// The files with lines that are not reached of which the page does not say why.
fn unnamed(files: &[File], page: &str) -> Vec<String> {
    let missed = files
        .iter()
        .filter(|file| file.reached() < file.lines.len());
    missed
        .filter(|file| !page.contains(&format!("`{}`", file.name)))
        .map(|file| {
            let (name, lines) = (&file.name, file.missed());
            format!("{PAGE} does not name {name}, of which these lines are not reached: {lines}")
        })
        .collect()
}

/// Builds the tests so that they note which lines they reach; returns the programs.
fn build(host: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut command = cargo([
        "test",
        "--no-run",
        "--message-format=json",
        "--target",
        host,
    ]);
    command
        .arg(format!("--package={PACKAGE}"))
        .env("CARGO_TARGET_DIR", folder)
        // With a target named, build scripts and macros are not measured.
        .env("RUSTFLAGS", "-Cinstrument-coverage");
    let programs: Vec<PathBuf> = output(&mut command)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .collect();
    if programs.is_empty() {
        return Err(Error::problem(format!("{PACKAGE} has no tests")));
    }
    Ok(programs)
}

fn target_folder() -> Result<PathBuf> {
    let text = output(&mut cargo(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    Ok(folder.map_or_else(|| root().join("target"), PathBuf::from))
}

/// A row a file, then their sum; with `name_lines` each row names the lines that are not reached.
fn table(files: &[File], name_lines: bool) -> String {
    let widest = files
        .iter()
        .map(|file| file.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for file in files {
        text.push_str(&row(&file.name, file.reached(), file.lines.len(), widest));
        if name_lines && !file.missed().is_empty() {
            text.push_str("  ");
            text.push_str(&file.missed());
        }
        text.push('\n');
    }
    let reached = files.iter().map(File::reached).sum();
    let lines = files.iter().map(|file| file.lines.len()).sum();
    text.push_str(&row("all", reached, lines, widest));
    text.push('\n');
    text
}

fn row(name: &str, reached: usize, lines: usize, widest: usize) -> String {
    // In tenths of a percent, rounded down: 100.0 is every line.
    let tenths = (reached * 1_000).checked_div(lines).unwrap_or(1_000);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    format!("{name:widest$}  {reached:>6} of {lines:>6}  {whole:>3}.{tenth} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_each_file_and_their_sum() {
        let files = read(
            "SF:/x/a.rs\nDA:1,5\nDA:2,0\nDA:3,0\nend_of_record\nSF:/x/bc.rs\nDA:9,1\nend_of_record\n",
        );
        let plain = table(&files, false);
        assert_eq!(
            plain.lines().collect::<Vec<_>>(),
            [
                "/x/a.rs        1 of      3   33.3 %",
                "/x/bc.rs       1 of      1  100.0 %",
                "all            2 of      4   50.0 %",
            ]
        );
        let named = table(&files, true);
        assert!(
            named.lines().next().unwrap().ends_with("33.3 %  2-3"),
            "{named}"
        );
    }

    #[test]
    fn a_file_of_which_all_but_one_line_is_reached_is_not_whole() {
        assert!(row("a", 9_999, 10_000, 1).ends_with("99.9 %"));
    }

    #[test]
    fn a_file_with_lines_that_are_not_reached_must_be_named_on_the_page() {
        let mut files = read(
            "SF:a.rs\nDA:1,5\nDA:2,0\nend_of_record\nSF:b/a.rs\nDA:4,0\nend_of_record\nSF:c.rs\nDA:9,1\nend_of_record\n",
        );
        let found = unnamed(&files, "- `a.rs`: why.");
        assert!(
            matches!(&*found, [one] if one.ends_with("b/a.rs, of which these lines are not reached: 4")),
            "{found:?}"
        );
        assert_eq!(unnamed(&files, "`a.rs` and `b/a.rs`"), [""; 0]);
        files.retain(|file| file.name == "c.rs");
        assert_eq!(unnamed(&files, ""), [""; 0]);
    }

    /// What is said of a file that is gone is wrong.
    #[test]
    fn the_page_about_coverage_names_files_that_exist() {
        let page = fs::read_to_string(root().join("docs/coverage.md")).unwrap();
        let named: Vec<&str> = page
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.ends_with(".rs"))
            .collect();
        assert!(named.len() > 3, "it names what is not reached");
        for name in named {
            let found = [SOURCE, ""].map(|folder| root().join(folder).join(name).is_file());
            assert!(found.contains(&true), "{name} is not there");
        }
    }
}
