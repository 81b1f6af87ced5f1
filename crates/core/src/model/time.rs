//! How times are written and read: RFC 3339 in UTC, with microseconds where there are any.
//!
//! What is finer is dropped when a time is read, so that a value is the same before it was stored and
//! after.
//!
//! RFC 3339 ends with the year 9999. A provider that counts milliseconds where seconds are meant is far
//! beyond it, and what was written must be read again: other years have a sign, as in ISO 8601.

use chrono::{DateTime, FixedOffset, SecondsFormat, SubsecRound, Utc};
use serde::{Deserializer, Serializer};

use super::from_text::from_text;

const EXPECTING: &str = "an RFC 3339 time with an offset";

/// Writes a time as `2026-03-01T12:30:15.250000Z`, and without a fraction when that is zero.
///
/// Digits beyond the microsecond are dropped.
pub(super) fn format(time: &DateTime<Utc>) -> String {
    let fraction = match time.timestamp_subsec_micros() {
        0 => SecondsFormat::Secs,
        _ => SecondsFormat::Micros,
    };
    time.to_rfc3339_opts(fraction, true)
}

/// Reads an RFC 3339 time; one without an offset is refused, because it names no instant.
pub(super) fn parse(text: &str) -> Result<DateTime<Utc>, String> {
    let time = if text.starts_with(['+', '-']) {
        text.parse::<DateTime<FixedOffset>>()
    } else {
        DateTime::parse_from_rfc3339(text)
    };
    time.map(|time| time.with_timezone(&Utc).trunc_subsecs(6))
        .map_err(|_| format!("`{text}` is not {EXPECTING}"))
}

pub(super) fn serialize<S: Serializer>(
    time: &DateTime<Utc>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(time))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DateTime<Utc>, D::Error> {
    from_text(deserializer, EXPECTING, parse)
}

/// The same for a time that may be null.
pub(super) mod optional {
    use chrono::{DateTime, Utc};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::model) fn serialize<S: Serializer>(
        time: &Option<DateTime<Utc>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::model) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DateTime<Utc>>, D::Error> {
        #[derive(Deserialize)]
        struct Time(#[serde(with = "super")] DateTime<Utc>);

        let time = Option::<Time>::deserialize(deserializer)?;
        Ok(time.map(|Time(time)| time))
    }
}
