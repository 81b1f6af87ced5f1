//! The catalogue: popular models of Ollama's library, for the sizes of their windows before a server is asked.

use std::sync::LazyLock;

use roomkit_ai::ModelInfo;
use serde_json::Value;

/// The file, which has the day on which the library was read.
const CATALOGUE: &str = include_str!("models.json");

static MODELS: LazyLock<Vec<ModelInfo>> = LazyLock::new(|| {
    let catalogue: Value = serde_json::from_str(CATALOGUE).unwrap_or_default();
    let models = catalogue.get("models").cloned().unwrap_or_default();
    serde_json::from_value(models).unwrap_or_default()
});

/// The models of the catalogue, which have no tags and no prices.
pub(crate) fn models() -> &'static [ModelInfo] {
    &MODELS
}

/// What the catalogue knows of a model, whatever its tag.
pub(crate) fn find(name: &str) -> Option<&'static ModelInfo> {
    let base = name.split(':').next().unwrap_or(name);
    models().iter().find(|model| model.id == base)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_catalogue_can_be_read() {
        let catalogue: Value = serde_json::from_str(CATALOGUE).unwrap();
        let listed: Vec<ModelInfo> = serde_json::from_value(catalogue["models"].clone()).unwrap();
        assert_eq!(models(), listed);
        let ids: BTreeSet<&str> = listed.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids.len(), listed.len(), "each model once");
        assert!(models().iter().all(|model| model.context_window.is_some()));
        assert!(models().iter().all(|model| model.pricing.is_none()));
        assert_eq!(find("qwen3:8b").unwrap().id, "qwen3");
        assert!(find("example/qwen3:8b").is_none());
    }
}
