//! Who speaks next by a model's word: its reply is searched for one name, and asked for again.

mod ask;
mod names;
mod outcome;

use std::collections::BTreeSet;

pub use ask::{Ask, Decision};
pub use outcome::{NoSelection, Selection, SelectionReason};

use self::names::{Names, is_part};
use super::TurnError;

/// Reads out of a model's reply who is to speak next, for rooms whose order a model decides.
///
/// A model that is asked for a name answers with a sentence, in quotes, in bold, or with two names. A
/// reply is taken when it names exactly one agent that may speak; it is never guessed which of several
/// was meant.
///
/// - A name is an agent's id or an alias. Case does not count, unless it tells two names apart.
/// - A name is a whole word: `dev` is not in `devops`, `dev-lead` or `dev@example.org`. Where one name
///   is part of another, such as `lead` of `tech lead`, the longer one counts.
/// - A reply is searched, not understood: `not the coder` names the coder.
///
/// ```
/// use roomkit_core::turns::{NoSelection, SelectionReason, SpeakerSelector};
///
/// let selector = SpeakerSelector::new(["Coder", "Reviewer"]);
///
/// let selection = selector.select("It is **reviewer**'s turn.", None);
/// assert_eq!(selection.unwrap().speaker, "Reviewer");
///
/// let refused = selector.select("I think Reviewer, or maybe Coder, should go", None);
/// let speakers = vec!["Coder".into(), "Reviewer".into()];
/// assert_eq!(refused, Err(NoSelection::Ambiguous { speakers }));
/// ```
///
/// [`select_with`](Self::select_with) asks the model, again where that is needed, and falls back where
/// it does not help.
#[derive(Debug, Clone)]
pub struct SpeakerSelector {
    /// Without repeats.
    roster: Vec<String>,
    names: Names,
    may_repeat: bool,
    max_reasks: u32,
    fallback: SelectionFallback,
}

/// What becomes of a selection when no reply could be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SelectionFallback {
    /// The next agent in roster order after the last one that spoke; the first when none has. The
    /// default.
    #[default]
    NextInRoster,
    /// Nobody speaks.
    Nobody,
}

impl SpeakerSelector {
    /// How many times a model is asked again by default.
    pub const DEFAULT_MAX_REASKS: u32 = 2;

    /// A selector among these agents. An id that is listed again changes nothing.
    pub fn new<I>(roster: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let mut seen = BTreeSet::new();
        let roster: Vec<String> = roster
            .into_iter()
            .map(Into::into)
            .filter(|agent: &String| seen.insert(agent.clone()))
            .collect();
        let mut names = Names::default();
        for (agent, id) in roster.iter().enumerate() {
            names.add(agent, id);
        }
        Self {
            roster,
            names,
            may_repeat: true,
            max_reasks: Self::DEFAULT_MAX_REASKS,
            fallback: SelectionFallback::default(),
        }
    }

    /// Adds another name of an agent. One that several agents have is ambiguous.
    ///
    /// # Errors
    ///
    /// [`TurnError::NotOnRoster`] when there is no such agent.
    pub fn alias(mut self, agent: &str, alias: &str) -> Result<Self, TurnError> {
        let number = self
            .roster
            .iter()
            .position(|id| id == agent)
            .ok_or_else(|| TurnError::NotOnRoster {
                agent: agent.to_owned(),
            })?;
        self.names.add(number, alias);
        Ok(self)
    }

    /// Forbids that an agent speaks twice in a row, which is allowed by default.
    #[must_use]
    pub const fn forbid_repeat(mut self) -> Self {
        self.may_repeat = false;
        self
    }

    /// How many times a model is asked again after a reply that could not be taken,
    /// [`DEFAULT_MAX_REASKS`](Self::DEFAULT_MAX_REASKS) by default; with 0 it is asked once.
    #[must_use]
    pub const fn max_reasks(mut self, reasks: u32) -> Self {
        self.max_reasks = reasks;
        self
    }

    /// What happens when no reply could be taken: by default, the next agent in roster order speaks.
    #[must_use]
    pub const fn fallback(mut self, fallback: SelectionFallback) -> Self {
        self.fallback = fallback;
        self
    }

    /// Whom a reply names. `last` is the agent that spoke last, if one has.
    ///
    /// # Errors
    ///
    /// [`NoSelection`] says why it names nobody who may speak.
    pub fn select(&self, reply: &str, last: Option<&str>) -> Result<Selection, NoSelection> {
        if self.candidates(last).next().is_none() {
            return Err(NoSelection::NobodyLeft);
        }
        let (agent, reason) = self.read(reply)?;
        if !self.may_repeat && last == Some(agent) {
            return Err(NoSelection::Repeat {
                speaker: agent.to_owned(),
            });
        }
        Ok(Selection {
            speaker: agent.to_owned(),
            reason,
        })
    }

    /// The one agent that a reply names, whether or not it may speak.
    fn read(&self, reply: &str) -> Result<(&str, SelectionReason), NoSelection> {
        let reply = reply.trim();
        if let Some(agent) = self.roster.iter().find(|agent| *agent == reply) {
            return Ok((agent, SelectionReason::ExactId));
        }
        let bare = reply.trim_matches(|c| !is_part(c));
        let alone = self.names.of(bare);
        let (found, reason) = if alone.is_empty() {
            (self.names.find(reply), SelectionReason::InSentence)
        } else {
            (alone, SelectionReason::Alone)
        };
        let named: Vec<&str> = self
            .roster
            .iter()
            .enumerate()
            .filter(|(number, _)| found.contains(number))
            .map(|(_, agent)| agent.as_str())
            .collect();
        match named.as_slice() {
            [] => Err(NoSelection::Unknown),
            [agent] => Ok((agent, reason)),
            several => Err(NoSelection::Ambiguous {
                speakers: several.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// Who may speak after `last`, in roster order.
    fn candidates(&self, last: Option<&str>) -> impl Iterator<Item = &str> {
        let barred = last.filter(|_| !self.may_repeat).map(str::to_owned);
        self.roster
            .iter()
            .map(String::as_str)
            .filter(move |agent| barred.as_deref() != Some(*agent))
    }
}
