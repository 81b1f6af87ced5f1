//! The macro that makes a tool of an `async fn`.

/// Makes a tool of an `async fn`: its name, its documentation and its parameters are the tool's.
///
/// What is left is a function of that name which gives the tool, a [`FnTool`](crate::FnTool). Parameters may
/// be documented, and have attributes of serde and schemars; one that is an `Option` need not be given. A
/// first parameter written `context: &ToolContext` is the call's [`ToolContext`](crate::ToolContext).
///
/// A macro by example does it, so that the crate needs no macros of its own to compile.
///
/// ```
/// use roomkit_ai::{Json, ToolError, ToolSet, tool};
/// use serde_json::{Value, json};
///
/// tool! {
///     /// Says what the weather is like.
///     async fn get_weather(
///         /// The city's name.
///         city: String,
///         /// For how many days.
///         #[schemars(range(min = 1, max = 10))]
///         days: Option<u8>,
///     ) -> Result<Json<Value>, ToolError> {
///         Ok(Json(json!({ "city": city, "days": days.unwrap_or(1), "sky": "clear" })))
///     }
/// }
///
/// tool! {
///     /// Says which room this is.
///     async fn which_room(context: &ToolContext) -> String {
///         context.room_id.as_ref().map_or("none".to_owned(), |room| room.to_string())
///     }
/// }
///
/// let tools = ToolSet::new().with(get_weather())?.with(which_room())?;
/// let weather = tools.definition("get_weather").unwrap();
/// assert_eq!(weather.description, "Says what the weather is like.");
/// assert_eq!(weather.parameters["properties"]["city"]["description"], "The city's name.");
/// assert_eq!(weather.parameters["required"], json!(["city"]));
/// # Ok::<(), roomkit_ai::ToolSetError>(())
/// ```
#[macro_export]
macro_rules! tool {
    (
        $(#[$meta:meta])*
        $vis:vis async fn $name:ident ( $context:ident : &ToolContext $(, $($parameters:tt)*)? )
        $(-> $output:ty)? $body:block
    ) => {
        $crate::tool! { @make [$(#[$meta])*] [$vis] $name $context [$($($parameters)*)?] [$(-> $output)?] $body }
    };
    (
        $(#[$meta:meta])*
        $vis:vis async fn $name:ident ( $($parameters:tt)* )
        $(-> $output:ty)? $body:block
    ) => {
        $crate::tool! { @make [$(#[$meta])*] [$vis] $name _context [$($parameters)*] [$(-> $output)?] $body }
    };
    (
        @make [$(#[$meta:meta])*] [$vis:vis] $name:ident $context:ident
        [$( $(#[$about:meta])* $parameter:ident : $type:ty ),* $(,)?] [$($output:tt)*] $body:block
    ) => {
        $(#[$meta])*
        $vis fn $name() -> $crate::FnTool {
            use $crate::__private::{schemars as __schemars, serde as __serde};

            $(#[$meta])*
            #[derive(__serde::Deserialize, __schemars::JsonSchema)]
            #[serde(crate = "__serde")]
            #[schemars(crate = "__schemars")]
            struct __Arguments {
                $( $(#[$about])* $parameter: $type, )*
            }

            async fn __call(__arguments: __Arguments, __context: $crate::ToolContext) $($output)* {
                let __Arguments { $($parameter),* } = __arguments;
                let $context = &__context;
                $body
            }

            $crate::FnTool::typed(::core::stringify!($name), __call)
        }
    };
}
