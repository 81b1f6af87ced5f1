//! The words of an event, as scripts and conditions look at them.

use std::borrow::Cow;

use roomkit_core::model::EventContent;

/// The body of text, rich text, a notice or a template; of a composite, the bodies of its parts, a
/// line each. Everything else has none.
pub(crate) fn body_of(content: &EventContent) -> Cow<'_, str> {
    match content {
        EventContent::Text(text) => Cow::Borrowed(&text.body),
        EventContent::Rich(rich) => Cow::Borrowed(&rich.body),
        EventContent::System(notice) => Cow::Borrowed(&notice.body),
        EventContent::Template(template) => template.body.as_deref().unwrap_or_default().into(),
        EventContent::Composite(composite) => {
            let bodies = composite.parts.iter().map(body_of);
            let bodies: Vec<_> = bodies.filter(|body| !body.is_empty()).collect();
            Cow::Owned(bodies.join("\n"))
        }
        _ => Cow::Borrowed(""),
    }
}
