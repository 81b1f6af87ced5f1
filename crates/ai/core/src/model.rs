//! What is known of models without asking for them: windows, abilities and dated list prices.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::Usage;

/// One model of a vendor. Only its id is certain; what is `None` is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The id that the vendor's API takes.
    pub id: String,
    /// Its name for people.
    #[serde(default)]
    pub display_name: Option<String>,
    /// How many tokens it can read at once.
    #[serde(default)]
    pub context_window: Option<u64>,
    /// Whether it can see pictures.
    #[serde(default)]
    pub supports_vision: Option<bool>,
    /// Whether the vendor wants it to be left.
    #[serde(default)]
    pub deprecated: bool,
    /// Abilities in the vendor's words; none means that they are not known.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The list price, where there is one for each token.
    #[serde(default)]
    pub pricing: Option<ModelPricing>,
}

/// The list price of a model for a million tokens, as its vendor published it on a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelPricing {
    /// A million tokens read that no cache had.
    pub input_per_million: f64,
    /// A million tokens written.
    pub output_per_million: f64,
    /// A million tokens read from the cache; `None` where they have no price of their own.
    #[serde(default)]
    pub cache_read_per_million: Option<f64>,
    /// A million tokens written into the cache; `None` where they have no price of their own.
    #[serde(default)]
    pub cache_write_per_million: Option<f64>,
    /// Above this many tokens read in all, the multipliers hold.
    #[serde(default)]
    pub long_context_threshold_tokens: Option<u64>,
    /// What all that is read costs then, as a multiple.
    #[serde(default = "one")]
    pub long_context_input_multiplier: f64,
    /// What all that is written costs then, as a multiple.
    #[serde(default = "one")]
    pub long_context_output_multiplier: f64,
    /// The currency, by its ISO 4217 code. Default: USD.
    #[serde(default = "usd")]
    pub currency: String,
    /// The day on which the vendor's list was read.
    pub verified: NaiveDate,
}

fn one() -> f64 {
    1.0
}

fn usd() -> String {
    "USD".to_owned()
}

impl ModelInfo {
    /// A model of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            display_name: None,
            context_window: None,
            supports_vision: None,
            deprecated: false,
            capabilities: Vec::new(),
            pricing: None,
        }
    }

    /// Fills what is not known from a catalogue's entry of the same model.
    #[must_use]
    pub fn or(mut self, entry: &Self) -> Self {
        self.display_name = self.display_name.or_else(|| entry.display_name.clone());
        self.context_window = self.context_window.or(entry.context_window);
        self.supports_vision = self.supports_vision.or(entry.supports_vision);
        self.pricing = self.pricing.or_else(|| entry.pricing.clone());
        self
    }

    /// Fills what a vendor's live list leaves out from a catalogue.
    #[must_use]
    pub fn merge(live: Vec<Self>, catalog: &[Self]) -> Vec<Self> {
        live.into_iter()
            .map(
                |model| match catalog.iter().find(|entry| entry.id == model.id) {
                    Some(entry) => model.or(entry),
                    None => model,
                },
            )
            .collect()
    }
}

impl ModelPricing {
    /// What one answer's tokens cost, in [`currency`](Self::currency). A counter without a price of its
    /// own costs nothing.
    #[must_use]
    pub fn cost_for(&self, usage: &Usage) -> f64 {
        let tokens = |count: u64, per_million: f64| count as f64 * per_million;
        let mut input = tokens(usage.input_tokens, self.input_per_million)
            + tokens(
                usage.cache_read_input_tokens,
                self.cache_read_per_million.unwrap_or_default(),
            )
            + tokens(
                usage.cache_creation_input_tokens,
                self.cache_write_per_million.unwrap_or_default(),
            );
        let mut output = tokens(usage.output_tokens, self.output_per_million);
        if (self.long_context_threshold_tokens)
            .is_some_and(|threshold| usage.total_input_tokens() > threshold)
        {
            input *= self.long_context_input_multiplier;
            output *= self.long_context_output_multiplier;
        }
        (input + output) / 1_000_000.0
    }
}
