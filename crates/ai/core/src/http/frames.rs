//! The bytes of a streamed answer as frames: server-sent events or lines, bounded, however they are cut.
//!
//! Events are read as of WHATWG HTML, "Server-sent events", 9.2.6. The decoder is written here because
//! eventsource-stream 0.2 panics on a byte order mark and bounds nothing.

use crate::AiErrorKind;

/// How a streamed answer is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// Lines of JSON (NDJSON); empty ones are left out.
    Lines,
}

/// One event or line of a streamed answer.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The event's name; `message` where it has none, as lines do.
    pub event: String,
    /// What it holds.
    pub data: String,
}

impl Frame {
    /// A frame without a name of its own.
    pub fn new(data: impl Into<String>) -> Self {
        Self {
            event: "message".to_owned(),
            data: data.into(),
        }
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({}, {} bytes)", self.event, self.data.len())
    }
}

/// What is wrong with the bytes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    TooLarge,
    NotUtf8,
}

impl Broken {
    pub(super) const fn kind(self) -> AiErrorKind {
        AiErrorKind::InvalidResponse
    }

    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::TooLarge => "a piece of the answer is larger than max_frame_bytes",
            Self::NotUtf8 => "the answer is not UTF-8",
        }
    }
}

/// What stands between the last frame and the next.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    most: usize,
    line: Vec<u8>,
    event: String,
    data: String,
    has_data: bool,
    /// The last byte was a carriage return, with which a line feed makes one end of line.
    after_return: bool,
    /// No line was read yet, so that a byte order mark may stand here.
    at_start: bool,
}

impl Frames {
    /// Frames of at most `most` bytes.
    pub(super) fn new(framing: Framing, most: usize) -> Self {
        Self {
            framing,
            most,
            line: Vec::new(),
            event: String::new(),
            data: String::new(),
            has_data: false,
            after_return: false,
            at_start: true,
        }
    }

    /// Reads on, up to the end of the next frame; what is left of `bytes` comes with it. Without a
    /// frame nothing is left.
    pub(super) fn read<'b>(
        &mut self,
        bytes: &'b [u8],
    ) -> Result<Option<(Frame, &'b [u8])>, Broken> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.push(rest)?;
                return Ok(None);
            };
            let (line, end) = rest.split_at(at);
            self.push(line)?;
            self.after_return = end.first() == Some(&b'\r');
            rest = end.get(1..).unwrap_or_default();
            if let Some(frame) = self.end_line()? {
                return Ok(Some((frame, rest)));
            }
        }
        Ok(None)
    }

    /// The frame that the end of the answer closes, for servers that leave out its last line's end. What
    /// is neither JSON nor the word that ends a stream was cut off, and is no frame.
    pub(super) fn finish(&mut self) -> Option<Frame> {
        let frame = match self.end_line() {
            Ok(Some(frame)) => frame,
            Ok(None) => self.end_event()?,
            Err(_) => return None,
        };
        let is_whole = frame.data == "[DONE]"
            || serde_json::from_str::<serde::de::IgnoredAny>(&frame.data).is_ok();
        is_whole.then_some(frame)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        if self.line.len() + self.data.len() + bytes.len() > self.most {
            return Err(Broken::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Frame>, Broken> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        let text = std::str::from_utf8(&line).map_err(|_error| Broken::NotUtf8)?;
        let frame = match self.framing {
            Framing::Lines => (!text.trim().is_empty()).then(|| Frame::new(text)),
            Framing::Events if text.is_empty() => self.end_event(),
            Framing::Events => {
                self.field(text);
                None
            }
        };
        // The next line is written where this one was.
        line.clear();
        self.line = line;
        Ok(frame)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // A comment, or what says nothing about this answer.
            _ => {}
        }
    }

    fn end_event(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let mut frame = Frame::new(data);
        if !event.is_empty() {
            frame.event = event;
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(
        framing: Framing,
        most: usize,
        chunks: &[&[u8]],
    ) -> Result<Vec<(String, String)>, Broken> {
        let mut frames = Frames::new(framing, most);
        let mut found = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some((frame, after)) = frames.read(rest)? {
                found.push((frame.event, frame.data));
                rest = after;
            }
        }
        found.extend(frames.finish().map(|frame| (frame.event, frame.data)));
        Ok(found)
    }

    fn shown(framing: Framing, text: &[u8]) -> Vec<String> {
        let line = |(event, data): (String, String)| format!("{event}|{data}");
        let whole = decode(framing, 1_000, &[text]).unwrap();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(decode(framing, 1_000, &bytes).unwrap(), whole);
        whole.into_iter().map(line).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let cases: [(&str, &[&str]); 12] = [
            ("data: a\n\n", &["message|a"]),
            ("data:a\ndata: b\n\n", &["message|a\nb"]),
            (
                "data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n",
                &["message|a\nb", "message|c", "message|d"],
            ),
            ("\u{feff}data: é\n\n", &["message|é"]),
            (
                "event: ping\ndata: a\n\ndata: b\n\n",
                &["ping|a", "message|b"],
            ),
            (": keep alive\n\n:\n\ndata: a\n\n", &["message|a"]),
            ("data\ndata\n\n", &["message|\n"]),
            ("event: x\n\ndata: a\n\n", &["message|a"]),
            ("data:  two\nid: 1\nretry: 3\n\n", &["message| two"]),
            ("data: [DONE]", &["message|[DONE]"]),
            ("data: {\"a\":1}\n", &["message|{\"a\":1}"]),
            ("data: {\"a\":", &[]),
        ];
        for (text, frames) in cases {
            assert_eq!(shown(Framing::Events, text.as_bytes()), frames, "{text:?}");
        }
    }

    #[test]
    fn lines_are_read_with_and_without_a_last_end() {
        let cases: [(&str, &[&str]); 4] = [
            ("{}\n[]\n", &["message|{}", "message|[]"]),
            ("{}\r\n\n  \n[]", &["message|{}", "message|[]"]),
            ("{}\n{\"a\":", &["message|{}"]),
            ("", &[]),
        ];
        for (text, frames) in cases {
            assert_eq!(shown(Framing::Lines, text.as_bytes()), frames, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_large_or_no_text_is_an_error() {
        for framing in [Framing::Events, Framing::Lines] {
            let long = [b'x'; 101];
            assert_eq!(decode(framing, 100, &[&long]), Err(Broken::TooLarge));
            assert_eq!(
                decode(framing, 100, &[b"data: \xff\n\n"]),
                Err(Broken::NotUtf8)
            );
        }
        let many = "data: xxxx\n".repeat(100);
        assert_eq!(
            decode(Framing::Events, 100, &[many.as_bytes()]),
            Err(Broken::TooLarge)
        );
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_makes_no_difference(
            text in prop::collection::vec(
                prop::sample::select(vec![
                    &b"data: a"[..], b"data", b"event: e", b"\n", b"\r", b"\r\n", b":", "é".as_bytes(), b"\n\n",
                ]),
                0..30,
            ),
            cuts in prop::collection::vec(0_usize..200, 0..10),
        ) {
            let bytes = text.concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            for framing in [Framing::Events, Framing::Lines] {
                prop_assert_eq!(decode(framing, 1_000, &chunks), decode(framing, 1_000, &[&bytes]));
            }
        }
    }
}
