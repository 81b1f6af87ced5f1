//! The crate map: what stands in which folder, and what its package is called.

/// Families whose name is part of their packages' names.
const FAMILIES: [&str; 9] = [
    "ai",
    "conference",
    "email",
    "realtime",
    "sms",
    "store",
    "telemetry",
    "video",
    "voice",
];

/// Folders that only group crates.
const GROUPS: [&str; 4] = ["agents", "channels", "chat", "gateway"];

/// The part a package plays; it decides what the package may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `crates/core`.
    Core,
    /// `crates/FAMILY/core`: a family's trait, channel and mock.
    FamilyCore,
    /// One vendor, or one channel or agent part.
    Vendor,
    /// `crates/roomkit`.
    Facade,
    /// `crates/testkit`.
    Testkit,
    /// What an operator runs: the server, the command line, the MCP server.
    App,
    /// `tests/services`: servers for the tests of all, never published.
    TestServices,
    /// `tests/shuttle/*`: parts of one tool, never published.
    ToolPart,
    /// `xtask`, `examples`, `tests`: never published.
    Tool,
}

/// The part that the package in this folder plays, none where the map has no such folder.
pub(crate) fn place(folder: &str) -> Option<Place> {
    let parts: Vec<&str> = folder.split('/').collect();
    match parts.as_slice() {
        ["tests", "services"] => Some(Place::TestServices),
        ["tests", "shuttle", _] => Some(Place::ToolPart),
        ["crates", "core"] => Some(Place::Core),
        ["crates", "roomkit"] => Some(Place::Facade),
        ["crates", "testkit"] => Some(Place::Testkit),
        ["crates", family, "core"] if FAMILIES.contains(family) => Some(Place::FamilyCore),
        ["crates", "gateway", name] if *name != "core" => Some(Place::App),
        ["crates", family, _] if FAMILIES.contains(family) => Some(Place::Vendor),
        ["crates", group, name] if GROUPS.contains(group) && *name != "core" => Some(Place::Vendor),
        ["xtask" | "examples" | "tests"] | ["examples" | "tests", _] => Some(Place::Tool),
        _ => None,
    }
}

/// The name that the package in this folder must have, none where the map leaves it open.
pub(crate) fn package_name(folder: &str) -> Option<String> {
    let parts: Vec<&str> = folder.split('/').collect();
    match (place(folder)?, parts.as_slice()) {
        (Place::TestServices, _) => Some("roomkit-test-services".into()),
        (Place::Facade, _) => Some("roomkit".into()),
        (Place::FamilyCore, [_, family, _]) => Some(format!("roomkit-{family}")),
        (_, ["crates", family, name]) if FAMILIES.contains(family) => {
            Some(format!("roomkit-{family}-{name}"))
        }
        (_, ["crates", .., name]) => Some(format!("roomkit-{name}")),
        _ => None,
    }
}

/// The folder of the crate that a new provider of this family builds on, none where the family
/// takes no providers.
pub(crate) fn provider_core(family: &str) -> Option<String> {
    match family {
        // Their traits are in the core crate itself.
        "chat" | "store" | "telemetry" => Some("crates/core".into()),
        _ if FAMILIES.contains(&family) => Some(format!("crates/{family}/core")),
        _ => None,
    }
}

/// The families that take providers.
pub(crate) fn provider_families() -> Vec<&'static str> {
    let mut families = FAMILIES.to_vec();
    families.push("chat");
    families.sort_unstable();
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_names() {
        for (folder, name) in [
            ("crates/core", Some("roomkit-core")),
            ("crates/roomkit", Some("roomkit")),
            ("crates/testkit", Some("roomkit-testkit")),
            ("crates/ai/core", Some("roomkit-ai")),
            ("crates/ai/openai", Some("roomkit-ai-openai")),
            ("crates/store/sqlite", Some("roomkit-store-sqlite")),
            ("crates/channels/websocket", Some("roomkit-websocket")),
            ("crates/chat/telegram", Some("roomkit-telegram")),
            ("crates/agents/orchestration", Some("roomkit-orchestration")),
            ("crates/gateway/mcp-server", Some("roomkit-mcp-server")),
            ("tests/services", Some("roomkit-test-services")),
            ("xtask", None),
            ("crates/nowhere/openai", None),
        ] {
            assert_eq!(package_name(folder).as_deref(), name, "{folder}");
        }
    }

    #[test]
    fn folders_outside_the_map_have_no_place() {
        for folder in [
            "",
            "crates",
            "crates/openai",
            "crates/fax/core",
            "crates/chat/core",
            "lib",
        ] {
            assert_eq!(place(folder), None, "{folder}");
        }
    }

    #[test]
    fn places_follow_the_map() {
        assert_eq!(place("crates/sms/core"), Some(Place::FamilyCore));
        assert_eq!(place("crates/sms/twilio"), Some(Place::Vendor));
        assert_eq!(place("crates/agents/mcp"), Some(Place::Vendor));
        assert_eq!(place("crates/gateway/server"), Some(Place::App));
        assert_eq!(place("examples"), Some(Place::Tool));
        assert_eq!(place("tests/services"), Some(Place::TestServices));
        assert_eq!(place("tests/shuttle"), Some(Place::Tool));
        assert_eq!(place("tests/shuttle/tokio"), Some(Place::ToolPart));
    }

    #[test]
    fn every_family_that_takes_providers_has_a_core() {
        for family in provider_families() {
            assert!(provider_core(family).is_some(), "{family}");
        }
        assert_eq!(provider_core("gateway"), None);
        assert_eq!(provider_core("fax"), None);
    }
}
