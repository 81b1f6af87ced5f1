//! Several processes in the same rooms on one PostgreSQL.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::audit::{Acknowledged, audit};
use crate::protocol::{Answer, Send};
use crate::target::{self, Locks, PATIENCE};
use crate::{Error, Result, writer};

/// How many processes there are.
pub const PROCESSES: usize = 4;
/// How many rooms each of them serves, the same ones.
pub const ROOMS: usize = 16;

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// Messages that were acknowledged, by all processes.
    pub acknowledged: usize,
    /// How often a message was refused and sent again: another process was faster too often.
    pub again: usize,
    /// How long the processes wrote.
    pub seconds: f64,
    /// Everything that was wrong, which ought to be nothing.
    pub violations: Vec<String>,
}

/// Runs the processes for some seconds and looks at what they left.
///
/// # Errors
/// Where a process cannot be run, or the store cannot be read afterwards.
pub fn prove(binary: &Path, address: &str, locks: Locks, seconds: u64) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(Error::io("starting a runtime"))?;
    // The rooms are made once, so that every process finds them.
    runtime.block_on(async {
        let kit = target::kit(address, Locks::InProcess).await?;
        writer::set_up(&kit, ROOMS).await?;
        kit.close(PATIENCE).await?;
        Ok::<_, Error>(())
    })?;
    let started = Instant::now();
    let mut readers = Vec::new();
    for number in 0..PROCESSES {
        let mut child = Command::new(binary)
            .args(["process", address, locks.name()])
            .args([number.to_string(), seconds.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::io("starting a process"))?;
        let output = child.stdout.take();
        readers.push((child, std::thread::spawn(move || output.map(read_answers))));
    }
    let mut acknowledged = Acknowledged::default();
    let mut violations = Vec::new();
    let mut again = 0;
    for (child, reader) in readers {
        let answers = reader
            .join()
            .map_err(|_| Error::Writer("said nothing".into()))?;
        for (message, answer) in answers.unwrap_or_default() {
            match answer {
                Answer::Stored { index, .. } => {
                    violations.extend(acknowledged.note(message, index).err());
                }
                _ => again += 1,
            }
        }
        finished(child)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let found = runtime.block_on(async {
        let store = target::open(address).await?;
        audit(&*store, ROOMS, &acknowledged).await
    })?;
    violations.extend(found);
    Ok(Report {
        acknowledged: acknowledged.len(),
        again,
        seconds,
        violations,
    })
}

fn finished(mut child: Child) -> Result<()> {
    let status = child.wait().map_err(Error::io("waiting for a process"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Writer(format!("ended with {status}"))),
    }
}

fn read_answers(output: impl std::io::Read) -> Vec<(Send, Answer)> {
    let lines = BufReader::new(output).lines().map_while(|line| line.ok());
    lines
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// One of the processes: a task for each room says one thing after the other.
///
/// # Errors
/// Where the store cannot be opened.
pub async fn process(address: &str, locks: Locks, number: usize, seconds: u64) -> Result<()> {
    let kit = target::kit(address, locks).await?;
    writer::set_up(&kit, ROOMS).await?;
    let (answers, mut to_print) = mpsc::unbounded_channel();
    let end = Instant::now() + Duration::from_secs(seconds);
    let counter = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for room in 0..ROOMS {
        let (kit, answers, counter) = (kit.clone(), answers.clone(), Arc::clone(&counter));
        tasks.spawn(async move {
            while Instant::now() < end {
                let key = format!("p{number}-{}", counter.fetch_add(1, Ordering::Relaxed));
                let sender = format!("person-{number}");
                let message = Send { room, key, sender };
                loop {
                    let answer = writer::store(&kit, message.clone()).await;
                    let is_stored = matches!(answer, Answer::Stored { .. });
                    let _ = answers.send((message.clone(), answer));
                    if is_stored || Instant::now() >= end {
                        break;
                    }
                }
            }
        });
    }
    drop(answers);
    while let Some(answer) = to_print.recv().await {
        println!("{}", serde_json::to_string(&answer).unwrap_or_default());
    }
    tasks.join_all().await;
    kit.close(PATIENCE).await?;
    Ok(())
}
