//! `roomkit-conformance FILE...`: checks conformance files and says what differs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use roomkit_testkit::conformance::{Summary, check_file};

const USAGE: &str = "\
usage: roomkit-conformance [--trace] [--self-check] FILE...

Checks scenarios, turn files and planner vectors; the exit code is 0 when all pass, 1 when one does not.

  --trace       prints each trace as JSON; the verdicts go to the error stream
  --self-check  also checks that a change of anything that a file expects would be noticed";

/// What is written when the command line makes no sense.
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let (mut trace, mut self_check, mut only_files) = (false, false, false);
    let mut files: Vec<PathBuf> = Vec::new();
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--") if !only_files => only_files = true,
            Some("--trace") if !only_files => trace = true,
            Some("--self-check") if !only_files => self_check = true,
            Some("--help" | "-h") if !only_files => {
                return exit(write(&mut io::stdout(), USAGE), ExitCode::SUCCESS);
            }
            Some(option) if !only_files && option.starts_with('-') => {
                let message = format!("unknown option {option}\n{USAGE}");
                return exit(write(&mut io::stderr(), &message), ExitCode::from(MISUSED));
            }
            _ => files.push(argument.into()),
        }
    }
    if files.is_empty() {
        return exit(write(&mut io::stderr(), USAGE), ExitCode::from(MISUSED));
    }
    match check(&files, trace, self_check) {
        Ok(summary) if summary.all_passed() => ExitCode::SUCCESS,
        Ok(_) | Err(_) => ExitCode::FAILURE,
    }
}

fn check(files: &[PathBuf], trace: bool, self_check: bool) -> io::Result<Summary> {
    let mut verdicts: Box<dyn Write> = if trace {
        Box::new(io::stderr())
    } else {
        Box::new(io::stdout())
    };
    let mut summary = Summary::default();
    for file in files {
        let report = check_file(file, self_check);
        if let Some(found) = report.trace.as_ref().filter(|_| trace) {
            write(&mut io::stdout(), &format!("{found:#}"))?;
        }
        write(&mut verdicts, &report.to_string())?;
        summary.add(&report);
    }
    write(&mut verdicts, &summary.to_string())?;
    Ok(summary)
}

fn write(stream: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(stream, "{text}")
}

/// The code to leave with, unless what there was to say could not be written.
fn exit(written: io::Result<()>, code: ExitCode) -> ExitCode {
    match written {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}
