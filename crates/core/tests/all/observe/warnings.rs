//! What operators are warned of.

use roomkit_core::RoomKit;

use super::subscriber::Ear;

/// Who keeps the state of a channel on a record shares it with the other channel (RFC §5.5).
#[tokio::test]
async fn being_reached_over_another_channel_is_a_warning_that_names_both() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let (ear, _guard) = Ear::listen();
    let warnings = || {
        let mut lines = ear.lines();
        lines.retain(|line| line.starts_with("WARN"));
        lines
    };
    kit.add_member("r", "sms-main", "alice").await.unwrap();
    kit.add_member("r", "sms-main", "alice").await.unwrap();
    let reach = async |channel: &str| kit.ensure_participant("r", channel, "alice", None).await;
    reach("sms-main").await.unwrap();
    assert!(warnings().is_empty(), "{:?}", warnings());
    let reached = reach("mail-main").await.unwrap();
    assert_eq!(reached.channel_id, "sms-main");
    kit.add_member("r", "web-main", "alice").await.unwrap();
    let warnings = warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (line, channel) in warnings.iter().zip(["mail-main", "web-main"]) {
        assert!(
            line.contains(&format!("\"channel_id\": \"{channel}\"")),
            "{line}"
        );
        assert!(
            line.contains("\"primary_channel_id\": \"sms-main\""),
            "{line}"
        );
        assert!(!line.contains("alice"), "{line}");
    }
}
