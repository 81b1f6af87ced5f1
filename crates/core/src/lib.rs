//! The core of RoomKit.
