//! A Redis server of one's own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::Result;
use crate::server::{START_AGAIN, Server, clean};
use crate::service::Service;

/// How a server keeps its data: by default not at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct RedisOptions {
    /// Whether each write goes to a file, which the next start reads.
    pub appendonly: bool,
    /// When that file is forced to the disk.
    pub appendfsync: AppendFsync,
}

/// When Redis forces its file to the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AppendFsync {
    /// Before each answer.
    Always,
    /// Each second, as Redis does unless told otherwise.
    #[default]
    EverySecond,
    /// When the system likes.
    Never,
}

/// A Redis server on the loopback interface, without a password. It is stopped, and its data
/// removed, when this is dropped.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    binary: PathBuf,
    port: u16,
    options: RedisOptions,
}

impl Redis {
    /// Makes a server and starts it; it accepts commands when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) where the machine has no Redis. A server that ends
    /// or takes more than 30 seconds is an error that shows the end of its log.
    pub fn start(options: &RedisOptions) -> Result<Self> {
        let binary = Service::Redis.find()?;
        let mut server = Server::new(Service::Redis, "KILL")?;
        let folder = server.folder().path().to_owned();
        let port = server
            .start_on_free_port(|port| command(&binary, &folder, port, *options), is_ready)?;
        Ok(Self {
            server,
            binary,
            port,
            options: *options,
        })
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// The port it listens on, the same from start to start.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The temporary folder, which holds the data and the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.server.folder().path()
    }

    /// Ends the server in order.
    ///
    /// # Errors
    ///
    /// Where it takes more than 30 seconds; it is killed then.
    pub fn stop(&mut self) -> Result<()> {
        self.server.stop("TERM")
    }

    /// Kills the server: what is not in its file is lost.
    ///
    /// # Errors
    ///
    /// Where it takes more than 30 seconds.
    pub fn stop_immediate(&mut self) -> Result<()> {
        self.server.stop("KILL")
    }

    /// Starts the server that was stopped, on the same port with the data of its file. Nothing where
    /// it was not stopped.
    ///
    /// # Errors
    ///
    /// Where it does not accept commands within 120 seconds, reading the file included.
    pub fn start_again(&mut self) -> Result<()> {
        if self.server.is_running()? {
            return Ok(());
        }
        let port = self.port;
        let mut command = command(
            &self.binary,
            self.server.folder().path(),
            port,
            self.options,
        );
        self.server
            .start(&mut command, START_AGAIN, |process| is_ready(process, port))
    }

    /// Freezes the server: connections stay open, new ones open, and nothing answers. Linux only.
    ///
    /// # Errors
    ///
    /// Where the server is stopped.
    pub fn pause(&mut self) -> Result<()> {
        self.server.pause()
    }

    /// Undoes [`Redis::pause`].
    ///
    /// # Errors
    ///
    /// Where the server is stopped.
    pub fn resume(&mut self) -> Result<()> {
        self.server.resume()
    }
}

fn command(binary: &Path, folder: &Path, port: u16, options: RedisOptions) -> Command {
    let mut command = clean(binary);
    command
        .args(["--bind", "127.0.0.1", "--daemonize", "no", "--save", ""])
        .args(["--port", &port.to_string()])
        .arg("--dir")
        .arg(folder)
        .args([
            "--appendonly",
            if options.appendonly { "yes" } else { "no" },
        ])
        .args([
            "--appendfsync",
            match options.appendfsync {
                AppendFsync::Always => "always",
                AppendFsync::EverySecond => "everysec",
                AppendFsync::Never => "no",
            },
        ]);
    command
}

/// Whether this process, and no other server on the port, takes commands. A server that still reads
/// its file answers the first of the two with an error.
fn is_ready(process: u32, port: u16) -> bool {
    answer(port, b"PING\r\nINFO server\r\n").is_ok_and(|text| {
        text.starts_with("+PONG") && text.contains(&format!("process_id:{process}\r\n"))
    })
}

/// All that the server answers; an error where it falls silent for a second.
fn answer(port: u16, commands: &[u8]) -> std::io::Result<String> {
    let second = Duration::from_secs(1);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, second)?;
    stream.set_read_timeout(Some(second))?;
    stream.set_write_timeout(Some(second))?;
    stream.write_all(commands)?;
    // Answers may come in pieces; the server closes when it has given the last.
    stream.write_all(b"QUIT\r\n")?;
    let mut text = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
