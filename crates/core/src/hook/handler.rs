//! One hook: its function, whatever its future's type, with the options it was registered with.

use std::any::{Any, TypeId};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use super::{BoxError, HookMode, HookOptions, HookPoint, HookTrigger, IntoHookReturn};
use crate::context::RoomContext;

/// Calls a hook and polls its answer once.
pub(super) type Call<P, R> =
    Box<dyn Fn(P, RoomContext, &mut Context<'_>) -> First<R> + Send + Sync>;

/// The answer of a hook that did not give it at once.
pub(super) type Later<R> = BoxFuture<'static, Result<R, BoxError>>;

/// What came of a hook's first poll.
pub(super) enum First<R> {
    Answer(Result<R, BoxError>),
    Later(Later<R>),
}

/// The function of a hook: one that decides, or one that looks on after the pass.
pub(super) enum Handler<P: HookPoint> {
    Decides(Call<P::Payload, P::Returns>),
    Observes(Call<P::Payload, ()>),
}

/// Polls the future of a hook for the first time.
///
/// It is polled where its type is known. So the compiler sees which hooks never wait, and makes no
/// allocation for them.
fn first<R: 'static, F>(future: F, cx: &mut Context<'_>) -> First<R>
where
    F: Future<Output: IntoHookReturn<R>> + Send + 'static,
{
    let mut future = Box::pin(future);
    match future.as_mut().poll(cx) {
        Poll::Ready(answer) => First::Answer(answer.into_hook_return()),
        Poll::Pending => First::Later(Box::pin(async move { future.await.into_hook_return() })),
    }
}

/// A hook of any point, ready to be registered.
#[derive(Clone)]
pub struct Hook {
    pub(super) point: TypeId,
    pub(super) trigger: HookTrigger,
    /// Whether it looks on after the pass.
    pub(super) observes: bool,
    /// Whether the options leave out some sources.
    pub(super) filters: bool,
    pub(super) options: Arc<HookOptions>,
    /// A `Handler<P>` of the point whose `TypeId` is `point`.
    pub(super) handler: Arc<dyn Any + Send + Sync>,
    pub(super) order: u64,
}

impl Hook {
    /// A hook of point `P`, called as the point's mode says.
    pub fn new<P, F, Fut>(_point: P, options: impl Into<HookOptions>, function: F) -> Self
    where
        P: HookPoint,
        F: Fn(P::Payload, RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<P::Returns>,
    {
        let call: Call<P::Payload, P::Returns> =
            Box::new(move |payload, context, cx| first(function(payload, context), cx));
        Self::erase::<P>(options.into(), Handler::Decides(call))
    }

    /// A hook that looks on after the pass, also at a point whose other hooks decide (RFC §9.3).
    pub fn observer<P, F, Fut>(_point: P, options: impl Into<HookOptions>, function: F) -> Self
    where
        P: HookPoint,
        F: Fn(P::Payload, RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<()>,
    {
        let call: Call<P::Payload, ()> =
            Box::new(move |payload, context, cx| first(function(payload, context), cx));
        Self::erase::<P>(options.into(), Handler::Observes(call))
    }

    fn erase<P: HookPoint>(options: HookOptions, handler: Handler<P>) -> Self {
        Self {
            filters: options.filters(),
            point: TypeId::of::<P>(),
            trigger: P::TRIGGER,
            observes: P::MODE == HookMode::Async || matches!(handler, Handler::Observes(_)),
            options: Arc::new(options),
            handler: Arc::new(handler),
            order: 0,
        }
    }

    /// The trigger of the hook's point.
    #[must_use]
    pub fn trigger(&self) -> HookTrigger {
        self.trigger
    }

    /// The hook's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    pub(super) fn key(&self) -> (i32, u64) {
        (self.options.priority, self.order)
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("trigger", &self.trigger)
            .field("observes", &self.observes)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
