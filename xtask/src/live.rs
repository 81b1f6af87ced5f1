//! `cargo xtask live`: short conversations with real vendors, which cost money and need a key.

use crate::args::Args;
use crate::command::{cargo, run as execute};
use crate::error::{Error, Result};

/// A vendor that can be talked to: its name, its crate, whose example `live` talks, and the variables of
/// which one has to be set: the key, or where a server of one's own is and which of its models to ask.
type Vendor = (&'static str, &'static str, &'static [&'static str]);

const VENDORS: &[Vendor] = &[
    ("anthropic", "roomkit-ai-anthropic", &["ANTHROPIC_API_KEY"]),
    (
        "ollama",
        "roomkit-ai-ollama",
        &["OLLAMA_HOST", "OLLAMA_MODEL"],
    ),
    ("openai", "roomkit-ai-openai", &["OPENAI_API_KEY"]),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (name, package, variables) = find(&Args::names(arguments)?)?;
    check_set(name, variables, |variable| std::env::var(variable).ok())?;
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

/// Without a key, or a server, nothing was tried, which is no success.
fn check_set(name: &str, variables: &[&str], value: impl Fn(&str) -> Option<String>) -> Result<()> {
    let is_set = |variable: &&str| value(variable).is_some_and(|it| !it.trim().is_empty());
    if variables.iter().any(is_set) {
        return Ok(());
    }
    let variables = variables.join(" or ");
    Err(Error::problem(format!(
        "{variables} is not set: {name} was not talked to"
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
        let variables = &["ACME_HOST", "ACME_KEY"];
        for key in [None, Some(" ".to_owned())] {
            let error = check_set("acme", variables, |_| key.clone()).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("ACME_HOST or ACME_KEY"), "{error}");
        }
        let has_key = |name: &str| (name == "ACME_KEY").then(|| "k".to_owned());
        assert!(check_set("acme", variables, has_key).is_ok());
    }
}
