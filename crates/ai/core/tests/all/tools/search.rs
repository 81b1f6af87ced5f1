//! Tool search: what is hidden, what is found, what is seen.

use roomkit_ai::{
    FnTool, RevealedTools, ToolContext, ToolDefinition, ToolRunner, ToolSearch, ToolSet,
};
use serde_json::{Value, json};

use super::{call, text};

fn tool(name: &str, description: &str, tags: &[&str]) -> FnTool {
    let definition = ToolDefinition::new(name, description, ToolDefinition::nothing());
    FnTool::new(definition, |_, _| async { "done" }).tags(tags.iter().copied())
}

fn office() -> ToolSet {
    let mut tools = ToolSet::new();
    for (name, description, tags) in [
        ("get_help", "Says how to get help.", &[][..]),
        (
            "crm_find_contact",
            "Looks up a contact by the phone number on file.",
            &[],
        ),
        ("crm_add_note", "Adds a note to the file.", &[]),
        ("sms_send", "Sends a text message to the phone.", &[]),
        ("SpotifySearch", "Finds the songs on the service.", &[]),
        ("workflows", "Lists the workflows.", &[]),
        (
            "fichiers",
            "Donne la liste des fichiers.",
            &["list", "files"],
        ),
    ] {
        tools.add(tool(name, description, tags)).unwrap();
    }
    tools
}

fn names(tools: &ToolSet) -> Vec<&str> {
    tools.names().collect()
}

async fn ask(turn: &RevealedTools, name: &str, arguments: Value) -> Value {
    let call = call(name, arguments);
    let result = ToolRunner::new()
        .run(turn.all(), &call, &ToolContext::new("t"))
        .await;
    assert!(!result.is_error, "{}", text(&result));
    serde_json::from_str(&text(&result)).unwrap()
}

async fn found(query: &str) -> Vec<String> {
    let turn = ToolSearch::new().begin(&office(), []).unwrap();
    let answer = ask(&turn, "find_tools", json!({ "query": query })).await;
    let matches = answer["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|m| m["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_is_asked_for_is_found() {
    for (query, expected) in [
        ("send a text message", "sms_send"),
        ("look up a contact by phone", "crm_find_contact"),
        ("play on spotify", "SpotifySearch"),
        ("create workflow", "workflows"),
        ("list files", "fichiers"),
        ("NOTES", "crm_add_note"),
    ] {
        assert_eq!(
            found(query).await.first().map(String::as_str),
            Some(expected),
            "{query}"
        );
    }
    assert!(found("quantum chromodynamics").await.is_empty());
    assert!(found("!!!").await.is_empty());
    let long = "a phone ".repeat(120);
    assert!(!found(&long).await.is_empty());
}

#[tokio::test]
async fn a_second_search_takes_the_place_of_the_first() {
    let search = ToolSearch::new().pinned(["get_*"]);
    let turn = search.begin(&office(), []).unwrap();
    let base = ["find_tools", "list_tools", "get_help"];
    assert_eq!(names(&turn.visible()), base);
    let answer = ask(
        &turn,
        "find_tools",
        json!({ "query": "contact", "max_results": 1 }),
    )
    .await;
    assert_eq!(
        names(&turn.visible()),
        [&base[..], &["crm_find_contact"]].concat()
    );
    assert_eq!(answer["related_tools_same_source"], json!(["crm_add_note"]));
    ask(&turn, "find_tools", json!({ "query": "sms" })).await;
    assert_eq!(names(&turn.visible()), [&base[..], &["sms_send"]].concat());
    let next = search.begin(&office(), turn.revealed()).unwrap();
    assert_eq!(
        names(&next.visible()),
        names(&turn.visible()),
        "found for the next turn too"
    );
}

#[tokio::test]
async fn listing_shows_all_and_reveals_nothing() {
    let mut tools = ToolSet::new();
    for n in 0..200 {
        let family = if n < 190 { "a" } else { "z" };
        tools
            .add(tool(&format!("{family}_{n}"), &"d".repeat(500), &[]))
            .unwrap();
    }
    let turn = ToolSearch::new().begin(&tools, []).unwrap();
    let all = ask(&turn, "list_tools", json!({})).await;
    assert_eq!((&all["count"], &all["total"]), (&json!(60), &json!(200)));
    let listed = all["tools"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .any(|tool| tool["name"].as_str().unwrap().starts_with("z_"))
    );
    assert!(listed[0]["description"].as_str().unwrap().len() == 64);
    let some = ask(&turn, "list_tools", json!({ "category": "z_" })).await;
    assert_eq!((&some["count"], some.get("truncated")), (&json!(10), None));
    assert_eq!(turn.visible().len(), 2);
}

#[tokio::test]
async fn a_hidden_tool_called_by_its_right_name_is_admitted() {
    let turn = ToolSearch::new().begin(&office(), []).unwrap();
    assert!(!turn.admit("sms_sent"));
    assert!(turn.admit("sms_send") && turn.admit("find_tools"));
    assert!(turn.visible().contains("sms_send"));
}

#[test]
fn it_is_active_by_the_size_of_the_tools() {
    let mut tools = ToolSet::new();
    for n in 0..20 {
        tools
            .add(tool(&format!("t{n}"), &"x".repeat(400), &[]))
            .unwrap();
    }
    // About 113 tokens each.
    let search = ToolSearch::new();
    assert!(!search.is_active(&tools, Some(200_000)));
    assert!(search.is_active(&tools, Some(8_000)));
    assert!(
        !search.clone().pinned(["*"]).is_active(&tools, Some(8_000)),
        "pinned ones stay"
    );
    assert!(
        !search
            .clone()
            .threshold_pct(90.0)
            .is_active(&tools, Some(8_000))
    );
    assert!(!search.is_active(&tools, None), "20 is not more than 20");
    assert!(search.clone().threshold(19).is_active(&tools, None));
    assert!(
        search
            .clone()
            .enabled(true)
            .is_active(&ToolSet::new(), Some(200_000))
    );
    assert!(!search.enabled(false).is_active(&tools, Some(10)));
}

#[tokio::test]
async fn odd_arguments_and_names_are_answered() {
    let search = ToolSearch::new().threshold(2);
    let turn = search.begin(&office(), []).unwrap();
    for most in [-5, 0, 1] {
        let arguments = json!({ "query": "phone contact file", "max_results": most });
        let answer = ask(&turn, "find_tools", arguments).await;
        assert_eq!(answer["matches"].as_array().unwrap().len(), 1);
    }
    let result = ToolRunner::new()
        .run(
            turn.all(),
            &call("find_tools", json!({ "query": "  " })),
            &ToolContext::new("t"),
        )
        .await;
    assert!(result.is_error && text(&result).contains("query"));
    let taken = ToolSet::new().with(tool("find_tools", "", &[])).unwrap();
    assert_eq!(
        search.begin(&taken, []).unwrap_err().code(),
        "tool_duplicate_name"
    );
    let hint: ToolSearch = serde_json::from_value(json!({ "miss_hint": "Ask Bob." })).unwrap();
    let turn = hint.begin(&office(), []).unwrap();
    let answer = ask(&turn, "find_tools", json!({ "query": "zzz" })).await;
    assert!(answer["note"].as_str().unwrap().ends_with("Ask Bob."));
}
