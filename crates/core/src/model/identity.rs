//! Who someone is, across rooms and channels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::channel_type::ChannelType;
use super::enums::IdentificationStatus;
use super::ids::{IdentityId, OrganizationId};
use super::metadata::Metadata;

/// One person, with every address they are known by (RFC §5.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The identity's id.
    pub id: IdentityId,
    /// The organisation that knows them.
    #[serde(default)]
    pub organization_id: Option<OrganizationId>,
    /// The name to show.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Their e-mail address.
    #[serde(default)]
    pub email: Option<String>,
    /// Their phone number.
    #[serde(default)]
    pub phone: Option<String>,
    /// Their addresses by the kind of channel, as a [`ChannelType`] is written, each in its
    /// [canonical form](crate::identity::AddressNormalizer): that is how senders are found by them.
    #[serde(default)]
    pub channel_addresses: BTreeMap<String, Vec<String>>,
    /// Their id in the integrator's main system.
    #[serde(default)]
    pub external_id: Option<String>,
    /// Their ids in other systems, by the system's name.
    #[serde(default)]
    pub external_ids: BTreeMap<String, String>,
    /// The integrator's own data.
    #[serde(default)]
    pub metadata: Metadata,
}

impl Identity {
    /// Makes an identity of which nothing but the id is known.
    pub fn new(id: impl Into<IdentityId>) -> Self {
        Self {
            id: id.into(),
            organization_id: None,
            display_name: None,
            email: None,
            phone: None,
            channel_addresses: BTreeMap::new(),
            external_id: None,
            external_ids: BTreeMap::new(),
            metadata: Metadata::new(),
        }
    }
}

/// What was found out about a sender (RFC §11.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdentityResult {
    /// How far it is known who they are.
    pub status: IdentificationStatus,
    /// Who they are, where they are identified.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// Who they may be, where several identities fit.
    #[serde(default)]
    pub candidates: Vec<Identity>,
    /// The address that was looked up.
    #[serde(default)]
    pub address: Option<String>,
    /// The kind of channel the address belongs to.
    #[serde(default)]
    pub channel_type: Option<ChannelType>,
    /// How they were asked to prove who they are, where a challenge was sent.
    #[serde(default)]
    pub challenge_type: Option<String>,
    /// What to tell them.
    #[serde(default)]
    pub message: Option<String>,
}

impl IdentityResult {
    /// Makes a result of nothing but its status.
    pub fn new(status: IdentificationStatus) -> Self {
        Self {
            status,
            identity: None,
            candidates: Vec::new(),
            address: None,
            channel_type: None,
            challenge_type: None,
            message: None,
        }
    }

    /// Makes the result that the sender is this person.
    pub fn identified(identity: Identity) -> Self {
        Self {
            identity: Some(identity),
            ..Self::new(IdentificationStatus::Identified)
        }
    }

    /// Makes the result that the sender may be any of these.
    pub fn ambiguous(candidates: impl IntoIterator<Item = Identity>) -> Self {
        Self {
            candidates: candidates.into_iter().collect(),
            ..Self::new(IdentificationStatus::Ambiguous)
        }
    }

    /// Makes the result that nobody is known by the sender's address.
    pub fn unknown() -> Self {
        Self::new(IdentificationStatus::Unknown)
    }
}
