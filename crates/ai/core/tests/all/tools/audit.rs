//! Records of calls: without content unless it is asked for, and never in a call's way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_ai::{
    ConsoleToolAuditor, FnTool, JsonlToolAuditor, ToolAuditEntry, ToolAuditor, ToolContext,
    ToolError, ToolRunner, ToolSet, ToolStatus,
};
use roomkit_testkit::ManualClock;
use serde_json::{Value, json};

use super::{call, definition, echo, text};

#[derive(Default)]
struct Recorder {
    entries: Mutex<Vec<ToolAuditEntry>>,
    content: bool,
}

impl ToolAuditor for Recorder {
    fn record(&self, entry: &ToolAuditEntry) {
        self.entries.lock().unwrap().push(entry.clone());
    }

    fn wants_content(&self) -> bool {
        self.content
    }
}

fn tools() -> ToolSet {
    ToolSet::new()
        .with(echo(
            "echo",
            json!({ "properties": { "n": { "type": "integer" } } }),
        ))
        .unwrap()
        .with(FnTool::new(definition("soft"), |_, _| async {
            json!({ "status": "failed" })
        }))
        .unwrap()
        .with(FnTool::new(definition("hard"), |_, _| async {
            Err::<(), _>(ToolError::new("s3cr3t"))
        }))
        .unwrap()
        .with(FnTool::new(definition("hangs"), |_, _| {
            std::future::pending::<()>()
        }))
        .unwrap()
}

#[tokio::test]
async fn each_call_is_recorded_once_with_how_it_ended() {
    let recorder = Arc::new(Recorder::default());
    let clock = Arc::new(ManualClock::new());
    let runner = ToolRunner::new()
        .with_auditor(recorder.clone(), "agent")
        .with_clock(clock.clone());
    let context = ToolContext::new("turn").with_room("room", "ai");
    let tools = tools();
    for (name, arguments) in [
        ("echo", json!({ "n": 1 })),
        ("echo", json!({ "n": "s3cr3t" })),
        ("soft", json!({})),
        ("hard", json!({})),
        ("s3cr3t name", json!({})),
    ] {
        runner.run(&tools, &call(name, arguments), &context).await;
    }
    {
        let call = call("hangs", json!({}));
        let mut run = Box::pin(runner.run(&tools, &call, &context));
        assert!((&mut run).now_or_never().is_none());
        clock.advance(Duration::from_millis(1_500));
    }
    let entries = recorder.entries.lock().unwrap();
    let ends: Vec<_> = entries.iter().map(|e| (e.status, e.error_code)).collect();
    assert_eq!(
        ends,
        [
            (ToolStatus::Ok, None),
            (ToolStatus::Error, Some("tool_invalid_arguments")),
            (ToolStatus::Failed, None),
            (ToolStatus::Error, Some("tool_failed")),
            (ToolStatus::Error, Some("tool_unknown")),
            (ToolStatus::Error, Some("tool_cancelled")),
        ]
    );
    assert_eq!(entries[5].duration_ms, 1_500.0);
    let shown = format!("{entries:?}{}", serde_json::to_string(&*entries).unwrap());
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert!(shown.contains("\"room_id\":\"room\""), "{shown}");
}

#[tokio::test]
async fn content_is_recorded_where_it_is_asked_for_and_bounded() {
    let recorder = Arc::new(Recorder {
        content: true,
        ..Recorder::default()
    });
    let runner = ToolRunner::new().with_auditor(recorder.clone(), "agent");
    let tools = ToolSet::new().with(echo("echo", json!({}))).unwrap();
    let context = ToolContext::new("turn");
    runner
        .run(
            &tools,
            &call("echo", json!({ "a": "é".repeat(600) })),
            &context,
        )
        .await;
    runner
        .run(
            &tools,
            &call("echo", json!({ "a": "x".repeat(20_000) })),
            &context,
        )
        .await;
    let entries = recorder.entries.lock().unwrap();
    assert_eq!(entries[0].arguments.as_ref().unwrap()["a"], "é".repeat(600));
    assert_eq!(entries[0].result.as_ref().unwrap().chars().count(), 500);
    assert!(entries[1].arguments.is_none(), "too large to be recorded");
}

#[tokio::test]
async fn an_auditor_that_panics_fails_no_call() {
    struct Broken;
    impl ToolAuditor for Broken {
        fn record(&self, _: &ToolAuditEntry) {
            panic!("broken");
        }

        fn wants_content(&self) -> bool {
            panic!("broken");
        }
    }
    let runner = ToolRunner::new().with_auditor(Arc::new(Broken), "agent");
    let result = runner
        .run(&tools(), &call("echo", json!({})), &ToolContext::new("t"))
        .await;
    assert_eq!(text(&result), "{}");
}

#[tokio::test]
async fn the_file_gets_a_line_for_each_call_after_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit/tools.jsonl");
    for round in 1..=2_usize {
        let auditor = Arc::new(JsonlToolAuditor::open(&path).unwrap());
        let runner = ToolRunner::new().with_auditor(auditor.clone(), "agent");
        for _ in 0..3 {
            let call = call("echo", json!({ "n": 424_242 }));
            runner.run(&tools(), &call, &ToolContext::new("t")).await;
        }
        auditor.flush().await;
        let lines = std::fs::read_to_string(&path).unwrap();
        assert_eq!(lines.lines().count(), 3 * round);
        assert!(!lines.contains("424242"), "no content by default: {lines}");
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(first["tool_name"], "echo");
        assert_eq!(first["status"], "ok");
        assert_eq!((auditor.lost(), auditor.entries().len()), (0, 3));
    }
    let with_content = Arc::new(JsonlToolAuditor::open(&path).unwrap().with_content(true));
    let runner = ToolRunner::new().with_auditor(with_content.clone(), "agent");
    runner
        .run(
            &tools(),
            &call("echo", json!({ "n": 424_242 })),
            &ToolContext::new("t"),
        )
        .await;
    with_content.flush().await;
    assert!(std::fs::read_to_string(&path).unwrap().contains("424242"));
    assert!(
        JsonlToolAuditor::open(folder.path()).is_err(),
        "a folder is no file"
    );
}

#[tokio::test]
async fn the_console_keeps_the_last_calls_and_sums_them_up() {
    let auditor = Arc::new(ConsoleToolAuditor::new());
    let runner = ToolRunner::new().with_auditor(auditor.clone(), "agent");
    for name in ["echo", "echo", "hard"] {
        runner
            .run(&tools(), &call(name, json!({})), &ToolContext::new("t"))
            .await;
    }
    let summary = auditor.summary();
    assert!(
        summary.starts_with("3 tool calls\necho: 2 calls, 0 not ok"),
        "{summary}"
    );
    assert!(summary.contains("hard: 1 calls, 1 not ok"), "{summary}");
}
