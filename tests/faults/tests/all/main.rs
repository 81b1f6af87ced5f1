//! The whole table, and a check of what checks it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::Path;

use roomkit_faults::probe::Part;
use roomkit_faults::table::Row;
use roomkit_faults::{Make, Twist, scenes, table};

/// The calls of the store that no call of a kit makes: they are for who has the store in hand, and for
/// the process that delivers what is owed. The sources are read for others, see below.
const UNUSED: [&str; 9] = [
    "expire_events",
    "bindings",
    "binding",
    "delete_participant",
    "task",
    "update_task",
    "owed",
    "settle_owed",
    "update_owed",
];

#[test]
fn no_fault_of_any_part_at_any_step_harms_a_room() {
    let report = table::prove(scenes::all(), Twist::None);
    for (part, faults) in &report.cells {
        println!("{:>20} {faults:?}", part.name());
    }
    println!("{} cells in {} scenes", report.len(), report.scenes);
    let found = &report.violations;
    assert!(
        found.is_empty(),
        "{} violations:\n{}",
        found.len(),
        found.join("\n")
    );
    // What comes to be used needs a scene.
    assert_eq!(report.unused, UNUSED);
    let unnoticed = &report.unnoticed;
    assert!(
        unnoticed.is_empty(),
        "not noticed:\n{}",
        unnoticed.join("\n")
    );
    let (noticed, doubts) = report.doubts;
    println!("{noticed} of {doubts} doubts noticed");
    // Where a caller goes away, or a part fails that is asked for several things, two may be right.
    assert!(noticed * 100 > doubts * 90, "{noticed} of {doubts}");
    for part in Part::ALL {
        assert!(report.cells.contains_key(&part), "no cell of {part:?}");
    }
}

/// The calls of the store that are said to be nobody's are made nowhere in the core but in its stores.
#[test]
fn what_no_scene_reaches_no_kit_calls() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/src");
    let mut folders = vec![core.clone()];
    let (mut files, mut found) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path != core.join("store") {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files += 1;
                let mut source = std::fs::read_to_string(&path).unwrap();
                source.retain(|letter| !letter.is_whitespace());
                let calls = |call: &&str| source.contains(&format!("store.{call}("));
                found.extend(
                    UNUSED
                        .into_iter()
                        .filter(calls)
                        .map(|it| (path.clone(), it)),
                );
                // What is looked for is how the core calls its store.
                if path.ends_with("kit/storing.rs") {
                    assert!(source.contains("store.room("));
                }
            }
        }
    }
    assert!(files > 100, "{files} files");
    assert!(found.is_empty(), "{found:?}");
}

/// Scenes that between them pass through every stage that has a span.
const WATCHED: [&str; 11] = [
    "a question to an agent",
    "a question whose answer comes in pieces",
    "a message whose deliveries are not waited for",
    "a first message, which makes a room",
    "a message that a hook blocks",
    "a message to a closed room",
    "an event that the application sends",
    "answer once more",
    "a message of a webhook",
    "a message of a source",
    "close the kit",
];

/// Where a telemetry provider looks on each stage of the pipeline is another, inside of a span: no
/// fault harms a room there either, and each span ends once. `cargo xtask prove faults` has all scenes.
#[test]
fn no_fault_harms_a_room_that_is_watched() {
    let some = scenes::all().into_iter();
    let some = some.filter(|scene| WATCHED.contains(&scene.name));
    let report = table::prove(some.collect(), Make::WATCHED);
    let (cells, scenes, spans) = (report.len(), report.scenes, report.spans);
    println!("{cells} cells in {scenes} scenes, {spans} spans");
    assert_eq!(scenes, WATCHED.len());
    let found = &report.violations;
    assert!(
        found.is_empty(),
        "{} violations:\n{}",
        found.len(),
        found.join("\n")
    );
    assert!(spans > scenes * 2, "{spans} spans");
}

/// Who looks on changes nothing: every scene passes the same steps, but that spans name the provider.
#[test]
fn a_kit_that_is_watched_takes_the_same_steps() {
    let mut spans = 0;
    for scene in scenes::all() {
        let [plain, watched] = [Make::default(), Make::WATCHED].map(|make| Row::new(scene, make));
        let calls = |row: &Row| {
            let steps = row
                .clean
                .steps
                .iter()
                .map(|step| (step.part, step.call.clone()));
            let mut calls: Vec<_> = steps
                .filter(|it| !it.1.starts_with("provider of"))
                .collect();
            calls.sort_unstable();
            calls
        };
        assert_eq!(calls(&watched), calls(&plain), "{}", scene.name);
        assert_eq!(watched.clean.problems, [""; 0], "{}", scene.name);
        assert_eq!(plain.clean.spans, 0);
        if scene.goes_through_stages() && scene.name != "close the kit" {
            assert!(watched.clean.spans > 0, "{}: no span", scene.name);
        }
        spans += watched.clean.spans;
    }
    println!("{spans} spans");
}

/// Every kit that is wrong by itself is noticed, by a few scenes.
#[test]
fn a_kit_that_is_wrong_is_noticed() {
    let names = ["a message", "a question to an agent", "mute a channel"];
    let some = || {
        let scenes = scenes::all().into_iter();
        scenes.filter(|scene| names.contains(&scene.name)).collect()
    };
    let sound = table::prove(some(), Twist::None);
    assert!(sound.violations.is_empty() && sound.scenes == names.len());
    for twist in Twist::WRONG {
        let report = table::prove(some(), twist);
        println!("{twist:?}: {:?}", report.violations.first());
        assert!(!report.violations.is_empty(), "{twist:?} is not noticed");
    }
}
