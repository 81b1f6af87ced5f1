//! Tests of what a provider sends: the conversation, tools, pictures, the key.

use roomkit_ai::{
    AiContext, AiMessage, Part, ResultPart, Role, ToolArguments, ToolCall, ToolResult,
};
use serde_json::{Value, json};

use super::sample::{self, call, hello, tool};
use super::server::Reply;
use super::under_test::{KEY, Stage, TestProvider};
use super::wire::{Ability, Quirk, Told};

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";

impl Stage {
    /// What the provider sends for this, whole and as it comes.
    async fn sent(&self, context: &AiContext) -> Vec<Value> {
        self.server.reply([self.whole(&sample::text())]);
        let answer = self.provider.generate(context).await;
        answer.expect("it answers");
        if self.is_able(Ability::Streaming) {
            self.server
                .reply(self.streamed(&sample::text(), Quirk::None));
            let answer = sample::stream(&*self.provider, context).await;
            answer.whole("as it comes");
        }
        let asked = self.server.take_asked();
        asked.into_iter().map(|asked| asked.body).collect()
    }
}

fn user(text: &str) -> Told {
    Told::User(text.into(), Vec::new())
}

pub async fn a_conversation_is_sent_whole_and_in_order(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    let plain = AiContext::new([
        AiMessage::user("Hello"),
        AiMessage::assistant("Hello, you."),
        AiMessage::user("And now?"),
    ])
    .system_prompt("Be brief.");
    for body in stage.sent(&plain).await {
        let expected = [
            Told::System("Be brief.".into()),
            user("Hello"),
            Told::Assistant("Hello, you.".into()),
            user("And now?"),
        ];
        assert_eq!(stage.wire.conversation(&body), expected);
    }
    if !stage.is_able(Ability::Tools) {
        return;
    }
    let first = call("call_a1", "weather", r#"{"q":"Lyon"}"#);
    let second = call("call_b2", "weather", r#"{"q":"#);
    let third = call("call_c3", "web_search", "");
    let results = [
        ToolResult::text(&first, "Sunny."),
        ToolResult::error(&second, "The arguments are no JSON."),
    ];
    let context = AiContext::new([
        AiMessage::user("And the weather?"),
        AiMessage::new(
            Role::Assistant,
            [
                Part::text("Let me look."),
                Part::ToolCall(first),
                Part::ToolCall(second),
            ],
        ),
        AiMessage::tool(results),
        AiMessage::new(Role::Assistant, [Part::ToolCall(third.clone())]),
        AiMessage::tool([ToolResult::text(&third, "")]),
        AiMessage::user("So?"),
    ])
    .tools(["weather", "web_search"].map(tool));
    for body in stage.sent(&context).await {
        let result = |id: &str, text: &str| Told::Result(id.into(), text.into(), Vec::new());
        let calls = |id: &str, name: &str, arguments| Told::Call(id.into(), name.into(), arguments);
        let mut told = stage.wire.conversation(&body);
        // Some vendors take no empty result.
        for told in &mut told {
            if let Told::Result(id, text, _) = told
                && id == "call_c3"
            {
                text.clear();
            }
        }
        let expected = [
            user("And the weather?"),
            Told::Assistant("Let me look.".into()),
            calls("call_a1", "weather", json!({ "q": "Lyon" })),
            calls("call_b2", "weather", json!({})),
            result("call_a1", "Sunny."),
            result("call_b2", "The arguments are no JSON."),
            calls("call_c3", "web_search", json!({})),
            result("call_c3", ""),
            user("So?"),
        ];
        assert_eq!(
            told, expected,
            "what was no object is given back as an empty one"
        );
    }
}

pub async fn tools_are_offered(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    let offered = hello().tools(["weather", "web_search"].map(tool));
    for body in stage.sent(&offered).await {
        let expected: &[&str] = match stage.is_able(Ability::Tools) {
            true => &["weather", "web_search"],
            false => &[],
        };
        assert_eq!(stage.wire.tools(&body), expected);
    }
    for body in stage.sent(&hello()).await {
        assert!(stage.wire.tools(&body).is_empty(), "none were offered");
    }
}

pub async fn pictures_are_sent_to_models_that_see(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    let sees = stage.is_able(Ability::Vision);
    let image = Part::Image {
        url: PICTURE.into(),
        mime_type: Some("image/png".into()),
    };
    let said = AiMessage::new(Role::User, [Part::text("What is this?"), image]);
    for body in stage.sent(&AiContext::new([said])).await {
        let pictures = if sees {
            vec![PICTURE.to_owned()]
        } else {
            Vec::new()
        };
        let told = stage.wire.conversation(&body);
        assert_eq!(told, [Told::User("What is this?".into(), pictures)]);
    }
    if !stage.is_able(Ability::Tools) {
        return;
    }
    let calls: Vec<ToolCall> = ["call_a1", "call_b2"]
        .map(|id| ToolCall::new(id, "camera", ToolArguments::default()))
        .into();
    let results = calls.iter().map(|call| {
        let mut result = ToolResult::text(call, "Taken.");
        result.parts.push(ResultPart::Image {
            url: PICTURE.into(),
            mime_type: Some("image/png".into()),
        });
        result
    });
    let results: Vec<ToolResult> = results.collect();
    let context = AiContext::new([
        AiMessage::user("Look."),
        AiMessage::new(Role::Assistant, calls.into_iter().map(Part::ToolCall)),
        AiMessage::tool(results),
    ])
    .tools([tool("camera")]);
    for body in stage.sent(&context).await {
        let told = stage.wire.conversation(&body);
        let answered = told.iter().filter(|told| matches!(told, Told::Result(..)));
        assert_eq!(answered.count(), 2, "each call has its result");
        let pictures: usize = told
            .iter()
            .skip_while(|told| !matches!(told, Told::Result(..)))
            .map(|told| match told {
                Told::Result(_, _, pictures) | Told::User(_, pictures) => pictures.len(),
                _ => 0,
            })
            .sum();
        // In the results themselves or right after them, as the vendor takes it.
        let shows = stage.provider.capabilities().tool_result_images;
        assert_eq!(
            pictures,
            if shows { 2 } else { 0 },
            "as its capabilities say"
        );
    }
}

pub async fn the_credential_of_the_turn_is_sent(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    let mut context = hello();
    for (own, expected) in [(None, KEY), (Some("sk-of-the-tenant"), "sk-of-the-tenant")] {
        context.api_key = own.map(Into::into);
        stage.server.reply([stage.whole(&sample::text())]);
        let answer = stage.provider.generate(&context).await;
        answer.expect("it answers");
        let asked = stage.server.take_asked();
        // A vendor without keys sends none.
        if let Some(found) = stage.wire.credential(&asked[0]) {
            assert_eq!(found, expected);
            let others = if own.is_some() {
                KEY
            } else {
                "sk-of-the-tenant"
            };
            assert!(!format!("{:?}", asked[0]).contains(others));
        }
    }
}

pub async fn models_are_listed(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::ModelListing) {
        return;
    }
    let list = stage.wire.models(&["model-a", "model-b"]);
    let list = list.expect("a wire that knows the ability has a list");
    stage.server.reply([Reply::json(200, &list)]);
    let models = stage.provider.list_models().await.expect("it lists them");
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["model-a", "model-b"]);
}
