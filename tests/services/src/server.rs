//! A server as a process: started, awaited, stopped, paused, and gone when it is dropped.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::error::{Error, Log, Result};
use crate::folder::Folder;
use crate::process;
use crate::service::Service;
use crate::watchdog::Watchdog;

/// A new server accepts connections within this.
pub(crate) const START: Duration = Duration::from_secs(30);

/// A server that was killed first repairs what it left.
pub(crate) const START_AGAIN: Duration = Duration::from_secs(120);

/// How long a server may take to end; then it is killed.
const STOP: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_secs(10);

/// Two that look for a port at the same time may find the same one.
const PORTS_TO_TRY: usize = 8;

/// The folder and the process of a server. The order of the fields is that of their end: the folder
/// is removed before the watchdog wakes.
#[derive(Debug)]
pub(crate) struct Server {
    title: &'static str,
    /// The signal that ends it at once.
    end_signal: &'static str,
    child: Option<Child>,
    folder: Folder,
    watchdog: Watchdog,
    paused: bool,
}

impl Server {
    /// A folder without a server as yet.
    pub(crate) fn new(service: Service, end_signal: &'static str) -> Result<Self> {
        let folder = Folder::new(service.name())?;
        let watchdog = Watchdog::new(folder.path(), end_signal)?;
        Ok(Self {
            title: service.title(),
            end_signal,
            child: None,
            folder,
            watchdog,
            paused: false,
        })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where everything goes that the server and its tools print.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Whether it runs; a test may have killed it by a way of its own.
    pub(crate) fn is_running(&mut self) -> Result<bool> {
        match &mut self.child {
            Some(child) => Ok(process::ended(child, self.title)?.is_none()),
            None => Ok(false),
        }
    }

    /// Starts the server that `command` makes for a port, on a free one, which is returned.
    pub(crate) fn start_on_free_port(
        &mut self,
        command: impl Fn(u16) -> Command,
        is_ready: impl Fn(u32, u16) -> bool,
    ) -> Result<u16> {
        let mut tries = 1;
        loop {
            let port = crate::port::free()?;
            match self.start(&mut command(port), START, |process| is_ready(process, port)) {
                Ok(()) => return Ok(port),
                Err(Error::Ended { log, .. })
                    if tries < PORTS_TO_TRY && log.contains("Address already in use") =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts the server and waits until `is_ready`, given its process, says so.
    pub(crate) fn start(
        &mut self,
        command: &mut Command,
        within: Duration,
        is_ready: impl Fn(u32) -> bool,
    ) -> Result<()> {
        let log = self.log();
        // Each start has a log of its own, so that an error shows what belongs to it.
        let _ = std::fs::remove_file(&log);
        let mut child = process::spawn(command.process_group(0), &log)?;
        let number = child.id();
        let title = self.title;
        let ready = self.watchdog.watch(number).and_then(|()| {
            process::poll(within, || match process::ended(&mut child, title)? {
                Some(status) => Err(Error::Ended {
                    what: title.to_owned(),
                    status,
                    log: Log::end_of(&log),
                }),
                None => Ok(is_ready(number).then_some(())),
            })
        });
        self.child = Some(child);
        match ready {
            Ok(Some(())) => Ok(()),
            Ok(None) => {
                let log = Log::end_of(&log);
                self.stop(self.end_signal)?;
                Err(Error::Slow {
                    what: title.to_owned(),
                    state: "ready",
                    within,
                    log,
                })
            }
            Err(error) => {
                self.stop(self.end_signal)?;
                Err(error)
            }
        }
    }

    /// Sends the signal that ends the server, and waits for its end. Nothing where it has ended.
    pub(crate) fn stop(&mut self, signal: &str) -> Result<()> {
        if self.paused {
            self.resume()?;
        }
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        // A child that ends after this look keeps its number until it is waited for, so that the
        // signal reaches nobody else.
        if process::ended(&mut child, self.title)?.is_none() {
            process::signal(signal, &[child.id()])?;
        }
        let stopped = process::wait(&mut child, self.title, STOP)?;
        if stopped.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.watchdog.rest();
        match stopped {
            Some(_) => Ok(()),
            None => Err(Error::Slow {
                what: self.title.to_owned(),
                state: "stopped",
                within: STOP,
                log: Log::end_of(&self.log()),
            }),
        }
    }

    /// Stops the clock of the server and its children: connections stay open, and nothing answers.
    pub(crate) fn pause(&mut self) -> Result<()> {
        let server = self.process()?;
        self.paused = true;
        // The server first: one that is stopped starts no more children.
        process::signal("STOP", &[server])?;
        self.still(server)?;
        let children = process::children(server)?;
        process::signal("STOP", &children)?;
        children.into_iter().try_for_each(|child| self.still(child))
    }

    pub(crate) fn resume(&mut self) -> Result<()> {
        let server = self.process()?;
        process::signal("CONT", &process::children(server)?)?;
        process::signal("CONT", &[server])?;
        self.paused = false;
        Ok(())
    }

    fn process(&self) -> Result<u32> {
        self.child
            .as_ref()
            .map(Child::id)
            .ok_or(Error::Stopped(self.title))
    }

    fn still(&self, process: u32) -> Result<()> {
        let still = process::poll(PAUSE, || Ok(process::is_still(process).then_some(())))?;
        still.ok_or_else(|| Error::Slow {
            what: self.title.to_owned(),
            state: "paused",
            within: PAUSE,
            log: Log::end_of(&self.log()),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What it would write in a graceful end is thrown away anyway.
        let _ = self.stop(self.end_signal);
    }
}

/// The environment of a server and its tools: the language of their messages is known, and the
/// settings that the one who runs the tests has for other servers do not count.
pub(crate) fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("LC_ALL", "C")
        .env_remove("LANGUAGE")
        .current_dir("/");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(&name);
        }
    }
    command
}
