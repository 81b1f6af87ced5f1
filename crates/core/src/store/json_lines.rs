//! A room as JSON lines: one [`RoomPart`] a line, from any store to any store.

use futures_util::stream::{StreamExt, unfold};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{ArchiveStore, RoomPart, RoomSnapshot};
use crate::error::{Error, ErrorKind, Result};
use crate::model::RoomId;

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Writes a room to `out`, one JSON object a line; returns how many lines it took.
///
/// The lines hold everything, what the provider sent (`raw_payload`) included, in the clear.
///
/// # Errors
/// [`RoomNotFound`](ErrorKind::RoomNotFound); otherwise what the store or the writer says.
pub async fn export_room(
    store: &(impl ArchiveStore + ?Sized),
    room: &RoomId,
    out: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<u64> {
    let mut parts = store.dump(room);
    let mut lines = 0;
    while let Some(part) = parts.next().await {
        let mut line = serde_json::to_vec(&part?).map_err(|error| {
            Error::new(ErrorKind::StoreFailed, "a part cannot be written as JSON")
                .with_source(error)
        })?;
        line.push(b'\n');
        out.write_all(&line).await.map_err(not_written)?;
        lines += 1;
    }
    if lines == 0 {
        return Err(Error::room_not_found(room));
    }
    out.flush().await.map_err(not_written)?;
    Ok(lines)
}

/// Reads what [`export_room`] wrote and makes a room of it, whole or not at all.
///
/// # Errors
/// - [`InvalidInput`](ErrorKind::InvalidInput): a line is no part of a room, or is longer than
///   64 MiB; it names the line.
/// - Those of [`ArchiveStore::restore`].
pub async fn import_room(
    store: &(impl ArchiveStore + ?Sized),
    input: impl AsyncBufRead + Unpin + Send,
) -> Result<RoomSnapshot> {
    let lines = unfold(Some((input, 0)), |state| async move {
        let (mut input, number) = state?;
        let number = number + 1;
        match next_line(&mut input, number).await {
            Ok(None) => None,
            Ok(Some(part)) => Some((Ok(part), Some((input, number)))),
            Err(error) => Some((Err(error), None)),
        }
    });
    store.restore(lines.boxed()).await
}

async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin + Send),
    number: u64,
) -> Result<Option<RoomPart>> {
    let mut line = Vec::new();
    let mut limited = input.take(LONGEST_LINE);
    let read = limited.read_until(b'\n', &mut line).await;
    let read = read.map_err(|error| {
        let problem = format!("line {number} cannot be read");
        Error::new(ErrorKind::StoreFailed, problem).with_source(error)
    })?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        let problem = format!("line {number}: is longer than {LONGEST_LINE} bytes");
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    match serde_json::from_slice(&line) {
        Ok(part) => Ok(Some(part)),
        Err(error) => Err(Error::new(
            ErrorKind::InvalidInput,
            format!(
                "line {number}: no part of a room: {}",
                without_quoted(&error)
            ),
        )),
    }
}

/// What is wrong, without what it quotes: that may be the text of a message.
fn without_quoted(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text.split('"').step_by(2).collect();
    parts.join("…")
}

fn not_written(error: std::io::Error) -> Error {
    Error::new(ErrorKind::StoreFailed, "the export cannot be written").with_source(error)
}
