//! Which lines of a file were reached, as llvm-cov writes it (the format of lcov).

use std::collections::BTreeMap;

/// A source file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    /// How often each line that holds code was reached.
    pub(super) lines: BTreeMap<u32, u64>,
}

impl File {
    pub(super) fn reached(&self) -> usize {
        self.lines.values().filter(|count| **count > 0).count()
    }

    /// The lines that were not, as `3, 7-9`. Lines without code do not end a run.
    pub(super) fn missed(&self) -> String {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut goes_on = false;
        for (line, count) in &self.lines {
            let is_missed = *count == 0;
            match runs.last_mut() {
                Some((_, end)) if is_missed && goes_on => *end = *line,
                _ if is_missed => runs.push((*line, *line)),
                _ => {}
            }
            goes_on = is_missed;
        }
        let run = |(from, to): &(u32, u32)| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        };
        runs.iter().map(run).collect::<Vec<_>>().join(", ")
    }
}

/// Reads the files of an lcov report, by name.
pub(super) fn read(report: &str) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for line in report.lines() {
        if let Some(name) = line.strip_prefix("SF:") {
            files.push(File {
                name: name.to_owned(),
                lines: BTreeMap::new(),
            });
        }
        let count = line.strip_prefix("DA:").and_then(|counted| {
            let (line, count) = counted.split_once(',')?;
            Some((line.parse().ok()?, count.parse::<u64>().ok()?))
        });
        if let (Some((line, count)), Some(file)) = (count, files.last_mut()) {
            *file.lines.entry(line).or_default() += count;
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "SF:/b.rs\nFN:1,f\nDA:1,3\nDA:2,0\nDA:5,0\nDA:6,1\nDA:7,0\nLF:5\nend_of_record\n\
                          SF:/a.rs\nDA:1,0\nend_of_record\n";

    #[test]
    fn a_report_is_read() {
        let files = read(REPORT);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["/a.rs", "/b.rs"]);
        assert_eq!((files[1].reached(), files[1].lines.len()), (2, 5));
        assert_eq!(files[1].missed(), "2-5, 7");
        assert_eq!(files[0].missed(), "1");
    }

    #[test]
    fn a_line_that_is_counted_twice_is_reached_where_one_of_them_is() {
        let files = read("SF:/a.rs\nDA:1,0\nDA:1,2\nend_of_record");
        assert_eq!(files[0].reached(), 1);
    }
}
