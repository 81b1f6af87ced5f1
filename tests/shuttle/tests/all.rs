//! The same schedules of each property every time, every fault, and what would escape the checker.

use std::fs;
use std::path::{Path, PathBuf};

use roomkit_shuttle::{Effort, PROPERTIES, explore, mutants, without_a_fault};

/// How many schedules a property is tried on, and a fault has to be found on.
const SCHEDULES: usize = 2_000;
/// The same for a whole kit, where one takes many times as long.
const OF_A_KIT: usize = 300;

fn effort(name: &str, print: bool) -> Effort {
    Effort {
        schedules: if name.starts_with("kit") {
            OF_A_KIT
        } else {
            SCHEDULES
        },
        seed: 1,
        print,
    }
}

#[test]
fn every_property_holds_on_every_schedule() {
    for property in PROPERTIES {
        let outcome = explore(property.holds, effort(property.name, true));
        assert_eq!(outcome.failure, None, "{}", property.name);
    }
}

#[test]
fn every_fault_is_found() {
    let missed: Vec<&str> = mutants()
        .filter(|mutant| mutant.hunt(effort(mutant.name, false)).is_none())
        .map(|mutant| mutant.name)
        .collect();
    assert_eq!(missed, [""; 0]);
}

/// What fails with a fault fails for the fault: without one all is well there too.
#[test]
fn without_a_fault_nothing_is_found() {
    for (name, property) in without_a_fault() {
        let effort = Effort {
            schedules: 50,
            ..effort(name, true)
        };
        assert_eq!(explore(property, effort).failure, None, "{name}");
    }
}

/// A lock or an atomic from elsewhere is one that the checker does not see.
#[test]
fn the_core_takes_its_locks_and_atomics_from_one_place() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/src");
    let files = sources(&core);
    assert!(files.len() > 100, "the core's source is there");
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        if !file.ends_with("sync/primitives.rs") && takes_its_own(&text) {
            found.push(file);
        }
    }
    assert!(
        found.is_empty(),
        "take it from `crate::sync`, which has it for the checker too: {found:#?}"
    );
}

#[test]
fn a_lock_from_elsewhere_is_seen() {
    for text in [
        "use std::sync::Mutex;",
        "use std::sync::{Arc, Mutex};",
        "use std::sync::{\n    Arc,\n    RwLock,\n};",
        "use std::sync::atomic::AtomicBool;",
        "    lock: std::sync::Mutex<u8>,",
        "use core::sync::atomic::AtomicBool;",
        "use futures_util::task::AtomicWaker;",
    ] {
        assert!(takes_its_own(text), "{text}");
    }
    for text in [
        "use std::sync::Arc;\nuse crate::sync::Mutex;",
        "use std::sync::{Arc, LazyLock, PoisonError, Weak};\nuse crate::sync::atomic::AtomicBool;",
        "/// struct Lines(tokio::sync::Mutex<u8>);",
    ] {
        assert!(!takes_its_own(text), "{text}");
    }
}

/// A static is there for every thread of the process, and a lock of the checker's for one alone.
#[test]
fn no_static_of_the_core_is_a_lock_or_an_atomic() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/src");
    let found: Vec<PathBuf> = sources(&core)
        .into_iter()
        .filter(|file| is_shared_by_threads(&fs::read_to_string(file).unwrap()))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_static_lock_is_seen() {
    for text in [
        "static NEXT: AtomicU64 = AtomicU64::new(0);",
        "pub(crate) static KNOWN: LazyLock<Mutex<u8>> = LazyLock::new(Default::default);",
    ] {
        assert!(is_shared_by_threads(text), "{text}");
    }
    for text in [
        "static KITS: Numbers = Numbers::new();",
        "fn name(&self) -> &'static Mutex<u8>;",
        "static EMPTY: Metadata = Metadata::new();\nlet lock = Mutex::new(0);",
    ] {
        assert!(!is_shared_by_threads(text), "{text}");
    }
}

fn is_shared_by_threads(text: &str) -> bool {
    let mut statics = text.lines().filter(|line| {
        let words = line.trim_start().split("static ").next();
        line.contains("static ") && words.is_some_and(|w| w.is_empty() || w.starts_with("pub"))
    });
    statics.any(|line| {
        ["Mutex", "RwLock", "Atomic"]
            .iter()
            .any(|name| line.contains(name))
    })
}

fn takes_its_own(text: &str) -> bool {
    const SEEN_BY_THE_CHECKER: [&str; 6] =
        ["Mutex", "RwLock", "atomic", "Condvar", "Barrier", "mpsc"];
    let paths = text.split("std::sync::").skip(1);
    let paths = paths.chain(text.split("core::sync::").skip(1));
    let mut names = paths.map(|rest| match rest.split_once('}') {
        Some((group, _)) if rest.starts_with('{') => group,
        _ => rest.split([';', '<', ',']).next().unwrap_or_default(),
    });
    names.any(|names| SEEN_BY_THE_CHECKER.iter().any(|name| names.contains(name)))
        || text.contains("futures_util::task::AtomicWaker")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else {
            found.push(path);
        }
    }
    found
}
