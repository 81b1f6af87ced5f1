//! Which tools may be called.

use roomkit_ai::{
    FnTool, StoredResults, ToolContext, ToolPolicy, ToolRunner, ToolSet, glob_matches,
};
use roomkit_core::model::{Participant, ParticipantRole};
use serde_json::json;

use super::{call, definition, text};

#[test]
fn patterns_match_whole_names() {
    let cases = [
        ("*", "", true),
        ("*", "anything", true),
        ("search_*", "search_web", true),
        ("search_*", "research_web", false),
        ("*_web", "search_web", true),
        ("get_?", "get_a", true),
        ("get_?", "get_ab", false),
        ("get_?", "get_", false),
        ("?", "é", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-b-b", false),
        ("Search", "search", false),
        ("a.c", "abc", false),
        ("[ab]", "a", false),
        ("", "", true),
        ("", "a", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(glob_matches(pattern, name), expected, "{pattern} {name}");
    }
    // A pattern that would take forever if every star tried everything.
    assert!(!glob_matches(&"*a".repeat(200), &"a".repeat(199)));
    assert!(!glob_matches(
        &format!("{}b", "a*".repeat(100)),
        &"a".repeat(10_000)
    ));
}

#[test]
fn deny_wins_and_allow_is_a_list_of_all_there_is() {
    let all = ToolPolicy::new();
    assert!(all.allows("anything", None));
    let deny = ToolPolicy::new().deny(["delete_*"]);
    assert!(deny.allows("search", None) && !deny.allows("delete_all", None));
    let both = ToolPolicy::new()
        .allow(["search_*", "delete_one"])
        .deny(["delete_*"]);
    assert!(both.allows("search_web", None));
    assert!(!both.allows("delete_one", None) && !both.allows("other", None));
}

#[test]
fn a_role_restricts_or_replaces() {
    let policy: ToolPolicy = serde_json::from_value(json!({
        "allow": ["search_*"],
        "deny": ["search_secret"],
        "role_overrides": {
            "observer": { "allow": ["search_web", "delete"], "deny": null },
            "owner": { "mode": "replace", "deny": ["nothing"] },
        },
    }))
    .unwrap();
    let may = |tool, role| policy.allows(tool, role);
    let (observer, owner) = (
        Some(ParticipantRole::Observer),
        Some(ParticipantRole::Owner),
    );
    assert!(may("search_web", observer) && !may("search_mail", observer));
    assert!(
        !may("delete", observer),
        "a role gets no more than the policy gives"
    );
    assert!(may("search_mail", Some(ParticipantRole::Member)));
    assert!(may("search_secret", owner) && may("delete", owner) && !may("nothing", owner));
    let wrong = json!({ "role_overrides": { "king": {} } });
    assert!(serde_json::from_value::<ToolPolicy>(wrong).is_err());
    let again = serde_json::to_value(&policy).unwrap();
    assert_eq!(serde_json::from_value::<ToolPolicy>(again).unwrap(), policy);
}

#[tokio::test]
async fn a_denied_tool_is_neither_told_nor_executed_and_infrastructure_is_exempt() {
    let tools = ToolSet::new()
        .with(FnTool::new(definition("delete"), |_, _| async {
            "deleted"
        }))
        .unwrap()
        .with(StoredResults::new().tool())
        .unwrap();
    let policy =
        ToolPolicy::new().restrict(ParticipantRole::Observer, ["nothing"], [] as [&str; 0]);
    let runner = ToolRunner::new().with_policy(policy);
    let mut observer = Participant::new("eve", "room", "sms", chrono::DateTime::UNIX_EPOCH);
    observer.role = ParticipantRole::Observer;
    let context = ToolContext::new("t").with_participant(&observer);
    let allowed = runner.allowed(&tools, &context);
    assert_eq!(allowed.names().collect::<Vec<_>>(), ["read_stored_result"]);
    let result = runner
        .run(&tools, &call("delete", json!({})), &context)
        .await;
    assert!(result.is_error && text(&result).contains("may not be used"));
    let anybody = ToolContext::new("t");
    let result = runner
        .run(&tools, &call("delete", json!({})), &anybody)
        .await;
    assert_eq!(text(&result), "deleted");
}
