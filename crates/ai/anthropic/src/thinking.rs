//! How a model thinks, as its id says: on a budget or as it sees fit, unasked or not, and how it is kept from it.
//!
//! From Anthropic's documentation: "Thinking", the migration guides of Opus 5, Opus 5.5, Sonnet 5.5 and Haiku 5.5, and
//! "Preserved thinking", as read on 2026-11-30.

/// How a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// As it sees fit, rather than on a budget of tokens.
    pub(crate) adaptive: bool,
    /// It thinks unless it is told not to.
    pub(crate) unasked: bool,
    /// What tells it not to.
    pub(crate) off: Off,
    /// What it thought is bound to all that came before, and may be left out where that has changed.
    pub(crate) bound: bool,
    /// A temperature may be set where it does not think.
    pub(crate) temperature: bool,
}

/// What keeps a model from thinking: a value of `thinking.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// That nothing is said of thinking; for a model that always thinks, nothing does.
    Silence,
    /// This word, with an effort of `high` or less.
    Word(&'static str),
}

/// Models that think on a budget, and only when they are asked to.
const ON_BUDGET: [&str; 7] = [
    "claude-2",
    "claude-3",
    "claude-instant",
    "claude-haiku-4",
    "claude-opus-4",
    "claude-sonnet-4",
    "claude-v",
];

/// Models after those that are asked for nothing else, but think only when they are asked to.
const ADAPTIVE_WHEN_ASKED: [&str; 2] = ["claude-opus-4-7", "claude-opus-4-8"];

impl Thinking {
    /// The plainest form, which servers that speak the wire take.
    pub(crate) const ON_BUDGET: Self = Self {
        adaptive: false,
        unasked: false,
        off: Off::Silence,
        bound: false,
        temperature: true,
    };

    /// How one of Anthropic's models thinks. A model that is not known yet is taken for one that always
    /// thinks, as all have been that came lately.
    pub(crate) fn of(model: &str) -> Self {
        let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| is_version(model, prefix));
        let new = |unasked, off, bound| Self {
            adaptive: true,
            unasked,
            off,
            bound,
            temperature: false,
        };
        if is(&ADAPTIVE_WHEN_ASKED) {
            new(false, Off::Silence, false)
        } else if ON_BUDGET.iter().any(|prefix| model.starts_with(prefix)) {
            Self::ON_BUDGET
        } else if is(&["claude-sonnet-5-5"]) {
            new(true, Off::Word("between_tools"), true)
        } else if is(&["claude-haiku-5-5"]) {
            new(true, Off::Word("disabled"), true)
        } else if is(&["claude-opus-5-5", "claude-fable-5-1", "claude-fable-5-2"])
            || is(&["claude-mythos-5-1", "claude-mythos-5-2"])
        {
            new(true, Off::Silence, true)
        } else if is(&["claude-opus-5", "claude-sonnet-5"]) {
            new(true, Off::Word("disabled"), false)
        } else {
            new(true, Off::Silence, false)
        }
    }
}

/// Whether a model's id is this one or a dated snapshot of it, rather than that of a later version.
fn is_version(model: &str, id: &str) -> bool {
    match model.strip_prefix(id) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('-')
            .is_some_and(|date| date.len() == 8 || date == "latest"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_is_asked_in_its_own_way() {
        let of = |model| {
            let Thinking {
                adaptive,
                unasked,
                off,
                bound,
                temperature,
            } = Thinking::of(model);
            (adaptive, unasked, off, bound, temperature)
        };
        let disabled = Off::Word("disabled");
        let budget = (false, false, Off::Silence, false, true);
        for (model, expected) in [
            ("claude-3-7-sonnet-20250219", budget),
            ("claude-sonnet-4-5-20250929", budget),
            ("claude-haiku-4-5", budget),
            ("claude-opus-4-6", budget),
            ("claude-opus-4-8", (true, false, Off::Silence, false, false)),
            ("claude-opus-5", (true, true, disabled, false, false)),
            ("claude-sonnet-5", (true, true, disabled, false, false)),
            ("claude-fable-5", (true, true, Off::Silence, false, false)),
            ("claude-opus-5-5", (true, true, Off::Silence, true, false)),
            (
                "claude-sonnet-5-5",
                (true, true, Off::Word("between_tools"), true, false),
            ),
            (
                "claude-haiku-5-5-20261007",
                (true, true, disabled, true, false),
            ),
            ("claude-opus-6", (true, true, Off::Silence, false, false)),
        ] {
            assert_eq!(of(model), expected, "{model}");
        }
    }
}
