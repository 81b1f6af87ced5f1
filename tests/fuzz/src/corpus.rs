//! The corpora: a file for each target, an input a line, as JSON strings; and the documents to begin
//! with.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Error, Result, Target};

/// How much of a corpus is kept, in bytes of its file; all of them together are to stay below 300 KB.
const MOST_BYTES: usize = 56_000;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The file of a target's corpus.
#[must_use]
pub fn path(target: &Target) -> PathBuf {
    here().join("corpus").join(format!("{}.jsonl", target.name))
}

/// The inputs that are kept for a target; none where it has no corpus yet.
///
/// # Errors
/// Where the file cannot be read, or holds something else.
pub fn read(target: &Target) -> Result<Vec<String>> {
    let path = path(target);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
    let input = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|source| Error::Line {
            path: path.clone(),
            line: at + 1,
            source,
        })
    };
    text.lines().enumerate().map(input).collect()
}

/// Keeps these inputs, the shortest first, as many as there is room for. Returns how many.
///
/// # Errors
/// Where the file cannot be written.
pub fn write(target: &Target, mut inputs: Vec<String>) -> Result<usize> {
    inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    inputs.dedup();
    let (mut text, mut kept) = (String::new(), 0);
    for input in inputs {
        let line = Value::from(input).to_string();
        if text.len() + line.len() < MOST_BYTES {
            text.push_str(&line);
            text.push('\n');
            kept += 1;
        }
    }
    let path = path(target);
    fs::write(&path, text).map_err(Error::io(&path))?;
    Ok(kept)
}

/// The documents of the conformance tests, by name.
pub(crate) fn documents() -> Vec<(String, Value)> {
    let folder = here().join("../conformance/models");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut documents: Vec<(String, Value)> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let text = fs::read_to_string(&path).ok()?;
            Some((name, serde_json::from_str(&text).ok()?))
        })
        .collect();
    documents.sort_by(|one, other| one.0.cmp(&other.0));
    documents
}
