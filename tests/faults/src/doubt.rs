//! What checks the check: each thing that a run has shown is changed in turn, and the judge has to
//! notice.

use crate::run::{Run, Told};

/// Changes that no cell allows.
#[must_use]
pub(crate) fn wrong(run: &Run) -> Vec<(&'static str, Run)> {
    let mut changed = Vec::new();
    let mut change = |what, how: &dyn Fn(&mut Run)| {
        let mut run = run.clone();
        how(&mut run);
        changed.push((what, run));
    };
    change("another code", &|run| {
        run.told = Told::Failed("another".into());
    });
    change("another reason", &|run| {
        run.told = Told::Refused("another".into());
    });
    change("a panic for the caller", &|run| run.told = Told::Panicked);
    change("the message twice", &|run| run.messages = 2);
    change("an answer twice", &|run| run.answers += 3);
    change("a task twice", &|run| run.tasks += 3);
    change("something else is heard", &|run| {
        run.heard.insert("loop_detected".into());
    });
    change("another error", &|run| {
        run.error = Some("another: x".into())
    });
    change("somebody else gets nothing", &|run| {
        run.missing.insert("somebody".into());
    });
    change("the step was not reached", &|run| run.reached = false);
    change("a problem", &|run| run.problems.push("a gap".into()));
    if run.again.is_some() && run.told != Told::Waits {
        change("asked again, another code", &|run| {
            run.again = Some(Told::Failed("another".into()));
        });
        change("asked again, twice", &|run| run.messages_then = 2);
        if run.messages_then == 1 {
            change("asked again, not there", &|run| run.messages_then = 0);
        }
        if run.so_then == Some(true) {
            change("asked again, not so", &|run| run.so_then = Some(false));
        }
    }
    changed
}

/// Changes that a cell allows where more than one thing may come of it.
#[must_use]
pub(crate) fn doubtful(run: &Run) -> Vec<(&'static str, Run)> {
    let mut changed = Vec::new();
    let mut change = |what, how: &dyn Fn(&mut Run)| {
        let mut run = run.clone();
        how(&mut run);
        changed.push((what, run));
    };
    if run.messages == 1 {
        change("the message is lost", &|run| run.messages = 0);
    }
    if run.messages == 0 {
        change("the message is there", &|run| run.messages = 1);
    }
    if let Some(so) = run.so {
        change("the contrary is so", &|run| run.so = Some(!so));
    }
    if !run.heard.is_empty() {
        change("nothing is heard", &|run| run.heard.clear());
    }
    if run.error.is_some() {
        change("no error", &|run| run.error = None);
    }
    if !run.missing.is_empty() {
        change("nobody misses anything", &|run| run.missing.clear());
    }
    if run.told == Told::Done {
        change("told nothing", &|run| run.told = Told::Waits);
    } else {
        change("told that it is done", &|run| run.told = Told::Done);
    }
    changed
}
