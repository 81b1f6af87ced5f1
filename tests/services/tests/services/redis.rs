//! Redis keeps its data through every way to end, where it was told to.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use roomkit_test_services::{AppendFsync, Error, Redis, RedisOptions};

use crate::listens;

fn connect(server: &Redis) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

fn ask(server: &Redis, command: &str) -> String {
    let mut stream = connect(server);
    stream
        .write_all(format!("{command}\r\nQUIT\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
        .strip_suffix("+OK\r\n")
        .unwrap()
        .trim_end()
        .to_owned()
}

#[test]
fn what_is_in_its_file_outlives_each_end_of_the_server() {
    let mut server = Redis::start(&RedisOptions {
        appendonly: true,
        appendfsync: AppendFsync::Always,
    })
    .unwrap();
    assert!(ask(&server, "CONFIG GET appendfsync").ends_with("always"));
    type End = fn(&mut Redis) -> Result<(), Error>;
    let ends: [(&str, End); 3] = [
        ("immediate", Redis::stop_immediate),
        ("in order", Redis::stop),
        ("while paused", |server| {
            server.pause()?;
            server.stop()
        }),
    ];
    for (index, (name, end)) in ends.into_iter().enumerate() {
        ask(&server, "INCR n");
        end(&mut server).unwrap();
        assert!(!listens(server.port()), "{name}");
        server.start_again().unwrap();
        server.start_again().unwrap();
        let value = ask(&server, "GET n");
        assert!(
            value.ends_with(&format!("\n{}", index + 1)),
            "{name}: {value}"
        );
    }
    let folder = server.folder().to_owned();
    let port = server.port();
    drop(server);
    assert!(!folder.exists() && !listens(port));
}

#[test]
fn without_a_file_an_end_empties_it() {
    let mut server = Redis::start(&RedisOptions::default()).unwrap();
    ask(&server, "SET n 1");
    server.stop().unwrap();
    server.start_again().unwrap();
    assert_eq!(ask(&server, "GET n"), "$-1");
}

#[test]
fn a_paused_server_answers_when_it_is_resumed() {
    let mut server = Redis::start(&RedisOptions::default()).unwrap();
    server.pause().unwrap();
    let mut stream = connect(&server);
    stream.write_all(b"PING\r\n").unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut answer = [0; 7];
    assert!(
        stream.read(&mut answer).is_err(),
        "an answer came from a paused server"
    );
    stream.set_nonblocking(false).unwrap();
    server.resume().unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
}
