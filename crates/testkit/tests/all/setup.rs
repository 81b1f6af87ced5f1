//! What several modules need: a room of mocks, and the folder of the conformance files.

use std::path::{Path, PathBuf};

use roomkit_core::{Channel, RoomKit};

/// A kit with one room, `r`, to which these channels are attached in order.
pub(crate) async fn room_with(kit: RoomKit, channels: Vec<Box<dyn Register>>) -> RoomKit {
    kit.create_room("r").await.unwrap();
    for channel in channels {
        let id = channel.register(&kit);
        kit.attach_channel("r", id).await.unwrap();
    }
    kit
}

/// A channel that can be registered from a list of several kinds.
pub(crate) trait Register {
    fn register(self: Box<Self>, kit: &RoomKit) -> String;
}

impl<C: Channel> Register for C {
    fn register(self: Box<Self>, kit: &RoomKit) -> String {
        let id = self.id().to_string();
        kit.register_channel(*self).unwrap();
        id
    }
}

/// The folder of the conformance files.
pub(crate) fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

/// The JSON files of a folder, sorted.
pub(crate) fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}
