//! The GSM 7-bit alphabet, and how many SMS segments a text takes.
//!
//! Alphabet: 3GPP TS 23.038 §6.2.1 (basic table) and §6.2.1.1 (extension table). Segment sizes: an
//! SMS carries 140 octets, of which a part of a longer message gives 6 to its concatenation header
//! (3GPP TS 23.040 §9.2.3.24.1). National language tables are not used.

/// The alphabet that an SMS is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// The GSM 7-bit default alphabet with its extension table; the unit is the septet.
    Gsm7,
    /// UCS-2, as soon as one character is outside of GSM 7-bit; the unit is the UTF-16 code unit.
    Ucs2,
}

impl Encoding {
    /// The units that fit into a message of one segment: 160 septets or 70 UTF-16 units.
    #[must_use]
    pub const fn single_segment(self) -> usize {
        match self {
            Self::Gsm7 => 160,
            Self::Ucs2 => 70,
        }
    }

    /// The units that fit into each segment of a longer message: 153 septets or 67 UTF-16 units.
    #[must_use]
    pub const fn joined_segment(self) -> usize {
        match self {
            Self::Gsm7 => 153,
            Self::Ucs2 => 67,
        }
    }

    /// What one character costs; a character that is not in the alphabet is not asked for.
    fn units(self, c: char) -> usize {
        match self {
            Self::Gsm7 => septets(c).unwrap_or(0),
            Self::Ucs2 => c.len_utf16(),
        }
    }
}

/// What sending a text as SMS takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segments {
    /// The alphabet that the whole text is sent in.
    pub encoding: Encoding,
    /// The length of the text in units of that alphabet: septets, or UTF-16 code units.
    pub units: usize,
    /// The number of segments, 0 for an empty text.
    pub segments: usize,
}

/// The septets that `c` takes: 1 in the basic table, 2 in the extension table (an escape and the
/// character), `None` when GSM 7-bit does not have it.
///
/// ```
/// use roomkit_core::router::gsm7::septets;
///
/// assert_eq!([septets('@'), septets('€'), septets('ç')], [Some(1), Some(2), None]);
/// ```
#[must_use]
pub const fn septets(c: char) -> Option<usize> {
    match c {
        '^' | '{' | '}' | '\\' | '[' | '~' | ']' | '|' | '€' | '\u{c}' => Some(2),
        '`' => None,
        '\n' | '\r' | ' '..='~' => Some(1),
        '£' | '¥' | 'è' | 'é' | 'ù' | 'ì' | 'ò' | 'Ç' | 'Ø' | 'ø' | 'Å' | 'å' => {
            Some(1)
        }
        'Δ' | 'Φ' | 'Γ' | 'Λ' | 'Ω' | 'Π' | 'Ψ' | 'Σ' | 'Θ' | 'Ξ' => Some(1),
        'Æ' | 'æ' | 'ß' | 'É' | '¤' | '¡' | 'Ä' | 'Ö' | 'Ñ' | 'Ü' | '§' => Some(1),
        '¿' | 'ä' | 'ö' | 'ñ' | 'ü' | 'à' => Some(1),
        _ => None,
    }
}

/// The alphabet, length and number of segments of `text`.
///
/// A segment is not filled to its last unit when that would cut an escape from its character or a
/// surrogate pair in two, so a long text may take a segment more than its units alone suggest.
///
/// ```
/// use roomkit_core::router::gsm7::{Encoding, segments};
///
/// let plain = segments("See you at eight");
/// assert_eq!((plain.encoding, plain.units, plain.segments), (Encoding::Gsm7, 16, 1));
/// assert_eq!(segments(&"∞".repeat(71)).segments, 2);
/// ```
#[must_use]
pub fn segments(text: &str) -> Segments {
    let encoding = if text.chars().all(|c| septets(c).is_some()) {
        Encoding::Gsm7
    } else {
        Encoding::Ucs2
    };
    let units = text.chars().map(|c| encoding.units(c)).sum();
    let segments = match units {
        0 => 0,
        _ if units <= encoding.single_segment() => 1,
        _ => joined_segments(text, encoding),
    };
    Segments {
        encoding,
        units,
        segments,
    }
}

fn joined_segments(text: &str, encoding: Encoding) -> usize {
    let (segments, _) = text.chars().fold((1, 0), |(segments, used), c| {
        let units = encoding.units(c);
        if used + units > encoding.joined_segment() {
            (segments + 1, units)
        } else {
            (segments, used + units)
        }
    });
    segments
}
