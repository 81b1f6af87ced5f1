//! What is expected where agents are let speak: by a session that begins, and where one answers again.

use super::*;

/// A session that is told of has begun; a greeting that cannot be said is not its caller's to know.
pub(super) fn of_session(clean: &Run, step: &Step, fault: Fault) -> Expected {
    if step.part == Part::Store && step.call == "room" && step.nth == 0 {
        return prevented(clean, failed(STORE_FAILED));
    }
    let mut expected = match phase(clean, step) {
        Phase::Before => before(clean, step, fault),
        Phase::Commit => of_commit(clean, step, fault),
        Phase::After => after(clean, step, fault),
    };
    expected.told = vec![clean.told.clone()];
    expected.errors = vec![None];
    expected
}

/// Before anybody is asked again nothing has happened; afterwards it is an answer as any other, and the
/// result says what became of it.
pub(super) fn of_again(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let is_asked = |step: &Step| {
        step.part == Part::Transcoder
            || (step.part == Part::Agent && step.call.starts_with("on_event"))
    };
    let asked = clean.steps.iter().position(is_asked);
    let at = clean.steps.iter().position(|other| other == step);
    if at < asked {
        let mut expected = before(clean, step, fault);
        // Its caller is told, and nobody else: no message is lost.
        expected.heard = heard([]);
        if step.part == Part::Store && fault == Fault::Hang {
            // The time of the read is that of the whole.
            expected.told.extend(failed(STORE_FAILED));
        }
        return expected;
    }
    let mut expected = after(clean, step, fault);
    if matches!(step.part, Part::Agent | Part::Transcoder | Part::Store) {
        // An agent alone is asked, which is no broadcast.
        expected.heard.extend(heard(["delivery_failed"]));
    }
    if step.call == "commit without event" {
        // It may be that of an earlier answer, which is not marked then.
        expected.errors.push(None);
    }
    expected
}
