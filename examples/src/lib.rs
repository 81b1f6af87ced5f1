//! The examples, each as a function that writes what it prints, so that a test can read it.

pub mod ai_chat;
pub mod ai_multi_speaker;
pub mod ai_tool_search;
pub mod ai_tools;
pub mod assistant;
pub mod custom_channel;
pub mod hooks;
pub mod identity;
pub mod quickstart;
pub mod sources;
pub mod tenancy;
pub mod turn_planner;
pub mod turn_taking;

use roomkit::prelude::{EventType, RoomEvent};
use roomkit::websocket::Connection;

/// What an example comes to.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Where an event came from and what it says, as `[channel] text`.
#[must_use]
pub fn line(event: &RoomEvent) -> String {
    let what = match event.event_type {
        EventType::Edit => "edits: ",
        _ => "",
    };
    let text = event.content.texts().join(" ");
    format!("[{}] {what}{text}", event.source.channel_id)
}

/// The lines of the events that wait for a connection.
pub fn inbox(connection: &mut Connection) -> Vec<String> {
    let frames = std::iter::from_fn(|| connection.try_recv());
    frames
        .filter_map(|frame| frame.event().map(|event| line(event)))
        .collect()
}

/// The README of the workspace, whose example is tested here.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The page about observability, whose example is tested here.
#[cfg(doctest)]
#[doc = include_str!("../../docs/observability.md")]
pub struct Observability;
