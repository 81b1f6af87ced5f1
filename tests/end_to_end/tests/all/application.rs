//! The application: an SMS channel, WebSocket clients, and an agent with two tools, on a file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roomkit::WeakKit;
use roomkit::ai::{AiResponse, Json};
use roomkit::openai::{OpenAiConfig, OpenAiProvider};
use roomkit::prelude::*;
use roomkit::sqlite::{SqliteConfig, SqliteStore};
use roomkit::testkit::MockChannel;
use roomkit_ai::http::Framing;
use roomkit_testkit::ai::{ChatCompletionsWire, Pieces, Quirk, Reply, VendorServer, Wire};
use serde_json::{Value, json};

use crate::client::Sockets;

pub(crate) const ROOM: &str = "support";
pub(crate) const PHONE: &str = "+15550100042";
pub(crate) const PROMPT: &str = "You are the help desk of a bakery.";

tool! {
    /// Looks an order up.
    async fn find_order(
        /// The order's number.
        number: u32,
    ) -> Result<Json<Value>, ToolError> {
        Ok(Json(json!({ "number": number, "state": "baked" })))
    }
}

tool! {
    /// Says when a shop is open.
    async fn opening_hours(
        /// The town.
        town: String,
    ) -> Result<String, ToolError> {
        Ok(format!("{town}: from 7 to 18"))
    }
}

/// The application while it runs.
pub(crate) struct Application {
    pub(crate) kit: RoomKit,
    pub(crate) sms: MockChannel,
    pub(crate) sockets: Sockets,
}

impl Application {
    /// Starts it as whenever it starts; the room is made where it is not there yet.
    pub(crate) async fn start(file: &Path, vendor: &VendorServer) -> Self {
        let store = SqliteStore::open(SqliteConfig::new(file)).await.unwrap();
        let kit = RoomKit::builder().store(Arc::new(store)).build().unwrap();
        let mut limits = ChannelCapabilities::default().with_media_types([ChannelMediaType::Text]);
        limits.max_length = Some(160);
        let sms = MockChannel::builder("sms")
            .channel_type(ChannelType::Sms)
            .capabilities(limits)
            .build();
        let web = WebSocketChannel::new("web");
        let config = OpenAiConfig::new("gpt-4.1")
            .base_url(format!("{}/v1", vendor.base_url()))
            .api_key("sk-of-a-test")
            .include_stream_usage(true);
        let agent = AiChannel::builder("agent")
            .provider(OpenAiProvider::new(config).unwrap())
            .system_prompt(PROMPT)
            .tool(find_order())
            .tool(opening_hours())
            .build()
            .unwrap();
        kit.register_channel(sms.clone()).unwrap();
        kit.register_channel(web.clone()).unwrap();
        kit.register_channel(agent).unwrap();
        if kit.room(ROOM).await.is_err() {
            kit.create_room(ROOM).await.unwrap();
            for channel in ["sms", "web", "agent"] {
                kit.attach_channel(ROOM, channel).await.unwrap();
            }
        }
        let sockets = Sockets::serve(kit.downgrade(), web).await;
        Self { kit, sms, sockets }
    }

    /// An SMS comes in; returns when all that it causes is done.
    pub(crate) async fn text(&self, text: &str) -> InboundResult {
        let message = InboundMessage::text("sms", PHONE, text);
        let result = self.kit.process_inbound(message).await.unwrap();
        assert!(!result.blocked, "{:?}", result.reason);
        result
    }

    /// What went out by SMS.
    pub(crate) fn sent(&self) -> Vec<String> {
        let sent = self.sms.deliveries();
        let text = |it: &roomkit::testkit::Delivery| it.event.text().unwrap().to_owned();
        sent.iter().map(text).collect()
    }

    /// All that was said, with the metadata of the agent's part.
    pub(crate) async fn said(&self) -> Vec<Arc<RoomEvent>> {
        let events = self.kit.timeline(ROOM, 0, 1_000).await.unwrap();
        let is_message = |it: &Arc<RoomEvent>| it.event_type == EventType::Message;
        events.into_iter().filter(is_message).collect()
    }

    /// Stops it; nothing of it is left then.
    pub(crate) async fn stop(self) {
        let Self { kit, sms, sockets } = self;
        let report = kit.close(Duration::from_secs(30)).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
        let gone: WeakKit = kit.downgrade();
        drop((kit, sms, sockets));
        assert!(gone.upgrade().is_none(), "nobody keeps the kit");
    }
}

/// An answer as the vendor streams it, in pieces of a few bytes.
pub(crate) fn reply(answer: &AiResponse) -> Reply {
    let frames = ChatCompletionsWire::new().streamed(answer, Quirk::None);
    Reply::stream(Framing::Events, &frames.unwrap()).pieces(Pieces::Random(7))
}
