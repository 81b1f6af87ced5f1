//! A process that is killed leaves no server behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use roomkit_test_services::{Postgres, PostgresOptions, Redis, RedisOptions};

use crate::{eventually, listens, lives};

/// Set in the process that is to be killed.
const VICTIM: &str = "ROOMKIT_TEST_VICTIM";

#[test]
fn a_killed_process_leaves_no_server_behind() {
    if std::env::var_os(VICTIM).is_some() {
        hold_servers();
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "orphans::a_killed_process_leaves_no_server_behind",
            "--nocapture",
        ])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let line = lines
        .map(Result::unwrap)
        .find(|line| line.contains("holds "))
        .unwrap();
    let words: Vec<&str> = line.split("holds ").nth(1).unwrap().split(' ').collect();
    let [postgres, postgres_folder, redis, redis_folder] = words[..] else {
        panic!("{line}");
    };
    let ports: [u16; 2] = [postgres.parse().unwrap(), redis.parse().unwrap()];
    let file = std::fs::read_to_string(Path::new(postgres_folder).join("data/postmaster.pid"));
    let server = file.unwrap().lines().next().unwrap().to_owned();
    assert!(ports.into_iter().all(listens) && lives(&server));

    victim.kill().unwrap();
    victim.wait().unwrap();
    eventually("the end of the servers", || {
        !ports.into_iter().any(listens) && !lives(&server)
    });
    eventually("the end of their folders", || {
        [postgres_folder, redis_folder]
            .iter()
            .all(|folder| !Path::new(folder).exists())
    });
}

/// Starts servers, one of them paused as a killed test may leave it, and waits to be killed.
fn hold_servers() -> ! {
    let mut postgres = Postgres::start(&PostgresOptions::default()).unwrap();
    let redis = Redis::start(&RedisOptions::default()).unwrap();
    postgres.pause().unwrap();
    println!(
        "holds {} {} {} {}",
        postgres.port(),
        postgres.folder().display(),
        redis.port(),
        redis.folder().display()
    );
    loop {
        std::thread::park();
    }
}
