//! A reader of server-sent events that brings in what a server sends, and goes on where it was.

mod decode;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use roomkit_core::model::{InboundMessage, Metadata};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::{Error, Result, async_trait};

use self::decode::Decoder;
use crate::endpoint::{Endpoint, invalid};
use crate::parse::parse_json;
use crate::taken::{Taken, what_became_of};
use crate::traced;

/// How long a server may ask to wait before another connection.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// How often a server may send on to another address.
const MOST_REDIRECTS: usize = 5;

type Parser = Arc<dyn Fn(&SseEvent) -> Option<InboundMessage> + Send + Sync>;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent {
    /// Its type; `message` where the server names none.
    pub event: String,
    /// What it says.
    pub data: String,
    /// The last id that the server gave, with this event or before; empty where it gave none.
    pub id: String,
}

/// A reader of server-sent events as a source: every event is one message, if the parser says so.
///
/// After a connection was lost it asks for what came after the last event that was taken
/// (`Last-Event-ID`), also where the kit started it again. An event that could not be taken, because a
/// store failed, is asked for again.
pub struct SseSource {
    parts: SseBuilder,
    name: String,
    url: Url,
    headers: HeaderMap,
    client: Client,
    /// The id of the last event that was taken.
    last_id: Mutex<String>,
    ignored: AtomicU64,
    dropped: AtomicU64,
}

/// Says where an [`SseSource`] reads and how.
#[must_use = "nothing is built until `build` is called"]
#[derive(Clone)]
pub struct SseBuilder {
    endpoint: Endpoint,
    parser: Parser,
    max_event_bytes: usize,
    connect_timeout: Duration,
    idle_timeout: Option<Duration>,
    last_event_id: String,
}

impl SseSource {
    /// A source that reads `url`, which begins with `http://` or `https://`.
    pub fn builder(url: impl Into<String>) -> SseBuilder {
        SseBuilder {
            endpoint: Endpoint::new(url),
            parser: Arc::new(parse_event),
            max_event_bytes: 1 << 20,
            connect_timeout: Duration::from_secs(30),
            idle_timeout: None,
            last_event_id: String::new(),
        }
    }

    /// The id of the last event that was taken: what to give to a source that is to go on from there
    /// after a restart of the program.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        let id = self.last_id.lock();
        id.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Events of the types `message`, `msg` and `chat`, in JSON; their id is that of the message where it
/// has none.
fn parse_event(event: &SseEvent) -> Option<InboundMessage> {
    if !matches!(event.event.as_str(), "message" | "msg" | "chat") {
        return None;
    }
    let mut message = parse_json(event.data.as_bytes())?;
    if message.external_id.is_none() && !event.id.is_empty() {
        message.external_id = Some(event.id.clone());
        message.idempotency_key = Some(event.id.clone());
    }
    Some(message)
}

impl SseBuilder {
    /// Sends a header with the request, such as `Authorization`. Values are never shown, and not sent
    /// to another server to which this one sends on.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.endpoint.headers.push((name.into(), value.into()));
        self
    }

    /// What makes a message of an event, or says with `None` that it is none. Default: JSON as of
    /// [`parse_json`], in events of the types `message`, `msg` and `chat`.
    pub fn parser(
        mut self,
        parser: impl Fn(&SseEvent) -> Option<InboundMessage> + Send + Sync + 'static,
    ) -> Self {
        self.parser = Arc::new(parser);
        self
    }

    /// How large an event may be, in bytes; a larger one is left out. Default: 1 MiB.
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// How long it may take until the server answers. Default: 30 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// After how much silence the connection counts as lost; for servers that send comments to keep
    /// it alive. Default: never, but by TCP's own keepalive.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Goes on after this event. Default: with whatever the server sends first.
    pub fn last_event_id(mut self, id: impl Into<String>) -> Self {
        self.last_event_id = id.into();
        self
    }

    /// Builds the source.
    ///
    /// # Errors
    /// [`InvalidInput`](roomkit_core::ErrorKind::InvalidInput): the address, a header or a limit is not acceptable; it
    /// names which. [`SourceFailed`](roomkit_core::ErrorKind::SourceFailed): TLS could not be set up.
    pub fn build(self) -> Result<SseSource> {
        self.endpoint.check(["http", "https"])?;
        let url = Url::parse(&self.endpoint.url)
            .map_err(|error| invalid(format!("url: is not an address: {error}")))?;
        if cfg!(not(feature = "tls")) && url.scheme() == "https" {
            return Err(invalid("url: https:// needs the feature `tls`"));
        }
        if self.max_event_bytes == 0 {
            return Err(invalid("max_event_bytes: must be at least 1"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in &self.endpoint.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(value.as_bytes());
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(invalid("headers: one of them is not acceptable"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let client = Client::builder()
            .connect_timeout(self.connect_timeout)
            .tcp_keepalive(Duration::from_secs(30))
            // Else an application's own headers would go wherever a server sends on to.
            .redirect(redirect::Policy::custom(|attempt| {
                let same = |other: &Url| other.origin() == attempt.url().origin();
                let may = attempt.previous().len() <= MOST_REDIRECTS
                    && attempt.previous().iter().all(same);
                if may {
                    attempt.follow()
                } else {
                    attempt.stop()
                }
            }));
        #[cfg(feature = "tls")]
        let client = client.tls_backend_preconfigured(crate::tls::config()?);
        let client = client
            .build()
            .map_err(|error| Error::source("no HTTP client could be made").with_source(error))?;
        Ok(SseSource {
            name: format!("sse:{}", self.endpoint.place()),
            url,
            headers,
            client,
            last_id: Mutex::new(self.last_event_id.clone()),
            ignored: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            parts: self,
        })
    }
}

#[async_trait]
impl SourceProvider for SseSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        loop {
            let response = tokio::select! {
                response = self.connect() => response?,
                () = emit.sleep(self.parts.connect_timeout) => {
                    return Err(Error::source("the server took too long to answer"));
                }
                () = emit.stopped() => return Ok(()),
            };
            let Some(response) = response else {
                return Ok(());
            };
            emit.connected();
            let place = self.parts.endpoint.place();
            traced::connected(&emit, "sse", place, "200 OK");
            let read = self.read(response, &emit).await;
            let Some(retry) = traced::ended(&emit, "sse", place, read)? else {
                return Ok(());
            };
            // The server ended the stream in order and said when to come again.
            emit.reconnecting(&Error::source("the server ended the stream"));
            tokio::select! {
                () = emit.sleep(retry.min(LONGEST_RETRY)) => {}
                () = emit.stopped() => return Ok(()),
            }
        }
    }

    fn details(&self) -> Metadata {
        Metadata::new()
            .with("ignored", self.ignored.load(Ordering::Relaxed))
            .with("dropped", self.dropped.load(Ordering::Relaxed))
            .with("last_event_id", self.last_event_id())
    }
}

impl SseSource {
    /// The stream; `None` where the server says that there will be no more.
    async fn connect(&self) -> Result<Option<Response>> {
        let mut request = self
            .client
            .get(self.url.clone())
            .headers(self.headers.clone());
        let last_id = self.last_event_id();
        if !last_id.is_empty() {
            let id = HeaderValue::from_bytes(last_id.as_bytes())
                .map_err(|_value| Error::source("the id of the last event fits no header"))?;
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.map_err(|error| lost(&error))?;
        let status = response.status();
        if status == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        if status != StatusCode::OK {
            let problem = format!("the server answered with status {}", status.as_u16());
            return Err(Error::source(problem));
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let is_stream = content_type
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split(';').next())
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("text/event-stream"));
        if !is_stream {
            return Err(Error::source(
                "the server answered with something else than an event stream",
            ));
        }
        Ok(Some(response))
    }

    /// Reads to the end of the stream; how long to wait until the next, or `None` where there is to be
    /// none.
    async fn read(&self, response: Response, emit: &SourceEmitter) -> Result<Option<Duration>> {
        let mut decoder = Decoder::new(self.parts.max_event_bytes, self.last_event_id());
        let mut chunks = response.bytes_stream();
        loop {
            let idle = async {
                match self.parts.idle_timeout {
                    Some(limit) => emit.sleep(limit).await,
                    None => std::future::pending().await,
                }
            };
            let chunk = tokio::select! {
                chunk = chunks.next() => chunk,
                () = idle => return Err(Error::source("the server is silent")),
                () = emit.stopped() => return Ok(None),
            };
            let chunk = match chunk {
                None => break,
                Some(chunk) => chunk.map_err(|error| lost(&error))?,
            };
            let mut rest = &*chunk;
            while let Some((event, after)) = decoder.read(rest) {
                rest = after;
                if self.take(event, emit).await? {
                    return Ok(None);
                }
            }
            let dropped = decoder.take_dropped();
            if dropped > 0 {
                self.dropped.fetch_add(dropped, Ordering::Relaxed);
                tracing::warn!(
                    source = self.name,
                    dropped,
                    "events were too large or not UTF-8"
                );
            }
        }
        match decoder.retry() {
            Some(retry) => Ok(Some(retry)),
            None => Err(Error::source("the server ended the stream")),
        }
    }

    /// Takes an event, after which it is not asked for again; whether nothing is taken any more.
    async fn take(&self, event: SseEvent, emit: &SourceEmitter) -> Result<bool> {
        match (self.parts.parser)(&event) {
            None => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
            }
            Some(message) => {
                if what_became_of(&emit.emit(message).await)? != Taken::Done {
                    return Ok(true);
                }
            }
        }
        *self.last_id.lock().unwrap_or_else(PoisonError::into_inner) = event.id;
        Ok(false)
    }
}

/// What went wrong, without the address, which may hold a secret.
fn lost(error: &reqwest::Error) -> Error {
    let problem = if error.is_timeout() {
        "the server took too long to answer"
    } else if error.is_connect() {
        "the server was not reached"
    } else if error.is_redirect() {
        "the server sends on to elsewhere"
    } else {
        "the connection failed"
    };
    Error::source(problem)
}

impl fmt::Debug for SseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseSource")
            .field("name", &self.name)
            .field("last_event_id", &self.last_event_id())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SseBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseBuilder")
            .field("endpoint", &self.endpoint)
            .field("max_event_bytes", &self.max_event_bytes)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
