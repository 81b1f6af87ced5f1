//! The provider under test, and the server that it asks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use roomkit_ai::http::HttpConfig;
use roomkit_ai::{AiCapabilities, AiProvider, AiResponse, ApiKey};

use super::server::VendorServer;
use super::wire::{Ability, Wire};

type OverHttp = Box<dyn Fn(HttpSetup) -> Arc<dyn AiProvider> + Send + Sync>;
type InMemory = Box<dyn Fn(Vec<AiResponse>) -> Arc<dyn AiProvider> + Send + Sync>;

/// What a provider over HTTP is to be made with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpSetup {
    /// The address of the server that plays the vendor, without a path.
    pub base_url: String,
    /// The key to send.
    pub api_key: ApiKey,
    /// The limits to hold.
    pub http: HttpConfig,
}

/// A provider to be tested: how it is made, and how its vendor writes things.
pub struct TestProvider(Kind);

enum Kind {
    Http(Arc<dyn Wire>, OverHttp),
    Memory(InMemory),
}

impl TestProvider {
    /// A provider that asks a vendor over HTTP, which the suite plays by `wire`.
    pub fn over_http(
        wire: impl Wire,
        make: impl Fn(HttpSetup) -> Arc<dyn AiProvider> + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Http(Arc::new(wire), Box::new(make)))
    }

    /// A provider that gives scripted answers in turn, without any server. The tests of what is between
    /// a provider and its vendor do not apply.
    pub fn in_memory(
        make: impl Fn(Vec<AiResponse>) -> Arc<dyn AiProvider> + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Memory(Box::new(make)))
    }

    /// The stage of a test of what lies between a provider and its vendor; `None` where nothing does.
    pub(super) async fn stage(&self) -> Option<Stage> {
        self.stage_with(patient()).await
    }

    pub(super) async fn stage_with(&self, http: HttpConfig) -> Option<Stage> {
        let Kind::Http(wire, make) = &self.0 else {
            return None;
        };
        let server = VendorServer::start().await;
        let provider = make(HttpSetup {
            base_url: server.base_url(),
            api_key: KEY.into(),
            http,
        });
        Some(Stage {
            provider,
            wire: Arc::clone(wire),
            server,
        })
    }

    /// A provider that gives this answer, and the stage that keeps it where it has one.
    pub(super) async fn answering(
        &self,
        answer: &AiResponse,
    ) -> (Arc<dyn AiProvider>, Option<Stage>) {
        match &self.0 {
            Kind::Memory(make) => (make(vec![answer.clone()]), None),
            Kind::Http(..) => {
                let stage = self.stage().await.expect("it has a wire");
                (Arc::clone(&stage.provider), Some(stage))
            }
        }
    }
}

/// The key that providers under test send.
pub(super) const KEY: &str = "sk-test-3f9c-never-shown";

/// Limits that no test runs into.
pub(super) fn patient() -> HttpConfig {
    HttpConfig::default().backoff(Duration::from_millis(1), Duration::from_millis(2))
}

/// A provider over HTTP, and the server that plays its vendor.
pub(super) struct Stage {
    pub(super) provider: Arc<dyn AiProvider>,
    pub(super) wire: Arc<dyn Wire>,
    pub(super) server: VendorServer,
}

/// Whether the provider can do this. A wire that cannot say what the test of it needs is an error.
pub(super) fn is_able(
    provider: &dyn AiProvider,
    wire: Option<&dyn Wire>,
    ability: Ability,
) -> bool {
    let AiCapabilities {
        streaming,
        tools,
        vision,
        thinking,
        model_listing,
        ..
    } = provider.capabilities();
    let declared = match ability {
        Ability::Streaming => streaming,
        Ability::Tools => tools,
        Ability::Vision => vision,
        Ability::Thinking => thinking,
        Ability::ModelListing => model_listing,
    };
    let known = wire.is_none_or(|wire| wire.knows(ability));
    assert!(
        known || !declared,
        "{} declares {ability:?}, which its wire cannot say: it would go untested",
        provider.name()
    );
    declared
}

impl Stage {
    pub(super) fn is_able(&self, ability: Ability) -> bool {
        is_able(&*self.provider, Some(&*self.wire), ability)
    }
}

impl fmt::Debug for TestProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::Http(..) => "over HTTP",
            Kind::Memory(_) => "in memory",
        };
        f.debug_tuple("TestProvider").field(&kind).finish()
    }
}
