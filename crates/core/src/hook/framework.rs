//! Framework events: global notices of what the kit does, stored in no timeline (RFC §8.2).

use std::sync::Arc;

use super::Listeners;
use crate::model::{FrameworkEvent, FrameworkEventType};
use crate::sync::tasks::Tasks;

/// The listeners of `kit.on(...)`, each to one type of event or, without a type, to all.
pub(crate) type FrameworkEvents = Listeners<Option<FrameworkEventType>, FrameworkEvent>;

impl FrameworkEvents {
    /// Tells the listeners; `event` is made only where there is one.
    pub(crate) fn emit(
        &self,
        tasks: &Arc<Tasks>,
        event_type: &FrameworkEventType,
        event: impl FnOnce() -> FrameworkEvent,
    ) {
        let wants = |of: &Option<FrameworkEventType>| of.as_ref().is_none_or(|of| of == event_type);
        self.tell(tasks, wants, event);
    }
}
