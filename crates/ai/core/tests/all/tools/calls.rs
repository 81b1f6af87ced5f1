//! Running calls: in their order, several at once, bounded, whatever a tool does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_ai::{
    Cancellation, FnTool, ResultPart, ToolArguments, ToolCall, ToolContext, ToolError, ToolLimits,
    ToolOutput, ToolRunner, ToolSet,
};
use roomkit_testkit::ManualClock;
use serde_json::json;
use tokio::sync::Notify;

use super::{call, definition, text};

fn tool<F, Fut, O>(name: &str, function: F) -> FnTool
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: roomkit_ai::IntoToolResult,
{
    FnTool::new(definition(name), move |_, context| function(context))
}

fn one(tool: FnTool) -> ToolSet {
    ToolSet::new().with(tool).unwrap()
}

#[tokio::test]
async fn whatever_goes_wrong_is_one_result_that_the_model_can_use() {
    let tools = ToolSet::new()
        .with(tool("fine", |_| async { "fine" }))
        .unwrap()
        .with(tool("fails", |_| async {
            Err::<(), _>(ToolError::new("no such order"))
        }))
        .unwrap()
        .with(tool("breaks", |_| async {
            if true {
                panic!("secret of a panic");
            }
        }))
        .unwrap()
        .with(tool("hides", |_| async {
            Err::<(), _>(ToolError::hidden("https://example.com?key=secret"))
        }))
        .unwrap();
    let calls: Vec<ToolCall> = ["fine", "fails", "breaks", "hides", "unknown", "no\nname"]
        .iter()
        .enumerate()
        .map(|(n, name)| ToolCall::new(format!("c{n}"), *name, ToolArguments::default()))
        .collect();
    let results = ToolRunner::new()
        .run_all(&tools, &calls, &ToolContext::new("turn"))
        .await;
    let ids: Vec<&str> = results.iter().map(|r| r.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c0", "c1", "c2", "c3", "c4", "c5"]);
    let errors: Vec<bool> = results.iter().map(|r| r.is_error).collect();
    assert_eq!(errors, [false, true, true, true, true, true]);
    let texts: Vec<String> = results.iter().map(text).collect();
    assert_eq!(texts[1], "no such order");
    assert!(
        texts[2].contains("broke down") && texts[4].contains("`unknown`"),
        "{texts:?}"
    );
    assert!(
        !texts.concat().contains("secret") && !texts[5].contains("no\nname"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn results_keep_the_calls_order_and_only_so_many_run_at_once() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (r, m) = (Arc::clone(&running), Arc::clone(&most));
    let tools = one(tool("t", move |context| {
        let (r, m) = (Arc::clone(&r), Arc::clone(&m));
        async move {
            m.fetch_max(r.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // The later a call, the sooner it is ready.
            let turns = 50 - context.call_id.parse::<usize>().unwrap();
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            r.fetch_sub(1, Ordering::SeqCst);
            context.call_id.to_string()
        }
    }));
    let calls: Vec<ToolCall> = (0..20)
        .map(|n| ToolCall::new(n.to_string(), "t", ToolArguments::default()))
        .collect();
    let runner = ToolRunner::new().with_limits(ToolLimits::default().max_parallel(3));
    let results = runner
        .run_all(&tools, &calls, &ToolContext::new("turn"))
        .await;
    let texts: Vec<String> = results.iter().map(text).collect();
    assert_eq!(texts, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_and_what_it_spawned_is_told() {
    let told: Arc<std::sync::Mutex<Option<Cancellation>>> = Arc::default();
    let keep = Arc::clone(&told);
    let tools = one(tool("t", move |context| {
        *keep.lock().unwrap() = Some(context.cancellation.clone());
        std::future::pending::<()>()
    }));
    let clock = Arc::new(ManualClock::new());
    let runner = ToolRunner::new()
        .with_clock(clock.clone())
        .with_limits(ToolLimits::default().timeout(Duration::from_secs(5)));
    let context = ToolContext::new("turn");
    let call = call("t", json!({}));
    let run = runner.run(&tools, &call, &context);
    let turn = async {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(5));
    };
    let (result, ()) = tokio::join!(run, turn);
    assert!(
        result.is_error && text(&result).contains("5000 ms"),
        "{}",
        text(&result)
    );
    assert!(told.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert!(!context.cancellation.is_cancelled(), "the turn goes on");
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_calls_and_begins_no_more() {
    let began = Arc::new(Notify::new());
    let signal = Arc::clone(&began);
    let executed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executed);
    let tools = one(tool("t", move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        signal.notify_one();
        std::future::pending::<()>()
    }));
    let calls = vec![call("t", json!({})), call("t", json!({}))];
    let runner = ToolRunner::new().with_limits(ToolLimits::default().max_parallel(1));
    let context = ToolContext::new("turn");
    let cancel = async {
        began.notified().await;
        context.cancellation.cancel();
    };
    let (results, ()) = tokio::join!(runner.run_all(&tools, &calls, &context), cancel);
    assert_eq!(results.len(), 2);
    assert!(
        results
            .iter()
            .all(|r| r.is_error && text(r).contains("cancelled"))
    );
    assert_eq!(executed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropping_a_call_drops_the_tool_and_sets_its_flag() {
    struct SetOnDrop(Arc<AtomicBool>);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let tools = one(tool("t", move |_| {
        let guard = SetOnDrop(Arc::clone(&flag));
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        }
    }));
    let (runner, context, call) = (
        ToolRunner::new(),
        ToolContext::new("t"),
        call("t", json!({})),
    );
    let mut run = Box::pin(runner.run(&tools, &call, &context));
    assert!((&mut run).now_or_never().is_none());
    drop(run);
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_result_that_is_too_large_is_cut_and_says_so() {
    let tools = one(tool("t", |_| async {
        ToolOutput::text("é".repeat(100))
            .with_image("data:image/png;base64,AAAA", None)
            .with_structured_content(json!({ "kept": true }))
    }));
    let runner = ToolRunner::new().with_limits(ToolLimits::default().max_text_bytes(11));
    let result = runner
        .run(&tools, &call("t", json!({})), &ToolContext::new("t"))
        .await;
    let said = text(&result);
    assert!(
        said.starts_with("ééééé\n[image]\n[190 bytes more"),
        "{said}"
    );
    assert!(
        result
            .parts
            .iter()
            .any(|p| matches!(p, ResultPart::Image { .. }))
    );
    assert_eq!(result.structured_content, Some(json!({ "kept": true })));
}

#[tokio::test]
async fn arguments_that_a_hook_has_changed_are_checked_again() {
    let schema = json!({ "properties": { "n": { "type": "integer" } } });
    let tools = one(super::echo("t", schema));
    let (runner, context) = (ToolRunner::new(), ToolContext::new("t"));
    let call = call("t", json!({ "n": 1 }));
    let mut arguments = runner.check(&tools, &call, &context).unwrap();
    arguments.insert("n".to_owned(), json!(2));
    let result = runner
        .execute(&tools, &call, arguments.clone(), &context)
        .await;
    assert_eq!(text(&result), r#"{"n":2}"#);
    arguments.insert("n".to_owned(), json!("two"));
    let result = runner.execute(&tools, &call, arguments, &context).await;
    assert!(result.is_error && text(&result).contains("n: must be an integer"));
}

#[tokio::test]
async fn a_flag_of_a_call_follows_that_of_its_turn() {
    let turn = Cancellation::new();
    let (call, other) = (turn.child(), turn.child().child());
    call.cancel();
    assert!(call.is_cancelled() && !turn.is_cancelled() && !other.is_cancelled());
    turn.cancel();
    other.cancelled().await;
    assert!(other.is_cancelled());
}

#[test]
fn what_is_shared_may_go_anywhere() {
    fn sent<T: Send + Sync + 'static>() {}
    sent::<ToolSet>();
    sent::<ToolContext>();
    sent::<ToolRunner>();
    sent::<ToolError>();
    fn future<F: Send>(_: &F) {}
    let (runner, tools, context) = (ToolRunner::new(), ToolSet::new(), ToolContext::new("t"));
    future(&runner.run_all(&tools, &[], &context));
}
