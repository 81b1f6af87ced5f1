//! Copies the core's source and puts a switch beside each line in which there is to be a fault.

use std::path::Path;
use std::{env, fs, io};

/// A fault: its name, the file, what stands there, what stands there instead. `is(NAME)` says whether
/// this fault is switched on; what is replaced must stand there once.
type Mutant = (&'static str, &'static str, &'static str, &'static str);

const MUTANTS: &[Mutant] = &[
    (
        "queue: a call between the look and the registration is missed",
        "sync/queue.rs",
        "waiter.waker.register(cx.waker());\n            if waiter.called.load(Ordering::Acquire) {",
        "waiter.waker.register(cx.waker());\n            if waiter.called.load(Ordering::Acquire) && !crate::is(NAME) {",
    ),
    (
        "queue: whoever is called is not woken",
        "sync/queue.rs",
        "next.waker.wake();",
        "if !crate::is(NAME) { next.waker.wake(); }",
    ),
    (
        "queue: a place given up after its call calls nobody",
        "sync/queue.rs",
        "waiter.filter(|waiter| !waiter.called.load(Ordering::Acquire))",
        "waiter.filter(|waiter| crate::is(NAME) || !waiter.called.load(Ordering::Acquire))",
    ),
    (
        "queue: the call is noted after the lock is released",
        "sync/queue.rs",
        "Some(next) => next.called.store(true, Ordering::Release),",
        "Some(next) => if !crate::is(NAME) { next.called.store(true, Ordering::Release) },",
    ),
    (
        "queue: the call is noted after the lock is released",
        "sync/queue.rs",
        "if let Some(next) = next {\n",
        "if let Some(next) = next {\nif crate::is(NAME) { next.called.store(true, Ordering::Release); }\n",
    ),
    (
        "queue: who has given up is called all the same",
        "sync/queue.rs",
        "if !next.gone.load(Ordering::Relaxed) {",
        "if crate::is(NAME) || !next.gone.load(Ordering::Relaxed) {",
    ),
    (
        "queue: the last to come is served first",
        "sync/queue.rs",
        "let next = self.waiting.pop_front()?;",
        "let next = if crate::is(NAME) { self.waiting.pop_back()? } else { self.waiting.pop_front()? };",
    ),
    (
        "queue: one more may wait than there are places",
        "sync/queue.rs",
        "Some(line) if line.len() >= capacity => return None,",
        "Some(line) if line.len() >= capacity.saturating_add(usize::from(crate::is(NAME))) => return None,",
    ),
    (
        "queue: who has given up keeps the place",
        "sync/queue.rs",
        "self.waiting.len().saturating_sub(self.gone)",
        "self.waiting.len().saturating_sub(if crate::is(NAME) { 0 } else { self.gone })",
    ),
    (
        "queue: who has given up is counted twice",
        "sync/queue.rs",
        "self.gone = self.gone.saturating_sub(1);",
        "if !crate::is(NAME) { self.gone = self.gone.saturating_sub(1); }",
    ),
    (
        "queue: a key that nobody waits for stays",
        "sync/queue.rs",
        "None => drop(lines.remove(key)),",
        "None => if !crate::is(NAME) { drop(lines.remove(key)) },",
    ),
    (
        "tasks: what moves from a caller to a task is counted in neither",
        "sync/tasks.rs",
        "let in_place = self.in_place.load(Ordering::SeqCst);\n        in_place + lock(&self.state).running.len()",
        "if crate::is(NAME) {\n let running = lock(&self.state).running.len();\n return running + self.in_place.load(Ordering::SeqCst);\n}\nlet in_place = self.in_place.load(Ordering::SeqCst);\n        in_place + lock(&self.state).running.len()",
    ),
    (
        "tasks: the caller's work ends before its task begins",
        "sync/tasks.rs",
        "let (sender, receiver) = oneshot::channel();",
        "let in_place = if crate::is(NAME) { drop(in_place); None } else { Some(in_place) };\nlet (sender, receiver) = oneshot::channel();",
    ),
    (
        "tasks: one that starts while all are aborted goes on",
        "sync/tasks.rs",
        "if state.aborted {\n            task.abort();",
        "if state.aborted && !crate::is(NAME) {\n            task.abort();",
    ),
    (
        "tasks: a call after the end is let in",
        "sync/tasks.rs",
        "if self.ended.load(Ordering::SeqCst) {",
        "if self.ended.load(Ordering::SeqCst) && !crate::is(NAME) {",
    ),
    (
        "tasks: the end of the last one is not told",
        "sync/tasks.rs",
        "self.tasks.idle.notify_waiters();",
        "if !crate::is(NAME) { self.tasks.idle.notify_waiters(); }",
    ),
    (
        "tasks: the end of a caller's work is not told",
        "sync/tasks.rs",
        "self.0.idle.notify_waiters();",
        "if !crate::is(NAME) { self.0.idle.notify_waiters(); }",
    ),
    (
        "tasks: who waits looks before listening",
        "sync/tasks.rs",
        "let idle = self.idle.notified();",
        "if crate::is(NAME) && self.running() > 0 { shuttle::hint::spin_loop(); self.idle.notified().await; continue; }\nlet idle = self.idle.notified();",
    ),
    (
        "locks: nobody waits for the turn",
        "sync/lock.rs",
        "ticket.turn().await;",
        "if !crate::is(NAME) { ticket.turn().await; }",
    ),
    (
        "locks: the lock is let go of when it is had",
        "sync/lock.rs",
        "_held: Held::InProcess(ticket),",
        "_held: if crate::is(NAME) { drop(ticket); Held::Other(Box::new(())) } else { Held::InProcess(ticket) },",
    ),
    (
        "locks: a lock is never let go of",
        "sync/lock.rs",
        "else { Held::InProcess(ticket) },",
        "else if crate::is(NAME) { std::mem::forget(ticket); Held::Other(Box::new(())) } else { Held::InProcess(ticket) },",
    ),
    (
        "locks: all rooms have one lock",
        "sync/lock.rs",
        "self.rooms.enqueue(room.clone(), usize::MAX)",
        "self.rooms.enqueue(if crate::is(NAME) { RoomId::from(\"one\") } else { room.clone() }, usize::MAX)",
    ),
    (
        "kit: the room is not locked",
        "sync/lock.rs",
        "ticket.turn().await;",
        "if !crate::is(NAME) { ticket.turn().await; }",
    ),
    (
        "kit: a delivery does not wait for its turn",
        "pipeline/deliver.rs",
        "place.turn().await;",
        "if !crate::is(NAME) { place.turn().await; }",
    ),
    (
        "kit: closing does not wait",
        "kit/close.rs",
        "inner.sources.close(inner).await;\n            inner.tasks.idle().await;",
        "inner.sources.close(inner).await;\n            if !crate::is(NAME) { inner.tasks.idle().await; }",
    ),
    (
        "kit: closing leaves tasks",
        "kit/close.rs",
        "inner.tasks.abort_all();",
        "if !crate::is(NAME) { inner.tasks.abort_all(); }",
    ),
    (
        "kit: messages are taken while it closes",
        "kit/close.rs",
        "inner.closing.0.store(true, Ordering::SeqCst);",
        "inner.closing.0.store(!crate::is(NAME), Ordering::SeqCst);",
    ),
    (
        "kit: dropping it leaves tasks",
        "kit/mod.rs",
        "self.inner.tasks.abort_all();",
        "if !crate::is(NAME) { self.inner.tasks.abort_all(); }",
    ),
    (
        "kit: a caller that goes away takes its message along",
        "sync/tasks.rs",
        "receiver.await.ok()",
        "let ends = AbortOnDrop(crate::is(NAME).then(|| Arc::clone(self)));\nlet output = receiver.await.ok();\nstd::mem::forget(ends);\noutput",
    ),
];

/// What the mutants need besides.
const BESIDES: &str = "
struct AbortOnDrop(Option<Arc<Tasks>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(tasks) = &self.0 {
            for task in lock(&tasks.state).running.values().flatten() {
                task.abort();
            }
        }
    }
}
";

fn main() -> io::Result<()> {
    let source = "../../../crates/core/src";
    println!("cargo::rustc-cfg=roomkit_shuttle");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={source}");
    let target = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    let target = Path::new(&target).join("core");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    copy(Path::new(source), &target)?;
    for (name, file, old, new) in MUTANTS {
        edit(
            &target.join(file),
            name,
            old,
            &new.replace("NAME", &format!("{name:?}")),
        )?;
    }
    edit(
        &target.join("sync/tasks.rs"),
        "",
        "/// Work in a caller's task;",
        &format!("{BESIDES}\n/// Work in a caller's task;"),
    )?;
    // What is the core's alone is looked at by the properties.
    for file in ["queue.rs", "tasks.rs"] {
        edit_all(&target.join("sync").join(file), "pub(crate)", "pub")?;
    }
    edit_all(&target.join("sync/mod.rs"), "pub(crate) mod", "pub mod")?;
    // An included file has no documentation of its own.
    edit_all(
        &target.join("lib.rs"),
        "#![doc = include_str!(\"../README.md\")]",
        "",
    )?;
    let mut names: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.0).collect();
    names.dedup();
    let names = format!("&{names:?}");
    fs::write(target.join("names.rs"), names)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn edit(file: &Path, name: &str, old: &str, new: &str) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    if text.matches(old).count() != 1 {
        let problem = format!(
            "{}: `{old}` must be there once, for `{name}`",
            file.display()
        );
        return Err(io::Error::other(problem));
    }
    fs::write(file, text.replace(old, new))
}

fn edit_all(file: &Path, old: &str, new: &str) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    fs::write(file, text.replace(old, new))
}
