//! The suites leave none of their tests out; the core runs that of stores on its own.

use std::sync::Arc;

use roomkit_core::sync::InProcessLocks;
use roomkit_testkit::locks::TestLocks;

async fn make_locks() -> TestLocks {
    TestLocks::new(Arc::new(InProcessLocks::new()))
}

roomkit_testkit::lock_conformance!(make_locks);

#[cfg(feature = "ai")]
mod ai {
    use std::sync::Arc;

    use roomkit_ai::MockAiProvider;
    use roomkit_testkit::ai::TestProvider;

    async fn make_provider() -> TestProvider {
        TestProvider::in_memory(|answers| Arc::new(MockAiProvider::scripted(answers)))
    }

    roomkit_testkit::ai_provider_conformance!(make_provider);
}

/// The names of the public functions of a file, which are the tests of a suite.
fn tests_of(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
}

#[test]
fn every_test_of_a_suite_is_in_its_macro() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let suites = [
        ("store", "store/mod.rs"),
        ("locks", "locks.rs"),
        ("ai", "ai/mod.rs"),
    ];
    for (suite, list) in suites {
        let list = std::fs::read_to_string(format!("{folder}/{list}")).unwrap();
        let listed: Vec<&str> = list.lines().map(str::trim).collect();
        let mut count = 0;
        for file in std::fs::read_dir(format!("{folder}/{suite}")).unwrap() {
            let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
            // Live conversations are no tests of the suite.
            for test in tests_of(&source).filter(|name| *name != "live_conversation") {
                assert!(
                    listed.contains(&test),
                    "{test} is not in the macro of {suite}"
                );
                count += 1;
            }
        }
        assert!(count > 5, "{suite} has {count} tests");
    }
}
