//! Phone numbers: how they are written, and what two countries have changed about theirs.

use std::borrow::Cow;

use crate::model::ChannelType;

/// How many digits an international number has (ITU-T E.164).
const MOST_DIGITS: usize = 15;
const FEWEST_DIGITS: usize = 7;

/// More digits than any number has; a text with more is none.
const NEVER: usize = MOST_DIGITS + 1;

/// For types of channels whose addresses are phone numbers: from how many digits on a number without
/// `+` is an international one.
pub(super) fn shortest_bare(channel_type: &ChannelType) -> Option<usize> {
    match channel_type {
        // The ids of WhatsApp are international numbers without the `+`.
        ChannelType::Whatsapp => Some(FEWEST_DIGITS),
        // National numbers, without the zero that some begin with, have at most eleven.
        ChannelType::Sms | ChannelType::Mms | ChannelType::Rcs => Some(12),
        ChannelType::Voice => Some(NEVER),
        _ => None,
    }
}

/// A phone number in canonical form; what is none stays as it is.
pub(super) fn canonical(address: &str, shortest_bare: usize) -> Cow<'_, str> {
    let text = address.trim();
    let text = text.strip_prefix("tel:").unwrap_or(text);
    let (is_international, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let Some(digits) = digits_of(rest, is_international) else {
        return Cow::Borrowed(address);
    };
    let (is_international, digits) = match digits.strip_prefix("00") {
        Some(number) if !is_international && is_number(number) => (true, number),
        _ => (is_international, digits.as_ref()),
    };
    let is_bare = digits.len() >= shortest_bare;
    if (is_international || is_bare) && is_number(digits) {
        let number = as_of_today(digits);
        if address.strip_prefix('+') == Some(&*number) {
            return Cow::Borrowed(address);
        }
        return Cow::Owned(format!("+{number}"));
    }
    // Of what is not known to be a number of some country, nothing but its look is changed.
    if is_international || shortest_bare == NEVER || digits == address {
        return Cow::Borrowed(address);
    }
    Cow::Owned(digits.to_owned())
}

/// Numbers that may be the same line as a canonical one.
pub(super) fn variants(address: &str) -> Vec<String> {
    if let Some(number) = address.strip_prefix('+') {
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Vec::new();
        }
        // Argentina: the 9 says that the line is a mobile, and is often left out.
        return match (number.strip_prefix("549"), number.strip_prefix("54")) {
            (Some(line), _) if line.len() == 10 => vec![format!("+54{line}")],
            (_, Some(line)) if line.len() == 10 => vec![format!("+549{line}")],
            _ => Vec::new(),
        };
    }
    let is_bare = address.bytes().all(|byte| byte.is_ascii_digit());
    if is_bare && is_number(address) && address.len() > FEWEST_DIGITS {
        vec![format!("+{}", as_of_today(address))]
    } else {
        Vec::new()
    }
}

/// The digits of a number, without what stands between them; `None` for what is no number.
fn digits_of(text: &str, is_international: bool) -> Option<Cow<'_, str>> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain {
        return (!text.is_empty()).then_some(Cow::Borrowed(text));
    }
    // "+44 (0)20": the zero is for callers within the country.
    let text = match text.split_once("(0)") {
        Some((country, number)) if is_international => Cow::Owned([country, number].concat()),
        _ => Cow::Borrowed(text),
    };
    let mut digits = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            digit if digit.is_ascii_digit() => digits.push(digit),
            ' ' | '\u{a0}' | '-' | '.' | '(' | ')' | '/' | '\u{2010}'..='\u{2015}' => {}
            _ => return None,
        }
    }
    (!digits.is_empty()).then_some(Cow::Owned(digits))
}

/// Whether these digits can be an international number: no country's code begins with zero.
fn is_number(digits: &str) -> bool {
    (FEWEST_DIGITS..=MOST_DIGITS).contains(&digits.len()) && !digits.starts_with('0')
}

/// An international number, without `+`, as its country writes it today.
fn as_of_today(number: &str) -> Cow<'_, str> {
    // Mexico: until 2019 a 1 stood before the ten digits of a mobile.
    if let Some(line) = number.strip_prefix("521").filter(|line| line.len() == 10) {
        return Cow::Owned(format!("52{line}"));
    }
    // Brazil: until 2016 mobiles had eight digits after the area; landlines begin with 2 to 5.
    let national = number.strip_prefix("55").filter(|rest| rest.len() == 10);
    if let Some((area, line)) = national.and_then(|rest| rest.split_at_checked(2))
        && !area.contains('0')
        && line.starts_with(['1', '6', '7', '8', '9'])
    {
        return Cow::Owned(format!("55{area}9{line}"));
    }
    Cow::Borrowed(number)
}
