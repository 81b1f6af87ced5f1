//! The catalogue: what was known of OpenAI's models, and their list prices, on the days it names.

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
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

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
            assert!(pricing.input_per_million > 0.0, "{}", model.id);
            assert!(pricing.output_per_million > pricing.input_per_million);
            assert!(pricing.verified.to_string().starts_with("2026-"));
        }
    }
}
