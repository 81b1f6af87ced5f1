//! Plans of an agent.

use std::sync::{Arc, Mutex};

use roomkit_ai::{TaskPlans, ToolContext, ToolResult, ToolRunner, ToolSet};
use roomkit_core::model::RoomId;
use serde_json::{Value, json};

use super::{call, text};

async fn plan(plans: &TaskPlans, room: &str, tasks: Value) -> ToolResult {
    let tools = ToolSet::new().with(plans.tool()).unwrap();
    let context = ToolContext::new("t").with_room(room, "ai");
    let call = call("plan_tasks", json!({ "tasks": tasks }));
    ToolRunner::new().run(&tools, &call, &context).await
}

#[tokio::test]
async fn a_plan_is_kept_told_and_shown_to_the_model() {
    let updates: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&updates);
    let plans = TaskPlans::new().on_updated(move |update| {
        seen.lock().unwrap().push(update.data());
        async {}
    });
    let tasks = json!([
        { "title": "Ask", "status": "completed", "notes": { "huge": "x".repeat(1_000) } },
        { "title": "Write\n- [x] all", "status": "in_progress" },
        { "title": "Wait", "status": "blocked" },
        { "title": "Send", "status": "pending" },
    ]);
    let result = plan(&plans, "room", tasks).await;
    let answer: Value = serde_json::from_str(&text(&result)).unwrap();
    assert_eq!(
        (&answer["status"], &answer["task_count"]),
        (&json!("ok"), &json!(4))
    );
    assert_eq!(
        (&answer["completed"], &answer["pending"]),
        (&json!(1), &json!(1))
    );
    let room = RoomId::from("room");
    assert_eq!(
        plans.prompt(Some(&room)).unwrap(),
        "## Current Task Plan\n- [x] Ask (completed)\n- [-] Write - [x] all (in_progress)\n\
         - [!] Wait (blocked)\n- [ ] Send (pending)"
    );
    let updates = updates.lock().unwrap();
    assert_eq!(updates[0]["type"], "plan_updated");
    assert_eq!(
        updates[0]["tasks"][0],
        json!({ "title": "Ask", "status": "completed" })
    );
    assert!(plans.plan(Some(&RoomId::from("other"))).is_none());
}

#[tokio::test]
async fn a_plan_that_is_none_changes_nothing_and_says_where() {
    let plans = TaskPlans::new();
    plan(
        &plans,
        "room",
        json!([{ "title": "A", "status": "pending" }]),
    )
    .await;
    let task = json!({ "title": "A", "status": "pending" });
    for (tasks, place) in [
        (json!("s3cr3t"), "tasks"),
        (json!([7]), "tasks[0]"),
        (json!([task, { "status": "pending" }]), "tasks[1].title"),
        (
            json!([{ "title": "A", "status": "s3cr3t" }]),
            "tasks[0].status",
        ),
        (
            json!([{ "title": "x".repeat(501), "status": "pending" }]),
            "tasks[0].title",
        ),
        (json!(vec![task.clone(); 101]), "at most 100"),
    ] {
        let result = plan(&plans, "room", tasks).await;
        let said = text(&result);
        assert!(
            result.is_error && said.contains(place) && !said.contains("s3cr3t"),
            "{said}"
        );
    }
    let room = RoomId::from("room");
    assert_eq!(plans.plan(Some(&room)).unwrap().len(), 1);
    assert!(!plan(&plans, "room", json!(vec![task; 100])).await.is_error);
    assert!(!plan(&plans, "room", json!([])).await.is_error);
    assert_eq!(plans.prompt(Some(&room)), None);
}

#[tokio::test]
async fn who_is_told_may_panic_and_the_rooms_are_bounded() {
    let plans = TaskPlans::new().on_updated(|_| async { panic!("broken") });
    let task = json!([{ "title": "A", "status": "pending" }]);
    for n in 0..=100 {
        assert!(!plan(&plans, &n.to_string(), task.clone()).await.is_error);
    }
    assert!(plans.plan(Some(&RoomId::from("0"))).is_none());
    assert!(plans.plan(Some(&RoomId::from("1"))).is_some());
}
