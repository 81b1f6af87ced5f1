//! Tool search: a model with many tools sees two that find the others, and those that it has found.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::policy::glob_matches;
use super::tokens::estimate_tool_tokens;
use super::{Arguments, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolSet};
use super::{ToolSetError, search};
use crate::ToolDefinition;

/// How many tools a search finds where the model names no number.
const FOUND: usize = 5;
/// The most characters of a description that a search tells.
const FOUND_DESCRIPTION: usize = 200;
/// The most characters of a description in the list of all tools.
const LISTED_DESCRIPTION: usize = 64;
/// The most tools of the list of all tools.
const LISTED: usize = 60;

/// When and how the tools of an agent are hidden behind a search.
///
/// Where it is active, the model sees `find_tools`, `list_tools` and the pinned tools; what `find_tools` finds
/// can be called from the next round on, until another search finds something else.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolSearch {
    /// Whether tools are hidden; `None` decides by size. Default: `None`.
    pub enabled: Option<bool>,
    /// Tools are hidden when those not pinned would take more than this part of the model's context
    /// window, in percent. Default: 10.
    pub threshold_pct: f64,
    /// Tools are hidden when there are more than this, where the window is not known; it is also the most
    /// that one search finds. Default: 20.
    pub threshold: usize,
    /// Tools that are always seen, and never searched for: names, or patterns with `*` and `?`. Default:
    /// none.
    pub pinned: Vec<String>,
    /// What the model is told besides when a search finds nothing. Default: nothing.
    pub miss_hint: Option<String>,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            enabled: None,
            threshold_pct: 10.0,
            threshold: 20,
            pinned: Vec::new(),
            miss_hint: None,
        }
    }
}

impl ToolSearch {
    /// The default: by size.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Switches it on or off, whatever the size.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = Some(enabled);
        self
    }

    /// Sets the part of the context window, in percent, above which tools are hidden.
    #[must_use]
    pub fn threshold_pct(mut self, percent: f64) -> Self {
        self.threshold_pct = percent;
        self
    }

    /// Sets the number of tools above which they are hidden where the window is not known.
    #[must_use]
    pub fn threshold(mut self, tools: usize) -> Self {
        self.threshold = tools;
        self
    }

    /// Adds tools that are always seen.
    #[must_use]
    pub fn pinned<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.pinned.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Whether these tools are hidden from a model with a context window of so many tokens.
    #[must_use]
    pub fn is_active(&self, tools: &ToolSet, window: Option<u64>) -> bool {
        match (self.enabled, window) {
            (Some(enabled), _) => enabled,
            (None, Some(window)) if window > 0 => {
                let hidden = tools.definitions().filter(|tool| self.hides(tools, tool));
                let tokens: usize = hidden.map(estimate_tool_tokens).sum();
                tokens as f64 > window as f64 * self.threshold_pct / 100.0
            }
            (None, _) => tools.len() > self.threshold,
        }
    }

    /// The tools of a turn with a search over them.
    ///
    /// `revealed` are names that an earlier turn of the room has found or used.
    ///
    /// # Errors
    /// When a tool is named as one of those that search.
    pub fn begin(
        &self,
        tools: &ToolSet,
        revealed: impl IntoIterator<Item = String>,
    ) -> Result<RevealedTools, ToolSetError> {
        let shared = Arc::new(Shared {
            config: self.clone(),
            hidden: tools.filtered(|tool| self.hides(tools, tool)),
            revealed: Mutex::new(revealed.into_iter().collect()),
        });
        let mut all = ToolSet::new();
        all.add(FindTools::new(&shared))?;
        all.add(ListTools::new(&shared))?;
        all.merge(tools)?;
        Ok(RevealedTools { all, shared })
    }

    fn hides(&self, tools: &ToolSet, tool: &ToolDefinition) -> bool {
        let infrastructure = tools.get(&tool.name).is_some_and(|t| t.is_infrastructure());
        !infrastructure && !(self.pinned.iter()).any(|pattern| glob_matches(pattern, &tool.name))
    }
}

/// What the system prompt says while tools are hidden: models do not search for what they do not miss.
pub const TOOL_SEARCH_PROMPT: &str = "\
You see only a few of your tools. `find_tools` searches all of them and makes what it finds callable; \
`list_tools` lists their names. Before you say that you cannot do something, search for a tool that does \
it. Search with English words, whatever the language of the conversation. Do not announce a search.";

/// The tools of a turn, of which a model sees those that are pinned or that it has found.
///
/// Clones are the same. Each round sends [`visible`](Self::visible) to the model and runs calls with
/// [`all`](Self::all), once [`admit`](Self::admit) has said yes to their names.
#[derive(Clone)]
pub struct RevealedTools {
    all: ToolSet,
    shared: Arc<Shared>,
}

struct Shared {
    config: ToolSearch,
    hidden: ToolSet,
    revealed: Mutex<BTreeSet<String>>,
}

impl Shared {
    fn revealed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.revealed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RevealedTools {
    /// All tools, hidden ones and those that search included.
    #[must_use]
    pub fn all(&self) -> &ToolSet {
        &self.all
    }

    /// The tools that the model is to see now.
    #[must_use]
    pub fn visible(&self) -> ToolSet {
        let revealed = self.shared.revealed();
        self.all.filtered(|tool| {
            !self.shared.hidden.contains(&tool.name) || revealed.contains(&tool.name)
        })
    }

    /// Lets a tool be seen and called, and says whether there is one. A model that calls a hidden tool by
    /// its right name has skipped a step and made no mistake.
    pub fn admit(&self, name: &str) -> bool {
        if self.shared.hidden.contains(name) {
            self.shared.revealed().insert(name.to_owned());
        }
        self.all.contains(name)
    }

    /// The names of what was found, for the next turn of the room.
    #[must_use]
    pub fn revealed(&self) -> Vec<String> {
        self.shared.revealed().iter().cloned().collect()
    }
}

impl fmt::Debug for RevealedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevealedTools")
            .field("all", &self.all.len())
            .field("revealed", &self.revealed())
            .finish_non_exhaustive()
    }
}

struct FindTools {
    definition: ToolDefinition,
    shared: Arc<Shared>,
}

impl FindTools {
    fn new(shared: &Arc<Shared>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1000,
                    "description": "What you need to do, in English, such as `send a text message`.",
                },
                "max_results": {
                    "type": "integer",
                    "description": "The most tools to find. Default: 5.",
                },
            },
            "required": ["query"],
        });
        Self {
            definition: ToolDefinition::new(
                "find_tools",
                "Searches all your tools by what you need to do. What it finds can be called next.",
                parameters,
            ),
            shared: Arc::clone(shared),
        }
    }

    fn most(&self, asked: Option<&Value>) -> usize {
        let asked = asked.and_then(Value::as_i64);
        let asked = asked.map_or(FOUND, |n| usize::try_from(n).unwrap_or(1));
        asked.clamp(1, self.shared.config.threshold.max(1))
    }
}

#[async_trait]
impl Tool for FindTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query = arguments.get("query").and_then(Value::as_str);
        let query = query.unwrap_or_default().trim();
        if query.is_empty() {
            let message = "Invalid arguments: query: must say what you need to do";
            return Err(ToolError::of(ToolErrorKind::InvalidArguments, message));
        }
        let hidden = &self.shared.hidden;
        let most = self.most(arguments.get("max_results"));
        let found = search::find(hidden.definitions(), query, most);
        // What was found before goes, so that what the model sees stays small.
        *self.shared.revealed() = found.iter().map(|tool| tool.name.clone()).collect();
        if found.is_empty() {
            let mut note =
                "Nothing was found. Search with other words, or call list_tools.".to_owned();
            if let Some(hint) = &self.shared.config.miss_hint {
                note.push(' ');
                note.push_str(hint);
            }
            return Ok(text(&json!({ "matches": [], "note": note })));
        }
        let matches: Vec<Value> = found.iter().map(|t| told(t, FOUND_DESCRIPTION)).collect();
        let mut answer = json!({
            "matches": matches,
            "note": "These tools can be called now; how is in your list of tools.",
        });
        let related = search::related(hidden.definitions(), &found);
        if let (false, Value::Object(answer)) = (related.is_empty(), &mut answer) {
            let note = "Search again for one of the related tools before you call it.";
            answer.insert("related_tools_same_source".to_owned(), related.into());
            answer.insert("related_note".to_owned(), note.into());
        }
        Ok(text(&answer))
    }

    fn is_infrastructure(&self) -> bool {
        true
    }
}

struct ListTools {
    definition: ToolDefinition,
    shared: Arc<Shared>,
}

impl ListTools {
    fn new(shared: &Arc<Shared>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "category": {
                    "type": "string",
                    "description": "Lists only tools whose names begin so, such as `crm_`.",
                },
            },
        });
        Self {
            definition: ToolDefinition::new(
                "list_tools",
                "Lists your tools by name. To use one, find it with find_tools.",
                parameters,
            ),
            shared: Arc::clone(shared),
        }
    }
}

#[async_trait]
impl Tool for ListTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let category = arguments.get("category").and_then(Value::as_str);
        let category = category.unwrap_or_default().trim();
        let tools: Vec<&ToolDefinition> = (self.shared.hidden.definitions())
            .filter(|tool| tool.name.starts_with(category))
            .collect();
        let (total, shown) = (tools.len(), tools.len().min(LISTED));
        // Spread over all of them: the first so many would never show what was added last.
        let listed: Vec<Value> = (0..shown)
            .filter_map(|at| tools.get(at * total / shown))
            .map(|tool| told(tool, LISTED_DESCRIPTION))
            .collect();
        let mut answer = json!({ "tools": listed, "count": shown });
        if let (true, Value::Object(answer)) = (total > shown, &mut answer) {
            let note = "This is a sample of all tools. Name a category, or use find_tools.";
            answer.insert("truncated".to_owned(), true.into());
            answer.insert("total".to_owned(), total.into());
            answer.insert("note".to_owned(), note.into());
        }
        Ok(text(&answer))
    }

    fn is_infrastructure(&self) -> bool {
        true
    }
}

fn told(tool: &ToolDefinition, most: usize) -> Value {
    let description: String = tool.description.chars().take(most).collect();
    json!({ "name": tool.name, "description": description })
}

fn text(value: &Value) -> ToolOutput {
    ToolOutput::text(value.to_string())
}
