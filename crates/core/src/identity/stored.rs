//! The resolver that finds people in a store, by the addresses of their identities.

use std::sync::Arc;

use async_trait::async_trait;

use super::{AddressNormalizer, DefaultAddressNormalizer, IdentityResolver};
use crate::context::RoomContext;
use crate::error::Result;
use crate::model::{ChannelType, Identity, IdentityResult, InboundMessage, OrganizationId};
use crate::store::ConversationStore;

/// How many variants of an address are looked up.
const MOST_VARIANTS: usize = 8;

/// Finds who a sender is among the identities of a store (RFC §5.6), within the room's organisation.
///
/// One identity with the sender's address is the sender, several are ambiguous. Where there is none,
/// whoever has a [variant](AddressNormalizer::variants) of the address may be the sender, which is
/// ambiguous as well: nobody is taken for another on a guess.
///
/// [`RoomKitBuilder::stored_identities`](crate::RoomKitBuilder::stored_identities) makes one over
/// the kit's own store; [`Rooms::save_identity`](crate::Rooms::save_identity) and
/// [`Rooms::link_address`](crate::Rooms::link_address) store what it finds.
#[derive(Debug, Clone)]
pub struct StoredIdentities {
    store: Arc<dyn ConversationStore>,
    addresses: Arc<dyn AddressNormalizer>,
}

impl StoredIdentities {
    /// A resolver that reads from `store`, with the [default](DefaultAddressNormalizer) addresses.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self {
            store,
            addresses: Arc::new(DefaultAddressNormalizer),
        }
    }

    /// The same, by other rules of what one address is.
    #[must_use]
    pub fn addresses(mut self, addresses: Arc<dyn AddressNormalizer>) -> Self {
        self.addresses = addresses;
        self
    }

    /// Says who has an address in an organisation.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn find(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<IdentityResult> {
        let address = self.addresses.canonical(channel_type, address);
        let by = async |address: &str| {
            let store = &self.store;
            let found = store.identities_by_address(organization, channel_type, address);
            found.await
        };
        let mut result = IdentityResult::unknown();
        if !address.trim().is_empty() {
            let mut found = by(&address).await?;
            result = match (found.pop(), found.is_empty()) {
                (Some(only), true) => IdentityResult::identified(only),
                (Some(last), false) => {
                    found.push(last);
                    IdentityResult::ambiguous(found)
                }
                (None, _) => {
                    let mut candidates: Vec<Identity> = Vec::new();
                    let variants = self.addresses.variants(channel_type, &address);
                    for variant in variants.iter().take(MOST_VARIANTS) {
                        for identity in by(variant).await? {
                            if candidates.iter().all(|known| known.id != identity.id) {
                                candidates.push(identity);
                            }
                        }
                    }
                    if candidates.is_empty() {
                        IdentityResult::unknown()
                    } else {
                        IdentityResult::ambiguous(candidates)
                    }
                }
            };
        }
        result.address = Some(address.into_owned());
        result.channel_type = Some(channel_type.clone());
        Ok(result)
    }
}

#[async_trait]
impl IdentityResolver for StoredIdentities {
    async fn resolve(
        &self,
        message: &InboundMessage,
        context: &RoomContext,
    ) -> Result<IdentityResult> {
        let Some(channel_type) = context.arrived_over() else {
            return Ok(IdentityResult::unknown());
        };
        let organization = context.room().organization_id.as_ref();
        self.find(organization, channel_type, message.sender_id.as_str())
            .await
    }
}
