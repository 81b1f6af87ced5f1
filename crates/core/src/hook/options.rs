//! How a hook is registered: its name, order, time limit and what it applies to (RFC §9.1).

use std::collections::HashSet;
use std::time::Duration;

use crate::model::{ChannelDirection, ChannelId, ChannelType, EventSource};

/// Options of a hook's registration.
///
/// ```
/// use roomkit_core::hook::HookOptions;
/// use roomkit_core::model::ChannelType;
///
/// let options = HookOptions::new("sms_audit").priority(10).channel_types([ChannelType::Sms]);
/// assert_eq!(options.name(), "sms_audit");
/// ```
#[derive(Debug, Clone)]
pub struct HookOptions {
    pub(crate) name: String,
    pub(crate) priority: i32,
    pub(crate) timeout: Duration,
    pub(crate) channel_types: Option<HashSet<ChannelType>>,
    pub(crate) channel_ids: Option<HashSet<ChannelId>>,
    pub(crate) directions: Option<HashSet<ChannelDirection>>,
    pub(crate) hold_streams: bool,
}

impl HookOptions {
    /// Priority 0, a time limit of 30 seconds, no filter.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            priority: 0,
            timeout: Duration::from_secs(30),
            channel_types: None,
            channel_ids: None,
            directions: None,
            hold_streams: false,
        }
    }

    /// The hook's name, which a blocked event carries as `blocked_by`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lower runs first; hooks of equal priority run in the order of registration. Default: 0.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// How long one call may take before it counts as failed. Default: 30 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Only for payloads that come from channels of these types.
    #[must_use]
    pub fn channel_types(mut self, types: impl IntoIterator<Item = ChannelType>) -> Self {
        self.channel_types = Some(types.into_iter().collect());
        self
    }

    /// Only for payloads that come from these channels.
    #[must_use]
    pub fn channel_ids<C: Into<ChannelId>>(mut self, ids: impl IntoIterator<Item = C>) -> Self {
        self.channel_ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Only for payloads of these directions.
    #[must_use]
    pub fn directions(mut self, directions: impl IntoIterator<Item = ChannelDirection>) -> Self {
        self.directions = Some(directions.into_iter().collect());
        self
    }

    /// Holds streamed answers that match the filters back until this hook has spoken; without it
    /// channels see them come, and a block or change by the hook takes them back. Default: off.
    #[must_use]
    pub fn hold_streams(mut self) -> Self {
        self.hold_streams = true;
        self
    }

    /// Whether a payload with this source passes all filters.
    pub(crate) fn matches(&self, source: Option<&EventSource>) -> bool {
        let accepts = |source: &EventSource| {
            self.channel_types
                .as_ref()
                .is_none_or(|types| types.contains(&source.channel_type))
                && self
                    .channel_ids
                    .as_ref()
                    .is_none_or(|ids| ids.contains(&source.channel_id))
                && self
                    .directions
                    .as_ref()
                    .is_none_or(|of| of.contains(&source.direction))
        };
        match source {
            Some(source) => accepts(source),
            None => {
                self.channel_types.is_none()
                    && self.channel_ids.is_none()
                    && self.directions.is_none()
            }
        }
    }
}

impl From<&str> for HookOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for HookOptions {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}
