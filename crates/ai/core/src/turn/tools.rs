//! The tools of a turn: what there is, what the model is shown in a round, and who executes what.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use roomkit_core::model::RoomId;

use super::{Turn, lock};
use crate::{
    Arguments, READ_STORED_RESULT, RevealedTools, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput, ToolRunner, ToolSet, ToolSetError,
};

/// For how many rooms it is remembered which tools were found.
const MOST_ROOMS: usize = 1_000;

/// The tools of one turn.
pub(crate) struct Toolbox {
    turn: Arc<Turn>,
    pub(crate) runner: ToolRunner,
    all: ToolSet,
    search: Option<RevealedTools>,
    /// What hooks and stages added.
    added: ToolSet,
    /// What hooks and stages took away.
    taken: HashSet<String>,
    /// Tools that nothing executes but a hook, or a person.
    hooked: HashSet<String>,
}

/// A tool of which only the definition is known.
struct Defined(ToolDefinition);

#[async_trait]
impl Tool for Defined {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let problem = "Not executed: nothing here executes this tool.";
        Err(ToolError::of(ToolErrorKind::Unknown, problem))
    }
}

impl Toolbox {
    /// The agent's tools, and besides them those of the room or the turn, of which only the definitions
    /// are known. What the policy denies to whoever asks is not there; many are hidden behind a search.
    ///
    /// # Errors
    /// Where a tool of the room or the turn is not acceptable.
    pub(crate) async fn new(
        turn: Arc<Turn>,
        defined: Vec<ToolDefinition>,
    ) -> Result<Self, ToolSetError> {
        let parts = Arc::clone(&turn.parts);
        let mut all = ToolSet::new();
        let mut hooked = HashSet::new();
        let human = parts.human.iter().flat_map(|it| it.definitions().to_vec());
        for definition in defined.into_iter().chain(human) {
            if parts.tools.contains(&definition.name) || all.contains(&definition.name) {
                continue;
            }
            hooked.insert(definition.name.clone());
            all.add(Defined(definition))?;
        }
        all.merge(&parts.tools)?;
        if let Some(plans) = &parts.plans {
            all.add(plans.tool())?;
        }
        if !all.is_empty() && !all.contains(READ_STORED_RESULT) {
            all.add(parts.stored.tool())?;
        }
        let runner = parts.runner.clone().with_clock(Arc::clone(turn.clock()));
        let mut search = None;
        if !all.is_empty() {
            all = runner.allowed(&all, Box::pin(turn.tool_context()).await);
            let provider = parts.provider.as_ref();
            let window = provider.and_then(|it| it.catalog_entry()?.context_window);
            let config = &parts.config.tool_search;
            if config.is_active(&all, window) {
                let found = parts.revealed.of(turn.room_id());
                search = Some(config.begin(&all, found)?);
            }
        }
        Ok(Self {
            turn,
            runner,
            all,
            search,
            added: ToolSet::new(),
            taken: HashSet::new(),
            hooked,
        })
    }

    /// No tools but those that a context brings.
    pub(crate) fn empty(turn: Arc<Turn>) -> Self {
        let runner = turn
            .parts
            .runner
            .clone()
            .with_clock(Arc::clone(turn.clock()));
        Self {
            turn,
            runner,
            all: ToolSet::new(),
            search: None,
            added: ToolSet::new(),
            taken: HashSet::new(),
            hooked: HashSet::new(),
        }
    }

    /// Takes over what hooks and stages made of the tools that were shown: theirs are offered too, and
    /// what they took away is gone. One that vendors would not take is left out.
    pub(crate) fn adopt(&mut self, given: &[ToolDefinition]) {
        let kept: HashSet<&str> = given.iter().map(|it| it.name.as_str()).collect();
        let taken = self.shown().into_iter().map(|it| it.name);
        self.taken
            .extend(taken.filter(|name| !kept.contains(name.as_str())));
        for definition in given {
            if self.tools().contains(&definition.name) {
                continue;
            }
            match self.added.add(Defined(definition.clone())) {
                Ok(()) => {
                    self.hooked.insert(definition.name.clone());
                }
                Err(error) => tracing::warn!(%error, "a tool of a hook or a stage is left out"),
            }
        }
    }

    /// Whether tools are hidden behind a search.
    pub(crate) fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// What the model is shown in the next round.
    pub(crate) fn shown(&self) -> Vec<ToolDefinition> {
        let visible = self.search.as_ref().map(RevealedTools::visible);
        let has_stored = self.turn.parts.stored.has_any(Some(self.turn.room_id()));
        let is_shown = |it: &&ToolDefinition| {
            !self.taken.contains(&it.name) && (has_stored || it.name != READ_STORED_RESULT)
        };
        let visible = visible.as_ref().unwrap_or(&self.all);
        let shown = visible.definitions().chain(self.added.definitions());
        shown.filter(is_shown).cloned().collect()
    }

    /// The tools among which one of this name is, where the model may call it.
    pub(crate) fn set_of(&self, name: &str) -> Option<&ToolSet> {
        if self.taken.contains(name) {
            return None;
        }
        if self.added.contains(name) {
            return Some(&self.added);
        }
        match &self.search {
            Some(search) => search.admit(name).then(|| search.all()),
            None => self.all.contains(name).then_some(&self.all),
        }
    }

    /// Whether only a hook executes a tool.
    pub(crate) fn is_hooked(&self, name: &str) -> bool {
        self.hooked.contains(name)
    }

    /// Whether a tool only looks into what cannot change within the turn.
    pub(crate) fn is_pure(&self, name: &str) -> bool {
        self.search.is_some() && matches!(name, "find_tools" | "list_tools")
    }

    fn tools(&self) -> &ToolSet {
        self.search.as_ref().map_or(&self.all, RevealedTools::all)
    }
}

impl Drop for Toolbox {
    fn drop(&mut self) {
        if let Some(search) = &self.search {
            let found = search.revealed();
            self.turn.parts.revealed.keep(self.turn.room_id(), found);
        }
    }
}

/// Which tools were found in which rooms, the last 1,000 of them.
#[derive(Default)]
pub(crate) struct Revealed(Mutex<VecDeque<(RoomId, Vec<String>)>>);

impl Revealed {
    fn of(&self, room: &RoomId) -> Vec<String> {
        let rooms = lock(&self.0);
        let found = rooms.iter().find(|(other, _)| other == room);
        found.map(|(_, names)| names.clone()).unwrap_or_default()
    }

    fn keep(&self, room: &RoomId, names: Vec<String>) {
        let mut rooms = lock(&self.0);
        rooms.retain(|(other, _)| other != room);
        if names.is_empty() {
            return;
        }
        if rooms.len() == MOST_ROOMS {
            rooms.pop_front();
        }
        rooms.push_back((room.clone(), names));
    }
}
