//! Text on its way to a channel: plain text from rich text, what cannot be shown, length limits, SMS segments.

mod gsm7;
mod limit;
mod plain_text;
mod properties;
mod transcode;
