//! The crash proof: a writer, and now and then its server, are killed at random moments.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fastrand::Rng;
use roomkit_test_services::Postgres;

use crate::audit::{Acknowledged, audit};
use crate::protocol::{Answer, Send};
use crate::{Error, Result, target};

/// How many messages wait for their answer at once.
const WINDOW: usize = 48;
/// How many rooms the messages go to.
const ROOMS: usize = 4;
/// A writer that says nothing for so long hangs.
const SILENCE: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// How often a writer was killed.
    pub kills: u64,
    /// How often the server was.
    pub server_kills: u64,
    /// Messages that were acknowledged.
    pub acknowledged: usize,
    /// Messages that were under way when a writer was killed.
    pub under_way: usize,
    /// Answers that a message failed, most of them while the server was gone.
    pub failed: usize,
    /// Everything that was wrong, which ought to be nothing.
    pub violations: Vec<String>,
}

/// Kills a writer `runs` times; in every second run the server too, where one is given.
///
/// # Errors
/// Where a process cannot be run, or the store cannot be read afterwards.
pub fn prove(
    binary: &Path,
    address: &str,
    mut server: Option<&mut Postgres>,
    runs: u64,
    seed: u64,
) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(Error::io("starting a runtime"))?;
    let mut dice = Rng::with_seed(seed);
    let mut report = Report::default();
    let mut acknowledged = Acknowledged::default();
    let mut stream = Stream::default();
    for run in 0..runs {
        let mut writer = Writer::start(binary, address)?;
        let until = dice.usize(1..60);
        stream.drive(&mut writer, until, &mut acknowledged, &mut report)?;
        if run % 2 == 1
            && let Some(server) = server.as_deref_mut()
        {
            server.stop_immediate()?;
            report.server_kills += 1;
            // Half of the writers live to see the server again, and go on.
            let outlives = dice.bool();
            if outlives {
                server.start_again()?;
                stream.drive(&mut writer, 20, &mut acknowledged, &mut report)?;
            }
            std::thread::sleep(Duration::from_micros(dice.u64(0..3_000)));
            report.under_way += writer.kill(&mut stream, &mut acknowledged, &mut report)?;
            if !outlives {
                server.start_again()?;
            }
        } else {
            std::thread::sleep(Duration::from_micros(dice.u64(0..3_000)));
            report.under_way += writer.kill(&mut stream, &mut acknowledged, &mut report)?;
        }
        report.kills += 1;
        let found = runtime.block_on(async {
            let store = target::open(address).await?;
            let found = audit(&*store, ROOMS, &acknowledged).await?;
            store.close().await?;
            Ok::<_, Error>(found)
        })?;
        let at = |violation| format!("run {run} (seed {seed}): {violation}");
        report.violations.extend(found.into_iter().map(at));
        if !report.violations.is_empty() {
            break;
        }
    }
    report.acknowledged = acknowledged.len();
    Ok(report)
}

/// The messages, of which one that is not known to be stored is sent again.
#[derive(Default)]
struct Stream {
    next: usize,
    again: VecDeque<Send>,
    waiting: BTreeMap<String, Send>,
}

impl Stream {
    fn message(&mut self) -> Send {
        self.again.pop_front().unwrap_or_else(|| {
            let number = self.next;
            self.next += 1;
            Send {
                room: number % ROOMS,
                key: format!("k{number}"),
                sender: format!("person-{}", number % 7),
            }
        })
    }

    /// Sends messages until so many more are acknowledged.
    fn drive(
        &mut self,
        writer: &mut Writer,
        acknowledgements: usize,
        acknowledged: &mut Acknowledged,
        report: &mut Report,
    ) -> Result<()> {
        let mut left = acknowledgements;
        let started = Instant::now();
        while left > 0 {
            while self.waiting.len() < WINDOW {
                let message = self.message();
                self.waiting.insert(message.key.clone(), message.clone());
                writer.send(&message)?;
            }
            if started.elapsed() > SILENCE {
                return Err(Error::Writer("does not get on".into()));
            }
            let answer = writer.answer()?;
            left -= usize::from(self.take(answer, acknowledged, report));
        }
        Ok(())
    }

    /// Takes an answer; `true` when it is an acknowledgement.
    fn take(
        &mut self,
        answer: Answer,
        acknowledged: &mut Acknowledged,
        report: &mut Report,
    ) -> bool {
        match answer {
            Answer::Ready => false,
            Answer::Stored { key, index } => {
                if let Some(message) = self.waiting.remove(&key)
                    && let Err(violation) = acknowledged.note(message, index)
                {
                    report.violations.push(violation);
                }
                true
            }
            Answer::Failed { key, .. } => {
                report.failed += 1;
                self.again.extend(self.waiting.remove(&key));
                false
            }
        }
    }
}

/// A writer that runs, and what it says.
struct Writer {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Result<Answer>>,
}

impl Writer {
    fn start(binary: &Path, address: &str) -> Result<Self> {
        let mut child = Command::new(binary)
            .args(["writer", address, &ROOMS.to_string(), "in-process"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::io("starting a writer"))?;
        let (sender, answers) = channel();
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(|line| line.ok()) {
                    // The last line of a killed writer may be cut off: it acknowledges nothing.
                    let answer = serde_json::from_str(&line)
                        .map_err(|_| Error::Writer(format!("said `{line}`")));
                    if sender.send(answer).is_err() {
                        break;
                    }
                }
            });
        }
        let writer = Self {
            child,
            input,
            answers,
        };
        match writer.answer()? {
            Answer::Ready => Ok(writer),
            other => Err(Error::Writer(format!("began with {other:?}"))),
        }
    }

    fn send(&mut self, message: &Send) -> Result<()> {
        let line =
            serde_json::to_string(message).map_err(|error| Error::Usage(error.to_string()))?;
        let input = self
            .input
            .as_mut()
            .ok_or_else(|| Error::Writer("takes no input".into()))?;
        writeln!(input, "{line}").map_err(Error::io("writing to the writer"))
    }

    fn answer(&self) -> Result<Answer> {
        match self.answers.recv_timeout(SILENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(Error::Writer("hangs".into())),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Writer("is gone".into())),
        }
    }

    /// Kills it, takes what it still said, and returns how many messages were under way.
    fn kill(
        mut self,
        stream: &mut Stream,
        acknowledged: &mut Acknowledged,
        report: &mut Report,
    ) -> Result<usize> {
        self.child.kill().map_err(Error::io("killing the writer"))?;
        self.child
            .wait()
            .map_err(Error::io("waiting for the writer"))?;
        while let Ok(answer) = self.answers.recv_timeout(SILENCE) {
            match answer {
                Ok(answer) => {
                    stream.take(answer, acknowledged, report);
                }
                Err(_cut_off) => break,
            }
        }
        let under_way = std::mem::take(&mut stream.waiting);
        let count = under_way.len();
        stream.again.extend(under_way.into_values());
        Ok(count)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It ends by itself when its input does; a proof that failed does not wait for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
