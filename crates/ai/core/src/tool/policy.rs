//! Which tools an agent may call, by patterns and by the role of who asks.

use std::collections::BTreeMap;
use std::str::Chars;

use roomkit_core::model::ParticipantRole;
use serde::{Deserialize, Deserializer, Serialize};

/// Rules on which tools may be called (RFC §21.1, §24.2).
///
/// A pattern is a name in which `*` stands for any characters and `?` for one; case counts.
/// What a pattern of [`deny`](Self::deny) matches is denied, whatever else allows it; where
/// [`allow`](Self::allow) has patterns, what none of them matches is denied too; all else is allowed.
///
/// ```
/// use roomkit_ai::ToolPolicy;
/// use roomkit_core::model::ParticipantRole;
///
/// let policy = ToolPolicy::new()
///     .allow(["search_*", "get_?"])
///     .restrict(ParticipantRole::Observer, ["search_*"], ["search_private"]);
/// assert!(policy.allows("search_web", None));
/// assert!(!policy.allows("delete_all", None));
/// assert!(!policy.allows("search_private", Some(ParticipantRole::Observer)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolPolicy {
    /// Patterns of what is allowed; none allows all. Default: none.
    pub allow: Vec<String>,
    /// Patterns of what is denied. Default: none.
    pub deny: Vec<String>,
    /// What else holds where somebody of a role asks.
    pub role_overrides: BTreeMap<ParticipantRole, RoleOverride>,
}

/// What else holds where somebody of a role asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RoleOverride {
    /// As in the policy; null is none.
    #[serde(deserialize_with = "or_none")]
    pub allow: Vec<String>,
    /// As in the policy; null is none.
    #[serde(deserialize_with = "or_none")]
    pub deny: Vec<String>,
    /// How it goes with the policy. Default: [`OverrideMode::Restrict`].
    pub mode: OverrideMode,
}

/// How a role's rules go with those of the policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideMode {
    /// A tool must pass both: a role never gets more than the policy gives. The default.
    #[default]
    Restrict,
    /// The role's rules alone hold.
    Replace,
}

fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl ToolPolicy {
    /// A policy that allows all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows what these patterns match, and nothing else.
    #[must_use]
    pub fn allow<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.allow.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Denies what these patterns match.
    #[must_use]
    pub fn deny<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.deny.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Adds rules that must be passed too where somebody of a role asks.
    #[must_use]
    pub fn restrict<A: Into<String>, D: Into<String>>(
        self,
        role: ParticipantRole,
        allow: impl IntoIterator<Item = A>,
        deny: impl IntoIterator<Item = D>,
    ) -> Self {
        self.for_role(role, allow, deny, OverrideMode::Restrict)
    }

    /// Sets the only rules that hold where somebody of a role asks.
    #[must_use]
    pub fn replace<A: Into<String>, D: Into<String>>(
        self,
        role: ParticipantRole,
        allow: impl IntoIterator<Item = A>,
        deny: impl IntoIterator<Item = D>,
    ) -> Self {
        self.for_role(role, allow, deny, OverrideMode::Replace)
    }

    fn for_role<A: Into<String>, D: Into<String>>(
        mut self,
        role: ParticipantRole,
        allow: impl IntoIterator<Item = A>,
        deny: impl IntoIterator<Item = D>,
        mode: OverrideMode,
    ) -> Self {
        let rules = RoleOverride {
            allow: allow.into_iter().map(Into::into).collect(),
            deny: deny.into_iter().map(Into::into).collect(),
            mode,
        };
        self.role_overrides.insert(role, rules);
        self
    }

    /// Whether a tool may be called where somebody of this role asks; `None` is nobody's role.
    #[must_use]
    pub fn allows(&self, tool: &str, role: Option<ParticipantRole>) -> bool {
        let rules = role.and_then(|role| self.role_overrides.get(&role));
        let base = || passes(tool, &self.allow, &self.deny);
        match rules {
            None => base(),
            Some(rules) => {
                let own = passes(tool, &rules.allow, &rules.deny);
                own && (rules.mode == OverrideMode::Replace || base())
            }
        }
    }
}

fn passes(tool: &str, allow: &[String], deny: &[String]) -> bool {
    let matched = |patterns: &[String]| patterns.iter().any(|pattern| glob_matches(pattern, tool));
    !matched(deny) && (allow.is_empty() || matched(allow))
}

/// Whether a pattern matches a whole name: `*` is any characters, `?` is one, all else itself.
///
/// It takes at most the product of both lengths in steps.
#[must_use]
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Where to go on when what follows the last `*` does not fit: the star takes one more character.
    let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let mut ahead = pattern.clone();
        let next = ahead.next();
        if next == Some('*') {
            pattern = ahead.clone();
            retry = Some((ahead, name.clone()));
            continue;
        }
        let mut rest = name.clone();
        match (next, rest.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                pattern = ahead;
                name = rest;
            }
            _ => {
                let Some((after_star, taken)) = &mut retry else {
                    return false;
                };
                if taken.next().is_none() {
                    return false;
                }
                pattern = after_star.clone();
                name = taken.clone();
            }
        }
    }
}
