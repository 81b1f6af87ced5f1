//! The example prints exactly what `expected.txt` says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[tokio::test]
async fn the_second_process_goes_on_where_the_first_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut out = Vec::new();
    let file = folder.path().join("rooms.db");
    roomkit_example_durable_room::run(&mut out, &file)
        .await
        .unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        include_str!("../expected.txt")
    );
}
