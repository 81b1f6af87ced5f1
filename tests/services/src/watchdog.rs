//! What stops a server when the process that started it is gone, however that ended.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::process::{start, wait};

/// Reads until the pipe to its parent closes, then stops the server whose number the folder's file
/// `pid` holds, if there is one, and removes the folder. Numbers of processes are used again, but
/// not within the moment between a server's end and the removal of its file. In a container nobody may
/// collect a server that has ended, so that its number stays.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
if read -r server <"$1/pid"; then
    kill -s CONT "$server"
    kill -s "$2" "$server"
    looks=100
    while kill -s 0 "$server" && [ "$looks" -gt 0 ]; do
        case $(cat "/proc/$server/stat") in *') Z '*) break ;; esac
        sleep 0.1
        looks=$((looks - 1))
    done
    kill -s KILL "$server"
fi
rm -rf "$1"
"#;

/// The script has less to do when its parent has cleaned up; it never takes this long.
const END: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    file: PathBuf,
}

impl Watchdog {
    pub(crate) fn new(folder: &Path, end_signal: &str) -> Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh"])
            .arg(folder)
            .arg(end_signal)
            .current_dir("/")
            // Ctrl-C reaches the terminal's group of processes, of which this must not be one.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            shell: command.spawn().map_err(start(&command))?,
            file: folder.join("pid"),
        })
    }

    /// Names the server to stop.
    pub(crate) fn watch(&self, server: u32) -> Result<()> {
        std::fs::write(&self.file, format!("{server}\n")).map_err(Error::io(&self.file))
    }

    /// The server has ended.
    pub(crate) fn rest(&self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = wait(&mut self.shell, "sh", END);
    }
}
