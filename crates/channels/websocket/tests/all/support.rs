//! Kits with WebSocket channels in rooms, and what connections were sent.

use roomkit_core::RoomKit;
use roomkit_core::model::{InboundMessage, InboundResult};
use roomkit_websocket::{Connection, WebSocketChannel};

/// A kit in which every one of these channels is attached to every one of these rooms.
pub(crate) async fn kit(channels: &[&WebSocketChannel], rooms: &[&str]) -> RoomKit {
    use roomkit_core::Channel;

    let kit = RoomKit::new();
    for channel in channels {
        kit.register_channel((*channel).clone()).unwrap();
    }
    for room in rooms {
        kit.create_room(*room).await.unwrap();
        for channel in channels {
            kit.attach_channel(*room, channel.id()).await.unwrap();
        }
    }
    kit
}

/// Two channels, `ws-alice` and `ws-bob`, in one room, `lobby`.
pub(crate) async fn two_in_a_room() -> (RoomKit, WebSocketChannel, WebSocketChannel) {
    let (alice, bob) = (
        WebSocketChannel::new("ws-alice"),
        WebSocketChannel::new("ws-bob"),
    );
    let kit = kit(&[&alice, &bob], &["lobby"]).await;
    (kit, alice, bob)
}

/// Says something through `ws-alice` in `lobby`, and waits until everyone has it.
pub(crate) async fn alice_says(kit: &RoomKit, body: &str) -> InboundResult {
    say(kit, "ws-alice", "lobby", body).await
}

pub(crate) async fn say(kit: &RoomKit, channel: &str, room: &str, body: &str) -> InboundResult {
    let message = InboundMessage::text(channel, "somebody", body).in_room(room);
    kit.process_inbound(message).await.unwrap()
}

/// The texts that wait for a connection.
pub(crate) fn texts(connection: &mut Connection) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(frame) = connection.try_recv() {
        texts.push(frame.event().unwrap().text().unwrap().to_owned());
    }
    texts
}
