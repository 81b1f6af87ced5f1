//! What has to come of each fault at each step; everything else is a violation.

mod calls;
mod said;

use std::collections::BTreeSet;

use self::calls::{
    main_write, of_call, of_change, of_close, of_read, of_source, of_sweep, of_trace,
};
use self::said::{of_again, of_session};
use crate::parts::CODE;
use crate::probe::{Fault, Moment, Part, Step};
use crate::run::{Run, Told};
use crate::scene::{Kind, Scene};
use crate::store::MESSAGE;

const STORE_FAILED: &str = "store_failed";
const OUTCOME_UNKNOWN: &str = "outcome_unknown";
const CHANNEL_FAILED: &str = "channel_failed";
const PROCESS_TIMEOUT: &str = "process_timeout";

/// What may come of a cell; of each list one.
#[derive(Debug, Default)]
struct Expected {
    told: Vec<Told>,
    heard: Vec<BTreeSet<&'static str>>,
    /// How often the message is there.
    messages: Vec<usize>,
    so: Vec<Option<bool>>,
    /// The code with which the result's error begins, where it has one.
    errors: Vec<Option<&'static str>>,
    /// The transport that the fault keeps from getting something.
    missing: Vec<Option<String>>,
}

/// Judges a run in which nothing was to go wrong.
#[must_use]
pub fn judge_clean(scene: &Scene, run: &Run) -> Vec<String> {
    let mut found = run.problems.clone();
    if run.told.word() != scene.told {
        found.push(format!("told `{}`, not `{}`", run.told.word(), scene.told));
    }
    let is_stored =
        scene.kind == Kind::Message && (run.told == Told::Done || is_stored_refusal(&run.told));
    let messages = usize::from(is_stored || matches!(scene.kind, Kind::Source | Kind::Session));
    if run.messages != messages {
        found.push(format!("the message is there {} times", run.messages));
    }
    if run.so == Some(false) {
        found.push("what was asked for is not so".into());
    }
    for (what, is_wrong) in [
        ("failures were told of", !run.heard.is_empty()),
        ("something was not delivered", !run.missing.is_empty()),
        ("deliveries failed", !run.failed.is_empty()),
        ("an error was told", run.error.is_some()),
    ] {
        if is_wrong {
            found.push(what.to_owned());
        }
    }
    found.extend(again(scene, run, run));
    found
}

/// Judges a run in which a step went wrong, beside one in which none did.
#[must_use]
pub fn judge(scene: &Scene, clean: &Run, step: &Step, fault: Fault, run: &Run) -> Vec<String> {
    let mut found = run.problems.clone();
    if !run.reached {
        found.push("the step was not reached".into());
        return found;
    }
    let expected = expect(scene, clean, step, fault);
    check(&mut found, "told", &run.told, &expected.told);
    check(&mut found, "messages", &run.messages, &expected.messages);
    check(&mut found, "so", &run.so, &expected.so);
    let heard: BTreeSet<&str> = run.heard.iter().map(String::as_str).collect();
    if !expected.heard.contains(&heard) {
        let expected = &expected.heard;
        found.push(format!(
            "listeners heard {heard:?}, not one of {expected:?}"
        ));
    }
    let is_error = |expected: &Option<&str>| match (expected, &run.error) {
        (None, None) => true,
        (Some(code), Some(error)) => error.starts_with(&format!("{code}: ")),
        _ => false,
    };
    if !expected.errors.iter().any(is_error) {
        let (error, expected) = (&run.error, &expected.errors);
        found.push(format!("the error is {error:?}, not one of {expected:?}"));
    }
    let missing: Vec<&String> = run.missing.iter().collect();
    let is_missing = |expected: &Option<String>| missing == Vec::from_iter(expected.as_ref());
    if !expected.missing.iter().any(is_missing) {
        found.push(format!("not delivered to {missing:?}"));
    }
    found.extend(answers(clean, run));
    found.extend(again(scene, clean, run));
    found
}

fn check<T: PartialEq + std::fmt::Debug>(
    found: &mut Vec<String>,
    what: &str,
    is: &T,
    expected: &[T],
) {
    if !expected.contains(is) {
        found.push(format!("{what}: {is:?}, not one of {expected:?}"));
    }
}

/// An answer is there with all that came with it, or the result says that it is not.
fn answers(clean: &Run, run: &Run) -> Vec<String> {
    let is_complete = run.answers == clean.answers && run.tasks == clean.tasks;
    let is_told = run.errors > 0 || run.messages == 0;
    let mut found = Vec::new();
    if run.answers > clean.answers || run.tasks > clean.tasks {
        found.push(format!("{} answers, {} tasks", run.answers, run.tasks));
    }
    if !is_complete && !is_told && run.told == Told::Done {
        found.push("an answer or a task is missing, and nobody says so".into());
    }
    found
}

/// Asked for again, it is so, and once.
fn again(scene: &Scene, clean: &Run, run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let Some(again) = &run.again else {
        return found;
    };
    if scene.kind == Kind::Source && run.told == Told::Waits {
        // It is attached still, and waits still.
        return found;
    }
    let is_there_already =
        run.so == Some(true) && *again == Told::Failed("room_already_exists".into());
    let is_as_clean = again.word() == clean.told.word()
        || (scene.kind == Kind::Message && is_undecided(clean) && *again == Told::Done);
    if !is_as_clean && !is_there_already {
        found.push(format!("asked for again: {}", again.word()));
    }
    let least = clean.messages.max(run.messages);
    if run.messages_then < least || run.messages_then > 1 {
        found.push(format!(
            "asked for again, the message is there {} times",
            run.messages_then
        ));
    }
    if run.so_then == Some(false) {
        found.push("asked for again, it is not so".into());
    }
    found
}

/// Whether what refuses the message may fail, so that the message is taken: hooks and resolvers that
/// fail let pass.
fn is_undecided(clean: &Run) -> bool {
    let reasons = ["not here", "identity_challenge_sent"];
    matches!(&clean.told, Told::Refused(reason) if reasons.contains(&reason.as_str()))
}

fn is_stored_refusal(told: &Told) -> bool {
    matches!(told, Told::Refused(reason) if ["not here", "source_muted"].contains(&reason.as_str()))
}

fn failed(code: &str) -> Vec<Told> {
    vec![Told::Failed(code.to_owned())]
}

fn heard<const N: usize>(words: [&'static str; N]) -> Vec<BTreeSet<&'static str>> {
    vec![BTreeSet::from(words)]
}

/// What comes of a fault that harms nothing.
fn harmless(clean: &Run) -> Expected {
    Expected {
        told: vec![clean.told.clone()],
        heard: heard([]),
        messages: vec![clean.messages],
        so: vec![clean.so],
        errors: vec![None],
        missing: vec![None],
    }
}

/// What comes of a fault that keeps what was asked for from being done.
fn prevented(clean: &Run, told: Vec<Told>) -> Expected {
    Expected {
        told,
        messages: vec![0],
        so: vec![clean.so.map(|_| false)],
        ..harmless(clean)
    }
}

fn expect(scene: &Scene, clean: &Run, step: &Step, fault: Fault) -> Expected {
    if fault == Fault::Cancel {
        return cancelled(scene, clean, step);
    }
    let never_matters = [Part::Observer, Part::Listener, Part::Subscriber];
    let in_the_background = ["attached", "detached", "deliver_frame", "provider"];
    let word = step.call.split(' ').next().unwrap_or_default();
    let is_name = word == "provider" || word == "streaming";
    if never_matters.contains(&step.part) || in_the_background.contains(&word) || is_name {
        return harmless(clean);
    }
    match scene.kind {
        Kind::Message => of_message(scene, clean, step, fault),
        Kind::Change => of_change(scene, clean, step, fault),
        Kind::Read => of_read(clean, step, fault),
        Kind::Call => of_call(clean, step, fault),
        Kind::Session => of_session(clean, step, fault),
        Kind::Again => of_again(clean, step, fault),
        Kind::Trace => of_trace(clean, step),
        Kind::Source => of_source(clean, step, fault),
        Kind::Sweep => of_sweep(clean, step, fault),
        Kind::Close => of_close(clean, step, fault),
    }
}

/// A caller who goes away changes nothing: what has begun is done.
fn cancelled(scene: &Scene, clean: &Run, step: &Step) -> Expected {
    // Asked before there is anything that goes on by itself.
    let is_early = step.call == "room" && step.nth == 0 && step.part == Part::Store;
    let mut expected = harmless(clean);
    expected.told = vec![Told::Cancelled];
    let is_seen_at_once = matches!(scene.kind, Kind::Source | Kind::Sweep);
    if is_seen_at_once && step.moment == Moment::After {
        expected.told.push(clean.told.clone());
    }
    let is_after = clean.steps.iter().position(|other| other == step) > main_write(clean);
    if is_after
        || matches!(
            step.part,
            Part::Observer | Part::Listener | Part::Subscriber
        )
    {
        // They may be at it when the caller has had an answer.
        expected.told.push(clean.told.clone());
    }
    let is_plain = matches!(scene.kind, Kind::Change | Kind::Call | Kind::Close);
    let is_told = is_plain || (is_early && scene.name.contains("the application sends"));
    if is_told && (is_early || is_read_first(scene, step)) {
        expected.messages.push(0);
        expected.so.push(clean.so.map(|_| false));
    }
    expected
}

/// Whether a call reads before it begins what goes on by itself.
fn is_read_first(scene: &Scene, step: &Step) -> bool {
    scene.name.starts_with("read ") && ["room", "event", "mark_read"].contains(&step.call.as_str())
}

/// Where a step stands: before the message is stored, at that, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    Commit,
    After,
}

fn phase(clean: &Run, step: &Step) -> Phase {
    if step.call == MESSAGE {
        return Phase::Commit;
    }
    let place = |is: &dyn Fn(&Step) -> bool| clean.steps.iter().position(is);
    let stored = place(&|step| step.call == MESSAGE);
    let at = place(&|other| other == step);
    match (stored, at) {
        (Some(stored), Some(at)) if at > stored => Phase::After,
        _ => Phase::Before,
    }
}

fn of_message(scene: &Scene, clean: &Run, step: &Step, fault: Fault) -> Expected {
    let mut expected = match phase(clean, step) {
        Phase::Commit => of_commit(clean, step, fault),
        Phase::After => after(clean, step, fault),
        Phase::Before if scene.name.contains("who is asked who they are") => {
            before_or_while_asking(clean, step, fault)
        }
        Phase::Before => before(clean, step, fault),
    };
    if scene.name.contains("the application sends") {
        sent(clean, step, fault, &mut expected);
    }
    if scene.name.contains("webhook") {
        expected.errors = vec![None];
    }
    expected
}

/// Who sends an event gets the event, or an error; what failed afterwards is told to hooks.
fn sent(clean: &Run, step: &Step, fault: Fault, expected: &mut Expected) {
    if step.call.starts_with("greeting of") {
        *expected = prevented(clean, vec![Told::Refused("nothing to say".into())]);
        return;
    }
    expected.errors = vec![None];
    if expected.told == [Told::Refused(PROCESS_TIMEOUT.into())] {
        expected.told = failed(PROCESS_TIMEOUT);
    }
    let is_early = step.part == Part::Store && step.call == "room" && step.nth == 0;
    if is_early && fault == Fault::Hang {
        *expected = prevented(clean, failed(STORE_FAILED));
    }
}

/// The sender is told something; what fails at that may fail the call, or not.
fn before_or_while_asking(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let mut expected = before(clean, step, fault);
    if step.part == Part::Hook {
        // Of the event that tells the sender; those that fail let it pass.
        return harmless(clean);
    }
    if step.part != Part::Identity {
        expected.told.extend(failed(STORE_FAILED));
        expected.told.push(clean.told.clone());
        expected.told.extend(failed(OUTCOME_UNKNOWN));
        expected.told.extend(failed("lock_timeout"));
        expected.heard.extend(heard([]));
        expected.heard.extend(heard([PROCESS_TIMEOUT]));
        let lost = ["delivery_failed", "broadcast_partial_failure"];
        expected.heard.extend(heard(lost));
    }
    expected
}

fn hook_failed(fault: Fault) -> Vec<BTreeSet<&'static str>> {
    match fault {
        Fault::Hang => heard(["hook_error", "hook_timeout"]),
        _ => heard(["hook_error"]),
    }
}

fn before(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let timed_out = || Expected {
        heard: heard([PROCESS_TIMEOUT]),
        ..prevented(clean, vec![Told::Refused(PROCESS_TIMEOUT.into())])
    };
    let refusal = match step.part {
        Part::Hook => "not here",
        _ => "identity_challenge_sent",
    };
    let is_by_it =
        clean.told == Told::Refused(refusal.into()) && !step.call.starts_with("on_identity");
    let is_taken_instead = || Expected {
        told: vec![if is_by_it {
            Told::Done
        } else {
            clean.told.clone()
        }],
        messages: vec![usize::from(is_by_it || clean.messages == 1)],
        ..harmless(clean)
    };
    // Read by the resolver, whose failures let pass.
    let part = match step.call.as_str() {
        "identities_by_address" => Part::Identity,
        _ => step.part,
    };
    match (part, fault) {
        (Part::Hook, _) => Expected {
            heard: hook_failed(fault),
            ..is_taken_instead()
        },
        (Part::Identity, Fault::Hang) => Expected {
            heard: heard(["identity_timeout"]),
            ..is_taken_instead()
        },
        (Part::Identity, _) => is_taken_instead(),
        // Where the room is made they are only asked for early; but all the time is gone then.
        (Part::RoomHooks, Fault::Error | Fault::Panic | Fault::Cancel) if makes_room(clean) => {
            harmless(clean)
        }
        (Part::SourceChannel, Fault::Error) => prevented(clean, failed(CODE)),
        (Part::SourceChannel, _) if step.call.starts_with("handle_inbound") => {
            prevented(clean, failed(CHANNEL_FAILED))
        }
        (_, Fault::Hang) => timed_out(),
        (_, Fault::Panic) => prevented(clean, failed(STORE_FAILED)),
        (Part::Store, _) if step.moment == Moment::After => {
            prevented(clean, failed(OUTCOME_UNKNOWN))
        }
        (Part::Store, _) => prevented(clean, failed(STORE_FAILED)),
        _ => prevented(clean, failed(CODE)),
    }
}

fn makes_room(clean: &Run) -> bool {
    clean.steps.iter().any(|step| step.call == "create_room")
}

fn of_commit(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let expected = match (step.moment, fault) {
        // It is there, and is found.
        (Moment::After, _) => harmless(clean),
        (Moment::Before, Fault::Error) => prevented(clean, failed(STORE_FAILED)),
        (Moment::Before, _) => prevented(clean, failed(OUTCOME_UNKNOWN)),
    };
    match fault {
        Fault::Hang => Expected {
            heard: heard([PROCESS_TIMEOUT]),
            ..expected
        },
        _ => expected,
    }
}

/// The message is stored: whatever happens now, its caller is told so.
fn after(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let lost = || heard(["broadcast_partial_failure", "delivery_failed"]);
    let own = harmless(clean);
    let target = step.call.rsplit(' ').next().unwrap_or_default().to_owned();
    let is_agent = ["helper", "teller", "greeter"].contains(&target.as_str());
    let code = match fault {
        Fault::Error => CODE,
        _ => CHANNEL_FAILED,
    };
    match step.part {
        Part::DestinationChannel => Expected {
            heard: lost(),
            missing: vec![Some(target)],
            ..own
        },
        Part::Transcoder if step.call == "passes" => Expected {
            heard: lost(),
            errors: vec![None, Some(CHANNEL_FAILED)],
            missing: any_missing(),
            ..own
        },
        Part::Transcoder | Part::Agent if is_agent => Expected {
            heard: lost(),
            errors: vec![Some(code)],
            ..own
        },
        Part::Transcoder => Expected {
            heard: lost(),
            missing: vec![Some(target)],
            ..own
        },
        // What was said before an answer broke off is kept.
        Part::Agent if target != "0" => own,
        // Nothing was said: the agent's own error says why.
        Part::Agent => Expected {
            heard: lost(),
            errors: vec![Some(match fault {
                Fault::Panic => "channel_panicked",
                _ => code,
            })],
            ..own
        },
        // Hooks of an answer that fail let it pass.
        Part::Hook => own,
        Part::Store | Part::Locks | Part::RoomHooks => of_answer(clean, step, fault),
        _ => own,
    }
}

fn any_missing() -> Vec<Option<String>> {
    let ids = crate::stage::TRANSPORTS.into_iter().chain(["late"]);
    ids.map(|id| Some(id.to_owned())).chain([None]).collect()
}

/// The store or a lock fails while an agent reads, or while its answer or a hook's event is stored.
fn of_answer(clean: &Run, step: &Step, fault: Fault) -> Expected {
    let lost = ["broadcast_partial_failure", "delivery_failed"];
    let mut expected = harmless(clean);
    if step.moment == Moment::After && step.call.starts_with("commit") {
        // It is there, and is found.
        if fault == Fault::Hang {
            expected.heard = heard([PROCESS_TIMEOUT]);
        }
        if step.call == "commit without event" {
            expected.errors = vec![Some(OUTCOME_UNKNOWN)];
        }
        return expected;
    }
    expected.errors = match fault {
        Fault::Error if step.part == Part::Store => vec![None, Some(STORE_FAILED)],
        Fault::Error => vec![None, Some(CODE)],
        Fault::Hang if step.call.starts_with("commit") => vec![None, Some(OUTCOME_UNKNOWN)],
        Fault::Hang => vec![None, Some(PROCESS_TIMEOUT), Some(CHANNEL_FAILED)],
        _ => vec![
            None,
            Some(OUTCOME_UNKNOWN),
            Some(STORE_FAILED),
            Some(CHANNEL_FAILED),
        ],
    };
    expected.heard.extend(heard(lost));
    if fault == Fault::Hang {
        expected.heard.extend(heard([PROCESS_TIMEOUT]));
    }
    expected
}
