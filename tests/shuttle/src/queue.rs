//! Properties of the keyed queue, of which locks and lanes are made.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use shuttle::future::block_on;
use shuttle::sync::Mutex;
use tokio::task::{JoinHandle, spawn, yield_now};

use crate::watch::{Count, Log, is_part};

/// A queue by key: the shipped one, or one with faults.
pub(crate) trait Queue: Send + Sync + 'static {
    type Place: Place;

    fn make() -> Arc<Self>;
    fn enter(self: &Arc<Self>, key: u8, capacity: usize) -> Option<Self::Place>;
    fn keys_in_use(&self) -> usize;
}

/// A place in it.
pub(crate) trait Place: Send + Sync + 'static {
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

macro_rules! queue {
    ($($path:ident)::+) => {
        impl Queue for $($path)::+::KeyedQueue<u8> {
            type Place = $($path)::+::Ticket<u8>;

            fn make() -> Arc<Self> {
                Arc::new(Self::new())
            }

            fn enter(self: &Arc<Self>, key: u8, capacity: usize) -> Option<Self::Place> {
                self.enqueue(key, capacity)
            }

            fn keys_in_use(&self) -> usize {
                self.len()
            }
        }

        impl Place for $($path)::+::Ticket<u8> {
            fn wait(&self) -> impl Future<Output = ()> + Send {
                self.turn()
            }
        }
    };
}

queue!(crate::shipped::queue);
queue!(roomkit_shuttle_mutants::sync::queue);

/// Who waits is woken, whenever the one before leaves: the checker reports who is not.
pub(crate) fn woken_when_called<Q: Queue>() {
    let queue = Q::make();
    let held = queue.enter(0, 1).expect("the first place");
    let next = queue.enter(0, 1).expect("the second place");
    let waits = spawn(async move { next.wait().await });
    drop(held);
    block_on(waits).expect("nobody gives up");
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// Those who take their places under a lock are served in that order, one at a time, though some
/// give up at any moment; nobody who does not give up is forgotten, and nothing is left.
pub(crate) fn served_in_order<Q: Queue>() {
    let queue = Q::make();
    let taking = Arc::new(Mutex::new(()));
    let (taken, served) = (Log::new(), Log::new());
    let inside = Count::default();
    let tasks: Vec<_> = (0..4_u8)
        .map(|who| {
            let (queue, taking) = (Arc::clone(&queue), Arc::clone(&taking));
            let (taken, served, inside) = (taken.clone(), served.clone(), inside.clone());
            spawn(async move {
                for round in 0..2_u8 {
                    let place = {
                        let _taking = taking.lock();
                        taken.push((who, round));
                        queue.enter(0, usize::MAX)
                    };
                    let place = place.expect("a queue without limit");
                    place.wait().await;
                    assert_eq!(inside.now(), 0, "two at a time");
                    let _here = inside.enter();
                    served.push((who, round));
                    yield_now().await;
                }
            })
        })
        .collect();
    block_on(give_up_every_other(tasks));
    let (taken, served) = (taken.take(), served.take());
    let stayed = served.iter().filter(|(who, _)| who % 2 == 1).count();
    assert_eq!(stayed, 4, "somebody was forgotten");
    assert!(is_part(&served, &taken), "{served:?} out of {taken:?}");
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// One at a time, where places are taken and given up without any lock around.
pub(crate) fn one_at_a_time<Q: Queue>() {
    let queue = Q::make();
    let inside = Count::default();
    let served = Log::new();
    let tasks: Vec<_> = (0..4_u8)
        .map(|who| {
            let (queue, inside, served) = (Arc::clone(&queue), inside.clone(), served.clone());
            spawn(async move {
                for _ in 0..2 {
                    let place = queue.enter(0, usize::MAX).expect("a queue without limit");
                    place.wait().await;
                    assert_eq!(inside.now(), 0, "two at a time");
                    let _here = inside.enter();
                    served.push(who);
                    yield_now().await;
                }
            })
        })
        .collect();
    block_on(give_up_every_other(tasks));
    let stayed = served.take().iter().filter(|who| *who % 2 == 1).count();
    assert_eq!(stayed, 4, "somebody was forgotten");
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// No more wait than there are places, whether some give up or not, and no place is lost.
pub(crate) fn bounded<Q: Queue>() {
    const PLACES: usize = 2;
    let queue = Q::make();
    let there = Count::default();
    let tasks: Vec<_> = (0..6_u8)
        .map(|who| {
            let (queue, there) = (Arc::clone(&queue), there.clone());
            spawn(async move {
                for _ in 0..2 {
                    let Some(place) = queue.enter(0, PLACES) else {
                        yield_now().await;
                        continue;
                    };
                    // Counted after it was taken, and not any more before it is given up.
                    let here = there.enter();
                    assert!(there.now() <= PLACES + 1, "more than may wait");
                    if who % 2 == 0 {
                        place.wait().await;
                    }
                    yield_now().await;
                    drop(here);
                }
            })
        })
        .collect();
    block_on(async {
        for task in tasks {
            task.await.expect("nobody is aborted");
        }
    });
    let places: Vec<_> = (0..=PLACES).map_while(|_| queue.enter(0, PLACES)).collect();
    assert_eq!(places.len(), PLACES + 1, "a place is lost");
    assert!(queue.enter(0, PLACES).is_none(), "more than may wait");
    drop(places);
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// Where there are as many places as tasks nobody is refused, however often places are given up.
pub(crate) fn never_refused_without_need<Q: Queue>() {
    let queue = Q::make();
    let tasks: Vec<_> = (0..3_u8)
        .map(|who| {
            let queue = Arc::clone(&queue);
            spawn(async move {
                for _ in 0..3 {
                    let place = queue.enter(0, 2).expect("there is a place for each");
                    // Looked at once, then given up, by all but the first.
                    let wait = place.wait();
                    if who == 0 {
                        wait.await;
                    } else {
                        let _ = wait.now_or_never();
                    }
                }
            })
        })
        .collect();
    block_on(async {
        for task in tasks {
            task.await.expect("nobody gives up");
        }
    });
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// Who has one key keeps nobody from another, and each of two keys goes on.
pub(crate) fn keys_are_apart<Q: Queue>() {
    let queue = Q::make();
    let held = queue.enter(0, 9).expect("the first place");
    let tasks: Vec<_> = (0..3_u8)
        .map(|_| {
            let queue = Arc::clone(&queue);
            spawn(async move {
                let place = queue.enter(1, 9).expect("there is a place");
                place.wait().await;
            })
        })
        .collect();
    block_on(async {
        for task in tasks {
            task.await.expect("nobody gives up");
        }
    });
    assert_eq!(queue.keys_in_use(), 1, "of the other key nothing is left");
    drop(held);
    assert_eq!(queue.keys_in_use(), 0, "a key is left");
}

/// Aborts every other task at some moment, and waits for the end of all.
async fn give_up_every_other(tasks: Vec<JoinHandle<()>>) {
    for task in tasks.iter().step_by(2) {
        task.abort();
    }
    for (who, task) in tasks.into_iter().enumerate() {
        assert!(task.await.is_ok() || who % 2 == 0, "a task failed");
    }
}
