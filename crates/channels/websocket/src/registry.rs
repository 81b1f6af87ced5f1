//! Who is connected, and to which rooms.
//!
//! Rooms are spread over shards, each behind a lock of its own, so that a room with many connections
//! keeps few others waiting. Nothing is awaited under a lock. Where several are held, they were taken
//! in this order: the rooms of one connection, then a shard; the index is never held with another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use roomkit_core::WeakKit;
use roomkit_core::channel::StreamFrame;
use roomkit_core::model::{ChannelId, FrameworkEvent, FrameworkEventType, RoomEvent, RoomId};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::connection::{CloseReason, Connection};
use crate::frame::Frame;
use crate::id::ConnectionId;
use crate::live::{LiveFrame, Unfinished};

/// How many independent maps the rooms are spread over.
const SHARDS: u64 = 32;

/// The connections of a room, in the order in which they connected.
type Peers = BTreeMap<u64, Arc<Peer>>;

type Shard = RwLock<HashMap<RoomId, Audience>>;

/// Who hears a room, and what is being said there right now.
#[derive(Default)]
struct Audience {
    peers: Peers,
    unfinished: Unfinished,
}

/// The connections of one channel.
pub(crate) struct Registry {
    channel: ChannelId,
    /// The kit that is told of connections, once the channel is registered with one.
    kit: OnceLock<WeakKit>,
    queue_capacity: usize,
    next_serial: AtomicU64,
    index: Mutex<Index>,
    shards: Box<[Shard]>,
    hasher: RandomState,
    slow: AtomicU64,
}

/// Every connection by its id.
#[derive(Default)]
struct Index {
    closed: bool,
    peers: HashMap<ConnectionId, Arc<Peer>>,
}

/// The channel takes no connections any more.
struct IsClosed;

impl Index {
    /// Adds a connection and returns the one that had its id.
    fn insert(&mut self, peer: &Arc<Peer>) -> Result<Option<Arc<Peer>>, IsClosed> {
        if self.closed {
            return Err(IsClosed);
        }
        Ok(self.peers.insert(peer.id.clone(), Arc::clone(peer)))
    }

    /// Takes a connection out, unless another has its id by now.
    fn remove(&mut self, id: &ConnectionId, serial: u64) -> Option<Arc<Peer>> {
        if self.peers.get(id)?.serial == serial {
            self.peers.remove(id)
        } else {
            None
        }
    }
}

/// The sending end of a connection; its receiver ends when the last reference is gone.
struct Peer {
    id: ConnectionId,
    serial: u64,
    frames: mpsc::Sender<Frame>,
    reason: Arc<OnceLock<CloseReason>>,
    /// The rooms it is subscribed to; `None` once it has ended, so that it enters no room any more.
    rooms: Mutex<Option<HashSet<RoomId>>>,
}

impl Registry {
    pub(crate) fn new(channel: ChannelId, queue_capacity: usize) -> Self {
        Self {
            channel,
            kit: OnceLock::new(),
            queue_capacity,
            next_serial: AtomicU64::new(0),
            index: Mutex::default(),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            hasher: RandomState::new(),
            slow: AtomicU64::new(0),
        }
    }

    /// Tells this kit of connections from now on; the first kit stays.
    pub(crate) fn tell(&self, kit: WeakKit) {
        let _ = self.kit.set(kit);
    }

    /// Tells the kit's listeners that a connection came or went.
    fn notify(&self, event_type: FrameworkEventType, peer: &Peer, room: Option<RoomId>) {
        let Some(kit) = self.kit.get().and_then(WeakKit::upgrade) else {
            return;
        };
        let mut event = FrameworkEvent::new(event_type, kit.now());
        event.channel_id = Some(self.channel.clone());
        event.room_id = room;
        event.data.insert("connection_id", peer.id.as_str());
        if let Some(reason) = peer.reason.get() {
            event.data.insert("reason", reason.code());
        }
        kit.emit(event);
    }

    pub(crate) fn connect(self: &Arc<Self>, id: ConnectionId, room: RoomId) -> Connection {
        let (sender, frames) = mpsc::channel(self.queue_capacity);
        let reason = Arc::new(OnceLock::new());
        let serial = self.next_serial.fetch_add(1, Ordering::Relaxed);
        let peer = Arc::new(Peer {
            id: id.clone(),
            serial,
            frames: sender,
            reason: Arc::clone(&reason),
            rooms: Mutex::new(Some(HashSet::new())),
        });
        let inserted = lock(&self.index).insert(&peer);
        match inserted {
            Ok(former) => {
                // It enters before the former one leaves, so that no event falls in between.
                self.enter(&peer, room.clone());
                self.notify(FrameworkEventType::ChannelConnected, &peer, Some(room));
                if let Some(former) = former {
                    self.detach(&former, CloseReason::Replaced);
                }
            }
            // It was never let in, so there is nothing to tell of.
            Err(IsClosed) => {
                let _ = peer.reason.set(CloseReason::Closed);
                lock(&peer.rooms).take();
            }
        }
        Connection {
            id,
            serial,
            frames,
            reason,
            registry: Arc::downgrade(self),
        }
    }

    pub(crate) fn subscribe(&self, id: &ConnectionId, room: RoomId) -> bool {
        self.peer(id).is_some_and(|peer| self.enter(&peer, room))
    }

    pub(crate) fn unsubscribe(&self, id: &ConnectionId, room: &RoomId) -> bool {
        let Some(peer) = self.peer(id) else {
            return false;
        };
        let mut rooms = lock(&peer.rooms);
        let was_in = rooms.as_mut().is_some_and(|rooms| rooms.remove(room));
        if was_in {
            self.leave(room, peer.serial);
        }
        was_in
    }

    pub(crate) fn disconnect(&self, id: &ConnectionId) -> bool {
        let peer = lock(&self.index).peers.remove(id);
        if let Some(peer) = &peer {
            self.detach(peer, CloseReason::Disconnected);
        }
        peer.is_some()
    }

    /// Ends this very connection, and not another that has its id by now.
    pub(crate) fn hang_up(&self, id: &ConnectionId, serial: u64, reason: CloseReason) {
        let peer = lock(&self.index).remove(id, serial);
        if let Some(peer) = peer {
            self.detach(&peer, reason);
        }
    }

    /// Ends every connection; one that comes later has ended already.
    pub(crate) fn close(&self) {
        let peers = {
            let mut index = lock(&self.index);
            index.closed = true;
            std::mem::take(&mut index.peers)
        };
        for peer in peers.values() {
            self.detach(peer, CloseReason::Closed);
        }
    }

    /// How many connections a room has.
    pub(crate) fn count(&self, room: &RoomId) -> usize {
        self.shard(room).map_or(0, |shard| {
            read(shard)
                .get(room)
                .map_or(0, |audience| audience.peers.len())
        })
    }

    /// How many connections there are.
    pub(crate) fn count_all(&self) -> usize {
        lock(&self.index).peers.len()
    }

    /// How many connections were cut because they were slow.
    pub(crate) fn slow(&self) -> u64 {
        self.slow.load(Ordering::Relaxed)
    }

    /// Queues the event for every connection of the room, and cuts those whose queue is full.
    pub(crate) fn send_event(&self, event: &Arc<RoomEvent>) {
        let room = &event.room_id;
        let Some(shard) = self.shard(room) else {
            return;
        };
        let frame = Frame::from(Arc::clone(event));
        let (slow, was_shown) = match read(shard).get(room) {
            Some(audience) => (
                queue(&audience.peers, &frame),
                !audience.unfinished.is_empty(),
            ),
            None => return,
        };
        if was_shown {
            // It may be an answer that this channel has left the stream of.
            self.change(room, |audience| audience.unfinished.forget(&event.id));
        }
        self.cut(room, slow);
    }

    /// Queues a piece of an answer likewise. A client that joins gets what it has missed first.
    pub(crate) fn send_frame(&self, frame: &StreamFrame) {
        let room = frame.room_id();
        let live = Frame::Stream(LiveFrame::new(frame.clone()));
        let slow = self.change(room, |audience| {
            audience.unfinished.note(frame);
            queue(&audience.peers, &live)
        });
        self.cut(room, slow.unwrap_or_default());
    }

    fn cut(&self, room: &RoomId, slow: Vec<Arc<Peer>>) {
        for peer in slow {
            self.slow.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                channel_id = %self.channel, room_id = %room, connection_id = %peer.id,
                queue_capacity = self.queue_capacity, "slow connection cut: its queue is full"
            );
            self.hang_up(&peer.id, peer.serial, CloseReason::Slow);
        }
    }

    /// Changes a room's audience; one without connections and answers is forgotten.
    fn change<T>(&self, room: &RoomId, change: impl FnOnce(&mut Audience) -> T) -> Option<T> {
        let mut shard = write(self.shard(room)?);
        let audience = shard.entry(room.clone()).or_default();
        let changed = change(audience);
        if audience.peers.is_empty() && audience.unfinished.is_empty() {
            shard.remove(room);
        }
        Some(changed)
    }

    fn peer(&self, id: &ConnectionId) -> Option<Arc<Peer>> {
        lock(&self.index).peers.get(id).cloned()
    }

    fn shard(&self, room: &RoomId) -> Option<&Shard> {
        let at = usize::try_from(self.hasher.hash_one(room) % SHARDS).unwrap_or_default();
        self.shards.get(at)
    }

    /// Lets the connection hear the room; `false` when it has ended.
    fn enter(&self, peer: &Arc<Peer>, room: RoomId) -> bool {
        let mut rooms = lock(&peer.rooms);
        let Some(rooms) = rooms.as_mut() else {
            return false;
        };
        if rooms.insert(room.clone()) {
            self.change(&room, |audience| {
                for missed in audience.unfinished.catch_up() {
                    // A queue that is full already is cut at the next frame.
                    let _ = peer.frames.try_send(missed);
                }
                audience.peers.insert(peer.serial, Arc::clone(peer));
            });
        }
        true
    }

    fn leave(&self, room: &RoomId, serial: u64) {
        self.change(room, |audience| audience.peers.remove(&serial));
    }

    /// Ends a connection that the index holds no longer. The first reason stands.
    fn detach(&self, peer: &Peer, reason: CloseReason) {
        let _ = peer.reason.set(reason);
        let rooms = {
            let mut rooms = lock(&peer.rooms);
            let rooms = rooms.take();
            for room in rooms.iter().flatten() {
                self.leave(room, peer.serial);
            }
            rooms
        };
        if rooms.is_some() {
            self.notify(FrameworkEventType::ChannelDisconnected, peer, None);
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Registry")
            .field("connections", &self.count_all())
            .finish_non_exhaustive()
    }
}

/// Queues the frame for each of the connections and returns those whose queue is full.
///
/// A connection that has been cut gets nothing more, though its queue may have a place again: a
/// client sees the events of a room up to some point, and never one after a gap.
fn queue(peers: &Peers, frame: &Frame) -> Vec<Arc<Peer>> {
    let mut slow = Vec::new();
    for peer in peers.values().filter(|peer| peer.reason.get().is_none()) {
        let sent = peer.frames.try_send(frame.clone());
        let is_full = matches!(sent, Err(TrySendError::Full(_)));
        if is_full && peer.reason.set(CloseReason::Slow).is_ok() {
            slow.push(Arc::clone(peer));
        }
    }
    slow
}

// The maps stay whole even where a holder of a lock panicked.

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
