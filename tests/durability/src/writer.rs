//! The process that is killed: it stores what it is told and says so.

use std::io::{BufRead, Write};
use std::sync::Arc;

use roomkit_core::model::InboundMessage;
use roomkit_core::{ErrorKind, RoomKit};
use roomkit_testkit::MockChannel;
use tokio::sync::{Semaphore, mpsc};

use crate::protocol::{Answer, Send, room_id};
use crate::target::{self, Locks, PATIENCE};
use crate::{Error, Result};

/// How many messages are under way at once.
const AT_ONCE: usize = 32;

/// Takes messages from the input until it ends, and answers each on the output.
///
/// # Errors
/// Where the store cannot be opened or the rooms cannot be made.
pub async fn run(address: &str, rooms: usize, locks: Locks) -> Result<()> {
    let kit = target::kit(address, locks).await?;
    set_up(&kit, rooms).await?;
    let (answers, mut to_print) = mpsc::channel(AT_ONCE);
    let printer = tokio::task::spawn_blocking(move || {
        let mut output = std::io::stdout().lock();
        while let Some(answer) = to_print.blocking_recv() {
            let line = serde_json::to_string(&answer).unwrap_or_default();
            // Whoever reads this may be gone, as when it kills and does not care for the rest.
            if writeln!(output, "{line}")
                .and_then(|()| output.flush())
                .is_err()
            {
                break;
            }
        }
    });
    send(&answers, Answer::Ready).await;
    let mut messages = read_input();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    while let Some(message) = messages.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let (kit, answers) = (kit.clone(), answers.clone());
        tokio::spawn(async move {
            send(&answers, store(&kit, message).await).await;
            drop(place);
        });
    }
    // Every place is free again once all is answered.
    let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
    let _ = places.acquire_many(all).await;
    drop(answers);
    let _ = printer.await;
    kit.close(PATIENCE).await?;
    Ok(())
}

/// Makes the rooms that are not there, and attaches what is not attached: an earlier writer may
/// have been killed between any two of these.
pub(crate) async fn set_up(kit: &RoomKit, rooms: usize) -> Result<()> {
    for channel in ["in", "out"] {
        kit.register_channel(MockChannel::new(channel))?;
    }
    for number in 0..rooms {
        let room = room_id(number);
        match kit.create_room(room.as_str()).await {
            Err(error) if error.kind() == ErrorKind::RoomAlreadyExists => {}
            made => drop(made?),
        }
        for channel in ["in", "out"] {
            if kit.binding(room.as_str(), channel).await.is_err() {
                kit.attach_channel(room.as_str(), channel).await?;
            }
        }
    }
    Ok(())
}

/// Brings a message into its room.
pub(crate) async fn store(kit: &RoomKit, message: Send) -> Answer {
    let text = message.text();
    let Send { room, key, sender } = message;
    let inbound = InboundMessage::text("in", sender.as_str(), text)
        .in_room(room_id(room))
        .idempotency_key(&key);
    match kit.process_inbound(inbound).await {
        Ok(result) => match result.event {
            Some(event) if !result.blocked => Answer::Stored {
                key,
                index: event.index,
            },
            _ => Answer::Failed {
                key,
                code: result.reason.unwrap_or_else(|| "blocked".into()),
            },
        },
        Err(error) => Answer::Failed {
            key,
            code: error.code().into(),
        },
    }
}

async fn send(answers: &mpsc::Sender<Answer>, answer: Answer) {
    // The printer is gone only when the one who reads is.
    let _ = answers.send(answer).await;
}

/// The messages of the input, as they come.
fn read_input() -> mpsc::Receiver<Send> {
    let (sender, receiver) = mpsc::channel(AT_ONCE);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let message = line
                .map_err(Error::io("reading the input"))
                .and_then(|line| {
                    serde_json::from_str(&line).map_err(|error| Error::Usage(error.to_string()))
                });
            match message {
                Ok(message) => {
                    if sender.blocking_send(message).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    eprintln!("{error}");
                    break;
                }
            }
        }
    });
    receiver
}
