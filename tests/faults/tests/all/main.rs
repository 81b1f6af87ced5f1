//! The whole table, and a check of what checks it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

use roomkit_faults::probe::Part;
use roomkit_faults::{Twist, scenes, table};

/// The calls of the store that a kit does not make by itself.
const UNUSED: [&str; 10] = [
    "expire_events",
    "bindings",
    "binding",
    "delete_participant",
    "identities_by_address",
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
    // No call of a kit makes these: what comes to be used needs a scene.
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
