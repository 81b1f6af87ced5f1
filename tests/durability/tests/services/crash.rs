//! Twenty kills of a writer on each store.

use std::path::Path;

use roomkit_durability::crash::{Report, prove};
use roomkit_test_services::{Postgres, PostgresOptions};

const KILLS: u64 = 20;

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_durability"))
}

fn scale() -> u64 {
    std::env::var("ROOMKIT_SCALE").map_or(1, |scale| scale.parse().unwrap())
}

fn check(report: &Report) {
    println!("{report:?}");
    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!(report.kills, KILLS * scale());
    assert!(report.acknowledged > 20 && report.under_way > 20);
}

#[test]
fn a_killed_writer_on_sqlite_has_lost_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("rooms.db").display());
    let report = prove(binary(), &address, None, KILLS * scale(), fastrand::u64(..)).unwrap();
    check(&report);
}

#[test]
fn a_killed_writer_and_a_killed_postgres_have_lost_nothing_that_was_acknowledged() {
    let mut server = Postgres::start(&PostgresOptions::default()).unwrap();
    let address = server.create_database("crash").unwrap();
    let seed = fastrand::u64(..);
    let report = prove(binary(), &address, Some(&mut server), KILLS * scale(), seed).unwrap();
    check(&report);
    assert_eq!(report.server_kills, KILLS * scale() / 2);
}
