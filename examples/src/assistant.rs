//! An agent that needs no model: it answers every message with the same words.

use std::sync::Arc;

use roomkit::prelude::*;

/// Answers every message with the same words.
#[derive(Debug)]
pub struct Assistant {
    id: ChannelId,
    answer: String,
}

impl Assistant {
    /// An assistant that always says `answer`.
    pub fn new(id: impl Into<ChannelId>, answer: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            answer: answer.into(),
        }
    }
}

#[async_trait]
impl Channel for Assistant {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        Ok(match event.text() {
            Some(_) => ChannelOutput::text(&self.answer),
            None => ChannelOutput::none(),
        })
    }
}
