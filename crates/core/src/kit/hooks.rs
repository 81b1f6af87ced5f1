//! Registering hooks and listeners, and running the hooks of points outside the pipeline.
//!
//! Its rules: RFC §9.1 and §9.3; listeners are those of §8.2.

use std::future::Future;
use std::sync::Arc;

use super::{Inner, RoomKit, Rooms, WeakKit};
use crate::error::Result;
use crate::hook::{Hook, HookFailure, HookOptions, HookPoint, HookVerdict, IntoHookReturn};
use crate::model::{EventId, FrameworkEvent, FrameworkEventType, RoomId};
use crate::pipeline::Scope;

impl RoomKit {
    /// Registers a hook for all rooms. `options` is its name, or [`HookOptions`].
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, hook::{BeforeBroadcast, HookResult}};
    /// let kit = RoomKit::new();
    /// kit.hook(BeforeBroadcast, "profanity_filter", |event, _ctx| async move {
    ///     // Also the text of an edit or a caption: `event.text()` is plain text alone.
    ///     if event.content.texts().iter().any(|text| text.contains("badword")) {
    ///         return HookResult::block("profanity");
    ///     }
    ///     HookResult::allow()
    /// });
    /// ```
    pub fn hook<P, F, Fut>(&self, point: P, options: impl Into<HookOptions>, function: F)
    where
        P: HookPoint,
        F: Fn(P::Payload, crate::context::RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<P::Returns>,
    {
        self.inner().hooks.add(Hook::new(point, options, function));
    }

    /// Registers a hook that only looks on, after the pass, also where other hooks decide.
    pub fn observe<P, F, Fut>(&self, point: P, options: impl Into<HookOptions>, function: F)
    where
        P: HookPoint,
        F: Fn(P::Payload, crate::context::RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<()>,
    {
        self.inner()
            .hooks
            .add(Hook::observer(point, options, function));
    }

    /// Registers a hook that was made elsewhere.
    pub fn add_hook(&self, hook: Hook) {
        self.inner().hooks.add(hook);
    }

    /// Removes the hooks of this name that hold for all rooms; `false` when there was none.
    pub fn remove_hook(&self, name: &str) -> bool {
        self.inner().hooks.remove(name)
    }

    /// Calls `listener` with every framework event of one type, in order (RFC §8.2).
    ///
    /// ```
    /// # use roomkit_core::RoomKit;
    /// let kit = RoomKit::new();
    /// kit.on("room_created", |event| async move {
    ///     println!("room created: {:?}", event.room_id);
    /// });
    /// ```
    pub fn on<F, Fut>(&self, event_type: impl Into<FrameworkEventType>, listener: F)
    where
        F: Fn(FrameworkEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.inner()
            .events
            .listen(Some(event_type.into()), listener);
    }

    /// The time of the kit's clock.
    #[must_use]
    pub fn now(&self) -> chrono::DateTime<chrono::Utc> {
        self.inner().clock.now()
    }

    /// Tells the listeners of something that a channel or a source noticed, such as a connection.
    pub fn emit(&self, event: FrameworkEvent) {
        let inner = self.inner();
        let event_type = event.event_type.clone();
        inner.events.emit(&inner.tasks, &event_type, || event);
    }

    /// As [`emit`](Self::emit), for what happens often: the event is made only where somebody listens.
    pub fn emit_with(
        &self,
        event_type: impl Into<FrameworkEventType>,
        fill: impl FnOnce(&mut FrameworkEvent),
    ) {
        self.inner().emit(event_type.into(), fill);
    }

    /// Calls `listener` with every framework event, in order.
    pub fn on_any<F, Fut>(&self, listener: F)
    where
        F: Fn(FrameworkEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.inner().events.listen(None, listener);
    }
}

impl Rooms {
    /// Registers a hook for one room.
    ///
    /// It lasts as long as this process; hooks that are to survive a restart come from a
    /// [`RoomHooks`](crate::hook::RoomHooks) provider.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn add_room_hook(&self, room: impl Into<RoomId>, hook: Hook) -> Result<()> {
        let room = room.into();
        self.inner().visible_room(&self.scope, &room).await?;
        self.inner().hooks.add_to_room(&room, hook);
        Ok(())
    }

    /// Removes the hooks of this name from one room; `false` when there was none.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn remove_room_hook(&self, room: impl Into<RoomId>, name: &str) -> Result<bool> {
        let room = room.into();
        self.inner().visible_room(&self.scope, &room).await?;
        Ok(self.inner().hooks.remove_from_room(&room, name))
    }

    /// Runs the hooks of a point of a channel's own: those that decide, one after the other, then
    /// those that look on, in the background. Their tasks and observations are stored. A hook that
    /// fails is told of by a framework event, as in the pipeline.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound), or where the store fails.
    pub async fn run_hooks<P: HookPoint>(
        &self,
        _point: P,
        room: impl Into<RoomId>,
        payload: P::Payload,
    ) -> Result<HookVerdict<P::Payload>> {
        self.inner()
            .run_hooks::<P>(&self.scope, room.into(), payload)
            .await
    }
}

impl WeakKit {
    /// As [`Rooms::run_hooks`], without keeping the kit while the hooks run: when its last handle goes,
    /// what waits for them goes too. `None` where the kit is gone.
    ///
    /// # Errors
    /// As [`Rooms::run_hooks`].
    pub async fn run_hooks<P: HookPoint>(
        &self,
        _point: P,
        room: impl Into<RoomId> + Send,
        payload: P::Payload,
    ) -> Option<Result<HookVerdict<P::Payload>>> {
        let inner = Arc::clone(&self.alive.upgrade()?.inner);
        if !inner.may_have_hooks::<P>() {
            return Some(Ok(HookVerdict::Allowed(payload)));
        }
        let room = room.into();
        // Boxed: most points have no hooks, and what waits for them is to be small.
        let run = async move {
            let everywhere = Scope(None);
            inner.run_hooks::<P>(&everywhere, room, payload).await
        };
        Some(Box::pin(run).await)
    }
}

impl Inner {
    /// Whether there may be hooks of `P` in some room.
    pub(crate) fn may_have_hooks<P: HookPoint>(&self) -> bool {
        let may_have = |observes| self.hooks.may_have::<P>(observes);
        self.hooks.has_provider() || may_have(true) || may_have(false)
    }

    async fn run_hooks<P: HookPoint>(
        self: &Arc<Self>,
        scope: &Scope,
        room: RoomId,
        payload: P::Payload,
    ) -> Result<HookVerdict<P::Payload>> {
        let inner = self;
        let snapshot = inner.visible_room(scope, &room).await?;
        if !inner.may_have_hooks::<P>() {
            return Ok(HookVerdict::Allowed(payload));
        }
        inner.loaded_hooks(&snapshot.room).await?;
        let context = inner.context(snapshot);
        if P::MODE == crate::hook::HookMode::Async {
            inner.observe::<P>(&context, &payload);
            return Ok(HookVerdict::Allowed(payload));
        }
        let outcome = inner.hooks.run::<P>(&context, payload, |_| Ok(())).await;
        inner.report_hook_failures(&room, None, &outcome.failures);
        if let Some(effects) = outcome.effects {
            crate::pipeline::pass::store_effects(
                inner,
                &room,
                effects.tasks,
                effects.observations,
                crate::model::Metadata::new(),
            )
            .await?;
        }
        if let HookVerdict::Allowed(payload) = &outcome.verdict {
            inner.observe::<P>(&context, payload);
        }
        Ok(outcome.verdict)
    }

    /// Tells of deciding hooks that failed: `hook_error` for each, and `hook_timeout` as well for one
    /// that took too long.
    pub(crate) fn report_hook_failures(
        &self,
        room: &RoomId,
        event: Option<&EventId>,
        failures: &[HookFailure],
    ) {
        for failure in failures {
            let timed_out = failure.timed_out.then_some(FrameworkEventType::HookTimeout);
            for kind in std::iter::once(FrameworkEventType::HookError).chain(timed_out) {
                self.emit(kind, |notice| {
                    notice.room_id = Some(room.clone());
                    notice.event_id = event.cloned();
                    notice.data.insert("hook_name", failure.hook.as_str());
                    notice.data.insert("trigger", failure.trigger.as_str());
                    notice.data.insert("error", failure.error.as_str());
                });
            }
        }
    }
}
