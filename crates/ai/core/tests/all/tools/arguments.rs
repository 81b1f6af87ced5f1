//! Arguments that do not fit are told to the model, by the member's name and without the value.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use roomkit_ai::{
    FnTool, ToolArguments, ToolCall, ToolContext, ToolDefinition, ToolRunner, ToolSet,
};
use serde_json::{Value, json};

use super::{call, echo, text};

/// What a model reads of arguments that do not fit; `None` where they do.
fn problem(schema: Value, arguments: Value) -> Option<String> {
    let tools = ToolSet::new().with(echo("t", schema)).unwrap();
    let checked = ToolRunner::new().check(&tools, &call("t", arguments), &ToolContext::new("c"));
    checked.err().map(|error| error.message().to_owned())
}

fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "to": { "type": "string", "minLength": 2, "maxLength": 5 },
            "amount": { "type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 5 },
            "rate": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            "unit": { "type": "string", "enum": ["kg", "lb"] },
            "kind": { "const": "order" },
            "note": { "type": ["string", "null"] },
            "old": { "type": "string", "nullable": true },
            "lines": {
                "type": "array", "minItems": 1, "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": { "sku": { "type": "string" } },
                    "required": ["sku"],
                    "additionalProperties": false,
                },
            },
            "labels": { "type": "object", "additionalProperties": { "type": "boolean" } },
            "place": { "anyOf": [
                { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
                { "type": "null" },
            ] },
            "pay": { "oneOf": [{ "$ref": "#/$defs/card" }, { "$ref": "#/$defs/cash" }] },
        },
        "required": ["to"],
        "additionalProperties": false,
        "$defs": {
            "card": {
                "type": "object", "required": ["card"],
                "properties": { "card": { "type": "object", "properties": { "cvc": { "type": "integer" } } } },
            },
            "cash": { "type": "object", "required": ["cash"] },
        },
    })
}

#[test]
fn what_is_wrong_is_named_and_no_value_is_repeated() {
    let secret = "s3cr3t-v4lue";
    let cases: [(Value, &str); 21] = [
        (json!({}), "to: is required"),
        (json!({ "to": 7 }), "to: must be a string"),
        (json!({ "to": null }), "to: must be a string"),
        (
            json!({ "to": secret }),
            "to: must have at most 5 characters",
        ),
        (json!({ "to": "é" }), "to: must have at least 2 characters"),
        (
            json!({ "to": "me", "amount": secret }),
            "amount: must be an integer",
        ),
        (
            json!({ "to": "me", "amount": 5.5 }),
            "amount: must be an integer",
        ),
        (
            json!({ "to": "me", "amount": 0 }),
            "amount: must be at least 1",
        ),
        (
            json!({ "to": "me", "amount": 105 }),
            "amount: must be at most 100",
        ),
        (
            json!({ "to": "me", "amount": 7 }),
            "amount: must be a multiple of 5",
        ),
        (json!({ "to": "me", "rate": 0 }), "rate: must be above 0"),
        (json!({ "to": "me", "rate": 1 }), "rate: must be below 1"),
        (
            json!({ "to": "me", "unit": secret }),
            "unit: must be one of \"kg\", \"lb\"",
        ),
        (
            json!({ "to": "me", "kind": secret }),
            "kind: must be \"order\"",
        ),
        (
            json!({ "to": "me", "note": 1 }),
            "note: must be a string or null",
        ),
        (
            json!({ "to": "me", "lines": [] }),
            "lines: must have at least 1 items",
        ),
        (
            json!({ "to": "me", "lines": [{ "sku": "a" }, { "sku": 1 }] }),
            "lines[1].sku: must be a string",
        ),
        (
            json!({ "to": "me", "lines": [{ "sku": "a", "qty": secret }] }),
            "lines[0].qty: is not known (there are: sku)",
        ),
        (
            json!({ "to": "me", "labels": { "hot": secret } }),
            "labels.hot: must be a boolean",
        ),
        (
            json!({ "to": "me", "place": { "city": 1 } }),
            "place.city: must be a string",
        ),
        (
            json!({ "to": "me", "pay": { "card": { "cvc": secret } } }),
            "pay.card.cvc: must be an integer",
        ),
    ];
    for (arguments, expected) in cases {
        let problem = problem(order(), arguments.clone()).unwrap_or_else(|| panic!("{arguments}"));
        assert!(problem.contains(expected), "{arguments}: {problem}");
        assert!(!problem.contains(secret), "{problem}");
    }
    let fits = [
        json!({ "to": "me" }),
        json!({ "to": "me", "amount": 10.0, "rate": 0.5, "unit": "kg", "kind": "order", "note": null }),
        json!({ "to": "me", "old": null, "place": null, "lines": [{ "sku": "a" }] }),
        json!({ "to": "me", "place": { "city": "Lyon" }, "labels": { "hot": true }, "pay": { "cash": 1 } }),
    ];
    for arguments in fits {
        assert_eq!(problem(order(), arguments.clone()), None, "{arguments}");
    }
}

#[test]
fn several_problems_are_told_at_once_and_their_number_is_bounded() {
    let told = problem(order(), json!({ "amount": "x", "unit": "x" })).unwrap();
    for name in ["to:", "amount:", "unit:"] {
        assert!(told.contains(name), "{told}");
    }
    let many: serde_json::Map<String, Value> = (0..1_000)
        .map(|n| (format!("{n}{}", "x".repeat(1_000)), json!(1)))
        .collect();
    let told = problem(order(), Value::Object(many)).unwrap();
    assert!(told.len() < 4_000, "{}", told.len());
}

#[test]
fn recursion_and_alternatives_without_end_are_bounded() {
    let tree = json!({
        "type": "object",
        "properties": { "children": { "type": "array", "items": { "$ref": "#" } } },
    });
    assert_eq!(
        problem(tree.clone(), json!({ "children": [{ "children": [] }] })),
        None
    );
    let mut deep = json!({});
    for _ in 0..120 {
        deep = json!({ "children": [deep] });
    }
    assert!(problem(tree, deep).unwrap().contains("too deeply"));
    let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
    assert!(problem(circle, json!({})).unwrap().contains("too deeply"));
    // Two ways at each of 40 levels, all of which fail.
    let mut defs = json!({ "d0": { "required": ["x"] } });
    for level in 1..=40 {
        let below = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        defs[format!("d{level}")] = json!({ "anyOf": [below, below] });
    }
    let explosion = json!({ "$ref": "#/$defs/d40", "$defs": defs });
    assert!(problem(explosion, json!({})).is_some());
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_executed() {
    let executed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executed);
    let schema = json!({
        "type": "object",
        "properties": { "to": { "type": "string" }, "amount": { "type": "integer" } },
        "required": ["to", "amount"],
    });
    let pay = FnTool::new(ToolDefinition::new("pay", "Pays.", schema), move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { "paid" }
    });
    let tools = ToolSet::new().with(pay).unwrap();
    let whole = r#"{"to":"+15550100003","amount":120}"#;
    let (runner, context) = (ToolRunner::new(), ToolContext::new("turn"));
    for cut in 0..whole.len() {
        let call = ToolCall::new("c", "pay", ToolArguments::parse(&whole[..cut]));
        let result = runner.run(&tools, &call, &context).await;
        assert!(result.is_error, "{}", &whole[..cut]);
        assert!(!text(&result).contains("15550100003"), "{}", text(&result));
    }
    assert_eq!(executed.load(Ordering::Relaxed), 0);
    let call = ToolCall::new("c", "pay", ToolArguments::parse(whole));
    assert_eq!(text(&runner.run(&tools, &call, &context).await), "paid");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z$#/]{0,12}".prop_map(Value::from),
    ];
    let words = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("required"),
        Just("items"),
        Just("enum"),
        Just("anyOf"),
        Just("oneOf"),
        Just("allOf"),
        Just("$ref"),
        Just("minimum"),
        Just("maxLength"),
        Just("a"),
        Just("additionalProperties"),
        Just("const"),
        Just("prefixItems"),
        Just("$defs"),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(words.clone(), inner, 0..6).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(k, v)| (k.to_owned(), v))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_arguments_break_the_check(schema in any_json(), arguments in any_json()) {
        if let Ok(tools) = ToolSet::new().with(echo("t", schema)) {
            let _ = ToolRunner::new().check(&tools, &call("t", arguments), &ToolContext::new("c"));
        }
    }
}
