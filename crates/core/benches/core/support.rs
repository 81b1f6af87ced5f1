//! Timing, the channels of the benchmarks, and how a row is printed.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext};

/// A transport that does nothing with what it gets.
pub(crate) struct Sink(pub(crate) ChannelId);

#[async_trait]
impl Channel for Sink {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }
}

/// An agent that says the same to everything.
pub(crate) struct Parrot(pub(crate) ChannelId);

#[async_trait]
impl Channel for Parrot {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    async fn on_event(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        Ok(ChannelOutput::text("Got it!"))
    }
}

/// Runs a future on a runtime of one thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// Nanoseconds per call, measured over `calls` calls.
pub(crate) async fn time<F: Future>(calls: u32, mut call: impl FnMut(u32) -> F) -> f64 {
    let started = Instant::now();
    for number in 0..calls {
        call(number).await;
    }
    nanos(started.elapsed()) / f64::from(calls)
}

pub(crate) fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Prints one row. `goal` is the ratio that must not be passed.
pub(crate) fn report(row: &str, figure_ns: f64, floor_ns: f64, goal: f64) {
    let ratio = figure_ns / floor_ns;
    println!(
        "{}",
        serde_json::json!({
            "row": row,
            "figure_ns": figure_ns.round(),
            "floor_ns": floor_ns.round(),
            "ratio": (ratio * 100.0).round() / 100.0,
            "goal_ratio": goal,
            "per_second": (1e9 / figure_ns).round(),
            "met": ratio <= goal,
        })
    );
}
