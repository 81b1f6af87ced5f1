//! Tools that somebody else executes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_ai::{
    ExternalCall, ExternalError, ExternalTools, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolRunner, ToolSet,
};
use roomkit_core::model::RoomId;
use roomkit_testkit::ManualClock;
use serde_json::json;
use tokio::sync::mpsc;

use super::{call, definition, text};

struct Setup {
    external: ExternalTools,
    tools: ToolSet,
    calls: mpsc::UnboundedReceiver<ExternalCall>,
    clock: Arc<ManualClock>,
}

fn setup() -> Setup {
    let (sender, calls) = mpsc::unbounded_channel();
    let clock = Arc::new(ManualClock::new());
    let external = ExternalTools::new(move |call| {
        let sender = sender.clone();
        async move {
            sender.send(call).map_err(ToolError::hidden)?;
            Ok(())
        }
    })
    .with_clock(clock.clone())
    .with_wait(Duration::from_secs(10));
    let tools = ToolSet::new()
        .with(external.tool(definition("ask")))
        .unwrap();
    Setup {
        external,
        tools,
        calls,
        clock,
    }
}

fn context() -> ToolContext {
    ToolContext::new("turn").with_room("room", "ai")
}

async fn run(setup: &ToolSet, context: &ToolContext) -> ToolResult {
    ToolRunner::new()
        .run(setup, &call("ask", json!({})), context)
        .await
}

#[tokio::test]
async fn a_result_comes_back_by_the_calls_id_and_only_the_first_counts() {
    let mut s = setup();
    let (tools, external) = (s.tools.clone(), s.external.clone());
    let running = tokio::spawn(async move { run(&tools, &context()).await });
    let handed = s.calls.recv().await.unwrap();
    assert_eq!((handed.name.as_str(), &*handed.call_id), ("ask", "call-1"));
    assert_eq!(external.pending().len(), 1);
    let room = RoomId::from("room");
    assert_eq!(
        external.find(Some(&room), "call-1"),
        Ok(Arc::clone(&handed.id))
    );
    assert_eq!(external.find(None, "call-1"), Err(ExternalError::Unknown));
    external
        .resolve(&handed.id, ToolOutput::text("yes"))
        .unwrap();
    assert_eq!(
        external.resolve(&handed.id, "no"),
        Err(ExternalError::Answered)
    );
    assert_eq!(
        external.resolve("call-1", "no"),
        Err(ExternalError::Unknown)
    );
    assert_eq!(text(&running.await.unwrap()), "yes");
    assert!(external.pending().is_empty());
}

#[tokio::test]
async fn the_same_id_of_a_vendor_twice_is_two_calls() {
    let mut s = setup();
    let (a, b) = (s.tools.clone(), s.tools.clone());
    let first = tokio::spawn(async move { run(&a, &context()).await });
    let one = s.calls.recv().await.unwrap();
    let second = tokio::spawn(async move { run(&b, &context()).await });
    let two = s.calls.recv().await.unwrap();
    let room = RoomId::from("room");
    let ambiguous = s.external.find(Some(&room), "call-1");
    assert_eq!(ambiguous, Err(ExternalError::Ambiguous));
    s.external.reject(&two.id, "the user said no").unwrap();
    s.external.resolve(&one.id, "one").unwrap();
    assert_eq!(text(&first.await.unwrap()), "one");
    let refused = second.await.unwrap();
    assert!(refused.is_error);
    assert_eq!(text(&refused), "the user said no");
}

#[tokio::test]
async fn a_result_that_never_comes_and_one_that_comes_late() {
    let mut s = setup();
    let context = context();
    let turn = async {
        let handed = s.calls.recv().await.unwrap();
        while s.clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        s.clock.advance(Duration::from_secs(10));
        handed
    };
    let (result, handed) = tokio::join!(run(&s.tools, &context), turn);
    assert!(
        result.is_error && text(&result).contains("10000 ms"),
        "{}",
        text(&result)
    );
    assert_eq!(
        s.external.resolve(&handed.id, "late"),
        Err(ExternalError::TimedOut)
    );
}

#[tokio::test]
async fn a_call_that_is_dropped_waits_no_more() {
    let mut s = setup();
    let context = context();
    let mut running = Box::pin(run(&s.tools, &context));
    assert!((&mut running).now_or_never().is_none());
    let handed = s.calls.try_recv().unwrap();
    drop(running);
    assert!(s.external.pending().is_empty());
    assert_eq!(
        s.external.resolve(&handed.id, "late"),
        Err(ExternalError::Cancelled)
    );
}

#[tokio::test]
async fn an_answer_need_not_wait_for_who_hands_out() {
    let external = ExternalTools::new(|_| std::future::pending());
    let tools = ToolSet::new()
        .with(external.tool(definition("ask")))
        .unwrap();
    let context = context();
    let mut running = Box::pin(run(&tools, &context));
    assert!((&mut running).now_or_never().is_none());
    let id = external.pending()[0].id.clone();
    external.resolve(&id, 7).unwrap();
    assert_eq!(text(&running.await), "7");
}

#[tokio::test]
async fn a_call_that_cannot_be_handed_out_fails() {
    let external = ExternalTools::new(|_| async { Err(ToolError::new("nobody is there")) });
    let tools = ToolSet::new()
        .with(external.tool(definition("ask")))
        .unwrap();
    let result = run(&tools, &context()).await;
    assert!(result.is_error);
    assert_eq!(text(&result), "nobody is there");
    assert!(external.pending().is_empty());
}
