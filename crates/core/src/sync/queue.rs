//! A fair queue per key: a place is taken at once, its turn is waited for, an idle key costs nothing.
//!
//! Room locks and delivery lanes are both made of it. The place in the queue is fixed when it is
//! taken, not when it is first waited for, so whoever takes places in order is served in order.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::task::Poll;

use foldhash::fast::RandomState;

use super::atomic::{AtomicBool, Ordering};
use super::{AtomicWaker, Mutex, lock};

/// How many independent maps the keys are spread over; a power of two.
const SHARDS: usize = 32;

/// Who waits for each key. A key is in the map while somebody holds or waits for its head.
type Lines<K> = HashMap<K, Line, RandomState>;

/// Who waits for one key behind its head.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Arc<Waiter>>,
    /// How many of them have given up and are passed over.
    gone: usize,
}

/// Queues by key.
pub(crate) struct KeyedQueue<K> {
    shards: Box<[Mutex<Lines<K>>]>,
    hasher: RandomState,
}

struct Waiter {
    called: AtomicBool,
    gone: AtomicBool,
    waker: AtomicWaker,
}

impl Line {
    fn len(&self) -> usize {
        self.waiting.len().saturating_sub(self.gone)
    }

    /// Takes note that a waiter has given up. They are cleared away in bulk, so that giving up costs
    /// the same however many wait.
    fn give_up(&mut self, waiter: &Waiter) {
        waiter.gone.store(true, Ordering::Relaxed);
        self.gone += 1;
        if self.gone > self.waiting.len() / 2 {
            self.waiting
                .retain(|waiter| !waiter.gone.load(Ordering::Relaxed));
            self.gone = 0;
        }
    }

    fn next(&mut self) -> Option<Arc<Waiter>> {
        loop {
            let next = self.waiting.pop_front()?;
            if !next.gone.load(Ordering::Relaxed) {
                return Some(next);
            }
            self.gone = self.gone.saturating_sub(1);
        }
    }
}

impl<K: Eq + Hash + Clone> KeyedQueue<K> {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
        }
    }

    fn shard(&self, key: &K) -> Option<&Mutex<Lines<K>>> {
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or_default();
        self.shards.get(hash)
    }

    /// Takes the last place of `key`'s queue, or `None` when `capacity` are waiting there already.
    pub(crate) fn enqueue(self: &Arc<Self>, key: K, capacity: usize) -> Option<Ticket<K>> {
        let waiter = {
            let mut lines = lock(self.shard(&key)?);
            match lines.get_mut(&key) {
                None => {
                    lines.insert(key.clone(), Line::default());
                    None
                }
                Some(line) if line.len() >= capacity => return None,
                Some(line) => {
                    let waiter = Arc::new(Waiter {
                        called: AtomicBool::new(false),
                        gone: AtomicBool::new(false),
                        waker: AtomicWaker::new(),
                    });
                    line.waiting.push_back(Arc::clone(&waiter));
                    Some(waiter)
                }
            }
        };
        Some(Ticket {
            queue: Arc::clone(self),
            key,
            waiter,
        })
    }

    /// How many keys are held or waited for.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// The keys that are held or waited for.
    pub(crate) fn keys(&self) -> Vec<K> {
        self.shards
            .iter()
            .flat_map(|shard| lock(shard).keys().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Gives up a place; the head calls the next in line.
    fn leave(&self, key: &K, waiter: Option<&Arc<Waiter>>) {
        let Some(shard) = self.shard(key) else { return };
        let next = {
            let mut lines = lock(shard);
            let Some(line) = lines.get_mut(key) else {
                return;
            };
            if let Some(waiter) = waiter.filter(|waiter| !waiter.called.load(Ordering::Acquire)) {
                line.give_up(waiter);
                return;
            }
            let next = line.next();
            match &next {
                Some(next) => next.called.store(true, Ordering::Release),
                None => drop(lines.remove(key)),
            }
            next
        };
        if let Some(next) = next {
            next.waker.wake();
        }
    }
}

impl<K> fmt::Debug for KeyedQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedQueue").finish_non_exhaustive()
    }
}

/// A place in a [`KeyedQueue`]; dropping it gives the place up, waited for or not.
pub(crate) struct Ticket<K: Eq + Hash + Clone> {
    queue: Arc<KeyedQueue<K>>,
    key: K,
    /// `None` for a place that was the head when it was taken.
    waiter: Option<Arc<Waiter>>,
}

impl<K: Eq + Hash + Clone> Ticket<K> {
    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// Returns when this place is the head of its queue.
    pub(crate) async fn turn(&self) {
        let Some(waiter) = &self.waiter else { return };
        poll_fn(|cx| {
            if waiter.called.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            waiter.waker.register(cx.waker());
            if waiter.called.load(Ordering::Acquire) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

impl<K: Eq + Hash + Clone> Drop for Ticket<K> {
    fn drop(&mut self) {
        self.queue.leave(&self.key, self.waiter.as_ref());
    }
}

impl<K: Eq + Hash + Clone> fmt::Debug for Ticket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("head_at_once", &self.waiter.is_none())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(roomkit_shuttle)))]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn queue() -> Arc<KeyedQueue<&'static str>> {
        Arc::new(KeyedQueue::new())
    }

    #[test]
    fn turns_come_in_the_order_in_which_places_were_taken() {
        let queue = queue();
        let first = queue.enqueue("a", 9).unwrap();
        let second = queue.enqueue("a", 9).unwrap();
        let third = queue.enqueue("a", 9).unwrap();
        assert!(third.turn().now_or_never().is_none());
        assert!(first.turn().now_or_never().is_some());
        drop(first);
        assert!(
            third.turn().now_or_never().is_none(),
            "the third may not overtake"
        );
        assert!(second.turn().now_or_never().is_some());
        drop(second);
        assert!(third.turn().now_or_never().is_some());
    }

    #[test]
    fn keys_do_not_wait_for_one_another() {
        let queue = queue();
        let _a = queue.enqueue("a", 9).unwrap();
        let b = queue.enqueue("b", 9).unwrap();
        assert!(b.turn().now_or_never().is_some());
    }

    #[test]
    fn a_place_given_up_while_waiting_is_skipped() {
        let queue = queue();
        let first = queue.enqueue("a", 9).unwrap();
        let second = queue.enqueue("a", 9).unwrap();
        let third = queue.enqueue("a", 9).unwrap();
        drop(second);
        drop(first);
        assert!(third.turn().now_or_never().is_some());
    }

    #[test]
    fn a_place_given_up_after_it_was_called_calls_the_next() {
        let queue = queue();
        let first = queue.enqueue("a", 9).unwrap();
        let second = queue.enqueue("a", 9).unwrap();
        let third = queue.enqueue("a", 9).unwrap();
        drop(first);
        drop(second);
        assert!(third.turn().now_or_never().is_some());
    }

    #[test]
    fn a_full_queue_gives_no_place_and_an_idle_one_leaves_nothing() {
        let queue = queue();
        let head = queue.enqueue("a", 1).unwrap();
        let waiting = queue.enqueue("a", 1).unwrap();
        assert!(queue.enqueue("a", 1).is_none());
        assert_eq!(queue.len(), 1);
        drop((head, waiting));
        assert_eq!(queue.len(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_at_a_time_under_contention() {
        let queue = queue();
        let inside = Arc::new(AtomicBool::new(false));
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (queue, inside) = (Arc::clone(&queue), Arc::clone(&inside));
                tokio::spawn(async move {
                    for _ in 0..100 {
                        let ticket = queue.enqueue("a", 64).unwrap();
                        ticket.turn().await;
                        assert!(!inside.swap(true, Ordering::SeqCst));
                        tokio::task::yield_now().await;
                        inside.store(false, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(queue.len(), 0);
    }
}
