//! PostgreSQL keeps its data through every way to end but the last.

use std::process::{Command, Output, Stdio};

use roomkit_test_services::{Error, Postgres, PostgresOptions};

use crate::listens;

fn psql(server: &Postgres, url: &str, sql: &str) -> Command {
    let mut command = Command::new(server.binaries().join("psql"));
    command
        .args([
            "--no-psqlrc",
            "--tuples-only",
            "--no-align",
            "--dbname",
            url,
        ])
        .args(["--command", sql])
        .env("PGCONNECT_TIMEOUT", "20");
    command
}

fn run(server: &Postgres, url: &str, sql: &str) -> Output {
    psql(server, url, sql).output().unwrap()
}

fn ask(server: &Postgres, url: &str, sql: &str) -> String {
    let output = run(server, url, sql);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_server_is_as_promised() {
    let settings = vec![("max_connections".to_owned(), "50".to_owned())];
    let server = Postgres::start(&PostgresOptions { settings }).unwrap();
    for (name, value) in [
        ("fsync", "on"),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("listen_addresses", "127.0.0.1"),
        ("max_connections", "50"),
    ] {
        assert_eq!(
            ask(&server, &server.url(), &format!("SHOW {name}")),
            value,
            "{name}"
        );
    }
}

#[test]
fn what_is_committed_outlives_each_end_of_the_server() {
    let mut server = Postgres::start(&PostgresOptions::default()).unwrap();
    let url = server.create_database("rooms").unwrap();
    ask(&server, &url, "CREATE TABLE t (n int)");
    type End = fn(&mut Postgres) -> Result<(), Error>;
    let ends: [(&str, End); 3] = [
        ("immediate", Postgres::stop_immediate),
        ("in order", Postgres::stop),
        ("while paused", |server| {
            server.pause()?;
            server.stop_immediate()
        }),
    ];
    for (index, (name, end)) in ends.into_iter().enumerate() {
        ask(&server, &url, "INSERT INTO t VALUES (1)");
        end(&mut server).unwrap();
        assert!(!listens(server.port()), "{name}");
        assert!(!run(&server, &url, "SELECT 1").status.success(), "{name}");
        server.start_again().unwrap();
        server.start_again().unwrap();
        let count = ask(&server, &url, "SELECT count(*) FROM t");
        assert_eq!(count, (index + 1).to_string(), "{name}");
    }
    let folder = server.folder().to_owned();
    let port = server.port();
    drop(server);
    assert!(!folder.exists() && !listens(port));
}

#[test]
fn a_paused_server_keeps_a_session_waiting() {
    let mut server = Postgres::start(&PostgresOptions::default()).unwrap();
    let url = server.url();
    server.pause().unwrap();
    let mut session = psql(&server, &url, "SELECT 'answer'")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(listens(server.port()), "a connection still opens");
    assert!(
        session.try_wait().unwrap().is_none(),
        "an answer came from a paused server"
    );
    server.resume().unwrap();
    let output = session.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "answer");
}

#[test]
fn a_failed_start_shows_why() {
    let settings = vec![("max_connections".to_owned(), "many".to_owned())];
    let error = Postgres::start(&PostgresOptions { settings }).unwrap_err();
    assert!(matches!(error, Error::Ended { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("PostgreSQL ended") && text.contains("max_connections"),
        "{text}"
    );
}

#[test]
fn databases_are_named_plainly_and_once() {
    let mut server = Postgres::start(&PostgresOptions::default()).unwrap();
    for name in ["", "Rooms", "a-b", "a;b"] {
        assert!(
            matches!(server.create_database(name), Err(Error::DatabaseName(_))),
            "{name}"
        );
    }
    server.create_database("rooms_1").unwrap();
    let error = server.create_database("rooms_1").unwrap_err().to_string();
    assert!(error.contains("already exists"), "{error}");
    server.stop().unwrap();
    assert!(matches!(server.pause(), Err(Error::Stopped(_))));
}
