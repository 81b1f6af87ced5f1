//! Tasks, observations and owed deliveries.

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{Observation, RoomId, Task, TaskId};
use roomkit_core::store::{DeliveryStore, OwedDelivery, WorkStore};
use roomkit_store::{from_json, to_json};

use crate::args::{Args, column, length, signed};
use crate::error::Doing;
use crate::store::PostgresStore;

#[async_trait]
impl WorkStore for PostgresStore {
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>> {
        let doing = Doing::new("reading the tasks of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.tasks, args).await?;
        let task = |row| from_json("a task in room", room.as_str(), column(row, 0)?);
        rows.iter().map(task).collect()
    }

    async fn update_task(&self, task: Task) -> Result<bool> {
        let doing = Doing::new("updating task", task.id.as_str());
        let args = Args::new()
            .id(task.room_id.as_str())
            .id(task.id.as_str())
            .add(to_json("task", task.id.as_str(), &task)?);
        let rows = self
            .0
            .db
            .write(doing, &self.0.sql.update_task, args)
            .await?;
        Ok(!rows.is_empty())
    }

    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>> {
        let doing = Doing::new("reading task", id.as_str());
        let args = Args::new().id(room.as_str()).id(id.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.task, args).await?;
        let task = rows
            .first()
            .map(|row| from_json("task", id.as_str(), column(row, 0)?));
        task.transpose()
    }

    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>> {
        let doing = Doing::new("reading the observations of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.observations, args)
            .await?;
        let observation = |row| from_json("an observation in room", room.as_str(), column(row, 0)?);
        rows.iter().map(observation).collect()
    }
}

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>> {
        let doing = Doing::new("reading what is owed", "");
        let (sql, args) = match room {
            Some(room) => (&self.0.sql.owed_in_room, Args::new().id(room.as_str())),
            None => (&self.0.sql.owed, Args::new()),
        };
        let rows = self.0.db.read(doing, sql, args.add(length(limit))).await?;
        rows.iter()
            .map(|row| from_json("a delivery", "", column(row, 0)?))
            .collect()
    }

    async fn settle_owed(&self, delivery_id: &str) -> Result<bool> {
        let doing = Doing::new("settling delivery", delivery_id);
        let args = Args::new().id(delivery_id);
        let rows = self
            .0
            .db
            .write(doing, &self.0.sql.settle_owed, args)
            .await?;
        Ok(!rows.is_empty())
    }

    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool> {
        let doing = Doing::new("updating delivery", &owed.delivery_id);
        let args = Args::new()
            .id(&owed.delivery_id)
            .id(owed.room_id.as_str())
            .id(owed.channel_id.as_str())
            .add(signed(owed.index))
            .id(owed.event_id.as_str())
            .add(to_json("delivery", &owed.delivery_id, &owed)?);
        let rows = self
            .0
            .db
            .write(doing, &self.0.sql.update_owed, args)
            .await?;
        Ok(!rows.is_empty())
    }
}
