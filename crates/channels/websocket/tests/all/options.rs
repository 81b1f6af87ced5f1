//! The builder, and what the channel says about itself.

use roomkit_core::model::{
    ChannelCapabilities, ChannelCategory, ChannelDirection, ChannelMediaType, ChannelType,
};
use roomkit_core::{Channel, ErrorKind};
use roomkit_websocket::{ConnectionId, WebSocketChannel};

#[test]
fn by_default_it_shows_all_but_templates() {
    let ws = WebSocketChannel::new("ws");
    assert_eq!(*ws.id(), "ws");
    assert_eq!(ws.channel_type(), ChannelType::Websocket);
    assert_eq!(ws.category(), ChannelCategory::Transport);
    assert_eq!(ws.direction(), ChannelDirection::Bidirectional);
    let can = ws.capabilities();
    for media in ChannelMediaType::ALL {
        assert_eq!(can.supports(*media), *media != ChannelMediaType::Template);
    }
    assert_eq!(can.max_length, None);
    assert!(can.supports_edit && can.supports_delete && can.supports_typing);
    assert!(can.supports_reactions && can.supports_read_receipts && can.supports_threading);
}

#[test]
fn capabilities_can_be_chosen() {
    let narrow = ChannelCapabilities::default().with_max_length(100);
    let built = WebSocketChannel::builder("ws")
        .capabilities(narrow.clone())
        .build();
    assert_eq!(built.unwrap().capabilities(), narrow);
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let most = WebSocketChannel::builder("ws").queue_capacity(65_536);
    assert!(most.build().is_ok());
    for capacity in [0, 65_537, usize::MAX] {
        let refused = WebSocketChannel::builder("ws").queue_capacity(capacity);
        let error = refused.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains("queue_capacity"), "{error}");
    }
    let refused = WebSocketChannel::builder("ws")
        .capabilities(ChannelCapabilities::default().with_max_length(0))
        .build();
    let error = refused.unwrap_err();
    assert!(error.message().contains("max_length"), "{error}");
}

#[test]
fn connection_ids_are_text() {
    let id = ConnectionId::from("laptop");
    assert_eq!(id, ConnectionId::from("laptop".to_owned()));
    assert_eq!(id, ConnectionId::from(&id));
    assert_eq!((id.as_str(), id.to_string().as_str()), ("laptop", "laptop"));
    let ws = WebSocketChannel::new("ws");
    let connection = ws.connect(&id, "lobby");
    assert_eq!(*connection.id(), id);
}

#[test]
fn handles_may_cross_threads() {
    fn assert_shared<T: Send + Sync + 'static>() {}
    assert_shared::<WebSocketChannel>();
    assert_shared::<roomkit_websocket::Connection>();
    assert_shared::<roomkit_websocket::Frame>();
}
