//! Sets of tools: names that differ, schemas that check something.

use roomkit_ai::{FnTool, ToolDefinition, ToolSet, ToolSetError};
use serde_json::{Value, json};

use super::{definition, echo};

fn named(name: &str) -> FnTool {
    echo(name, ToolDefinition::nothing())
}

#[test]
fn a_name_that_is_taken_is_refused_and_named() {
    let tools = ToolSet::new().with(named("search")).unwrap();
    let error = tools.clone().with(named("search")).unwrap_err();
    assert_eq!(error.code(), "tool_duplicate_name");
    assert!(error.to_string().contains("`search`"), "{error}");
    let mut other = ToolSet::new().with(named("more")).unwrap();
    other.add(named("search")).unwrap();
    let mut merged = tools.clone();
    assert_eq!(merged.merge(&other), Err(error));
    assert_eq!(merged.len(), 1, "nothing of a set that clashes is added");
}

#[test]
fn names_that_no_vendor_takes_are_refused() {
    let long = "x".repeat(65);
    for name in ["", "a b", "a.b", "é", "a/b", long.as_str()] {
        let error = ToolSet::new().with(named(name)).unwrap_err();
        assert!(matches!(error, ToolSetError::InvalidName { .. }), "{name}");
    }
    for name in ["a", "A-b_9", &"x".repeat(64)] {
        assert!(ToolSet::new().with(named(name)).is_ok(), "{name}");
    }
}

#[test]
fn schemas_that_would_check_nothing_are_refused_and_the_place_is_named() {
    let cases: [(Value, &str); 9] = [
        (json!(null), "object"),
        (json!({ "type": "string" }), "type"),
        (json!({ "properties": [] }), "properties"),
        (json!({ "properties": { "a": 7 } }), "properties.a"),
        (json!({ "required": "a" }), "required"),
        (
            json!({ "properties": { "a": { "enum": [] } } }),
            "properties.a.enum",
        ),
        (
            json!({ "properties": { "a": { "items": { "type": 1 } } } }),
            "properties.a.items.type",
        ),
        (
            json!({ "properties": { "a": { "$ref": "#/$defs/b" } } }),
            "properties.a.$ref",
        ),
        (json!({ "anyOf": [{ "oneOf": {} }] }), "anyOf[0].oneOf"),
    ];
    for (schema, place) in cases {
        let error = ToolSet::new().with(echo("a", schema.clone())).unwrap_err();
        assert_eq!(error.code(), "tool_invalid_schema", "{schema}");
        assert!(error.to_string().contains(place), "{schema}: {error}");
    }
    assert!(ToolSet::new().with(echo("a", json!({}))).is_ok());
}

#[tokio::test]
async fn one_function_does_several_tools() {
    let mut tools = ToolSet::new();
    let handler = |name: String, _, _| async move { format!("did {name}") };
    tools
        .add_handler([definition("a"), definition("b")], handler)
        .unwrap();
    let names: Vec<&str> = tools.names().collect();
    assert_eq!(names, ["a", "b"]);
    let context = roomkit_ai::ToolContext::new("turn");
    let output = tools
        .get("b")
        .unwrap()
        .call(Default::default(), &context)
        .await;
    assert_eq!(output.unwrap(), "did b".into());
}
