//! Properties of the room locks of one process, through the trait that the kit uses.

/// The properties on one build of the core.
macro_rules! properties {
    ($build:ident, $core:ident) => {
        pub(crate) mod $build {
            use std::sync::Arc;

            use futures_util::FutureExt;
            use shuttle::future::block_on;
            use tokio::task::{spawn, yield_now};
            use $core::sync::{InProcessLocks, RoomLockManager};

            use crate::watch::{Count, Log};

            /// One at a time has the lock, whoever waits and does not give up gets it, and an idle room is
            /// forgotten, though others give up while they wait, when they have just been called, and while they
            /// have it.
            pub(crate) fn one_at_a_time() {
                let locks = Arc::new(InProcessLocks::new());
                let inside = Count::default();
                let served = Log::new();
                let tasks: Vec<_> = (0..5_u8)
                    .map(|who| {
                        let (locks, inside, served) =
                            (Arc::clone(&locks), inside.clone(), served.clone());
                        spawn(async move {
                            for _ in 0..2 {
                                let room = "r".into();
                                let mut waiting = locks.acquire(&room);
                                if who >= 3 {
                                    // Waits for a while and gives up, which drops the lock where it has come.
                                    for _ in 0..2 {
                                        if (&mut waiting).now_or_never().is_some() {
                                            break;
                                        }
                                        yield_now().await;
                                    }
                                    continue;
                                }
                                let held = waiting.await.expect("a lock in the process");
                                assert_eq!(inside.now(), 0, "two at a time");
                                let here = inside.enter();
                                served.push(who);
                                yield_now().await;
                                drop((here, held));
                            }
                        })
                    })
                    .collect();
                for task in tasks.iter().skip(2) {
                    task.abort();
                }
                block_on(async {
                    for (who, task) in tasks.into_iter().enumerate() {
                        assert!(task.await.is_ok() || who >= 2, "a task failed");
                    }
                });
                let stayed = served.take().iter().filter(|who| **who < 2).count();
                assert_eq!(stayed, 4, "somebody was forgotten");
                assert_eq!(locks.locked_rooms(), 0, "a room is left");
            }

            /// Who holds one room keeps nobody from another.
            pub(crate) fn rooms_are_apart() {
                let locks = Arc::new(InProcessLocks::new());
                block_on(async {
                    let held = locks.acquire(&"a".into()).await;
                    let tasks: Vec<_> = (0..3_u8)
                        .map(|_| {
                            let locks = Arc::clone(&locks);
                            spawn(async move { drop(locks.acquire(&"b".into()).await) })
                        })
                        .collect();
                    for task in tasks {
                        task.await.expect("nobody gives up");
                    }
                    assert_eq!(locks.locked_rooms(), 1, "of the other room nothing is left");
                    drop(held);
                });
                assert_eq!(locks.locked_rooms(), 0, "a room is left");
            }
        }
    };
}

properties!(shipped, roomkit_core_checked);
properties!(mutant, roomkit_shuttle_mutants);
