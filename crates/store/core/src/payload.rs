//! `raw_payload` at rest: sealed with a key of the application (RFC §17.3).

use std::fmt;

use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use roomkit_core::model::{Metadata, RoomEvent};
use roomkit_core::{Error, ErrorKind, Result};
use zeroize::Zeroizing;

use crate::json;

/// The first byte of a payload that is plain JSON.
const PLAIN: u8 = 0;
/// The first byte of one that is sealed; the key's number, the nonce and the box follow.
const SEALED: u8 = 1;
const NUMBER: usize = size_of::<u32>();
const NONCE: usize = 24;

/// A key of 256 bits and the number that tells which one sealed a payload.
///
/// Its memory is wiped when it is dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct PayloadKey {
    number: u32,
    key: Zeroizing<[u8; 32]>,
}

impl PayloadKey {
    /// A key; `number` is written beside what it seals, so that keys can be changed.
    #[must_use]
    pub fn new(number: u32, key: [u8; 32]) -> Self {
        let key = Zeroizing::new(key);
        Self { number, key }
    }

    /// A key from 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) for anything else; the text is not quoted.
    pub fn from_hex(number: u32, hex: &str) -> Result<Self> {
        let mut key = Zeroizing::new([0; 32]);
        let digits: Zeroizing<Vec<u8>> = Zeroizing::new(
            hex.chars()
                .map_while(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
                .collect(),
        );
        if digits.len() != 64 || hex.chars().count() != 64 {
            let problem = format!("payload key {number}: must be 64 hexadecimal digits");
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Ok(Self { number, key })
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.key))
    }
}

impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadKey")
            .field("number", &self.number)
            .field("key", &"<redacted>")
            .finish()
    }
}

/// The key that seals from now on, and those that sealed before.
#[derive(Clone)]
pub struct PayloadKeys {
    current: PayloadKey,
    previous: Vec<PayloadKey>,
}

impl PayloadKeys {
    /// One key for all.
    #[must_use]
    pub fn new(current: PayloadKey) -> Self {
        Self {
            current,
            previous: Vec::new(),
        }
    }

    /// Adds a key that opens what it once sealed.
    #[must_use]
    pub fn with_previous(mut self, key: PayloadKey) -> Self {
        self.previous.push(key);
        self
    }

    fn by_number(&self, number: u32) -> Option<&PayloadKey> {
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        keys.find(|key| key.number == number)
    }
}

impl fmt::Debug for PayloadKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous: Vec<u32> = self.previous.iter().map(|key| key.number).collect();
        f.debug_struct("PayloadKeys")
            .field("current", &self.current.number)
            .field("previous", &previous)
            .finish()
    }
}

/// What the provider sent for `event`, as it is stored.
pub(crate) fn seal(
    event: &RoomEvent,
    raw: &Metadata,
    keys: Option<&PayloadKeys>,
) -> Result<Vec<u8>> {
    let failed = |what: &str| {
        let problem = format!("raw_payload of event {} {what}", event.id);
        Error::new(ErrorKind::StoreFailed, problem)
    };
    let json = serde_json::to_vec(raw).map_err(|_| failed("cannot be written as JSON"))?;
    if json::is_too_deep(&json) {
        return Err(json::too_deep(&format!(
            "raw_payload of event {}",
            event.id
        )));
    }
    let Some(PayloadKeys { current, .. }) = keys else {
        return Ok([&[PLAIN], &*json].concat());
    };
    let nonce = XNonce::try_generate().map_err(|_| failed("got no random nonce"))?;
    let bound = bound_to(event);
    let text = Payload {
        msg: &json,
        aad: &bound,
    };
    let sealed = current.cipher().encrypt(&nonce, text);
    let sealed = sealed.map_err(|_| failed("cannot be sealed"))?;
    let number = current.number.to_be_bytes();
    Ok([&[SEALED], &number[..], &nonce[..], &sealed].concat())
}

/// What the provider sent, from what [`seal`] made of it.
pub(crate) fn open(
    event: &RoomEvent,
    stored: &[u8],
    keys: Option<&PayloadKeys>,
) -> Result<Metadata> {
    let failed = |what: &str| {
        let problem = format!("raw_payload of event {} {what}", event.id);
        Error::new(ErrorKind::StoreFailed, problem)
    };
    let damaged = || failed("is damaged");
    let json = match stored.split_first() {
        Some((&PLAIN, json)) => json.to_vec(),
        Some((&SEALED, rest)) => {
            let (number, rest) = rest.split_first_chunk::<NUMBER>().ok_or_else(damaged)?;
            let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
            let number = u32::from_be_bytes(*number);
            let key = keys.and_then(|keys| keys.by_number(number));
            let key = key.ok_or_else(|| {
                failed(&format!("is sealed with key {number}, which is not given"))
            })?;
            let bound = bound_to(event);
            let text = Payload {
                msg: sealed,
                aad: &bound,
            };
            let opened = key.cipher().decrypt(&XNonce::from(*nonce), text);
            opened.map_err(|_| failed("does not open: another key, or another row's"))?
        }
        _ => return Err(damaged()),
    };
    serde_json::from_slice(&json).map_err(|_| damaged())
}

/// What a payload belongs to, so that it opens nowhere else.
fn bound_to(event: &RoomEvent) -> Vec<u8> {
    [event.room_id.as_str(), event.id.as_str()]
        .join("\0")
        .into_bytes()
}
