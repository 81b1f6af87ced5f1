//! Free ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

/// Below the ports that systems give to outgoing connections (32768 and up on Linux). A client that
/// keeps trying to reach a stopped server on one of those may at last connect to itself, and would
/// keep the server from starting again.
const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;

static TRIED: AtomicU32 = AtomicU32::new(0);

/// A port that nobody listens on at this moment.
pub(crate) fn free() -> Result<u16> {
    // Processes that look at the same time should not all look at the same port.
    let start = nanoseconds() / 1000 + std::process::id() % 1000 * 17;
    for _ in 0..COUNT {
        let offset = start.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).unwrap_or(0);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort)
}

/// The nanoseconds of the current second: different at each call, for names and places to start at.
pub(crate) fn nanoseconds() -> u32 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound_and_is_not_one_of_outgoing_connections() {
        for _ in 0..100 {
            let port = free().unwrap();
            assert!(
                (FIRST..FIRST + COUNT).contains(&port) && port < 32_768,
                "{port}"
            );
        }
    }
}
