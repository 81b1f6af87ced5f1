//! How much memory the process holds, and whether it grows.

/// The resident memory of this process in bytes; nothing where the system does not say.
pub(crate) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// What was held at moments that lie evenly in the run, each with how far the run was.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<u64>);

impl Samples {
    pub(crate) fn take(&mut self) {
        self.0.extend(resident());
    }

    /// What is held in the middle of the first quarter and of the last, as medians.
    pub(crate) fn quarters(&self) -> Option<(u64, u64)> {
        let quarter = self.0.len() / 4;
        let first = median(self.0.get(..quarter)?)?;
        let last = median(self.0.get(self.0.len() - quarter..)?)?;
        Some((first, last))
    }
}

fn median(samples: &[u64]) -> Option<u64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_are_the_ends_of_the_run() {
        let samples = Samples(vec![1, 2, 3, 50, 60, 70, 80, 90, 100, 7, 8, 9]);
        assert_eq!(samples.quarters(), Some((2, 8)));
        assert_eq!(Samples(vec![1, 2]).quarters(), None);
    }
}
