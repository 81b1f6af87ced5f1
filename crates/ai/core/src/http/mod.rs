//! What every vendor that is spoken to over HTTP needs: one client, bounded and patient, and answers
//! that come as server-sent events or as lines of JSON.
//!
//! ```
//! use roomkit_ai::http::{HttpClient, HttpConfig};
//!
//! # fn main() -> Result<(), roomkit_ai::AiError> {
//! let client = HttpClient::builder("acme", "https://api.example.org/v1")
//!     .config(HttpConfig::default())
//!     .build()?;
//! let request = client.get("/models")?.bearer(&"a key".into())?;
//! assert_eq!(format!("{request:?}"), "HttpRequest(GET api.example.org/v1/models)");
//! # Ok(()) }
//! ```
//!
//! A call is tried again only as long as nothing of its answer was told: [`HttpRequest::json`] gives
//! whole answers, [`HttpRequest::answer`] begins anew with a fresh [`AnswerDecoder`] until the first
//! [`StreamEvent`](crate::StreamEvent) is there, and never after it.

mod answer;
mod client;
mod config;
mod failure;
mod frames;
mod request;
mod retry;
mod tls;

pub use answer::{AnswerDecoder, Head};
pub use client::{HttpClient, HttpClientBuilder};
pub use config::HttpConfig;
pub use frames::{Frame, Framing};
pub use request::{HttpAnswer, HttpRequest};
