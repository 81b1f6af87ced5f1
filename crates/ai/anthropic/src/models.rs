//! The catalogue: what was known of Anthropic's models, and their list prices, on the days it names.

use std::sync::LazyLock;

use roomkit_ai::ModelInfo;
use serde_json::Value;

/// The file, in which each price has the day on which the vendor's list was read.
const CATALOGUE: &str = include_str!("models.json");

static MODELS: LazyLock<Vec<ModelInfo>> = LazyLock::new(|| {
    let catalogue: Value = serde_json::from_str(CATALOGUE).unwrap_or_default();
    let models = catalogue.get("models").cloned().unwrap_or_default();
    serde_json::from_value(models).unwrap_or_default()
});

/// The models of the catalogue.
pub(crate) fn models() -> &'static [ModelInfo] {
    &MODELS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::collections::BTreeSet;

    use roomkit_ai::Usage;

    use super::*;

    #[test]
    fn the_catalogue_can_be_read_and_every_price_has_its_day() {
        let catalogue: Value = serde_json::from_str(CATALOGUE).unwrap();
        let listed: Vec<ModelInfo> = serde_json::from_value(catalogue["models"].clone()).unwrap();
        assert_eq!(models(), listed);
        let ids: BTreeSet<&str> = listed.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids.len(), listed.len(), "each model once");
        for model in models() {
            let pricing = model.pricing.as_ref().unwrap();
            assert!(pricing.output_per_million > pricing.input_per_million);
            // A cache of five minutes costs a quarter more to write than to read anew.
            let written = pricing.cache_write_per_million.unwrap() / pricing.input_per_million;
            assert!((written - 1.25).abs() < 1e-9, "{}", model.id);
            assert!(pricing.cache_read_per_million.unwrap() < pricing.input_per_million / 5.0);
            assert!(pricing.verified.to_string().starts_with("2026-"));
        }
    }

    #[test]
    fn what_costs_more_when_it_is_long_is_priced_so() {
        let model = models().iter().find(|model| model.id == "claude-haiku-5-5");
        let pricing = model.unwrap().pricing.as_ref().unwrap();
        let cost = |input| pricing.cost_for(&Usage::new(input, 1_000_000));
        assert!((cost(100_000) - 0.51).abs() < 1e-9);
        assert!((cost(200_000) - 2.6).abs() < 1e-9);
    }
}
