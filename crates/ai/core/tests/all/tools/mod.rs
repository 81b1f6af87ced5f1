//! Tools: what a model is told of them, and what becomes of its calls.

mod arguments;
mod audit;
mod calls;
mod external;
mod plan;
mod policy;
mod search;
mod set;
mod stored;
#[cfg(feature = "schemars")]
mod typed;

use roomkit_ai::{Arguments, FnTool, ToolArguments, ToolCall, ToolDefinition, ToolResult};
use serde_json::{Value, json};

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "Does something.", ToolDefinition::nothing())
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall::new("call-1", name, ToolArguments::from_value(arguments))
}

/// A tool that gives back its arguments as JSON.
fn echo(name: &str, schema: Value) -> FnTool {
    let definition = ToolDefinition::new(name, "Says what it is told.", schema);
    FnTool::new(definition, |arguments: Arguments, _| async move {
        json!(arguments).to_string()
    })
}

fn text(result: &ToolResult) -> String {
    result.as_text().into_owned()
}
