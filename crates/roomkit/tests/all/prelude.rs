//! The prelude beside what applications have in scope already: every name means one thing.

// The prelude is itself put together from these; a name that meant another thing there than here
// could not be used below.
use roomkit::hook::*;
use roomkit::model::*;
use roomkit::prelude::*;

/// Names each of these types, so that one that has two meanings here does not compile.
macro_rules! types {
    ($($name:ty),+ $(,)?) => { $( let _ = std::mem::size_of::<$name>(); )+ };
}

#[test]
fn every_name_has_one_meaning() {
    types!(
        RoomKit,
        RoomKitBuilder,
        Rooms,
        WeakKit,
        RoomOptions,
        ChannelOutput,
        Reply,
        RoomContext,
        History,
        EventDraft,
        DeliveryHandle,
        Error,
        ErrorKind,
        InboundMessage,
        InboundResult,
        RoomEvent,
        EventContent,
        TextContent,
        RichContent,
        MediaContent,
        AudioContent,
        VideoContent,
        LocationContent,
        CompositeContent,
        SystemContent,
        TemplateContent,
        EditContent,
        DeleteContent,
        ToolCallContent,
        Room,
        RoomId,
        ChannelId,
        EventId,
        ParticipantId,
        OrganizationId,
        IdentityId,
        ChannelBinding,
        ChannelCapabilities,
        ChannelMediaType,
        ChannelType,
        ChannelCategory,
        ChannelDirection,
        Access,
        AgentResponsePolicy,
        DeliveryOutcome,
        DeliveryResult,
        DeliveryError,
        EventType,
        EventStatus,
        EventSource,
        EventFilter,
        FrameworkEvent,
        FrameworkEventType,
        EphemeralEvent,
        EphemeralEventType,
        Participant,
        ParticipantRole,
        ParticipantStatus,
        Identity,
        IdentityResult,
        Metadata,
        Observation,
        Task,
        TaskStatus,
        RateLimit,
        RetryPolicy,
        RichFormat,
        DeleteType,
        RoomStatus,
        RoomTimers,
        Visibility,
        BeforeBroadcast,
        AfterBroadcast,
        BeforeTts,
        OnRoomCreated,
        OnIdentityUnknown,
        Hook,
        HookOptions,
        HookResult<EventDraft>,
        HookTrigger,
        HookVerdict<String>,
        InjectedEvent,
        IdentityDecision,
        FailurePolicy,
    );
    #[cfg(feature = "ai")]
    types!(
        Agent,
        AiChannel,
        Box<dyn AiProvider>,
        Box<dyn Tool>,
        ToolSet,
        ToolContext,
        ToolError,
        Steering,
        BeforeAiContextBuild,
        BeforeAiGeneration,
        BeforeToolUse,
        OnAiResponse,
        OnAiThinking,
        OnPlanUpdated,
        OnToolCall,
        OnUserInputRequired,
    );
    #[cfg(feature = "websocket")]
    types!(WebSocketChannel);
}

#[test]
fn a_result_of_another_error_is_still_a_result() {
    fn ours() -> Result<u8> {
        Err(Error::channel("nothing there"))
    }
    fn others() -> Result<u8, std::num::ParseIntError> {
        "7".parse()
    }
    assert_eq!(ours().unwrap_err().kind(), ErrorKind::ChannelFailed);
    assert_eq!(others(), Ok(7));
}

/// A hook point can be written with the names of the prelude alone.
mod implemented {
    use roomkit::prelude::*;

    pub(super) struct BeforeFax;

    impl HookPoint for BeforeFax {
        type Payload = String;
        type Returns = HookResult<String>;
        const TRIGGER: HookTrigger = HookTrigger::Custom("before_fax");
        const FAILURE: FailurePolicy = FailurePolicy::Block;
    }
}

#[cfg(feature = "websocket")]
#[test]
fn the_websocket_channel_is_one() {
    fn is_channel<C: Channel>() {}
    is_channel::<WebSocketChannel>();
}

#[tokio::test]
async fn a_point_of_ones_own_runs_its_hooks() {
    let kit = RoomKit::new();
    kit.create_room("office").await.unwrap();
    kit.hook(
        implemented::BeforeFax,
        "area_code",
        |number, _room| async move { HookResult::modify(format!("+1{number}")) },
    );
    let verdict = kit
        .run_hooks(implemented::BeforeFax, "office", "5550001111".to_owned())
        .await;
    assert_eq!(
        verdict.unwrap(),
        HookVerdict::Allowed("+15550001111".to_owned())
    );
}

/// An agent with a tool is put together with the names of the prelude alone.
#[cfg(feature = "ai")]
mod agent {
    use roomkit::prelude::*;

    tool! {
        /// Says what a double is.
        async fn double(
            /// The number.
            number: i64,
        ) -> Result<String, ToolError> {
            Ok((number * 2).to_string())
        }
    }

    #[test]
    fn an_agent_with_a_tool_is_put_together() {
        let agent = Agent::builder("helper")
            .role("Helper")
            .channel(|it| it.tool(double()));
        assert_eq!(*agent.build().unwrap().id(), "helper");
    }
}
