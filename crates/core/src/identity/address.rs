//! Addresses: the one form that all ways of writing an address have.

use std::borrow::Cow;
use std::fmt;

use super::phone;
use crate::model::ChannelType;

/// Says which ways of writing an address are one address, so that one sender is not two people.
///
/// The kit writes the sender of every message in its canonical form before anything else is done
/// with it, and so it does with the addresses of the [identities](crate::Rooms::save_identity) that
/// it stores. It runs once per message, so it neither waits nor asks anybody.
pub trait AddressNormalizer: Send + Sync + fmt::Debug + 'static {
    /// The canonical form of an address of a type of channel, borrowed where it has it already. The
    /// canonical form of a canonical form is itself. What is no address in a form that is understood
    /// stays as it is; what is nobody's is empty.
    fn canonical<'a>(&self, channel_type: &ChannelType, address: &'a str) -> Cow<'a, str>;

    /// Other addresses, in canonical form, that may well be the same one. Who is found by one of
    /// these is asked about, never taken for the sender. At most 8 are looked at. Default: none.
    fn variants(&self, channel_type: &ChannelType, address: &str) -> Vec<String> {
        let _ = (channel_type, address);
        Vec::new()
    }
}

/// What can be said of addresses without a library of the world's numbering plans.
///
/// - **E-mail**: the address alone, without name and angle brackets, in lower case. Mail systems do
///   not tell upper from lower case, though RFC 5321 lets them.
/// - **Phone numbers**, on `sms`, `mms`, `rcs`, `whatsapp` and `voice`: digits alone, and a `+` before
///   an international number of 7 to 15 digits, be it written with `+`, with `00`, as a `tel:` URI or,
///   where the type of channel leaves no doubt, without anything: on WhatsApp always, on the text
///   channels from 12 digits on. A shorter number without `+` has no country, and stays without.
///   Short codes and senders with letters are left alone.
/// - **Brazil and Mexico**: numbers of mobiles from before 2016 and 2019 are written as they are now,
///   with the ninth digit and without the `1`. Landlines stay.
/// - Everything else is an id that means something to its provider alone, and is left alone.
///
/// What may be one address and may be two is a [variant](AddressNormalizer::variants): an Argentine
/// number with and without the `9` of mobiles, and a number without country that would be
/// international with a `+`.
///
/// ```
/// use roomkit_core::identity::{AddressNormalizer, DefaultAddressNormalizer};
/// use roomkit_core::model::ChannelType;
///
/// let addresses = DefaultAddressNormalizer;
/// assert_eq!(addresses.canonical(&ChannelType::Sms, "+1 (555) 010-0000"), "+15550100000");
/// assert_eq!(addresses.canonical(&ChannelType::Email, "Alice <Alice@X.example>"), "alice@x.example");
/// assert_eq!(addresses.canonical(&ChannelType::Websocket, "User 7"), "User 7");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DefaultAddressNormalizer;

impl AddressNormalizer for DefaultAddressNormalizer {
    fn canonical<'a>(&self, channel_type: &ChannelType, address: &'a str) -> Cow<'a, str> {
        match channel_type {
            ChannelType::Email => email(address),
            other => match phone::shortest_bare(other) {
                Some(shortest) => phone::canonical(address, shortest),
                None => Cow::Borrowed(address),
            },
        }
    }

    fn variants(&self, channel_type: &ChannelType, address: &str) -> Vec<String> {
        if phone::shortest_bare(channel_type).is_some() {
            phone::variants(address)
        } else {
            Vec::new()
        }
    }
}

fn email(address: &str) -> Cow<'_, str> {
    let address = address.trim();
    let bare = address.strip_suffix('>').and_then(|rest| {
        let (_name, bare) = rest.rsplit_once('<')?;
        Some(bare.trim())
    });
    let address = bare.unwrap_or(address);
    if address.chars().any(char::is_uppercase) {
        Cow::Owned(address.to_lowercase())
    } else {
        Cow::Borrowed(address)
    }
}
