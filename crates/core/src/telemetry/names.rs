//! The names of spans, attributes and metrics: the one list, which `docs/observability.md` shows.

use tracing::Level;

macro_rules! spans {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $level:ident, [$($field:ident),+ $(,)?];)+) => {
        /// An operation of which the core makes a span (RFC §15.7).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum SpanName {
            $($(#[$doc])* $variant,)+
        }

        impl SpanName {
            /// Every span of the core.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in snake_case, such as `process_inbound`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The level of its span in `tracing`.
            #[must_use]
            #[inline]
            pub fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)+ }
            }

            /// What is said about it: the fields in `tracing`, the attributes at the provider. Those
            /// that are not known stay empty.
            #[must_use]
            pub fn fields(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$(stringify!($field),)+],)+ }
            }

            /// A span of `tracing`, below `parent` or else below the one that is entered.
            pub(super) fn open(self, parent: Option<&tracing::Span>) -> tracing::Span {
                use tracing::field::Empty;
                match (self, parent) {$(
                    (Self::$variant, None) => tracing::span!(
                        target: TARGET, Level::$level, $name, $($field = Empty),+
                    ),
                    (Self::$variant, Some(parent)) => tracing::span!(
                        target: TARGET, parent: parent, Level::$level, $name, $($field = Empty),+
                    ),
                )+}
            }
        }
    };
}

/// The target of the core's spans in `tracing`.
pub const TARGET: &str = "roomkit_core";

spans! {
    /// A message from outside, from its arrival to the end of all that it caused.
    ProcessInbound = "process_inbound", INFO, [
        room_id, event_id, channel_id, provider, reason, status, error_code, latency_ms,
    ];
    /// An event that the application sends, to the end of all that it caused.
    SendEvent = "send_event", INFO, [
        room_id, event_id, channel_id, provider, reason, status, error_code, latency_ms,
    ];
    /// An agent's answer, up to its commit.
    ProcessReply = "process_reply", INFO, [
        room_id, event_id, channel_id, provider, trigger_id, chain_depth, reason, status, error_code,
        latency_ms,
    ];
    /// The identity resolver is asked who sent a message.
    IdentityResolve = "identity_resolve", DEBUG, [
        room_id, channel_id, identification, status, error_code, latency_ms,
    ];
    /// One hook: one that decides, or one that looks on.
    HookExecution = "hook_execution", DEBUG, [
        room_id, hook, trigger, execution, result, status, error_code, latency_ms,
    ];
    /// The store commits an event with all that becomes true with it.
    StoreEvent = "store_event", DEBUG, [
        room_id, event_id, channel_id, status, error_code, latency_ms,
    ];
    /// An event goes to the channels of its room, until all of their lanes are done with it.
    Broadcast = "broadcast", INFO, [
        room_id, event_id, channel_id, targets, failed, status, latency_ms,
    ];
    /// A transport carries an event, all tries included, from its turn in the lane on.
    Deliver = "deliver", INFO, [
        room_id, event_id, channel_id, provider, attempts, wait_ms, status, error_code, latency_ms,
    ];
    /// An agent's turn over an event: its model calls, its tools, the end of a streamed answer.
    AiGenerate = "ai_generate", INFO, [
        room_id, event_id, channel_id, provider, wait_ms, status, error_code, latency_ms,
    ];
}

impl AsRef<str> for SpanName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Names of spans that other crates make, as the specification has them (RFC §15.7).
pub mod span_name {
    /// Speech becomes text.
    pub const STT_TRANSCRIBE: &str = "stt_transcribe";
    /// Text becomes speech.
    pub const TTS_SYNTHESIZE: &str = "tts_synthesize";
}

/// What a number is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricKind {
    /// It adds to a sum.
    Counter,
    /// It is one of many values whose distribution matters.
    Histogram,
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $kind:ident, $unit:literal;)+) => {
        /// The metrics of the core.
        pub mod metric {
            $($(#[doc = $doc])+ pub const $constant: &str = $name;)+
        }

        /// Every metric of the core: its name, its kind and its unit.
        pub const METRICS: &[(&str, MetricKind, &str)] =
            &[$(($name, MetricKind::$kind, $unit),)+];
    };
}

metrics! {
    /// Messages from outside, by channel and by what became of them (`status`).
    INBOUND_MESSAGES = "roomkit.inbound.messages", Counter, "";
    /// From a message's arrival to its commit or refusal.
    INBOUND_LATENCY = "roomkit.inbound.latency_ms", Histogram, "ms";
    /// Deliveries that have ended, by channel and `status`.
    DELIVERIES = "roomkit.deliveries", Counter, "";
    /// One delivery, all tries included, without the wait for its turn.
    DELIVERY_LATENCY = "roomkit.delivery.latency_ms", Histogram, "ms";
    /// How long a delivery or an agent's turn waited behind earlier events of its lane.
    LANE_WAIT = "roomkit.lane.wait_ms", Histogram, "ms";
    /// One turn of an agent.
    AGENT_LATENCY = "roomkit.agent.latency_ms", Histogram, "ms";
    /// Protocol traces that no room came for, or that were too many; by `reason`.
    TRACES_DROPPED = "roomkit.traces.dropped", Counter, "";
}
