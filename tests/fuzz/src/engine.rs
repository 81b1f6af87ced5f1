//! libFuzzer: it is built with coverage, run for a while on each target, and its corpus is made small.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Result, Target, corpus};

/// What makes the compiler count which edges of the program an input takes.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

/// The longest input that is tried, in bytes.
const LONGEST: usize = 2_048;

/// How long one input may take before it counts as one that hangs, in seconds.
const SLOWEST: u32 = 10;

/// How much memory the targets may take, in megabytes.
const MOST_MEMORY: u32 = 2_048;

/// The engine, built.
#[derive(Debug)]
pub struct Engine {
    program: PathBuf,
    folder: PathBuf,
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// How many inputs were tried.
    pub executions: u64,
    /// How many edges of the program the corpus takes.
    pub edges: u64,
    /// How many inputs are kept.
    pub corpus: usize,
    /// The input that broke a promise.
    pub found: Option<PathBuf>,
}

impl Engine {
    /// Builds it.
    ///
    /// # Errors
    /// Where there is no C++ compiler, or the build fails.
    pub fn build() -> Result<Self> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        if !answers(Command::new(compiler).arg("--version")) {
            return Err(Error::Missing {
                program: "c++",
                help: "libFuzzer is C++; `apt-get install g++`, or set CXX",
            });
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| here.join("../../target"));
        let (folder, host) = (target.join("fuzz"), host()?);
        // The versions are the workspace's; what only the engine needs is added.
        let (from, to) = (
            here.join("../../Cargo.lock"),
            here.join("engine/Cargo.lock"),
        );
        fs::copy(&from, &to).map_err(Error::io(&from))?;
        let mut cargo = Command::new("cargo");
        // With a target named, build scripts and macros go without the coverage.
        cargo
            .args(["build", "--release", "--target", &host])
            .current_dir(here.join("engine"))
            .env("CARGO_TARGET_DIR", &folder)
            .env("RUSTFLAGS", COVERAGE);
        run(&mut cargo)?;
        let program = folder.join(host).join("release/roomkit-fuzz-engine");
        Ok(Self { program, folder })
    }

    /// Tries inputs on a target for so many seconds and keeps those that its corpus lacks.
    ///
    /// # Errors
    /// Where the engine cannot be run, or the corpus not be written.
    pub fn run(&self, target: &Target, seconds: u64) -> Result<Run> {
        let folder = self.folder.join("corpus").join(target.name);
        let (work, small) = (folder.join("work"), folder.join("small"));
        empty(&small)?;
        empty(&work)?;
        let inputs = (target.seeds)().into_iter().chain(corpus::read(target)?);
        for (at, input) in inputs.enumerate() {
            let path = work.join(format!("{at:05}"));
            fs::write(&path, input).map_err(Error::io(&path))?;
        }
        let mut search = self.command(target);
        search.arg(format!("-max_total_time={seconds}")).arg(&work);
        let talk = heard(&mut search)?;
        let mut run = read(&talk);
        if run.found.is_none() {
            let mut merge = self.command(target);
            merge.arg("-merge=1").arg(&small).arg(&work);
            heard(&mut merge)?;
            run.corpus = corpus::write(target, texts(&small)?)?;
        }
        Ok(run)
    }

    fn command(&self, target: &Target) -> Command {
        let mut command = Command::new(&self.program);
        let found = self.folder.join("found").join(target.name);
        // Where it cannot be made the engine says so.
        let _ = fs::create_dir_all(&found);
        command
            .env("ROOMKIT_FUZZ_TARGET", target.name)
            .arg(format!("-artifact_prefix={}/", found.display()))
            .arg(format!("-max_len={LONGEST}"))
            .arg(format!("-timeout={SLOWEST}"))
            .arg(format!("-rss_limit_mb={MOST_MEMORY}"))
            .args(["-print_final_stats=1", "-verbosity=1"]);
        command
    }
}

/// What the engine said, as figures.
fn read(talk: &str) -> Run {
    let mut run = Run::default();
    for line in talk.lines() {
        if let Some(executed) = line.strip_prefix("stat::number_of_executed_units:") {
            run.executions = executed.trim().parse().unwrap_or_default();
        }
        let mut words = line.split_whitespace();
        if words.any(|word| word == "cov:") {
            let edges = words.next().and_then(|edges| edges.parse().ok());
            run.edges = edges.unwrap_or(run.edges);
        }
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            run.found = Some(path.trim().into());
        }
    }
    run
}

/// Runs a program that talks on its error stream, and returns what it said, whether it failed or not:
/// the engine fails where it found something, which it says.
fn heard(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdout(Stdio::null()).output();
    let output = output.map_err(Error::io(&program))?;
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        eprintln!("{talk}");
        if read(&talk).found.is_none() {
            return Err(Error::Failed(program));
        }
    }
    Ok(talk)
}

/// The inputs in a folder that are text; nothing else is ever looked at.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        texts.extend(String::from_utf8(bytes));
    }
    Ok(texts)
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Error::io(folder))?;
    }
    fs::create_dir_all(folder).map_err(Error::io(folder))
}

/// The triple of this machine.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(Error::io("rustc"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::Failed("rustc -vV".into()))
}

fn run(command: &mut Command) -> Result<()> {
    // What is printed to the output is the figures'.
    let status = command.stdout(Stdio::null()).status();
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = status.map_err(Error::io(&shown))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Failed(format!("{shown} build")))
    }
}

fn answers(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
