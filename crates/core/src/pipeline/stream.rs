//! Streamed answers: what was said, put together.

use futures_util::StreamExt;

use crate::channel::{Delta, DeltaStream, Reply, Response};

/// Reads a stream to its end. A tool call cuts the text into two answers; what was said before an
/// error is kept, marked with the error's code.
pub(super) async fn collect(mut deltas: DeltaStream) -> Response {
    let mut replies = Vec::new();
    let mut text = String::new();
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(Delta::Text(more)) => text.push_str(&more),
            Ok(Delta::ToolCallStart { .. }) => cut(&mut replies, &mut text),
            Ok(Delta::End) => break,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "streamed answer broke off");
                cut(&mut replies, &mut text);
                if let Some(last) = replies.last_mut() {
                    last.metadata.insert("stream_error", error.code());
                }
                return Response::Replies(replies);
            }
        }
    }
    cut(&mut replies, &mut text);
    Response::Replies(replies)
}

fn cut(replies: &mut Vec<Reply>, text: &mut String) {
    if !text.is_empty() {
        replies.push(Reply::text(std::mem::take(text)));
    }
}
