//! The tools of a turn: what there is, what the model is shown in a round, and who executes what.

use std::collections::HashSet;
use std::sync::Arc;

use crate::channel::Parts;
use crate::{Tool, ToolDefinition};

/// The tools of one turn.
pub(crate) struct Toolbox {
    parts: Arc<Parts>,
    /// What the model may call, in order, names once each.
    catalogue: Vec<ToolDefinition>,
}

impl Toolbox {
    /// The tools of these definitions; of those with the same name the first counts.
    pub(crate) fn new(parts: Arc<Parts>, definitions: Vec<ToolDefinition>) -> Self {
        let mut seen = HashSet::new();
        let mut catalogue = definitions;
        catalogue.retain(|it| seen.insert(it.name.clone()));
        Self { parts, catalogue }
    }

    /// Takes over what hooks and stages made of the tools that were shown: theirs are offered too, and
    /// what they took away is gone.
    pub(crate) fn adopt(&mut self, given: &[ToolDefinition]) {
        let shown: HashSet<String> = self.shown().into_iter().map(|it| it.name).collect();
        let kept: HashSet<&str> = given.iter().map(|it| it.name.as_str()).collect();
        self.catalogue
            .retain(|it| !shown.contains(&it.name) || kept.contains(it.name.as_str()));
        for definition in given {
            match self
                .catalogue
                .iter_mut()
                .find(|it| it.name == definition.name)
            {
                Some(known) => known.clone_from(definition),
                None => self.catalogue.push(definition.clone()),
            }
        }
    }

    /// What the model is shown in the next round.
    pub(crate) fn shown(&self) -> Vec<ToolDefinition> {
        self.catalogue.clone()
    }

    /// Whether the model may call a tool in this turn.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.catalogue.iter().any(|it| it.name == name)
    }

    /// What executes a tool; nothing where only a hook does.
    pub(crate) fn executor(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.parts.tools.get(name)
    }

    /// Whether a tool only looks into what cannot change within the turn.
    pub(crate) fn is_pure(&self, _name: &str) -> bool {
        false
    }
}
