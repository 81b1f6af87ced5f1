//! Hooks that block, change and add messages, hooks of one room, observers and listeners.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit::prelude::*;
use roomkit::websocket::Connection;

use crate::{Outcome, inbox};

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let kit = RoomKit::new();
    let (guest, staff) = (
        WebSocketChannel::new("ws-guest"),
        WebSocketChannel::new("ws-staff"),
    );
    kit.register_channel(guest.clone())?;
    kit.register_channel(staff.clone())?;
    for room in ["lobby", "vip"] {
        kit.create_room(room).await?;
        kit.attach_channel(room, "ws-guest").await?;
        kit.attach_channel(room, "ws-staff").await?;
    }
    let mut desk = staff.connect("desk", "lobby");
    staff.subscribe("desk", "vip");

    add_deciding_hooks(&kit);
    let vip = Hook::new(BeforeBroadcast, "vip", |mut event, _room| async move {
        event.insert_metadata("priority", "high");
        let marked = event.text().map(|text| format!("(VIP) {text}"));
        if let Some(marked) = marked {
            event.set_text(marked);
        }
        HookResult::modify(event)
    });
    kit.add_room_hook("vip", vip).await?;
    let (audit, alarms) = add_onlookers(&kit);

    for (room, text) in [
        ("lobby", "You badword!"),
        ("lobby", "Call me at 555-010-9999, please"),
        ("lobby", "I want a refund"),
        ("lobby", "Good morning"),
        ("vip", "Good morning"),
    ] {
        let message = InboundMessage::text("ws-guest", "guest", text).in_room(room);
        let result = kit.process_inbound(message).await?;
        say(out, room, text, &result, &mut desk)?;
    }

    // A change passes the same hooks as what it changes.
    let first =
        kit.process_inbound(InboundMessage::text("ws-guest", "guest", "Call me").in_room("lobby"));
    let first = first.await?.event.ok_or("nothing was stored")?;
    let text = "Call me at 555-010-9999";
    let edit = InboundMessage::new(
        "ws-guest",
        "guest",
        EventContent::edit(first.id.clone(), text),
    );
    let result = kit.process_inbound(edit.in_room("lobby")).await?;
    say(out, "lobby", text, &result, &mut desk)?;

    // Observers and listeners run in the background; this is when all of them are done.
    kit.wait_idle().await;
    writeln!(out, "audit:")?;
    for (room, index, channel) in audit.sorted() {
        writeln!(out, "  {room} #{index} from {channel}")?;
    }
    writeln!(out, "alarms:")?;
    for alarm in alarms.sorted() {
        writeln!(out, "  {alarm}")?;
    }
    for task in kit.tasks("lobby").await? {
        writeln!(out, "task: {} ({})", task.title, task.status)?;
    }
    Ok(())
}

fn say(
    out: &mut impl Write,
    room: &str,
    text: &str,
    result: &InboundResult,
    desk: &mut Connection,
) -> Outcome {
    writeln!(out, "{room}: guest says '{text}'")?;
    if let Some(reason) = &result.reason {
        writeln!(out, "  blocked: {reason}")?;
    }
    for line in inbox(desk) {
        writeln!(out, "  desk hears {line}")?;
    }
    Ok(())
}

/// Hooks that decide about every message in every room, the lowest priority first.
fn add_deciding_hooks(kit: &RoomKit) {
    let first = HookOptions::new("profanity_filter").priority(-10);
    kit.hook(BeforeBroadcast, first, |event, _room| async move {
        let mut texts = event.content.texts().into_iter();
        if texts.any(|text| text.contains("badword")) {
            return HookResult::block("mind your language");
        }
        HookResult::allow()
    });

    // Not only in plain text: an edit or a caption could bring in a number as well.
    kit.hook(
        BeforeBroadcast,
        "phone_redactor",
        |mut event, _room| async move {
            if event.map_texts(without_phone_number) {
                return HookResult::modify(event);
            }
            HookResult::allow()
        },
    );

    let guests = HookOptions::new("refund_helper").channel_ids(["ws-guest"]);
    kit.hook(BeforeBroadcast, guests, |event, room| async move {
        match event.text() {
            Some(text) if text.contains("refund") => {
                let notice = EventContent::system("policy", "Refunds: within 30 days");
                HookResult::allow()
                    .inject(InjectedEvent::new(notice, ["ws-staff"]))
                    .task(room.task("Look up the order"))
            }
            _ => HookResult::allow(),
        }
    });
}

/// What onlookers noted.
#[derive(Debug, Clone)]
struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T: Ord + Clone> Notes<T> {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }

    fn add(&self, note: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(note);
    }

    fn sorted(&self) -> Vec<T> {
        let mut notes = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        notes.sort();
        notes
    }
}

/// A hook that looks on after each event, and a listener to what the framework says of itself.
fn add_onlookers(kit: &RoomKit) -> (Notes<(RoomId, u64, ChannelId)>, Notes<String>) {
    let (audit, alarms) = (Notes::new(), Notes::new());
    let notes = audit.clone();
    kit.hook(AfterBroadcast, "audit", move |event, _room| {
        let notes = notes.clone();
        async move {
            notes.add((
                event.room_id.clone(),
                event.index,
                event.source.channel_id.clone(),
            ));
        }
    });
    let notes = alarms.clone();
    kit.on(FrameworkEventType::EventBlocked, move |event| {
        let notes = notes.clone();
        async move {
            let hook = event.data.get("hook_name").and_then(|name| name.as_str());
            notes.add(format!(
                "an event was blocked by {}",
                hook.unwrap_or("nobody")
            ));
        }
    });
    (audit, alarms)
}

/// The text with `[REDACTED]` for the first number like `555-010-9999`; `None` where there is none.
fn without_phone_number(text: &str) -> Option<String> {
    const SHAPE: &str = "ddd-ddd-dddd";
    let looks_like_one = |candidate: &str| {
        let mut pairs = candidate.chars().zip(SHAPE.chars());
        pairs.all(|(found, shape)| match shape {
            'd' => found.is_ascii_digit(),
            other => found == other,
        })
    };
    let (at, number) = text.char_indices().find_map(|(at, _)| {
        let candidate = text.get(at..at + SHAPE.len())?;
        looks_like_one(candidate).then_some((at, candidate))
    })?;
    let (before, rest) = text.split_at_checked(at)?;
    Some(format!("{before}[REDACTED]{}", rest.strip_prefix(number)?))
}
