//! `cargo xtask new-provider`: the skeleton of a provider crate, with the file names all share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::command::{root, run as execute};
use crate::error::{Error, Result};
use crate::layout::{package_name, provider_core, provider_families};

/// The files of the skeleton: where they go, and their text with `{{names}}` to fill in.
const TEMPLATES: [(&str, &str); 7] = [
    (
        "Cargo.toml",
        include_str!("../templates/provider/Cargo.toml.in"),
    ),
    (
        "README.md",
        include_str!("../templates/provider/README.md.in"),
    ),
    (
        "src/lib.rs",
        include_str!("../templates/provider/src/lib.rs.in"),
    ),
    (
        "src/config.rs",
        include_str!("../templates/provider/src/config.rs.in"),
    ),
    (
        "src/provider.rs",
        include_str!("../templates/provider/src/provider.rs.in"),
    ),
    (
        "src/wire.rs",
        include_str!("../templates/provider/src/wire.rs.in"),
    ),
    (
        "tests/config.rs",
        include_str!("../templates/provider/tests/config.rs.in"),
    ),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names = Args::names(arguments)?;
    let [family, vendor] = names.as_slice() else {
        return Err(Error::Usage(
            "new-provider takes a family and a vendor".into(),
        ));
    };
    let skeleton = Skeleton::new(family, vendor)?;
    for path in skeleton.write(&root())? {
        println!("wrote {path}");
    }
    let (folder, package, core) = (&skeleton.folder, &skeleton.package, &skeleton.core);
    println!(
        "\nThen, in Cargo.toml of the workspace:\n\
         - `members` has \"crates/{family}/*\"\n\
         - `[workspace.dependencies]` has {core}, and {package} = {{ path = \"{folder}\", \
         version = \"0.1.0\" }}\n\
         Implement the trait of {core} in {folder}/src/provider.rs; CONTRIBUTING.md has the steps."
    );
    Ok(())
}

/// Everything that the templates need to know.
#[derive(Debug)]
struct Skeleton {
    folder: String,
    package: String,
    /// The folder and the package of the crate whose trait the provider implements.
    core_folder: String,
    core: String,
    /// `ElevenLabs` for the vendor `eleven-labs`.
    type_name: String,
    /// `Eleven Labs`.
    title: String,
}

impl Skeleton {
    fn new(family: &str, vendor: &str) -> Result<Self> {
        let core_folder = provider_core(family).ok_or_else(|| {
            let known = provider_families().join(", ");
            Error::Usage(format!(
                "there is no family `{family}` of providers; there are {known}"
            ))
        })?;
        let words: Vec<String> = vendor.split('-').map(capitalised).collect();
        if !is_vendor_name(vendor) {
            return Err(Error::Usage(format!(
                "`{vendor}` is no vendor's folder: lower case, digits and single hyphens, a letter \
                 first, and not `core`"
            )));
        }
        let folder = format!("crates/{family}/{vendor}");
        let (Some(package), Some(core)) = (package_name(&folder), package_name(&core_folder))
        else {
            return Err(Error::problem(format!(
                "the crate map has no folder {folder}"
            )));
        };
        Ok(Self {
            folder,
            package,
            core_folder,
            core,
            type_name: words.concat(),
            title: words.join(" "),
        })
    }

    /// Writes the crate into the workspace at `root` and returns the paths of its files.
    fn write(&self, root: &Path) -> Result<Vec<String>> {
        if !root.join(&self.core_folder).join("Cargo.toml").is_file() {
            return Err(Error::problem(format!(
                "{} is missing: a provider implements the trait of {}, which has to be there first",
                self.core_folder, self.core
            )));
        }
        let folder = root.join(&self.folder);
        if folder.exists() {
            return Err(Error::problem(format!("{} exists already", self.folder)));
        }
        let mut written = Vec::new();
        let mut sources: Vec<PathBuf> = Vec::new();
        for (name, template) in TEMPLATES {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
            fs::write(&path, self.fill(template)).map_err(Error::io(&path))?;
            written.push(format!("{}/{name}", self.folder));
            if name.ends_with(".rs") {
                sources.push(path);
            }
        }
        // Line breaks depend on the length of the vendor's name.
        execute(
            Command::new("rustfmt")
                .args(["--edition", "2024"])
                .args(sources)
                .current_dir(root),
        )?;
        Ok(written)
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{{package}}", &self.package)
            .replace("{{library}}", &self.package.replace('-', "_"))
            .replace("{{core}}", &self.core)
            .replace("{{type}}", &self.type_name)
            .replace("{{title}}", &self.title)
    }
}

fn is_vendor_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name != "core"
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .split('-')
            .all(|word| !word.is_empty() && word.chars().all(plain))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cargo;
    use crate::scratch::Scratch;

    /// A workspace with the real facts, a stub of the core crate, and no member but `chat`.
    fn workspace(name: &str) -> Scratch {
        let folder = Scratch::new(name);
        let real = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let (_, facts) = real.split_once("[workspace.package]").unwrap();
        let head = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/chat/*\"]\n";
        fs::write(
            folder.join("Cargo.toml"),
            format!("{head}[workspace.package]{facts}"),
        )
        .unwrap();
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let core = folder.join("crates/core");
        fs::create_dir_all(core.join("src")).unwrap();
        let manifest = "[package]\nname = \"roomkit-core\"\nversion = \"0.1.0\"\n";
        fs::write(core.join("Cargo.toml"), manifest).unwrap();
        fs::write(core.join("src/lib.rs"), "//! A stub.\n").unwrap();
        folder
    }

    #[test]
    fn the_skeleton_compiles_and_passes_its_tests() {
        let folder = workspace("skeleton");
        let files = Skeleton::new("chat", "fax-machine")
            .unwrap()
            .write(&folder)
            .unwrap();
        assert_eq!(files.len(), TEMPLATES.len());
        let mut command = cargo([
            "test",
            "--offline",
            "--quiet",
            "--package=roomkit-fax-machine",
        ]);
        command
            .current_dir(&*folder)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .env("RUSTFLAGS", "--deny=warnings");
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&printed)
        );
    }

    #[test]
    fn every_name_is_filled_in() {
        let skeleton = Skeleton::new("sms", "eleven-labs2").unwrap();
        assert_eq!(skeleton.package, "roomkit-sms-eleven-labs2");
        assert_eq!(skeleton.core, "roomkit-sms");
        assert_eq!(skeleton.type_name, "ElevenLabs2");
        for (name, template) in TEMPLATES {
            let text = skeleton.fill(template);
            assert!(
                !text.replace("{{type}}", "").contains("{{"),
                "{name}: {text}"
            );
        }
    }

    #[test]
    fn unknown_families_and_odd_vendors_are_refused() {
        let error = Skeleton::new("fax", "acme").unwrap_err().to_string();
        assert!(error.contains("`fax`") && error.contains("sms"), "{error}");
        assert!(Skeleton::new("gateway", "acme").is_err());
        for vendor in [
            "", "core", "Acme", "acme_x", "a--b", "-a", "a-", "1a", "../a", "a/b",
        ] {
            assert!(Skeleton::new("sms", vendor).is_err(), "{vendor}");
        }
    }

    #[test]
    fn a_missing_family_core_and_an_existing_folder_are_refused() {
        let folder = workspace("refusals");
        let error = Skeleton::new("sms", "acme")
            .unwrap()
            .write(&folder)
            .unwrap_err()
            .to_string();
        assert!(error.contains("crates/sms/core is missing"), "{error}");
        assert!(!folder.join("crates/sms").exists(), "nothing is written");
        fs::create_dir_all(folder.join("crates/chat/acme")).unwrap();
        let error = Skeleton::new("chat", "acme")
            .unwrap()
            .write(&folder)
            .unwrap_err()
            .to_string();
        assert!(error.contains("crates/chat/acme exists"), "{error}");
    }
}
