//! Signals, states and ends of processes, without unsafe code: `sh` sends, `/proc` tells.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Log, Result};

/// How often something awaited is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Sends a signal; a process that has ended meanwhile does not get it.
pub(crate) fn signal(name: &str, processes: &[u32]) -> Result<()> {
    // `kill` is part of every shell, but a program of its own only where someone installed it.
    let script = "signal=$1; shift; for process; do kill -s \"$signal\" \"$process\"; done";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh", name])
        .args(processes.iter().map(u32::to_string))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().map_err(start(&command)).map(|_| ())
}

/// Looks again and again until there is an answer; none when the time is over.
pub(crate) fn poll<T>(
    within: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let end = Instant::now() + within;
    loop {
        if let Some(answer) = look()? {
            return Ok(Some(answer));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// How a child ended; none where it still runs when the time is over.
pub(crate) fn wait(child: &mut Child, what: &str, within: Duration) -> Result<Option<ExitStatus>> {
    poll(within, || ended(child, what))
}

/// How a child ended, if it has.
pub(crate) fn ended(child: &mut Child, what: &str) -> Result<Option<ExitStatus>> {
    child.try_wait().map_err(Error::io(Path::new(what)))
}

/// Runs a program to its end, which must be a good one; what it prints goes to the log.
pub(crate) fn run(command: &mut Command, log: &Path, within: Duration) -> Result<()> {
    let what = command.get_program().to_string_lossy().into_owned();
    let mut child = spawn(command, log)?;
    match wait(&mut child, &what, within)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Error::Ended {
            what,
            status,
            log: Log::end_of(log),
        }),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(Error::Slow {
                what,
                state: "done",
                within,
                log: Log::end_of(log),
            })
        }
    }
}

/// Starts a program with nothing to read, whose output is added to the log.
pub(crate) fn spawn(command: &mut Command, log: &Path) -> Result<Child> {
    let open = || fs::OpenOptions::new().create(true).append(true).open(log);
    let (out, errors) = (
        open().map_err(Error::io(log))?,
        open().map_err(Error::io(log))?,
    );
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    command.spawn().map_err(start(command))
}

/// For `map_err` on starting a program.
pub(crate) fn start(command: &Command) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let program = command.get_program().to_string_lossy().into_owned();
    move |source| Error::Start { program, source }
}

/// What `/proc` says of a process: its state's letter and its parent. None where it is gone.
fn stat(process: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything, brackets and spaces included.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process is stopped or gone.
pub(crate) fn is_still(process: u32) -> bool {
    stat(process).is_none_or(|(state, _)| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// The processes that this one started and that still run.
pub(crate) fn children(process: u32) -> Result<Vec<u32>> {
    let proc = Path::new("/proc");
    let mut found = Vec::new();
    for entry in fs::read_dir(proc).map_err(Error::io(proc))?.flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        found.extend(number.filter(|number| stat(*number).is_some_and(|(_, of)| of == process)));
    }
    Ok(found)
}
