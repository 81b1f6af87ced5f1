//! The length of a text in a channel's unit, and two ways to keep to a limit: cut it, or split it.
//!
//! Neither way cuts a user-perceived character (an extended grapheme cluster, UAX #29) in two while
//! there is another place to cut: an accent stays on its letter and a family stays one emoji.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::gsm7;
use crate::model::LengthUnit;

/// What marks a text as cut; it costs one unit a dot in every unit.
const DOTS: &str = "...";

/// The smallest limit at which a cut text ends in dots.
const SMALLEST_LIMIT_WITH_DOTS: usize = 4;

/// The length of `text` in `unit`.
///
/// ```
/// use roomkit_core::model::LengthUnit;
/// use roomkit_core::router::limit::measure;
///
/// assert_eq!(measure("né🙂", LengthUnit::Characters), 3);
/// assert_eq!(measure("né🙂", LengthUnit::Utf16), 4);
/// assert_eq!(measure("né🙂", LengthUnit::Bytes), 7);
/// assert_eq!(measure("né|", LengthUnit::Gsm7), 4);
/// ```
#[must_use]
pub fn measure(text: &str, unit: LengthUnit) -> usize {
    let mut meter = Meter::new(unit);
    text.chars().for_each(|c| meter.add(c));
    meter.total()
}

/// `text` itself when it is at most `max` units long, else as much of its beginning as fits with
/// `...` behind it.
///
/// A limit below 4 has no room for dots that say anything: there the text is cut without them. Where
/// not even the first grapheme fits, nothing is left of the text: the result is `...`, or empty at a
/// limit below 4.
///
/// ```
/// use roomkit_core::model::LengthUnit;
/// use roomkit_core::router::limit::truncate;
///
/// assert_eq!(truncate("exactly10!", 10, LengthUnit::Characters), "exactly10!");
/// assert_eq!(truncate("eleven char", 10, LengthUnit::Characters), "eleven ...");
/// assert_eq!(truncate("👨‍👩‍👧 family", 3, LengthUnit::Characters), "");
/// ```
#[must_use]
pub fn truncate(text: &str, max: usize, unit: LengthUnit) -> Cow<'_, str> {
    if fits(text, max, unit) {
        return Cow::Borrowed(text);
    }
    let dots = if max < SMALLEST_LIMIT_WITH_DOTS {
        ""
    } else {
        DOTS
    };
    let (kept, _) = text.split_at(Cuts::find(text, max - dots.len(), unit).grapheme);
    if dots.is_empty() {
        Cow::Borrowed(kept)
    } else {
        Cow::Owned([kept, dots].concat())
    }
}

/// `text` in pieces of at most `max` units each, none of them empty; joined they are `text` again.
///
/// A piece ends after the last white space that fits (no-break spaces apart) unless that would leave
/// it without text, else at the last grapheme boundary that fits. A grapheme longer than `max` becomes
/// pieces of its own, cut between its scalar values; a single scalar value longer than `max`, which
/// only a limit below 4 can meet, is one of them: the only case in which a piece is over the limit.
///
/// With [`LengthUnit::Gsm7`] each piece is measured on its own, as the message that it will be.
///
/// ```
/// use std::num::NonZeroUsize;
/// use roomkit_core::model::LengthUnit;
/// use roomkit_core::router::limit::split;
///
/// let pieces = split("one two three", NonZeroUsize::new(8).unwrap(), LengthUnit::Characters);
/// assert_eq!(pieces, ["one two ", "three"]);
/// ```
#[must_use]
pub fn split(text: &str, max: NonZeroUsize, unit: LengthUnit) -> Vec<&str> {
    let max = max.get();
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = piece_end(rest, max, unit);
        if end > 0 {
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece);
            rest = tail;
        } else {
            // Up to its very end: cut from there on, flags would pair up anew.
            let first = rest.graphemes(true).next().map_or(rest.len(), str::len);
            let (grapheme, tail) = rest.split_at(first);
            split_grapheme(grapheme, max, unit, &mut pieces);
            rest = tail;
        }
    }
    pieces
}

/// The end of the best first piece; 0 when not even the first grapheme fits.
fn piece_end(text: &str, max: usize, unit: LengthUnit) -> usize {
    if fits(text, max, unit) {
        return text.len();
    }
    match Cuts::find(text, max, unit) {
        Cuts {
            white_space: 0,
            grapheme,
            ..
        } => grapheme,
        Cuts { white_space, .. } => white_space,
    }
}

/// Splits a grapheme that is too long by itself.
fn split_grapheme<'t>(grapheme: &'t str, max: usize, unit: LengthUnit, pieces: &mut Vec<&'t str>) {
    let mut rest = grapheme;
    while let Some(first) = rest.chars().next() {
        let end = Cuts::find(rest, max, unit).scalar.max(first.len_utf8());
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
}

fn fits(text: &str, max: usize, unit: LengthUnit) -> bool {
    let mut meter = Meter::new(unit);
    let within_reach = text.chars().all(|c| {
        meter.add(c);
        meter.at_least() <= max
    });
    within_reach && meter.total() <= max
}

/// The longest beginnings of a text that fit a limit, as byte offsets; 0 where there is none.
#[derive(Default)]
struct Cuts {
    /// Ends after white space that follows some text, and at a grapheme boundary.
    white_space: usize,
    /// Ends at a grapheme boundary.
    grapheme: usize,
    /// Ends between scalar values.
    scalar: usize,
}

impl Cuts {
    /// Reads no further than the limit reaches, whatever the length of the text or of a grapheme.
    fn find(text: &str, max: usize, unit: LengthUnit) -> Self {
        let mut cuts = Self::default();
        let mut meter = Meter::new(unit);
        let (reach, _) = text.split_at(reach(text, max, unit));
        let mut end = 0;
        let mut has_text = false;
        for grapheme in reach.graphemes(true) {
            for c in grapheme.chars() {
                meter.add(c);
                end += c.len_utf8();
                if meter.total() <= max {
                    cuts.scalar = end;
                }
            }
            has_text |= !grapheme.trim().is_empty();
            // The reach itself may end inside of a grapheme.
            if cuts.scalar == end && (end < reach.len() || is_boundary(text, end)) {
                cuts.grapheme = end;
                if has_text && grapheme.ends_with(may_break_after) {
                    cuts.white_space = end;
                }
            }
        }
        cuts
    }
}

/// The byte offset beyond which no beginning of `text` can fit.
fn reach(text: &str, max: usize, unit: LengthUnit) -> usize {
    let mut meter = Meter::new(unit);
    text.char_indices()
        .find(|(_, c)| {
            meter.add(*c);
            meter.at_least() > max
        })
        .map_or(text.len(), |(start, _)| start)
}

fn is_boundary(text: &str, offset: usize) -> bool {
    // The cursor has the whole text before it, so it never asks for more context.
    GraphemeCursor::new(offset, text.len(), true)
        .is_boundary(text, 0)
        .unwrap_or(true)
}

/// White space that allows a line to break after it (UAX #14: not class GL).
fn may_break_after(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// The length of a text, one character at a time.
struct Meter {
    unit: LengthUnit,
    count: usize,
    /// The length in septets, while the unit is GSM 7-bit and every character was in its alphabet.
    septets: Option<usize>,
}

impl Meter {
    fn new(unit: LengthUnit) -> Self {
        Self {
            unit,
            count: 0,
            septets: (unit == LengthUnit::Gsm7).then_some(0),
        }
    }

    fn add(&mut self, c: char) {
        self.count += match self.unit {
            LengthUnit::Characters => 1,
            LengthUnit::Bytes => c.len_utf8(),
            LengthUnit::Utf16 | LengthUnit::Gsm7 => c.len_utf16(),
        };
        self.septets = self.septets.and_then(|sum| Some(sum + gsm7::septets(c)?));
    }

    fn total(&self) -> usize {
        self.septets.unwrap_or(self.count)
    }

    /// A length that no continuation of the text is below. The total is none: in GSM 7-bit the
    /// first character of another alphabet makes the text shorter when it has had escapes.
    fn at_least(&self) -> usize {
        self.count
    }
}
