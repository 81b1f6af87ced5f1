//! What stands at the crate's root, and where.

#[test]
fn the_core_stands_at_the_root_with_its_modules() {
    let kit: roomkit_core::RoomKit = roomkit::RoomKit::new();
    assert!(kit.channels().is_empty());
    let _: roomkit_core::model::RoomId = roomkit::model::RoomId::from("lobby");
    let _ = roomkit::store::MemoryStore::new();
    let _ = roomkit::turns::RoundRobinRoomPlanner::default();
    let _ = roomkit::resilience::CircuitBreakerConfig::default();
    let _ = roomkit::sync::InProcessLocks::new();
    let _ = roomkit::router::DefaultContentTranscoder;
    let _ = roomkit::hook::HookOptions::new("audit");
    let _ = std::mem::size_of::<roomkit::channel::Delta>();
}

#[cfg(feature = "websocket")]
#[test]
fn a_crate_behind_a_feature_is_a_module() {
    use roomkit::Channel;

    let ws = roomkit::websocket::WebSocketChannel::new("ws");
    assert_eq!(*ws.id(), "ws");
}

#[cfg(feature = "ai")]
#[test]
fn agents_are_a_module_and_need_no_vendor() {
    let provider = roomkit::ai::MockAiProvider::new(["Hello!"]);
    let agent = roomkit::ai::AiChannel::builder("helper").provider(provider);
    assert!(agent.build().is_ok());
}

#[cfg(feature = "openai")]
#[test]
fn a_vendors_crate_is_a_module_by_its_name() {
    let config = roomkit::openai::OpenAiConfig::new("a-model");
    let provider = roomkit::openai::OpenAiProvider::new(config).unwrap();
    // The module of agents comes with it.
    let agent = roomkit::ai::AiChannel::builder("helper").provider(provider);
    assert!(agent.build().is_ok());
}
