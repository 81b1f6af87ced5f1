//! Content that is made in code: limits, kinds and what it shows.

use roomkit_core::model::{
    AudioContent, ChannelMediaType, CompositeContent, DeleteContent, EventContent, LocationContent,
    MAX_COMPOSITE_DEPTH, MediaContent, RichContent, TemplateContent, ValidationError, VideoContent,
};

fn problem(content: impl Into<EventContent>) -> Option<String> {
    content
        .into()
        .validate()
        .err()
        .map(|error| error.to_string())
}

fn nested(depth: usize) -> EventContent {
    (0..depth).fold(EventContent::text("x"), |content, _| {
        EventContent::composite([content])
    })
}

#[test]
fn coordinates_may_touch_the_ends_of_their_range_and_must_be_numbers() {
    for (latitude, longitude) in [(90.0, 180.0), (-90.0, -180.0), (0.0, 0.0)] {
        assert_eq!(LocationContent::new(latitude, longitude).validate(), Ok(()));
    }
    let latitude = Some("latitude: must be between -90 and 90".to_owned());
    let longitude = Some("longitude: must be between -180 and 180".to_owned());
    assert_eq!(problem(LocationContent::new(f64::NAN, 0.0)), latitude);
    assert_eq!(
        problem(LocationContent::new(90.0_f64.next_up(), 0.0)),
        latitude
    );
    assert_eq!(problem(LocationContent::new(0.0, f64::INFINITY)), longitude);
    assert_eq!(
        problem(LocationContent::new(0.0, (-180.0_f64).next_down())),
        longitude
    );
}

#[test]
fn addresses_have_one_of_three_schemes_in_any_case() {
    for url in [
        "http://x",
        "https://x",
        "data:,x",
        "HTTPS://X",
        "Data:text/plain,x",
    ] {
        assert_eq!(problem(MediaContent::new(url, "x/y")), None, "{url}");
    }
    for url in [
        "",
        "h",
        "http:/x",
        "https",
        "javascript:alert(1)",
        " https://x",
        "ｈttp://x",
    ] {
        assert!(problem(MediaContent::new(url, "x/y")).is_some(), "{url}");
    }
}

#[test]
fn lengths_of_time_are_finite_and_not_negative() {
    let audio = |seconds| AudioContent {
        duration_seconds: seconds,
        ..AudioContent::new("data:,")
    };
    let video = |seconds| VideoContent {
        duration_seconds: seconds,
        ..VideoContent::new("data:,")
    };
    for seconds in [None, Some(0.0), Some(1.5)] {
        assert_eq!(problem(audio(seconds)), None);
        assert_eq!(problem(video(seconds)), None);
    }
    let cases = [
        (-0.5, "duration_seconds: must not be negative"),
        (f64::NAN, "duration_seconds: must be finite"),
        (f64::INFINITY, "duration_seconds: must be finite"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(problem(audio(Some(seconds))).as_deref(), Some(expected));
        assert_eq!(problem(video(Some(seconds))).as_deref(), Some(expected));
    }
}

#[test]
fn composites_nest_five_deep_and_no_deeper() {
    assert_eq!(problem(nested(MAX_COMPOSITE_DEPTH)), None);
    assert_eq!(
        problem(nested(MAX_COMPOSITE_DEPTH + 1)).as_deref(),
        Some(
            "parts[0].parts[0].parts[0].parts[0].parts[0].parts: \
             composite content may nest at most 5 levels"
        )
    );
    let empty = CompositeContent::new([]);
    assert_eq!(
        empty.validate(),
        Err(ValidationError::new("parts", "must not be empty"))
    );
}

#[test]
fn an_edit_holds_no_other_change_however_deep() {
    let edit = || EventContent::edit("e", EventContent::text("x"));
    let delete = || EventContent::delete("e");
    assert_eq!(problem(edit()), None);
    assert_eq!(problem(EventContent::composite([edit(), delete()])), None);
    assert_eq!(
        problem(EventContent::edit("e", edit())).as_deref(),
        Some("new_content.type: an edit may not lie in the new content of an edit")
    );
    assert_eq!(
        problem(EventContent::edit("e", EventContent::composite([delete()]))).as_deref(),
        Some("new_content.parts[0].type: a delete may not lie in the new content of an edit")
    );
    assert_eq!(
        problem(EventContent::edit("e", LocationContent::new(91.0, 0.0))).as_deref(),
        Some("new_content.latitude: must be between -90 and 90")
    );
}

#[test]
fn every_kind_has_a_name_and_the_media_type_a_channel_needs() {
    let text = || EventContent::text("x");
    let cases = [
        (text(), "text", Some(ChannelMediaType::Text)),
        (
            EventContent::rich("x"),
            "rich",
            Some(ChannelMediaType::Rich),
        ),
        (
            EventContent::media("data:,", "x/y"),
            "media",
            Some(ChannelMediaType::Media),
        ),
        (
            EventContent::audio("data:,"),
            "audio",
            Some(ChannelMediaType::Audio),
        ),
        (
            EventContent::video("data:,"),
            "video",
            Some(ChannelMediaType::Video),
        ),
        (
            EventContent::location(0.0, 0.0),
            "location",
            Some(ChannelMediaType::Location),
        ),
        (
            EventContent::template("t"),
            "template",
            Some(ChannelMediaType::Template),
        ),
        (EventContent::composite([text()]), "composite", None),
        (EventContent::system("code", "x"), "system", None),
        (EventContent::edit("e", text()), "edit", None),
        (EventContent::delete("e"), "delete", None),
        (EventContent::tool_call("t", "1"), "tool_call", None),
    ];
    for (content, name, media_type) in cases {
        assert_eq!(content.type_name(), name);
        assert_eq!(content.media_type(), media_type, "{name}");
        assert_eq!(
            content.text_body(),
            (name == "text").then_some("x"),
            "{name}"
        );
        assert_eq!(content.validate(), Ok(()), "{name}");
        let written = serde_json::to_value(&content).unwrap();
        assert_eq!(written["type"], name);
    }
}

#[test]
fn all_words_of_a_content_are_found_and_replaced_wherever_they_lie() {
    let mut media = MediaContent::new("https://a.example/cat.png", "image/png");
    media.caption = Some("secret caption".into());
    let mut rich = RichContent::new("secret body");
    rich.plain_text = Some("secret plain".into());
    rich.quick_replies = vec!["secret reply".into(), "no".into()];
    let mut place = LocationContent::new(1.0, 2.0);
    place.label = Some("secret place".into());
    place.address = Some("secret street".into());
    let mut template = TemplateContent::new("t");
    template.parameters = [("1".to_owned(), "secret parameter".to_owned())].into();
    template.body = Some("secret template".into());
    let mut audio = AudioContent::new("https://a.example/a.ogg");
    audio.transcript = Some("secret transcript".into());
    let inner = EventContent::composite([
        EventContent::text("secret text"),
        media.into(),
        EventContent::composite([rich.into(), place.into()]),
        template.into(),
        audio.into(),
        EventContent::system("code", "secret notice"),
    ]);
    let mut edit = EventContent::edit("e", inner);
    let words = [
        "text",
        "caption",
        "body",
        "plain",
        "reply",
        "no",
        "place",
        "street",
        "parameter",
        "template",
        "transcript",
        "notice",
    ];
    let expected = words.map(|word| match word {
        "no" => word.to_owned(),
        _ => format!("secret {word}"),
    });
    assert_eq!(edit.texts(), expected);
    assert!(edit.map_texts(|text| text.strip_prefix("secret ").map(str::to_owned)));
    assert_eq!(edit.texts(), words);
    assert!(!edit.map_texts(|_| None));

    let mut delete = DeleteContent::new("e");
    delete.reason = Some("secret reason".into());
    assert_eq!(EventContent::from(delete).texts(), ["secret reason"]);
}
