//! Addresses: each has one form, which no way of writing it changes, and nobody's is made up.
//!
//! An input is a character that says the type of channel, and an address.

use std::borrow::Cow;

use roomkit_core::identity::{AddressNormalizer, DefaultAddressNormalizer};
use roomkit_core::model::ChannelType;

/// How many variants of an address the core looks at.
const MOST_VARIANTS: usize = 8;

pub(crate) fn run(input: &str) {
    let mut letters = input.chars();
    let (channel_type, is_phone) = type_of(letters.next().unwrap_or_default());
    let address = letters.as_str();
    let form = canonical(&channel_type, address);
    assert_eq!(canonical(&channel_type, &form), form, "of {input:?}");
    if is_phone {
        phone(&channel_type, address, &form);
    } else if channel_type == ChannelType::Email {
        email(&form);
    } else {
        assert_eq!(form, address, "an id of its provider's");
    }
    variants(&channel_type, &form);
}

fn canonical<'a>(channel_type: &ChannelType, address: &'a str) -> Cow<'a, str> {
    DefaultAddressNormalizer.canonical(channel_type, address)
}

fn type_of(letter: char) -> (ChannelType, bool) {
    match letter {
        's' => (ChannelType::Sms, true),
        'm' => (ChannelType::Mms, true),
        'r' => (ChannelType::Rcs, true),
        'w' => (ChannelType::Whatsapp, true),
        'v' => (ChannelType::Voice, true),
        'e' => (ChannelType::Email, false),
        't' => (ChannelType::Telegram, false),
        _ => (ChannelType::Websocket, false),
    }
}

/// No digit is made up or lost but for what two countries changed, and a number that is an
/// international one is it however it is written.
fn phone(channel_type: &ChannelType, address: &str, form: &str) {
    if form != address {
        let digits = form.strip_prefix('+').unwrap_or(form);
        assert!(
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
            "{form:?} for {address:?}"
        );
        let (given, made) = (digits_in(address), digits_in(form));
        assert!(made.len() <= given.len() + 1, "{form:?} for {address:?}");
    }
    let number = form.strip_prefix('+').filter(|number| {
        (7..=15).contains(&number.len())
            && !number.starts_with('0')
            && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let Some(number) = number else {
        return;
    };
    let (head, tail) = number.split_at_checked(2).unwrap_or((number, ""));
    for written in [
        format!("+{head} ({tail})"),
        format!(" tel:+{head}-{tail} "),
        format!("00{head}.{tail}"),
        format!("+{head}\u{a0}(0){tail}"),
    ] {
        assert_eq!(canonical(channel_type, &written), form, "{written:?}");
    }
}

fn digits_in(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn email(form: &str) {
    assert_eq!(form.trim(), form);
    // An address that holds brackets is none, and would be taken apart anew.
    if !form.contains(['<', '>']) {
        let written = format!("Somebody Else <{form}>");
        assert_eq!(canonical(&ChannelType::Email, &written), form);
    }
    if form.is_ascii() {
        let loud = form.to_ascii_uppercase();
        assert_eq!(canonical(&ChannelType::Email, &loud), form);
    }
}

/// They are other addresses, few, and in the form that is looked for.
fn variants(channel_type: &ChannelType, form: &str) {
    let variants = DefaultAddressNormalizer.variants(channel_type, form);
    assert!(variants.len() <= MOST_VARIANTS);
    for variant in variants {
        assert_ne!(variant, form);
        assert_eq!(canonical(channel_type, &variant), variant, "of {form:?}");
    }
}

pub(crate) fn seeds() -> Vec<String> {
    [
        "s+1 (555) 010-0000",
        "mtel:+1-555-010-0000",
        "r0049 170 1234567",
        "s+44 (0)20 7946 0000",
        "w5215512345678",
        "w551198765432",
        "w5491123456789",
        "s+55 11 91234-5678",
        "v1000-2",
        "sBank 24",
        "eAlice <Alice@X.example>",
        "t@Alice",
    ]
    .map(str::to_owned)
    .into()
}
