//! Retention: how long what was said is kept, per organisation (RFC §17.3).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, Utc};

use super::ConversationStore;
use crate::error::{Error, ErrorKind, Result};
use crate::model::OrganizationId;

/// How many events one step removes or redacts: what bounds a transaction.
const STEP: usize = 500;

/// What becomes of an event that is too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetentionAction {
    /// It is removed with all of its versions and leaves a hole.
    Delete,
    /// It stays as [`RoomEvent::redact`](crate::model::RoomEvent::redact) leaves it.
    Redact,
}

/// How long something is kept, and what then becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionRule {
    /// After how many days, by the event's time of creation.
    pub days: u32,
    /// What is done then.
    pub action: RetentionAction,
}

impl RetentionRule {
    /// Deletes what is older than this many days.
    #[must_use]
    pub fn delete_after(days: u32) -> Self {
        let action = RetentionAction::Delete;
        Self { days, action }
    }

    /// Redacts what is older than this many days.
    #[must_use]
    pub fn redact_after(days: u32) -> Self {
        let action = RetentionAction::Redact;
        Self { days, action }
    }
}

/// The rules of all organisations. Default: everything is kept.
///
/// ```
/// use roomkit_core::store::{RetentionPolicy, RetentionRule};
///
/// let policy = RetentionPolicy::new(RetentionRule::redact_after(365))
///     .organization("acme", RetentionRule::delete_after(30))
///     .keep("archive");
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    others: Option<RetentionRule>,
    organizations: BTreeMap<OrganizationId, Option<RetentionRule>>,
}

impl RetentionPolicy {
    /// One rule for every room, those without an organisation included.
    #[must_use]
    pub fn new(rule: RetentionRule) -> Self {
        Self {
            others: Some(rule),
            organizations: BTreeMap::new(),
        }
    }

    /// Another rule for one organisation.
    #[must_use]
    pub fn organization(mut self, id: impl Into<OrganizationId>, rule: RetentionRule) -> Self {
        self.organizations.insert(id.into(), Some(rule));
        self
    }

    /// Keeps everything of one organisation.
    #[must_use]
    pub fn keep(mut self, id: impl Into<OrganizationId>) -> Self {
        self.organizations.insert(id.into(), None);
        self
    }

    /// Applies every rule, in steps that other commits get between. Returns how many events were
    /// removed or redacted.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) where `days` lie before the calendar begins;
    /// otherwise what the store says. What was done until then stays done.
    pub async fn apply(&self, store: &dyn ConversationStore, now: DateTime<Utc>) -> Result<u64> {
        let own = self.organizations.iter().filter_map(|(id, rule)| {
            let rooms = RetentionScope::Organization(id.clone());
            rule.map(|rule| (rooms, rule))
        });
        let others = RetentionScope::AllBut(self.organizations.keys().cloned().collect());
        let others = self.others.map(|rule| (others, rule));
        let mut total = 0;
        for (rooms, rule) in own.chain(others) {
            let days = Days::new(u64::from(rule.days));
            let before = now.checked_sub_days(days).ok_or_else(|| {
                let problem = format!("days: {} is too long ago", rule.days);
                Error::new(ErrorKind::InvalidInput, problem)
            })?;
            let action = rule.action;
            let expiry = Expiry {
                rooms,
                before,
                action,
            };
            loop {
                let done = store.expire_events(&expiry, STEP).await?;
                total += done;
                if done < STEP as u64 {
                    break;
                }
            }
        }
        Ok(total)
    }
}

/// Which events a store removes or redacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// Of which rooms.
    pub rooms: RetentionScope,
    /// Those created before.
    pub before: DateTime<Utc>,
    /// What is done with them.
    pub action: RetentionAction,
}

/// The rooms that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetentionScope {
    /// Those of one organisation.
    Organization(OrganizationId),
    /// All but those of these organisations; rooms without an organisation are among them.
    AllBut(BTreeSet<OrganizationId>),
}

impl RetentionScope {
    /// Whether the rooms of an organisation, or those without one, are meant.
    #[must_use]
    pub fn admits(&self, organization: Option<&OrganizationId>) -> bool {
        match self {
            Self::Organization(id) => organization == Some(id),
            Self::AllBut(ids) => organization.is_none_or(|id| !ids.contains(id)),
        }
    }
}
