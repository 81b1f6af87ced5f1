//! Tests of attempts: made again until something was told, never after it, and not for ever.

use std::time::Duration;

use roomkit_ai::{AiErrorKind, AiResponse};

use super::sample::{self, hello, stream, with_tools, without_ids};
use super::server::{Piece, Pieces, Reply};
use super::under_test::{Stage, TestProvider, patient};
use super::wire::{Ability, Quirk};

pub async fn a_call_is_made_again_until_something_was_told(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    let cut = stage.whole(&sample::text()).after(40, Piece::Cut);
    stage.server.reply([cut, stage.whole(&sample::text())]);
    let answer = stage.provider.generate(&hello()).await;
    assert_eq!(answer.expect("the second time").text, sample::TEXT);
    assert_eq!(stage.server.take_asked().len(), 2);
    if !stage.is_able(Ability::Streaming) {
        return;
    }
    cut_everywhere(&stage, &sample::text()).await;
    if stage.is_able(Ability::Tools) {
        cut_everywhere(&stage, &sample::calls()).await;
    }
}

/// The connection breaks after each number of bytes, and the second attempt would go well.
async fn cut_everywhere(stage: &Stage, expected: &AiResponse) {
    let reply = stage.streamed(expected, Quirk::None).unwrap();
    let step = (reply.len() / 150).max(1);
    let (mut again, mut failed) = (0, 0);
    for at in (0..reply.len()).step_by(step) {
        let broken = reply.clone().after(at, Piece::Cut);
        stage
            .server
            .reply([broken.pieces(Pieces::Random(at as u64)), reply.clone()]);
        let answer = stream(&*stage.provider, &with_tools()).await;
        let asked = stage.server.take_asked().len();
        let what = format!("cut after {at} bytes, {asked} requests");
        match &answer.error {
            None => {
                assert_eq!(answer.text, expected.text, "{what}");
                assert_eq!(
                    without_ids(&answer.calls),
                    without_ids(&expected.tool_calls),
                    "{what}"
                );
                again += usize::from(asked == 2);
            }
            Some(error) => {
                failed += 1;
                assert_eq!(asked, 1, "{what}: {error:?}");
                assert!(
                    !answer.is_nothing(),
                    "{what}: it could have been made again"
                );
                assert!(answer.done.is_none(), "{what}");
                assert!(expected.text.starts_with(&answer.text), "{what}");
                let told = without_ids(&answer.calls);
                assert!(
                    without_ids(&expected.tool_calls).starts_with(&told),
                    "{what}: a call that was not whole"
                );
            }
        }
    }
    assert!(again > 0 && failed > 0, "{again} again, {failed} failed");
}

pub async fn attempts_are_bounded_and_wait_as_asked(test: TestProvider) {
    let Some(stage) = test.stage_with(patient().max_attempts(3)).await else {
        return;
    };
    let refuses = |kind| {
        let (status, body) = stage.wire.refusal(kind, "later");
        Reply::json(status, &body)
    };
    let busy = refuses(AiErrorKind::Overloaded);
    let limited = refuses(AiErrorKind::RateLimited).header("retry-after", "0");
    stage
        .server
        .reply([limited, busy.clone(), stage.whole(&sample::text())]);
    let answer = stage.provider.generate(&hello()).await;
    assert_eq!(answer.expect("the third time").text, sample::TEXT);
    assert_eq!(stage.server.take_asked().len(), 3);

    stage.server.reply(vec![busy.clone(); 5]);
    let error = stage.provider.generate(&hello()).await;
    assert_eq!(error.expect_err("busy").kind(), AiErrorKind::Overloaded);
    assert_eq!(stage.server.take_asked().len(), 3, "attempts are bounded");

    // Whoever asks to be left alone for longer than is waited is left alone, and so says the error.
    let later = refuses(AiErrorKind::RateLimited).header("retry-after", "3600");
    stage.server.reply(vec![later; 5]);
    let error = stage
        .provider
        .generate(&hello())
        .await
        .expect_err("limited");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(stage.server.take_asked().len(), 1);

    for kind in [AiErrorKind::InvalidRequest, AiErrorKind::Unauthorized] {
        stage.server.reply(vec![refuses(kind); 5]);
        let error = stage.provider.generate(&hello()).await;
        assert_eq!(error.expect_err("refused").kind(), kind);
        assert_eq!(stage.server.take_asked().len(), 1, "{kind:?} does not pass");
    }
    if stage.is_able(Ability::Streaming) {
        let whole = stage.streamed(&sample::text(), Quirk::None).unwrap();
        stage.server.reply([busy, whole]);
        let answer = stream(&*stage.provider, &hello()).await.whole("again");
        assert_eq!(answer.text, sample::TEXT);
        assert_eq!(stage.server.take_asked().len(), 2);
    }
}
