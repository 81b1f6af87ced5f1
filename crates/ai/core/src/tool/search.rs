//! Finding tools: the words of names, descriptions and tags, weighed by how rare they are.

use std::collections::{HashMap, HashSet};

use crate::ToolDefinition;

/// How much more a word of the name, or a tag, weighs than one of the description.
const NAME_WEIGHT: f64 = 3.0;
/// What scores less than this part of the best is left out.
const CUTOFF: f64 = 0.5;
/// The most words of a query that are looked at.
const MOST_WORDS: usize = 64;
/// How many names of the same family are named besides.
const MOST_RELATED: usize = 10;

/// The words of a text in lower case, each in its singular. `spotifySearch` is two words.
fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_alphanumeric() {
            take(&mut words, &mut word);
        } else {
            let was_upper = before.is_some_and(char::is_uppercase);
            let starts = character.is_uppercase()
                && before.is_some_and(char::is_alphanumeric)
                && (!was_upper || characters.peek().is_some_and(|next| next.is_lowercase()));
            if starts {
                take(&mut words, &mut word);
            }
            word.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    take(&mut words, &mut word);
    words
}

fn take(words: &mut HashSet<String>, word: &mut String) {
    if !word.is_empty() {
        words.insert(singular(std::mem::take(word)));
    }
}

/// Blunt on purpose: both sides of a comparison go through it, so that it need not be right, only the
/// same. Short words and those in `ss` are no plurals.
fn singular(mut word: String) -> String {
    if word.chars().count() < 4 || word.ends_with("ss") {
        return word;
    }
    let cut = |word: &mut String, count: usize| word.truncate(word.len() - count);
    if word.ends_with("ies") {
        cut(&mut word, 3);
        word.push('y');
    } else if ["ches", "shes", "xes", "zes", "ses"]
        .iter()
        .any(|end| word.ends_with(end))
    {
        cut(&mut word, 2);
    } else if word.ends_with('s') {
        cut(&mut word, 1);
    }
    word
}

struct Candidate<'t> {
    tool: &'t ToolDefinition,
    name: HashSet<String>,
    tags: HashSet<String>,
    description: HashSet<String>,
}

impl<'t> Candidate<'t> {
    fn new(tool: &'t ToolDefinition) -> Self {
        Self {
            tool,
            name: words(&tool.name),
            tags: words(&tool.tags.join(" ")),
            description: words(&tool.description),
        }
    }

    fn has(&self, word: &str) -> bool {
        [&self.name, &self.tags, &self.description]
            .iter()
            .any(|words| words.contains(word))
    }

    fn score(&self, weights: &HashMap<&str, f64>) -> f64 {
        let one = |word: &str, weight: f64| {
            let mut score = 0.0;
            if self.name.contains(word) {
                score += NAME_WEIGHT * weight;
            }
            if self.tags.contains(word) {
                score += NAME_WEIGHT * weight;
            }
            if self.description.contains(word) {
                score += weight;
            }
            score
        };
        weights
            .iter()
            .map(|(word, weight)| one(word, *weight))
            .sum()
    }
}

/// The tools that fit a query best, the best first, at most `most`.
///
/// A word that many tools have says little, whatever the language; tags are the bridge between languages.
/// What is far behind the best is left out. Equal scores keep the tools' order.
pub(super) fn find<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    query: &str,
    most: usize,
) -> Vec<&'t ToolDefinition> {
    let mut asked: Vec<String> = words(query).into_iter().collect();
    asked.sort_unstable();
    asked.truncate(MOST_WORDS);
    let candidates: Vec<Candidate<'t>> = tools.into_iter().map(Candidate::new).collect();
    let all = candidates.len() as f64;
    let weights: HashMap<&str, f64> = asked
        .iter()
        .filter_map(|word| {
            let having = candidates.iter().filter(|tool| tool.has(word)).count();
            let weight = ((all + 1.0) / (having as f64 + 1.0)).ln() + 1.0;
            (having > 0).then_some((word.as_str(), weight))
        })
        .collect();
    let mut scored: Vec<(f64, &ToolDefinition)> = candidates
        .iter()
        .map(|candidate| (candidate.score(&weights), candidate.tool))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let cutoff = scored.first().map_or(0.0, |(best, _)| best * CUTOFF);
    scored
        .into_iter()
        .filter(|(score, _)| *score >= cutoff)
        .take(most)
        .map(|(_, tool)| tool)
        .collect()
}

/// Names of other tools that share the part before the first `_` with one that was found: what the same
/// source can do besides.
pub(super) fn related<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    found: &[&ToolDefinition],
) -> Vec<&'t str> {
    let family = |name: &'_ str| name.split_once('_').map(|(family, _)| family.to_owned());
    let families: HashSet<String> = found.iter().filter_map(|t| family(&t.name)).collect();
    let names: HashSet<&str> = found.iter().map(|tool| tool.name.as_str()).collect();
    tools
        .into_iter()
        .map(|tool| tool.name.as_str())
        .filter(|name| !names.contains(name))
        .filter(|name| family(name).is_some_and(|family| families.contains(&family)))
        .take(MOST_RELATED)
        .collect()
}
