//! How many tokens something takes, by rule of thumb: no vendor's counting is at hand everywhere.

use crate::ToolDefinition;

/// About how many tokens a text takes: one for every four characters, and one more.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    // Counting characters is what costs; this is exact for ASCII and needs no decoding for the rest.
    let characters = text.bytes().filter(|byte| byte & 0xC0 != 0x80).count();
    characters / 4 + 1
}

/// About how many tokens a tool takes in a request: its name, its description and its schema.
#[must_use]
pub fn estimate_tool_tokens(tool: &ToolDefinition) -> usize {
    let schema = tool.parameters.to_string();
    estimate_tokens(&tool.name) + estimate_tokens(&tool.description) + estimate_tokens(&schema)
}
