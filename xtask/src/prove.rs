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
        services: &[Service::Postgres],
    },
    Proof {
        name: "fuzz",
        cargo: &["run", "--package=roomkit-fuzz"],
        services: &[],
    },
    Proof {
        name: "shuttle",
        cargo: &["run", "--release", "--package=roomkit-shuttle"],
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
                services: &[],
            },
            Proof {
                name: "soak",
                cargo: &[],
                services: &[],
            },
        ];
        assert_eq!(find(&proofs, "crash").unwrap().cargo, ["run"]);
        let error = find(&proofs, "luck").unwrap_err().to_string();
        assert!(
            error.contains("`luck`") && error.contains("crash, soak"),
            "{error}"
        );
        assert!(run(&["luck".into()]).is_err());
        assert!(run(&[]).is_err());
    }
}
