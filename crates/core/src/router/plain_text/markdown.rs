//! What each Markdown construct means for plain text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::html::Html;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Reads a Markdown document; the HTML in it goes the way of all HTML.
pub(super) fn write(source: &str, html: &mut Html) {
    let mut links = Vec::new();
    let mut html_block = String::new();
    let mut in_code = false;
    for event in Parser::new_ext(source, OPTIONS) {
        match event {
            Event::Text(text) if in_code => html.out.verbatim(&text),
            Event::Text(text) => html.out.text(&text),
            Event::Code(code) => html.out.verbatim(&code),
            Event::Html(part) => html_block.push_str(&part),
            Event::InlineHtml(tag) => html.feed(&tag),
            Event::SoftBreak => html.out.soft_break(),
            Event::HardBreak => html.out.line_break(),
            Event::Rule => html.out.block(),
            Event::TaskListMarker(done) => html.out.task(done),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(html.out.open_link(&dest_url));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(link) = links.pop() {
                    html.out.close_links(link);
                }
            }
            Event::Start(Tag::List(first)) => html.out.start_list(first),
            Event::End(TagEnd::List(_)) => html.out.end_list(),
            Event::Start(Tag::Item) => html.out.start_item(),
            Event::End(TagEnd::Item) => html.out.end_item(),
            Event::Start(Tag::TableCell) => html.out.cell(),
            Event::Start(Tag::CodeBlock(_)) => {
                html.out.block();
                in_code = true;
            }
            Event::End(TagEnd::CodeBlock) => {
                html.out.block();
                in_code = false;
            }
            Event::End(TagEnd::HtmlBlock) => {
                html.feed(&std::mem::take(&mut html_block));
                html.out.block();
            }
            Event::Start(
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::BlockQuote(_)
                | Tag::HtmlBlock
                | Tag::TableHead
                | Tag::TableRow,
            )
            | Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::BlockQuote(_) | TagEnd::Table,
            ) => html.out.block(),
            _ => {}
        }
    }
}
