//! The wire of OpenAI's Chat Completions, as many vendors and servers speak it, each in a dialect.
//!
//! A vendor's crate says what is particular about it in a [`Dialect`] and asks through [`ChatCompletions`]:
//!
//! ```
//! use roomkit_ai::chat_completions::{ChatCompletions, Dialect};
//! use roomkit_ai::http::HttpClient;
//!
//! # fn main() -> Result<(), roomkit_ai::AiError> {
//! let client = HttpClient::builder("acme", "https://api.example.org/v1")
//!     .refusal(roomkit_ai::chat_completions::refusal)
//!     .build()?;
//! let dialect = Dialect::new("acme", "acme-large").stream_usage(true).vision(true);
//! let chat = ChatCompletions::new(client, dialect).key(Some("a key".into()));
//! # let _ = chat;
//! # Ok(()) }
//! ```
//!
//! Answers are read as they are meant rather than as they are documented: what is missing is missing,
//! what is new is left alone, and calls that run side by side are told apart by id, index, name and the
//! end of their arguments, whichever of those a server sends.

mod ask;
mod calls;
mod decode;
mod dialect;
mod refusal;
mod request;
mod think;

pub use ask::ChatCompletions;
pub use decode::ChatDecoder;
pub use dialect::{Dialect, GivesBack, TokenLimit, ToolEffort};
pub use refusal::{failure, refusal};
