//! Identities: the people whom an organisation knows, and the addresses they are found by.
//!
//! Its rules: RFC §5.6; how they are found out §11.2.

use std::sync::Arc;

use super::attach::lock_room;
use super::member_change::not_empty;
use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::AddressNormalizer;
use crate::model::{ChannelType, Identity, IdentityId, OrganizationId, RoomId};
use crate::pipeline::Scope;

impl Rooms {
    /// Creates or replaces an identity (RFC §5.6), and returns it as it is stored: in the
    /// organisation of this handle, its addresses in the form that the kit's
    /// [`AddressNormalizer`](crate::identity::AddressNormalizer) gives them.
    ///
    /// The kit itself stores it in the organisation that it names.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::{ChannelType, Identity}};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::builder().stored_identities().build()?;
    /// let acme = kit.org("acme");
    /// acme.save_identity(Identity::new("alice")).await?;
    /// let alice = acme.link_address("alice", ChannelType::Sms, "+1 (555) 010-0000").await?;
    /// assert_eq!(alice.channel_addresses["sms"], ["+15550100000"]);
    ///
    /// let found = acme.identities_by_address(ChannelType::Sms, "+1-555-010-0000").await?;
    /// assert_eq!(found, [alice]);
    /// assert_eq!(kit.org("other").identity("alice").await.unwrap_err().code(), "identity_not_found");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput): the id or an address is empty, a type of channel is
    /// none, or the organisation that it names is another than that of this handle.
    pub async fn save_identity(&self, identity: Identity) -> Result<Identity> {
        self.to_end(|inner, scope| async move {
            let identity = checked(&*inner.addresses, &scope, identity)?;
            let key = lock_key(identity.organization_id.as_ref(), &identity.id);
            let _lock = lock_room(&inner, &key).await?;
            let put = inner.store.put_identity(identity.clone());
            inner.write(put).await?;
            Ok(identity)
        })
        .await
    }

    /// An identity of this handle's organisation; on the kit itself, one of no organisation.
    ///
    /// # Errors
    /// [`IdentityNotFound`](ErrorKind::IdentityNotFound).
    pub async fn identity(&self, identity: impl Into<IdentityId>) -> Result<Identity> {
        let id = identity.into();
        let inner = self.inner();
        inner.ask(find(inner, self.organization(), &id)).await
    }

    /// The identities with an address in this handle's organisation, or those of no organisation on
    /// the kit itself, by their ids. However it is written, it is found.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput): the address is empty.
    pub async fn identities_by_address(
        &self,
        channel_type: ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>> {
        let inner = self.inner();
        let address = inner.addresses.canonical(&channel_type, address);
        not_empty("address", &address)?;
        let organization = self.organization();
        let found = inner
            .store
            .identities_by_address(organization, &channel_type, &address);
        inner.ask(found).await
    }

    /// Adds an address to an identity of this handle's organisation, or of none on the kit itself;
    /// nothing changes where it has the address. Calls side by side all have their effect.
    ///
    /// Others may have the address too: a sender who writes from it is ambiguous then.
    ///
    /// # Errors
    /// [`IdentityNotFound`](ErrorKind::IdentityNotFound),
    /// [`InvalidInput`](ErrorKind::InvalidInput): the address is empty.
    pub async fn link_address(
        &self,
        identity: impl Into<IdentityId>,
        channel_type: ChannelType,
        address: &str,
    ) -> Result<Identity> {
        let (id, address) = (identity.into(), address.to_owned());
        self.to_end(|inner, scope| async move {
            let address = inner.addresses.canonical(&channel_type, &address);
            not_empty("address", &address)?;
            let organization = scope.0.as_ref();
            let _lock = lock_room(&inner, &lock_key(organization, &id)).await?;
            let mut identity = inner.read(find(&inner, organization, &id)).await?;
            if add(&mut identity, &channel_type, &address) {
                let put = inner.store.put_identity(identity.clone());
                inner.write(put).await?;
            }
            Ok(identity)
        })
        .await
    }
}

/// Stores somebody new, with the address they have written from. Where there is somebody with this
/// id, it is they who have the address.
pub(crate) async fn create(
    inner: &Arc<Inner>,
    organization: Option<&OrganizationId>,
    mut identity: Identity,
    channel_type: &ChannelType,
    address: &str,
) -> Result<Identity> {
    identity.organization_id = organization.cloned();
    let new = checked(&*inner.addresses, &Scope(organization.cloned()), identity)?;
    // In the time that the message has.
    let _lock = inner
        .locks
        .acquire(&lock_key(organization, &new.id))
        .await?;
    let known = inner.store.identity(organization, &new.id).await?;
    let is_known = known.is_some();
    let mut identity = known.unwrap_or(new);
    if add(&mut identity, channel_type, address) || !is_known {
        inner.store.put_identity(identity.clone()).await?;
    }
    Ok(identity)
}

/// What serialises the changes of one identity: they are read and written whole.
fn lock_key(organization: Option<&OrganizationId>, id: &IdentityId) -> RoomId {
    let organization = organization.map_or("", OrganizationId::as_str);
    RoomId::from(format!("_identity:{organization}:{id}"))
}

async fn find(
    inner: &Inner,
    organization: Option<&OrganizationId>,
    id: &IdentityId,
) -> Result<Identity> {
    let found = inner.store.identity(organization, id).await?;
    found.ok_or_else(|| {
        let problem = format!("no identity {id} is known here");
        Error::new(ErrorKind::IdentityNotFound, problem)
    })
}

fn add(identity: &mut Identity, channel_type: &ChannelType, address: &str) -> bool {
    let addresses = identity
        .channel_addresses
        .entry(channel_type.to_string())
        .or_default();
    let is_new = addresses.iter().all(|known| known != address);
    if is_new {
        addresses.push(address.to_owned());
    }
    is_new
}

/// An identity as it is stored, or what is wrong with it.
fn checked(
    addresses: &dyn AddressNormalizer,
    scope: &Scope,
    mut identity: Identity,
) -> Result<Identity> {
    not_empty("id", identity.id.as_str())?;
    if scope.0.is_some() {
        if identity.organization_id.is_some() && identity.organization_id != scope.0 {
            let problem = "organization_id: is not the organisation of this handle";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        identity.organization_id.clone_from(&scope.0);
    }
    for (word, of_type) in &mut identity.channel_addresses {
        let field = format!("channel_addresses.{word}");
        let channel_type: ChannelType = word
            .parse()
            .map_err(|error| Error::new(ErrorKind::InvalidInput, format!("{field}: {error}")))?;
        let mut canonical: Vec<String> = Vec::with_capacity(of_type.len());
        for address in of_type.iter() {
            let address = addresses.canonical(&channel_type, address);
            not_empty(&field, &address)?;
            if canonical.iter().all(|known| *known != *address) {
                canonical.push(address.into_owned());
            }
        }
        *of_type = canonical;
    }
    Ok(identity)
}
