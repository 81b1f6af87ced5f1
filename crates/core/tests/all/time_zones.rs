//! Whatever zone the host is in, the same calls come to the same (field report F79).

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chrono::{Local, Offset, TimeZone, Utc};
use roomkit_core::model::{EventContent, InboundMessage, RoomTimers};
use roomkit_core::store::{EventQuery, Page, RoomFilter, export_room};
use roomkit_core::{RoomKit, RoomOptions};
use roomkit_testkit::{ManualClock, MockChannel};
use serde_json::{Value, json};

/// In the environment of a child, which then plays its part.
const ROLE: &str = "ROOMKIT_TIME_ZONES_CHILD";

/// Zones by their rules, so that no machine needs a list of them: with and without summer time, and the
/// farthest to either side. `Europe/Berlin` is UTC where there is no list.
const ZONES: [&str; 7] = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+03>-3",
    "<+14>-14",
    "<-12>12",
    "Europe/Berlin",
];

/// Does nothing unless the test below runs it as another process.
#[tokio::test]
async fn a_child_in_another_zone() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let at = Utc.with_ymd_and_hms(2026, 7, 1, 12, 0, 0).unwrap();
    let offset = Local.offset_from_utc_datetime(&at.naive_utc()).fix();
    let lines = json!({ "offset": offset.local_minus_utc(), "said": play().await });
    let mut out = std::io::stdout().lock();
    writeln!(out, "says {lines}").unwrap();
    out.flush().unwrap();
}

#[test]
fn the_same_calls_give_the_same_json_in_every_zone_of_the_host() {
    let mut offsets = BTreeMap::new();
    let mut first: Option<Value> = None;
    for zone in ZONES {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "time_zones::a_child_in_another_zone"])
            .args(["--nocapture", "--test-threads=1"])
            .env(ROLE, "yes")
            .env("TZ", zone)
            .output()
            .unwrap();
        let out = String::from_utf8(child.stdout).unwrap();
        // The harness writes in front of the line.
        let line = out.lines().find_map(|line| line.split_once("says "));
        let line = line.unwrap_or_else(|| panic!("{zone}: {out}")).1;
        let mut told: Value = serde_json::from_str(line).unwrap();
        offsets.insert(told["offset"].as_i64().unwrap(), zone);
        let said = told["said"].take();
        assert!(said.as_array().unwrap().len() > 10, "{said}");
        match &first {
            None => first = Some(said),
            Some(first) => assert_eq!(&said, first, "{zone}"),
        }
    }
    // The children were in other zones indeed.
    #[cfg(unix)]
    assert!(offsets.len() >= 6, "{offsets:?}");
    let first = first.unwrap().to_string();
    assert!(first.contains("2026-03-27T23:00:00Z"), "{first}");
}

/// From Friday 23:00 UTC over the night in which Berlin's clocks go forward: messages, an edit, timers,
/// and all that can be read of it, as JSON.
async fn play() -> Vec<Value> {
    let clock = ManualClock::at(Utc.with_ymd_and_hms(2026, 3, 27, 23, 0, 0).unwrap());
    let kit = RoomKit::builder().clock(Arc::new(clock.clone()));
    let kit = kit.without_timer_sweeper().build().unwrap();
    let channel = MockChannel::builder("web").build();
    kit.register_channel(channel).unwrap();
    let timers = RoomTimers::pause_after(24 * 60 * 60);
    let options = RoomOptions::new().id("r").timers(timers);
    kit.create_room(options).await.unwrap();
    kit.attach_channel("r", "web").await.unwrap();
    let say = |text: &str| InboundMessage::text("web", "ann", text).in_room("r");
    let first = kit.process_inbound(say("on Friday")).await.unwrap();
    let first = first.event.unwrap().id.clone();
    clock.advance(Duration::from_secs(25 * 60 * 60));
    kit.check_room_timers("r").await.unwrap();
    kit.process_inbound(say("on Sunday")).await.unwrap();
    clock.advance(Duration::from_secs(60 * 60));
    let edit = EventContent::edit(first, EventContent::text("it was Friday"));
    let edit = InboundMessage::new("web", "ann", edit).in_room("r");
    kit.process_inbound(edit).await.unwrap();
    kit.wait_idle().await;
    let mut said = vec![
        json!(*kit.room("r").await.unwrap()),
        json!(kit.participants("r").await.unwrap()),
    ];
    let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    said.extend(rooms.unwrap().iter().map(|room| json!(**room)));
    let bindings = kit.bindings("r").await.unwrap();
    said.extend(bindings.iter().map(|binding| json!(**binding)));
    let events = kit.events("r", &EventQuery::first(99)).await.unwrap();
    said.extend(events.iter().map(|event| json!(**event)));
    let mut archive = Vec::new();
    export_room(&**kit.store(), &"r".into(), &mut archive)
        .await
        .unwrap();
    let lines = archive.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    said.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
    let mut numbers = BTreeMap::new();
    for value in &mut said {
        number_ids(value, &mut numbers);
    }
    said
}

/// Puts numbers for ids that were made up, in the order in which they are met.
fn number_ids(value: &mut Value, numbers: &mut BTreeMap<String, usize>) {
    match value {
        Value::String(text) if is_made_up(text) => {
            let next = numbers.len();
            let number = *numbers.entry(text.clone()).or_insert(next);
            *text = format!("id {number}");
        }
        Value::Array(values) => values.iter_mut().for_each(|it| number_ids(it, numbers)),
        Value::Object(fields) => fields.values_mut().for_each(|it| number_ids(it, numbers)),
        _ => {}
    }
}

/// Whether it is a UUID, as ids are that nobody gave.
fn is_made_up(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12]
}

/// Where a time without a zone is right, and why.
const DATES: [(&str, &str); 2] = [
    // The day on which a vendor's list of prices was read: no instant, and compared with none.
    ("ai/core/src/model.rs", "NaiveDate"),
    // Parses an HTTP date, which is GMT by its form, and makes it UTC at once.
    ("ai/core/src/http/retry.rs", "NaiveDateTime"),
];

/// Types without a zone, and what asks for the host's.
const WORDS: [&str; 7] = [
    "NaiveDate",
    "NaiveTime",
    "NaiveDateTime",
    "Local",
    "OffsetDateTime",
    "localtime",
    "localtime_r",
];

#[test]
fn no_crate_has_a_time_without_a_zone_or_of_the_hosts_zone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.clone()];
    let (mut found, mut files) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&crates).unwrap().to_str().unwrap();
            let name = name.replace('\\', "/");
            let is_code = [".rs", ".sql"].iter().any(|end| name.ends_with(end));
            if !is_code || !name.contains("/src/") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let mut words: Vec<&str> = words.filter(|word| WORDS.contains(word)).collect();
            words.sort_unstable();
            words.dedup();
            found.extend(
                words
                    .into_iter()
                    .map(|word| (name.clone(), word.to_owned())),
            );
        }
    }
    found.sort();
    let mut expected = DATES.map(|(file, word)| (file.to_owned(), word.to_owned()));
    expected.sort();
    assert_eq!(found, expected);
    assert!(files > 300, "{files}");
}
