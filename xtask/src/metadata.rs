//! The workspace as `cargo metadata` describes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::command::{cargo, output};
use crate::error::Result;

/// The workspace and its own packages; nothing of the packages it takes from a registry.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One package of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    manifest_path: PathBuf,
    /// The folder of the manifest, from the workspace root, with `/`: `crates/ai/openai`.
    #[serde(skip)]
    pub(crate) folder: String,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) rust_version: Option<String>,
    /// Empty when the package is not published, null when it may go to any registry.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
    /// What stands under `[package.metadata]`.
    metadata: Option<Extra>,
}

/// What manifests tell other tools than cargo; ours is under `roomkit`.
#[derive(Debug, Default, Deserialize)]
struct Extra {
    roomkit: Option<Ours>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ours {
    #[serde(default)]
    services: BTreeMap<String, Vec<String>>,
}

/// A dependency as the manifest declares it.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The version requirement; `*` when there is none.
    pub(crate) req: String,
    pub(crate) kind: Option<Kind>,
}

/// The table a dependency stands in, when it is not `[dependencies]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Dev,
    Build,
}

/// A library, binary, test, bench or example of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether `cargo test` runs it.
    #[serde(default)]
    pub(crate) test: bool,
    /// Whether `cargo test` runs the examples in its documentation.
    #[serde(default)]
    pub(crate) doctest: bool,
    /// Cargo leaves it out where these are off.
    #[serde(default, rename = "required-features")]
    pub(crate) required_features: Vec<String>,
}

/// Asks cargo.
pub(crate) fn read() -> Result<Workspace> {
    let json = output(&mut cargo([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))?;
    parse(&json)
}

fn parse(json: &str) -> Result<Workspace> {
    let mut workspace: Workspace = serde_json::from_str(json)?;
    for package in &mut workspace.packages {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&workspace.root).unwrap_or(folder);
        package.folder = folder.to_string_lossy().replace('\\', "/");
    }
    workspace.packages.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(workspace)
}

impl Package {
    /// Whether it may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish
            .as_ref()
            .is_none_or(|registries| !registries.is_empty())
    }

    /// The source file of its library, if it has one.
    pub(crate) fn library(&self) -> Option<&Path> {
        let target = self
            .targets
            .iter()
            .find(|t| t.kind.iter().any(|k| k == "lib"))?;
        Some(&target.src_path)
    }

    /// By service, the test targets that need it, as `[package.metadata.roomkit.services]` says.
    pub(crate) fn services(&self) -> impl Iterator<Item = (&str, &[String])> {
        let ours = self
            .metadata
            .as_ref()
            .and_then(|extra| extra.roomkit.as_ref());
        ours.into_iter().flat_map(|ours| {
            ours.services
                .iter()
                .map(|(name, tests)| (name.as_str(), tests.as_slice()))
        })
    }

    /// Its targets of a kind.
    pub(crate) fn targets_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Target> {
        self.targets
            .iter()
            .filter(move |target| target.kind.iter().any(|k| k == kind))
    }
}

#[cfg(test)]
impl Package {
    /// A publishable package that depends on nothing.
    pub(crate) fn sample(name: &str, folder: &str) -> Self {
        Self {
            name: name.into(),
            manifest_path: PathBuf::new(),
            folder: folder.into(),
            description: Some("A sample.".into()),
            license: Some("MIT OR Apache-2.0".into()),
            repository: Some("https://example.org".into()),
            rust_version: None,
            publish: None,
            dependencies: Vec::new(),
            features: BTreeMap::new(),
            targets: Vec::new(),
            metadata: None,
        }
    }

    /// The same with one more target, which `cargo test` runs.
    pub(crate) fn with(mut self, kind: &str, name: &str) -> Self {
        self.targets.push(Target {
            name: name.into(),
            kind: vec![kind.into()],
            src_path: "x.rs".into(),
            test: true,
            doctest: kind == "lib",
            required_features: Vec::new(),
        });
        self
    }

    /// The same with a test that needs a service.
    pub(crate) fn needing(mut self, service: &str, test: &str) -> Self {
        let ours = self
            .metadata
            .get_or_insert_default()
            .roomkit
            .get_or_insert_default();
        ours.services
            .entry(service.into())
            .or_default()
            .push(test.into());
        self
    }

    /// The same with one more dependency that names a version.
    pub(crate) fn on(mut self, name: &str, kind: Option<Kind>) -> Self {
        self.dependencies.push(Dependency {
            name: name.into(),
            req: "^0.1".into(),
            kind,
        });
        self
    }

    /// The same with a dependency by path alone.
    pub(crate) fn on_path(mut self, name: &str, kind: Option<Kind>) -> Self {
        self.dependencies.push(Dependency {
            name: name.into(),
            req: "*".into(),
            kind,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_workspace_is_read() {
        let workspace = read().unwrap();
        let core = workspace
            .packages
            .iter()
            .find(|p| p.name == "roomkit-core")
            .unwrap();
        assert_eq!(core.folder, "crates/core");
        assert!(core.is_published());
        assert!(core.library().unwrap().ends_with("crates/core/src/lib.rs"));
        assert!(
            core.dependencies
                .iter()
                .any(|d| d.name == "tokio" && d.kind == Some(Kind::Dev))
        );
        let xtask = workspace
            .packages
            .iter()
            .find(|p| p.name == "xtask")
            .unwrap();
        assert!(!xtask.is_published());
        let servers = workspace
            .packages
            .iter()
            .find(|p| p.name == "roomkit-test-services")
            .unwrap();
        let needs: Vec<_> = servers.services().collect();
        assert_eq!(
            needs,
            [
                ("postgres", &["services".into()][..]),
                ("redis", &["services".into()])
            ]
        );
    }
}
