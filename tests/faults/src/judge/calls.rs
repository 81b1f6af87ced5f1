//! What is expected of calls that are no messages: changes, reads, sources, the sweep, the close.

use super::*;

/// The last write of a clean run is what the change is.
pub(super) fn main_write(clean: &Run) -> Option<usize> {
    let is_write = |step: &Step| step.moment == Moment::After && step.part == Part::Store;
    clean.steps.iter().rposition(is_write)
}

pub(super) fn of_change(scene: &Scene, clean: &Run, step: &Step, fault: Fault) -> Expected {
    let at = clean.steps.iter().position(|other| other == step);
    let write = main_write(clean);
    if write.is_some() && at > write {
        return harmless(clean);
    }
    if step.call == "event" && is_read_first(scene, step) && fault == Fault::Hang {
        return prevented(clean, vec![Told::Waits]);
    }
    let is_write = write
        .and_then(|write| clean.steps.get(write))
        .is_some_and(|write| (&write.call, write.nth) == (&step.call, step.nth));
    let mut expected = match (step.part, fault) {
        (Part::Store, Fault::Error) if step.moment == Moment::Before => {
            prevented(clean, failed(STORE_FAILED))
        }
        (Part::Store, _) if is_write => prevented(clean, failed(OUTCOME_UNKNOWN)),
        (Part::Locks, Fault::Hang) => prevented(clean, failed("lock_timeout")),
        (Part::Locks, Fault::Error) => prevented(clean, failed(CODE)),
        _ => prevented(clean, failed(STORE_FAILED)),
    };
    if is_write && step.moment == Moment::After {
        expected.so = vec![clean.so];
    }
    if is_write && fault == Fault::Hang && step.call.starts_with("commit") {
        expected.heard = heard([PROCESS_TIMEOUT]);
    }
    expected
}

/// A question is answered, or fails; the caller's own patience bounds it.
pub(super) fn of_read(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let told = match fault {
        Fault::Hang if step.call != "room" => vec![Told::Waits],
        _ => failed(STORE_FAILED),
    };
    Expected {
        told,
        ..harmless(clean)
    }
}

pub(super) fn of_call(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let told = match (step.part, fault) {
        (Part::Hook, _) => vec![Told::Refused("hook_failed".into())],
        (Part::Realtime, Fault::Error) => failed(CODE),
        (Part::Realtime, _) => failed("provider_failed"),
        (Part::Store, Fault::Error) if step.moment == Moment::Before => failed(STORE_FAILED),
        (Part::Store, _) if step.call.starts_with("commit") => failed(OUTCOME_UNKNOWN),
        _ => failed(STORE_FAILED),
    };
    let heard = match (step.part, fault) {
        (Part::Hook, _) => hook_failed(fault),
        (Part::Store, Fault::Hang) if step.call.starts_with("commit") => heard([PROCESS_TIMEOUT]),
        _ => heard([]),
    };
    Expected {
        told,
        heard,
        ..harmless(clean)
    }
}

/// Once its room is known to be the caller's, a trace is told whatever becomes of it.
pub(super) fn of_trace(clean: &Run, step: &Step) -> Expected {
    if step.part == Part::Store && step.call == "room" && step.nth == 0 {
        return prevented(clean, failed(STORE_FAILED));
    }
    harmless(clean)
}

/// A source tries until its message is taken.
pub(super) fn of_source(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let mut expected = harmless(clean);
    let mut words = BTreeSet::from(["source_error"]);
    match phase(clean, step) {
        Phase::Before if step.part == Part::Hook => expected.heard = hook_failed(fault),
        Phase::Before if step.part == Part::Identity => {
            if fault == Fault::Hang {
                expected.heard = heard(["identity_timeout"]);
            }
        }
        // Nobody knows for what it waits.
        Phase::Before if step.part == Part::Source && fault == Fault::Hang => {
            expected.told = vec![Told::Waits];
            expected.messages = vec![0];
        }
        Phase::Before if step.part == Part::Source && step.call == "name" => {
            expected.told = vec![Told::Waits];
            expected.messages = vec![0];
        }
        Phase::Before | Phase::Commit => {
            let is_timeout = fault == Fault::Hang && step.part != Part::SourceChannel;
            if is_timeout {
                words.insert(PROCESS_TIMEOUT);
            }
            let is_found = step.call == MESSAGE && step.moment == Moment::After;
            if is_found {
                words.remove("source_error");
            }
            expected.heard = vec![words];
        }
        Phase::After if step.part == Part::Source => {
            if fault != Fault::Hang {
                expected.heard = vec![words];
            }
        }
        Phase::After => {
            expected = after(clean, step, fault);
            expected.errors = vec![None];
        }
    }
    expected
}

/// The kit tries until it is done.
pub(super) fn of_sweep(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let mut expected = harmless(clean);
    if fault == Fault::Hang && step.call.starts_with("commit") {
        expected.heard = heard([PROCESS_TIMEOUT]);
    }
    expected
}

pub(super) fn of_close(clean: &Run, step: &Step, _fault: Fault) -> Expected {
    let mut expected = harmless(clean);
    if step.part == Part::Store {
        expected.told = failed(STORE_FAILED);
    }
    expected
}
