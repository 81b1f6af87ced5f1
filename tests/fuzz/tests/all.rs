//! The corpora are replayed, and what the targets look for is found where it is.

use std::panic::catch_unwind;

use roomkit_fuzz::{TARGETS, corpus};

/// How much all corpora together may take in the repository, in bytes.
const MOST_BYTES: u64 = 300_000;

#[test]
fn every_corpus_holds() {
    for target in TARGETS {
        let inputs = corpus::read(target).unwrap();
        assert!(!inputs.is_empty(), "{}: no corpus; fuzz it", target.name);
        for input in inputs {
            let held = catch_unwind(|| (target.run)(&input));
            assert!(held.is_ok(), "{}: {input:?}", target.name);
        }
    }
}

#[test]
fn every_seed_holds() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(seeds.len() > 2, "{}", target.name);
        for seed in seeds {
            let held = catch_unwind(|| (target.run)(&seed));
            assert!(held.is_ok(), "{}: {seed:?}", target.name);
        }
    }
}

#[test]
fn the_corpora_are_small() {
    let sizes = TARGETS.iter().map(|target| {
        let path = corpus::path(target);
        std::fs::metadata(path).unwrap().len()
    });
    assert!(sizes.sum::<u64>() < MOST_BYTES);
}
