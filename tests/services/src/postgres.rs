//! A PostgreSQL server of one's own.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::process;
use crate::server::{START_AGAIN, Server, clean};
use crate::service::Service;

/// `initdb` writes some 40 MB.
const INITDB: Duration = Duration::from_secs(120);

const TOOL: Duration = Duration::from_secs(60);

/// The path of a socket has a hard limit of a hundred bytes or so, its name is a part of it.
const LONGEST_SOCKET_FOLDER: usize = 80;

/// How a server differs from the default: 200 connections, and `fsync` on as in production, since
/// tests kill it.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// Settings as in `postgresql.conf`, name and value; they override the defaults.
    pub settings: Vec<(String, String)>,
}

/// A PostgreSQL server on the loopback interface, with the user `postgres` and no password. It is
/// stopped, and its data removed, when this is dropped.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    binaries: PathBuf,
    user: Option<User>,
    port: u16,
    options: PostgresOptions,
}

impl Postgres {
    /// Makes a server and starts it; it accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where the machine has no PostgreSQL. A server that ends or takes more
    /// than 30 seconds is an error that shows the end of its log.
    pub fn start(options: &PostgresOptions) -> Result<Self> {
        let binaries = Service::Postgres.find()?;
        let mut server = Server::new(Service::Postgres, "QUIT")?;
        let folder = server.folder().path().to_owned();
        let user = if server.folder().is_roots()? {
            let user = User::to_run_as()?;
            chown(&folder, Some(user.id), Some(user.group)).map_err(Error::io(&folder))?;
            Some(user)
        } else {
            None
        };
        let mut initdb = clean(&binaries.join("initdb"));
        initdb
            .arg("--pgdata")
            .arg(data(&folder))
            // Every machine has the locale C, and its order of text is the same on all of them.
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
            ])
            // Data that is being made has nothing to lose.
            .arg("--no-sync");
        process::run(run_as(user, &mut initdb), &server.log(), INITDB)?;
        let port = server.start_on_free_port(
            |port| command(&binaries, user, &folder, port, options),
            |process, _| is_ready(&folder, process),
        )?;
        Ok(Self {
            server,
            binaries,
            user,
            port,
            options: options.clone(),
        })
    }

    /// The address of the database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The port it listens on, the same from start to start.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the binaries, `psql` among them.
    #[must_use]
    pub fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// The temporary folder, which holds the data and the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.server.folder().path()
    }

    /// Makes an empty database and returns its address.
    ///
    /// # Errors
    ///
    /// Where the name is taken, or is more than lower-case letters, digits and `_`.
    pub fn create_database(&self, name: &str) -> Result<String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(Error::DatabaseName(name.to_owned()));
        }
        let mut createdb = clean(&self.binaries.join("createdb"));
        createdb
            .args(["--host=127.0.0.1", "--username=postgres", "--no-password"])
            .arg(format!("--port={}", self.port))
            .arg(name);
        let log = self.folder().join("createdb.log");
        process::run(&mut createdb, &log, TOOL)?;
        Ok(self.url_of(name))
    }

    /// Ends the server in order: sessions are cut, what is committed is written out.
    ///
    /// # Errors
    ///
    /// Where it takes more than 30 seconds; it is killed then.
    pub fn stop(&mut self) -> Result<()> {
        self.server.stop("INT")
    }

    /// Ends the server at once, as `pg_ctl stop -m immediate` does: the next start recovers.
    ///
    /// # Errors
    ///
    /// Where it takes more than 30 seconds; it is killed then.
    pub fn stop_immediate(&mut self) -> Result<()> {
        self.server.stop("QUIT")
    }

    /// Starts the server that was stopped, on the same port with the same data. Nothing where it
    /// was not stopped.
    ///
    /// # Errors
    ///
    /// Where it does not accept connections within 120 seconds, recovery included.
    pub fn start_again(&mut self) -> Result<()> {
        if self.server.is_running()? {
            return Ok(());
        }
        let folder = self.folder().to_owned();
        let mut command = command(&self.binaries, self.user, &folder, self.port, &self.options);
        self.server.start(&mut command, START_AGAIN, |process| {
            is_ready(&folder, process)
        })
    }

    /// Freezes the server with all its sessions: connections stay open and nothing answers, as in a
    /// network that lost its way. New connections open, and get no answer either. Linux only.
    ///
    /// # Errors
    ///
    /// Where the server is stopped.
    pub fn pause(&mut self) -> Result<()> {
        self.server.pause()
    }

    /// Undoes [`Postgres::pause`].
    ///
    /// # Errors
    ///
    /// Where the server is stopped.
    pub fn resume(&mut self) -> Result<()> {
        self.server.resume()
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn command(
    binaries: &Path,
    user: Option<User>,
    folder: &Path,
    port: u16,
    options: &PostgresOptions,
) -> Command {
    let mut command = clean(&binaries.join("postgres"));
    command.arg("-D").arg(data(folder));
    let sockets = folder.to_string_lossy();
    let sockets = if sockets.len() <= LONGEST_SOCKET_FOLDER {
        &sockets
    } else {
        ""
    };
    let port = port.to_string();
    let defaults = [
        ("listen_addresses", "127.0.0.1"),
        ("port", &port),
        ("unix_socket_directories", sockets),
        ("max_connections", "200"),
        ("shared_buffers", "32MB"),
        ("logging_collector", "off"),
    ];
    let own = options
        .settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in defaults.into_iter().chain(own) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    run_as(user, &mut command);
    command
}

/// Whether this process, and no other server on the port, accepts connections: the file says so of
/// the server that wrote it, in its first and its eighth line.
fn is_ready(folder: &Path, process: u32) -> bool {
    let text = fs::read_to_string(data(folder).join("postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines().map(str::trim);
    lines.next() == Some(process.to_string().as_str()) && lines.nth(6) == Some("ready")
}

/// Whom to run as when root.
#[derive(Debug, Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

impl User {
    /// The user that comes with Debian's package, else the one whom nothing belongs to.
    fn to_run_as() -> Result<Self> {
        let number = |option: &str, name: &str| -> Option<u32> {
            let output = Command::new("id").args([option, name]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| {
                Some(Self {
                    id: number("-u", name)?,
                    group: number("-g", name)?,
                })
            })
            .ok_or(Error::NoUser)
    }
}

fn run_as(user: Option<User>, command: &mut Command) -> &mut Command {
    match user {
        // This drops root's other groups as well.
        Some(user) => command.uid(user.id).gid(user.group),
        None => command,
    }
}
