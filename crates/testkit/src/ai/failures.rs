//! Tests of what goes wrong: refusals, breaks, silence, nonsense.

use std::time::Duration;

use futures_util::StreamExt;
use roomkit_ai::http::Framing;
use roomkit_ai::{AiError, AiErrorKind, StreamEvent};

use super::sample::{self, TEXT, hello, stream};
use super::server::{Piece, Reply};
use super::under_test::{KEY, Stage, TestProvider, patient};
use super::wire::{Ability, Quirk};

const KINDS: [AiErrorKind; 6] = [
    AiErrorKind::InvalidRequest,
    AiErrorKind::Unauthorized,
    AiErrorKind::NotFound,
    AiErrorKind::RateLimited,
    AiErrorKind::ContextOverflow,
    AiErrorKind::Overloaded,
];

impl Stage {
    /// What the provider says of a reply, whole and as it comes; one attempt each.
    async fn errors(&self, reply: &Reply) -> Vec<AiError> {
        self.server.reply([reply.clone()]);
        let answer = self.provider.generate(&hello()).await;
        let mut errors = vec![answer.expect_err("it fails")];
        self.server.take_asked();
        if self.is_able(Ability::Streaming) {
            self.server.reply([reply.clone()]);
            let answer = stream(&*self.provider, &hello()).await;
            assert!(answer.is_nothing(), "nothing is told of a refusal");
            errors.extend(answer.error);
        }
        self.server.take_asked();
        errors
    }
}

pub async fn a_refusal_keeps_what_the_vendor_said(test: TestProvider) {
    let Some(stage) = test.stage_with(patient().max_attempts(1)).await else {
        return;
    };
    for kind in KINDS {
        let (status, body) = stage.wire.refusal(kind, "of the vendor's own words");
        let reply = stage
            .named(Reply::json(status, &body))
            .header("retry-after", "7");
        for error in stage.errors(&reply).await {
            let what = format!("{kind:?}: {error:?}");
            assert_eq!(error.kind(), kind, "{what}");
            assert_eq!(error.status(), Some(status), "{what}");
            assert!(
                error.body().is_some_and(|body| body.contains("own words")),
                "{what}"
            );
            if stage.wire.request_id_header().is_some() {
                assert_eq!(error.request_id(), Some("req-7f3"), "{what}");
            }
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{what}");
            let overflow = kind == AiErrorKind::ContextOverflow;
            assert_eq!(error.is_context_overflow(), overflow, "{what}");
            let passes = matches!(kind, AiErrorKind::RateLimited | AiErrorKind::Overloaded);
            assert_eq!(error.is_retryable(), passes, "{what}");
            assert!(
                !what.contains("own words") && !error.to_string().contains("own words"),
                "the vendor's words are for programs alone"
            );
        }
    }
    // A proxy in between refuses in its own way.
    let reply = Reply::new(502, "text/html", b"<html>Bad gateway</html>".to_vec());
    for error in stage.errors(&reply).await {
        assert_eq!(error.kind(), AiErrorKind::Overloaded);
        assert_eq!(error.status(), Some(502));
    }
}

pub async fn no_credential_shows_in_an_error(test: TestProvider) {
    let Some(stage) = test.stage_with(patient().max_attempts(1)).await else {
        return;
    };
    let message = format!("the key {KEY} is wrong");
    let (status, body) = stage.wire.refusal(AiErrorKind::Unauthorized, &message);
    let sends = stage.server.base_url();
    for reply in [
        Reply::json(status, &body),
        Reply::json(200, &serde_json::json!(message)),
        Reply::new(302, "text/plain", message.into_bytes()).header("location", &sends),
    ] {
        for error in stage.errors(&reply).await {
            let source = std::error::Error::source(&error);
            let all = format!("{error} {error:?} {:?} {source:?}", error.body());
            assert!(!all.contains(KEY), "{all}");
        }
    }
    assert!(!format!("{:?}", hello()).contains(KEY));
}

pub async fn a_failure_amid_the_answer_ends_it(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Streaming) {
        return;
    }
    let frames = stage.wire.streamed(&sample::text(), Quirk::None);
    let frames = frames.expect("a vendor streams without quirks");
    let Some(failure) = stage.wire.failure() else {
        return;
    };
    let mut told = 0;
    for at in 0..frames.len() {
        let mut frames = frames[..at].to_vec();
        frames.push(failure.clone());
        let failing = stage.named(Reply::stream(stage.wire.framing(), &frames));
        let whole = stage.streamed(&sample::text(), Quirk::None).unwrap();
        stage.server.reply([failing, whole]);
        let answer = stream(&*stage.provider, &hello()).await;
        let asked = stage.server.take_asked().len();
        match answer.error {
            // Nothing was told, so that it was asked for again or not, as the failure is.
            None => {
                assert_eq!(
                    (asked, answer.text.as_str()),
                    (2, TEXT),
                    "after {at} frames"
                );
            }
            Some(error) => {
                assert_eq!(asked, 1, "after {at} frames: {error:?}");
                assert!(TEXT.starts_with(&answer.text), "after {at} frames");
                assert!(answer.done.is_none());
                if stage.wire.request_id_header().is_some() {
                    assert_eq!(error.request_id(), Some("req-7f3"));
                }
                told += usize::from(!answer.text.is_empty());
            }
        }
    }
    assert!(told > 0, "the failure came amid the text at least once");
}

pub async fn what_cannot_be_read_is_an_error(test: TestProvider) {
    let limits = patient()
        .max_attempts(1)
        .max_frame_bytes(4_000)
        .max_response_bytes(10_000);
    let Some(stage) = test.stage_with(limits).await else {
        return;
    };
    let streams = match stage.wire.framing() {
        Framing::Lines => "application/x-ndjson",
        _ => "text/event-stream",
    };
    let bodies: [(&str, Vec<u8>); 8] = [
        ("text/html", b"<html>Welcome to the proxy</html>".to_vec()),
        ("application/json", b"{".to_vec()),
        ("application/json", b"[]".to_vec()),
        ("application/json", b"\"text\"".to_vec()),
        ("application/json", Vec::new()),
        (streams, b"data: {\"choices\":\n\n{\"a\n".to_vec()),
        (streams, vec![b'x'; 5_000]),
        (streams, b"data: \xff\xfe\n\n\xff\n".to_vec()),
    ];
    for (content_type, body) in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let reply = Reply::new(200, content_type, body);
        for error in stage.errors(&reply).await {
            // Where an answer ended and where it was cut off looks alike.
            let fits = matches!(
                error.kind(),
                AiErrorKind::InvalidResponse | AiErrorKind::Unreachable
            );
            assert!(fits, "{shown}: {error:?}");
        }
    }
    let endless =
        Reply::json(200, &stage.wire.whole(&sample::text())).then(Piece::Bytes(vec![b' '; 20_000]));
    stage.server.reply([endless]);
    let error = stage.provider.generate(&hello()).await;
    let error = error.expect_err("it is larger than what is read");
    assert_eq!(error.kind(), AiErrorKind::InvalidResponse);
}

pub async fn a_server_that_is_slow_or_silent_is_given_up(test: TestProvider) {
    let short = Duration::from_millis(60);
    let limits = patient().max_attempts(1);
    let Some(stage) = test
        .stage_with(limits.clone().first_byte_timeout(short))
        .await
    else {
        return;
    };
    let silent = Reply::new(200, "text/event-stream", Vec::new()).then(Piece::Silence);
    for error in stage.errors(&silent).await {
        assert_eq!(error.kind(), AiErrorKind::Timeout, "{error:?}");
        assert!(error.is_retryable());
    }
    for limits in [
        limits.clone().idle_timeout(short),
        limits.total_timeout(short),
    ] {
        let stage = test.stage_with(limits).await.expect("it has a wire");
        if !stage.is_able(Ability::Streaming) {
            return;
        }
        let reply = stage.streamed(&sample::text(), Quirk::None).unwrap();
        let half = reply.len() / 2;
        stage.server.reply([reply.after(half, Piece::Silence)]);
        let answer = stream(&*stage.provider, &hello()).await;
        let error = answer.error.expect("it is given up");
        assert_eq!(error.kind(), AiErrorKind::Timeout, "{error:?}");
        assert!(TEXT.starts_with(&answer.text));
    }
}

pub async fn a_server_that_is_not_there_is_an_error(test: TestProvider) {
    let Some(stage) = test.stage_with(patient().max_attempts(2)).await else {
        return;
    };
    let Stage {
        provider, server, ..
    } = stage;
    // A request ends the connections that wait in the server's queue.
    drop(server);
    tokio::task::yield_now().await;
    let error = provider
        .generate(&hello())
        .await
        .expect_err("nobody is there");
    assert_eq!(error.kind(), AiErrorKind::Unreachable, "{error:?}");
    assert!(error.is_retryable());
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
}

pub async fn a_dropped_answer_ends_the_request(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Streaming) {
        return;
    }
    let reply = stage.streamed(&sample::text(), Quirk::None).unwrap();
    let most = reply.len() * 4 / 5;
    stage.server.reply([reply.after(most, Piece::Silence)]);
    let mut events = stage.provider.generate_stream(&hello()).await.unwrap();
    while let Some(event) = events.next().await {
        if matches!(event, Ok(StreamEvent::Text(_))) {
            break;
        }
    }
    drop(events);
    stage.server.client_left().await;

    // The same before anything came.
    stage
        .server
        .reply([Reply::new(200, "text/event-stream", Vec::new()).then(Piece::Silence)]);
    let context = hello();
    let asking = stage.provider.generate_stream(&context);
    let asked = async {
        while stage.server.replies_left() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = asking => panic!("the server is silent"),
        () = asked => {}
    }
    stage.server.client_left().await;
}
