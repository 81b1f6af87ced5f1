//! Servers that are really started, stopped, killed and left behind.
#![expect(
    clippy::unwrap_used,
    reason = "test helpers are outside the exemption for test functions"
)]

mod orphans;
mod postgres;
mod redis;
mod shared;

use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until something is so; the tests fail where it takes more than half a minute.
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether anybody listens on a port.
fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Whether a process is there; a zombie is not.
fn lives(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
}
