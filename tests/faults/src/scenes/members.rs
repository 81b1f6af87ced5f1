//! Changes of who is in a room, and of what they have read.

use roomkit_core::Result;
use roomkit_core::model::{Identity, Participant, ParticipantRole, ParticipantStatus, RoomId};
use roomkit_core::store::{IdentityStore, ParticipantStore, ReadStore};

use super::changes::drop_it;
use super::messages::first_said;
use crate::scene::Scene;
use crate::stage::{ROOM, Stage};

pub(super) const SCENES: &[Scene] = &[
    Scene::change(
        "add a member",
        |stage| {
            Box::pin(async move { stage.kit.add_member(ROOM, "web", "dora").await.map(drop_it) })
        },
        |stage| Box::pin(has_status(stage, ParticipantStatus::Active)),
    ),
    Scene::change(
        "remove a member",
        |stage| Box::pin(async move { stage.kit.remove_member(ROOM, "dora").await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, ParticipantStatus::Left)),
    )
    .after(|stage| Box::pin(with_dora(stage))),
    Scene::change(
        "ban a member",
        |stage| Box::pin(async move { stage.kit.ban_member(ROOM, "dora").await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, ParticipantStatus::Banned)),
    )
    .after(|stage| Box::pin(with_dora(stage))),
    Scene::change(
        "lift a ban",
        |stage| Box::pin(async move { stage.kit.unban_member(ROOM, "dora").await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, ParticipantStatus::Left)),
    )
    .after(|stage| {
        Box::pin(async move {
            with_dora(stage).await?;
            stage.kit.ban_member(ROOM, "dora").await.map(drop)
        })
    }),
    Scene::change(
        "rename a member",
        |stage| {
            Box::pin(async move {
                let renamed = stage.kit.rename_member(ROOM, "dora", "Dora").await;
                renamed.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let dora = dora(stage).await?;
                Ok(dora.and_then(|dora| dora.display_name).as_deref() == Some("Dora"))
            })
        },
    )
    .after(|stage| Box::pin(with_dora(stage))),
    Scene::change(
        "give a member a role",
        |stage| {
            Box::pin(async move {
                let role = ParticipantRole::Owner;
                let set = stage.kit.set_member_role(ROOM, "dora", role).await;
                set.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let dora = dora(stage).await?;
                Ok(dora.is_some_and(|dora| dora.role == ParticipantRole::Owner))
            })
        },
    )
    .after(|stage| Box::pin(with_dora(stage))),
    Scene::change(
        "make sure of a participant",
        |stage| {
            Box::pin(async move {
                let made = stage.kit.ensure_participant(ROOM, "web", "dora", None);
                made.await.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(dora(stage).await?.is_some()) }),
    ),
    Scene::change(
        "say who a participant is",
        |stage| {
            Box::pin(async move {
                let said = stage.kit.resolve_participant(ROOM, "dora", "dora-1").await;
                said.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let dora = dora(stage).await?;
                Ok(dora.is_some_and(|dora| dora.identity_id.is_some()))
            })
        },
    )
    .after(|stage| {
        Box::pin(async move {
            let identity = Identity::new("dora-1");
            stage.store.memory().put_identity(identity).await?;
            with_dora(stage).await
        })
    }),
    Scene::change(
        "read up to an event",
        |stage| {
            Box::pin(async move {
                let event = first_said(stage).await?;
                stage.kit.mark_read(ROOM, "desk", event).await.map(drop_it)
            })
        },
        |stage| Box::pin(has_read(stage)),
    )
    .after(|stage| Box::pin(async move { stage.said("read me").await.map(drop) })),
    Scene::change(
        "read all",
        |stage| Box::pin(async move { stage.kit.mark_all_read(ROOM, "desk").await.map(drop_it) }),
        |stage| Box::pin(has_read(stage)),
    ),
];

async fn with_dora(stage: &Stage) -> Result<()> {
    let added = stage.kit.add_member(ROOM, "web", "dora").await;
    added.map(drop)
}

async fn dora(stage: &Stage) -> Result<Option<Participant>> {
    let memory = stage.store.memory();
    memory
        .participant(&RoomId::from(ROOM), &"dora".into())
        .await
}

async fn has_status(stage: &Stage, status: ParticipantStatus) -> Result<bool> {
    let dora = dora(stage).await?;
    Ok(dora.is_some_and(|dora| dora.status == status))
}

async fn has_read(stage: &Stage) -> Result<bool> {
    let markers = stage
        .store
        .memory()
        .read_markers(&RoomId::from(ROOM))
        .await?;
    Ok(markers.iter().any(|marker| marker.channel_id == *"desk"))
}
