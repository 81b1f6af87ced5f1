//! What the documentation of the core's calls owes its reader: how each fails, and where its rules come
//! from.

const CORE: &str = "crates/core/src/";
const KIT: &str = "crates/core/src/kit/";

/// How a section is named, and how it is said that there is none.
const SECTIONS: [&str; 3] = ["RFC §", "not in the RFC", "Not in the RFC"];

/// Findings in a file of the core; none in any other.
pub(crate) fn check(name: &str, text: &str) -> Vec<String> {
    let name = name.replace('\\', "/");
    if !name.starts_with(CORE) {
        return Vec::new();
    }
    let names_section = |text: &str| SECTIONS.iter().any(|section| text.contains(section));
    let is_of_kit = name.starts_with(KIT);
    let module = text.lines().take_while(|line| line.starts_with("//!"));
    let has_section = names_section(&module.collect::<Vec<_>>().join("\n"));
    let mut problems = Vec::new();
    for call in calls(text) {
        let (number, called) = (call.line, call.name);
        if call.fails && !call.doc.contains("# Errors") {
            problems.push(format!(
                "{name}:{number}: `{called}` returns a Result and has no `# Errors`"
            ));
        }
        if is_of_kit && call.is_pub && !has_section && !names_section(&call.doc) {
            problems.push(format!(
                "{name}:{number}: neither `{called}` nor its file names the section of its rules, as `RFC §5.1`"
            ));
        }
    }
    problems
}

/// A function that others call.
struct Call<'a> {
    line: usize,
    name: &'a str,
    doc: String,
    /// Whether it is public by its own word, and not by its trait's.
    is_pub: bool,
    /// Whether it returns a `Result`.
    fails: bool,
}

/// The public functions of a file and those of its public traits, but for those that implement traits.
fn calls(text: &str) -> Vec<Call<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut in_trait, mut found) = (false, Vec::new());
    for (at, line) in lines.iter().enumerate() {
        if *line == "#[cfg(test)]" {
            break;
        }
        in_trait = (in_trait || line.starts_with("pub trait ")) && *line != "}";
        let word = line.trim_start();
        let public = word.strip_prefix("pub ");
        // Deeper than a trait's own functions are those that its defaults make for themselves.
        let of_trait =
            (in_trait && line.starts_with("    ") && !line.starts_with("     ")).then_some(word);
        let Some(name) = public.or(of_trait).and_then(function) else {
            continue;
        };
        let before = lines.get(..at).unwrap_or_default().iter().rev();
        let mut doc: Vec<&str> = before
            .map(|line| line.trim_start())
            // Attributes, which may be long, and the doc above them.
            .take_while(|line| {
                line.starts_with("///") || !(line.is_empty() || line.ends_with(['}', '{', ';']))
            })
            .filter(|line| line.starts_with("///"))
            .collect();
        doc.reverse();
        let mut signature = String::new();
        for line in lines.get(at..).unwrap_or_default() {
            signature.push_str(line.trim());
            signature.push(' ');
            if line.contains('{') || line.trim_end().ends_with(';') {
                break;
            }
        }
        let returned = signature
            .rsplit_once("->")
            .map(|(_, returned)| returned.trim());
        found.push(Call {
            line: at + 1,
            name,
            doc: doc.join("\n"),
            is_pub: public.is_some(),
            fails: returned
                .is_some_and(|it| it.starts_with("Result<") || it.starts_with("crate::Result<")),
        });
    }
    found
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some(next) = ["async ", "const "]
        .iter()
        .find_map(|it| rest.strip_prefix(it))
    {
        rest = next;
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "//! Rooms.\n\nimpl Rooms {\n    /// A room (RFC §5.1).\n    ///\n    /// # Errors\n    /// None.\n    #[expect(\n        clippy::a,\n        reason = \"b\"\n    )]\n    pub async fn room(\n        &self,\n    ) -> Result<Room> {\n    }\n}\n";

    #[test]
    fn a_documented_call_has_no_findings() {
        assert_eq!(check("crates/core/src/kit/rooms.rs", FILE), [""; 0]);
    }

    #[test]
    fn a_call_that_does_not_say_how_it_fails_is_found() {
        let text = FILE.replace("# Errors", "No errors");
        for name in ["crates/core/src/kit/rooms.rs", "crates/core/src/room.rs"] {
            let found = check(name, &text);
            assert!(
                matches!(&*found, [one] if one.contains("rs:12: `room`")),
                "{found:?}"
            );
        }
        assert_eq!(check("crates/voice/src/room.rs", &text), [""; 0]);
        let hidden = text.replace("pub async", "pub(crate) async");
        assert_eq!(check("crates/core/src/room.rs", &hidden), [""; 0]);
        let sure = text.replace("Result<Room>", "Room");
        assert_eq!(check("crates/core/src/room.rs", &sure), [""; 0]);
    }

    #[test]
    fn a_call_of_a_public_trait_is_looked_at_and_its_implementation_is_not() {
        let text = "//! A.\npub trait Store {\n    /// Reads.\n    async fn read(&self) -> Result<u8>;\n}\nimpl Store for A {\n    async fn read(&self) -> Result<u8> {\n    }\n}\n";
        let found = check("crates/core/src/a.rs", text);
        assert!(
            matches!(&*found, [one] if one.contains("a.rs:4")),
            "{found:?}"
        );
    }

    #[test]
    fn a_call_of_the_kit_without_a_section_is_found_unless_its_file_has_one() {
        let text = FILE.replace(" (RFC §5.1)", "");
        let found = check("crates/core/src/kit/rooms.rs", &text);
        assert!(
            matches!(&*found, [one] if one.contains("names the section")),
            "{found:?}"
        );
        assert_eq!(check("crates/core/src/room.rs", &text), [""; 0]);
        for source in ["Its rules: RFC §5.1.", "Not in the RFC."] {
            let text = text.replace("//! Rooms.", &format!("//! Rooms.\n//!\n//! {source}"));
            assert_eq!(check("crates/core/src/kit/rooms.rs", &text), [""; 0]);
        }
    }
}
