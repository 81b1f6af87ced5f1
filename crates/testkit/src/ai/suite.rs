//! Every test of the suite, for the macro.

pub use super::answers::*;
pub use super::failures::*;
pub use super::requests::*;
pub use super::retries::*;
