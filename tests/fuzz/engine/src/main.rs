//! libFuzzer's entry: the target is the one that the environment names.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<&'static roomkit_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("ROOMKIT_FUZZ_TARGET").unwrap_or_default();
    let target = roomkit_fuzz::target(&name);
    target.unwrap_or_else(|| panic!("ROOMKIT_FUZZ_TARGET: there is no target `{name}`"))
});

libfuzzer_sys::fuzz_target!(|input: &str| (TARGET.run)(input));
