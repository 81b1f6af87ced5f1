//! What holds for a turn: the room, then the turn, then the agent.

use roomkit_ai::{
    AiChannel, AiChannelConfig, AiContext, ConfigProvider, MockAiProvider, TurnConfig, async_trait,
};
use roomkit_core::model::{ChannelBinding, ChannelCapabilities, ChannelCategory, Metadata};
use roomkit_core::{Result, RoomContext, RoomKit};
use roomkit_testkit::MockChannel;
use serde_json::json;

use crate::support::{AGENT, Counted, ROOM, Stage, definition, shared, whole};

struct PerTurn;

#[async_trait]
impl ConfigProvider for PerTurn {
    async fn config(&self, _: &ChannelBinding, _: &RoomContext) -> Result<TurnConfig> {
        Ok(TurnConfig::new()
            .system_prompt("of the turn")
            .temperature(0.5_f32)
            .max_tokens(20_u32)
            .tools(vec![definition("of_the_turn")]))
    }
}

async fn asked_with(metadata: Metadata, per_turn: bool) -> (Option<AiContext>, Stage) {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let mut builder = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .system_prompt("of the agent")
        .temperature(1.0)
        .max_tokens(10)
        .reasoning_effort("low")
        .tool(Counted::done("own"));
    if per_turn {
        builder = builder.config_provider(PerTurn);
    }
    let stage = Stage::with(builder.build().unwrap()).await;
    stage
        .kit
        .update_binding_metadata(ROOM, AGENT, metadata)
        .await
        .unwrap();
    stage.say("hi").await;
    (provider.calls().pop(), stage)
}

fn names(context: &AiContext) -> Vec<&str> {
    context.tools.iter().map(|it| it.name.as_str()).collect()
}

#[tokio::test]
async fn the_agents_own_configuration_holds_where_nothing_else_does() {
    let (asked, _) = asked_with(Metadata::new(), false).await;
    let asked = asked.unwrap();
    assert_eq!(asked.system_prompt.as_deref(), Some("of the agent"));
    assert_eq!((asked.temperature, asked.max_tokens), (Some(1.0), Some(10)));
    assert_eq!(asked.reasoning_effort.as_deref(), Some("low"));
    assert_eq!(names(&asked), ["own"]);
}

#[tokio::test]
async fn the_turn_wins_over_the_agent_and_the_room_over_the_turn() {
    let (asked, _) = asked_with(Metadata::new(), true).await;
    let asked = asked.unwrap();
    assert_eq!(asked.system_prompt.as_deref(), Some("of the turn"));
    assert_eq!((asked.temperature, asked.max_tokens), (Some(0.5), Some(20)));
    assert_eq!(asked.reasoning_effort.as_deref(), Some("low"));
    assert_eq!(names(&asked), ["of_the_turn", "own"]);

    let room = Metadata::new()
        .with("system_prompt", "of the room")
        .with("temperature", 0.25)
        .with("max_tokens", json!(null))
        .with("thinking_budget", 0)
        .with("tools", json!([{ "name": "of_the_room" }]));
    let (asked, _) = asked_with(room, true).await;
    let asked = asked.unwrap();
    assert_eq!(asked.system_prompt.as_deref(), Some("of the room"));
    assert_eq!(
        (asked.temperature, asked.max_tokens),
        (Some(0.25), Some(20))
    );
    assert_eq!(asked.thinking_budget, Some(0));
    assert_eq!(names(&asked), ["of_the_room", "own"]);
}

#[tokio::test]
async fn an_entry_that_is_not_what_it_must_be_gives_the_turn_up_and_names_the_field() {
    let (asked, stage) = asked_with(Metadata::new().with("temperature", "hot"), false).await;
    assert!(asked.is_none());
    assert_eq!(stage.errors(), ["invalid_input"]);
    assert!(stage.answers().await.is_empty());
}

#[test]
fn bad_configuration_is_refused_and_named() {
    let build = |config| {
        let agent = AiChannel::builder("a")
            .provider(MockAiProvider::new([""]))
            .config(config);
        agent.build().unwrap_err().to_string()
    };
    let of = |json: serde_json::Value| serde_json::from_value::<AiChannelConfig>(json).unwrap();
    for (json, field) in [
        (json!({ "temperature": 3.0 }), "temperature"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (
            json!({ "tool_loop_timeout_seconds": -1.0 }),
            "tool_loop_timeout_seconds",
        ),
    ] {
        assert!(build(of(json)).contains(field), "{field}");
    }
    let unknown = serde_json::from_value::<AiChannelConfig>(json!({ "temprature": 1.0 }));
    assert!(unknown.unwrap_err().to_string().contains("temprature"));
    let clash = AiChannel::builder("a")
        .tool(Counted::done("x"))
        .tool(Counted::done("x"));
    assert!(clash.build().unwrap_err().to_string().contains("tools"));
    assert!(
        AiChannel::builder("")
            .build()
            .unwrap_err()
            .to_string()
            .contains("id")
    );
}

#[tokio::test]
async fn the_model_is_told_what_all_channels_can_show() {
    let provider = shared(whole(MockAiProvider::new(["Yes."])));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let kit = RoomKit::new();
    let able = |length| {
        ChannelCapabilities::default()
            .with_max_length(length)
            .with_edit()
    };
    let sms = MockChannel::builder("sms").capabilities(able(160)).build();
    let chat = MockChannel::builder("chat")
        .capabilities(ChannelCapabilities::default().with_max_length(4_000))
        .build();
    kit.register_channel(sms).unwrap();
    kit.register_channel(chat).unwrap();
    let stage = Stage::on(kit, agent).await;
    for channel in ["sms", "chat"] {
        stage
            .kit
            .attach_channel(ROOM, channel)
            .category(ChannelCategory::Transport)
            .await
            .unwrap();
    }
    stage.say("hi").await;
    let asked = provider.calls().pop().unwrap();
    let target = asked.target_capabilities.unwrap();
    assert_eq!(
        (target.max_length, target.supports_edit),
        (Some(160), false)
    );
    assert_eq!(asked.target_media_types, target.media_types);
}
