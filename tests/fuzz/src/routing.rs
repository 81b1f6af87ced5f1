//! The room of a message that names none: the one that a plain list of what happened says.
//!
//! An input is a list of steps, each a letter and up to three digits; other characters are passed
//! over. See [`Step::read`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, InboundMessage, RoomEvent,
};
use roomkit_core::{Channel, RoomContext, RoomKit, Rooms, async_trait};

/// How many steps of an input are taken.
const MOST_STEPS: usize = 64;

const CHANNELS: [&str; 3] = ["sms-a", "sms-b", "chat"];

#[derive(Debug)]
struct Silent(ChannelId);

#[async_trait]
impl Channel for Silent {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        type_of(self.0.as_str())
    }

    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }
}

fn type_of(channel: &str) -> ChannelType {
    if channel.starts_with("sms") {
        ChannelType::Sms
    } else {
        ChannelType::Websocket
    }
}

/// What happens; rooms, channels, senders and organisations by number.
#[derive(Debug, Clone, Copy)]
enum Step {
    Create {
        room: usize,
        organization: usize,
    },
    Attach {
        room: usize,
        channel: usize,
    },
    Detach {
        room: usize,
        channel: usize,
    },
    Pause(usize),
    Close(usize),
    Reopen(usize),
    Delete(usize),
    /// A message that names its room.
    Say {
        room: usize,
        channel: usize,
        sender: usize,
    },
    /// A message that names none.
    Route {
        organization: usize,
        channel: usize,
        sender: usize,
    },
}

impl Step {
    /// `c` create, `a` attach, `d` detach, `p` pause, `x` close, `o` reopen, `D` delete, `m` a message
    /// into a room, `r` a message that is to be routed, each with the digits of what it is about.
    fn read(letter: char, digits: [usize; 3]) -> Option<Self> {
        let [first, second, third] = digits;
        let (room, channel) = (first % 4, second % CHANNELS.len());
        Some(match letter {
            'c' => Self::Create {
                room,
                organization: second % 3,
            },
            'a' => Self::Attach { room, channel },
            'd' => Self::Detach { room, channel },
            'p' => Self::Pause(room),
            'x' => Self::Close(room),
            'o' => Self::Reopen(room),
            'D' => Self::Delete(room),
            'm' => Self::Say {
                room,
                channel,
                sender: third % 2,
            },
            'r' => Self::Route {
                organization: first % 3,
                channel,
                sender: third % 2,
            },
            _ => return None,
        })
    }
}

fn steps(input: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut characters = input.chars().peekable();
    while let Some(letter) = characters.next() {
        let mut digits = [0; 3];
        for digit in &mut digits {
            let next = characters.peek().and_then(|c| c.to_digit(10));
            let Some(value) = next.and_then(|value| usize::try_from(value).ok()) else {
                break;
            };
            *digit = value;
            characters.next();
        }
        steps.extend(Step::read(letter, digits));
        if steps.len() == MOST_STEPS {
            break;
        }
    }
    steps
}

/// What is to be known of a room to route to it.
#[derive(Debug, Default)]
struct Known {
    organization: usize,
    is_open: bool,
    attached: BTreeSet<usize>,
    /// What was detached and is not attached again: a message from there is not let in.
    detached: BTreeSet<usize>,
    /// By type of channel and sender.
    spoken: BTreeSet<(String, usize)>,
}

struct World {
    kit: RoomKit,
    rooms: BTreeMap<String, Known>,
}

pub(crate) fn run(input: &str) {
    let steps = steps(input);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime
        .expect("a runtime without input or output")
        .block_on(async {
            let kit = RoomKit::new();
            for channel in CHANNELS {
                let registered = kit.register_channel(Silent(channel.into()));
                registered.expect("a channel with an id of its own");
            }
            let mut world = World {
                kit,
                rooms: BTreeMap::new(),
            };
            for step in steps {
                world.take(step).await;
            }
        });
}

impl World {
    /// The rooms as an organisation sees them; number 0 is nobody's.
    fn scope(&self, organization: usize) -> Rooms {
        match organization {
            0 => (*self.kit).clone(),
            number => self.kit.org(format!("organization-{number}")),
        }
    }

    fn take(&mut self, step: Step) -> BoxFuture<'_, ()> {
        async move {
            match step {
                Step::Create { room, organization } => {
                    let room = name(room);
                    let made = self.scope(organization).create_room(room.as_str()).await;
                    assert_eq!(
                        made.is_ok(),
                        !self.rooms.contains_key(&room),
                        "{room} is made once"
                    );
                    let known = Known {
                        organization,
                        is_open: true,
                        ..Known::default()
                    };
                    self.rooms.entry(room).or_insert(known);
                }
                Step::Attach { room, channel } => {
                    let (room, id) = (name(room), channel_id(channel));
                    if self.kit.attach_channel(room.as_str(), id).await.is_ok() {
                        let known = self.known(&room);
                        known.attached.insert(channel);
                        known.detached.remove(&channel);
                    }
                }
                Step::Detach { room, channel } => {
                    let (room, id) = (name(room), channel_id(channel));
                    if self.kit.detach_channel(room.as_str(), id).await.is_ok() {
                        let known = self.known(&room);
                        if known.attached.remove(&channel) {
                            known.detached.insert(channel);
                        }
                    }
                }
                Step::Pause(room) => {
                    // Paused is open, and from closed there is no way there.
                    let _ = self.kit.pause_room(name(room).as_str()).await;
                }
                Step::Close(room) => {
                    let room = name(room);
                    if self.kit.close_room(room.as_str()).await.is_ok() {
                        self.known(&room).is_open = false;
                    }
                }
                Step::Reopen(room) => {
                    let room = name(room);
                    if self.kit.reopen_room(room.as_str()).await.is_ok() {
                        self.known(&room).is_open = true;
                    }
                }
                Step::Delete(room) => {
                    let room = name(room);
                    let deleted = self.kit.delete_room(room.as_str()).await;
                    let was_there = self.rooms.remove(&room).is_some();
                    assert_eq!(deleted.ok(), Some(was_there), "{room} is deleted once");
                }
                Step::Say {
                    room,
                    channel,
                    sender,
                } => {
                    let room = name(room);
                    if let Some(known) = self.rooms.get(&room) {
                        let scope = self.scope(known.organization);
                        self.say(scope, Some(room), channel, sender).await;
                    }
                }
                Step::Route {
                    organization,
                    channel,
                    sender,
                } => {
                    self.route(organization, channel, sender).await;
                }
            }
        }
        .boxed()
    }

    fn known(&mut self, room: &str) -> &mut Known {
        self.rooms.get_mut(room).expect("a room that was made")
    }

    /// The room that a message came to, whether it was let in or not; `None` for a closed one.
    async fn say(
        &mut self,
        scope: Rooms,
        room: Option<String>,
        channel: usize,
        sender: usize,
    ) -> Option<String> {
        let (id, who) = (channel_id(channel), format!("sender-{sender}"));
        let mut message = InboundMessage::text(id, who, "words");
        message.room_id = room.map(Into::into);
        let result = scope.process_inbound(message).await;
        let result = result.expect("a message that the kit can take");
        let room = result.event?.room_id.as_str().to_owned();
        if let Some(known) = self.rooms.get_mut(&room) {
            assert_eq!(
                result.blocked,
                known.detached.contains(&channel),
                "let in by a channel that was detached, or kept out by another"
            );
            if !result.blocked {
                known.attached.insert(channel);
                known.spoken.insert((type_of(id).to_string(), sender));
            }
        }
        Some(room)
    }

    async fn route(&mut self, organization: usize, channel: usize, sender: usize) {
        let expected = self.expected(organization, channel, sender);
        let scope = self.scope(organization);
        let went = self.say(scope, None, channel, sender).await;
        let went = went.expect("an open room takes the message");
        match expected {
            Some(room) => assert_eq!(went, room, "another room than the only one"),
            None => {
                assert!(!self.rooms.contains_key(&went), "{went} was a guess");
                let mut known = Known {
                    organization,
                    is_open: true,
                    ..Known::default()
                };
                known.attached.insert(channel);
                let spoke = (type_of(channel_id(channel)).to_string(), sender);
                known.spoken.insert(spoke);
                self.rooms.insert(went, known);
            }
        }
    }

    /// The rule of RFC §10.4, on the list of what happened.
    fn expected(&self, organization: usize, channel: usize, sender: usize) -> Option<String> {
        let key = (type_of(channel_id(channel)).to_string(), sender);
        let open = || {
            let all = self.rooms.iter();
            all.filter(|(_, known)| known.is_open && known.organization == organization)
        };
        let spoken: Vec<_> = open()
            .filter(|(_, known)| known.spoken.contains(&key))
            .collect();
        let bound: Vec<_> = open()
            .filter(|(_, known)| known.attached.contains(&channel))
            .collect();
        let candidates = if spoken.is_empty() { bound } else { spoken };
        match candidates.as_slice() {
            [(room, _)] => Some((*room).clone()),
            _ => None,
        }
    }
}

fn name(room: usize) -> String {
    format!("room-{room}")
}

fn channel_id(channel: usize) -> &'static str {
    CHANNELS.get(channel).copied().unwrap_or_default()
}

pub(crate) fn seeds() -> Vec<String> {
    [
        "c00 a00 m000 r000 c10 a10 r000 r001",
        "c01 c12 a00 a10 r100 r200 r000 x0 r100 o0 r100",
        "c00 m000 d00 r000 m000 r010 D0 r000",
        "c00 c10 m000 m110 r010 p0 r000 x1 r010 r020",
    ]
    .map(str::to_owned)
    .into()
}
