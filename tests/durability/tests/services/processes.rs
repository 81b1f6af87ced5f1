//! Four processes for a few seconds in the same sixteen rooms.

use std::path::Path;

use roomkit_durability::processes::prove;
use roomkit_durability::target::Locks;
use roomkit_test_services::{Postgres, PostgresOptions};

#[test]
fn processes_that_share_their_rooms_leave_no_gap_and_no_repeat() {
    let binary = Path::new(env!("CARGO_BIN_EXE_durability"));
    let server = Postgres::start(&PostgresOptions::default()).unwrap();
    for locks in [Locks::InProcess, Locks::Advisory] {
        let address = server
            .create_database(&locks.name().replace('-', "_"))
            .unwrap();
        let report = prove(binary, &address, locks, 5).unwrap();
        println!("{locks:?}: {report:?}");
        assert_eq!(report.violations, Vec::<String>::new(), "{locks:?}");
        assert!(report.acknowledged > 100, "{locks:?}");
    }
}
