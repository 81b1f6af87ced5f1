//! Feedback: stored as an observation, told once, refused where it makes no sense.

use std::sync::{Arc, Mutex};

use roomkit_core::RoomKit;
use roomkit_core::hook::OnFeedback;
use roomkit_core::model::{Identity, InboundMessage, Metadata};

use super::support::{Agent, Transport, room_of, say, shared};

async fn support_room() -> RoomKit {
    let kit = RoomKit::new();
    let channels = vec![
        shared(&Transport::new("web")),
        shared(&Agent::says("helper", "Done.")),
    ];
    room_of(&kit, channels).await;
    kit.process_inbound(say("web", "alice", "help"))
        .await
        .unwrap();
    kit
}

#[tokio::test]
async fn feedback_is_an_observation_and_is_told_to_hooks_and_listeners() {
    let kit = support_room().await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let (hook, listener) = (Arc::clone(&told), Arc::clone(&told));
    kit.hook(OnFeedback, "feedback", move |observation, room| {
        assert_eq!(observation.room_id, *room.room_id());
        hook.lock().unwrap().push(observation.content.clone());
        async {}
    });
    kit.on("feedback", move |event| {
        assert_eq!(event.channel_id.as_ref().unwrap(), "helper");
        assert!(event.event_id.is_some());
        let data = serde_json::to_string(&event.data).unwrap();
        listener.lock().unwrap().push(data);
        async {}
    });
    let answer = kit.timeline("r", 3, 1).await.unwrap()[0].clone();
    let stored = kit
        .submit_feedback("r", 0.9)
        .event(&answer.id)
        .participant("alice")
        .dimension("helpfulness")
        .comment("Very helpful")
        .metadata(
            Metadata::new()
                .with("rating", "not this one")
                .with("page", 3),
        )
        .await
        .unwrap();
    assert_eq!(stored.category.as_deref(), Some("feedback:helpfulness"));
    assert_eq!(stored.content, "[helpfulness] 0.90: Very helpful");
    assert_eq!(
        (stored.confidence, stored.channel_id.as_str()),
        (0.9, "helper")
    );
    let expected = Metadata::new()
        .with("rating", 0.9)
        .with("page", 3)
        .with("type", "feedback")
        .with("dimension", "helpfulness")
        .with("comment", "Very helpful")
        .with("event_id", answer.id.as_str())
        .with("participant_id", "alice");
    assert_eq!(stored.metadata, expected);
    assert_eq!(kit.observations("r").await.unwrap(), [stored]);
    kit.wait_idle().await;
    let mut told = told.lock().unwrap().clone();
    told.sort();
    assert_eq!(
        told,
        [
            "[helpfulness] 0.90: Very helpful",
            r#"{"dimension":"helpfulness","rating":0.9}"#
        ]
    );
}

#[tokio::test]
async fn feedback_about_the_conversation_is_taken_when_it_is_over_and_changes_no_timeline() {
    let kit = support_room().await;
    kit.close_room("r").await.unwrap();
    let before = kit.room("r").await.unwrap();
    let stored = kit.submit_feedback("r", 0.0).await.unwrap();
    assert_eq!(stored.category.as_deref(), Some("feedback:overall"));
    assert_eq!(stored.content, "[overall] 0.00");
    assert_eq!(stored.channel_id, "system");
    let after = kit.room("r").await.unwrap();
    assert_eq!(
        (after.event_count, after.status),
        (before.event_count, before.status)
    );
}

#[tokio::test]
async fn feedback_that_makes_no_sense_is_refused_by_its_field() {
    let kit = support_room().await;
    let events = kit.timeline("r", 2, 2).await.unwrap();
    let refused = async |call: roomkit_core::SubmitFeedback| {
        let error = call.await.unwrap_err();
        error.to_string()
    };
    for rating in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
        assert_eq!(
            refused(kit.submit_feedback("r", rating)).await,
            "invalid_input: rating: must be from 0 to 1"
        );
    }
    let call = || kit.submit_feedback("r", 1.0);
    for dimension in [String::new(), " ".to_owned(), "d".repeat(65)] {
        let problem = refused(call().dimension(dimension)).await;
        assert_eq!(problem, "invalid_input: dimension: must have 1 to 64 bytes");
    }
    let problem = refused(call().comment("c".repeat(16_385))).await;
    assert!(problem.starts_with("invalid_input: comment"), "{problem}");
    let problem = refused(call().event(&events[1].id).channel("web")).await;
    assert!(
        problem.starts_with("invalid_input: channel_id"),
        "{problem}"
    );
    assert!(
        refused(call().event("gone"))
            .await
            .starts_with("event_not_found")
    );
    let nobody = refused(call().participant("nobody")).await;
    assert!(nobody.starts_with("participant_not_found"));
    assert!(kit.observations("r").await.unwrap().is_empty());
    call().event(&events[1].id).channel("helper").await.unwrap();
    let deleted = roomkit_core::model::EventContent::from(
        serde_json::from_value::<roomkit_core::model::DeleteContent>(serde_json::json!({
            "target_event_id": events[0].id, "delete_type": "system"
        }))
        .unwrap(),
    );
    kit.send_event("r", "system", deleted).await.unwrap();
    let gone = refused(call().event(&events[0].id)).await;
    assert!(gone.starts_with("event_not_found"), "{gone}");
}

#[tokio::test]
async fn who_is_banned_gives_no_feedback_under_whatever_id() {
    let kit = support_room().await;
    kit.store()
        .put_identity(Identity::new("person"))
        .await
        .unwrap();
    kit.process_inbound(InboundMessage::text("web", "al", "hi").in_room("r"))
        .await
        .unwrap();
    for id in ["alice", "al"] {
        kit.resolve_participant("r", id, "person").await.unwrap();
    }
    kit.submit_feedback("r", 1.0)
        .participant("al")
        .await
        .unwrap();
    kit.ban_member("r", "alice").await.unwrap();
    for id in ["alice", "al"] {
        let banned = kit
            .submit_feedback("r", 0.1)
            .participant(id)
            .await
            .unwrap_err();
        assert_eq!(banned.code(), "participant_not_admitted", "{id}");
    }
    kit.submit_feedback("r", 0.5).await.unwrap();
}
