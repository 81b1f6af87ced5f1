//! The macros behind every enumeration that is a plain word in JSON.

/// Defines an enumeration whose values are fixed words: `ALL`, `as_str`, `Display`, `FromStr`, serde.
///
/// The text after the name is the kind in words, for errors: `pub enum EventType: "event type" { … }`.
macro_rules! string_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $kind:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The word that stands for the value in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::UnknownValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $( $text => Ok(Self::$variant), )+
                    _ => Err($crate::model::UnknownValue { kind: $kind, value: text.to_owned() }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::from_text::from_text(deserializer, $kind, str::parse)
            }
        }
    };
}

/// Defines the words of an enumeration that also takes names of others: a variant `Custom`.
///
/// Makes `KNOWN`, and privately `word` and `from_word`; how a custom name is written is for each type
/// to say.
macro_rules! open_string_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )+
            ..
            $(#[$custom_meta:meta])*
            Custom,
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
            $(#[$custom_meta])*
            Custom(std::sync::Arc<str>),
        }

        impl $name {
            /// Every value that has a word of its own, in the order of declaration.
            pub const KNOWN: &'static [Self] = &[$( Self::$variant, )+];

            /// The word of the value; the name, as an error, of a custom one.
            fn word(&self) -> Result<&'static str, &str> {
                match self {
                    $( Self::$variant => Ok($text), )+
                    Self::Custom(name) => Err(name),
                }
            }

            fn from_word(text: &str) -> Option<Self> {
                match text {
                    $( $text => Some(Self::$variant), )+
                    _ => None,
                }
            }
        }
    };
}

pub(super) use open_string_enum;
pub(super) use string_enum;
