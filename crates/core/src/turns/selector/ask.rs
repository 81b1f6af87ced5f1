//! Asking a model who speaks next: a bounded number of times, then an explicit fallback.

use super::{NoSelection, Selection, SelectionFallback, SelectionReason, SpeakerSelector};
use crate::turns::TranscriptEvent;
use crate::turns::mentions::mentions;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Ask {
    /// Which question this is, counted from 0.
    pub attempt: u32,
    /// A question in English, ready for a model that was shown the conversation. It names the
    /// candidates, and says what was wrong with the reply before.
    pub prompt: String,
    /// The ids that may be answered, in roster order, for models whose choice can be constrained.
    pub candidates: Vec<String>,
    /// Why the reply before was not taken; `None` the first time.
    pub refused: Option<NoSelection>,
}

/// Who speaks next, and what it took to find out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Decision {
    /// The speaker and why, or why nobody speaks.
    pub selection: Result<Selection, NoSelection>,
    /// Why each reply that was not taken was not, in order.
    pub refused: Vec<NoSelection>,
    /// How many times the model was asked.
    pub asks: u32,
}

impl SpeakerSelector {
    /// Decides who speaks next, asking a model through `ask` where that is needed.
    ///
    /// 1. An agent that the last human message mentions with `@name` speaks, unless it has had a turn
    ///    since; of several, the one mentioned first. Here a repeat is no matter: a human asked for it.
    /// 2. The model is asked, and asked again while its reply cannot be taken, `max_reasks` times at
    ///    most. It is not asked at all where nobody may speak.
    /// 3. The [fallback](SelectionFallback) decides, and keeps the reason why it had to.
    ///
    /// Whoever is not on the roster is a human. `ask` answers with the model's words; where the model
    /// fails, with an empty text, which names nobody. How long it may take is for `ask` to say.
    ///
    /// # Cancel safety
    ///
    /// A selector remembers nothing, so a call that is dropped leaves nothing behind.
    pub async fn select_with<F, Fut>(&self, transcript: &[TranscriptEvent], mut ask: F) -> Decision
    where
        F: FnMut(Ask) -> Fut,
        Fut: Future<Output = String>,
    {
        let mut refused = Vec::new();
        if let Some(speaker) = self.called_by_human(transcript) {
            return Decision {
                selection: Ok(Selection {
                    speaker: speaker.to_owned(),
                    reason: SelectionReason::Mentioned,
                }),
                refused,
                asks: 0,
            };
        }
        let last = self.last_agent(transcript);
        let candidates: Vec<String> = self.candidates(last).map(str::to_owned).collect();
        if candidates.is_empty() {
            return Decision {
                selection: Err(NoSelection::NobodyLeft),
                refused,
                asks: 0,
            };
        }
        let mut attempt: u32 = 0;
        loop {
            let reply = ask(Ask {
                attempt,
                prompt: prompt(&candidates, refused.last()),
                candidates: candidates.clone(),
                refused: refused.last().cloned(),
            })
            .await;
            let asks = attempt.saturating_add(1);
            let because = match self.select(&reply, last) {
                Ok(selection) => {
                    return Decision {
                        selection: Ok(selection),
                        refused,
                        asks,
                    };
                }
                Err(because) => because,
            };
            refused.push(because.clone());
            if attempt >= self.max_reasks {
                return Decision {
                    selection: self.fall_back(last, because),
                    refused,
                    asks,
                };
            }
            attempt = asks;
        }
    }

    /// The agent that the last human message mentions first and that has had no turn since.
    fn called_by_human(&self, transcript: &[TranscriptEvent]) -> Option<&str> {
        let is_human = |event: &TranscriptEvent| !self.roster.contains(&event.speaker);
        let at = transcript.iter().rposition(is_human)?;
        let (message, since) = transcript.get(at..)?.split_first()?;
        mentions(&message.content)
            .filter_map(|name| self.mentioned(name))
            .find(|agent| since.iter().all(|event| event.speaker != *agent))
    }

    /// The agent that a mention means; punctuation at its end is forgiven as the planner forgives it.
    fn mentioned(&self, name: &str) -> Option<&str> {
        [name, name.trim_end_matches(['.', '-'])]
            .into_iter()
            .find_map(|name| {
                let of_name = self.names.of(name);
                let agent = of_name.first().filter(|_| of_name.len() == 1)?;
                self.roster.get(*agent).map(String::as_str)
            })
    }

    fn last_agent<'t>(&self, transcript: &'t [TranscriptEvent]) -> Option<&'t str> {
        let agents = transcript.iter().rev().map(|event| event.speaker.as_str());
        agents
            .into_iter()
            .find(|speaker| self.roster.iter().any(|agent| agent == speaker))
    }

    fn fall_back(
        &self,
        last: Option<&str>,
        because: NoSelection,
    ) -> Result<Selection, NoSelection> {
        if self.fallback == SelectionFallback::Nobody {
            return Err(because);
        }
        let after = last
            .and_then(|last| self.roster.iter().position(|agent| agent == last))
            .map_or(0, |last| last + 1);
        let (before, behind) = self.roster.split_at_checked(after).unwrap_or_default();
        let mut in_turn = behind.iter().chain(before);
        let next = in_turn.find(|agent| self.may_repeat || last != Some(agent.as_str()));
        match next {
            Some(agent) => Ok(Selection {
                speaker: agent.clone(),
                reason: SelectionReason::NextInRoster { because },
            }),
            None => Err(because),
        }
    }
}

fn prompt(candidates: &[String], refused: Option<&NoSelection>) -> String {
    let question = format!(
        "Who speaks next? Answer with exactly one of these names and nothing else: {}.",
        candidates.join(", ")
    );
    match refused {
        None => question,
        Some(NoSelection::Ambiguous { speakers }) => {
            format!("You named several: {}. {question}", speakers.join(", "))
        }
        Some(NoSelection::Repeat { speaker }) => {
            format!("{speaker} spoke last and may not speak again. {question}")
        }
        Some(NoSelection::Unknown | NoSelection::NobodyLeft) => {
            format!("You named none of them. {question}")
        }
    }
}
