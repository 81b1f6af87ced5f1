//! Properties of the tasks of a kit: what is under way, its end, and its abort.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use tokio::task::{alive, spawn, yield_now};

use crate::watch::{Count, Log};

/// What is under way: the shipped counter, or one with faults.
pub(crate) trait Work: Send + Sync + 'static {
    fn make() -> Arc<Self>;
    fn call(
        self: &Arc<Self>,
        work: BoxFuture<'static, ()>,
    ) -> impl Future<Output = Option<()>> + Send;
    fn background(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static);
    fn idle(&self) -> impl Future<Output = ()> + Send;
    fn end(&self);
}

macro_rules! work {
    ($($path:ident)::+) => {
        impl Work for $($path)::+::Tasks {
            fn make() -> Arc<Self> {
                Arc::new(Self::default())
            }

            async fn call(self: &Arc<Self>, work: BoxFuture<'static, ()>) -> Option<()> {
                self.run_to_end(work).await.map(|ended| assert!(ended.is_ok(), "the work panicked"))
            }

            fn background(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
                self.spawn(work);
            }

            fn idle(&self) -> impl Future<Output = ()> + Send {
                self.idle()
            }

            fn end(&self) {
                self.abort_all();
            }
        }
    };
}

work!(crate::shipped::tasks);
work!(roomkit_shuttle_mutants::sync::tasks);

/// A call whose work has to wait, and so becomes a task, is under way all the time.
pub(crate) fn under_way_all_the_time<W: Work>() {
    let work = W::make();
    let (under_way, begun) = (Count::default(), Log::new());
    let caller = {
        let (work, under_way, begun) = (Arc::clone(&work), under_way.clone(), begun.clone());
        spawn(async move {
            let begins = async move {
                let _here = under_way.enter();
                begun.push(());
                yield_now().await;
            };
            work.call(Box::pin(begins)).await
        })
    };
    block_on(async {
        while begun.len() == 0 {
            yield_now().await;
        }
        work.idle().await;
        assert_eq!(under_way.now(), 0, "something is under way");
        assert_eq!(
            caller.await.ok().flatten(),
            Some(()),
            "a call without answer"
        );
    });
}

/// Where nothing new is let in, idle means that nothing is under way: what callers began has ended,
/// also that of callers who went away.
pub(crate) fn idle_when_all_has_ended<W: Work>() {
    let work = W::make();
    let shut = Arc::new(AtomicBool::new(false));
    let (under_way, done) = (Count::default(), Log::new());
    let callers: Vec<_> = (0..3_u8)
        .map(|who| {
            let (work, shut) = (Arc::clone(&work), Arc::clone(&shut));
            let (under_way, done) = (under_way.clone(), done.clone());
            spawn(async move {
                let background = Arc::clone(&work);
                let begins = async move {
                    if shut.load(Ordering::SeqCst) {
                        return;
                    }
                    let here = under_way.enter();
                    for _ in 0..who {
                        yield_now().await;
                    }
                    let after = under_way.enter();
                    background.background(async move {
                        yield_now().await;
                        drop(after);
                    });
                    drop(here);
                    done.push(who);
                };
                work.call(Box::pin(begins)).await
            })
        })
        .collect();
    for caller in callers.iter().skip(2) {
        caller.abort();
    }
    block_on(async {
        shut.store(true, Ordering::SeqCst);
        work.idle().await;
        assert_eq!(under_way.now(), 0, "something is under way");
        for (who, caller) in callers.into_iter().enumerate() {
            match caller.await {
                Ok(answer) => assert_eq!(answer, Some(()), "a call without answer"),
                Err(_gone) => assert!(who >= 2, "a call was aborted"),
            }
        }
        work.idle().await;
        assert_eq!(alive(), 0, "a task is left");
    });
}

/// After the end what was under way goes, nothing begins once it has gone, and every caller has an
/// answer.
pub(crate) fn nothing_after_the_end<W: Work>() {
    let work = W::make();
    let (under_way, ended) = (Count::default(), Log::new());
    let callers: Vec<_> = (0..3_u8)
        .map(|who| {
            let (work, under_way) = (Arc::clone(&work), under_way.clone());
            let ended = ended.clone();
            spawn(async move {
                let here = under_way.clone();
                let begins = async move {
                    assert_eq!(ended.len(), 0, "something begins after the end");
                    let _here = here.enter();
                    if who > 0 {
                        std::future::pending::<()>().await;
                    }
                };
                if who == 2 {
                    work.background(begins);
                } else {
                    work.call(Box::pin(begins)).await;
                }
            })
        })
        .collect();
    block_on(async {
        yield_now().await;
        work.end();
        // In vain where a task goes on for ever, which the checker reports.
        work.idle().await;
        assert_eq!(under_way.now(), 0, "something is under way");
        ended.push(());
        for caller in callers {
            caller.await.expect("every call is answered");
        }
    });
}

/// What a caller who goes away has begun goes on to its end.
pub(crate) fn work_outlives_its_caller<W: Work>() {
    let work = W::make();
    let (begun, done) = (Log::new(), Log::new());
    let caller = {
        let (work, begun, done) = (Arc::clone(&work), begun.clone(), done.clone());
        spawn(async move {
            let begins = async move {
                begun.push(());
                yield_now().await;
                yield_now().await;
                done.push(());
            };
            work.call(Box::pin(begins)).await
        })
    };
    block_on(async {
        caller.abort();
        let _ = caller.await;
        work.idle().await;
        assert_eq!(begun.len(), done.len(), "the work went with its caller");
    });
}
