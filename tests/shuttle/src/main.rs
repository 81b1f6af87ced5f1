//! The long form of the proof: more schedules, from another seed each time; see the README.

use std::process::ExitCode;

use roomkit_shuttle::{Effort, PROPERTIES, explore, mutants};
use serde_json::json;

/// How many schedules a property is tried on.
const SCHEDULES: usize = 500_000;
/// The same for a whole kit, where one takes many times as long.
const OF_A_KIT: usize = 200_000;
/// How many a fault has to be found on.
const UNTIL_FOUND: usize = 50_000;

fn main() -> ExitCode {
    let scale = std::env::var("ROOMKIT_SCALE");
    let scale = scale.map_or(Some(1), |scale| scale.parse::<usize>().ok());
    let Some(scale) = scale else {
        eprintln!("error: ROOMKIT_SCALE is no whole number");
        return ExitCode::FAILURE;
    };
    // What fails is said in a figure; what a fault makes fail is to fail.
    std::panic::set_hook(Box::new(|_| {}));
    let seed = fastrand::u64(..);
    if properties(seed, scale) & faults(seed) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn properties(seed: u64, scale: usize) -> bool {
    let mut all_hold = true;
    for property in PROPERTIES {
        let schedules = if property.is_slow {
            OF_A_KIT
        } else {
            SCHEDULES
        };
        let effort = Effort {
            schedules: schedules.saturating_mul(scale),
            seed,
            print: true,
        };
        let outcome = explore(property.holds, effort);
        println!(
            "{}",
            json!({
                "proof": "shuttle", "property": property.name, "schedules": outcome.schedules,
                "seed": seed, "seconds": outcome.seconds.round(),
                "violations": u8::from(outcome.failure.is_some()),
            })
        );
        if let Some(failure) = outcome.failure {
            all_hold = false;
            eprintln!("error: {}: {failure}", property.name);
        }
    }
    all_hold
}

fn faults(seed: u64) -> bool {
    let mut all_found = true;
    for mutant in mutants() {
        let effort = Effort {
            schedules: UNTIL_FOUND,
            seed,
            print: false,
        };
        let found = mutant.hunt(effort);
        let (by, schedules) = match &found {
            Some((property, outcome)) => (Some(*property), outcome.schedules),
            None => (None, UNTIL_FOUND),
        };
        println!(
            "{}",
            json!({
                "proof": "shuttle", "fault": mutant.name, "found_by": by, "schedules": schedules,
            })
        );
        all_found &= found.is_some();
    }
    all_found
}
