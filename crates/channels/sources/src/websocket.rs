//! A WebSocket client that brings in what a server sends.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, OptionFuture};
use futures_util::{SinkExt, StreamExt};
use roomkit_core::model::{InboundMessage, InboundResult, Metadata};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::{Error, Result, async_trait};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, Request};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::endpoint::{Endpoint, invalid};
use crate::parse::parse_json;
use crate::taken::{Taken, what_became_of};
use crate::traced;

/// How many messages are read ahead of the one that is being taken.
const READ_AHEAD: usize = 32;

type Parser = Arc<dyn Fn(&[u8]) -> Option<InboundMessage> + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A WebSocket client as a source: every text or binary message is one message, if the parser says
/// so.
///
/// A connection that is lost is an error, after which the kit starts the source again. Servers do not
/// say again what was sent meanwhile.
pub struct WebSocketSource {
    parts: WebSocketSourceBuilder,
    name: String,
    ignored: AtomicU64,
}

/// Says where a [`WebSocketSource`] connects and how.
#[must_use = "nothing is built until `build` is called"]
#[derive(Clone)]
pub struct WebSocketSourceBuilder {
    endpoint: Endpoint,
    subprotocols: Vec<String>,
    greetings: Vec<String>,
    parser: Parser,
    max_message_bytes: usize,
    ping_interval: Option<Duration>,
    connect_timeout: Duration,
}

impl WebSocketSource {
    /// A source that connects to `url`, which begins with `ws://` or `wss://`.
    pub fn builder(url: impl Into<String>) -> WebSocketSourceBuilder {
        WebSocketSourceBuilder {
            endpoint: Endpoint::new(url),
            subprotocols: Vec::new(),
            greetings: Vec::new(),
            parser: Arc::new(parse_json),
            max_message_bytes: 1 << 20,
            ping_interval: Some(Duration::from_secs(20)),
            connect_timeout: Duration::from_secs(30),
        }
    }
}

impl WebSocketSourceBuilder {
    /// Sends a header with the request, such as `Authorization`. Values are never shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.endpoint.headers.push((name.into(), value.into()));
        self
    }

    /// Offers a subprotocol.
    pub fn subprotocol(mut self, name: impl Into<String>) -> Self {
        self.subprotocols.push(name.into());
        self
    }

    /// Sends a text as soon as the connection is there, as to subscribe; several in this order.
    pub fn greeting(mut self, text: impl Into<String>) -> Self {
        self.greetings.push(text.into());
        self
    }

    /// What makes a message of what came, or says with `None` that it is none. Default:
    /// [`parse_json`].
    pub fn parser(
        mut self,
        parser: impl Fn(&[u8]) -> Option<InboundMessage> + Send + Sync + 'static,
    ) -> Self {
        self.parser = Arc::new(parser);
        self
    }

    /// How large a message may be, in bytes; a larger one ends the connection. Default: 1 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// How often the server is pinged; one that is silent for two intervals counts as lost. `None`
    /// pings never. Default: 20 seconds.
    pub fn ping_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.ping_interval = interval.into();
        self
    }

    /// How long connecting may take, the handshake included. Default: 30 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Builds the source.
    ///
    /// # Errors
    /// [`InvalidInput`](roomkit_core::ErrorKind::InvalidInput): the address, a header or a limit is not acceptable; it
    /// names which.
    pub fn build(self) -> Result<WebSocketSource> {
        self.endpoint.check(["ws", "wss"])?;
        if cfg!(not(feature = "tls")) && self.endpoint.url.to_ascii_lowercase().starts_with("wss") {
            return Err(invalid("url: wss:// needs the feature `tls`"));
        }
        if self.max_message_bytes == 0 {
            return Err(invalid("max_message_bytes: must be at least 1"));
        }
        if self
            .ping_interval
            .is_some_and(|interval| interval.is_zero())
        {
            return Err(invalid("ping_interval: must not be zero"));
        }
        let name = format!("websocket:{}", self.endpoint.place());
        let source = WebSocketSource {
            parts: self,
            name,
            ignored: AtomicU64::new(0),
        };
        source.request()?;
        Ok(source)
    }
}

#[async_trait]
impl SourceProvider for WebSocketSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        let socket = tokio::select! {
            socket = self.connect() => socket?,
            () = emit.sleep(self.parts.connect_timeout) => {
                return Err(Error::source("the server took too long to answer"));
            }
            () = emit.stopped() => return Ok(()),
        };
        emit.connected();
        let place = self.parts.endpoint.place();
        traced::connected(&emit, "websocket", place, "101 Switching Protocols");
        traced::ended(&emit, "websocket", place, self.read(socket, &emit).await)
    }

    fn details(&self) -> Metadata {
        Metadata::new().with("ignored", self.ignored.load(Ordering::Relaxed))
    }
}

impl WebSocketSource {
    fn request(&self) -> Result<Request<()>> {
        let parts = &self.parts;
        let mut request = parts
            .endpoint
            .url
            .as_str()
            .into_client_request()
            .map_err(|_url| invalid("url: is not the address of a WebSocket"))?;
        let headers = request.headers_mut();
        for (name, value) in &parts.endpoint.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(value.as_bytes());
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(invalid("headers: one of them is not acceptable"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if !parts.subprotocols.is_empty() {
            let offer = HeaderValue::from_str(&parts.subprotocols.join(", "))
                .map_err(|_value| invalid("subprotocol: is not acceptable"))?;
            headers.insert("sec-websocket-protocol", offer);
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<Socket> {
        let limits = WebSocketConfig::default()
            .max_message_size(Some(self.parts.max_message_bytes))
            .max_frame_size(Some(self.parts.max_message_bytes));
        let request = self.request()?;
        #[cfg(feature = "tls")]
        let connecting = {
            let config = Arc::new(crate::tls::config()?);
            let connector = Some(tokio_tungstenite::Connector::Rustls(config));
            tokio_tungstenite::connect_async_tls_with_config(request, Some(limits), true, connector)
        };
        #[cfg(not(feature = "tls"))]
        let connecting = tokio_tungstenite::connect_async_with_config(request, Some(limits), true);
        let (mut socket, _) = connecting.await.map_err(|error| lost(&error))?;
        for greeting in &self.parts.greetings {
            let greeting = Message::text(greeting.as_str());
            socket.send(greeting).await.map_err(|error| lost(&error))?;
        }
        Ok(socket)
    }

    /// Reads until the connection ends. While a message is held back the socket is read on for a
    /// while, so that the server's pings are answered.
    async fn read(&self, mut socket: Socket, emit: &SourceEmitter) -> Result<()> {
        let mut ahead: VecDeque<InboundMessage> = VecDeque::new();
        let mut taking: OptionFuture<BoxFuture<'_, Result<InboundResult>>> = None.into();
        let mut is_taking = false;
        let mut is_silent = false;
        let mut tick = self.tick(emit);
        loop {
            if !is_taking && let Some(message) = ahead.pop_front() {
                taking = Some(emit.emit(message).boxed()).into();
                is_taking = true;
            }
            tokio::select! {
                taken = &mut taking, if is_taking => {
                    is_taking = false;
                    taking = None.into();
                    if let Some(taken) = taken && what_became_of(&taken)? == Taken::Over {
                        break;
                    }
                }
                received = socket.next(), if ahead.len() < READ_AHEAD => {
                    is_silent = false;
                    match received {
                        Some(Ok(Message::Text(text))) => self.take(text.as_bytes(), &mut ahead),
                        Some(Ok(Message::Binary(bytes))) => self.take(&bytes, &mut ahead),
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        Some(Ok(Message::Close(_))) | None => {
                            finish(taking, ahead, emit).await?;
                            return Err(Error::source("the server closed the connection"));
                        }
                        Some(Err(error)) => {
                            finish(taking, ahead, emit).await?;
                            return Err(lost(&error));
                        }
                    }
                }
                () = &mut tick => {
                    // What is held back here is not the server's silence.
                    if is_silent && ahead.len() < READ_AHEAD {
                        return Err(Error::source("the server is silent"));
                    }
                    is_silent = true;
                    let ping = Message::Ping(Bytes::new());
                    socket.send(ping).await.map_err(|error| lost(&error))?;
                    tick = self.tick(emit);
                }
                () = emit.stopped() => {
                    finish(taking, ahead, emit).await?;
                    // The kit bounds how long this may take.
                    if let Err(error) = socket.close(None).await {
                        tracing::debug!(source = self.name, error = %lost(&error), "not closed in order");
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    fn tick(&self, emit: &SourceEmitter) -> BoxFuture<'static, ()> {
        match self.parts.ping_interval {
            None => std::future::pending().boxed(),
            Some(interval) => {
                let emit = emit.clone();
                async move { emit.sleep(interval).await }.boxed()
            }
        }
    }

    fn take(&self, bytes: &[u8], ahead: &mut VecDeque<InboundMessage>) {
        match (self.parts.parser)(bytes) {
            Some(message) => ahead.push_back(message),
            None => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(source = self.name, bytes = bytes.len(), "not a message");
            }
        }
    }
}

/// Takes what was read already, now that nothing more is read. What the limit does not let in is not
/// waited for once the source is to end; the emitter counts it.
async fn finish(
    taking: OptionFuture<BoxFuture<'_, Result<InboundResult>>>,
    ahead: VecDeque<InboundMessage>,
    emit: &SourceEmitter,
) -> Result<()> {
    if let Some(taken) = taking.await
        && what_became_of(&taken)? == Taken::Over
    {
        return Ok(());
    }
    for message in ahead {
        if what_became_of(&emit.emit(message).await)? == Taken::Over {
            return Ok(());
        }
    }
    Ok(())
}

/// What went wrong, without the address, which may hold a secret.
fn lost(error: &tungstenite::Error) -> Error {
    let problem = match error {
        tungstenite::Error::Http(response) => {
            format!(
                "the server answered with status {}",
                response.status().as_u16()
            )
        }
        tungstenite::Error::Io(error) => format!("the connection failed: {}", error.kind()),
        tungstenite::Error::Capacity(_) => "the server sent a message that is too large".to_owned(),
        tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => {
            "the server closed the connection".to_owned()
        }
        tungstenite::Error::Protocol(error) => format!("the server broke the protocol: {error}"),
        tungstenite::Error::Utf8(_) => "the server sent text that is not UTF-8".to_owned(),
        tungstenite::Error::Tls(_) => "TLS failed".to_owned(),
        tungstenite::Error::Url(_) => "the server was not found".to_owned(),
        _ => "the connection failed".to_owned(),
    };
    Error::source(problem)
}

impl fmt::Debug for WebSocketSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketSource")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WebSocketSourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketSourceBuilder")
            .field("endpoint", &self.endpoint)
            .field("max_message_bytes", &self.max_message_bytes)
            .field("ping_interval", &self.ping_interval)
            .finish_non_exhaustive()
    }
}
