//! Answers as they come: start, chunks, end; and a client that joins in the middle.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use roomkit_core::channel::Delta;
use roomkit_core::hook::{BeforeBroadcast, HookResult};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, InboundMessage, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext, RoomKit, async_trait};
use roomkit_websocket::{Connection, Frame, WebSocketChannel};
use serde_json::{Value, json};

use crate::support::kit;

/// Says each of these a second after the other.
struct Speaker(ChannelId, &'static [&'static str]);

#[async_trait]
impl Channel for Speaker {
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
        let pieces = stream::iter(self.1).then(|piece| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Delta::Text((*piece).to_owned()))
        });
        Ok(ChannelOutput::stream(pieces.boxed()))
    }
}

async fn lobby(pieces: &'static [&'static str]) -> (RoomKit, WebSocketChannel) {
    let (alice, bob) = (WebSocketChannel::new("alice"), WebSocketChannel::new("bob"));
    let kit = kit(&[&alice, &bob], &["lobby"]).await;
    kit.register_channel(Speaker("agent".into(), pieces))
        .unwrap();
    kit.attach_channel("lobby", "agent").await.unwrap();
    (kit, bob)
}

fn hello() -> InboundMessage {
    InboundMessage::text("alice", "alice", "hello").in_room("lobby")
}

/// The frames that wait for a connection, in short.
fn frames(connection: &mut Connection) -> Vec<String> {
    let mut frames = Vec::new();
    while let Some(frame) = connection.try_recv() {
        let json: Value = serde_json::from_slice(&frame.json()).unwrap();
        assert_eq!(json["room_id"], "lobby");
        let text = [
            &json["text"],
            &json["delta"]["text"],
            &json["event"]["content"]["body"],
        ]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default();
        frames.push(format!("{} {text}", json["type"].as_str().unwrap()));
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_an_answer_start_grow_and_end() {
    let (kit, bob) = lobby(&["Got ", "it"]).await;
    let mut phone = bob.connect("phone", "lobby");
    kit.process_inbound(hello()).await.unwrap();
    let expected = [
        "event hello",
        "stream_start ",
        "stream_chunk Got ",
        "stream_chunk it",
        "stream_end Got it",
    ];
    assert_eq!(frames(&mut phone), expected);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_joins_in_the_middle_gets_what_was_said_so_far() {
    let (kit, bob) = lobby(&["one ", "two ", "three"]).await;
    let (_, turn) = kit.process_inbound_deferred(hello()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let mut late = bob.connect("late", "lobby");
    turn.wait().await.unwrap();
    let seen = frames(&mut late);
    assert_eq!(
        seen,
        [
            "stream_start one two ",
            "stream_chunk three",
            "stream_end one two three"
        ]
    );
    let mut after = bob.connect("after", "lobby");
    assert!(
        frames(&mut after).is_empty(),
        "nothing is left of an answer that has ended"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_changes_or_blocks_is_replaced_or_retracted() {
    for (block, last) in [
        (true, "stream_retracted "),
        (false, "stream_replaced [redacted]"),
    ] {
        let (kit, bob) = lobby(&["secret"]).await;
        kit.hook(
            BeforeBroadcast,
            "moderation",
            move |mut event, _| async move {
                match event.text() {
                    Some("secret") if block => HookResult::block("leak"),
                    Some("secret") => {
                        event.set_text("[redacted]");
                        HookResult::modify(event)
                    }
                    _ => HookResult::allow(),
                }
            },
        );
        let mut phone = bob.connect("phone", "lobby");
        kit.process_inbound(hello()).await.unwrap();
        kit.wait_idle().await;
        assert_eq!(frames(&mut phone).last().unwrap(), last);
    }
}

#[tokio::test(start_paused = true)]
async fn the_json_of_every_frame_of_an_answer() {
    let (kit, bob) = lobby(&["Hi"]).await;
    let mut phone = bob.connect("phone", "lobby");
    let asked = kit.process_inbound(hello()).await.unwrap().event.unwrap();
    let mut json = Vec::new();
    let mut shared = Vec::new();
    while let Some(frame) = phone.try_recv() {
        json.push(serde_json::from_slice::<Value>(&frame.json()).unwrap());
        shared.push(frame);
    }
    let stored = kit.timeline("lobby", 4, 1).await.unwrap().remove(0);
    let source = serde_json::to_value(&stored.source).unwrap();
    let id = stored.id.as_str();
    assert_eq!(
        json[1..],
        [
            json!({
                "type": "stream_start", "room_id": "lobby", "event_id": id, "source": source,
                "trigger_id": asked.id.as_str(), "parent_event_id": null, "text": "",
            }),
            json!({
                "type": "stream_chunk", "room_id": "lobby", "event_id": id,
                "delta": {"type": "text", "text": "Hi"},
            }),
            json!({
                "type": "stream_end", "room_id": "lobby", "event_id": id, "end": "complete",
                "event": serde_json::to_value(&*stored).unwrap(),
            }),
        ]
    );
    assert!(matches!(&shared[3], Frame::Stream(live) if live.event().unwrap().id == stored.id));
    let debug = format!("{shared:?}");
    assert!(!debug.contains("Hi"), "no message text in logs: {debug}");
}
