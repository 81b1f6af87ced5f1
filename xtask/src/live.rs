//! `cargo xtask live`: short conversations with real vendors, which cost money and need a key.

use crate::args::Args;
use crate::command::{cargo, run as execute};
use crate::error::{Error, Result};

/// A vendor that can be talked to: its name, its crate, whose example `live` talks, and the variable
/// that holds the key, or the model where a server of one's own wants none.
type Vendor = (&'static str, &'static str, &'static str);

const VENDORS: &[Vendor] = &[
    ("anthropic", "roomkit-ai-anthropic", "ANTHROPIC_API_KEY"),
    ("ollama", "roomkit-ai-ollama", "OLLAMA_MODEL"),
    ("openai", "roomkit-ai-openai", "OPENAI_API_KEY"),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (name, package, variable) = find(&Args::names(arguments)?)?;
    check_key(name, variable, std::env::var(variable).ok())?;
    execute(&mut cargo([
        "run",
        "--quiet",
        "--package",
        package,
        "--example",
        "live",
    ]))
}

fn find(names: &[String]) -> Result<Vendor> {
    let known: Vec<&str> = VENDORS.iter().map(|(name, ..)| *name).collect();
    let known = known.join(", ");
    let [name] = names else {
        return Err(Error::Usage(format!("live takes one vendor of {known}")));
    };
    let vendor = VENDORS.iter().find(|vendor| vendor.0 == name);
    let unknown = || Error::Usage(format!("there is no vendor `{name}`; there are {known}"));
    vendor.copied().ok_or_else(unknown)
}

/// Without a key nothing was tried, which is no success.
fn check_key(name: &str, variable: &str, key: Option<String>) -> Result<()> {
    if key.is_some_and(|key| !key.trim().is_empty()) {
        return Ok(());
    }
    Err(Error::problem(format!(
        "{variable} is not set: {name} was not talked to"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_is_named_and_known() {
        for (name, package, _) in VENDORS {
            assert_eq!(find(&[(*name).to_owned()]).unwrap().1, *package);
        }
        for names in [&[][..], &["nobody".to_owned()]] {
            assert!(find(names).unwrap_err().to_string().contains("openai"));
        }
    }

    #[test]
    fn without_a_key_it_fails_and_says_so() {
        for key in [None, Some(" ".to_owned())] {
            let error = check_key("acme", "ACME_KEY", key).unwrap_err().to_string();
            assert!(error.contains("ACME_KEY"), "{error}");
        }
        assert!(check_key("acme", "ACME_KEY", Some("k".into())).is_ok());
    }
}
