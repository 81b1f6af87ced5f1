//! A server on loopback that answers as it is told, in pieces of any size, and keeps what it was asked.
//!
//! It reads one request a connection, with a body of at most 16 MiB, and gives the replies it was told
//! of in turn. Dropping it ends all of its connections.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit_ai::http::Framing;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use super::wire::WireFrame;

const MOST_HEAD: usize = 64 * 1024;
const MOST_BODY: usize = 16 << 20;

/// A request as the server got it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Asked {
    /// `GET` or `POST`.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null where it is no JSON.
    pub body: Value,
}

impl Asked {
    /// A header's value; the name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server answers to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<Piece>,
    pieces: Pieces,
}

/// A part of a reply's body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nothing any more, but the connection stays.
    Silence,
    /// The connection goes, in the middle of the body.
    Cut,
}

/// In what sizes a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pieces {
    /// At once.
    Whole,
    /// So many bytes each.
    Of(usize),
    /// From 1 to 16 bytes, by a seed.
    Random(u64),
}

impl Reply {
    /// A body of JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string().into_bytes())
    }

    /// Any body.
    pub fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            body: vec![Piece::Bytes(body)],
            pieces: Pieces::Whole,
        }
    }

    /// A streamed answer.
    #[must_use]
    pub fn stream(framing: Framing, frames: &[WireFrame]) -> Self {
        Self::stream_with(framing, frames, "\n")
    }

    /// A streamed answer with this end of line.
    #[must_use]
    pub fn stream_with(framing: Framing, frames: &[WireFrame], end: &str) -> Self {
        let bytes = frames.iter().flat_map(|frame| frame.bytes(framing, end));
        let content_type = match framing {
            Framing::Lines => "application/x-ndjson",
            _ => "text/event-stream; charset=utf-8",
        };
        Self::new(200, content_type, bytes.collect())
    }

    /// Sends a header along.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends the body in pieces.
    #[must_use]
    pub fn pieces(mut self, pieces: Pieces) -> Self {
        self.pieces = pieces;
        self
    }

    /// Goes on with this after the body that is there.
    #[must_use]
    pub fn then(mut self, piece: Piece) -> Self {
        self.body.push(piece);
        self
    }

    /// Leaves out of the body what comes after so many bytes, and goes on with this.
    #[must_use]
    pub fn after(mut self, bytes: usize, piece: Piece) -> Self {
        if let Some(Piece::Bytes(body)) = self.body.first_mut() {
            body.truncate(bytes);
        }
        self.body.truncate(1);
        self.then(piece)
    }

    /// How many bytes the body has.
    #[must_use]
    pub fn len(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.body.iter().map(bytes).sum()
    }

    /// Whether the body has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A server that plays a vendor.
pub struct VendorServer {
    address: std::net::SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// A client went away before it had its answer.
    left: Notify,
}

impl VendorServer {
    /// Starts a server without replies; it closes a connection for which it has none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&shared)));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            state,
            task,
        }
    }

    /// Its address, without a path.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds replies after those that are there.
    pub fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        lock(&self.state.replies).extend(replies);
    }

    /// How many replies were not asked for.
    #[must_use]
    pub fn replies_left(&self) -> usize {
        lock(&self.state.replies).len()
    }

    /// Forgets the replies that are left, and takes what it was asked.
    pub fn take_asked(&self) -> Vec<Asked> {
        lock(&self.state.replies).clear();
        std::mem::take(&mut *lock(&self.state.asked))
    }

    /// Waits until a client has gone before it had its whole answer.
    pub async fn client_left(&self) {
        self.state.left.notified().await;
    }
}

impl Drop for VendorServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for VendorServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VendorServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let _ = stream.set_nodelay(true);
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    lock(&state.asked).push(asked);
    let reply = lock(&state.replies).pop_front();
    let Some(reply) = reply else {
        return;
    };
    if write(&mut stream, reply).await.is_none() {
        state.left.notify_one();
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > MOST_HEAD || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut body = bytes.split_off(end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
    if length > MOST_BODY {
        return None;
    }
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Asked {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// Sends a reply; `None` when the client has gone before its end.
async fn write(stream: &mut TcpStream, reply: Reply) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut random = Random(0);
    if let Pieces::Random(seed) = reply.pieces {
        random = Random(seed);
    }
    for piece in &reply.body {
        match piece {
            Piece::Bytes(bytes) => {
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let size = match reply.pieces {
                        Pieces::Whole => rest.len(),
                        Pieces::Of(size) => size.max(1),
                        Pieces::Random(_) => random.below(16) + 1,
                    };
                    let (now, later) = rest.split_at(size.min(rest.len()));
                    let mut chunk = format!("{:x}\r\n", now.len()).into_bytes();
                    chunk.extend_from_slice(now);
                    chunk.extend_from_slice(b"\r\n");
                    stream.write_all(&chunk).await.ok()?;
                    tokio::task::yield_now().await;
                    rest = later;
                }
            }
            Piece::Silence => {
                // It sends nothing more, and learns when the client goes.
                let mut nothing = [0; 1];
                while stream.read(&mut nothing).await.ok()? > 0 {}
                return None;
            }
            Piece::Cut => {
                let _ = stream.shutdown().await;
                return Some(());
            }
        }
    }
    stream.write_all(b"0\r\n\r\n").await.ok()?;
    let _ = stream.shutdown().await;
    Some(())
}

/// Numbers by a seed (SplitMix64), so that a failure can be seen again.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % end as u64).unwrap_or_default()
    }
}
