//! Ephemeral events: every type of the specification, checked, told to who subscribes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelId, ChannelType, EphemeralEvent, EphemeralEventType, Metadata, RoomId,
};
use roomkit_core::{Channel, RoomKit, WeakKit};
use serde_json::{Value, json};

type Heard = Arc<Mutex<Vec<(String, Value)>>>;

async fn turns() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

async fn listening() -> (RoomKit, Heard) {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    kit.subscribe_room("r", move |event| {
        let data = serde_json::to_value(&event.data).unwrap();
        log.lock()
            .unwrap()
            .push((event.event_type.to_string(), data));
        async {}
    })
    .await
    .unwrap();
    (kit, heard)
}

#[tokio::test]
async fn each_call_says_what_it_is_for() {
    let (kit, heard) = listening().await;
    kit.publish_typing("r", "u", true).await.unwrap();
    kit.publish_typing("r", "u", false).await.unwrap();
    for presence in ["online", "away", "offline", "in a meeting"] {
        kit.publish_presence("r", "u", presence).await.unwrap();
    }
    kit.publish_read_receipt("r", "u", "e1").await.unwrap();
    // A family, a flag, and a heart with its variation selector stay what they are.
    for emoji in ["👩‍👩‍👧‍👦", "🇫🇷", "❤️"] {
        kit.publish_reaction("r", "u", "e1", emoji).await.unwrap();
    }
    kit.publish_reaction_removed("r", "u", "never added", "")
        .await
        .unwrap();
    let call = json!({"id": "1", "name": "search"});
    for event_type in [
        EphemeralEventType::ToolCallDelta,
        EphemeralEventType::ToolCallStart,
        EphemeralEventType::ToolCallEnd,
    ] {
        kit.publish_tool_call("r", "agent", event_type, vec![call.clone()])
            .await
            .unwrap();
    }
    let plan = Metadata::new().with("type", "plan_updated");
    kit.publish_custom("r", "u", plan).await.unwrap();
    turns().await;
    let reaction = |emoji: &str, target: &str, action: &str| {
        let data = json!({"target_event_id": target, "emoji": emoji, "action": action});
        ("reaction".to_owned(), data)
    };
    let tool = json!({"tool_calls": [call], "channel_id": "agent"});
    let of = |kind: &str, data: Value| (kind.to_owned(), data);
    assert_eq!(
        *heard.lock().unwrap(),
        [
            of("typing_start", json!({})),
            of("typing_stop", json!({})),
            of("presence_online", json!({})),
            of("presence_away", json!({})),
            of("presence_offline", json!({})),
            of("custom", json!({"status": "in a meeting"})),
            of("read_receipt", json!({"event_id": "e1"})),
            reaction("👩‍👩‍👧‍👦", "e1", "add"),
            reaction("🇫🇷", "e1", "add"),
            reaction("❤️", "e1", "add"),
            reaction("", "never added", "remove"),
            of("tool_call_delta", tool.clone()),
            of("tool_call_start", tool.clone()),
            of("tool_call_end", tool),
            of("custom", json!({"type": "plan_updated"})),
        ]
    );
    assert!(kit.timeline("r", 0, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn every_type_goes_through_and_is_checked() {
    let (kit, heard) = listening().await;
    let event = |event_type, data: Value| {
        let mut event = EphemeralEvent::new("r", event_type, "u", kit.now());
        event.data = serde_json::from_value(data).unwrap();
        event
    };
    for event_type in EphemeralEventType::ALL {
        let data = json!({"event_id": "e", "target_event_id": "e", "emoji": "x", "tool_calls": []});
        kit.publish(event(*event_type, data)).await.unwrap();
    }
    turns().await;
    assert_eq!(heard.lock().unwrap().len(), EphemeralEventType::ALL.len());
    use EphemeralEventType::{Custom, Reaction, ReadReceipt, ToolCallStart};
    let wrong = [
        (Reaction, json!({"emoji": "x"}), "data.target_event_id"),
        (
            Reaction,
            json!({"target_event_id": ""}),
            "data.target_event_id",
        ),
        (Reaction, json!({"target_event_id": "e"}), "data.emoji"),
        (
            Reaction,
            json!({"target_event_id": "e", "emoji": ""}),
            "data.emoji",
        ),
        (
            Reaction,
            json!({"target_event_id": "e", "emoji": "x".repeat(129)}),
            "data.emoji",
        ),
        (
            Reaction,
            json!({"target_event_id": "e", "emoji": "x", "action": "replace"}),
            "data.action",
        ),
        (ReadReceipt, json!({}), "data.event_id"),
        (ReadReceipt, json!({"event_id": 7}), "data.event_id"),
        (ToolCallStart, json!({"tool_calls": {}}), "data.tool_calls"),
        (Custom, json!({"x": "x".repeat(65_536)}), "data:"),
    ];
    for (event_type, data, field) in wrong {
        let error = kit.publish(event(event_type, data)).await.unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().starts_with(field), "{error}");
    }
    let nobody = kit.publish_typing("r", "", true).await.unwrap_err();
    assert!(nobody.message().starts_with("user_id"), "{nobody}");
    let typing = EphemeralEventType::TypingStart;
    let no_tool = kit
        .publish_tool_call("r", "agent", typing, vec![])
        .await
        .unwrap_err();
    assert!(no_tool.message().starts_with("type"), "{no_tool}");
    turns().await;
    assert_eq!(heard.lock().unwrap().len(), EphemeralEventType::ALL.len());
}

/// A channel that shows its people who is typing.
struct Screen {
    id: ChannelId,
    kit: Mutex<Option<WeakKit>>,
    shown: Heard,
}

#[async_trait]
impl Channel for Screen {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn registered(&self, kit: WeakKit) {
        *self.kit.lock().unwrap() = Some(kit);
    }

    async fn attached(&self, room: &RoomId) {
        let kit = self.kit.lock().unwrap().clone().unwrap().upgrade().unwrap();
        let shown = Arc::clone(&self.shown);
        kit.subscribe_room(room, move |event| {
            shown
                .lock()
                .unwrap()
                .push((event.event_type.to_string(), Value::Null));
            async {}
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn a_channel_hears_them_by_subscribing() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let shown = Heard::default();
    kit.register_channel(Screen {
        id: "screen".into(),
        kit: Mutex::default(),
        shown: Arc::clone(&shown),
    })
    .unwrap();
    kit.attach_channel("r", "screen").await.unwrap();
    kit.wait_idle().await;
    kit.publish_typing("r", "u", true).await.unwrap();
    turns().await;
    assert_eq!(shown.lock().unwrap()[0].0, "typing_start");
}
