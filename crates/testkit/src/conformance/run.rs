//! Running a scenario: its steps one after the other, on a runtime of its own whose time is paused.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, join};
use roomkit_core::model::{EventId, InboundMessage, RoomId};
use roomkit_core::telemetry::TelemetryProvider;
use roomkit_core::{Error, ErrorKind, Rooms};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::build::{Stage, build};
use super::content::Content;
use super::error::ConformanceError;
use super::scenario::{
    AttachSpec, CancelAnswer, Inbound, Meanwhile, OfChannel, Scenario, SendEvent, Step,
};
use super::trace;

/// When a scenario is stuck. Paused time leaps to the next timer when nothing goes on, so this one is
/// reached at once when nothing else is to come.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Runs a scenario and returns the trace that it leaves, in the form of its `expect`.
pub(super) fn run(
    scenario: &Scenario,
    telemetry: Option<Arc<dyn TelemetryProvider>>,
) -> Result<Value, ConformanceError> {
    on_paused_time(play(scenario, telemetry))
}

/// Runs something to its end, on a runtime of its own whose time is paused.
pub(super) fn on_paused_time(
    play: impl Future<Output = Result<Value, ConformanceError>>,
) -> Result<Value, ConformanceError> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(ConformanceError::Runtime)?;
    let all = async {
        let ended = tokio::time::timeout(FOREVER, play).await;
        ended.unwrap_or(Err(ConformanceError::Stuck))
    };
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(all)))
        .unwrap_or_else(|panic| Err(ConformanceError::Panicked(message(&*panic))))
}

async fn play(
    scenario: &Scenario,
    telemetry: Option<Arc<dyn TelemetryProvider>>,
) -> Result<Value, ConformanceError> {
    let stage = build(scenario, telemetry).await?;
    let mut results = Vec::new();
    for (at, step) in scenario.steps.iter().enumerate() {
        let yielded = stage.play(step).await;
        stage.kit.wait_idle().await;
        results.extend(
            yielded.map_err(|problem| {
                ConformanceError::malformed(format!("steps[{at}]: {problem}"))
            })?,
        );
    }
    trace::of(&stage, results)
        .await
        .map_err(ConformanceError::Unobservable)
}

/// Why a step has no result.
pub(super) enum Trouble {
    /// The call failed, which is a result too.
    Kit(Error),
    /// The step makes no sense.
    Scenario(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Kit(error)
    }
}

impl Stage {
    /// Does a step, with what happens meanwhile. What comes back are the results, its own first; or
    /// what makes no sense.
    fn play<'a>(&'a self, step: &'a Step) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        if let Step::AsOrganization(scoped) = step {
            let stage = Self {
                rooms: self.kit.org(scoped.organization.clone()),
                ..self.clone()
            };
            return async move { stage.play(&scoped.step).await }.boxed();
        }
        let meanwhile: &[Meanwhile] = match step {
            Step::Inbound(inbound) => &inbound.meanwhile,
            _ => &[],
        };
        let begin = Instant::now();
        let others = async move {
            let mut results = Vec::new();
            for Meanwhile { after, step } in meanwhile {
                tokio::time::sleep_until(begin + seconds("after", *after)?).await;
                results.extend(self.play(step).await?);
            }
            Ok::<_, String>(results)
        };
        let both = async move {
            let (own, others) = join(self.step(step), others).await;
            let mut results = match own {
                Ok(result) => Vec::from_iter(result),
                Err(Trouble::Kit(error)) => vec![json!({ "error": error.code() })],
                Err(Trouble::Scenario(problem)) => return Err(problem),
            };
            results.extend(others?);
            Ok(results)
        };
        both.boxed()
    }

    /// Does a step. What comes back is what the step yields, if it is one that yields something.
    async fn step(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        let kit = &self.rooms;
        if let Some(published) = self.publish(step).await {
            return published.map(|()| None);
        }
        match step {
            Step::Publish(_)
            | Step::Typing(_)
            | Step::Presence(_)
            | Step::Reaction(_)
            | Step::ReadReceipt(_)
            | Step::AsOrganization(_) => {}
            Step::Inbound(inbound) => return self.inbound(inbound).await.map(Some),
            Step::SendEvent(event) => return self.send_event(event).await.map(Some),
            Step::Mute(OfChannel { room, channel }) => {
                kit.mute(self.room(room).await?, channel).await?;
            }
            Step::Unmute(OfChannel { room, channel }) => {
                kit.unmute(self.room(room).await?, channel).await?;
            }
            Step::MuteOutput(OfChannel { room, channel }) => {
                kit.mute_output(self.room(room).await?, channel).await?;
            }
            Step::UnmuteOutput(OfChannel { room, channel }) => {
                kit.unmute_output(self.room(room).await?, channel).await?;
            }
            Step::DetachChannel(OfChannel { room, channel }) => {
                kit.detach_channel(self.room(room).await?, channel).await?;
            }
            Step::AttachChannel(spec) => {
                let Some(room) = &spec.room else {
                    return Err(Trouble::Scenario("attach_channel needs `room`".to_owned()));
                };
                attach(kit, &self.room(room).await?, spec).await?;
            }
            Step::SetAccess(change) => {
                let room = self.room(&change.room).await?;
                kit.set_access(room, &change.channel, change.access).await?;
            }
            Step::SetVisibility(change) => {
                let room = self.room(&change.room).await?;
                kit.set_visibility(room, &change.channel, change.visibility.clone())
                    .await?;
            }
            Step::CloseRoom(of) => {
                kit.close_room(self.room(&of.room).await?).await?;
            }
            Step::PauseRoom(of) => {
                kit.pause_room(self.room(&of.room).await?).await?;
            }
            Step::ResumeRoom(of) => {
                kit.resume_room(self.room(&of.room).await?).await?;
            }
            Step::ReopenRoom(of) => {
                kit.reopen_room(self.room(&of.room).await?).await?;
            }
            Step::ArchiveRoom(of) => {
                kit.archive_room(self.room(&of.room).await?).await?;
            }
            Step::SetRoomTimers(change) => {
                let room = self.room(&change.room).await?;
                kit.set_room_timers(room, change.timers.clone()).await?;
            }
            Step::CheckRoomTimers(of) => {
                let room = kit.check_room_timers(self.room(&of.room).await?).await?;
                return Ok(Some(json!({ "status": room.status })));
            }
            Step::CheckAllTimers(_) => {
                let changed = kit.check_all_timers().await?;
                let names = trace::room_names(self).await?.into_iter();
                let changed: Vec<_> = names
                    .filter(|(id, _)| changed.iter().any(|room| room.id == *id))
                    .map(|(_, name)| name)
                    .collect();
                return Ok(Some(json!({ "changed": changed })));
            }
            Step::DeliveryStatus(status) => return self.delivery_status(status).await.map(Some),
            Step::Webhook(webhook) => return self.webhook(webhook).await.map(Some),
            Step::SetAgentResponsePolicy(change) => {
                let room = self.room(&change.room).await?;
                kit.set_agent_response_policy(room, change.policy).await?;
            }
            Step::CancelAnswer(CancelAnswer { room, agent }) => {
                let cancelled = kit.cancel_answer(self.room(room).await?, agent).await?;
                return Ok(Some(json!({ "cancelled": cancelled })));
            }
            Step::Settle(settle) => {
                let time = seconds("settle", settle.seconds).map_err(Trouble::Scenario)?;
                tokio::time::sleep(time).await;
            }
            Step::AddMember(_)
            | Step::EnsureParticipant(_)
            | Step::RemoveMember(_)
            | Step::BanMember(_)
            | Step::UnbanMember(_)
            | Step::RenameMember(_)
            | Step::SetMemberRole(_)
            | Step::ResolveParticipant(_)
            | Step::Participants(_) => return self.people(step).await,
            Step::SaveIdentity(_) | Step::LinkAddress(_) | Step::IdentitiesByAddress(_) => {
                return self.identities(step).await;
            }
            Step::MarkRead(_)
            | Step::MarkAllRead(_)
            | Step::Unread(_)
            | Step::Thread(_)
            | Step::TopLevel(_)
            | Step::UpdateEvent(_)
            | Step::DeleteEvent(_) => return self.events(step).await,
            Step::RegenerateResponse(_)
            | Step::RegenerateTarget(_)
            | Step::SubmitFeedback(_)
            | Step::SendGreeting(_)
            | Step::SessionStarted(_) => return self.answers(step).await,
            Step::AttachSource(_) | Step::DetachSource(_) | Step::SourceHealth(_) => {
                return self.sources(step).await;
            }
            Step::Trace(_) | Step::BindTrace(_) | Step::TraceStats(_) => {
                return self.protocol_traces(step).await;
            }
        }
        Ok(None)
    }

    async fn inbound(&self, spec: &Inbound) -> Result<Value, Trouble> {
        let room = match &spec.room {
            Some(room) => Some(self.room(room).await?),
            None => None,
        };
        let content = self.content(&spec.content, room.as_ref()).await?;
        let mut message = InboundMessage::new(spec.channel.clone(), spec.sender.as_str(), content);
        message.room_id = room;
        if let Some(event_type) = spec.event_type {
            message.event_type = event_type;
        }
        message.idempotency_key.clone_from(&spec.idempotency_key);
        message.addressed_to.clone_from(&spec.addressed_to);
        if let Some(parent) = spec.parent_index {
            let room = match &message.room_id {
                Some(room) => room.clone(),
                None => self.only_room().await?,
            };
            message.parent_event_id = Some(self.event_at(&room, parent).await?);
        }
        message.metadata = spec.metadata.clone();
        message.raw_payload = spec.raw_payload.clone();
        let result = match &spec.organization {
            Some(id) => self.kit.org(id.clone()).process_inbound(message).await?,
            None => self.rooms.process_inbound(message).await?,
        };
        Ok(json!({ "blocked": result.blocked, "reason": result.reason }))
    }

    async fn send_event(&self, spec: &SendEvent) -> Result<Value, Trouble> {
        let room = self.room(&spec.room).await?;
        let content = self.content(&spec.content, Some(&room)).await?;
        let mut call = self.rooms.send_event(room.clone(), &spec.channel, content);
        if let Some(agents) = &spec.addressed_to {
            call = call.addressed_to(agents.iter().cloned());
        }
        if let Some(visibility) = &spec.visibility {
            call = call.visibility(visibility.clone());
        }
        if let Some(participant) = &spec.participant {
            call = call.participant(participant);
        }
        if let Some(parent) = spec.parent_index {
            call = call.parent(self.event_at(&room, parent).await?);
        }
        Ok(json!({ "status": call.await?.status }))
    }

    /// The room that a step means: `<new N>` is the Nth that the scenario did not set up.
    pub(super) async fn room(&self, named: &RoomId) -> roomkit_core::Result<RoomId> {
        let rooms = trace::room_names(self).await?;
        let of_name = rooms.into_iter().find(|(_, name)| named == name.as_str());
        Ok(of_name.map_or_else(|| named.clone(), |(room, _)| room))
    }

    /// The event with this index; an id that no event has, where the room has none there.
    pub(super) async fn event_at(&self, room: &RoomId, index: u64) -> Result<EventId, Trouble> {
        // A room that is not there is for the call to say.
        let events = trace::timeline(&self.kit, room).await.unwrap_or_default();
        let found = events.iter().find(|event| event.index == index);
        Ok(found.map_or_else(
            || EventId::from(format!("none-{index}")),
            |event| event.id.clone(),
        ))
    }

    /// Content with the ids of the events that it names by index.
    pub(super) async fn content(
        &self,
        content: &Content,
        room: Option<&RoomId>,
    ) -> Result<roomkit_core::model::EventContent, Trouble> {
        let mut ids: BTreeMap<u64, EventId> = BTreeMap::new();
        let targets = content.targets();
        if !targets.is_empty() {
            let room = match room {
                Some(room) => room.clone(),
                None => self.only_room().await?,
            };
            let events = trace::timeline(&self.kit, &room).await?;
            ids.extend(events.iter().map(|event| (event.index, event.id.clone())));
            if let Some(index) = targets.iter().find(|index| !ids.contains_key(index)) {
                let problem = format!("target_index: room {room} has no event {index}");
                return Err(Trouble::Scenario(problem));
            }
        }
        let id_of = |index| ids.get(&index).map(EventId::to_string).unwrap_or_default();
        content.resolve(id_of).map_err(|problem| {
            Trouble::Kit(Error::new(
                ErrorKind::InvalidInput,
                format!("content: {problem}"),
            ))
        })
    }

    /// The room of a step that names none but an event by its index.
    async fn only_room(&self) -> Result<RoomId, Trouble> {
        let mut rooms = trace::room_names(self).await?.into_iter();
        match (rooms.next(), rooms.next()) {
            (Some((room, _)), None) => Ok(room),
            _ => Err(Trouble::Scenario(
                "target_index: which room is meant?".to_owned(),
            )),
        }
    }
}

/// Attaches a channel, and mutes it where it is to be muted.
pub(super) async fn attach(
    kit: &Rooms,
    room: &RoomId,
    spec: &AttachSpec,
) -> roomkit_core::Result<()> {
    let mut call = kit.attach_channel(room, spec.channel.clone());
    if let Some(access) = spec.access {
        call = call.access(access);
    }
    if let Some(visibility) = &spec.visibility {
        call = call.visibility(visibility.clone());
    }
    if let Some(policy) = &spec.retry_policy {
        call = call.retry_policy(policy.clone());
    }
    if let Some(limit) = &spec.rate_limit {
        call = call.rate_limit(limit.clone());
    }
    if let Some(metadata) = &spec.metadata {
        call = call.metadata(metadata.clone());
    }
    call.await?;
    if spec.muted {
        kit.mute(room, spec.channel.clone()).await?;
    }
    Ok(())
}

pub(super) fn seconds(key: &str, value: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(value).map_err(|error| format!("{key}: {error}"))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
