//! An answer as it comes: the body under its time limits, cut into frames, decoded into events.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream;
use futures_util::{StreamExt, stream::BoxStream};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::Instant;

use super::client::HttpClient;
use super::failure;
use super::frames::{Frame, Frames, Framing};
use super::request::later;
use crate::{AiError, AiErrorKind, AiStream, ApiKey, Result, StreamEvent};

/// The most bytes of a refusal that are read.
const MOST_REFUSAL: usize = 64 * 1024;

/// The headers in which vendors name a request.
const REQUEST_IDS: [&str; 4] = ["x-request-id", "request-id", "apim-request-id", "cf-ray"];

/// Reads a vendor's frames as events of an answer.
pub trait AnswerDecoder: Send + 'static {
    /// Reads one frame, and appends what it brings to `events`. After
    /// [`Done`](StreamEvent::Done) or an error nothing more is asked of it.
    ///
    /// # Errors
    /// When the vendor says that it failed, or what it says cannot be read. It is final for the answer.
    fn read(&mut self, frame: &Frame, events: &mut Vec<StreamEvent>) -> Result<()>;

    /// The answer has ended without `Done`: appends what is left and `Done` where the answer is
    /// complete nevertheless.
    ///
    /// # Errors
    /// When the answer was cut off; it may be asked for again if that error is
    /// [retryable](AiError::is_retryable).
    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<()>;
}

/// What a vendor said before an answer.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// The vendor's id of the request.
    pub request_id: Option<String>,
    is_json: bool,
    secrets: Vec<ApiKey>,
}

impl Head {
    pub(super) fn of(response: &Response, secrets: Vec<ApiKey>) -> Self {
        let headers = response.headers();
        let essence = text(headers, CONTENT_TYPE.as_str())
            .and_then(|value| value.split(';').next())
            .unwrap_or_default();
        Self {
            status: response.status().as_u16(),
            request_id: REQUEST_IDS
                .iter()
                .find_map(|name| text(headers, name))
                // An id that is no id is not to fill logs.
                .filter(|id| id.len() <= 200)
                .map(str::to_owned),
            is_json: essence.trim().eq_ignore_ascii_case("application/json"),
            secrets,
        }
    }

    /// Adds the request's id to an error of this answer's, and takes out of its body the credentials that
    /// were sent, which some vendors repeat.
    #[must_use]
    pub fn tell(&self, error: AiError) -> AiError {
        let error = match error.body() {
            None => error,
            Some(body) => {
                let body = self.without_secrets(body);
                error.with_body(body)
            }
        };
        match &self.request_id {
            Some(id) if error.request_id().is_none() => error.with_request_id(id),
            _ => error,
        }
    }

    pub(super) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Shorter values, such as those of versions, are no credentials and stand in many a text.
        for secret in self.secrets.iter().filter(|key| key.expose().len() >= 8) {
            text = text.replace(secret.expose(), "<redacted>");
        }
        text
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The body of an answer, under the limits of its client.
pub(super) struct Body {
    client: HttpClient,
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    begins: Option<Instant>,
    deadline: Instant,
    received: usize,
}

impl Body {
    /// The first byte must be there at `begins`, the last at `deadline`.
    pub(super) fn new(
        client: HttpClient,
        response: Response,
        begins: Instant,
        deadline: Instant,
    ) -> Self {
        Self {
            client,
            chunks: response.bytes_stream().boxed(),
            begins: Some(begins),
            deadline,
            received: 0,
        }
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let config = self.client.config();
        let idle = later(config.idle_timeout_ms);
        let limit = self.begins.unwrap_or(idle).min(self.deadline);
        let chunk = match tokio::time::timeout_at(limit, self.chunks.next()).await {
            Err(_) if limit == self.deadline => {
                return Err(failure::late(&self.client, "the answer took too long"));
            }
            Err(_) if self.begins.is_some() => {
                return Err(failure::late(&self.client, "no answer came in time"));
            }
            Err(_) => return Err(failure::late(&self.client, "the answer stopped coming")),
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => {
                return Err(failure::lost(&self.client, error, "reading the answer"));
            }
            Ok(Some(Ok(chunk))) => chunk,
        };
        self.begins = None;
        self.received = self.received.saturating_add(chunk.len());
        if self.received > config.max_response_bytes {
            return Err(self.client.error(
                AiErrorKind::InvalidResponse,
                "the answer is larger than max_response_bytes",
            ));
        }
        Ok(Some(chunk))
    }

    /// All of it.
    pub(super) async fn all(&mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(chunk) = self.next().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// The beginning of a refusal, as far as it can be read.
    pub(super) async fn beginning(&mut self) -> String {
        let mut all = Vec::new();
        while all.len() < MOST_REFUSAL
            && let Ok(Some(chunk)) = self.next().await
        {
            all.extend_from_slice(&chunk);
        }
        all.truncate(MOST_REFUSAL);
        String::from_utf8_lossy(&all).into_owned()
    }
}

/// An answer of which the first event is there.
pub(super) async fn begin<D: AnswerDecoder>(
    head: Head,
    body: Body,
    framing: Framing,
    max_frame_bytes: usize,
    decoder: D,
) -> Result<AiStream> {
    let mut answer = Answer {
        frames: Frames::new(framing, max_frame_bytes),
        // Some servers answer whole what they were asked to stream.
        is_whole: head.is_json && framing == Framing::Events,
        head,
        body,
        decoder,
        chunk: Bytes::new(),
        events: VecDeque::new(),
        over: None,
    };
    while answer.events.is_empty() && answer.over.is_none() {
        answer.advance().await;
    }
    if answer.events.is_empty()
        && let Some(Over {
            error: Some(error), ..
        }) = answer.over
    {
        return Err(error);
    }
    let events = stream::unfold(answer, |mut answer| async move {
        loop {
            if let Some(event) = answer.events.pop_front() {
                return Some((Ok(event), answer));
            }
            match &mut answer.over {
                None => answer.advance().await,
                Some(over) => return over.error.take().map(|error| (Err(error), answer)),
            }
        }
    });
    Ok(events.boxed())
}

struct Answer<D> {
    head: Head,
    body: Body,
    frames: Frames,
    is_whole: bool,
    decoder: D,
    /// What was read of the body and is not yet in the frames.
    chunk: Bytes,
    events: VecDeque<StreamEvent>,
    over: Option<Over>,
}

/// The end of an answer, after the events that are there.
struct Over {
    error: Option<AiError>,
}

impl<D: AnswerDecoder> Answer<D> {
    /// Reads the next frame. What was read is kept before every wait, so that it may be given up.
    async fn advance(&mut self) {
        match self.frame().await {
            Ok(Some(frame)) => self.take(&frame),
            Ok(None) => self.finish(None),
            // The vendor may have said all before the connection broke.
            Err(error) => self.finish(Some(error)),
        }
    }

    async fn frame(&mut self) -> Result<Option<Frame>> {
        if self.is_whole {
            let bytes = self.body.all().await?;
            self.is_whole = false;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Ok((!text.trim().is_empty()).then(|| Frame::new(text)));
        }
        loop {
            let chunk = std::mem::take(&mut self.chunk);
            let broken = |broken: super::frames::Broken| {
                (self.body.client).error(broken.kind(), broken.message())
            };
            if let Some((frame, rest)) = self.frames.read(&chunk).map_err(broken)? {
                self.chunk = chunk.slice_ref(rest);
                return Ok(Some(frame));
            }
            match self.body.next().await? {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(self.frames.finish()),
            }
        }
    }

    fn take(&mut self, frame: &Frame) {
        let mut events = Vec::new();
        let read = self.decoder.read(frame, &mut events);
        self.keep(events);
        if let Err(error) = read
            && self.over.is_none()
        {
            self.over = Some(Over {
                error: Some(self.head.tell(error)),
            });
        }
    }

    fn finish(&mut self, broke: Option<AiError>) {
        let mut events = Vec::new();
        let ended = self.decoder.end(&mut events);
        self.keep(events);
        if self.over.is_some() {
            return;
        }
        // Without `Done` it was cut off, whatever the decoder says.
        let cut = || self.body.client.error(AiErrorKind::Unreachable, CUT_OFF);
        let error = broke.or(ended.err()).unwrap_or_else(cut);
        self.over = Some(Over {
            error: Some(self.head.tell(error)),
        });
    }

    /// Keeps events up to the one that ends the answer.
    fn keep(&mut self, events: Vec<StreamEvent>) {
        for event in events {
            let is_last = matches!(event, StreamEvent::Done { .. });
            self.events.push_back(event);
            if is_last {
                self.over = Some(Over { error: None });
                return;
            }
        }
    }
}

/// What is said of an answer that ended too early.
pub(super) const CUT_OFF: &str = "the answer was cut off";

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}
