//! Plans: what an agent has set out to do in a room, step by step, and how far it is.

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::model::{ChannelId, RoomId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Arguments, IntoToolResult, Json, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use crate::ToolDefinition;

/// The most steps of a plan.
const MOST_TASKS: usize = 100;
/// The most characters of a step's title.
const MOST_TITLE: usize = 500;
/// In how many rooms a plan is kept; the one that was not read for longest goes first.
const MOST_ROOMS: usize = 100;

/// The plans by room, the one that was read last at the end.
type Plans = VecDeque<(Option<RoomId>, Arc<[PlannedTask]>)>;
type OnUpdated = dyn Fn(PlanUpdated) -> BoxFuture<'static, ()> + Send + Sync;

/// The plans of an agent, one in each room, in memory. Clones are the same.
///
/// The model makes and updates its plan with the tool `plan_tasks`: up to 100 steps with titles of up to 500
/// characters. What else it writes into a step is dropped.
#[derive(Clone, Default)]
pub struct TaskPlans {
    plans: Arc<Mutex<Plans>>,
    on_updated: Option<Arc<OnUpdated>>,
}

/// A step of a plan.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// What is to be done.
    pub title: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// It cannot go on.
    Blocked,
}

impl PlanStatus {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Blocked,
    ];

    /// The word in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
        }
    }

    const fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[-]",
            Self::Completed => "[x]",
            Self::Blocked => "[!]",
        }
    }
}

/// A plan that was made or changed.
#[derive(Clone)]
#[non_exhaustive]
pub struct PlanUpdated {
    /// The room.
    pub room_id: Option<RoomId>,
    /// The agent's channel.
    pub channel_id: Option<ChannelId>,
    /// The whole plan.
    pub tasks: Arc<[PlannedTask]>,
}

impl PlanUpdated {
    /// The data of the passing event that user interfaces are shown the plan with.
    #[must_use]
    pub fn data(&self) -> Value {
        json!({ "type": "plan_updated", "tasks": &*self.tasks })
    }
}

impl TaskPlans {
    /// No plan yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls a function after each change, before the model reads that it was made. Its panic is caught.
    #[must_use]
    pub fn on_updated<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(PlanUpdated) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.on_updated = Some(Arc::new(move |update| function(update).boxed()));
        self
    }

    /// The plan of a room.
    #[must_use]
    pub fn plan(&self, room: Option<&RoomId>) -> Option<Arc<[PlannedTask]>> {
        let mut plans = self.plans();
        let at = plans.iter().position(|(other, _)| other.as_ref() == room)?;
        let plan = plans.remove(at)?;
        let tasks = Arc::clone(&plan.1);
        plans.push_back(plan);
        Some(tasks)
    }

    /// The plan of a room for the system prompt; `None` where there is none or it has no step.
    #[must_use]
    pub fn prompt(&self, room: Option<&RoomId>) -> Option<String> {
        let tasks = self.plan(room).filter(|tasks| !tasks.is_empty())?;
        let mut prompt = "## Current Task Plan".to_owned();
        for task in &*tasks {
            // A title is the model's own words; a line break in it must not look like a line of the prompt.
            let title: String = task
                .title
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            let (mark, status) = (task.status.mark(), task.status.as_str());
            prompt.push_str(&format!("\n- {mark} {title} ({status})"));
        }
        Some(prompt)
    }

    /// The tool `plan_tasks`.
    #[must_use]
    pub fn tool(&self) -> impl Tool + use<> {
        PlanTasks {
            definition: definition(),
            plans: self.clone(),
        }
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn update(&self, context: &ToolContext, tasks: Arc<[PlannedTask]>) {
        {
            let mut plans = self.plans();
            plans.retain(|(room, _)| *room != context.room_id);
            plans.push_back((context.room_id.clone(), Arc::clone(&tasks)));
            if plans.len() > MOST_ROOMS {
                plans.pop_front();
            }
        }
        let Some(on_updated) = &self.on_updated else {
            return;
        };
        let update = PlanUpdated {
            room_id: context.room_id.clone(),
            channel_id: context.channel_id.clone(),
            tasks,
        };
        let told = AssertUnwindSafe(async { on_updated(update).await });
        if told.catch_unwind().await.is_err() {
            tracing::error!("what is told of changed plans panicked");
        }
    }
}

fn definition() -> ToolDefinition {
    let words: Vec<&str> = PlanStatus::ALL
        .iter()
        .map(|status| status.as_str())
        .collect();
    let parameters = json!({
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "maxItems": MOST_TASKS,
                "description": "The whole plan, in order; it replaces the one before.",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": { "type": "string", "maxLength": MOST_TITLE },
                        "status": { "type": "string", "enum": words },
                    },
                    "required": ["title", "status"],
                },
            },
        },
        "required": ["tasks"],
    });
    ToolDefinition::new(
        "plan_tasks",
        "Makes or updates your plan of steps. Use it to split larger work and to keep track of it.",
        parameters,
    )
}

/// Reads steps; also where the tool is called without a check against its schema.
fn read(arguments: &Arguments) -> Result<Arc<[PlannedTask]>, String> {
    let tasks = arguments.get("tasks").and_then(Value::as_array);
    let tasks = tasks.ok_or("tasks: must be a list")?;
    if tasks.len() > MOST_TASKS {
        return Err(format!("tasks: must have at most {MOST_TASKS} items"));
    }
    let step = |(at, task): (usize, &Value)| {
        let title = task.get("title").and_then(Value::as_str);
        let title = title.ok_or_else(|| format!("tasks[{at}].title: must be a string"))?;
        if title.chars().count() > MOST_TITLE {
            return Err(format!(
                "tasks[{at}].title: must have at most {MOST_TITLE} characters"
            ));
        }
        let status = task
            .get("status")
            .and_then(|s| PlanStatus::deserialize(s).ok());
        let status = status.ok_or_else(|| format!("tasks[{at}].status: is none that there is"))?;
        Ok(PlannedTask {
            title: title.to_owned(),
            status,
        })
    };
    tasks.iter().enumerate().map(step).collect()
}

struct PlanTasks {
    definition: ToolDefinition,
    plans: TaskPlans,
}

#[async_trait]
impl Tool for PlanTasks {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let tasks = read(&arguments).map_err(|problem| {
            let message = format!("Invalid arguments: {problem}");
            ToolError::of(ToolErrorKind::InvalidArguments, message)
        })?;
        let mut answer = json!({ "status": "ok", "task_count": tasks.len() });
        if let Value::Object(answer) = &mut answer {
            for status in PlanStatus::ALL {
                let count = tasks.iter().filter(|task| task.status == *status).count();
                answer.insert(status.as_str().to_owned(), count.into());
            }
        }
        self.plans.update(context, tasks).await;
        Json(answer).into_tool_result()
    }

    fn is_infrastructure(&self) -> bool {
        true
    }
}

impl fmt::Debug for TaskPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPlans")
            .field("rooms", &self.plans().len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PlannedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedTask")
            .field("title", &format_args!("{} bytes", self.title.len()))
            .field("status", &self.status)
            .finish()
    }
}

impl fmt::Debug for PlanUpdated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanUpdated")
            .field("room_id", &self.room_id)
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}
