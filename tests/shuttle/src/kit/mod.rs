//! A whole kit: the same properties on the shipped core and on the one with faults.

pub(crate) mod mutant;
pub(crate) mod shipped;
