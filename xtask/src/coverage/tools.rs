//! The programs of LLVM that read what measured tests leave; they must fit the compiler's LLVM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{answers, output};
use crate::error::{Error, Result};

/// `llvm-profdata` and `llvm-cov`.
#[derive(Debug)]
pub(super) struct Tools {
    profdata: PathBuf,
    cov: PathBuf,
    /// The triple of this machine.
    pub(super) host: String,
}

impl Tools {
    /// Those of the toolchain, where it has them, else those of the system with the same major
    /// version.
    pub(super) fn find() -> Result<Self> {
        let about = output(Command::new("rustc").arg("-vV"))?;
        let (host, major) = parse(&about).ok_or_else(|| {
            Error::problem(format!(
                "`rustc -vV` says nothing of host and LLVM: {about}"
            ))
        })?;
        let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]))?;
        let component = Path::new(libraries.trim()).with_file_name("bin");
        let places = [
            (component, String::new()),
            (
                PathBuf::from(format!("/usr/lib/llvm-{major}/bin")),
                String::new(),
            ),
            (PathBuf::new(), format!("-{major}")),
        ];
        for (folder, suffix) in places {
            let tool = |name: &str| folder.join(format!("{name}{suffix}"));
            let (profdata, cov) = (tool("llvm-profdata"), tool("llvm-cov"));
            let are_there = [&profdata, &cov]
                .iter()
                .all(|tool| answers(Command::new(tool).arg("--version")));
            if are_there {
                return Ok(Self {
                    profdata,
                    cov,
                    host,
                });
            }
        }
        Err(Error::problem(format!(
            "llvm-profdata and llvm-cov of LLVM {major} are needed: `rustup component add llvm-tools`, \
             or `apt-get install llvm-{major}`"
        )))
    }

    /// The report of lines, in the format of lcov.
    pub(super) fn lines(&self, folder: &Path, raw: &Path, programs: &[PathBuf]) -> Result<String> {
        let profile = folder.join("all.profdata");
        let mut merge = Command::new(&self.profdata);
        merge.args(["merge", "--sparse", "--output"]).arg(&profile);
        for entry in fs::read_dir(raw).map_err(Error::io(raw))? {
            merge.arg(entry.map_err(Error::io(raw))?.path());
        }
        output(&mut merge)?;
        let mut export = Command::new(&self.cov);
        export.args(["export", "--format=lcov"]);
        export.arg(format!("--instr-profile={}", profile.display()));
        // The first program is named alone, the others each as one more.
        for (at, program) in programs.iter().enumerate() {
            if at > 0 {
                export.arg("--object");
            }
            export.arg(program);
        }
        output(&mut export)
    }
}

/// The host's triple and the major version of LLVM, from `rustc -vV`.
fn parse(about: &str) -> Option<(String, u32)> {
    let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name));
    let major = field("LLVM version: ")?.split('.').next()?;
    Some((field("host: ")?.to_owned(), major.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_version_are_read() {
        let about = "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        assert_eq!(parse(about), Some(("x86_64-unknown-linux-gnu".into(), 22)));
        assert_eq!(parse("rustc 1.95.0"), None);
    }
}
