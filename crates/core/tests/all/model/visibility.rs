//! Who sees an event.

use roomkit_core::model::{ChannelCategory, ChannelId, Visibility};
use serde_json::json;

const TRANSPORT: ChannelCategory = ChannelCategory::Transport;
const INTELLIGENCE: ChannelCategory = ChannelCategory::Intelligence;

#[test]
fn each_scope_admits_its_channels_only() {
    let (a, b): (ChannelId, ChannelId) = ("ws-a".into(), "ws-b".into());
    let cases = [
        ("all", [true, true, true]),
        ("none", [false, false, false]),
        ("internal", [false, false, false]),
        ("transport", [true, false, true]),
        ("intelligence", [false, true, false]),
        ("ws-a", [true, true, false]),
        ("ws-a,ws-b", [true, true, true]),
        (" ws-b , ", [false, false, true]),
        ("ws", [false, false, false]),
        ("", [false, false, false]),
        ("All", [false, false, false]),
    ];
    for (text, expected) in cases {
        let visibility = Visibility::from(text);
        let allowed = [
            visibility.allows(&a, TRANSPORT),
            visibility.allows(&a, INTELLIGENCE),
            visibility.allows(&b, TRANSPORT),
        ];
        assert_eq!(allowed, expected, "{text}");
        assert_eq!(visibility.to_string(), text);
        assert_eq!(serde_json::to_value(&visibility).unwrap(), json!(text));
        assert_eq!(
            serde_json::from_value::<Visibility>(json!(text)).unwrap(),
            visibility
        );
    }
}

#[test]
fn a_list_of_channels_is_kept_as_a_list() {
    let list = Visibility::channels(["ws-a", "ws-b"]);
    assert_eq!(list.as_str(), "ws-a,ws-b");
    assert_eq!(list.names().collect::<Vec<_>>(), ["ws-a", "ws-b"]);
    assert_eq!(Visibility::channels([ChannelId::from("c")]).as_str(), "c");
    assert_eq!(Visibility::channels::<[&str; 0]>([]), Visibility::None);
    assert_eq!(Visibility::All.names().count(), 0);
}

#[test]
fn a_channel_that_is_called_like_a_scope_stays_a_channel() {
    for name in ["all", "none", "transport", "intelligence", "internal"] {
        let list = Visibility::channels([name]);
        let read = Visibility::from(list.as_str());
        assert_eq!(read, list);
        assert!(read.allows(&name.into(), TRANSPORT));
        assert!(!read.allows(&"other".into(), TRANSPORT));
    }
}
