//! The text of an event stream as events, bounded (WHATWG HTML, "Server-sent events", 9.2.5 and 9.2.6).

use std::time::Duration;

use super::SseEvent;

/// What stands between the last event and the next.
#[derive(Debug)]
pub(super) struct Decoder {
    most: usize,
    line: Vec<u8>,
    event: String,
    data: String,
    /// The last `id` of the stream, which holds until there is another.
    id: String,
    retry: Option<Duration>,
    /// The current event is too large, or not UTF-8.
    spoilt: bool,
    has_data: bool,
    /// The line is too long, and read to its end for nothing.
    skips_line: bool,
    /// The last byte was a carriage return, with which a line feed makes one end of line.
    after_return: bool,
    /// No byte was read yet, so that a byte order mark may stand here.
    at_start: bool,
    dropped: u64,
}

impl Decoder {
    /// A decoder of events of at most `most` bytes, after the event `id`.
    pub(super) fn new(most: usize, id: String) -> Self {
        Self {
            most,
            line: Vec::new(),
            event: String::new(),
            data: String::new(),
            id,
            retry: None,
            spoilt: false,
            has_data: false,
            skips_line: false,
            after_return: false,
            at_start: true,
            dropped: 0,
        }
    }

    /// How long the server asks to wait before another connection.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// How many events were too large, or not UTF-8, since this was asked last.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Reads on, up to the end of the next event; what is left of `bytes` comes with it. Without an
    /// event nothing is left.
    pub(super) fn read<'b>(&mut self, bytes: &'b [u8]) -> Option<(SseEvent, &'b [u8])> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            let was_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if was_return => {}
                b'\n' | b'\r' => {
                    if let Some(event) = self.end_line() {
                        return Some((event, rest));
                    }
                }
                _ if self.skips_line => {}
                _ => {
                    self.line.push(byte);
                    if self.size() > self.most {
                        self.spoil();
                        self.line.clear();
                        self.skips_line = true;
                    }
                }
            }
        }
        None
    }

    fn size(&self) -> usize {
        self.line.len() + self.data.len() + self.event.len()
    }

    fn spoil(&mut self) {
        self.spoilt = true;
        self.data.clear();
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        let skipped = std::mem::take(&mut self.skips_line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        let event = if skipped {
            None
        } else if line.is_empty() {
            self.end_event()
        } else {
            match std::str::from_utf8(&line) {
                Ok(line) => self.field(line),
                Err(_) => self.spoil(),
            }
            None
        };
        // The next line is written where this one was.
        line.clear();
        if line.capacity() <= 64 * 1024 {
            self.line = line;
        }
        event
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.has_data = true;
                if !self.spoilt {
                    self.data.push_str(value);
                    self.data.push('\n');
                }
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // A comment, or what a later version of the protocol may mean.
            _ => {}
        }
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        if std::mem::take(&mut self.spoilt) {
            self.dropped += 1;
            return None;
        }
        if !has_data {
            return None;
        }
        data.pop();
        Some(SseEvent {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            id: self.id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(decoder: &mut Decoder, mut bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some((event, rest)) = decoder.read(bytes) {
            events.push(event);
            bytes = rest;
        }
        events
    }

    fn shown(most: usize, text: impl AsRef<[u8]>) -> Vec<String> {
        let mut decoder = Decoder::new(most, String::new());
        let events = decode(&mut decoder, text.as_ref());
        let line = |event: SseEvent| format!("{}|{}|{}", event.event, event.id, event.data);
        events.into_iter().map(line).collect()
    }

    #[test]
    fn streams_are_read_as_the_standard_says() {
        let cases: [(&str, &[&str]); 14] = [
            ("data: a\n\n", &["message||a"]),
            ("data:a\ndata: b\n\n", &["message||a\nb"]),
            (
                "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
                &["message||a", "message||b", "message||c"],
            ),
            ("\u{feff}data: a\n\n", &["message||a"]),
            (
                "id: 7\nevent: chat\ndata: a\n\ndata: b\n\n",
                &["chat|7|a", "message|7|b"],
            ),
            ("id: 7\n\ndata: a\n\n", &["message|7|a"]),
            (
                "id: 7\ndata: a\n\nid\ndata: b\n\n",
                &["message|7|a", "message||b"],
            ),
            ("id: a\0b\ndata: x\n\n", &["message||x"]),
            (": comment\n\n:\n\ndata: a\n\n", &["message||a"]),
            ("data\n\n", &["message||"]),
            ("data\ndata\n\n", &["message||\n"]),
            ("event: x\n\ndata: a\n\n", &["message||a"]),
            ("data:  two\nfoo: bar\n\n", &["message|| two"]),
            ("data: not ended\n", &[]),
        ];
        for (text, events) in cases {
            assert_eq!(shown(1_000, text), events, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_large_or_no_text_is_left_out_and_the_rest_is_read() {
        let long = format!(
            "data: {}\nid: 2\ndata: x\n\ndata: after\n\n",
            "x".repeat(200)
        );
        assert_eq!(shown(100, long), ["message|2|after"]);
        let many = format!("{}\ndata: after\n\n", "data: x\n".repeat(100));
        assert_eq!(shown(100, many), ["message||after"]);
        let broken = b"data: \xff\nid: 3\n\ndata: after\n\n";
        assert_eq!(shown(100, broken), ["message|3|after"]);
        let mut decoder = Decoder::new(10, String::new());
        decode(&mut decoder, &[b'x'; 10_000]);
        assert!(decoder.line.capacity() < 100, "nothing is kept of it");
        decode(&mut decoder, b"\n\n");
        assert_eq!((decoder.take_dropped(), decoder.take_dropped()), (1, 0));
    }

    #[test]
    fn the_server_says_when_to_come_again() {
        let mut decoder = Decoder::new(100, String::new());
        decode(&mut decoder, b"retry: 1500\nretry: soon\nretry:\n\n");
        assert_eq!(decoder.retry(), Some(Duration::from_millis(1_500)));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_makes_no_difference(
            text in prop::collection::vec(
                prop::sample::select(vec![
                    &b"data: a"[..], b"data", b"id: 1", b"event: e", b"\n", b"\r", b"\r\n", b":", b"\xff", b"\n\n",
                ]),
                0..30,
            ),
            cuts in prop::collection::vec(0_usize..200, 0..10),
        ) {
            let bytes = text.concat();
            let mut whole = Decoder::new(20, String::new());
            let expected = decode(&mut whole, &bytes);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut decoder, mut begin, mut events) = (Decoder::new(20, String::new()), 0, vec![]);
            for cut in cuts {
                events.extend(decode(&mut decoder, &bytes[begin..cut]));
                begin = cut;
            }
            prop_assert_eq!(events, expected);
            prop_assert_eq!(decoder.take_dropped(), whole.take_dropped());
        }
    }
}
