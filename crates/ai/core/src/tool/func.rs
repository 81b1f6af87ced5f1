//! Tools made of functions: with typed arguments, or with a JSON schema.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Arguments, IntoToolResult, Tool, ToolContext, ToolError, ToolOutput};
use super::{ToolSet, ToolSetError};
use crate::ToolDefinition;

type Run = dyn Fn(Arguments, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// A tool that is a function.
///
/// The function returns text, a number, JSON, a [`ToolOutput`], or a `Result` with one of them whose error
/// may be any.
///
/// ```
/// use roomkit_ai::{FnTool, ToolContext, ToolError};
/// use serde::Deserialize;
///
/// /// Says what the weather is like.
/// #[derive(Deserialize, schemars::JsonSchema)]
/// struct Weather {
///     /// The city's name.
///     city: String,
///     /// For how many days.
///     #[schemars(range(min = 1, max = 10))]
///     days: Option<u8>,
/// }
///
/// async fn weather(asked: Weather, _: ToolContext) -> Result<String, ToolError> {
///     Ok(format!("Sunny in {} for {} days.", asked.city, asked.days.unwrap_or(1)))
/// }
///
/// let tool = FnTool::typed("get_weather", weather);
/// ```
pub struct FnTool {
    definition: ToolDefinition,
    timeout: Option<Duration>,
    run: Arc<Run>,
}

impl FnTool {
    /// A tool whose arguments are a type: its schema is what the model is told and what calls are checked
    /// against.
    ///
    /// The documentation of the type and of its fields describes the tool and its arguments.
    #[cfg(feature = "schemars")]
    pub fn typed<A, F, Fut>(name: impl Into<String>, function: F) -> Self
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let (description, parameters) = typed::schema_of::<A>();
        let definition = ToolDefinition::new(name, description, parameters);
        let run = move |arguments, context| match typed::read(arguments) {
            Ok(arguments) => function(arguments, context)
                .map(IntoToolResult::into_tool_result)
                .boxed(),
            Err(error) => futures_util::future::ready(Err(error)).boxed(),
        };
        Self {
            definition,
            timeout: None,
            run: Arc::new(run),
        }
    }

    /// A tool that is given what the model wrote, once it fits the definition's schema.
    pub fn new<F, Fut>(definition: ToolDefinition, function: F) -> Self
    where
        F: Fn(Arguments, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        Self {
            definition,
            timeout: None,
            run: Arc::new(move |arguments, context| {
                function(arguments, context)
                    .map(IntoToolResult::into_tool_result)
                    .boxed()
            }),
        }
    }

    /// Sets what the model is told of it.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// Adds words under which a search for tools finds it.
    #[must_use]
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.definition
            .tags
            .extend(tags.into_iter().map(Into::into));
        self
    }

    /// Sets how long a call may take. Default: what [`ToolLimits`](super::ToolLimits) says.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

#[async_trait]
impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        (self.run)(arguments, context.clone()).await
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnTool").field(&self.definition).finish()
    }
}

impl ToolSet {
    /// Adds tools that one function does, by their names.
    ///
    /// ```
    /// use roomkit_ai::{Arguments, ToolContext, ToolDefinition, ToolSet};
    /// use serde_json::json;
    ///
    /// async fn handle(name: String, arguments: Arguments, _: ToolContext) -> String {
    ///     format!("{name} was called with {} arguments", arguments.len())
    /// }
    ///
    /// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    /// let mut tools = ToolSet::new();
    /// tools.add_handler([ToolDefinition::new("get_weather", "Says the weather.", schema)], handle)?;
    /// # Ok::<(), roomkit_ai::ToolSetError>(())
    /// ```
    ///
    /// # Errors
    /// As [`add`](Self::add), for the first definition that cannot be added; those before it are.
    pub fn add_handler<F, Fut>(
        &mut self,
        definitions: impl IntoIterator<Item = ToolDefinition>,
        handler: F,
    ) -> Result<(), ToolSetError>
    where
        F: Fn(String, Arguments, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let handler = Arc::new(handler);
        for definition in definitions {
            let (handler, name) = (Arc::clone(&handler), definition.name.clone());
            self.add(FnTool::new(definition, move |arguments, context| {
                handler(name.clone(), arguments, context)
            }))?;
        }
        Ok(())
    }
}

#[cfg(feature = "schemars")]
mod typed {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::Arguments;
    use crate::{ToolError, ToolErrorKind};

    /// The description and the schema of a type, in the form that the vendors take: inline, as far as the
    /// type does not contain itself.
    pub(super) fn schema_of<A: JsonSchema>() -> (String, Value) {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema: Value = settings.into_generator().into_root_schema_for::<A>().into();
        let mut description = String::new();
        if let Value::Object(rules) = &mut schema {
            rules.remove("title");
            if let Some(Value::String(text)) = rules.remove("description") {
                description = text;
            }
            // A unit struct takes nothing, which is an object without members to a model.
            if rules.get("type") == Some(&Value::from("null")) {
                return (description, crate::ToolDefinition::nothing());
            }
            if !rules.contains_key("properties") && rules.get("type").is_some() {
                rules.insert("properties".to_owned(), Value::Object(Arguments::new()));
            }
        }
        (description, schema)
    }

    pub(super) fn read<A: DeserializeOwned>(arguments: Arguments) -> Result<A, ToolError> {
        let nothing = arguments.is_empty();
        serde_json::from_value(Value::Object(arguments)).or_else(|error| {
            // A unit struct is read from null.
            match nothing.then(|| serde_json::from_value(Value::Null)) {
                Some(Ok(unit)) => Ok(unit),
                _ => Err(invalid(&error)),
            }
        })
    }

    /// Keeps of serde's words what repeats no value: the fields that are missing or unknown, and what was
    /// expected.
    fn invalid(error: &serde_json::Error) -> ToolError {
        let text = error.to_string();
        let problem = if text.starts_with("missing field") || text.starts_with("unknown field") {
            text
        } else if let (true, Some((_, expected))) = (
            text.starts_with("invalid "),
            text.rsplit_once(", expected "),
        ) {
            format!("expected {expected}")
        } else {
            "a value is not acceptable".to_owned()
        };
        ToolError::of(
            ToolErrorKind::InvalidArguments,
            format!("Invalid arguments: {problem}"),
        )
    }
}
