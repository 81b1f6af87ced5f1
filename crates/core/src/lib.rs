//! The core of RoomKit.

pub mod model;
