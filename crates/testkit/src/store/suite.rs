//! Every test of the suite, for the macro.

pub use super::archive::*;
pub use super::bindings::*;
pub use super::commit::*;
pub use super::events::*;
pub use super::fields::*;
pub use super::people::*;
pub use super::races::*;
pub use super::random::*;
pub use super::retention::*;
pub use super::rooms::*;
pub use super::search::*;
pub use super::work::*;
