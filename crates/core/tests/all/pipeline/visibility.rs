//! Who may see an event: at delivery, and in history rebuilt later.

use roomkit_core::model::{Access, EventContent, InboundMessage, RoomEvent, TextContent};
use roomkit_core::{ChannelOutput, Reply, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared};

#[tokio::test]
async fn history_rebuilt_for_a_channel_holds_what_it_was_shown_and_what_it_said() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let agent = Agent::new("agent", |_, context| async move {
        let history = context.recent_events(50).await?;
        let texts: Vec<_> = history
            .events
            .iter()
            .filter_map(|event| event.text())
            .collect();
        let mut reply = Reply::text(format!("[{}]", texts.join(" ")));
        reply.visibility = "a".into();
        Ok(ChannelOutput::reply(reply))
    });
    room_of(&kit, vec![shared(&a), shared(&b), shared(&agent)]).await;
    let quiet = |text: &str| say("a", "u", text).addressed_to(Vec::<&str>::new());
    kit.process_inbound(quiet("public")).await.unwrap();
    kit.process_inbound(quiet("for-b").visibility("b"))
        .await
        .unwrap();
    kit.process_inbound(quiet("nobody").visibility("none"))
        .await
        .unwrap();
    kit.process_inbound(say("a", "u", "ask")).await.unwrap();
    assert_eq!(a.texts(), ["[public ask]"]);
    // Its own whisper to a is part of what the agent knows; what it was not shown is not.
    kit.process_inbound(say("a", "u", "more")).await.unwrap();
    assert_eq!(a.texts()[1], "[public ask [public ask] more]");
    assert_eq!(b.texts(), ["public", "for-b", "ask", "more"]);

    let of = async |channel: &str| {
        let history = kit.history_for("r", channel, 50).await.unwrap();
        let texts: Vec<_> = history
            .events
            .iter()
            .filter_map(|event| event.text().map(str::to_owned))
            .collect();
        texts.join(",")
    };
    assert_eq!(of("b").await, "public,for-b,ask,more");
    kit.set_access("r", "b", Access::WriteOnly).await.unwrap();
    assert_eq!(
        of("b").await,
        "",
        "what may not read has no history but its own"
    );
    assert_eq!(of("stranger").await, "");
}

#[tokio::test]
async fn visibility_is_stamped_when_it_is_committed() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    room_of(&kit, vec![shared(&a), shared(&b)]).await;
    kit.set_visibility("r", "a", "none").await.unwrap();
    let hidden = kit
        .process_inbound(say("a", "u", "hidden"))
        .await
        .unwrap()
        .event
        .unwrap();
    kit.set_visibility("r", "a", "all").await.unwrap();
    kit.process_inbound(say("a", "u", "shown")).await.unwrap();
    assert_eq!(hidden.visibility.as_str(), "none");
    assert_eq!(b.texts(), ["shown"]);
    let history = kit.history_for("r", "b", 9).await.unwrap();
    assert_eq!(
        history
            .events
            .iter()
            .filter(|event| event.text() == Some("hidden"))
            .count(),
        0
    );
}

#[tokio::test]
async fn an_answer_stays_as_narrow_as_its_question_allowed_and_its_binding_says() {
    for (response, binding, expected) in [
        (None, "all", vec!["a", "b", "c"]),
        (Some("a,b"), "all", vec!["a", "b"]),
        (None, "b,c", vec!["b", "c"]),
        (Some("a,b"), "b,c", vec!["b"]),
        (Some("a"), "c", vec![]),
    ] {
        let kit = RoomKit::new();
        let transports = ["a", "b", "c"].map(Transport::new);
        let agent = Agent::says("agent", "answer");
        let mut channels: Vec<_> = transports.iter().map(|channel| shared(channel)).collect();
        channels.push(shared(&agent));
        room_of(&kit, channels).await;
        kit.set_visibility("r", "agent", binding).await.unwrap();
        let mut question: InboundMessage = say("a", "u", "question");
        question.response_visibility = response.map(Into::into);
        kit.process_inbound(question).await.unwrap();
        let got: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .zip(&transports)
            .filter(|(_, channel)| channel.texts().contains(&"answer".to_owned()))
            .map(|(id, _)| id)
            .collect();
        assert_eq!(got, expected, "{response:?} {binding}");
    }
}

#[tokio::test]
async fn a_long_history_is_cut_and_says_so() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    for number in 0..30 {
        kit.send_event("r", "a", TextContent::new(number.to_string()))
            .await
            .unwrap();
    }
    let short = kit.history_for("r", "a", 10).await.unwrap();
    assert_eq!(short.events.len(), 10);
    assert!(!short.complete);
    assert_eq!(short.events[9].text(), Some("29"));
    let all = kit.history_for("r", "a", 100).await.unwrap();
    assert_eq!(
        all.events.len(),
        30,
        "the room's own notes are not for channels"
    );
    assert!(all.complete);
}

/// A change of an event from channel `a`, in words that only it has.
fn edit(target: &RoomEvent) -> InboundMessage {
    let content = EventContent::edit(target.id.clone(), EventContent::text("reworded"));
    InboundMessage::new("a", "u", content).in_room("r")
}

#[tokio::test]
async fn a_change_of_an_event_reaches_nobody_from_whom_the_event_was_hidden() {
    let kit = RoomKit::new();
    let (a, b, c) = (
        Transport::new("a"),
        Transport::new("b"),
        Transport::new("c"),
    );
    room_of(&kit, vec![shared(&a), shared(&b), shared(&c)]).await;
    let hidden = kit.process_inbound(say("a", "u", "for b").visibility("b"));
    let hidden = hidden.await.unwrap().event.unwrap();
    let edited = kit.process_inbound(edit(&hidden)).await.unwrap();
    let delete = InboundMessage::new("a", "u", EventContent::delete(hidden.id.clone()));
    kit.process_inbound(delete.in_room("r")).await.unwrap();
    assert_eq!(edited.event.unwrap().visibility.as_str(), "b");
    assert_eq!(b.events().len(), 3);
    assert_eq!(c.events().len(), 0);
    assert!(
        kit.history_for("r", "c", 9)
            .await
            .unwrap()
            .events
            .is_empty()
    );
}

#[tokio::test]
async fn an_edit_for_fewer_shows_its_words_to_the_others_in_no_history() {
    let kit = RoomKit::new();
    let (a, b, c) = (
        Transport::new("a"),
        Transport::new("b"),
        Transport::new("c"),
    );
    room_of(&kit, vec![shared(&a), shared(&b), shared(&c)]).await;
    let shown = kit.process_inbound(say("a", "u", "for all")).await;
    let shown = shown.unwrap().event.unwrap();
    kit.process_inbound(edit(&shown).visibility("b"))
        .await
        .unwrap();
    assert_eq!(c.texts(), ["for all"]);
    for (channel, sees) in [("a", true), ("b", true), ("c", false)] {
        let history = kit.history_for("r", channel, 9).await.unwrap();
        let found = history
            .events
            .iter()
            .any(|event| event.text() == Some("reworded"));
        assert_eq!(found, sees, "{channel}");
    }
}
