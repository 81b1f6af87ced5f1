//! The people whom a kit knows, and the addresses by which they are found.

use roomkit_core::Result;
use roomkit_core::model::{ChannelType, Identity};
use roomkit_core::store::IdentityStore;

use super::changes::drop_it;
use crate::scene::Scene;
use crate::stage::Stage;

const ADDRESS: &str = "+15550100000";

pub(super) const SCENES: &[Scene] = &[
    Scene::change(
        "save an identity",
        |stage| Box::pin(async move { stage.kit.save_identity(eve()).await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(find(stage).await?.is_some()) }),
    ),
    Scene::change(
        "link an address to an identity",
        |stage| {
            Box::pin(async move {
                let linked = stage.kit.link_address("eve", ChannelType::Sms, ADDRESS);
                linked.await.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let eve = find(stage).await?;
                Ok(eve.is_some_and(|eve| eve.channel_addresses.contains_key("sms")))
            })
        },
    )
    .after(|stage| Box::pin(with_eve(stage))),
    Scene::read("read an identity", |stage| {
        Box::pin(async move { stage.kit.identity("eve").await.map(drop_it) })
    })
    .after(|stage| Box::pin(with_eve(stage))),
    Scene::read("find identities by their address", |stage| {
        Box::pin(async move {
            let sms = ChannelType::Sms;
            let found = stage.kit.identities_by_address(sms, ADDRESS).await;
            found.map(drop_it)
        })
    }),
];

fn eve() -> Identity {
    Identity::new("eve")
}

async fn with_eve(stage: &Stage) -> Result<()> {
    stage.store.memory().put_identity(eve()).await
}

async fn find(stage: &Stage) -> Result<Option<Identity>> {
    stage.store.memory().identity(None, &"eve".into()).await
}
