//! Figures that a measuring program prints as JSON lines, kept in a file beside what made them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::command::{output, shown};
use crate::error::{Error, Result};

/// Runs the command, shows what it prints, and writes its figures to `path`.
///
/// The file's first line names the command and the machine; each further line is a figure. A
/// command that fails or prints no figure is an error and leaves the file as it was.
pub(crate) fn record(command: &mut Command, path: &Path) -> Result<()> {
    let name = shown(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| Error::Start {
            command: name.clone(),
            source,
        })?;
    let mut lines = vec![json!({ "command": name, "machine": machine() }).to_string()];
    for line in child
        .stdout
        .take()
        .map(BufReader::new)
        .into_iter()
        .flat_map(BufRead::lines)
    {
        let line = line.map_err(Error::io(path))?;
        println!("{line}");
        if is_figure(&line) {
            lines.push(line);
        }
    }
    let status = child.wait().map_err(|source| Error::Start {
        command: name.clone(),
        source,
    })?;
    if !status.success() {
        return Err(Error::Command {
            command: name,
            status,
        });
    }
    if lines.len() == 1 {
        return Err(Error::problem(format!(
            "`{name}` printed no figure (a JSON object a line)"
        )));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
    }
    lines.push(String::new());
    fs::write(path, lines.join("\n")).map_err(Error::io(path))?;
    println!("figures: {}", path.display());
    Ok(())
}

fn is_figure(line: &str) -> bool {
    matches!(serde_json::from_str(line), Ok(Value::Object(_)))
}

/// What a reader needs to know to compare figures; nothing that identifies the machine.
fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    json!({
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "cores": cores,
        "processor": model.map(|(_, name)| name),
        "rustc": output(Command::new("rustc").arg("--version")).ok().map(|v| v.trim().to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn figures_are_kept_and_talk_is_not() {
        let folder = Scratch::new("figures");
        let path = folder.join("new/kept.jsonl");
        let script = r#"echo warming up; echo '{"name":"a","value":1}'; echo '[2]'"#;
        record(&mut shell(script), &path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0]["command"].as_str().unwrap().starts_with("sh -c"));
        assert!(lines[0]["machine"]["cores"].as_u64().unwrap() > 0);
        assert_eq!(lines[1], json!({ "name": "a", "value": 1 }));
    }

    #[test]
    fn a_failure_or_no_figure_keeps_the_old_file() {
        let folder = Scratch::new("figures-old");
        let path = folder.join("old.jsonl");
        fs::write(&path, "old").unwrap();
        assert!(record(&mut shell("echo '{}'; exit 3"), &path).is_err());
        let error = record(&mut shell("echo done"), &path).unwrap_err();
        assert!(error.to_string().contains("printed no figure"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}
