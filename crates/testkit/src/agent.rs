//! An agent that answers by a script.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::model::{ChannelBinding, ChannelCategory, ChannelId, ChannelType, RoomEvent};
use roomkit_core::{Channel, ChannelOutput, Clock, Reply, Result, RoomContext, SystemClock};

use crate::body::body_of;
use crate::stream::{StreamPiece, deltas};
use crate::sync::Log;

/// An agent for tests: it answers an event by the first rule that fits. A clone is another handle of
/// the same agent.
///
/// It never answers itself, and it records every event that it is asked about, answered or not.
///
/// ```
/// use roomkit_testkit::{ScriptRule, ScriptedAgent};
///
/// let agent = ScriptedAgent::builder("support")
///     .rule(ScriptRule::on("refund").reply("A colleague will call you.").task("call back"))
///     .rule(ScriptRule::any().reply("How can I help?"))
///     .build();
/// assert!(agent.heard().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    parts: Arc<ScriptedAgentBuilder>,
    heard: Log<Arc<RoomEvent>>,
}

/// Says how a [`ScriptedAgent`] answers.
#[derive(Debug, Clone)]
#[must_use = "nothing is built until `build` is called"]
pub struct ScriptedAgentBuilder {
    id: ChannelId,
    rules: Vec<ScriptRule>,
    delay: Duration,
    clock: Arc<dyn Clock>,
    greeting: Option<String>,
    greets_by_itself: bool,
}

/// What an agent makes of the events that a rule fits.
///
/// A rule looks at the body of text, rich text, a notice or a template, and at those of the parts of a
/// composite. Other content has no words; only [`any`](Self::any) fits it.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a rule does nothing until an agent has it"]
pub struct ScriptRule {
    /// `None` fits every event.
    words: Option<String>,
    answer: Answer,
    addressed_to: Option<Vec<ChannelId>>,
    tasks: Vec<String>,
    observations: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Answer {
    #[default]
    None,
    Whole(String),
    Stream(Vec<StreamPiece>),
}

impl ScriptRule {
    /// A rule for every event.
    pub fn any() -> Self {
        Self::default()
    }

    /// A rule for events in whose body these words occur.
    pub fn on(words: impl Into<String>) -> Self {
        Self {
            words: Some(words.into()),
            ..Self::default()
        }
    }

    /// What the agent says. Default: nothing.
    pub fn reply(mut self, text: impl Into<String>) -> Self {
        self.answer = Answer::Whole(text.into());
        self
    }

    /// What the agent says as it comes, instead of a whole [`reply`](Self::reply).
    pub fn stream(mut self, pieces: impl IntoIterator<Item = StreamPiece>) -> Self {
        self.answer = Answer::Stream(pieces.into_iter().collect());
        self
    }

    /// The agents that the reply asks to act; an empty list asks nobody. A streamed answer cannot
    /// say. Default: as the room's policy has it.
    pub fn addressed_to<C: Into<ChannelId>>(mut self, agents: impl IntoIterator<Item = C>) -> Self {
        self.addressed_to = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a task of this title.
    pub fn task(mut self, title: impl Into<String>) -> Self {
        self.tasks.push(title.into());
        self
    }

    /// Adds an observation of this category; its content is the category too.
    pub fn observation(mut self, category: impl Into<String>) -> Self {
        self.observations.push(category.into());
        self
    }

    fn fits(&self, event: &RoomEvent) -> bool {
        let Some(words) = &self.words else {
            return true;
        };
        body_of(&event.content).contains(words.as_str())
    }

    fn output(&self, context: &RoomContext, clock: &Arc<dyn Clock>) -> ChannelOutput {
        let mut output = match &self.answer {
            Answer::None => ChannelOutput::none(),
            Answer::Stream(pieces) => {
                ChannelOutput::stream(deltas(pieces.clone(), Arc::clone(clock)))
            }
            Answer::Whole(text) => {
                let mut reply = Reply::text(text);
                reply.addressed_to.clone_from(&self.addressed_to);
                ChannelOutput::reply(reply)
            }
        };
        let tasks = self.tasks.iter().map(|title| context.task(title));
        output.tasks.extend(tasks);
        let observations = self.observations.iter();
        let observations = observations.map(|category| context.observation(category, category));
        output.observations.extend(observations);
        output
    }
}

impl ScriptedAgent {
    /// An agent without rules: it hears and says nothing.
    pub fn new(id: impl Into<ChannelId>) -> Self {
        Self::builder(id).build()
    }

    /// An agent that is to say something.
    pub fn builder(id: impl Into<ChannelId>) -> ScriptedAgentBuilder {
        ScriptedAgentBuilder {
            id: id.into(),
            rules: Vec::new(),
            delay: Duration::ZERO,
            clock: Arc::new(SystemClock::new()),
            greeting: None,
            greets_by_itself: true,
        }
    }

    /// The events it was asked about, of all rooms, in the order in which it was.
    #[must_use]
    pub fn heard(&self) -> Vec<Arc<RoomEvent>> {
        self.heard.entries()
    }

    /// The indexes of the events it was asked about; meant for tests with one room.
    #[must_use]
    pub fn heard_indexes(&self) -> Vec<u64> {
        self.heard().iter().map(|event| event.index).collect()
    }

    /// Forgets what it heard so far.
    pub fn clear(&self) {
        self.heard.clear();
    }
}

impl ScriptedAgentBuilder {
    /// Adds a rule. Of those that fit an event the first counts.
    pub fn rule(mut self, rule: ScriptRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// How long it thinks about each event. Default: no time.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The clock by which it takes its time. Default: tokio's, which a test may pause.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What it says to a room before anybody has said anything. Default: nothing.
    pub fn greeting(mut self, text: impl Into<String>) -> Self {
        self.greeting = Some(text.into());
        self
    }

    /// Whether it greets when a session begins, and not only when it is told to. Default: yes, where it
    /// has a [greeting](Self::greeting).
    pub fn greets_by_itself(mut self, by_itself: bool) -> Self {
        self.greets_by_itself = by_itself;
        self
    }

    /// Builds the agent.
    #[must_use]
    pub fn build(self) -> ScriptedAgent {
        ScriptedAgent {
            parts: Arc::new(self),
            heard: Log::default(),
        }
    }
}

#[async_trait]
impl Channel for ScriptedAgent {
    fn id(&self) -> &ChannelId {
        &self.parts.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    fn greeting(&self) -> Option<String> {
        self.parts.greeting.clone()
    }

    fn greets_by_itself(&self) -> bool {
        self.parts.greeting.is_some() && self.parts.greets_by_itself
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        self.heard.push(Arc::clone(event));
        if !self.parts.delay.is_zero() {
            self.parts.clock.sleep(self.parts.delay).await;
        }
        if event.source.channel_id == self.parts.id {
            return Ok(ChannelOutput::none());
        }
        let rule = self.parts.rules.iter().find(|rule| rule.fits(event));
        Ok(rule.map_or_else(ChannelOutput::none, |rule| {
            rule.output(context, &self.parts.clock)
        }))
    }
}
