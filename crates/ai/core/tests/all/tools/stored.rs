//! Large results: kept, shown in part, read in pages.

use roomkit_ai::{
    ResultPart, StoredResults, ToolContext, ToolResult, ToolRunner, ToolSet, estimate_tokens,
};
use roomkit_core::model::RoomId;
use serde_json::{Value, json};

use super::{call, text};

fn result(said: &str) -> ToolResult {
    ToolResult::text(&call("query", json!({})), said)
}

fn room() -> RoomId {
    RoomId::from("room")
}

async fn page(stored: &StoredResults, room: &str, arguments: Value) -> ToolResult {
    let tools = ToolSet::new().with(stored.tool()).unwrap();
    let context = ToolContext::new("t").with_room(room, "ai");
    ToolRunner::new()
        .run(&tools, &call("read_stored_result", arguments), &context)
        .await
}

/// Reads all pages and gives what they hold, line by line.
async fn read_all(stored: &StoredResults, id: &str, threshold: usize) -> String {
    let (mut offset, mut all) = (0, Vec::new());
    for _ in 0..10_000 {
        let read = page(stored, "room", json!({ "result_id": id, "offset": offset })).await;
        let said = text(&read);
        assert!(
            estimate_tokens(&said) <= threshold,
            "a page is no large result itself"
        );
        assert_eq!(stored.keep(Some(&room()), read.clone()), read);
        let read: Value = serde_json::from_str(&said).unwrap();
        all.push(read["content"].as_str().unwrap().to_owned());
        if read["has_more"] == false {
            return all.join("\n");
        }
        assert!(read["warning"].as_str().unwrap().contains("part"));
        let next = usize::try_from(read["next_offset"].as_u64().unwrap()).unwrap();
        assert!(next > offset, "each page goes on");
        offset = next;
    }
    panic!("no end");
}

#[test]
fn a_small_result_stays_as_it_is() {
    assert_eq!(estimate_tokens("éééé"), 2);
    assert_eq!(estimate_tokens(""), 1);
    let stored = StoredResults::new();
    let small = result(&"x".repeat(19_996));
    assert_eq!(stored.keep(Some(&room()), small.clone()), small);
    assert!(!stored.has_any(Some(&room())));
    let large = stored.keep(Some(&room()), result(&"x".repeat(20_000)));
    assert!(text(&large).contains("5001 tokens"), "{}", text(&large));
}

#[tokio::test]
async fn the_first_and_last_lines_are_shown_and_all_can_be_read() {
    let stored = StoredResults::new();
    let lines: Vec<String> = (0..3_000).map(|n| format!("line {n}")).collect();
    let mut large = result(&lines.join("\n"));
    large.parts.push(ResultPart::Image {
        url: "https://example.com/a.png".into(),
        mime_type: None,
    });
    let kept = stored.keep(Some(&room()), large);
    let said = text(&kept);
    for line in [
        "line 0\n",
        "line 4\n",
        "2990 lines left out",
        "line 2995\n",
        "line 2999",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("line 5\n") && said.len() < 1_000);
    assert!(
        kept.parts
            .iter()
            .any(|part| matches!(part, ResultPart::Image { .. }))
    );
    assert!(stored.has_any(Some(&room())));
    assert_eq!(read_all(&stored, "result_1", 5_000).await, lines.join("\n"));
    let some = page(
        &stored,
        "room",
        json!({ "result_id": "result_1", "offset": 10, "limit": 2 }),
    )
    .await;
    let some: Value = serde_json::from_str(&text(&some)).unwrap();
    assert_eq!(some["content"], "line 10\nline 11");
    assert_eq!(
        (&some["total_lines"], &some["next_offset"]),
        (&json!(3_000), &json!(12))
    );
    let past = page(
        &stored,
        "room",
        json!({ "result_id": "result_1", "offset": 1e300 }),
    )
    .await;
    let past: Value = serde_json::from_str(&text(&past)).unwrap();
    assert_eq!(
        (&past["content"], &past["has_more"]),
        (&json!(""), &json!(false))
    );
}

#[tokio::test]
async fn one_huge_line_is_shown_in_part_and_read_in_pieces() {
    for unit in ["é", "\"", "\u{1}", "x\\"] {
        let stored = StoredResults::new().with_threshold(500);
        let line = unit.repeat(30_000);
        let said = text(&stored.keep(Some(&room()), result(&line)));
        assert!(estimate_tokens(&said) < 500, "{}", said.len());
        let all = read_all(&stored, "result_1", 500).await;
        assert_eq!(all.replace('\n', ""), line);
    }
}

#[tokio::test]
async fn rooms_do_not_see_each_others_results() {
    let stored = StoredResults::new();
    let large = "x".repeat(30_000);
    let _ = stored.keep(Some(&room()), result(&large));
    let other = page(&stored, "other", json!({ "result_id": "result_1" })).await;
    assert!(other.is_error);
    assert!(text(&other).ends_with("There are: []"), "{}", text(&other));
    assert!(!stored.has_any(Some(&RoomId::from("other"))) && !stored.has_any(None));
}

#[tokio::test]
async fn the_oldest_of_fifty_goes_first() {
    let stored = StoredResults::new().with_threshold(500);
    for n in 0..51 {
        let _ = stored.keep(Some(&room()), result(&format!("{n} ").repeat(2_000)));
    }
    let gone = page(&stored, "room", json!({ "result_id": "result_1" })).await;
    assert!(
        gone.is_error && text(&gone).contains("result_2, result_3"),
        "{}",
        text(&gone)
    );
    assert!(
        !page(&stored, "room", json!({ "result_id": "result_2" }))
            .await
            .is_error
    );
}
