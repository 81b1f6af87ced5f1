//! Tools with typed arguments: the schema that a model is told, and what reaches the function.

use roomkit_ai::{
    FnTool, Json, ToolCall, ToolContext, ToolError, ToolRunner, ToolSet, schemars, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{call, text};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Says what the weather is like.
#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// The city's name.
    city: String,
    /// In which unit.
    unit: Option<Unit>,
    #[schemars(range(min = 1, max = 10))]
    days: Option<u8>,
    /// Where exactly.
    #[serde(default)]
    at: Vec<Point>,
}

#[derive(Deserialize, JsonSchema)]
struct Point {
    lat: f64,
    lon: f64,
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
struct Nothing;

async fn weather(asked: Weather, context: ToolContext) -> Result<Json<Value>, ToolError> {
    Ok(Json(json!({
        "city": asked.city, "unit": asked.unit, "days": asked.days.unwrap_or(1),
        "at": asked.at.iter().map(|p| p.lat + p.lon).collect::<Vec<_>>(),
        "call": &*context.call_id,
    })))
}

async fn run(tools: &ToolSet, call: ToolCall) -> (bool, String) {
    let result = ToolRunner::new()
        .run(tools, &call, &ToolContext::new("turn"))
        .await;
    (result.is_error, text(&result))
}

fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(key) || members.values().any(|value| has_key(value, key))
        }
        Value::Array(items) => items.iter().any(|value| has_key(value, key)),
        _ => false,
    }
}

#[test]
fn the_schema_is_inline_and_carries_the_documentation() {
    let tools = ToolSet::new()
        .with(FnTool::typed("get_weather", weather))
        .unwrap();
    let definition = tools.definition("get_weather").unwrap();
    assert_eq!(definition.description, "Says what the weather is like.");
    let schema = &definition.parameters;
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["city"]));
    assert_eq!(
        schema["properties"]["city"]["description"],
        "The city's name."
    );
    for key in ["$ref", "$defs", "$schema"] {
        assert!(!has_key(schema, key), "{key} in {schema}");
    }
    assert!(schema.get("title").is_none(), "{schema}");
}

#[tokio::test]
async fn typed_arguments_reach_the_function() {
    let tools = ToolSet::new()
        .with(FnTool::typed("get_weather", weather))
        .unwrap();
    let arguments = json!({ "city": "Lyon", "unit": "celsius", "at": [{ "lat": 1.0, "lon": 2 }] });
    let (failed, said) = run(&tools, call("get_weather", arguments)).await;
    assert!(!failed, "{said}");
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        json!({ "city": "Lyon", "unit": "celsius", "days": 1, "at": [3.0], "call": "call-1" })
    );
    let secret = "s3cr3t";
    for (arguments, name) in [
        (json!({}), "city"),
        (json!({ "city": "Lyon", "unit": secret }), "unit"),
        (json!({ "city": "Lyon", "days": 11 }), "days"),
        (
            json!({ "city": "Lyon", "at": [{ "lat": secret, "lon": 1 }] }),
            "at[0].lat",
        ),
    ] {
        let (failed, said) = run(&tools, call("get_weather", arguments)).await;
        assert!(
            failed && said.contains(name) && !said.contains(secret),
            "{said}"
        );
    }
}

#[tokio::test]
async fn what_the_schema_lets_pass_and_the_type_does_not_repeats_no_value() {
    /// A number, whatever the schema says.
    #[derive(Deserialize, JsonSchema)]
    struct Picky {
        #[schemars(with = "String")]
        number: u8,
    }
    let picky = FnTool::typed(
        "picky",
        |asked: Picky, _| async move { u32::from(asked.number) },
    );
    let tools = ToolSet::new().with(picky).unwrap();
    let (failed, said) = run(
        &tools,
        call("picky", json!({ "number": "s3cr3t, expected" })),
    )
    .await;
    assert!(failed && !said.contains("s3cr3t"), "{said}");
    assert!(said.contains("expected u8"), "{said}");
}

#[tokio::test]
async fn a_tool_that_takes_nothing_is_told_as_an_empty_object() {
    let nothing = FnTool::typed("nothing", |_: Nothing, _| async {});
    let tools = ToolSet::new().with(nothing).unwrap();
    let definition = tools.definition("nothing").unwrap();
    assert_eq!(
        definition.parameters,
        json!({ "type": "object", "properties": {} })
    );
    assert_eq!(
        run(&tools, call("nothing", json!({}))).await,
        (false, "ok".to_owned())
    );
}

#[test]
fn what_is_no_object_is_refused_where_it_is_added() {
    let number = FnTool::typed("number", |n: u32, _| async move { n });
    assert!(ToolSet::new().with(number).is_err());
}

tool! {
    /// Orders something.
    pub(super) async fn order_item(
        context: &ToolContext,
        /// What to order.
        item: String,
        #[serde(default)]
        count: u32,
    ) -> Result<String, ToolError> {
        let parsed: u32 = if count == 0 { "1".parse()? } else { count };
        Ok(format!("{parsed} {item} for {}", context.call_id))
    }
}

tool! {
    async fn plain() {}
}

#[tokio::test]
async fn a_function_becomes_a_tool_by_the_macro() {
    let tools = ToolSet::new()
        .with(order_item())
        .unwrap()
        .with(plain())
        .unwrap();
    let definition = tools.definition("order_item").unwrap();
    assert_eq!(definition.description, "Orders something.");
    assert_eq!(definition.parameters["required"], json!(["item"]));
    assert!(definition.parameters["properties"].get("context").is_none());
    let (failed, said) = run(&tools, call("order_item", json!({ "item": "tea" }))).await;
    assert_eq!((failed, said.as_str()), (false, "1 tea for call-1"));
    assert_eq!(
        run(&tools, call("plain", json!({}))).await,
        (false, "ok".to_owned())
    );
}

#[test]
fn errors_of_others_are_told_to_the_model_and_to_no_log() {
    let parse = "s3cr3t"
        .parse::<u32>()
        .map_err(ToolError::from)
        .unwrap_err();
    assert_eq!(parse.message(), "invalid digit found in string");
    assert!(parse.source().is_some());
    let error = ToolError::new("s3cr3t");
    assert_eq!(error.message(), "s3cr3t");
    let hidden = ToolError::hidden("s3cr3t");
    assert_eq!(hidden.message(), "the tool failed");
    let core = roomkit_core::Error::from(ToolError::new("s3cr3t"));
    let shown = format!("{error} {error:?} {hidden} {hidden:?} {core} {core:?}");
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert!(shown.contains("tool_failed"), "{shown}");
}
