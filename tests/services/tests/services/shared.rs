//! The address that tests of one process share, given or their own.

use std::process::Command;

use roomkit_test_services::{Service, database_url, redis_url};

use crate::{eventually, listens};

/// Set in the process whose addresses are looked at.
const ASKED: &str = "ROOMKIT_TEST_ASKED";

const NAME: &str = "shared::an_address_is_the_one_given_or_one_for_the_process";

/// The addresses that a process with these variables gets when it asks for each twice.
fn asked(variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", NAME, "--nocapture"])
        .env(ASKED, "1");
    for service in Service::ALL {
        command.env_remove(service.url_variable());
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace()
        .filter(|word| word.contains("://"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn an_address_is_the_one_given_or_one_for_the_process() {
    if std::env::var_os(ASKED).is_some() {
        let twice = [database_url().unwrap(), database_url().unwrap()];
        assert_eq!(twice[0], twice[1]);
        let again = [redis_url().unwrap(), redis_url().unwrap()];
        assert_eq!(again[0], again[1]);
        println!(" {} {}", twice[0], again[0]);
        return;
    }
    let given = [
        ("DATABASE_URL", "postgres://given/"),
        ("REDIS_URL", "redis://given/"),
    ];
    assert_eq!(asked(&given), given.map(|(_, url)| url));

    let own = asked(&[("DATABASE_URL", "")]);
    assert_eq!(own.len(), 2, "{own:?}");
    for url in own {
        let port = url
            .split("127.0.0.1:")
            .nth(1)
            .unwrap()
            .split('/')
            .next()
            .unwrap();
        let port = port.parse().unwrap();
        eventually("the end of a server in a static", || !listens(port));
    }
}
