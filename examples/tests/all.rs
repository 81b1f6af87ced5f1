//! Every example prints exactly what `expected/` says, on one thread and on several.
#![cfg(test)]

macro_rules! prints {
    ($($name:ident($out:ident) => $run:expr;)+) => {$(
        mod $name {
            use roomkit_examples::$name::*;

            async fn check() {
                let mut $out = Vec::new();
                $run.unwrap();
                let expected = include_str!(concat!("../expected/", stringify!($name), ".txt"));
                assert_eq!(String::from_utf8($out).unwrap(), expected);
            }

            #[tokio::test]
            async fn on_one_thread() {
                check().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_two_threads() {
                check().await;
            }
        }
    )+};
}

prints! {
    ai_chat(out) => run(&mut out, offline(), &QUESTIONS).await;
    ai_multi_speaker(out) => run(&mut out).await;
    ai_tool_search(out) => run(&mut out).await;
    ai_tools(out) => run(&mut out).await;
    custom_channel(out) => run(&mut out).await;
    hooks(out) => run(&mut out).await;
    identity(out) => run(&mut out).await;
    quickstart(out) => run(&mut out).await;
    sources(out) => run(&mut out).await;
    tenancy(out) => run(&mut out).await;
    turn_planner(out) => run(&mut out);
    turn_taking(out) => run(&mut out).await;
}

#[test]
fn every_example_is_tested() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut programs: Vec<_> = std::fs::read_dir(format!("{root}/examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    programs.sort();
    assert_eq!(
        programs,
        [
            "ai_chat",
            "ai_multi_speaker",
            "ai_tool_search",
            "ai_tools",
            "custom_channel",
            "hooks",
            "identity",
            "quickstart",
            "sources",
            "tenancy",
            "turn_planner",
            "turn_taking"
        ]
    );
}
