//! `cargo xtask prove`: long proofs, whose figures are committed under `proofs/`.

use roomkit_test_services::Service;

use crate::args::Args;
use crate::command::{SCALE_VARIABLE, SECONDS_VARIABLE, cargo, root};
use crate::error::{Error, Result};
use crate::figures;
use crate::services::Services;

/// A proof that takes too long for the tests.
#[derive(Debug)]
struct Proof {
    name: &'static str,
    /// The arguments of the cargo command, which prints its figures as JSON lines and honours
    /// the scale variable; one that goes on for ever, the seconds variable too.
    cargo: &'static [&'static str],
    /// Whether it runs for a time, which `--seconds` says.
    timed: bool,
    /// The services whose binaries it needs.
    services: &'static [Service],
}

/// The long proofs there are.
const PROOFS: &[Proof] = &[
    Proof {
        name: "crash",
        cargo: &[
            "run",
            "--release",
            "--package=roomkit-durability",
            "--",
            "crash",
        ],
        timed: false,
        services: &[Service::Postgres],
    },
    Proof {
        name: "processes",
        cargo: &[
            "run",
            "--release",
            "--package=roomkit-durability",
            "--",
            "processes",
        ],
        timed: false,
        services: &[Service::Postgres],
    },
    Proof {
        name: "faults",
        cargo: &["run", "--release", "--package=roomkit-faults"],
        timed: false,
        services: &[],
    },
    Proof {
        name: "fuzz",
        cargo: &["run", "--package=roomkit-fuzz"],
        timed: true,
        services: &[],
    },
    Proof {
        name: "shuttle",
        cargo: &["run", "--release", "--package=roomkit-shuttle"],
        timed: false,
        services: &[],
    },
    Proof {
        name: "soak",
        cargo: &["run", "--release", "--package=roomkit-soak"],
        timed: true,
        services: &[],
    },
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let args = Args::parse(arguments, &["--scale", "--seconds"])?;
    let [name] = args.names.as_slice() else {
        return Err(Error::Usage(format!(
            "prove takes one name; {}",
            known(PROOFS)
        )));
    };
    let proof = find(PROOFS, name)?;
    proof.check(args.seconds)?;
    let services = Services::start(&proof.services.iter().copied().collect())?;
    let mut command = cargo(proof.cargo);
    services.tell(&mut command);
    if let Some(scale) = args.scale {
        command.env(SCALE_VARIABLE, scale.to_string());
    }
    if let Some(seconds) = args.seconds {
        command.env(SECONDS_VARIABLE, seconds.to_string());
    }
    figures::record(
        &mut command,
        &root().join(format!("proofs/{}.jsonl", proof.name)),
    )
}

impl Proof {
    /// Refuses `--seconds` where it would change nothing.
    fn check(&self, seconds: Option<u32>) -> Result<()> {
        if seconds.is_some() && !self.timed {
            return Err(Error::Usage(format!(
                "proof `{}` takes as long as it takes; `--seconds` is not for it",
                self.name
            )));
        }
        Ok(())
    }
}

fn find<'a>(proofs: &'a [Proof], name: &str) -> Result<&'a Proof> {
    proofs
        .iter()
        .find(|proof| proof.name == name)
        .ok_or_else(|| Error::Usage(format!("there is no proof `{name}`; {}", known(proofs))))
}

fn known(proofs: &[Proof]) -> String {
    let names: Vec<&str> = proofs.iter().map(|proof| proof.name).collect();
    format!(
        "known proofs: {}",
        if names.is_empty() {
            "none yet".into()
        } else {
            names.join(", ")
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_proof_is_an_error_that_names_the_known() {
        let proofs = [
            Proof {
                name: "crash",
                cargo: &["run"],
                timed: false,
                services: &[],
            },
            Proof {
                name: "soak",
                cargo: &[],
                timed: true,
                services: &[],
            },
        ];
        assert_eq!(find(&proofs, "crash").unwrap().cargo, ["run"]);
        let error = find(&proofs, "luck").unwrap_err().to_string();
        assert!(
            error.contains("`luck`") && error.contains("crash, soak"),
            "{error}"
        );
        assert!(proofs[1].check(Some(9)).is_ok() && proofs[0].check(None).is_ok());
        assert!(proofs[0].check(Some(9)).is_err());
        assert!(run(&["luck".into()]).is_err());
        assert!(run(&[]).is_err());
    }
}
