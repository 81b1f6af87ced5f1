//! The parts of a message: nearly always one, which then needs no allocation of its own.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Part;

/// The parts of a message, in order. It reads as a slice, and is filled as a `Vec` is.
#[derive(Clone)]
pub struct Parts(Held);

#[derive(Clone)]
enum Held {
    One(Part),
    Many(Vec<Part>),
}

impl Parts {
    /// No parts.
    #[must_use]
    pub const fn new() -> Self {
        Self(Held::Many(Vec::new()))
    }

    /// Adds a part at the end.
    pub fn push(&mut self, part: Part) {
        if self.is_empty() {
            self.0 = Held::One(part);
        } else {
            self.change(|parts| parts.push(part));
        }
    }

    /// Puts a part before the one at this place, or at the end where there are not as many.
    pub fn insert(&mut self, at: usize, part: Part) {
        let at = at.min(self.len());
        self.change(|parts| parts.insert(at, part));
    }

    /// Keeps those for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&Part) -> bool) {
        self.change(|parts| parts.retain(keep));
    }

    /// Changes the parts as a list.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Part>)) {
        let mut parts = match std::mem::replace(&mut self.0, Held::Many(Vec::new())) {
            Held::One(part) => vec![part],
            Held::Many(parts) => parts,
        };
        change(&mut parts);
        self.0 = Held::Many(parts);
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Parts {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        match &self.0 {
            Held::One(part) => std::slice::from_ref(part),
            Held::Many(parts) => parts,
        }
    }
}

impl DerefMut for Parts {
    fn deref_mut(&mut self) -> &mut [Part] {
        match &mut self.0 {
            Held::One(part) => std::slice::from_mut(part),
            Held::Many(parts) => parts,
        }
    }
}

impl From<Part> for Parts {
    fn from(part: Part) -> Self {
        Self(Held::One(part))
    }
}

impl From<Vec<Part>> for Parts {
    fn from(parts: Vec<Part>) -> Self {
        Self(Held::Many(parts))
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        let mut all = Self::new();
        all.extend(parts);
        all
    }
}

impl Extend<Part> for Parts {
    fn extend<I: IntoIterator<Item = Part>>(&mut self, parts: I) {
        for part in parts {
            self.push(part);
        }
    }
}

impl IntoIterator for Parts {
    type Item = Part;
    type IntoIter = std::vec::IntoIter<Part>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            Held::One(part) => vec![part].into_iter(),
            Held::Many(parts) => parts.into_iter(),
        }
    }
}

impl<'a> IntoIterator for &'a Parts {
    type Item = &'a Part;
    type IntoIter = std::slice::Iter<'a, Part>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq<[Part]> for Parts {
    fn eq(&self, other: &[Part]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[Part; N]> for Parts {
    fn eq(&self, other: &[Part; N]) -> bool {
        **self == *other
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.deref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}
