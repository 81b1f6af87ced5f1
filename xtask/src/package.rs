//! The check that every publishable crate can be packed as a registry would take it.

use crate::command::{cargo, run as execute};
use crate::error::Result;
use crate::metadata::{self, Package};
use crate::stage::Outcome;

pub(crate) fn run() -> Result<Outcome> {
    // One call for all: cargo then resolves a crate's siblings to the archives it has just made,
    // so that nothing needs to be published. The sources are compiled by the other stages.
    let mut command = cargo(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    command.args(selection(&metadata::read()?.packages));
    execute(&mut command)?;
    Ok(Outcome::Passed)
}

fn selection(packages: &[Package]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| package.is_published())
        .map(|package| format!("--package={}", package.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_published_is_packed() {
        let mut tool = Package::sample("xtask", "xtask");
        tool.publish = Some(Vec::new());
        let core = Package::sample("roomkit-core", "crates/core");
        assert_eq!(selection(&[core, tool]), ["--package=roomkit-core"]);
    }
}
