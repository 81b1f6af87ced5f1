//! How times are written and read.

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use roomkit_core::model::ReadMarker;
use serde_json::json;

use super::noon;

fn marker(read_at: DateTime<Utc>) -> ReadMarker {
    ReadMarker {
        room_id: "r".into(),
        channel_id: "c".into(),
        index: 0,
        read_at,
    }
}

#[test]
fn fractions_are_written_as_six_digits_or_not_at_all() {
    let cases = [
        (TimeDelta::zero(), "2026-03-01T12:00:00Z"),
        (TimeDelta::milliseconds(250), "2026-03-01T12:00:00.250000Z"),
        (TimeDelta::microseconds(1), "2026-03-01T12:00:00.000001Z"),
        (TimeDelta::nanoseconds(999), "2026-03-01T12:00:00Z"),
        (TimeDelta::nanoseconds(1_999), "2026-03-01T12:00:00.000001Z"),
    ];
    for (offset, expected) in cases {
        let written = serde_json::to_value(marker(noon() + offset)).unwrap();
        assert_eq!(written["read_at"], expected);
    }
}

#[test]
fn any_offset_is_read_and_none_is_refused() {
    let read = |time: &str| {
        let document = json!({"room_id": "r", "channel_id": "c", "index": 0, "read_at": time});
        serde_json::from_value::<ReadMarker>(document).map(|marker| marker.read_at)
    };
    let expected = Utc.with_ymd_and_hms(2026, 3, 1, 12, 0, 0).unwrap();
    for time in [
        "2026-03-01T12:00:00Z",
        "2026-03-01T14:00:00+02:00",
        "2026-03-01T12:00:00.000z",
    ] {
        assert_eq!(read(time).unwrap(), expected, "{time}");
    }
    for time in [
        "2026-03-01T12:00:00",
        "2026-03-01",
        "12:00",
        "",
        "+10000-03-01",
        "+10000-03-01T12:00:00",
    ] {
        let error = read(time).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("`{time}` is not an RFC 3339 time with an offset")
        );
    }
}

/// What is kept in memory is what comes back from a database.
#[test]
fn what_is_finer_than_a_microsecond_is_dropped_when_it_is_read() {
    for (text, nanoseconds) in [
        ("2026-03-01T12:00:00.000001999Z", 1_000),
        ("2026-03-01T12:00:00.000000999Z", 0),
        ("2026-03-01T12:00:00.1234567+00:00", 123_456_000),
        // A leap second, which has more than a thousand milliseconds.
        ("2016-12-31T23:59:60.123456789Z", 1_123_456_000),
        ("1969-12-31T23:59:59.9999999Z", 999_999_000),
    ] {
        let document = json!({"room_id": "r", "channel_id": "c", "index": 0, "read_at": text});
        let marker: ReadMarker = serde_json::from_value(document).unwrap();
        assert_eq!(
            marker.read_at.timestamp_subsec_nanos(),
            nanoseconds,
            "{text}"
        );
        let written = serde_json::to_string(&marker).unwrap();
        assert_eq!(
            serde_json::from_str::<ReadMarker>(&written).unwrap(),
            marker
        );
    }
}

#[test]
fn every_time_there_is_can_be_read_as_it_was_written() {
    let micro = TimeDelta::microseconds(1);
    let last = DateTime::from_timestamp_micros(DateTime::<Utc>::MAX_UTC.timestamp_micros());
    let year = |year| Utc.with_ymd_and_hms(year, 6, 30, 23, 59, 59).unwrap() + micro;
    let times = [DateTime::<Utc>::MIN_UTC, last.unwrap()];
    let years = [-9999, -1, 0, 1, 1969, 9999, 10_000, 58_375, 262_142].map(year);
    for time in times.into_iter().chain(years) {
        let written = serde_json::to_string(&marker(time)).unwrap();
        let read: ReadMarker = serde_json::from_str(&written).unwrap();
        assert_eq!(read.read_at, time, "{written}");
    }
}
